//! Derives a session's turns from its events, without any reading of words: who asked and when, what was done to
//! which element, what failed, what was undone, and which skills were received.

use std::collections::BTreeSet;

use apprentice_protocol::{
    Action, ActionOutcome, ActionRecord, Event, EventKind, Finish, SkillEventKind, SkillId, StopReason,
    Versions,
};
use apprentice_skillbook::KnownVersions;
use jiff::Timestamp;

use super::route::{ReportedSignal, reported_signal};
use crate::foreground::{Reason, SummarizedEvent, summarize_events};

/// The key that takes back the last change in nearly every program.
const UNDO: &str = "ctrl+z";

/// A skill whose text an agent received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewedSkill {
    /// The skill.
    pub skill: SkillId,
    /// The event of its delivery.
    pub event: String,
}

/// An element that an action changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedElement {
    /// Role and name.
    pub element: String,
    /// The event of the action.
    pub event: String,
}

/// One turn of a session, as its events show it.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionTurn {
    /// Number of the turn, from 1.
    pub number: u32,
    /// Id of the journal line that counted the turn; `None` if it was reviewed before.
    pub pending: Option<String>,
    /// The event of the instruction.
    pub request: String,
    /// The person's words.
    pub instruction: String,
    /// True if the person asked for a skill by a command.
    pub asks_to_learn: bool,
    /// The event of the agent's report.
    pub report: Option<String>,
    /// The agent's report.
    pub report_words: String,
    /// True if the agent ended the turn as done or with an answer.
    pub ended_well: bool,
    /// Number of actions and tool calls.
    pub acts: u32,
    /// Elements that actions changed, in order.
    pub touched: Vec<TouchedElement>,
    /// Failures of actions and tools.
    pub failures: Vec<String>,
    /// For each failure that a later action got over, that action.
    pub recoveries: Vec<String>,
    /// Suspected loops.
    pub loops: Vec<String>,
    /// The first action that took a change back.
    pub undo: Option<String>,
    /// Skills received.
    pub viewed: Vec<ViewedSkill>,
    /// True if a skill was finished with success.
    pub finished_skill: bool,
    /// The accepted signal, if the agent reported one.
    pub signal: Option<ReportedSignal>,
}

/// A session: its turns and its events in words.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRecord {
    /// Name of the run.
    pub run: String,
    /// The turns, in order, reviewed ones included: a later turn may correct an earlier one.
    pub turns: Vec<SessionTurn>,
    /// The events in words.
    pub timeline: Vec<SummarizedEvent>,
    /// Start and end of the trace.
    pub started_at: Timestamp,
    /// End of the trace.
    pub finished_at: Timestamp,
    /// Versions of the programs.
    pub versions: Versions,
}

/// Reads the turns of a trace. An attempt at one instruction is one turn. `None` for a trace without an instruction.
pub fn read_session(run: &str, events: &[Event]) -> Option<SessionRecord> {
    let (first, last) = (events.first()?, events.last()?);
    let timeline = summarize_events(events);
    let is_session = events.iter().any(|event| matches!(event.kind, EventKind::TurnStarted(_)));
    let present = KnownVersions::default();
    let mut turns: Vec<SessionTurn> = Vec::new();
    for (event, words) in events.iter().zip(&timeline) {
        present.record(&event.kind);
        match &event.kind {
            EventKind::Started(header) if !is_session => {
                turns.push(begun(1, &words.id, &header.brief.instruction));
            }
            EventKind::TurnStarted(start) => {
                let turn = begun(start.turn, &words.id, &start.instruction);
                turns.push(SessionTurn { asks_to_learn: start.asks_to_learn, ..turn });
            }
            _ => {
                if let Some(turn) = turns.last_mut() {
                    turn.take(event, words);
                }
            }
        }
    }
    (!turns.is_empty()).then(|| SessionRecord {
        run: run.to_owned(),
        turns,
        timeline,
        started_at: first.wall,
        finished_at: last.wall,
        versions: present.versions(),
    })
}

fn begun(number: u32, request: &str, instruction: &str) -> SessionTurn {
    SessionTurn {
        number,
        pending: None,
        request: request.to_owned(),
        instruction: instruction.to_owned(),
        asks_to_learn: false,
        report: None,
        report_words: String::new(),
        ended_well: false,
        acts: 0,
        touched: Vec::new(),
        failures: Vec::new(),
        recoveries: Vec::new(),
        loops: Vec::new(),
        undo: None,
        viewed: Vec::new(),
        finished_skill: false,
        signal: None,
    }
}

impl SessionTurn {
    fn take(&mut self, event: &Event, words: &SummarizedEvent) {
        let id = &words.id;
        match &event.kind {
            EventKind::Finished(finish) => {
                self.report = Some(id.clone());
                self.report_words = match finish {
                    Finish::Done => "done".to_owned(),
                    Finish::Answer { text } => text.clone(),
                    Finish::GiveUp { reason } => format!("given up: {reason}"),
                };
            }
            EventKind::TurnEnded { reason, .. } | EventKind::Stopped { reason, .. } => {
                // The end of the session repeats the end of its last turn.
                self.ended_well = matches!(reason, Some(StopReason::Done | StopReason::Answered));
            }
            EventKind::Action(record) => self.act(record, id),
            EventKind::ToolCalled { is_error, .. } => {
                self.acts += 1;
                if *is_error { self.failures.push(id.clone()) } else { self.recover(id) }
            }
            EventKind::LoopSuspected { .. } => self.loops.push(id.clone()),
            EventKind::ModelReplied { calls, .. } => {
                if let Some(signal) = calls.iter().rev().find_map(reported_signal) {
                    self.signal = Some(signal);
                }
            }
            EventKind::Skill(skill) => match (skill.happening, &skill.skill) {
                (SkillEventKind::Viewed, Some(viewed)) => {
                    self.viewed.push(ViewedSkill { skill: viewed.clone(), event: id.clone() });
                }
                (SkillEventKind::Created | SkillEventKind::Updated | SkillEventKind::Proposed, _) => {
                    self.finished_skill = true;
                }
                // A report whose signal was rejected leads to nothing.
                (SkillEventKind::LearningSignalRejected, _) => self.signal = None,
                _ => {}
            },
            _ => {}
        }
    }

    fn act(&mut self, record: &ActionRecord, id: &str) {
        self.acts += 1;
        match &record.outcome {
            ActionOutcome::Failed { .. } => self.failures.push(id.to_owned()),
            ActionOutcome::NotExecuted => {}
            ActionOutcome::Done { .. } if record.asked.is_observation_only() => {}
            ActionOutcome::Done { .. } => {
                self.recover(id);
                if is_undo(&record.asked) && self.undo.is_none() {
                    self.undo = Some(id.to_owned());
                }
                if let (Some(role), Some(name)) = (&record.target_role, &record.target_name)
                    && !name.is_empty()
                {
                    let element = format!("{role} {name:?}");
                    self.touched.push(TouchedElement { element, event: id.to_owned() });
                }
            }
        }
    }

    /// Notes the action after a failure, for each failure that has none yet.
    fn recover(&mut self, id: &str) {
        self.recoveries.resize(self.failures.len(), id.to_owned());
    }

    /// Returns whether a failure was got over and the turn ended well.
    pub fn recovered(&self) -> bool {
        self.ended_well && !self.failures.is_empty() && self.recoveries.len() == self.failures.len()
    }
}

fn is_undo(action: &Action<apprentice_protocol::ImagePoint>) -> bool {
    match action {
        Action::Key { chord, .. } => chord.to_string().to_ascii_lowercase() == UNDO,
        _ => false,
    }
}

impl SessionRecord {
    /// Returns the turn before another one, if there is one.
    pub fn before(&self, turn: &SessionTurn) -> Option<&SessionTurn> {
        let index = self.turns.iter().position(|other| other.number == turn.number)?;
        self.turns.get(index.checked_sub(1)?)
    }

    /// Returns the events of a turn that changed an element which the turn before had changed too, with those of the turn
    /// before.
    pub fn touched_again(&self, turn: &SessionTurn) -> Vec<String> {
        let Some(before) = self.before(turn) else { return Vec::new() };
        let mut found = BTreeSet::new();
        for again in &turn.touched {
            for first in before.touched.iter().filter(|first| first.element == again.element) {
                found.extend([first.event.clone(), again.event.clone()]);
            }
        }
        self.in_order(&found)
    }

    /// Returns whether a turn began right after a report that the work was done.
    pub fn follows_report(&self, turn: &SessionTurn) -> bool {
        self.before(turn).is_some_and(|before| before.ended_well)
    }

    /// Returns the last skill that was received in this turn or before it.
    pub fn viewed_until(&self, turn: &SessionTurn) -> Option<&ViewedSkill> {
        let until = self.turns.iter().filter(|earlier| earlier.number <= turn.number);
        until.flat_map(|earlier| &earlier.viewed).last()
    }

    /// Sorts ids by their place in the timeline.
    fn in_order(&self, ids: &BTreeSet<String>) -> Vec<String> {
        let all_ids = self.timeline.iter().map(|event| &event.id);
        all_ids.filter(|id| ids.contains(*id)).cloned().collect()
    }

    /// Marks the turns that a review covers: pairs of a turn's number and its journal line.
    pub fn set_pending(&mut self, number: u32, line: &str) {
        for turn in self.turns.iter_mut().filter(|turn| turn.number == number) {
            turn.pending = Some(line.to_owned());
        }
    }

    /// Returns the events since the last review, with the turn before them, which they may be about.
    pub fn since_review(&self) -> &[SummarizedEvent] {
        let first = self.turns.iter().position(|turn| turn.pending.is_some()).unwrap_or(0);
        let start = self.turns.get(first.saturating_sub(1)).map(|turn| &turn.request);
        let index = self.timeline.iter().position(|event| Some(&event.id) == start);
        &self.timeline[index.unwrap_or(0)..]
    }

    /// Returns the events that a person's words brought.
    pub fn requests(&self) -> Vec<String> {
        let instructions = self.timeline.iter().filter(|event| event.reason == Reason::UserInput);
        instructions.map(|event| event.id.clone()).collect()
    }
}
