//! One attempt as exports need it: its turns, each with what the model was sent and said, its acts with their points, and
//! the pictures before and after.

use std::collections::BTreeSet;

use apprentice_protocol::{
    ActionRecord, BlobHash, Call, CallResult, Event, EventKind, Header, Judged, PersonAction, PersonEvent,
    Rect, StepId, StopReason, Timing, Usage, View, VoidCause,
};
use apprentice_runs::row::TrialRow;
use apprentice_trace::{Trace, hex};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// What was seen at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) title: String,
    pub(crate) screenshot: Option<BlobHash>,
    pub(crate) outline: Option<BlobHash>,
    pub(crate) view: View,
    /// The places of the screen that show a secret; `None` if nobody looked.
    pub(crate) secrets: Option<Vec<Rect>>,
}

/// One act and the time of its record.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    pub(crate) record: ActionRecord,
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
}

/// One action of a person who had taken over.
#[derive(Clone, Debug)]
pub(crate) struct PersonAct {
    pub(crate) act: PersonAction,
    pub(crate) at: Timestamp,
    /// The place of the turn that followed it; the number of turns if none did.
    pub(crate) turn: usize,
}

/// One call of a function tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolRun {
    pub(crate) call: String,
    pub(crate) name: String,
    pub(crate) is_error: bool,
    pub(crate) took_ms: u64,
    pub(crate) ended: Timestamp,
}

/// One turn of the model with its acts.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// The number of the step, from 1.
    pub(crate) step: u32,
    /// Blobs of the messages that were new in this turn's request.
    pub(crate) messages: Vec<BlobHash>,
    /// The last observation before the turn.
    pub(crate) before: Option<Seen>,
    pub(crate) asked: Timestamp,
    pub(crate) replied: Timestamp,
    pub(crate) say: Vec<String>,
    /// Blobs of the reply as it came.
    pub(crate) raw: Vec<BlobHash>,
    /// What the model thought, as far as its provider shows it.
    pub(crate) thoughts: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
    pub(crate) timing: Timing,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) provider_model: Option<String>,
    pub(crate) acts: Vec<Act>,
    pub(crate) tools: Vec<ToolRun>,
    pub(crate) answers: Vec<CallResult>,
    /// The observation after the whole batch; `None` if the world was not observed again.
    pub(crate) after: Option<Seen>,
}

/// One attempt.
#[derive(Clone, Debug)]
pub(crate) struct Episode<'a> {
    pub(crate) row: &'a TrialRow,
    pub(crate) header: Header,
    /// The blob of the request without its messages; `None` in traces of earlier versions.
    pub(crate) request: Option<BlobHash>,
    pub(crate) turns: Vec<Turn>,
    /// What persons did, in order.
    pub(crate) persons: Vec<PersonAct>,
    /// The texts of guidance that the model got outside of tools.
    pub(crate) guidance: BTreeSet<String>,
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
    pub(crate) stop: Option<StopReason>,
    pub(crate) void: Option<VoidCause>,
    pub(crate) judged: Option<Judged>,
    /// The last line was cut off.
    pub(crate) torn: bool,
    /// Old parts of the conversation were left out of later requests.
    pub(crate) trimmed: bool,
}

impl<'a> Episode<'a> {
    /// Reads the events of an attempt. `None` if the trace has no header.
    pub(crate) fn of(row: &'a TrialRow, trace: Trace) -> Option<Self> {
        let header = trace.header()?.clone();
        let began = trace.events.first()?.wall;
        let mut reader = Reader {
            episode: Self {
                row,
                header,
                request: None,
                turns: Vec::new(),
                persons: Vec::new(),
                guidance: BTreeSet::new(),
                began,
                ended: trace.events.last()?.wall,
                stop: None,
                void: None,
                judged: None,
                torn: trace.torn.is_some(),
                trimmed: false,
            },
            seen: None,
            asked: None,
            messages: Vec::new(),
            last: began,
            after_view: false,
        };
        trace.events.into_iter().for_each(|event| reader.read(event));
        Some(reader.episode)
    }

    /// What persons did between a turn and the one before it.
    pub(crate) fn persons_before(&self, turn: usize) -> impl Iterator<Item = &PersonAct> {
        self.persons.iter().filter(move |acted| acted.turn == turn)
    }

    /// Returns whether the trace holds the conversation as it was sent.
    pub(crate) fn has_conversation(&self) -> bool {
        self.request.is_some() && self.turns.iter().any(|turn| !turn.messages.is_empty())
    }

    /// Returns whether the model got any guidance.
    pub(crate) fn has_guidance(&self) -> bool {
        !self.guidance.is_empty() || !self.row.skills_viewed.is_empty() || self.row.delivered_tokens > 0
    }

    /// A hash over the instruction and the calls: equal for two attempts that repeat each other act by act, whatever a clock on
    /// the screen showed.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.header.brief.instruction.as_bytes());
        for turn in &self.turns {
            for call in &turn.calls {
                hash.update(serde_json::to_string(&call.body).unwrap_or_default());
            }
            hash.update([0]);
        }
        hex(&hash.finalize())
    }
}

/// Reads events in order.
struct Reader<'a> {
    episode: Episode<'a>,
    seen: Option<Seen>,
    asked: Option<Timestamp>,
    messages: Vec<BlobHash>,
    last: Timestamp,
    /// The last event that counts was an observation, or guidance that followed one.
    after_view: bool,
}

impl Reader<'_> {
    fn reply(&mut self, event: EventKind, step: Option<StepId>, wall: Timestamp) {
        let EventKind::ModelReplied {
            raw,
            say,
            thoughts,
            calls,
            usage,
            timing,
            cost_usd,
            provider_model,
            ..
        } = event
        else {
            return;
        };

        let step = step.map_or(self.episode.turns.len() as u32 + 1, |step| step.0);
        let worked = i64::try_from(timing.working_ms + timing.waiting_ms).unwrap_or(i64::MAX);
        let before = wall - jiff::SignedDuration::from_millis(worked.min(86_400_000));
        self.episode.turns.push(Turn {
            step,
            messages: std::mem::take(&mut self.messages),
            before: self.seen.clone(),
            asked: self.asked.take().unwrap_or(before),
            replied: wall,
            raw,
            say,
            thoughts,
            calls,
            usage,
            timing,
            cost_usd,
            provider_model,
            acts: Vec::new(),
            tools: Vec::new(),
            answers: Vec::new(),
            after: None,
        });
    }

    fn read(&mut self, event: Event) {
        let (wall, after_view) = (event.wall, std::mem::take(&mut self.after_view));
        match event.kind {
            EventKind::Observed { title, screenshot, outline, view, secrets, .. } => {
                self.after_view = true;
                let seen = Seen { title, screenshot, outline, view, secrets };
                if let Some(turn) = self.episode.turns.last_mut().filter(|turn| turn.after.is_none()) {
                    turn.after = Some(seen.clone());
                }
                self.seen = Some(seen);
            }
            // Guidance is the only text that follows a view; warnings follow a reply or a suspected loop.
            EventKind::Notice { content } if after_view => {
                self.after_view = true;
                let texts = content.iter().filter_map(|part| part.as_text().map(str::to_owned));
                self.episode.guidance.extend(texts);
            }
            EventKind::Skill(_) => self.after_view = after_view,
            EventKind::ModelAsked { request, messages } => {
                self.asked = Some(wall);
                self.episode.request = request.or(self.episode.request.take());
                self.messages.extend(messages);
            }
            replied @ EventKind::ModelReplied { .. } => self.reply(replied, event.step, wall),
            EventKind::Person(PersonEvent::Acted(act)) => {
                self.episode.persons.push(PersonAct { act: *act, at: wall, turn: self.episode.turns.len() });
            }
            EventKind::HistoryTrimmed { .. } | EventKind::PicturesLeftOut { .. } => {
                self.episode.trimmed = true;
            }
            EventKind::Stopped { reason, void, .. } => {
                (self.episode.stop, self.episode.void) = (reason, void);
            }
            EventKind::Judged(judged) => self.episode.judged = Some(judged),
            other => self.read_of_turn(other, wall),
        }
        self.last = wall;
    }

    /// Reads an event that belongs to the turn under way.
    fn read_of_turn(&mut self, kind: EventKind, wall: Timestamp) {
        let began = self.last;
        let Some(turn) = self.episode.turns.last_mut() else { return };
        match kind {
            EventKind::Action(record) => turn.acts.push(Act { record: *record, began, ended: wall }),
            EventKind::ToolCalled { call, name, is_error, took_ms } => {
                let call = call.as_str().to_owned();
                turn.tools.push(ToolRun { call, name, is_error, took_ms, ended: wall });
            }
            EventKind::CallAnswered(result) => turn.answers.push(result),
            _ => {}
        }
    }
}
