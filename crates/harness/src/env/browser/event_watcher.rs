//! The task that reads the browser's events, and the handle through which others read the resulting state.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_cdp::domain::target::SetAutoAttach;
use apprentice_cdp::domain::{accessibility, network, page, runtime};
use apprentice_cdp::{EventFilter, Events, Session};
use apprentice_protocol::Size;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::page_state::{BrowserState, FollowUp};

/// What runs in each document before its own scripts.
const PREPARED: &str = include_str!("page/prepared.js");
/// Most events that may wait unread: enough for a page that makes thousands of requests at once.
const QUEUE: usize = 1 << 14;

/// The state of the pages, kept up to date by a task. Dropping this value ends the task.
#[derive(Debug)]
pub(super) struct EventWatcher {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    pages: Mutex<BrowserState>,
    changes: watch::Sender<u64>,
}

impl Shared {
    fn pages(&self) -> MutexGuard<'_, BrowserState> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventWatcher {
    /// Starts to read events. Call this before any events are turned on, so that none are missed.
    /// With a context, only the pages of that one count.
    pub(super) fn start(browser: Session, size: Size, context: Option<String>) -> Self {
        let events = browser.events(EventFilter::all(), QUEUE);
        let pages = Mutex::new(BrowserState::new(context));
        let shared = Arc::new(Shared { pages, changes: watch::Sender::new(0) });
        let task = tokio::spawn(follow(browser, events, Arc::clone(&shared), size));
        Self { shared, task }
    }

    /// Reads or changes the state.
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut BrowserState) -> T) -> T {
        look(&mut self.shared.pages())
    }

    /// Waits until `look` returns a value, now or after some change. `None` once the events have ended.
    pub(super) async fn until<T>(&self, mut look: impl FnMut(&mut BrowserState) -> Option<T>) -> Option<T> {
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.borrow_and_update();
            let over = {
                let mut pages = self.shared.pages();
                if let Some(answer) = look(&mut pages) {
                    return Some(answer);
                }
                pages.over
            };
            if over || changes.changed().await.is_err() {
                return None;
            }
        }
    }
}

impl Drop for EventWatcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(browser: Session, mut events: Events, shared: Arc<Shared>, size: Size) {
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                let duty = shared.pages().apply(&event);
                match duty {
                    Some(FollowUp::Prepare(session)) => prepare(&browser.sibling(session), size),
                    Some(FollowUp::LetRun(session)) => {
                        browser.sibling(session).post(&runtime::RunIfWaitingForDebugger::default());
                    }
                    None => {}
                }
            }
            Err(missed) => tracing::warn!(%missed, "the state of the browser may be behind"),
        }
        shared.changes.send_modify(|count| *count += 1);
    }
    shared.pages().over = true;
    shared.changes.send_modify(|count| *count += 1);
}

/// Turns on the events that we read. The calls are queued before any later call on the session and none is awaited: a
/// page that is paused before its first script would not answer some of them.
fn prepare(session: &Session, size: Size) {
    session.post(&page::Enable::default());
    session.post(&page::InspectorEnable::default());
    session.post(&network::Enable::default());
    session.post(&accessibility::Enable::default());
    session.post(&SetAutoAttach { auto_attach: true, wait_for_debugger_on_start: true, flatten: true });
    session.post(&page::AddScriptToEvaluateOnNewDocument { source: PREPARED.to_owned() });
    session.post(&page::SetInterceptFileChooserDialog { enabled: true });
    session.post(&page::SetDeviceMetricsOverride {
        width: size.width,
        height: size.height,
        device_scale_factor: 1.0,
        mobile: false,
    });
    session.post(&runtime::RunIfWaitingForDebugger::default());
}
