//! The suite audit: runs baseline policies on every task and reports tasks whose checks they expose as wrong.
//!
//! A task's solution must pass. Its near miss, a no-op and an unconditional give-up must fail, except that giving
//! up passes an infeasible task. Giving up is tried where the check reads how the attempt ended; elsewhere it fails before the
//! world is looked at. A void attempt proves nothing and is reported too.

use apprentice_protocol::{StopReason, TaskId, Verdict, VoidCause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use apprentice_runs::row::{Role, TrialRow};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;

use crate::run::Contender;

/// A scripted model for the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// Performs the task's known-good actions.
    Solution,
    /// Performs actions that nearly solve the task.
    NearMiss,
    /// Finishes at once as done.
    Noop,
    /// Gives up at once.
    GiveUp,
}

/// A task whose check did not give the expected verdict to a baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFinding {
    /// The task's id.
    pub task: TaskId,
    /// The index of the variation.
    pub seed: u32,
    /// The baseline that ran.
    pub baseline: Baseline,
    /// The verdict; `None` when the baseline did not run.
    pub verdict: Option<Verdict>,
    /// The void cause; `None` unless the attempt is void.
    pub void_cause: Option<VoidCause>,
    /// The stop reason; `None` for a void attempt. A near miss must reach its end to count.
    pub stop_reason: Option<StopReason>,
    /// The attempt's folder, relative to the run.
    pub trace: Option<String>,
    /// Why the attempt ended so: the element that a script did not find, or what the check found. `None` where the trace
    /// does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Baseline {
    /// All baselines.
    pub const ALL: [Self; 4] = [Self::Solution, Self::NearMiss, Self::Noop, Self::GiveUp];

    /// Returns the baseline's model name in a run.
    pub fn model(self) -> &'static str {
        match self {
            Self::Solution => "baseline/solution",
            Self::NearMiss => "baseline/near-miss",
            Self::Noop => "baseline/noop",
            Self::GiveUp => "baseline/give-up",
        }
    }

    /// The verdict that the baseline must get on a task.
    fn expected_verdict(self, task: &Task) -> Verdict {
        let right = match self {
            Self::Solution => true,
            Self::NearMiss | Self::Noop => false,
            Self::GiveUp => task.evaluator.is_infeasible(),
        };
        if right { Verdict::Pass } else { Verdict::Fail }
    }

    /// Whether the baseline performed its whole script. A near miss whose target never appeared fails for the wrong
    /// reason.
    fn completed_script(self, task: &Task, row: &TrialRow) -> bool {
        let steps = task.apprentice.as_ref().map(|ours| ours.near_miss.as_slice()).unwrap_or_default();
        let means_to = steps.last().is_some_and(|step| step.get("give_up").is_some());
        self != Self::NearMiss || means_to || row.stop_reason != Some(StopReason::GaveUp)
    }

    /// Whether the baseline can run on a task at all.
    fn applies(self, task: &Task) -> bool {
        let ours = task.apprentice.as_ref();
        match self {
            Self::Solution => ours.is_some_and(|ours| !ours.solution.is_empty()),
            Self::NearMiss => ours.is_some_and(|ours| !ours.near_miss.is_empty()),
            Self::Noop => true,
            Self::GiveUp => task.evaluator.may_accept_giving_up(),
        }
    }
}

/// Returns the contenders of an audit, each limited to the tasks it can run on.
pub fn contenders(suite: &Suite) -> Vec<Contender> {
    let contender = |baseline: Baseline| Contender {
        role: Role::Baseline,
        model: baseline.model().to_owned(),
        arm: "none".to_owned(),
        seeds: None,
        tasks: Some(
            suite.tasks.iter().filter(|task| baseline.applies(task)).map(|task| task.id.clone()).collect(),
        ),
    };
    let all = Baseline::ALL.into_iter().map(contender);
    all.filter(|contender| contender.tasks.as_ref().is_some_and(|tasks| !tasks.is_empty())).collect()
}

/// Returns the audit's findings; empty when the suite is sound. Expects variations 0 to `seeds` - 1 of tasks that
/// vary, and one of the others.
pub fn findings(tasks: &[&Task], seeds: u32, results: &[TrialRow]) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for task in tasks {
        for baseline in Baseline::ALL.into_iter().filter(|baseline| baseline.applies(task)) {
            for seed in 0..if task.varies() { seeds } else { seeds.min(1) } {
                let row = results
                    .iter()
                    .rfind(|row| row.task == task.id && row.seed == seed && row.model == baseline.model());
                if row.is_some_and(|row| {
                    row.verdict == baseline.expected_verdict(task) && baseline.completed_script(task, row)
                }) {
                    continue;
                }
                findings.push(AuditFinding {
                    task: task.id.clone(),
                    seed,
                    baseline,
                    verdict: row.map(|row| row.verdict),
                    void_cause: row.and_then(|row| row.void_cause),
                    stop_reason: row.and_then(|row| row.stop_reason),
                    trace: row.map(|row| row.trace.clone()),
                    why: None,
                });
            }
        }
    }
    findings
}
