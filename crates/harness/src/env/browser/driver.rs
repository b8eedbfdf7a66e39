//! The open browser: calls that a dialog, a crash or a hanging page cannot block, and the wait until a page settles.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_cdp::domain::browser::Close;
use apprentice_cdp::domain::page::{CaptureScreenshot, PictureFormat};
use apprentice_cdp::domain::runtime::{Argument, CallFunctionOn, Evaluate, ScriptError};
use apprentice_cdp::domain::target::{
    ActivateTarget, CreateBrowserContext, CreateTarget, GetTargets, SetAutoAttach, SetDiscoverTargets,
    WindowState,
};
use apprentice_cdp::{CallError, Command, Connection, Session, SessionId};
use apprentice_protocol::{ActReport, NodeRef, Size, WorldError, WorldErrorKind};
use futures_util::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::event_watcher::EventWatcher;
use super::node_refs::Refs;
use super::page_screen::{PagePicture, PageScreen};
use super::page_state::PageDialog;
use super::picture;

const QUIET: &str = include_str!("page/quiet.js");

/// Resolves after a frame and the tasks that it scheduled; a document out of sight draws none.
const FRAME: &str = "new Promise((done) => { const late = setTimeout(() => done(false), 100); \
    requestAnimationFrame(() => setTimeout(() => { clearTimeout(late); done(true); })); })";

/// Deadline of a single call.
pub(super) const CALL: Duration = Duration::from_secs(15);
/// Deadline for the first tab to appear.
const FIRST_TAB: Duration = Duration::from_secs(20);
/// Deadline for a graceful end of the browser.
const FINISH: Duration = Duration::from_secs(10);
/// Longest wait for documents to load.
const LOADING: Duration = Duration::from_secs(10);
/// Longest wait for requests made by scripts.
const SCRIPT_REQUESTS: Duration = Duration::from_secs(2);
/// Longest wait for a download.
const DOWNLOADING: Duration = Duration::from_secs(10);
/// How long a page must have nothing to do, in milliseconds of the page's clock. Longer than a frame. The browser's own timers
/// count as well, and come often.
const IDLE_MS: u32 = 20;
/// How long the document of a page that is never idle must stay unchanged, in milliseconds of the page's clock.
const UNCHANGED_MS: u32 = 40;
/// How long a document may keep changing, in milliseconds of the page's clock.
const MAX_CHANGING_MS: u32 = 1000;
/// How often a document may be replaced by another while we wait for the page to settle.
const ROUNDS: usize = 6;

/// Why a call or an action failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ActionError {
    /// The model can correct the action.
    #[error("{0}")]
    Refused(String),
    /// A dialog opened, and it blocks the page.
    #[error("a page dialog is open")]
    Dialog(PageDialog),
    /// The node of a reference does not exist any more.
    #[error("element {0} is gone; look again")]
    Gone(NodeRef),
    /// The document was replaced meanwhile.
    #[error("the page changed meanwhile: {0}")]
    Replaced(String),
    /// The page crashed, hangs or closed itself: something else must be opened. What a page does is the attempt's affair.
    #[error("{0}")]
    Page(String),
    /// The infrastructure failed.
    #[error(transparent)]
    World(#[from] WorldError),
}

impl ActionError {
    pub(super) fn refused(problem: impl Into<String>) -> Self {
        Self::Refused(problem.into())
    }

    /// Turns the error into a report for the model, unless the world is at fault.
    pub(super) fn report(self) -> Result<ActReport, WorldError> {
        match self {
            Self::Refused(problem) | Self::Page(problem) => Ok(ActReport::refused(problem)),
            Self::Gone(_) => Ok(ActReport::refused(self.to_string())),
            // The input was delivered: it opened the dialog.
            Self::Dialog(dialog) => Ok(ActReport {
                pointer: None,
                text: Some(format!("a dialog opened: {}", dialog.describe())),
                ..ActReport::delivered()
            }),
            Self::Replaced(why) => {
                Ok(ActReport::refused(format!("the page changed while this was done ({why}); look again")))
            }
            Self::World(error) => Err(error),
        }
    }
}

fn cannot_start(why: String) -> WorldError {
    WorldError::new(WorldErrorKind::Start, why)
}

pub(super) fn lost(why: impl Into<String>) -> WorldError {
    WorldError::new(WorldErrorKind::Lost, why)
}

pub(super) fn trouble(error: &CallError) -> ActionError {
    match error {
        CallError::Refused { refusal, .. } => ActionError::Replaced(refusal.message.clone()),
        CallError::Closed(why) => lost(format!("chromium is gone: {why}")).into(),
        CallError::TimedOut { .. } => lost(format!("chromium does not answer: {error}")).into(),
        CallError::Malformed { .. } => lost(format!("the browser gave an unexpected answer: {error}")).into(),
    }
}

/// How large a session's documents are, as far as it is known before they are read.
#[derive(Clone, Copy, Debug, Default)]
struct DocumentSize {
    /// The number of nodes.
    nodes: usize,
    /// A number of nodes that took too long to be read at once.
    slow: Option<usize>,
}

/// An open browser. All methods take `&self`, because the agent and the checks use it concurrently.
#[derive(Debug)]
pub(super) struct Browser {
    root: Session,
    watch: EventWatcher,
    refs: Mutex<Refs>,
    sizes: Mutex<HashMap<SessionId, DocumentSize>>,
    pub(super) size: Size,
    /// The screen that it fills, if it has one.
    screen: Option<PageScreen>,
    /// The browser context of all its tabs. `None` for the one that the browser began with.
    context: Option<String>,
    // Declared last, so that the handles above are dropped before it closes.
    connection: Arc<Connection>,
}

impl Browser {
    /// Takes over a connection and waits for the first tab.
    pub(super) async fn take_over(
        connection: Arc<Connection>,
        size: Size,
        screen: Option<PageScreen>,
    ) -> Result<Self, WorldError> {
        let browser = Self::over(connection, size, screen, None);
        browser.control().await?;
        browser.await_first_tab().await?;
        Ok(browser)
    }

    /// Makes a browser context with one tab, in a window of its own.
    pub(super) async fn in_new_context(
        connection: Arc<Connection>,
        size: Size,
        screen: Option<PageScreen>,
    ) -> Result<Self, WorldError> {
        let failed = |error: CallError| cannot_start(format!("no browser context could be made: {error}"));
        let made = connection.browser(CALL).call(&CreateBrowserContext { dispose_on_detach: true }).await;
        let context = made.map_err(failed)?.browser_context_id;
        // A browser without windows has no states of them.
        let window_state = screen.is_some().then_some(WindowState::Fullscreen);
        let browser = Self::over(connection, size, screen, Some(context.clone()));
        browser.control().await?;
        let tab = CreateTarget {
            url: "about:blank".to_owned(),
            browser_context_id: Some(context),
            new_window: Some(true),
            window_state,
        };
        browser.root.call(&tab).await.map_err(failed)?;
        browser.await_first_tab().await?;
        Ok(browser)
    }

    fn over(
        connection: Arc<Connection>,
        size: Size,
        screen: Option<PageScreen>,
        context: Option<String>,
    ) -> Self {
        let root = connection.browser(CALL);
        let watch = EventWatcher::start(root.clone(), size, context.clone());
        let (refs, sizes) = (Mutex::default(), Mutex::default());
        Self { root, watch, refs, sizes, size, screen, context, connection }
    }

    /// Has the browser tell of its tabs, also of those to come.
    async fn control(&self) -> Result<(), WorldError> {
        let attach = SetAutoAttach { auto_attach: true, wait_for_debugger_on_start: true, flatten: true };
        let failed = |error: CallError| cannot_start(format!("the browser could not be controlled: {error}"));
        self.root.call(&SetDiscoverTargets { discover: true }).await.map_err(failed)?;
        self.root.call(&attach).await.map(drop).map_err(failed)
    }

    async fn await_first_tab(&self) -> Result<(), WorldError> {
        let start = cannot_start;
        let browser = self;
        let first = browser.watch.until(|pages| pages.front().map(|tab| tab.session.clone()));
        match tokio::time::timeout(FIRST_TAB, first).await {
            Ok(Some(tab)) => {
                // A tab answers its calls in order, so this waits until its events are on: a page that opened before
                // would make requests that nobody is told of.
                let ready = browser.evaluate::<bool>(&browser.session(&tab), "true".to_owned()).await;
                ready.map(drop).map_err(|error| start(format!("the first tab does not answer: {error}")))
            }
            Ok(None) => Err(start("the browser ended before it showed a tab".to_owned())),
            Err(_) => Err(start(format!("the browser showed no tab within {FIRST_TAB:?}"))),
        }
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// The browser context of all its tabs. `None` for the one that the browser began with.
    pub(super) fn context(&self) -> Option<&String> {
        self.context.as_ref()
    }

    pub(super) fn root(&self) -> &Session {
        &self.root
    }

    pub(super) fn watch(&self) -> &EventWatcher {
        &self.watch
    }

    /// The element references given out so far.
    pub(super) fn refs(&self) -> MutexGuard<'_, Refs> {
        self.refs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of nodes of a session, larger than all where so many took too long to be read.
    pub(super) fn known_size(&self, session: &SessionId) -> usize {
        let sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let DocumentSize { nodes, slow } = sizes.get(session).copied().unwrap_or_default();
        if slow.is_some_and(|slow| nodes >= slow / 2) { usize::MAX } else { nodes }
    }

    pub(super) fn note_size(&self, session: &SessionId, nodes: usize) {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.entry(session.clone()).or_default().nodes = nodes;
    }

    /// Notes that the nodes of a session took too long to be read at once.
    pub(super) fn note_slow(&self, session: &SessionId) {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let size = sizes.entry(session.clone()).or_default();
        size.slow = Some(size.nodes);
    }

    pub(super) fn session(&self, id: &SessionId) -> Session {
        self.root.sibling(id.clone())
    }

    /// Makes a call on a session of the active tab. A dialog or a crash ends the wait.
    pub(super) async fn call<C: Command>(
        &self,
        session: &Session,
        command: &C,
    ) -> Result<C::Reply, ActionError> {
        self.guard(session.call(command)).await
    }

    /// Evaluates an expression in the main document of a session.
    pub(super) async fn evaluate<T: DeserializeOwned>(
        &self,
        session: &Session,
        expression: String,
    ) -> Result<T, ActionError> {
        let evaluate = Evaluate { expression, await_promise: true, return_by_value: true, timeout: None };
        let done = self.call(session, &evaluate).await?;
        done.read().map_err(|error: ScriptError| ActionError::Replaced(error.0))
    }

    /// Calls a function on an object of the page.
    pub(super) async fn apply<T: DeserializeOwned>(
        &self,
        session: &Session,
        object: &str,
        function: &str,
        arguments: impl IntoIterator<Item = Value>,
    ) -> Result<T, ActionError> {
        let call = CallFunctionOn {
            function_declaration: function.to_owned(),
            object_id: object.to_owned(),
            arguments: arguments.into_iter().map(|value| Argument { value }).collect(),
            await_promise: true,
            return_by_value: true,
        };
        let done = self.call(session, &call).await?;
        done.read().map_err(|error: ScriptError| ActionError::Replaced(error.0))
    }

    /// Waits until a page has drawn a frame and done what it scheduled for it.
    pub(super) async fn frame(&self, session: &Session) -> Result<(), ActionError> {
        self.evaluate::<bool>(session, FRAME.to_owned()).await.map(drop)
    }

    /// Waits until the short timers of a page that are set now have ended.
    pub(super) async fn timers(&self, session: &Session) -> Result<(), ActionError> {
        let ended = "(window[Symbol.for('apprentice.timers')] || (() => true))()".to_owned();
        self.evaluate::<bool>(session, ended).await.map(drop)
    }

    /// Takes a picture of the active tab.
    pub(super) async fn picture(&self) -> Result<PagePicture, ActionError> {
        let tab = self.front()?;
        if let Some(picture) = self.screen_picture(&tab.session).await? {
            return Ok(picture);
        }
        let capture = CaptureScreenshot { format: PictureFormat::Png, optimize_for_speed: true };
        let picture = self.call(&self.session(&tab.session), &capture).await?;
        let image = picture::of_png(picture.data.0)
            .ok_or_else(|| lost("the browser sent a picture that is not a PNG"))?;
        Ok(PagePicture { image, changes: None })
    }

    /// The picture of the screen, if it shows the active tab alone.
    async fn screen_picture(&self, tab: &SessionId) -> Result<Option<PagePicture>, ActionError> {
        match &self.screen {
            // A page that does not answer may show what it was.
            Some(screen)
                if self
                    .watch
                    .with(|pages| pages.shown.as_ref() == Some(tab) && !pages.mute.contains(tab)) =>
            {
                Ok(screen.picture(tab, self.size).await?)
            }
            _ => Ok(None),
        }
    }

    /// Notes that the active tab got input that gives it the focus.
    pub(super) fn note_input(&self) {
        let tab = self.watch.with(|pages| pages.front().map(|tab| tab.session.clone()));
        if let (Some(screen), Some(tab)) = (&self.screen, tab) {
            screen.note_input(&tab);
        }
    }

    /// A picture as the screen is now.
    pub(super) async fn renewed(&self, picture: PagePicture) -> Result<PagePicture, ActionError> {
        match &self.screen {
            Some(screen) => Ok(screen.renewed(picture, &self.front()?.session, self.size).await?),
            None => Ok(picture),
        }
    }

    /// Waits until the active tab settles: documents loaded, requests answered, no more changes. Each wait is limited;
    /// after the limit, the page is used as it is.
    pub(super) async fn settle(&self) -> Result<(), ActionError> {
        for _ in 0..ROUNDS {
            let tab = self.front()?;
            if let Some(dialog) = tab.dialog {
                return Err(ActionError::Dialog(dialog));
            }
            let id = &tab.session;
            self.must_answer(id).await?;
            self.bring_to_front(&tab.target, id).await?;
            self.wait(LOADING, |pages| !pages.is_loading(id)).await?;
            self.wait(SCRIPT_REQUESTS, |pages| !pages.has_pending_requests(id)).await?;
            // What is still not answered is a stream: it is not waited for again.
            self.watch.with(|pages| pages.note_streams(id));
            let replaced = self.await_quiet(id).await?;
            let (front, loading) = self.watch.with(|pages| {
                let loading = pages.is_loading(id) || pages.has_pending_requests(id);
                (pages.front().map(|tab| tab.session.clone()), loading)
            });
            if !replaced && !loading && front.as_ref() == Some(id) {
                break;
            }
        }
        self.wait(DOWNLOADING, |pages| !pages.is_downloading()).await
    }

    /// Waits until the documents of a tab have nothing to do, those of frames in other processes too. Returns whether the
    /// tab's document was replaced meanwhile.
    async fn await_quiet(&self, tab: &SessionId) -> Result<bool, ActionError> {
        let sessions = self.watch.with(|pages| pages.sessions_of(tab));
        let waits = sessions.iter().map(|(session, _)| {
            let is_tab = session == tab;
            let page = self.session(session);
            let quiet = format!("({QUIET})({IDLE_MS}, {UNCHANGED_MS}, {MAX_CHANGING_MS}, {is_tab})");
            async move {
                let rest = self.evaluate::<(usize, bool)>(&page, quiet).await;
                if let Ok((elements, focused)) = &rest {
                    // Beside its elements, a document has about as many texts.
                    self.note_size(session, elements * 2);
                    if let Some(screen) = self.screen.as_ref().filter(|_| is_tab) {
                        screen.note_focus(tab, *focused);
                    }
                }
                (is_tab, rest)
            }
        });
        // What is asked of a page that closes is never answered.
        let closed = self.watch.until(|pages| (!pages.has(tab)).then_some(()));
        let ended = tokio::select! {
            biased;
            ended = join_all(waits) => ended,
            Some(()) = closed => return Ok(true),
        };
        let mut replaced = false;
        for (is_tab, ended) in ended {
            match ended {
                Ok(_) => {}
                // A frame may go at any time.
                Err(ActionError::Replaced(_)) => replaced |= is_tab,
                Err(other) => return Err(other),
            }
        }
        Ok(replaced)
    }

    /// Makes the browser show a tab: a background tab is not rendered and takes no input.
    pub(super) async fn bring_to_front(&self, target: &str, session: &SessionId) -> Result<(), ActionError> {
        if self.watch.with(|pages| pages.shown.as_ref() == Some(session)) {
            return Ok(());
        }
        let activate = ActivateTarget { target_id: target.to_owned() };
        self.guard_beside(self.root.call(&activate)).await?;
        self.watch.with(|pages| {
            pages.make_active(session);
            pages.shown = Some(session.clone());
        });
        Ok(())
    }

    /// Closes the browser gracefully, unless it has ended already, and waits for the end of its events.
    pub(super) async fn finish(&self) {
        // An error means that the browser has ended already.
        let _ = self.root.call(&Close::default()).await;
        let _ = tokio::time::timeout(FINISH, self.watch.until::<()>(|_| None)).await;
    }

    /// Reads titles and URLs of the tabs, because the events about them come late.
    pub(super) async fn refresh_tabs(&self) -> Result<(), ActionError> {
        let targets = self.root.call(&GetTargets {}).await.map_err(|error| trouble(&error))?;
        self.watch.with(|pages| targets.target_infos.into_iter().for_each(|info| pages.describe(info)));
        Ok(())
    }

    /// Waits until `calm` holds, the active tab opens a dialog, or the time limit is reached.
    async fn wait(
        &self,
        cap: Duration,
        calm: impl Fn(&super::page_state::BrowserState) -> bool,
    ) -> Result<(), ActionError> {
        let reached = self.watch.until(|pages| {
            let blocked = pages.front().is_none_or(|tab| tab.dialog.is_some() || tab.crashed.is_some());
            (blocked || calm(pages)).then_some(())
        });
        // The next call detects both the time limit and the end of the events.
        let _ = tokio::time::timeout(cap, reached).await;
        Ok(())
    }
}

impl PageDialog {
    /// Describes the dialog in one sentence.
    pub(super) fn describe(&self) -> String {
        let default = self.default.as_deref().filter(|text| !text.is_empty());
        let default = default.map(|text| format!(" (it starts with {text:?})")).unwrap_or_default();
        match self.kind.as_str() {
            "beforeunload" => "beforeunload: the page asks whether to leave; accept leaves it".to_owned(),
            kind => format!("{kind}: {:?}{default}", self.message),
        }
    }
}
