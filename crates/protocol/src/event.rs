//! Events of an attempt: the trace format, with one tagged record per line and stable ids.
//!
//! A line is parsed in two stages: the envelope, then the data by kind. Unknown kinds are kept unchanged; they are
//! not an error.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    Action, ActionOutcome, AdviceQuestion, BlobHash, Call, CallId, CallResult, ConnectionReport, Content,
    EventId, Finish, FunctionRecord, ImagePoint, Isolation, ModelProfile, PersonEvent, Rect, ResourceUsage,
    ScreenPoint, SkillEvent, StepId, StopReason, TaskBrief, Timing, Usage, Verdict, View, VoidCause,
    WorldSpec,
};

/// The version of the line format.
pub const EVENT_VERSION: u32 = 1;

/// The first event of every attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The line format's version.
    pub version: u32,
    /// The program's version.
    pub program: String,
    /// The task as the agent gets it.
    pub brief: TaskBrief,
    /// The world.
    pub world: WorldSpec,
    /// The model.
    pub model: ModelProfile,
    /// The seed sent to the model, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Hash of the prompts in use.
    pub prompt_hash: String,
}

/// One instruction of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStart {
    /// Number of the turn, from 1.
    pub turn: u32,
    /// The person's words.
    pub instruction: String,
    /// Whether the person asked by a command, not by words, that a skill be learned from the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_to_learn: bool,
}

/// The record of one action: the model's point, the screen point, the target's role and name, and the outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionRecord {
    /// The call to which the action belongs.
    pub call: CallId,
    /// Position in the batch, from 0.
    pub index: u32,
    /// The action in the model's coordinates.
    pub asked: Action<ImagePoint>,
    /// The action in screen coordinates; `None` if it was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Action<ScreenPoint>>,
    /// The line of the function that asked for the action; absent for a model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Role of the target element, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_role: Option<String>,
    /// Name of the target element, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_name: Option<String>,
    /// The screen point that the action aims at: its own, or the centre of the element that it names, as the last
    /// observation shows it. `None` for an action without a place, and in traces of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<ScreenPoint>,
    /// The outcome.
    pub outcome: ActionOutcome,
}

/// A judgement with its explanation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Score from 0 to 1.
    pub score: f64,
    /// Explanation in one paragraph.
    pub explanation: String,
    /// One record per metric.
    pub checks: Vec<CheckRecord>,
}

/// One metric's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRecord {
    /// The metric's name.
    pub metric: String,
    /// The score; `None` if it could not be computed.
    pub score: Option<f64>,
    /// The differences found.
    pub explanation: String,
    /// The score under the other handling of the suite's known bugs, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_reading: Option<f64>,
}

/// The kinds of events in an attempt, with their data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "data")]
pub enum EventKind {
    /// The attempt began.
    #[serde(rename = "started")]
    Started(Box<Header>),
    /// A turn of a session began: a person gave an instruction. Attempts with one instruction have no such event.
    #[serde(rename = "turn.started")]
    TurnStarted(TurnStart),
    /// A turn of a session ended.
    #[serde(rename = "turn.ended")]
    TurnEnded {
        /// Number of the turn, from 1.
        turn: u32,
        /// The reason, if the turn ended regularly.
        reason: Option<StopReason>,
        /// The cause, if the turn is void.
        void: Option<VoidCause>,
        /// Details for the user.
        detail: String,
        /// The resources used in the turn.
        spent: ResourceUsage,
    },
    /// The world is open.
    #[serde(rename = "world.opened")]
    WorldOpened {
        /// How the world is isolated.
        isolation: Isolation,
        /// Duration in milliseconds.
        took_ms: u64,
    },
    /// A setup step was done.
    #[serde(rename = "setup.done")]
    SetupDone {
        /// Position in the task's list of steps, from 0.
        index: u32,
        /// Type of the step.
        step: String,
        /// Duration in milliseconds.
        took_ms: u64,
    },
    /// The world was queried for program versions: after its setup, and again at the end for programs opened since.
    #[serde(rename = "versions.seen")]
    VersionsSeen {
        /// Versions by domain; `None` if unknown.
        versions: BTreeMap<String, Option<String>>,
    },
    /// The world was observed.
    #[serde(rename = "observed")]
    Observed {
        /// Title of the front window or tab.
        title: String,
        /// The focused element, as `role "name"`.
        focused: Option<String>,
        /// The screenshot's blob.
        screenshot: Option<BlobHash>,
        /// The outline's blob: the whole tree as text.
        outline: Option<BlobHash>,
        /// The blob of the text about the screen as the model got it, where it is another than the outline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<BlobHash>,
        /// The view for interpreting the model's next points.
        view: View,
        /// The places on the screen that show a secret, as far as the elements tell. `None` in traces of earlier versions,
        /// which did not look for them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secrets: Option<Vec<Rect>>,
        /// Duration in milliseconds.
        took_ms: u64,
    },
    /// The model was asked. Together with the replies, these events hold the whole conversation.
    #[serde(rename = "model.asked")]
    ModelAsked {
        /// The blob of the request without its messages: the system prompt, the tools, the limits. `None` if it is the
        /// same as before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<BlobHash>,
        /// Blobs of the messages that are new since the last request, without the model's own. Their pictures are named
        /// by hash, as they were sent.
        messages: Vec<BlobHash>,
    },
    /// The model replied.
    #[serde(rename = "model.replied")]
    ModelReplied {
        /// Blobs of the raw content, one per block.
        raw: Vec<BlobHash>,
        /// The text parts of the reply.
        say: Vec<String>,
        /// The model's thoughts, as far as the provider shows them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        thoughts: Vec<String>,
        /// The calls of the reply.
        calls: Vec<Call>,
        /// Token usage.
        usage: Usage,
        /// Time spent.
        timing: Timing,
        /// Cost in US dollars; `None` if the model has no price.
        cost_usd: Option<f64>,
        /// The exact model that replied, as the provider names it.
        provider_model: Option<String>,
        /// Size of our serialized request in bytes, without pictures.
        request_bytes: u64,
        /// Whether usage and cost are estimates, because the server did not say them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
    },
    /// The model was asked which advice its task asks for, and replied.
    #[serde(rename = "advice.asked")]
    AdviceAsked(Box<AdviceQuestion>),
    /// The server refuses part of what is usually sent: requests of this conversation go without it.
    #[serde(rename = "request.adapted")]
    RequestAdapted {
        /// What, and the remedy.
        what: String,
    },
    /// An action was done, refused or skipped.
    #[serde(rename = "action")]
    Action(Box<ActionRecord>),
    /// A call was answered.
    #[serde(rename = "call.answered")]
    CallAnswered(CallResult),
    /// A function tool was called.
    #[serde(rename = "tool.called")]
    ToolCalled {
        /// The call's id.
        call: CallId,
        /// The tool's name.
        name: String,
        /// Whether the result was an error.
        is_error: bool,
        /// Duration in milliseconds.
        took_ms: u64,
    },
    /// A function of a skill was called. Its actions stand before this event, under the same call.
    #[serde(rename = "function.called")]
    FunctionCalled {
        /// The call's id.
        call: CallId,
        /// The call.
        #[serde(flatten)]
        record: Box<FunctionRecord>,
    },
    /// An event of a skill.
    #[serde(rename = "skill")]
    Skill(SkillEvent),
    /// Text was appended to the next user turn.
    #[serde(rename = "notice")]
    Notice {
        /// The text.
        content: Vec<Content>,
    },
    /// The model repeats its actions.
    #[serde(rename = "loop.suspected")]
    LoopSuspected {
        /// Number of repetitions in a row.
        repeats: u32,
    },
    /// Old parts of the conversation were dropped from requests, so that the rest fits the model's context.
    #[serde(rename = "history.trimmed")]
    HistoryTrimmed {
        /// Number of pictures dropped.
        pictures: u32,
        /// Number of observations and tool results whose text was dropped.
        texts: u32,
        /// Estimated tokens of the request before trimming.
        before_tokens: u64,
        /// Estimated tokens of the request after trimming.
        after_tokens: u64,
        /// Maximum tokens of a request, without the space reserved for its reply.
        limit_tokens: u64,
    },
    /// The oldest pictures were left out of requests, all in one block.
    #[serde(rename = "pictures.left_out")]
    PicturesLeftOut {
        /// Number of pictures left out.
        left_out: u32,
        /// Number of pictures that stay.
        kept: u32,
        /// Why, in words.
        why: String,
    },
    /// What the checks read was compared before and after the actions of this event's step, as far as that is cheap.
    /// The event holds no content. Without it, nothing is known about the step.
    #[serde(rename = "check.state")]
    CheckState {
        /// Whether something that the checks read changed.
        changed: bool,
    },
    /// A person paused the attempt, let it go on, took over, acted, or handed back; or a client of the world acted.
    #[serde(rename = "person")]
    Person(PersonEvent),
    /// The model declared that it is finished.
    #[serde(rename = "finished")]
    Finished(Finish),
    /// The attempt ended. Each attempt has exactly one such event.
    #[serde(rename = "stopped")]
    Stopped {
        /// The reason, if the attempt ended regularly.
        reason: Option<StopReason>,
        /// The cause, if the attempt is void.
        void: Option<VoidCause>,
        /// Details for the user.
        detail: String,
        /// The resources used.
        spent: ResourceUsage,
    },
    /// The checks judged the attempt.
    #[serde(rename = "judged")]
    Judged(Judged),
    /// Programs of the world asked for connections to hosts outside of it.
    #[serde(rename = "world.connections")]
    Connections(ConnectionReport),
    /// The world was closed.
    #[serde(rename = "world.closed")]
    WorldClosed {
        /// Duration in milliseconds.
        took_ms: u64,
        /// Whether the world had to be killed.
        killed: bool,
    },
    /// An unknown kind, kept unchanged.
    #[serde(skip)]
    Unknown {
        /// The event's kind.
        kind: String,
        /// The event's data as JSON text.
        data: String,
    },
}

/// One line of `events.jsonl`.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The line format's version.
    pub version: u32,
    /// The event's id.
    pub id: EventId,
    /// Wall time.
    pub wall: Timestamp,
    /// Microseconds since the start of the attempt.
    pub mono_us: u64,
    /// The step to which the event belongs.
    pub step: Option<StepId>,
    /// The kind and data.
    pub kind: EventKind,
}

/// An error in an event line.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The envelope is invalid.
    #[error("not an event line")]
    Envelope(#[source] serde_json::Error),
    /// The data does not match the kind.
    #[error("event {id} of kind {kind:?} does not have that kind's data")]
    Data {
        /// The event's id.
        id: EventId,
        /// The event's kind.
        kind: String,
        /// The parse error.
        #[source]
        source: serde_json::Error,
    },
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    v: u32,
    id: EventId,
    wall: Timestamp,
    mono_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<StepId>,
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
struct Tagged {
    kind: String,
    data: Box<RawValue>,
}

impl EventKind {
    /// The names of all kinds, as in a trace.
    pub const NAMES: &'static [&'static str] = &[
        "started",
        "turn.started",
        "turn.ended",
        "world.opened",
        "setup.done",
        "versions.seen",
        "observed",
        "model.asked",
        "model.replied",
        "advice.asked",
        "request.adapted",
        "action",
        "call.answered",
        "tool.called",
        "function.called",
        "skill",
        "notice",
        "loop.suspected",
        "history.trimmed",
        "pictures.left_out",
        "check.state",
        "person",
        "finished",
        "stopped",
        "judged",
        "world.connections",
        "world.closed",
    ];
}

impl Event {
    /// Returns the event as one compact line, without a line break.
    ///
    /// # Errors
    ///
    /// Fails if the event's data cannot be written as JSON.
    pub fn to_line(&self) -> Result<String, EventError> {
        let tagged = match &self.kind {
            EventKind::Unknown { kind, data } => {
                RawValue::from_string(data.clone()).map(|data| Tagged { kind: kind.clone(), data })
            }
            known => serde_json::to_string(known).and_then(|text| serde_json::from_str(&text)),
        };
        let tagged = tagged.map_err(EventError::Envelope)?;
        let envelope = Envelope {
            v: self.version,
            id: self.id,
            wall: self.wall,
            mono_us: self.mono_us,
            step: self.step,
            kind: tagged.kind.as_str().into(),
            data: &tagged.data,
        };
        serde_json::to_string(&envelope).map_err(EventError::Envelope)
    }

    /// Parses one line.
    ///
    /// # Errors
    ///
    /// Fails if the line is no event, or if its data are not those of its kind.
    pub fn from_line(line: &str) -> Result<Self, EventError> {
        let envelope: Envelope<'_> = serde_json::from_str(line).map_err(EventError::Envelope)?;
        let name = envelope.kind.as_ref();
        let kind = if EventKind::NAMES.contains(&name) {
            let text = format!(r#"{{"kind":"{name}","data":{}}}"#, envelope.data.get());
            serde_json::from_str(&text).map_err(|source| EventError::Data {
                id: envelope.id,
                kind: name.to_owned(),
                source,
            })?
        } else {
            EventKind::Unknown { kind: name.to_owned(), data: envelope.data.get().to_owned() }
        };
        let Envelope { v, id, wall, mono_us, step, .. } = envelope;
        Ok(Self { version: v, id, wall, mono_us, step, kind })
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{EVENT_VERSION, Event, EventKind};
    use crate::{EventId, ResourceUsage, StepId, StopReason};

    #[test]
    fn a_line_survives_the_way_there_and_back() {
        let event = Event {
            version: EVENT_VERSION,
            id: EventId(17),
            wall: Timestamp::UNIX_EPOCH,
            mono_us: 12,
            step: Some(StepId(3)),
            kind: EventKind::Stopped {
                reason: Some(StopReason::Done),
                void: None,
                detail: "a \"quoted\" word".into(),
                spent: ResourceUsage::default(),
            },
        };
        let line = event.to_line().expect("writes");
        assert!(line.starts_with(r#"{"v":1,"id":"e17","wall":"#), "{line}");
        assert_eq!(Event::from_line(&line).expect("reads"), event);
    }

    #[test]
    fn an_unknown_kind_is_kept_byte_for_byte() {
        let line = r#"{"v":1,"id":"e1","wall":"1970-01-01T00:00:00Z","mono_us":0,"kind":"from.later","data":{"b": 1,"a":[2]}}"#;
        let event = Event::from_line(line).expect("reads");
        assert!(matches!(&event.kind, EventKind::Unknown { kind, .. } if kind == "from.later"));
        assert_eq!(event.to_line().expect("writes"), line);
    }

    #[test]
    fn every_kind_is_listed_by_its_name() {
        let schema = schemars::schema_for!(EventKind);
        let text = serde_json::to_string(&schema).expect("writes");
        for name in EventKind::NAMES {
            assert!(text.contains(&format!("\"const\":\"{name}\"")), "{name} is not a kind");
        }
        assert_eq!(text.matches("\"kind\":{").count(), EventKind::NAMES.len());
    }
}
