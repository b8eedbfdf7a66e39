//! Browsers that serve several episodes, one after the other, each in a browser context of its own.
//!
//! An episode begins in a context that was made for it, in a window of its own, and its context is disposed of with it. Cookies, storage,
//! caches, permissions and zoom belong to the context. The clipboard of the browser is emptied. What was selected last, and what a
//! middle click enters, stays. A browser is closed instead of kept where anything else could be left of an episode: its setup or its
//! check ran or wrote something in the cell, a file was downloaded, a page was opened outside of the context, or something broke.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_cdp::CallError;
use apprentice_cdp::domain::target::{CloseTarget, DisposeBrowserContext, GetTargets};
use apprentice_protocol::{Size, WorldError, WorldSpec};
use apprentice_sandbox::Cell;
use serde_json::json;
use tokio::sync::watch;

use super::driver::{Browser, lost, trouble};
use super::launch::Chromium;
use super::page_screen::PageScreen;

/// Longest wait for a browser whose episode has just ended.
const RENEWAL: Duration = Duration::from_secs(5);
/// How long a browser that waited may take to show that it still works.
const STILL_WORKS: Duration = Duration::from_secs(5);
/// Most episodes of one browser, so that what it keeps in memory does not grow without end.
const MOST_EPISODES: u32 = 200;
/// Most browsers that wait. More of them have never been used at once, or are of other kinds.
const MOST_IDLE: usize = 16;

/// Whether browsers serve several episodes.
#[derive(Clone, Default)]
pub struct BrowserReuse(Option<Arc<ContextPool>>);

impl BrowserReuse {
    /// Each episode has a browser of its own.
    pub fn off() -> Self {
        Self(None)
    }

    /// Each episode has a browser context of its own.
    pub fn contexts() -> Self {
        Self(Some(Arc::default()))
    }

    pub(super) fn pool(&self) -> Option<&Arc<ContextPool>> {
        self.0.as_ref()
    }
}

/// The browsers that wait for an episode.
pub(super) struct ContextPool {
    state: Mutex<PoolState>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<IdleBrowser>,
    /// The kinds of the browsers that are being renewed.
    renewed: Vec<WorldSpec>,
    /// The kinds that are waited for.
    awaited: Vec<WorldSpec>,
}

impl Default for ContextPool {
    fn default() -> Self {
        Self { state: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

/// A browser with a fresh context.
pub(super) struct IdleBrowser {
    pub(super) kind: WorldSpec,
    pub(super) episodes: u32,
    pub(super) browser: Arc<Browser>,
    pub(super) chromium: Chromium,
    pub(super) cell: Cell,
}

fn count(kinds: &[WorldSpec], kind: &WorldSpec) -> usize {
    kinds.iter().filter(|one| *one == kind).count()
}

fn remove(kinds: &mut Vec<WorldSpec>, kind: &WorldSpec) {
    if let Some(at) = kinds.iter().position(|one| one == kind) {
        kinds.swap_remove(at);
    }
}

impl ContextPool {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Takes a browser of a kind. Waits for one that is being renewed, if nobody else waits for it.
    pub(super) async fn take(&self, kind: &WorldSpec) -> Option<IdleBrowser> {
        let mut changes = self.changes.subscribe();
        {
            let mut state = self.state();
            if let Some(at) = state.idle.iter().position(|idle| idle.kind == *kind) {
                return Some(state.idle.remove(at));
            }
            if count(&state.awaited, kind) >= count(&state.renewed, kind) {
                return None;
            }
            state.awaited.push(kind.clone());
        }
        let _awaited = OnDrop(|| remove(&mut self.state().awaited, kind));
        let renewed = async {
            loop {
                changes.changed().await.ok()?;
                let mut state = self.state();
                if let Some(at) = state.idle.iter().position(|idle| idle.kind == *kind) {
                    return Some(state.idle.remove(at));
                }
                if count(&state.renewed, kind) == 0 {
                    return None;
                }
            }
        };
        tokio::time::timeout(RENEWAL, renewed).await.ok().flatten()
    }

    /// Keeps a browser. Returns one that is not kept any more.
    fn keep(&self, idle: IdleBrowser) -> Option<IdleBrowser> {
        let mut state = self.state();
        state.idle.push(idle);
        (state.idle.len() > MOST_IDLE).then(|| state.idle.remove(0))
    }
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// How a browser comes back after an episode.
pub(super) struct Returning {
    pub(super) pool: Arc<ContextPool>,
    pub(super) kind: WorldSpec,
    pub(super) episodes: u32,
    pub(super) browser: Arc<Browser>,
    /// Whether the cell was touched beside the browser.
    pub(super) touched: Arc<AtomicBool>,
}

impl Returning {
    /// Renews the browser and keeps it. Returns what must be closed: this one if something may be left of the episode, or
    /// an older one.
    pub(super) async fn end(self, chromium: Chromium, cell: Cell, deadline: Duration) -> Option<Cell> {
        if !self.may_return(&cell) {
            return Some(cell);
        }
        let Self { pool, kind, episodes, browser, .. } = self;
        pool.state().renewed.push(kind.clone());
        // Whoever waits hears of it, whichever way this ends.
        let _renewed = OnDrop(|| {
            remove(&mut pool.state().renewed, &kind);
            pool.changed();
        });
        match tokio::time::timeout(deadline, renew(&browser, &cell)).await {
            Ok(Ok(browser)) => {
                let kept = IdleBrowser { kind: kind.clone(), episodes, browser, chromium, cell };
                pool.keep(kept).map(|old| old.cell)
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "a browser is not used again");
                Some(cell)
            }
            Err(_) => {
                tracing::debug!("a browser is not used again, as renewing it took too long");
                Some(cell)
            }
        }
    }

    fn may_return(&self, cell: &Cell) -> bool {
        let is_clean = self.browser.watch().with(|pages| {
            let crashed = pages.tabs().iter().any(|tab| tab.crashed.is_some());
            !pages.has_downloaded && pages.stray.is_none() && !crashed && pages.mute.is_empty()
        });
        is_clean
            && self.episodes < MOST_EPISODES
            && cell.loss().is_none()
            && !self.touched.load(Ordering::Acquire)
    }
}

/// Makes the context of the next episode, and disposes of the one before.
async fn renew(old: &Browser, cell: &Cell) -> Result<Arc<Browser>, WorldError> {
    let next = open_context(old.connection(), old.size, cell).await?;
    let failed = |error: CallError| match trouble(&error) {
        super::driver::ActionError::World(error) => error,
        other => lost(other.to_string()),
    };
    if let Some(context) = old.context() {
        let dispose = DisposeBrowserContext { browser_context_id: context.clone() };
        next.root().call(&dispose).await.map_err(failed)?;
    }
    close_others(&next).await.map_err(failed)?;
    next.empty_clipboard().await.map_err(failed)?;
    // What is to be told of the next episode begins with it.
    drop((cell.take_connections(), cell.take_notices()));
    next.watch().with(|pages| pages.stray = None);
    Ok(Arc::new(next))
}

/// Makes a context, with a tab that fills the screen.
async fn open_context(
    connection: &Arc<apprentice_cdp::Connection>,
    size: Size,
    cell: &Cell,
) -> Result<Browser, WorldError> {
    let screen = match cell.screen() {
        Some(screen) => Some(PageScreen::open(screen).await?),
        None => None,
    };
    Browser::in_new_context(Arc::clone(connection), size, screen).await
}

/// Makes the first context of a browser, and closes the tab with which the browser began.
pub(super) async fn first_context(
    connection: &Arc<apprentice_cdp::Connection>,
    size: Size,
    cell: &Cell,
) -> Result<Browser, WorldError> {
    let browser = open_context(connection, size, cell).await?;
    let closed = close_others(&browser).await;
    closed.map_err(|error| lost(format!("the browser's first tab could not be closed: {error}")))?;
    browser.watch().with(|pages| pages.stray = None);
    Ok(browser)
}

/// Closes the pages outside of a browser's context.
async fn close_others(browser: &Browser) -> Result<(), CallError> {
    let targets = browser.root().call(&GetTargets {}).await?.target_infos;
    let others = targets
        .into_iter()
        .filter(|target| target.kind == "page" && target.browser_context_id.as_ref() != browser.context());
    for other in others {
        match browser.root().call(&CloseTarget { target_id: other.target_id }).await {
            // It has gone meanwhile.
            Ok(_) | Err(CallError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Empties the clipboard as a page does that is copied from. Only what a user did may write to it.
const EMPTY_CLIPBOARD: &str = "(() => { let done = false; document.addEventListener('copy', (event) => { \
    event.clipboardData.setData('text/plain', ''); event.preventDefault(); done = true; }, { once: true }); \
    document.execCommand('copy'); return done; })()";

impl Browser {
    /// Whether its tab answers.
    pub(super) async fn still_works(&self) -> bool {
        let Some(tab) = self.watch().with(|pages| pages.front().map(|tab| tab.session.clone())) else {
            return false;
        };
        let page = self.session(&tab).within(STILL_WORKS);
        self.evaluate::<bool>(&page, "true".to_owned()).await.is_ok()
    }

    async fn empty_clipboard(&self) -> Result<(), CallError> {
        let Some(tab) = self.watch().with(|pages| pages.front().map(|tab| tab.session.clone())) else {
            return Ok(());
        };
        let parameters = json!({ "expression": EMPTY_CLIPBOARD, "userGesture": true, "returnByValue": true });
        let done = self.session(&tab).raw("Runtime.evaluate", &parameters).await?;
        if done["result"]["value"] != json!(true) {
            let refusal =
                apprentice_cdp::ErrorReply { code: 0, message: format!("the page answered {done}") };
            return Err(CallError::Refused { method: "emptying the clipboard".to_owned(), refusal });
        }
        Ok(())
    }
}
