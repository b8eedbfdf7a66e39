//! The first page: the rows of all runs. It reads no trace.

use std::collections::BTreeSet;

use apprentice_protocol::{StopReason, Verdict, VoidCause};
use apprentice_runs::PlanHead;
use apprentice_runs::row::TrialRow;
use serde::Serialize;

use crate::act::word;
use crate::error_chain::chain;
use crate::library::Library;

/// The rows of all runs.
#[derive(Debug, Serialize)]
pub(crate) struct GridDocument {
    title: String,
    runs: Vec<RunSummary>,
    rows: Vec<GridRow>,
    /// The skillbooks, by their keys in links.
    books: Vec<String>,
    /// Whether there is a report.
    report: bool,
    /// What could not be read, in words.
    problems: Vec<String>,
}

/// One run.
#[derive(Debug, Serialize)]
struct RunSummary {
    /// Its key in links.
    name: String,
    /// The run's id, which skillbooks name.
    id: String,
    program: String,
    suite: String,
}

/// One attempt.
#[derive(Debug, Serialize)]
struct GridRow {
    run: String,
    trial: String,
    attempt: u32,
    task: String,
    /// The task's program, or the domain that its suite lists it under.
    domain: Option<String>,
    /// The beginning of its instruction.
    instruction: Option<String>,
    template: String,
    split: Option<&'static str>,
    model: String,
    role: &'static str,
    arm: String,
    seed: u32,
    verdict: Verdict,
    score: f64,
    /// Why it ended.
    why: String,
    steps: u32,
    tokens: u64,
    cost_usd: Option<f64>,
    wall_s: f64,
    skills: Vec<String>,
    /// Whether a later attempt of the same trial exists.
    repeated: bool,
    /// Whether it ended because the model repeated itself.
    looped: bool,
    /// Actions of a person in it.
    person_acts: u32,
}

impl GridRow {
    fn of(run: &str, plan: &PlanHead, row: &TrialRow, repeated: bool) -> Self {
        let stop = |reason: &StopReason| word(reason).replace('_', " ");
        let void = |cause: &VoidCause| word(cause).replace('_', " ");
        let why = row.void_cause.as_ref().map(void).or_else(|| row.stop_reason.as_ref().map(stop));
        Self {
            run: run.to_owned(),
            trial: row.trial.to_string(),
            attempt: row.attempt,
            task: row.task.to_string(),
            domain: plan.programs.get(&row.task).cloned(),
            instruction: plan.instructions.get(&row.task).cloned(),
            template: row.template.clone(),
            split: row.split.map(apprentice_runs::row::Split::as_str),
            model: row.model.clone(),
            role: row.role.as_str(),
            arm: row.arm.clone(),
            seed: row.seed,
            verdict: row.verdict,
            score: row.score,
            why: why.unwrap_or_default(),
            steps: row.world_steps,
            tokens: row.tokens.input + row.tokens.output,
            cost_usd: row.cost_usd,
            wall_s: row.wall_s,
            skills: row.skills_viewed.iter().map(ToString::to_string).collect(),
            repeated,
            looped: row.stop_reason == Some(StopReason::Loop),
            person_acts: row.person_acts,
        }
    }
}

/// Makes the first page.
pub(crate) fn document(library: &Library) -> GridDocument {
    let (mut runs, mut rows, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    problems.extend(library.refresh());
    for folder in library.folders().iter() {
        let name = library.key(folder);
        let run = match library.run(&name) {
            Some(Ok(run)) => run,
            Some(Err(error)) => {
                problems.push(format!("{}: {}", library.named(folder), chain(&error)));
                continue;
            }
            None => continue,
        };
        problems.extend(run.torn.iter().map(|torn| format!("{}: {torn}", library.named(folder))));
        // Rows are sorted by attempt within a trial, so the last one of each trial counts.
        let mut counted = BTreeSet::new();
        for row in run.rows.iter().rev() {
            let repeated = !counted.insert(row.trial.clone());
            rows.push(GridRow::of(&name, &run.plan, row, repeated));
        }
        let (id, program, suite) = (run.plan.run, run.plan.program, run.plan.suite);
        runs.push(RunSummary { name, id, program, suite });
    }
    rows.reverse();
    let books = library.books().into_keys().collect();
    GridDocument { title: library.title.clone(), runs, rows, books, report: library.has_report(), problems }
}
