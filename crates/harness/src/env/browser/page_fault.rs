//! The active tab, and what can be wrong with it: a dialog, a crash, a page that does not answer.
//!
//! A model can open a page that crashes or never answers. That is told to it and judged like any other state. Only where the
//! browser itself is gone or mute, or its processes were killed from outside, the world is lost.

use std::future::Future;
use std::time::Duration;

use apprentice_cdp::domain::page::Crash;
use apprentice_cdp::domain::runtime::{Evaluate, TerminateExecution};
use apprentice_cdp::domain::target::GetTargets;
use apprentice_cdp::{CallError, SessionId};
use apprentice_protocol::BoxFuture;

use super::driver::{ActionError, Browser, lost, trouble};
use super::page_state::{Death, PageTab};

/// How long the browser may take to show that it still answers when a page does not.
const BROWSER_ANSWERS: Duration = Duration::from_secs(10);
/// How long a page that did not answer before may take to show that it does again.
const PAGE_ANSWERS: Duration = Duration::from_secs(2);

/// What is left to do where a page is of no use.
pub(super) const WAYS_OUT: &str = "open another address, reload it, or open or switch to another tab";

impl Death {
    fn error(&self) -> ActionError {
        if self.is_from_outside() {
            return lost(format!("the page's process died: {}", self.how())).into();
        }
        ActionError::Page(format!("the page crashed ({}): {WAYS_OUT}", self.how()))
    }
}

impl Browser {
    /// The active tab. Fails if its page crashed.
    pub(super) fn front(&self) -> Result<PageTab, ActionError> {
        let tab = self.front_tab()?;
        match &tab.crashed {
            Some(death) => Err(death.error()),
            None => Ok(tab),
        }
    }

    /// The active tab, also one whose page crashed: it can be led elsewhere.
    pub(super) fn front_tab(&self) -> Result<PageTab, ActionError> {
        let (front, stray) = self.watch().with(|pages| (pages.front().cloned(), pages.stray.clone()));
        if let Some(stray) = stray {
            let why = format!(
                "{stray:?} was opened outside of the browser context of this episode: set browser_reuse to \"off\""
            );
            return Err(lost(why).into());
        }
        front.ok_or_else(|| ActionError::Page("the browser has no tab any more: open one".to_owned()))
    }

    /// Prepares a tab to be led elsewhere: what it showed before counts no longer. The script of a page that does not answer is ended,
    /// or else the page's process, as the next page may be of the same process.
    pub(super) async fn leave_page(&self, tab: &SessionId) {
        if !self.watch().with(|pages| pages.leave(tab)) {
            return;
        }
        let page = self.session(tab);
        page.post(&TerminateExecution::default());
        let evaluate = Evaluate {
            expression: "true".to_owned(),
            await_promise: false,
            return_by_value: true,
            timeout: None,
        };
        if page.within(PAGE_ANSWERS).call(&evaluate).await.is_ok() {
            return;
        }
        page.post(&Crash::default());
        let crashed = self.watch().until(|pages| pages.has_crashed(tab).then_some(()));
        // What goes wrong here shows in the call that follows.
        let _ = tokio::time::timeout(PAGE_ANSWERS, crashed).await;
        self.watch().with(|pages| pages.leave(tab));
    }

    /// Awaits calls on the active tab. A dialog or a crash ends the wait.
    pub(super) async fn guard<T>(
        &self,
        calls: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, ActionError> {
        self.guarded(calls, true).await
    }

    /// Awaits calls that do not need the active tab's page. A dialog ends the wait.
    pub(super) async fn guard_beside<T>(
        &self,
        calls: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, ActionError> {
        self.guarded(calls, false).await
    }

    async fn guarded<T>(
        &self,
        calls: impl Future<Output = Result<T, CallError>>,
        page: bool,
    ) -> Result<T, ActionError> {
        let done = tokio::select! {
            biased;
            done = calls => done,
            stop = self.stopped(page) => return Err(stop),
        };
        match done {
            Ok(done) => Ok(done),
            Err(CallError::TimedOut { .. }) => Err(self.silence().await),
            Err(error) => Err(trouble(&error)),
        }
    }

    /// Awaits a dialog or a crash of the active tab; forever when chromium is gone, which the call itself tells.
    fn stopped(&self, page: bool) -> BoxFuture<'_, ActionError> {
        Box::pin(async move {
            let stop = self.watch().until(|pages| {
                let tab = pages.front()?;
                let crashed = || tab.crashed.as_ref().filter(|_| page).map(Death::error);
                tab.dialog.clone().map(ActionError::Dialog).or_else(crashed)
            });
            match stop.await {
                Some(stop) => stop,
                None => std::future::pending().await,
            }
        })
    }

    /// Why a call was not answered in time: the page hangs if the browser answers.
    async fn silence(&self) -> ActionError {
        if let Err(error) = self.root().within(BROWSER_ANSWERS).call(&GetTargets {}).await {
            return lost(format!("chromium does not answer: {error}")).into();
        }
        self.watch().with(|pages| {
            let front = pages.front().map(|tab| tab.session.clone());
            pages.mute.extend(front);
        });
        ActionError::Page(format!("the page does not answer, as one that is busy without end: {WAYS_OUT}"))
    }

    /// Fails at once for a page that did not answer before and still does not.
    pub(super) async fn must_answer(&self, tab: &SessionId) -> Result<(), ActionError> {
        if !self.watch().with(|pages| pages.mute.contains(tab)) {
            return Ok(());
        }
        self.must_live(tab).await?;
        self.watch().with(|pages| pages.mute.remove(tab));
        Ok(())
    }

    /// Fails for a page that does not answer.
    pub(super) async fn must_live(&self, tab: &SessionId) -> Result<(), ActionError> {
        let page = self.session(tab).within(PAGE_ANSWERS);
        self.evaluate::<bool>(&page, "true".to_owned()).await.map(drop)
    }
}
