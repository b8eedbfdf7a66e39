//! What is running: the attempts of a run that have a trace and no row yet.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use apprentice_protocol::{EventKind, Verdict};
use apprentice_results::stored_run::StoredRun;
use apprentice_trace::Trace;
use serde::Serialize;

use crate::library::Library;
use crate::screen::Screen;
use crate::turn::turns;

/// The file that a running process keeps locked.
const LOCK: &str = "run.lock";
/// The most attempts that are shown as running.
const ATTEMPTS: usize = 64;

/// The state of all runs.
#[derive(Debug, Serialize)]
pub(crate) struct LiveDocument {
    runs: Vec<LiveRun>,
}

/// The state of one run.
#[derive(Debug, Serialize)]
pub(crate) struct LiveRun {
    run: String,
    /// Whether a process works on it.
    is_running: bool,
    planned: usize,
    passed: usize,
    failed: usize,
    void: usize,
    cost_usd: f64,
    attempts: Vec<LiveAttempt>,
}

/// An attempt under way, or one that was cut off.
#[derive(Debug, Serialize)]
struct LiveAttempt {
    trial: String,
    attempt: u32,
    task: String,
    model: String,
    /// Turns so far.
    turns: usize,
    /// What it is doing.
    doing: Doing,
    /// The model's last words.
    say: Option<String>,
    last_act: Option<String>,
    screen: Option<Screen>,
    tokens: u64,
    cost_usd: Option<f64>,
    /// The time of the last event.
    at: String,
}

/// What an attempt is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Doing {
    SettingUp,
    WaitingForModel,
    Acting,
    Judging,
}

/// Reads what is running.
pub(crate) fn document(library: &Library) -> LiveDocument {
    let runs = library.folders().iter().filter_map(|folder| {
        let name = library.name(folder);
        let run = library.run(&name)?.ok()?;
        Some(live_run(library, name, &run))
    });
    LiveDocument { runs: runs.collect() }
}

fn live_run(library: &Library, name: String, run: &StoredRun) -> LiveRun {
    let is_running = is_locked(&run.folder);
    let count = |verdict: Verdict| run.rows.iter().filter(|row| row.verdict == verdict).count();
    let attempts = if is_running { attempts(library, run) } else { Vec::new() };
    LiveRun {
        run: name,
        is_running,
        planned: planned(&run.folder),
        passed: count(Verdict::Pass),
        failed: count(Verdict::Fail),
        void: count(Verdict::Void),
        cost_usd: run.rows.iter().filter_map(|row| row.cost_usd).sum(),
        attempts,
    }
}

/// The number of planned trials.
fn planned(folder: &Path) -> usize {
    let plan = fs::read(folder.join("run.json")).ok();
    let plan = plan.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    plan.and_then(|plan| plan.get("trials")?.as_array().map(Vec::len)).unwrap_or_default()
}

/// Whether a process holds the run's lock. It is held for writing, so a lock for reading tells without disturbing.
pub(crate) fn is_locked(folder: &Path) -> bool {
    let Ok(file) = File::open(folder.join(LOCK)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The attempts without a row.
fn attempts(library: &Library, run: &StoredRun) -> Vec<LiveAttempt> {
    let known = |trial: &str, attempt: u32| {
        run.rows.iter().any(|row| row.trial.as_str() == trial && row.attempt == attempt)
    };
    let folders = |path: &Path| -> Vec<String> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let mut found = Vec::new();
    for folder in folders(&run.folder.join("trials")) {
        let trial = folder.rsplit_once('-').map_or(folder.as_str(), |(_, id)| id).to_owned();
        for name in folders(&run.folder.join("trials").join(&folder)) {
            let Some(attempt) = name.strip_prefix("attempt-").and_then(|number| number.parse().ok()) else {
                continue;
            };
            if known(&trial, attempt) || found.len() >= ATTEMPTS {
                continue;
            }
            if let Ok(trace) = library.trace_at(run, &format!("trials/{folder}/{name}")) {
                found.push(live_attempt(trial.clone(), attempt, &trace));
            }
        }
    }
    found
}

fn live_attempt(trial: String, attempt: u32, trace: &Trace) -> LiveAttempt {
    let read = turns(&trace.events);
    let header = trace.header();
    let mut doing = Doing::SettingUp;
    for event in &trace.events {
        doing = match &event.kind {
            EventKind::ModelAsked { .. } => Doing::WaitingForModel,
            EventKind::Observed { .. } | EventKind::ModelReplied { .. } => Doing::Acting,
            EventKind::Stopped { .. } => Doing::Judging,
            _ => doing,
        };
    }
    let last = read.turns.last();
    let costs: Vec<f64> = read.turns.iter().filter_map(|turn| turn.cost_usd).collect();
    LiveAttempt {
        trial,
        attempt,
        task: header.map(|header| header.brief.id.to_string()).unwrap_or_default(),
        model: header.map(|header| header.model.name.clone()).unwrap_or_default(),
        turns: read.turns.len(),
        doing,
        say: read.turns.iter().rev().find_map(|turn| turn.say.last().cloned()),
        last_act: read.turns.iter().rev().find_map(|turn| turn.acts.last()).map(crate::act::Act::in_words),
        screen: read
            .last
            .clone()
            .or_else(|| last.and_then(|turn| turn.after.clone().or(turn.before.clone()))),
        tokens: read.turns.iter().map(|turn| turn.input_tokens + turn.output_tokens).sum(),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
        at: trace.events.last().map(|event| event.wall.to_string()).unwrap_or_default(),
    }
}
