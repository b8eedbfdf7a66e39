//! Chooses the delivery for a model by what earlier trials on dev tasks showed: the arm `auto`.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{TaskId, Verdict};

use crate::arm::Arm;
use apprentice_runs::row::{Split, TrialRow};

/// The arms among which `auto` chooses, simplest first: of equals the first is taken.
pub const AUTO_CANDIDATES: [Arm; 3] = [Arm::Pull, Arm::IndexPull, Arm::Push];
/// The number of trials that the compared arms must share.
pub const AUTO_TRIALS: usize = 5;

/// The arm that `auto` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoChoice {
    /// The chosen arm.
    pub arm: Arm,
    /// The number of trials that all compared arms have in common.
    pub trials: usize,
    /// The passed ones of them, by arm.
    pub passed: BTreeMap<Arm, usize>,
}

/// Why `auto` stands for no arm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAutoChoice {
    /// Fewer than two of the arms were tried on dev tasks.
    #[error(
        "the arm auto chooses by dev trials of {model} in at least two of the arms pull, index+pull and push; there are \
         such trials in {tried}"
    )]
    TooFewArms {
        /// The model.
        model: String,
        /// The number of arms with trials.
        tried: usize,
    },
    /// The arms share too few trials.
    #[error("the arm auto needs {AUTO_TRIALS} dev trials of {model} that its arms share; there are {shared}")]
    TooFewTrials {
        /// The model.
        model: String,
        /// The number of shared trials.
        shared: usize,
    },
}

/// Chooses the arm with which a model passed most of the judged dev trials that the tried arms share. Trials of other
/// splits never count.
///
/// # Errors
///
/// Fails if the arms that the model tried share too few judged dev trials.
pub fn choose_auto(rows: &[TrialRow], model: &str) -> Result<AutoChoice, NoAutoChoice> {
    let mut tried: BTreeMap<Arm, BTreeMap<(TaskId, u32), bool>> = BTreeMap::new();
    let usable =
        |row: &TrialRow| row.split == Some(Split::Dev) && row.model == model && row.verdict != Verdict::Void;
    for row in rows.iter().map(TrialRow::measured).filter(usable) {
        if let Some(arm) = AUTO_CANDIDATES.into_iter().find(|arm| arm.as_str() == row.arm) {
            let passed = row.verdict == Verdict::Pass;
            tried.entry(arm).or_default().insert((row.task.clone(), row.seed), passed);
        }
    }
    if tried.len() < 2 {
        return Err(NoAutoChoice::TooFewArms { model: model.to_owned(), tried: tried.len() });
    }
    let keys = |trials: &BTreeMap<(TaskId, u32), bool>| trials.keys().cloned().collect::<BTreeSet<_>>();
    let shared = tried.values().map(keys).reduce(|one, other| &one & &other).unwrap_or_default();
    if shared.len() < AUTO_TRIALS {
        return Err(NoAutoChoice::TooFewTrials { model: model.to_owned(), shared: shared.len() });
    }
    let count = |trials: &BTreeMap<(TaskId, u32), bool>| {
        trials.iter().filter(|(key, passed)| **passed && shared.contains(key)).count()
    };
    let passed: BTreeMap<Arm, usize> = tried.iter().map(|(arm, trials)| (*arm, count(trials))).collect();
    let most = passed.values().copied().max().unwrap_or_default();
    let arm = AUTO_CANDIDATES.into_iter().find(|arm| passed.get(arm) == Some(&most)).unwrap_or(Arm::Pull);
    Ok(AutoChoice { arm, trials: shared.len(), passed })
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Verdict::{self, Fail, Pass, Void};

    use super::{AUTO_TRIALS, Arm, NoAutoChoice, Split, TrialRow, choose_auto};
    use crate::sample::row;

    fn rows(arm: &str, split: Split, verdicts: &[Verdict]) -> Vec<TrialRow> {
        let trial = |(seed, verdict): (u32, &Verdict)| {
            let mut row = row(arm, "template", "task", seed, *verdict);
            row.split = Some(split);
            row
        };
        (0..).zip(verdicts).map(trial).collect()
    }

    fn chosen(parts: &[(&str, &[Verdict])]) -> Result<(Arm, usize), NoAutoChoice> {
        let rows: Vec<TrialRow> = parts.iter().flat_map(|(arm, all)| rows(arm, Split::Dev, all)).collect();
        let model = rows.first().map(|row| row.model.clone()).unwrap_or_default();
        choose_auto(&rows, &model).map(|choice| (choice.arm, choice.trials))
    }

    #[test]
    fn the_arm_that_passed_most_shared_trials_is_chosen() {
        let (good, bad) = ([Pass, Pass, Pass, Fail, Fail], [Pass, Pass, Fail, Fail, Fail]);
        assert_eq!(chosen(&[("pull", &bad), ("push", &good)]), Ok((Arm::Push, 5)));
        assert_eq!(chosen(&[("push", &good), ("index+pull", &good)]), Ok((Arm::IndexPull, 5)), "the simpler");
        // Passes outside the shared trials do not count.
        let more = [Pass, Pass, Fail, Fail, Fail, Pass, Pass, Pass];
        assert_eq!(chosen(&[("pull", &more), ("push", &good)]), Ok((Arm::Push, 5)));
        assert_eq!(chosen(&[("pull", &bad), ("all", &good), ("push", &bad)]), Ok((Arm::Pull, 5)));
    }

    #[test]
    fn without_enough_dev_trials_nothing_is_chosen() {
        let all = [Pass; AUTO_TRIALS];
        let few = &all[1..];
        assert_eq!(chosen(&[("pull", &all), ("push", &all)]), Ok((Arm::Pull, AUTO_TRIALS)));
        let shared = AUTO_TRIALS - 1;
        assert!(matches!(
            chosen(&[("pull", few), ("push", &all)]),
            Err(NoAutoChoice::TooFewTrials { shared: found, .. }) if found == shared
        ));
        assert!(chosen(&[("pull", &[Void, Pass, Pass, Pass, Pass]), ("push", &all)]).is_err());
        assert!(matches!(chosen(&[("pull", &all)]), Err(NoAutoChoice::TooFewArms { tried: 1, .. })));
        let test: Vec<TrialRow> =
            ["pull", "push"].iter().flat_map(|arm| rows(arm, Split::Test, &all)).collect();
        let model = test[0].model.clone();
        assert!(matches!(choose_auto(&test, &model), Err(NoAutoChoice::TooFewArms { tried: 0, .. })));
        let mut dev = test;
        dev.iter_mut().for_each(|row| row.split = Some(Split::Dev));
        assert!(choose_auto(&dev, &model).is_ok());
        assert!(choose_auto(&dev, "another/model").is_err());
    }
}
