//! Finds out when no further attempt can succeed, because the model's server refuses or answers none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use apprentice_protocol::{TrialId, Verdict, VoidCause};
use apprentice_runs::row::TrialRow;

/// So many attempts in a row without a reply of the model end a run. They are of two trials at least: one may hold what its
/// server cannot take.
const MOST_ATTEMPTS: u32 = 3;
const LEAST_TRIALS: usize = 2;

/// Counts, for each model, the latest attempts whose server gave no reply. The runs of a command share it.
#[derive(Debug, Default)]
pub(super) struct FaultWatch(Mutex<BTreeMap<String, Unanswered>>);

#[derive(Debug, Default)]
struct Unanswered {
    attempts: u32,
    trials: BTreeSet<TrialId>,
}

impl FaultWatch {
    /// Counts an attempt that has ended. Returns whether there were so many without a reply that others would end alike.
    pub(super) fn note(&self, row: &TrialRow) -> bool {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = match row.void_cause {
            // The server answers, but takes nothing of what it is sent.
            Some(VoidCause::RequestRefused) => true,
            Some(VoidCause::ModelUnavailable | VoidCause::ModelProtocol) => row.turns == 0,
            Some(_) if row.turns == 0 => return false,
            Some(_) | None => false,
        };
        if !silent || row.verdict != Verdict::Void {
            models.remove(&row.model);
            return false;
        }
        let model = models.entry(row.model.clone()).or_default();
        model.attempts += 1;
        model.trials.insert(row.trial.clone());
        model.attempts >= MOST_ATTEMPTS && model.trials.len() >= LEAST_TRIALS
    }
}

/// Whether an attempt is void by its model's server, so that another trial may tell more than the same one.
pub(super) fn is_void_by_model(row: &TrialRow) -> bool {
    let causes = [VoidCause::ModelUnavailable, VoidCause::ModelProtocol, VoidCause::RequestRefused];
    row.verdict == Verdict::Void && row.void_cause.is_some_and(|cause| causes.contains(&cause))
}
