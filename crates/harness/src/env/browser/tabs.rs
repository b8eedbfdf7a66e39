//! Tabs, addresses, history and dialogs: actions on the browser rather than on a page.

use std::time::Duration;

use apprentice_cdp::CallError;
use apprentice_cdp::domain::page::{
    GetNavigationHistory, HandleJavaScriptDialog, Navigate, NavigateToHistoryEntry, Reload, StopLoading,
};
use apprentice_cdp::domain::target::{CloseTarget, CreateTarget};
use apprentice_protocol::{History, Tab, TabAction};

use super::address;
use super::driver::{ActionError, Browser, lost};
use super::page_state::PageTab;

/// How long a server may take to respond.
const NAVIGATION: Duration = Duration::from_secs(30);
/// How long a tab may take to open or close.
const TAB: Duration = Duration::from_secs(10);

impl Browser {
    /// Navigates the active tab to an address.
    pub(super) async fn navigate(&self, written: &str) -> Result<(), ActionError> {
        let url = self.address(written)?;
        let Ok(tab) = self.front_tab() else { return self.open_tab(Some(written)).await };
        self.leave_page(&tab.session).await;
        let session = self.session(&tab.session);
        let navigate = Navigate { url: url.clone() };
        let patient = session.within(NAVIGATION * 2);
        let opening = tokio::time::timeout(NAVIGATION, self.call(&patient, &navigate));
        let Ok(navigated) = opening.await else {
            session.post(&StopLoading::default());
            return Err(ActionError::refused(format!("{url} did not answer within {NAVIGATION:?}")));
        };
        let navigated = match navigated {
            // This is how the browser reports a URL that it cannot parse.
            Err(ActionError::Replaced(why)) => {
                return Err(ActionError::refused(format!("{url} was not opened: {why}")));
            }
            other => other?,
        };
        match navigated.error_text {
            Some(_) if navigated.is_download => Ok(()),
            Some(error) => Err(ActionError::refused(format!("{url} was not opened: {error}"))),
            None => Ok(()),
        }
    }

    /// Moves through the history of the active tab.
    pub(super) async fn go(&self, way: History) -> Result<(), ActionError> {
        let tab = self.front_tab()?.session;
        self.leave_page(&tab).await;
        let session = self.session(&tab);
        let (step, end) = match way {
            History::Reload => return self.call(&session, &Reload::default()).await.map(|_| ()),
            History::Back => (-1, "there is no earlier page in this tab"),
            History::Forward => (1, "there is no later page in this tab"),
        };
        let history = self.call(&session, &GetNavigationHistory {}).await?;
        let index = usize::try_from(history.current_index + step).ok();
        let entry = index.and_then(|index| history.entries.get(index));
        let entry = entry.ok_or_else(|| ActionError::refused(end))?;
        self.call(&session, &NavigateToHistoryEntry { entry_id: entry.id }).await?;
        Ok(())
    }

    /// Opens, switches to or closes a tab.
    pub(super) async fn tab(&self, action: &TabAction) -> Result<(), ActionError> {
        match action {
            TabAction::Open { url } => self.open_tab(url.as_deref()).await,
            TabAction::Switch { id } => self.show_tab(&self.named(id)?).await,
            TabAction::Close { id } => self.close_tab(&self.named(id)?).await,
        }
    }

    /// Switches to the tab `step` places further in the list of tabs, wrapping around.
    pub(super) async fn step_tab(&self, step: isize) -> Result<(), ActionError> {
        let front = self.front_tab()?;
        let next = self.watch().with(|pages| {
            let tabs = pages.tabs();
            let at = tabs.iter().position(|tab| tab.session == front.session)?;
            let count = isize::try_from(tabs.len()).ok()?;
            let next = (isize::try_from(at).ok()? + step).rem_euclid(count);
            tabs.get(usize::try_from(next).ok()?).cloned()
        });
        self.show_tab(&next.unwrap_or(front)).await
    }

    /// Switches to a tab by its number from 1, as Ctrl with a digit does; 9 stands for the last one.
    pub(super) async fn show_numbered_tab(&self, number: usize) -> Result<(), ActionError> {
        let (tab, count) = self.watch().with(|pages| {
            let tabs = pages.tabs();
            let tab = if number == 9 { tabs.last() } else { tabs.get(number - 1) };
            (tab.cloned(), tabs.len())
        });
        match tab {
            Some(tab) => self.show_tab(&tab).await,
            None => Err(ActionError::refused(format!("there is no tab {number}: {count} are open"))),
        }
    }

    fn named(&self, name: &str) -> Result<PageTab, ActionError> {
        self.watch().with(|pages| {
            let tabs = pages.tabs();
            let names = || tabs.iter().map(|tab| tab.name.as_str()).collect::<Vec<_>>().join(", ");
            let tab = tabs.iter().find(|tab| tab.name == name).cloned();
            tab.ok_or_else(|| {
                ActionError::refused(format!("there is no tab {name:?}; the tabs are {}", names()))
            })
        })
    }

    /// The address that was written, if this browser may open it.
    fn address(&self, written: &str) -> Result<String, ActionError> {
        let url = address::complete(written).map_err(ActionError::Refused)?;
        if self.context().is_some() && address::is_own_page(&url) {
            let why = "this browser serves several episodes (browser_reuse = \"context\"), so its own pages cannot be opened";
            return Err(ActionError::refused(why));
        }
        Ok(url)
    }

    async fn open_tab(&self, url: Option<&str>) -> Result<(), ActionError> {
        let url = self.address(url.unwrap_or("about:blank"))?;
        let browser_context_id = self.context().cloned();
        let create = CreateTarget { url, browser_context_id, ..CreateTarget::default() };
        let created = self.guard_beside(self.root().call(&create)).await?;
        let target = created.target_id;
        let appeared = self.watch().until(|pages| pages.by_target(&target).cloned());
        match tokio::time::timeout(TAB, appeared).await {
            Ok(Some(tab)) => self.show_tab(&tab).await,
            Ok(None) => Err(lost("chromium is gone").into()),
            Err(_) => Err(lost(format!("a new tab did not appear within {TAB:?}")).into()),
        }
    }

    async fn show_tab(&self, tab: &PageTab) -> Result<(), ActionError> {
        self.bring_to_front(&tab.target, &tab.session).await
    }

    async fn close_tab(&self, tab: &PageTab) -> Result<(), ActionError> {
        if self.watch().with(|pages| pages.tabs().len()) == 1 {
            return Err(ActionError::refused("the last tab cannot be closed"));
        }
        let close = CloseTarget { target_id: tab.target.clone() };
        self.leave_page(&tab.session).await;
        self.guard_beside(self.root().call(&close)).await?;
        let gone = self.watch().until(|pages| pages.by_target(&tab.target).is_none().then_some(()));
        if tokio::time::timeout(TAB, gone).await.is_err() {
            return Err(ActionError::refused(format!("tab {} did not close", tab.name)));
        }
        // The browser picks another tab by its own rule; ours is the one that was active before.
        self.show_tab(&self.front_tab()?).await
    }

    /// Answers the dialog of the active tab.
    pub(super) async fn answer(&self, accept: bool, text: Option<&str>) -> Result<(), ActionError> {
        let front = self.front()?;
        let Some(dialog) = front.dialog else {
            return Err(ActionError::refused("no page dialog is open"));
        };
        // An accepted prompt without a text keeps its initial text.
        let prompt_text = text.map(str::to_owned).or_else(|| dialog.default.clone());
        let answer = HandleJavaScriptDialog { accept, prompt_text };
        match self.session(&dialog.session).call(&answer).await {
            Ok(_) => {}
            Err(CallError::Refused { refusal, .. }) => {
                tracing::debug!(%refusal, "the dialog went away by itself");
            }
            Err(error) => return Err(lost(format!("a dialog could not be answered: {error}")).into()),
        }
        let session = front.session;
        let closed = self.watch().until(|pages| {
            let tab = pages.tabs().iter().find(|tab| tab.session == session);
            tab.is_none_or(|tab| tab.dialog.as_ref() != Some(&dialog)).then_some(())
        });
        match tokio::time::timeout(TAB, closed).await {
            Ok(_) => Ok(()),
            Err(_) => Err(lost("an answered dialog did not close").into()),
        }
    }

    /// The tabs, as an observation lists them.
    pub(super) fn list_tabs(&self) -> Vec<Tab> {
        self.watch().with(|pages| {
            let front = pages.front().map(|tab| tab.session.clone());
            let tab = |tab: &PageTab| Tab {
                id: tab.name.clone(),
                title: tab.title.clone(),
                url: tab.url.clone(),
                active: Some(&tab.session) == front.as_ref(),
            };
            pages.tabs().iter().map(tab).collect()
        })
    }
}
