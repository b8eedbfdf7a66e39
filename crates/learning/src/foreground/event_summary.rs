//! Prepares the events of an attempt for a review: which of them matter, why, and a text for each.

use std::collections::BTreeSet;

use apprentice_protocol::{
    Action, ActionOutcome, ActionRecord, Call, CallBody, CallResult, Event, EventId, EventKind, Finish,
    FunctionEnd, FunctionRecord, ImagePoint, Judged, SkillEvent, SkillEventKind,
};
use serde_json::Value;

use super::bundle::{Reason, SummarizedEvent};

/// Returns the prepared events of a stored attempt, in order.
pub fn summarize_events(events: &[Event]) -> Vec<SummarizedEvent> {
    let mut spotter = EventSummarizer::default();
    events.iter().map(|event| spotter.spot(event.id, &event.kind)).collect()
}

/// Processes events one by one. The first action after a failure counts as a retry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventSummarizer {
    after_error: bool,
}

impl EventSummarizer {
    pub(super) fn spot(&mut self, id: EventId, kind: &EventKind) -> SummarizedEvent {
        let Seen { name, tool, reason, detail } = seen(kind);
        let reason = match reason {
            Reason::Error => {
                self.after_error = true;
                Reason::Error
            }
            // Only an action is a retry; an observation or an answer is not.
            Reason::Ordinary if self.after_error && is_action(kind) => {
                self.after_error = false;
                Reason::Retry
            }
            other => other,
        };
        SummarizedEvent { id: id.to_string(), kind: name, tool, reason, detail }
    }
}

struct Seen {
    name: String,
    tool: Option<String>,
    reason: Reason,
    detail: String,
}

fn is_action(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Action(_) | EventKind::ToolCalled { .. })
}

fn function(record: &FunctionRecord) -> Seen {
    let (reason, how) = match &record.end {
        FunctionEnd::Returned { .. } => (Reason::Ordinary, "ran to its end".to_owned()),
        FunctionEnd::Stopped(failure) => (Reason::Error, format!("stopped at {failure}")),
        FunctionEnd::Interrupted => (Reason::Error, "was interrupted".to_owned()),
    };
    let detail = format!("{} of {} {how}", record.name, record.skill);
    Seen { name: "function.called".to_owned(), tool: None, reason, detail }
}

fn seen(kind: &EventKind) -> Seen {
    let seen_as =
        |name: &str, reason, detail: String| Seen { name: name.to_owned(), tool: None, reason, detail };
    match kind {
        EventKind::Started(header) => {
            seen_as("started", Reason::UserInput, format!("the user asks: {}", header.brief.instruction))
        }
        EventKind::TurnStarted(_) | EventKind::TurnEnded { .. } => turn(kind),
        EventKind::Finished(finish) => seen_as("finished", Reason::FinalAnswer, ended(finish)),
        EventKind::Action(record) => action(record),
        EventKind::ToolCalled { name, is_error, .. } => Seen {
            tool: Some(name.clone()),
            reason: if *is_error { Reason::Error } else { Reason::Ordinary },
            ..seen_as("tool.called", Reason::Ordinary, outcome(name, *is_error))
        },
        EventKind::FunctionCalled { record, .. } => function(record),
        EventKind::CallAnswered(result) => answered(result),
        EventKind::Skill(event) => skill(event),
        EventKind::LoopSuspected { repeats } => seen_as(
            "loop.suspected",
            Reason::Error,
            format!("the same calls on the same screen, {repeats} times"),
        ),
        EventKind::Judged(judged) => seen_as("judged", Reason::Verification, verdict(judged)),
        EventKind::Stopped { reason, void, detail, .. } => {
            let weight = if void.is_some() { Reason::Error } else { Reason::Ordinary };
            let why =
                reason.map(|reason| format!("{reason:?}")).or(void.map(|cause| format!("void: {cause:?}")));
            seen_as("stopped", weight, format!("{}: {detail}", why.unwrap_or_default()))
        }
        EventKind::ModelAsked { .. } => seen_as("model.asked", Reason::Ordinary, String::new()),
        EventKind::AdviceAsked(asked) => seen_as("advice.asked", Reason::Ordinary, asked.say.join(" ")),
        EventKind::ModelReplied { say, calls, .. } => {
            let calls = calls.iter().map(called);
            let words: Vec<String> = say.iter().cloned().chain(calls).collect();
            seen_as("model.replied", Reason::Ordinary, words.join(" | "))
        }
        EventKind::Observed { title, focused, .. } => {
            let focus = focused.as_ref().map(|focus| format!(", focus on {focus}")).unwrap_or_default();
            seen_as("observed", Reason::Ordinary, format!("{title:?}{focus}"))
        }
        EventKind::Notice { content } => {
            let text: Vec<&str> = content.iter().filter_map(|part| part.as_text()).collect();
            seen_as("notice", Reason::Ordinary, text.join("\n"))
        }
        EventKind::RequestAdapted { what } => seen_as("request.adapted", Reason::Ordinary, what.clone()),
        EventKind::HistoryTrimmed { .. } | EventKind::PicturesLeftOut { .. } => seen_as(
            "history.trimmed",
            Reason::Ordinary,
            "earlier parts of the conversation were left out".to_owned(),
        ),
        EventKind::Person(person) => seen_as("person", Reason::Ordinary, person.in_words()),
        EventKind::CheckState { .. }
        | EventKind::SetupDone { .. }
        | EventKind::VersionsSeen { .. }
        | EventKind::Connections(_)
        | EventKind::WorldOpened { .. }
        | EventKind::WorldClosed { .. } => of_world(kind),
        EventKind::Unknown { kind, .. } => seen_as(kind, Reason::Ordinary, String::new()),
    }
}

/// Events of the world that no action of the agent is.
fn of_world(kind: &EventKind) -> Seen {
    let seen_as = |name: &str, detail: String| Seen {
        name: name.to_owned(),
        tool: None,
        reason: Reason::Ordinary,
        detail,
    };
    match kind {
        EventKind::SetupDone { step, .. } => seen_as("setup.done", step.clone()),
        EventKind::VersionsSeen { versions } => {
            let pairs =
                versions.iter().filter_map(|(app, version)| Some(format!("{app} {}", version.as_ref()?)));
            seen_as("versions.seen", pairs.collect::<Vec<_>>().join(", "))
        }
        EventKind::Connections(report) => {
            let hosts: BTreeSet<&str> =
                report.connections.iter().map(|connection| connection.host.as_str()).collect();
            seen_as("world.connections", hosts.into_iter().collect::<Vec<_>>().join(", "))
        }
        EventKind::CheckState { .. } => seen_as("check.state", String::new()),
        EventKind::WorldClosed { .. } => seen_as("world.closed", String::new()),
        _ => seen_as("world.opened", String::new()),
    }
}

fn verdict(judged: &Judged) -> String {
    format!("the checks say {}", format!("{:?}", judged.verdict).to_lowercase())
}

/// Prepares the beginning or the end of a turn of a session.
fn turn(kind: &EventKind) -> Seen {
    let (name, reason, detail) = match kind {
        EventKind::TurnStarted(start) => {
            let asks = if start.asks_to_learn { ", and to remember it" } else { "" };
            let request = format!("turn {}: the user asks{asks}: {}", start.turn, start.instruction);
            ("turn.started", Reason::UserInput, request)
        }
        EventKind::TurnEnded { turn, reason, void, detail, .. } => {
            let weight = if void.is_some() { Reason::Error } else { Reason::Ordinary };
            let why =
                reason.map(|reason| format!("{reason:?}")).or(void.map(|cause| format!("void: {cause:?}")));
            ("turn.ended", weight, format!("turn {turn}: {}: {detail}", why.unwrap_or_default()))
        }
        _ => ("turn", Reason::Ordinary, String::new()),
    };
    Seen { name: name.to_owned(), tool: None, reason, detail }
}

fn ended(finish: &Finish) -> String {
    match finish {
        Finish::Done => "the agent says that it is done".to_owned(),
        Finish::Answer { text } => format!("the agent answers: {text}"),
        Finish::GiveUp { reason } => format!("the agent gives up: {reason}"),
    }
}

fn outcome(name: &str, is_error: bool) -> String {
    format!("{name}: {}", if is_error { "refused" } else { "answered" })
}

fn called(call: &Call) -> String {
    match &call.body {
        CallBody::World { actions } => actions.iter().map(words).collect::<Vec<_>>().join(", "),
        CallBody::Tool { name, arguments } => format!("{name} {arguments}"),
        CallBody::Finish(finish) => ended(finish),
        CallBody::Unusable { problem } => format!("unusable: {problem}"),
    }
}

/// Returns the text of an action: its name and its textual arguments.
fn words(action: &Action<ImagePoint>) -> String {
    let value = serde_json::to_value(action).unwrap_or_default();
    let argument = ["text", "chord", "url", "option", "query"]
        .iter()
        .find_map(|key| value[*key].as_str().map(str::to_owned));
    let name = value["do"].as_str().unwrap_or("action");
    argument.map_or_else(|| name.to_owned(), |argument| format!("{name} {argument:?}"))
}

fn action(record: &ActionRecord) -> Seen {
    let target = match (&record.target_role, &record.target_name) {
        (Some(role), Some(name)) => format!(" on {role} {name:?}"),
        (Some(role), None) => format!(" on {role}"),
        (None, Some(name)) => format!(" on {name:?}"),
        (None, None) => String::new(),
    };
    let (reason, outcome) = match &record.outcome {
        ActionOutcome::Failed { problem } => (Reason::Error, format!(": failed: {problem}")),
        ActionOutcome::NotExecuted => (Reason::Ordinary, ": not executed".to_owned()),
        ActionOutcome::Done { .. } if stores(record) => (Reason::FileWrite, String::new()),
        ActionOutcome::Done { .. } if looks(&record.asked) => (Reason::Verification, String::new()),
        ActionOutcome::Done { text } => {
            (Reason::Ordinary, text.as_ref().map(|text| format!(": {text}")).unwrap_or_default())
        }
    };
    let detail = format!("{}{target}{outcome}", words(&record.asked));
    Seen { name: "action".to_owned(), tool: None, reason, detail }
}

/// Returns whether an action only looks and changes nothing.
fn looks(action: &Action<ImagePoint>) -> bool {
    action.is_observation_only()
}

/// Returns whether an action saves work: the usual save key of nearly every program, or an element called "Save".
fn stores(record: &ActionRecord) -> bool {
    let named = record.target_name.as_deref().is_some_and(|name| name.trim_start().starts_with("Save"));
    let pressed = match &record.asked {
        Action::Key { chord, .. } => {
            let chord = chord.to_string().to_ascii_lowercase();
            chord == "ctrl+s" || chord == "ctrl+shift+s" || chord == "shift+ctrl+s"
        }
        _ => false,
    };
    pressed || (named && matches!(record.asked, Action::Click { .. }))
}

/// Prepares the answer of a failed tool. Failures of environment calls are part of their actions.
fn answered(result: &CallResult) -> Seen {
    let text: Vec<&str> = result.content.iter().filter_map(|part| part.as_text()).collect();
    let failed = result.is_error && result.per_action.is_empty();
    let reason = if failed { Reason::Error } else { Reason::Ordinary };
    Seen { name: "call.answered".to_owned(), tool: None, reason, detail: text.join("\n") }
}

fn skill(event: &SkillEvent) -> Seen {
    let name = serde_json::to_value(event.happening).ok();
    let name = name.as_ref().and_then(Value::as_str).unwrap_or("skill").to_owned();
    let reason = match event.happening {
        SkillEventKind::WriteRefused => Reason::Error,
        SkillEventKind::Written
        | SkillEventKind::Created
        | SkillEventKind::Updated
        | SkillEventKind::LearningStarted
        | SkillEventKind::LearningFinished => Reason::FileWrite,
        _ => Reason::Ordinary,
    };
    let skill = event.skill.as_ref().map(|skill| skill.to_string());
    let parts = [skill, event.version.map(|version| format!("version {version}")), event.detail.clone()];
    Seen { name, tool: None, reason, detail: parts.into_iter().flatten().collect::<Vec<_>>().join(", ") }
}
