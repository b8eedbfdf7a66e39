//! The state of tabs, frames, dialogs and downloads, computed from the browser's events. Pure: the task that reads the
//! events carries out what [`BrowserState::apply`] returns.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_cdp::domain::browser::{DownloadProgress, DownloadState, DownloadWillBegin};
use apprentice_cdp::domain::network::{LoadingFailed, LoadingFinished, RequestWillBeSent, ResponseReceived};
use apprentice_cdp::domain::page::{
    FileChooserOpened, FrameDetached, FrameStartedLoading, FrameStoppedLoading, JavascriptDialogClosed,
    JavascriptDialogOpening, TargetReloadedAfterCrash,
};
use apprentice_cdp::domain::target::{
    AttachedToTarget, DetachedFromTarget, TargetCrashed, TargetInfo, TargetInfoChanged,
};
use apprentice_cdp::{Event, EventPayload, SessionId};
use apprentice_protocol::cut_text;

use super::request_log::RequestLog;

/// An open dialog of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageDialog {
    pub(super) session: SessionId,
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) default: Option<String>,
}

/// A file input that waits for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileChooser {
    pub(super) session: SessionId,
    pub(super) node: i64,
    pub(super) several: bool,
}

/// Most bytes of a dialog's message, of a tab's title and of its address: a page makes them as long as it likes.
const MESSAGE_BYTES: usize = 16 << 10;
const TITLE_BYTES: usize = 4 << 10;
const ADDRESS_BYTES: usize = 64 << 10;

/// A tab.
#[derive(Clone, Debug)]
pub(super) struct PageTab {
    /// The tab's name in actions: `t1`, `t2`, …, never reused.
    pub(super) name: String,
    pub(super) target: String,
    pub(super) session: SessionId,
    pub(super) title: String,
    pub(super) url: String,
    pub(super) dialog: Option<PageDialog>,
    pub(super) chooser: Option<FileChooser>,
    /// How the tab's process died, if it did.
    pub(super) crashed: Option<Death>,
}

/// The end of a process that went over a limit of its world.
const OVER_LIMIT: &str = "over a limit";

/// The end of a page's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Death {
    status: String,
    code: i64,
}

impl Death {
    /// Whether the process was not ended by what its page did: a page cannot kill itself.
    pub(super) fn is_from_outside(&self) -> bool {
        // Chromium's words for the ends of processes (`base::TerminationStatus`).
        !matches!(self.status.as_str(), "crashed" | "oom" | "abnormal" | "normal" | OVER_LIMIT)
    }

    /// How it ended, as the browser says it.
    pub(super) fn how(&self) -> String {
        format!("{} ({})", self.status, self.code)
    }
}

/// A session belonging to a tab: the tab's own, or one of an out-of-process frame.
#[derive(Clone, Debug)]
pub(super) struct TabSession {
    /// The tab's own session.
    pub(super) tab: SessionId,
    /// The session under which it was attached. `None` for the tab's own.
    pub(super) parent: Option<SessionId>,
    /// The target. For a frame, this is the frame's id.
    pub(super) target: String,
    loading: BTreeSet<String>,
    requests: BTreeSet<String>,
    /// Requests that went on for longer than a page is waited for.
    streams: BTreeSet<String>,
}

/// A download.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Download {
    pub(super) name: String,
    pub(super) state: DownloadState,
    pub(super) bytes: f64,
}

/// What the reader of the events has to do after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FollowUp {
    /// Turn on the events of a new page or frame, then let it run.
    Prepare(SessionId),
    /// Let a target run that is not observed.
    LetRun(SessionId),
}

/// The state of the browser's pages.
#[derive(Debug, Default)]
pub(super) struct BrowserState {
    tabs: Vec<PageTab>,
    /// Tabs from the least to the most recently active; the last one is the active tab.
    order: Vec<SessionId>,
    parts: BTreeMap<SessionId, TabSession>,
    downloads: BTreeMap<String, Download>,
    /// The requests of each tab.
    requests: BTreeMap<SessionId, RequestLog>,
    named: u32,
    /// Whether a page opened by another becomes the active tab.
    pub(super) follow: bool,
    /// The tab that the browser was last told to show.
    pub(super) shown: Option<SessionId>,
    /// Tabs whose page did not answer.
    pub(super) mute: BTreeSet<SessionId>,
    /// The browser context whose pages these are. `None` for those of the whole browser.
    context: Option<String>,
    /// The address of a page that was opened outside of the context.
    pub(super) stray: Option<String>,
    /// Whether a download was begun.
    pub(super) has_downloaded: bool,
    /// Whether the event stream has ended. The state changes no more then.
    pub(super) over: bool,
}

impl BrowserState {
    pub(super) fn new(context: Option<String>) -> Self {
        Self { follow: true, context, ..Self::default() }
    }

    /// The active tab.
    pub(super) fn front(&self) -> Option<&PageTab> {
        let session = self.order.last()?;
        self.tabs.iter().find(|tab| tab.session == *session)
    }

    pub(super) fn tabs(&self) -> &[PageTab] {
        &self.tabs
    }

    pub(super) fn by_target(&self, target: &str) -> Option<&PageTab> {
        self.tabs.iter().find(|tab| tab.target == target)
    }

    /// Makes a tab the active one.
    pub(super) fn make_active(&mut self, session: &SessionId) {
        if let Some(at) = self.order.iter().position(|other| other == session) {
            let session = self.order.remove(at);
            self.order.push(session);
        }
    }

    /// The sessions of a tab: its own first, and parents before children.
    pub(super) fn sessions_of(&self, tab: &SessionId) -> Vec<(SessionId, TabSession)> {
        let mut found: Vec<(SessionId, TabSession)> = Vec::new();
        let mut waiting = vec![tab.clone()];
        while let Some(session) = waiting.pop() {
            waiting.extend(
                self.parts
                    .iter()
                    .filter(|(_, part)| part.parent.as_ref() == Some(&session))
                    .map(|(child, _)| child.clone()),
            );
            if let Some(part) = self.parts.get(&session) {
                found.push((session, part.clone()));
            }
        }
        found
    }

    pub(super) fn has(&self, session: &SessionId) -> bool {
        self.parts.contains_key(session)
    }

    /// Whether a document of the tab is still loading.
    pub(super) fn is_loading(&self, tab: &SessionId) -> bool {
        self.parts.values().any(|part| part.tab == *tab && !part.loading.is_empty())
    }

    /// Whether the tab waits for the response to a request that may change the page.
    pub(super) fn has_pending_requests(&self, tab: &SessionId) -> bool {
        self.parts.values().any(|part| part.tab == *tab && !part.requests.is_subset(&part.streams))
    }

    /// Records that the requests of a tab that are still open are not to be waited for again.
    pub(super) fn note_streams(&mut self, tab: &SessionId) {
        for part in self.parts.values_mut().filter(|part| part.tab == *tab) {
            part.streams.clone_from(&part.requests);
        }
    }

    pub(super) fn is_downloading(&self) -> bool {
        self.downloads.values().any(|download| download.state == DownloadState::InProgress)
    }

    /// The requests that a tab made.
    pub(super) fn request_log(&self, tab: &SessionId) -> Option<&RequestLog> {
        self.requests.get(tab)
    }

    /// The log of the requests of the tab that a session belongs to.
    fn log_of(&mut self, session: &SessionId) -> Option<&mut RequestLog> {
        let tab = self.parts.get(session)?.tab.clone();
        Some(self.requests.entry(tab).or_default())
    }

    /// Takes the downloads that have ended since the last call.
    pub(super) fn take_ended_downloads(&mut self) -> Vec<Download> {
        let ended = self.downloads.extract_if(.., |_, one| one.state != DownloadState::InProgress);
        ended.map(|(_, download)| download).collect()
    }

    /// Takes the file input that waits for files in the active tab.
    pub(super) fn take_file_chooser(&mut self) -> Option<FileChooser> {
        let front = self.order.last()?.clone();
        self.tabs.iter_mut().find(|tab| tab.session == front)?.chooser.take()
    }

    /// Applies one event. Events of unexpected form are ignored.
    pub(super) fn apply(&mut self, event: &Event) -> Option<FollowUp> {
        match &*event.method {
            AttachedToTarget::METHOD => return self.attach(read(event)?, event.session.as_ref()),
            DetachedFromTarget::METHOD => self.detach(&read::<DetachedFromTarget>(event)?.session_id),
            TargetInfoChanged::METHOD => self.describe(read::<TargetInfoChanged>(event)?.target_info),
            TargetCrashed::METHOD => {
                let crash: TargetCrashed = read(event)?;
                let death = Death { status: crash.status, code: crash.error_code };
                self.parts
                    .values()
                    .find(|part| part.target == crash.target_id)
                    .map(|part| part.tab.clone())
                    .and_then(|tab| self.tab_mut(&tab))?
                    .crashed = Some(death);
            }
            // Of a reload that nobody asked us for.
            TargetReloadedAfterCrash::METHOD => self.tab_of(event)?.crashed = None,
            DownloadWillBegin::METHOD => {
                let begun: DownloadWillBegin = read(event)?;
                let (name, state) = (begun.suggested_filename, DownloadState::InProgress);
                self.has_downloaded = true;
                self.downloads.insert(begun.guid, Download { name, state, bytes: 0.0 });
            }
            DownloadProgress::METHOD => {
                let progress: DownloadProgress = read(event)?;
                let download = self.downloads.get_mut(&progress.guid)?;
                download.state = progress.state;
                download.bytes = progress.received_bytes;
                let kept = progress.file_path.as_deref().and_then(|path| path.rsplit('/').next());
                if let Some(name) = kept.filter(|name| !name.is_empty()) {
                    name.clone_into(&mut download.name);
                }
            }
            _ => self.apply_to_page(event)?,
        }
        None
    }

    fn apply_to_page(&mut self, event: &Event) -> Option<()> {
        let session = event.session.as_ref()?;
        match &*event.method {
            JavascriptDialogOpening::METHOD => {
                let JavascriptDialogOpening { kind, mut message, default_prompt } = read(event)?;
                cut_text(&mut message, MESSAGE_BYTES);
                let session = session.clone();
                let dialog = PageDialog { session, kind, message, default: default_prompt };
                self.tab_of(event)?.dialog = Some(dialog);
            }
            JavascriptDialogClosed::METHOD => self.tab_of(event)?.dialog = None,
            FileChooserOpened::METHOD => {
                let chooser: FileChooserOpened = read(event)?;
                let node = chooser.backend_node_id?;
                let several = chooser.mode == "selectMultiple";
                self.tab_of(event)?.chooser = Some(FileChooser { session: session.clone(), node, several });
            }
            FrameStartedLoading::METHOD => {
                let frame = read::<FrameStartedLoading>(event)?.frame_id;
                self.parts.get_mut(session)?.loading.insert(frame);
            }
            FrameStoppedLoading::METHOD => {
                let frame = read::<FrameStoppedLoading>(event)?.frame_id;
                self.parts.get_mut(session)?.loading.remove(&frame);
            }
            FrameDetached::METHOD => {
                let frame = read::<FrameDetached>(event)?.frame_id;
                self.parts.get_mut(session)?.loading.remove(&frame);
            }
            RequestWillBeSent::METHOD => {
                let request: RequestWillBeSent = read(event)?;
                self.log_of(session)?.sent(&request);
                // Event streams never end, and images change nothing that can be acted on.
                if matches!(request.kind.as_deref(), Some("XHR" | "Fetch" | "Script" | "Stylesheet")) {
                    self.parts.get_mut(session)?.requests.insert(request.request_id);
                }
            }
            ResponseReceived::METHOD => self.log_of(session)?.answered(&read(event)?),
            LoadingFinished::METHOD => {
                let request = read::<LoadingFinished>(event)?.request_id;
                self.parts.get_mut(session)?.requests.remove(&request);
            }
            LoadingFailed::METHOD => {
                let failed: LoadingFailed = read(event)?;
                self.log_of(session)?.failed(&failed);
                self.parts.get_mut(session)?.requests.remove(&failed.request_id);
            }
            _ => {}
        }
        Some(())
    }

    fn attach(&mut self, attached: AttachedToTarget, under: Option<&SessionId>) -> Option<FollowUp> {
        let AttachedToTarget { session_id: session, target_info: info, .. } = attached;
        let parent = under.filter(|under| self.parts.contains_key(under));
        let is_ours = self.context.is_none() || self.context == info.browser_context_id;
        let tab = match (info.kind.as_str(), parent) {
            ("page", _) if !is_ours => {
                self.stray = Some(info.url);
                return Some(FollowUp::LetRun(session));
            }
            ("page", _) => session.clone(),
            ("iframe", Some(parent)) => self.parts.get(parent)?.tab.clone(),
            _ => return Some(FollowUp::LetRun(session)),
        };
        let is_page = tab == session;
        let parent = if is_page { None } else { parent.cloned() };
        let target = info.target_id.clone();
        let (loading, requests, streams) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let part = TabSession { tab, parent, target, loading, requests, streams };
        self.parts.insert(session.clone(), part);
        if is_page {
            self.add_tab(session.clone(), info);
        }
        Some(FollowUp::Prepare(session))
    }

    fn add_tab(&mut self, session: SessionId, mut info: TargetInfo) {
        cut_text(&mut info.title, TITLE_BYTES);
        cut_text(&mut info.url, ADDRESS_BYTES);
        self.named += 1;
        let to_front = self.order.is_empty() || (self.follow && info.opener_id.is_some());
        let place = if to_front { self.order.len() } else { 0 };
        self.order.insert(place, session.clone());
        self.tabs.push(PageTab {
            name: format!("t{}", self.named),
            target: info.target_id,
            session,
            title: info.title,
            url: info.url,
            dialog: None,
            chooser: None,
            crashed: None,
        });
    }

    fn detach(&mut self, session: &SessionId) {
        self.parts.retain(|id, part| id != session && part.tab != *session);
        self.order.retain(|id| id != session);
        self.tabs.retain(|tab| tab.session != *session);
        self.requests.remove(session);
        self.mute.remove(session);
    }

    /// Notes that the active tab's process was ended for what its page took. Returns whether it has ended at all.
    pub(super) fn blame_page(&mut self) -> bool {
        let Some(front) = self.order.last().cloned() else { return false };
        let death = self.tab_mut(&front).and_then(|tab| tab.crashed.as_mut());
        death.map(|death| OVER_LIMIT.clone_into(&mut death.status)).is_some()
    }

    /// Whether a tab's process has ended.
    pub(super) fn has_crashed(&self, tab: &SessionId) -> bool {
        self.tabs.iter().any(|one| one.session == *tab && one.crashed.is_some())
    }

    /// Notes that a tab is led elsewhere. Returns whether its page did not answer.
    pub(super) fn leave(&mut self, tab: &SessionId) -> bool {
        if let Some(tab) = self.tab_mut(tab) {
            tab.crashed = None;
        }
        self.mute.remove(tab)
    }

    pub(super) fn describe(&mut self, mut info: TargetInfo) {
        cut_text(&mut info.title, TITLE_BYTES);
        cut_text(&mut info.url, ADDRESS_BYTES);
        if let Some(tab) = self.tabs.iter_mut().find(|tab| tab.target == info.target_id) {
            tab.title = info.title;
            tab.url = info.url;
        }
    }

    fn tab_mut(&mut self, session: &SessionId) -> Option<&mut PageTab> {
        self.tabs.iter_mut().find(|tab| tab.session == *session)
    }

    /// The tab that an event of any of its sessions belongs to.
    fn tab_of(&mut self, event: &Event) -> Option<&mut PageTab> {
        let tab = self.parts.get(event.session.as_ref()?)?.tab.clone();
        self.tab_mut(&tab)
    }
}

fn read<T: EventPayload>(event: &Event) -> Option<T> {
    event.read()?.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apprentice_cdp::{Event, Payload, SessionId};
    use serde_json::{Value, json, value::to_raw_value};

    use super::BrowserState;

    fn apply(pages: &mut BrowserState, session: Option<&SessionId>, method: &str, params: &Value) {
        let params = Arc::new(Payload::json(&to_raw_value(params).expect("JSON")));
        pages.apply(&Event { session: session.cloned(), method: method.into(), params });
    }

    #[test]
    fn a_request_that_outlasts_its_wait_is_not_waited_for_again() {
        let (mut pages, tab) =
            (BrowserState::new(None), serde_json::from_value::<SessionId>(json!("tab")).expect("an id"));
        let info = json!({ "targetId": "p", "type": "page", "title": "", "url": "", "attached": true });
        let attached = json!({ "sessionId": "tab", "targetInfo": info, "waitingForDebugger": true });
        apply(&mut pages, None, "Target.attachedToTarget", &attached);
        let send = |pages: &mut BrowserState, id: &str| {
            let request = json!({ "url": "http://x/", "method": "GET" });
            let sent = json!({ "requestId": id, "request": request, "type": "Fetch" });
            apply(pages, Some(&tab), "Network.requestWillBeSent", &sent);
        };
        send(&mut pages, "1");
        assert!(pages.has_pending_requests(&tab));
        pages.note_streams(&tab);
        assert!(!pages.has_pending_requests(&tab), "it is a stream");
        send(&mut pages, "2");
        assert!(pages.has_pending_requests(&tab), "another is waited for");
        apply(&mut pages, Some(&tab), "Network.loadingFinished", &json!({ "requestId": "2" }));
        assert!(!pages.has_pending_requests(&tab));
    }
}
