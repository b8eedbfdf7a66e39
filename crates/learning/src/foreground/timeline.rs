//! The timeline of the running attempt, for the learning tools. The owner of the trace forwards each event to it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_protocol::{EventId, EventKind, SkillEventKind, SkillId, Versions};
use apprentice_skillbook::KnownVersions;

use super::bundle::{Reason, SummarizedEvent};
use super::event_summary::EventSummarizer;

/// Number of events in one answer; below, the characters of each.
const MAX_EVENTS: usize = 80;
const MAX_EVENT_CHARS: usize = 140;

/// A list of events that the trace and the tools share. Clones refer to the same list.
#[derive(Clone, Debug, Default)]
pub struct Timeline(Arc<Mutex<Events>>);

#[derive(Debug, Default)]
struct Events {
    spotter: EventSummarizer,
    all: Vec<SummarizedEvent>,
    viewed: BTreeSet<SkillId>,
    action_count: u32,
    present: KnownVersions,
}

impl Timeline {
    /// Adds one event.
    pub fn note(&self, id: EventId, kind: &EventKind) {
        let mut events = self.events();
        events.present.record(kind);
        let spotted = events.spotter.spot(id, kind);
        match kind {
            EventKind::Skill(skill) if skill.happening == SkillEventKind::Viewed => {
                events.viewed.extend(skill.skill.clone());
            }
            EventKind::Action(_) | EventKind::ToolCalled { .. } => events.action_count += 1,
            _ => {}
        }
        events.all.push(spotted);
    }

    /// Returns the ids of all events.
    pub(super) fn ids(&self) -> Vec<String> {
        self.events().all.iter().map(|event| event.id.clone()).collect()
    }

    /// Returns the ids of user input events.
    pub(super) fn requests(&self) -> Vec<String> {
        let events = self.events();
        let instructions = events.all.iter().filter(|event| event.reason == Reason::UserInput);
        instructions.map(|event| event.id.clone()).collect()
    }

    /// Returns whether the agent received the skill's text.
    pub(super) fn has_viewed(&self, skill: &SkillId) -> bool {
        self.events().viewed.contains(skill)
    }

    /// Returns the program versions known so far.
    pub(super) fn versions(&self) -> Versions {
        self.events().present.versions()
    }

    /// Returns the number of actions and tool calls.
    pub(super) fn action_count(&self) -> u32 {
        self.events().action_count
    }

    /// Returns the events worth referring to, one line each, the latest last.
    pub(super) fn shown(&self) -> String {
        let events = self.events();
        let deed = |event: &&SummarizedEvent| {
            event.reason != Reason::Ordinary || event.kind == "action" || event.kind == "tool.called"
        };
        let chosen: Vec<&SummarizedEvent> = events.all.iter().filter(deed).collect();
        let skipped = chosen.len().saturating_sub(MAX_EVENTS);
        let mut text = String::new();
        if skipped > 0 {
            let _ = writeln!(text, "({skipped} earlier events are left out)");
        }
        for event in chosen.into_iter().skip(skipped) {
            let flat = event.detail.split_whitespace().collect::<Vec<_>>().join(" ");
            let cut: String = flat.chars().take(MAX_EVENT_CHARS).collect();
            let _ = writeln!(text, "{} {} ({}): {cut}", event.id, event.kind, event.reason.as_str());
        }
        text
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
