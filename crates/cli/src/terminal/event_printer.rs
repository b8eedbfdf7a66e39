//! Prints the events of a running attempt on the terminal and passes them on to the trace.

use std::sync::Arc;

use apprentice_learning::foreground::Timeline;
use apprentice_protocol::{
    ActionDetail, ActionOutcome, ActionRecord, BlobHash, Call, CallBody, EventId, EventKind, EventSink,
    FunctionEnd, FunctionRecord, SinkError, SkillEventKind, StepId, counted,
};

use crate::terminal;
use crate::terminal::live_words::LiveWords;

/// An event sink that prints a line for each event of interest and then passes the event on.
pub(crate) struct EventPrinter<S> {
    inner: S,
    timeline: Option<Timeline>,
    live: Option<LiveWords>,
    listener: Option<Arc<dyn EventListener>>,
}

/// Hears of what is recorded, in order, after it is recorded.
pub(crate) trait EventListener: Send + Sync {
    /// An event was recorded.
    fn heard(&self, kind: &EventKind);
    /// Bytes were stored as a blob.
    fn kept(&self, hash: &BlobHash, bytes: &[u8], extension: &str);
}

impl<S> EventPrinter<S> {
    /// Prints events on their way to `inner`. What `live` has shown of a reply is not printed again.
    pub(crate) fn new(inner: S, live: Option<LiveWords>) -> Self {
        Self { inner, timeline: None, live, listener: None }
    }

    /// Also records each event from now on in the timeline that the learning tools read.
    pub(crate) fn set_timeline(&mut self, timeline: Option<Timeline>) {
        self.timeline = timeline;
    }

    /// Also tells this one of each event from now on.
    pub(crate) fn set_listener(&mut self, listener: Option<Arc<dyn EventListener>>) {
        self.listener = listener;
    }

    /// Returns the wrapped sink.
    pub(crate) fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }
}

impl<S: EventSink> EventSink for EventPrinter<S> {
    fn emit(&mut self, step: Option<StepId>, kind: EventKind) -> Result<EventId, SinkError> {
        let is_shown =
            matches!(kind, EventKind::ModelReplied { .. }) && self.live.as_ref().is_some_and(LiveWords::end);
        if let Some(text) = if is_shown { describe_calls(&kind) } else { describe(&kind) } {
            let step = step.map_or_else(|| "   ".into(), |step| format!("{step:>3}"));
            terminal::note(format_args!("{step} {text}"));
        }
        let told = (self.timeline.is_some() || self.listener.is_some()).then(|| kind.clone());
        let id = self.inner.emit(step, kind)?;
        if let Some(kind) = told {
            self.timeline.iter().for_each(|timeline| timeline.note(id, &kind));
            self.listener.iter().for_each(|listener| listener.heard(&kind));
        }
        Ok(id)
    }

    fn keep(&mut self, bytes: &[u8], extension: &str) -> Result<BlobHash, SinkError> {
        let hash = self.inner.keep(bytes, extension)?;
        self.listener.iter().for_each(|listener| listener.kept(&hash, bytes, extension));
        Ok(hash)
    }
}

/// Describes an event in one line, or returns `None` for events that are not shown.
pub(crate) fn describe(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::WorldOpened { isolation, took_ms } => {
            Some(format!("world open in {took_ms} ms ({isolation:?})"))
        }
        EventKind::ModelReplied { say, calls, .. } => {
            let words: Vec<String> = say.iter().cloned().chain(tools(calls)).collect();
            (!words.is_empty()).then(|| words.join(" | "))
        }
        EventKind::Action(record) => Some(describe_action_record(record)),
        EventKind::LoopSuspected { repeats } => {
            Some(format!("possible loop: the same actions {repeats} times"))
        }
        EventKind::HistoryTrimmed { pictures, texts, .. } => {
            Some(format!("the context is full: {pictures} old pictures and {texts} old texts were dropped"))
        }
        EventKind::Person(person) => Some(person.in_words()),
        EventKind::RequestAdapted { what } => Some(what.clone()),
        EventKind::PicturesLeftOut { left_out, why, .. } => {
            Some(format!("{left_out} old pictures were left out: {why}"))
        }
        EventKind::Stopped { reason, void, detail, .. } => {
            let why = reason
                .map(|reason| terminal::words(&reason))
                .or(void.map(|cause| format!("void: {}", terminal::words(&cause))));
            Some(format!("stopped: {} ({detail})", why.unwrap_or_default()))
        }
        // Only the writing and the use of skills is shown to the user; reads stay in the trace.
        EventKind::Skill(skill) => match skill.happening {
            SkillEventKind::LearningStarted
            | SkillEventKind::LearningFinished
            | SkillEventKind::Suspended
            | SkillEventKind::DeclaredUsed => skill.text.clone().or_else(|| skill.detail.clone()),
            _ => None,
        },
        EventKind::FunctionCalled { record, .. } => Some(describe_function(record)),
        EventKind::TurnEnded { turn, reason, void, detail, .. } => {
            let why = reason
                .map(|reason| terminal::words(&reason))
                .or(void.map(|cause| format!("void: {}", terminal::words(&cause))));
            Some(format!("turn {turn}: {} ({detail})", why.unwrap_or_default()))
        }
        EventKind::Started(_)
        | EventKind::TurnStarted(_)
        | EventKind::SetupDone { .. }
        | EventKind::VersionsSeen { .. }
        | EventKind::Observed { .. }
        | EventKind::ModelAsked { .. }
        | EventKind::AdviceAsked(_)
        | EventKind::CallAnswered(_)
        | EventKind::ToolCalled { .. }
        | EventKind::Notice { .. }
        | EventKind::CheckState { .. }
        | EventKind::Connections(_)
        | EventKind::Finished(_)
        | EventKind::Judged(_)
        | EventKind::WorldClosed { .. }
        | EventKind::Unknown { .. } => None,
    }
}

/// Describes a reply whose words were shown while they came.
fn describe_calls(kind: &EventKind) -> Option<String> {
    let EventKind::ModelReplied { calls, .. } = kind else { return None };
    let words: Vec<String> = tools(calls).collect();
    (!words.is_empty()).then(|| words.join(" | "))
}

fn tools(calls: &[Call]) -> impl Iterator<Item = String> {
    calls.iter().filter_map(|call| match &call.body {
        CallBody::Tool { name, arguments } => Some(format!("{name} {arguments}")),
        CallBody::Unusable { problem } => Some(format!("unusable: {problem}")),
        CallBody::World { .. } | CallBody::Finish(_) => None,
    })
}

fn describe_function(record: &FunctionRecord) -> String {
    let FunctionRecord { skill, name, end, .. } = record;
    let acts = counted(record.acts as usize, "action");
    match end {
        FunctionEnd::Returned { .. } => format!("{name} of {skill}: {acts}"),
        FunctionEnd::Stopped(failure) => format!("{name} of {skill} stopped after {acts}: {failure}"),
        FunctionEnd::Interrupted => format!("{name} of {skill} was interrupted after {acts}"),
    }
}

fn describe_action_record(record: &ActionRecord) -> String {
    let target = match (&record.target_role, &record.target_name) {
        (Some(role), Some(name)) => format!(" on {role} {name:?}"),
        (Some(role), None) => format!(" on {role}"),
        (None, Some(name)) => format!(" on {name:?}"),
        (None, None) => String::new(),
    };
    let outcome = match &record.outcome {
        ActionOutcome::Done { text: None } => String::new(),
        ActionOutcome::Done { text: Some(text) } => format!(": {text}"),
        ActionOutcome::Failed { problem } => format!(": failed: {problem}"),
        ActionOutcome::NotExecuted => ": not executed".into(),
    };
    format!("{}{target}{outcome}", record.asked.text(ActionDetail::Line))
}
