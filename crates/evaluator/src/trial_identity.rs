//! What identifies a trial and its trajectory: ids computed from the suite, task, role, model, arm and variation.

use std::collections::BTreeSet;

use apprentice_protocol::{TaskId, TrialId};
use apprentice_runs::row::{Role, TrialRow};
use sha2::{Digest as _, Sha256};

/// A model in one role under one arm. Contenders run on the same tasks and seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The model's role.
    pub role: Role,
    /// The model, as `provider/name`.
    pub model: String,
    /// The arm's name.
    pub arm: String,
    /// The tasks it runs on; all tasks of the plan when `None`.
    pub tasks: Option<BTreeSet<TaskId>>,
    /// The number of variations of each task; the plan's number when `None`.
    pub seeds: Option<u32>,
}

/// Computes a trial's id from its suite, task, role, model, arm and variation.
pub fn trial_id(suite: &str, task: &TaskId, contender: &Contender, seed: u32) -> TrialId {
    let digest = hashed(&[
        ("suite", suite),
        ("task", task.as_str()),
        ("role", contender.role.as_str()),
        ("model", &contender.model),
        ("arm", &contender.arm),
        ("seed", &seed.to_string()),
    ]);
    TrialId::new(&digest[..12])
}

/// The id under which the trajectory of a row's attempt is known: `<run>/<trial>/<attempt>`.
pub fn trajectory_id(row: &TrialRow) -> String {
    format!("{}/{}/{}", row.run, row.trial, row.attempt)
}

/// Computes the trial id from a row's fields, for the suite of this name.
pub(crate) fn expected_trial_id(row: &TrialRow, suite: &str) -> TrialId {
    let contender = Contender {
        role: row.role,
        model: row.model.clone(),
        arm: row.arm.clone(),
        tasks: None,
        seeds: None,
    };
    trial_id(suite, &row.task, &contender, row.seed)
}

/// Hashes labelled parts, each prefixed with its length, so that different part lists never hash the same input.
pub(crate) fn hashed(parts: &[(&str, &str)]) -> String {
    let mut hash = Sha256::new();
    for text in parts.iter().flat_map(|(label, text)| [label, text]) {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    apprentice_trace::hex(&hash.finalize())
}
