//! Prints the events of a skillbook, and the learning activity and signals of agents.

use std::path::Path;

use apprentice_learning::background::ReviewLock;
use apprentice_learning::foreground::{
    Budgets, Counters, Gate, Journal, JournalEntry, JournalLine, budgets, counters, gate,
};
use apprentice_protocol::Clock as _;
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::{BookEvent, Snapshot};
use schemars::JsonSchema;
use serde::Serialize;

use super::{id, unknown};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::terminal;

/// Number of most recent lines to print.
const LAST: usize = 20;

/// The output of `skills events --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Events {
    schema: &'static str,
    events: Vec<BookEvent>,
}

/// The output of `skills learning --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct LearningState<'a> {
    schema: &'static str,
    /// What agents did and signalled since the last review.
    counters: Counters,
    review: DueReview,
    /// The whole journal.
    lines: &'a [JournalLine],
}

/// Whether a review is due.
#[derive(Serialize, JsonSchema)]
struct DueReview {
    due: bool,
    /// The trigger, or what holds the review back.
    why: String,
}

pub(super) fn events(book: &Snapshot, skill: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let skill = skill.map(id).transpose()?;
    let mut events = book.events();
    events.retain(|event| skill.is_none() || event.skill == skill);
    if let Some(skill) = skill.as_ref().filter(|_| events.is_empty()) {
        return Err(unknown(book, skill.as_str()));
    }
    if as_json {
        return terminal::json(&Events { schema: "apprentice.skills.events/1", events });
    }
    if events.is_empty() {
        terminal::line(format_args!("the skillbook has no events yet"));
    }
    for event in events {
        let about = event.skill.as_ref().map(ToString::to_string).or(event.domain).unwrap_or_default();
        let version = event.version.map(|version| format!(" v{version}")).unwrap_or_default();
        let from = event.trajectory.map(|trajectory| format!(" from {trajectory}")).unwrap_or_default();
        let (happening, actor) = (terminal::words(&event.event), terminal::words(&event.actor));
        terminal::line(format_args!(
            "{} {} {actor} {happening} {about}{version}{from}",
            event.id, event.time
        ));
    }
    Ok(())
}

pub(super) fn learning(folder: &Path, as_json: bool, config: &Config) -> Result<(), Failure> {
    let lines = Journal::beside(folder).read().kind(Kind::Config)?;
    let (counted, now) = (counters(&lines), SystemClock::default().now());
    // Only a review that holds its lock is running; one that was cut off is not.
    let running = ReviewLock::try_take(folder).kind(Kind::Config)?.is_none();
    let used = Budgets { running, ..budgets(&lines, now) };
    let decided = gate(&counted, &config.learning.limits(), &used, now);
    let (due, why) = match decided {
        Gate::Run(trigger, origin) => {
            (true, format!("{}, {}", terminal::words(&trigger), terminal::words(&origin)))
        }
        Gate::NotDue => (false, "no trigger".to_owned()),
        Gate::HeldBack(why) => (false, why.to_owned()),
    };
    if as_json {
        return terminal::json(&LearningState {
            schema: "apprentice.skills.learning/1",
            counters: counted,
            review: DueReview { due, why },
            lines: &lines,
        });
    }
    for line in lines.iter().rev().take(LAST).rev() {
        let what = match &line.entry {
            JournalEntry::Event { event } => terminal::words(event),
            JournalEntry::Turn { tool_iters, .. } => {
                format!("turn, {}", apprentice_protocol::counted(*tool_iters, "action"))
            }
        };
        let about = line.skill.as_ref().map(|skill| format!(" {skill}")).unwrap_or_default();
        terminal::line(format_args!("{} {} {what}{about} in {}", line.id, line.time, line.run));
    }
    terminal::line(format_args!(
        "since the last review: {}, {}, {} at faulty skills, {} not written",
        apprentice_protocol::counted(counted.turns_since_review, "turn"),
        apprentice_protocol::counted(counted.tool_iters_since_review, "action"),
        apprentice_protocol::counted(counted.skill_issue_hints_since_review, "hint"),
        apprentice_protocol::counted(counted.skipped_foreground, "skill")
    ));
    let due = if due { "a review is due" } else { "no review is due" };
    terminal::line(format_args!("{due} ({why}); `apprentice skills learning run` reviews what waits"));
    Ok(())
}
