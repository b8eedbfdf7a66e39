//! The document of one attempt: its task, outcome, checks and turns.

use std::collections::BTreeMap;

use apprentice_protocol::{Event, EventKind, Header, Judged};
use apprentice_runs::StoredRun;
use apprentice_runs::row::TrialRow;
use apprentice_trace::Trace;
use serde::Serialize;

use crate::act::word;
use crate::evidence::{self, CheckEvidence};
use crate::screen::Screen;
use crate::turn::{NoteLine, Turn, turns};

/// An attempt.
#[derive(Debug, Serialize)]
pub(crate) struct AttemptDocument {
    pub(crate) run: String,
    pub(crate) trial: String,
    pub(crate) attempt: u32,
    task: String,
    instruction: String,
    model: String,
    program: String,
    began: String,
    world: String,
    /// The line of `trials.jsonl`; `None` for an attempt without one, which is running or was cut off.
    row: Option<TrialRow>,
    /// How it ended, as the trace says.
    ended: Option<Ended>,
    judged: Option<Judged>,
    evidence: Vec<CheckEvidence>,
    times: AttemptTimes,
    opening: Vec<NoteLine>,
    turns: Vec<Turn>,
    /// The last screen, where no turn follows it.
    last: Option<Screen>,
    /// What could not be read, in words.
    problems: Vec<String>,
}

/// The end of an attempt.
#[derive(Debug, Serialize)]
struct Ended {
    /// The reason, or the cause of a void attempt.
    reason: String,
    is_void: bool,
    detail: String,
}

/// Where the time of an attempt went, in milliseconds.
#[derive(Debug, Default, Serialize)]
struct AttemptTimes {
    /// Opening and setting up the world.
    setup: u64,
    model: u64,
    waiting: u64,
    world: u64,
    tools: u64,
    /// Collecting evidence and judging.
    check: u64,
    whole: u64,
}

/// What identifies an attempt.
pub(crate) struct AttemptName<'a> {
    pub(crate) run: &'a str,
    pub(crate) trial: &'a str,
    pub(crate) attempt: u32,
}

impl AttemptDocument {
    /// Makes the document from a trace.
    pub(crate) fn of(name: &AttemptName<'_>, run: &StoredRun, folder: &str, trace: &Trace) -> Self {
        let row = run
            .rows
            .iter()
            .find(|row| row.trial.as_str() == name.trial && row.attempt == name.attempt)
            .cloned();
        let mut problems = Vec::new();
        if let Some(torn) = &trace.torn {
            let bytes = torn.len();
            problems
                .push(format!("The last line of the trace is cut off after {bytes} bytes; it is left out."));
        }
        let read = turns(&trace.events);
        let (evidence, why) = evidence::read(run, folder);
        problems.extend(why);
        let header = trace.header();
        let of_header = |field: fn(&Header) -> String| header.map(field).unwrap_or_default();
        Self {
            run: name.run.to_owned(),
            trial: name.trial.to_owned(),
            attempt: name.attempt,
            task: of_header(|header| header.brief.id.to_string()),
            instruction: of_header(|header| header.brief.instruction.clone()),
            model: of_header(|header| header.model.name.clone()),
            program: of_header(|header| header.program.clone()),
            world: of_header(|header| word(&header.world.environment)),
            began: trace.events.first().map(|event| event.wall.to_string()).unwrap_or_default(),
            ended: trace.events.iter().find_map(ended),
            judged: trace.events.iter().find_map(|event| match &event.kind {
                EventKind::Judged(judged) => Some(judged.clone()),
                _ => None,
            }),
            times: times(&trace.events, &read.turns),
            opening: read.opening,
            turns: read.turns,
            last: read.last,
            row,
            evidence,
            problems,
        }
    }
}

fn ended(event: &Event) -> Option<Ended> {
    let EventKind::Stopped { reason, void, detail, .. } = &event.kind else { return None };
    let words = reason.as_ref().map(word).or_else(|| void.as_ref().map(word)).unwrap_or_default();
    Some(Ended { reason: words.replace('_', " "), is_void: void.is_some(), detail: detail.clone() })
}

fn times(events: &[Event], turns: &[Turn]) -> AttemptTimes {
    let at = |event: &Event| event.mono_us / 1000;
    let mut moments: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events {
        match &event.kind {
            EventKind::Stopped { .. } => moments.insert("stopped", at(event)),
            EventKind::Judged(_) => moments.insert("judged", at(event)),
            EventKind::Observed { .. } => Some(*moments.entry("observed").or_insert(at(event))),
            _ => None,
        };
    }
    let moment = |name: &str| moments.get(name).copied();
    let sum = |part: fn(&Turn) -> u64| turns.iter().map(part).sum();
    let check = moment("judged").zip(moment("stopped")).map(|(end, start)| end.saturating_sub(start));
    AttemptTimes {
        setup: moment("observed").unwrap_or_default(),
        model: sum(|turn| turn.time.model),
        waiting: sum(|turn| turn.time.waiting),
        world: sum(|turn| turn.time.world),
        tools: sum(|turn| turn.time.tools),
        check: check.unwrap_or_default(),
        whole: events.last().map(at).unwrap_or_default(),
    }
}
