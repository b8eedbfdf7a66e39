//! Compares the rows of a run with its plan: each planned trial has one result, and a row is what was planned.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{TrialId, Verdict, VoidCause};
use apprentice_runs::layout::{PLAN_FILE, ROWS_FILE};
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows::Rows;
use serde_json::Value;

use super::finding::{Claim, Findings};
use crate::experiment::Definition;
use crate::run::{RunPlan, TrialSpec, has_result};
use crate::trial_identity::{Contender, trial_id};

/// Fields of a row that its plan fixes.
const PLANNED: [&str; 14] = [
    "schema",
    "run",
    "suite",
    "suite_hash",
    "role",
    "task",
    "template",
    "split",
    "arm",
    "seed",
    "model",
    "order",
    "prompt_hash",
    "trace",
];

/// Compares a run's rows with its plan. `name` leads to the run from what is verified.
pub(super) fn compare(name: &str, plan: &RunPlan, read: &Rows, found: &mut Findings) {
    let file = |file: &str| within(name, file);
    if let Some(torn) = &read.torn {
        let problem = format!("line {} is cut off after {} bytes", torn.line, torn.bytes);
        found.add(Claim::Rows, &file(ROWS_FILE), problem);
    }
    for line in &read.repeated {
        found.add(Claim::Rows, &file(ROWS_FILE), format!("line {line} repeats an earlier row"));
    }
    check_trials(&file(PLAN_FILE), plan, found);
    let planned: BTreeMap<&TrialId, &TrialSpec> =
        plan.trials.iter().map(|trial| (&trial.trial, trial)).collect();
    let mut attempts: BTreeMap<&TrialId, Vec<&TrialRow>> = BTreeMap::new();
    let mut fields = PLANNED.to_vec();
    // A book that grows while a run learns is not planned.
    if plan.arms.iter().any(|arm| arm.skillbook_hash.is_some()) {
        fields.push("skillbook_hash");
    }
    for row in &read.rows {
        found.count(Claim::Rows, 1);
        match planned.get(&row.trial) {
            None => found.add(Claim::Rows, &place(name, row), "the plan has no such trial"),
            Some(trial) => {
                compare_row(&place(name, row), row, &plan.blank_row(trial, row.attempt), &fields, found);
                attempts.entry(&row.trial).or_default().push(row);
            }
        }
    }
    for trial in &plan.trials {
        let mut rows = attempts.remove(&trial.trial).unwrap_or_default();
        rows.sort_by_key(|row| row.attempt);
        found.count(Claim::Plan, 1);
        for problem in trial_problems(plan, &rows) {
            let at =
                format!("{} (task {}, arm {}, variation {})", trial.trial, trial.task, trial.arm, trial.seed);
            found.add(Claim::Plan, &within(name, &format!("trial {at}")), problem);
        }
    }
}

/// Finds a place in the order of trials that no trial has: one was taken out. Forks share the places of what they were made
/// from.
fn check_order(place: &str, plan: &RunPlan, found: &mut Findings) {
    let orders: BTreeSet<u32> = plan.trials.iter().map(|trial| trial.order).collect();
    let first = orders.first().copied().unwrap_or_default();
    if first > 1 || orders.len() != plan.trials.len() {
        return;
    }
    if let Some((wanted, _)) = (first..).zip(&orders).find(|(wanted, order)| wanted != *order) {
        found.add(
            Claim::Plan,
            place,
            format!("no trial has place {wanted} of the order, and later ones have theirs"),
        );
    }
}

/// Checks that the plan's trials are what their ids say, once each, with models and arms of the plan.
fn check_trials(place: &str, plan: &RunPlan, found: &mut Findings) {
    check_order(place, plan, found);
    let mut ids = BTreeSet::new();
    for trial in &plan.trials {
        if !ids.insert(&trial.trial) {
            found.add(Claim::Plan, place, format!("trial {} is planned twice", trial.trial));
        }
        let contender = Contender {
            role: trial.role,
            model: trial.model.clone(),
            arm: trial.arm.clone(),
            tasks: None,
            seeds: None,
        };
        if trial_id(&plan.suite, &trial.task, &contender, trial.seed) != trial.trial {
            let problem = format!(
                "trial {} is not the id of task {}, {} {}, arm {}, variation {} of suite {}",
                trial.trial,
                trial.task,
                trial.role.as_str(),
                trial.model,
                trial.arm,
                trial.seed,
                plan.suite
            );
            found.add(Claim::Plan, place, problem);
        }
        if !plan.models.iter().any(|one| one.role == trial.role && one.model == trial.model) {
            let problem =
                format!("trial {} is of {}, which is not among the models", trial.trial, trial.model);
            found.add(Claim::Plan, place, problem);
        }
        if !plan.arms.iter().any(|one| one.arm == trial.arm) {
            let problem =
                format!("trial {} is of arm {}, which is not among the arms", trial.trial, trial.arm);
            found.add(Claim::Plan, place, problem);
        }
    }
}

/// What is wrong with the attempts of one planned trial.
fn trial_problems(plan: &RunPlan, rows: &[&TrialRow]) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(last) = rows.last() else { return vec!["it has no row".to_owned()] };
    for (number, row) in (1..).zip(rows) {
        if row.attempt != number {
            problems.push(format!("attempt {number} has no row, but attempt {} has one", row.attempt));
            break;
        }
    }
    let judged = rows.iter().filter(|row| row.verdict != Verdict::Void).count();
    if judged > 1 || (judged == 1 && last.verdict == Verdict::Void) {
        problems.push("it was tried again after its result".to_owned());
    }
    let owned: Vec<TrialRow> = rows.iter().map(|row| (*row).clone()).collect();
    if !has_result(&owned) && owned.len() < plan.attempts as usize {
        problems.push(format!("it has no result: {} of {} attempts are void", rows.len(), plan.attempts));
    }
    let counted = rows.iter().filter(|row| row.void_cause != Some(VoidCause::Interrupted)).count();
    if counted > plan.attempts as usize {
        problems.push(format!("it has {counted} attempts, and the plan allows {}", plan.attempts));
    }
    problems
}

fn compare_row(place: &str, row: &TrialRow, planned: &TrialRow, fields: &[&str], found: &mut Findings) {
    for problem in differences(row, planned, fields, "plan") {
        found.add(Claim::Rows, place, problem);
    }
}

/// The named fields in which a row differs from what another record says of it.
pub(super) fn differences(row: &TrialRow, other: &TrialRow, fields: &[&str], record: &str) -> Vec<String> {
    let json = |row: &TrialRow| serde_json::to_value(row).unwrap_or(Value::Null);
    let (row, other) = (json(row), json(other));
    // A count of 0 is left out of a row.
    let value = |of: &Value, field: &str| of.get(field).cloned().unwrap_or(Value::Null).to_string();
    let differ = fields.iter().filter(|field| row.get(**field) != other.get(**field));
    differ
        .map(|field| {
            format!("{field}: the row says {}, its {record} {}", value(&row, field), value(&other, field))
        })
        .collect()
}

/// Compares the plans of an experiment's runs with its definition.
pub(super) fn compare_definition(name: &str, plan: &RunPlan, definition: &Definition, found: &mut Findings) {
    let place = within(name, PLAN_FILE);
    let fields = [
        ("suite", plan.suite == definition.suite),
        ("suite hash", plan.suite_hash == definition.suite_hash),
        ("split hash", plan.split_hash == definition.split_hash),
        ("prompt hash", plan.prompt_hash == definition.prompt_hash),
        ("attempts", plan.attempts == definition.attempts),
        ("program", plan.program == definition.program),
    ];
    for (field, _) in fields.iter().filter(|(_, same)| !same) {
        found.add(Claim::Plan, &place, format!("{field}: it is not that of the experiment's definition"));
    }
    let models: Vec<&String> =
        [&definition.student].into_iter().chain(&definition.others).chain(&definition.teacher).collect();
    for trial in &plan.trials {
        let learner = matches!(&definition.book, crate::experiment::BookPlan::Learned { teacher, .. } if *teacher == trial.model);
        if !trial.model.starts_with("baseline/") && !learner && !models.contains(&&trial.model) {
            let problem =
                format!("trial {} is of {}, which the definition does not name", trial.trial, trial.model);
            found.add(Claim::Plan, &place, problem);
        }
    }
}

/// Names an attempt.
pub(super) fn place(name: &str, row: &TrialRow) -> String {
    within(name, &format!("trial {}, attempt {} ({})", row.trial, row.attempt, row.task))
}

/// Names a part of a run; `name` is empty for the run that is verified itself.
pub(super) fn within(name: &str, part: &str) -> String {
    if name.is_empty() { part.to_owned() } else { format!("{name}: {part}") }
}
