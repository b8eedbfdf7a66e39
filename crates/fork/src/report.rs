//! The report of a fork: `fork.json`, and its numbers from the rows of the attempts.

use std::path::Path;

use apprentice_protocol::{RunId, StepId, TaskId, TrialId, Verdict, VoidCause};
use apprentice_results::stats::{ALPHA, Interval, Passes, mean, newcombe, wilson};
use apprentice_runs::layout::{FORK_DRAFT, FORK_FILE};
use apprentice_runs::row::{Role, TrialRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ForkError;

/// The schema name of a fork's report.
pub const FORK_SCHEMA: &str = "apprentice.fork/1";
/// With fewer judged attempts of an arm there is no verdict: the interval is an approximation, and would call two passes
/// against none a difference.
pub const MIN_JUDGED: u32 = 4;

/// The report of a fork. It is written before the first attempt and again after each replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForkReport {
    /// [`FORK_SCHEMA`].
    pub schema: String,
    /// The recorded attempt.
    pub recorded: RecordedAttempt,
    /// The step from which the live model acts.
    pub step: StepId,
    /// The turns that are repeated before it.
    pub repeated_turns: u32,
    /// The world actions of these turns.
    pub repeated_actions: u32,
    /// The live model.
    pub model: String,
    /// How the live model gets the repeated turns.
    pub history: History,
    /// The number of attempts that each arm was to have.
    pub times: u32,
    /// The arms: the recorded help first.
    pub arms: Vec<ForkArm>,
    /// The effect of the help in question; `None` with one arm, or if an arm has no judged attempt.
    pub effect: Option<ForkEffect>,
    /// Every attempt, in the order of replicates.
    pub attempts: Vec<ForkAttempt>,
    /// Differences between the recorded inputs and those of the fork, in words.
    pub notes: Vec<String>,
}

/// The recorded attempt of a fork.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedAttempt {
    /// The run.
    pub run: RunId,
    /// The trial.
    pub trial: TrialId,
    /// The attempt's number.
    pub attempt: u32,
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: TaskId,
    /// The index of the task's variation.
    pub seed: u32,
    /// The model's role.
    pub role: Role,
    /// The model that acted.
    pub model: String,
    /// The arm.
    pub arm: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// How a live model gets the turns before the fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// As its own turns: it is the recorded model.
    OwnTurns,
    /// As text in the first message: another model took them.
    #[serde(rename = "told")]
    AsText,
}

/// The results of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForkArm {
    /// The arm's name.
    pub arm: String,
    /// Attempts that passed.
    pub passed: u32,
    /// Attempts that were judged.
    pub judged: u32,
    /// Void attempts whose world parted from the record.
    pub parted: u32,
    /// Void attempts for another reason.
    pub void: u32,
    /// The share that passed, with Wilson's 95 % interval; `None` without a judged attempt.
    pub rate: Option<ForkRate>,
    /// World actions after the fork, mean of the judged attempts.
    pub actions_after: Option<f64>,
    /// Model turns after the fork, mean of the judged attempts.
    pub turns_after: Option<f64>,
    /// Cost of all attempts in US dollars; `None` if no attempt has a price.
    pub cost_usd: Option<f64>,
}

/// A share of passes with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForkRate {
    /// The share.
    pub value: f64,
    /// Wilson's 95 % interval.
    pub ci95: Interval,
}

/// The difference of two arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForkEffect {
    /// The arm with the help in question.
    pub with: String,
    /// The arm without it.
    pub without: String,
    /// The share of passes with it minus that without it.
    pub difference: f64,
    /// Newcombe's 95 % interval.
    pub ci95: Interval,
    /// What the interval says.
    pub verdict: ForkVerdict,
}

/// What the interval of an effect says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForkVerdict {
    /// It lies above zero.
    Helps,
    /// It lies below zero.
    Harms,
    /// It holds zero, or an arm has fewer than [`MIN_JUDGED`] judged attempts.
    TooFewToTell,
}

/// One attempt of a fork.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForkAttempt {
    /// The replicate, from 1.
    pub replicate: u32,
    /// The arm.
    pub arm: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The cause of a void attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void_cause: Option<VoidCause>,
    /// Where the world parted from the record, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parted: Option<PartingRecord>,
    /// World actions of the whole attempt.
    pub world_steps: u32,
    /// Model turns of the whole attempt.
    pub turns: u32,
    /// Cost in US dollars, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The attempt's folder, relative to the report.
    pub trace: String,
}

/// Where a world parted from the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartingRecord {
    /// The recorded step whose screen was not there.
    pub step: StepId,
    /// The first difference.
    pub difference: String,
}

impl ForkAttempt {
    /// The record of a row. `run` leads from the report's folder to the row's run.
    pub(super) fn of(row: &TrialRow, replicate: u32, run: &str, parted: Option<PartingRecord>) -> Self {
        Self {
            replicate,
            arm: row.arm.clone(),
            verdict: row.verdict,
            void_cause: row.void_cause,
            parted,
            world_steps: row.world_steps,
            turns: row.turns,
            cost_usd: row.cost_usd,
            trace: format!("{run}/{}", row.trace),
        }
    }
}

impl ForkReport {
    /// Computes the arms and the effect from the attempts. `arms` are the names: the recorded help first; the variant
    /// may be the treatment or the control.
    pub(super) fn compute(&mut self, arms: &[String], variant_is_treatment: bool) {
        self.arms = arms.iter().map(|arm| self.arm(arm)).collect();
        self.effect = match &self.arms[..] {
            [own, variant] if variant_is_treatment => effect(variant, own),
            [own, variant] => effect(own, variant),
            _ => None,
        };
    }

    fn arm(&self, arm: &str) -> ForkArm {
        let attempts: Vec<&ForkAttempt> = self.attempts.iter().filter(|one| one.arm == arm).collect();
        let judged: Vec<&&ForkAttempt> = attempts.iter().filter(|one| one.verdict != Verdict::Void).collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let passed = count(judged.iter().filter(|one| one.verdict == Verdict::Pass).count());
        let parted = count(attempts.iter().filter(|one| one.parted.is_some()).count());
        let after = |whole: u32, repeated: u32| f64::from(whole.saturating_sub(repeated));
        let passes = Passes { passed, trials: count(judged.len()) };
        let costs: Vec<f64> = attempts.iter().filter_map(|one| one.cost_usd).collect();
        ForkArm {
            arm: arm.to_owned(),
            passed,
            judged: passes.trials,
            parted,
            void: count(attempts.len() - judged.len()).saturating_sub(parted),
            rate: passes
                .rate()
                .map(|value| ForkRate { value, ci95: wilson(value, f64::from(passes.trials), ALPHA) }),
            actions_after: mean(judged.iter().map(|one| after(one.world_steps, self.repeated_actions))),
            turns_after: mean(judged.iter().map(|one| after(one.turns, self.repeated_turns))),
            cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
        }
    }

    /// Writes `fork.json`. A killed process leaves the earlier report or the new one, never a part.
    pub(super) fn write(&self, folder: &Path) -> Result<(), ForkError> {
        let path = folder.join(FORK_FILE);
        let failed = |source| ForkError::Write { path: path.clone(), source };
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        let draft = folder.join(FORK_DRAFT);
        std::fs::write(&draft, text).map_err(failed)?;
        std::fs::rename(&draft, &path).map_err(failed)
    }
}

fn effect(with: &ForkArm, without: &ForkArm) -> Option<ForkEffect> {
    let passes = |arm: &ForkArm| Passes { passed: arm.passed, trials: arm.judged };
    let (difference, ci95) = newcombe(passes(with), passes(without), ALPHA)?;
    let verdict = if with.judged.min(without.judged) < MIN_JUDGED {
        ForkVerdict::TooFewToTell
    } else if ci95.low > 0.0 {
        ForkVerdict::Helps
    } else if ci95.high < 0.0 {
        ForkVerdict::Harms
    } else {
        ForkVerdict::TooFewToTell
    };
    Some(ForkEffect { with: with.arm.clone(), without: without.arm.clone(), difference, ci95, verdict })
}

#[cfg(test)]
mod tests {
    use super::{ForkArm, ForkVerdict, effect};

    fn arm(arm: &str, passed: u32, judged: u32) -> ForkArm {
        let arm = arm.to_owned();
        let (rate, actions_after, turns_after, cost_usd) = (None, None, None, None);
        ForkArm { arm, passed, judged, parted: 0, void: 0, rate, actions_after, turns_after, cost_usd }
    }

    #[test]
    fn a_verdict_needs_four_of_each_and_an_interval_beside_zero() {
        for ((a, m), (b, n), wanted) in [
            ((4, 4), (0, 4), Some(ForkVerdict::Helps)),
            ((0, 4), (4, 4), Some(ForkVerdict::Harms)),
            ((3, 3), (0, 4), Some(ForkVerdict::TooFewToTell)),
            ((4, 4), (0, 3), Some(ForkVerdict::TooFewToTell)),
            ((5, 5), (2, 5), Some(ForkVerdict::Helps)),
            ((4, 5), (1, 5), Some(ForkVerdict::TooFewToTell)),
            ((1, 5), (4, 5), Some(ForkVerdict::TooFewToTell)),
            ((4, 4), (0, 0), None),
        ] {
            let found = effect(&arm("with", a, m), &arm("without", b, n)).map(|effect| effect.verdict);
            assert_eq!(found, wanted, "{a}/{m} against {b}/{n}");
        }
    }
}
