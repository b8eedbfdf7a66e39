//! Folds the events of an attempt into turns of the model, each with its times, screens, acts and words.

use apprentice_protocol::{BlobHash, Event, EventKind, Timing};
use apprentice_results::report::event_line;
use serde::Serialize;

use crate::act::{self, Act, SkillUse, ToolUse};
use crate::screen::Screen;

/// Where the time of a turn went, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TimeSplit {
    /// The model worked.
    pub(crate) model: u64,
    /// The request waited for a rate limit or was repeated.
    pub(crate) waiting: u64,
    /// Acts, settling and observing.
    pub(crate) world: u64,
    /// Function tools.
    pub(crate) tools: u64,
}

/// A line that belongs to no other part of a turn.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NoteLine {
    pub(crate) event: String,
    pub(crate) class: &'static str,
    pub(crate) label: String,
    pub(crate) note: Option<String>,
    pub(crate) text: Option<String>,
}

/// One turn.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Turn {
    /// Its place, from 0.
    pub(crate) place: usize,
    /// The number of its step in the trace.
    pub(crate) step: Option<u32>,
    /// When the model was asked, in milliseconds since the attempt began.
    pub(crate) at_ms: u64,
    pub(crate) time: TimeSplit,
    pub(crate) before: Option<Screen>,
    pub(crate) after: Option<Screen>,
    pub(crate) say: Vec<String>,
    pub(crate) acts: Vec<Act>,
    pub(crate) tools: Vec<ToolUse>,
    pub(crate) skills: Vec<SkillUse>,
    pub(crate) notes: Vec<NoteLine>,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) cost_usd: Option<f64>,
    /// Whether something that the checks read changed in this step; `None` if unknown.
    pub(crate) check_changed: Option<bool>,
    #[serde(skip)]
    pub(crate) messages: Vec<BlobHash>,
    #[serde(skip)]
    pub(crate) request: Option<BlobHash>,
    #[serde(skip)]
    pub(crate) raw: Vec<BlobHash>,
    #[serde(skip)]
    replied_ms: u64,
}

impl Turn {
    /// What the model did, in a form that can be compared between two attempts.
    pub(crate) fn conduct(&self) -> Vec<String> {
        let acts = self.acts.iter().map(Act::conduct);
        let tools = self.tools.iter().map(|tool| format!("{} {}", tool.name, tool.arguments));
        acts.chain(tools).collect()
    }
}

/// The turns, and what stands before the first one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Opening and setting up the world.
    pub(crate) opening: Vec<NoteLine>,
    pub(crate) turns: Vec<Turn>,
    /// The last screen, where it follows the last turn or there is no turn.
    pub(crate) last: Option<Screen>,
}

/// Reads events in order.
struct Reader {
    read: Turns,
    /// What will belong to the next turn.
    next: Turn,
    asked_ms: Option<u64>,
    /// The world was observed since the last reply, so what follows belongs to the next turn.
    observed: bool,
}

/// Folds the events of an attempt.
pub(crate) fn turns(events: &[Event]) -> Turns {
    let mut reader =
        Reader { read: Turns::default(), next: Turn::default(), asked_ms: None, observed: false };
    events.iter().for_each(|event| reader.read(event));
    reader.finish()
}

impl Reader {
    fn read(&mut self, event: &Event) {
        let id = event.id.to_string();
        let at = event.mono_us / 1000;
        if let Some(screen) = Screen::of(&event.kind) {
            if let Some(turn) = self.read.turns.last_mut() {
                turn.after = Some(screen.clone());
            }
            self.observed = true;
            self.read.last = Some(screen.clone());
            self.next.before = Some(screen);
            return;
        }
        match &event.kind {
            EventKind::ModelAsked { request, messages } => {
                self.asked_ms = Some(at);
                self.observed = true;
                self.next.request = request.clone().or(self.next.request.take());
                self.next.messages.extend(messages.iter().cloned());
                self.close(at);
            }
            EventKind::ModelReplied { .. } => self.reply(event, at),
            EventKind::Action(record) => {
                let act = |turn: &Turn| Act::of(id, record, turn.before.as_ref());
                if let Some(turn) = self.read.turns.last_mut() {
                    let act = act(turn);
                    turn.acts.push(act);
                }
            }
            EventKind::ToolCalled { call, is_error, took_ms, .. } => {
                if let Some(turn) = self.read.turns.last_mut() {
                    turn.time.tools += took_ms;
                    if let Some(tool) = turn.tools.iter_mut().find(|tool| tool.call == call.as_str()) {
                        (tool.is_error, tool.took_ms) = (*is_error, Some(*took_ms));
                    }
                }
            }
            EventKind::CallAnswered(result) => {
                if let Some(turn) = self.read.turns.last_mut()
                    && let Some(tool) = turn.tools.iter_mut().find(|tool| tool.call == result.id.as_str())
                {
                    tool.answer = Some(act::answer(result));
                }
            }
            EventKind::Skill(skill) => self.current().skills.push(SkillUse::of(id, skill)),
            EventKind::CheckState { changed } => {
                if let Some(turn) = self.read.turns.last_mut() {
                    turn.check_changed = Some(turn.check_changed.unwrap_or(false) || *changed);
                }
            }
            EventKind::Finished(finish) => self.note(NoteLine {
                event: id,
                class: "finish",
                label: act::brief(&act::finish(finish)),
                note: None,
                text: None,
            }),
            EventKind::Stopped { .. } => self.close(at),
            _ => self.other(id, &event.kind),
        }
    }

    fn other(&mut self, event: String, kind: &EventKind) {
        let Some(line) = event_line(kind) else { return };
        let text = line.text.as_deref().map(act::brief);
        let line =
            NoteLine { event, class: line.class, label: act::brief(&line.label), note: line.note, text };
        if line.class == "world" && self.read.turns.is_empty() {
            self.read.opening.push(line);
        } else {
            self.note(line);
        }
    }

    fn note(&mut self, line: NoteLine) {
        self.current().notes.push(line);
    }

    /// The turn to which an event belongs that names none.
    fn current(&mut self) -> &mut Turn {
        match self.read.turns.last_mut() {
            Some(turn) if !self.observed => turn,
            _ => &mut self.next,
        }
    }

    fn reply(&mut self, event: &Event, at: u64) {
        let EventKind::ModelReplied { raw, say, thoughts, calls, usage, timing, cost_usd, .. } = &event.kind
        else {
            return;
        };
        let Timing { working_ms, waiting_ms } = *timing;
        let asked_ms = self.asked_ms.take().unwrap_or(at.saturating_sub(working_ms + waiting_ms));
        self.close(asked_ms);
        let mut turn = std::mem::take(&mut self.next);
        // The screen stays before the next turn, too, where nothing is observed in between.
        self.next.before = turn.before.clone();
        turn.place = self.read.turns.len();
        turn.step = event.step.map(|step| step.0);
        turn.at_ms = asked_ms;
        turn.replied_ms = at;
        turn.time.waiting = waiting_ms;
        turn.time.model = working_ms.max(at.saturating_sub(asked_ms + waiting_ms));
        let thoughts = thoughts.iter().map(|thought| act::brief(&format!("Thought: {thought}")));
        turn.say = thoughts.chain(say.iter().map(|text| act::brief(text))).collect();
        turn.tools = calls.iter().filter_map(ToolUse::of).collect();
        (turn.input_tokens, turn.output_tokens, turn.cached_tokens) =
            (usage.input, usage.output, usage.cached);
        turn.cost_usd = *cost_usd;
        turn.raw.clone_from(raw);
        self.read.turns.push(turn);
        self.observed = false;
        self.read.last = None;
    }

    /// Ends the time of the last turn: whatever was no tool was the world.
    fn close(&mut self, at: u64) {
        if let Some(turn) = self.read.turns.last_mut().filter(|turn| turn.time.world == 0) {
            turn.time.world = at.saturating_sub(turn.replied_ms + turn.time.tools);
        }
    }

    fn finish(mut self) -> Turns {
        // What followed the last observation belongs to the last turn after all.
        let rest = self.next;
        if let Some(turn) = self.read.turns.last_mut() {
            turn.skills.extend(rest.skills);
            turn.notes.extend(rest.notes);
        } else {
            self.read.opening.extend(rest.notes);
        }
        self.read
    }
}
