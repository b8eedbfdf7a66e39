//! The audit of a suite: what its own baselines must score, and which tasks break that.
//!
//! A task's solution passes; its near miss, doing nothing and always giving up fail (a task that cannot be
//! done is passed by giving up alone). A void attempt proves nothing and is a finding too.

use apprentice_protocol::{StopReason, TaskId, Verdict, VoidCause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use apprentice_results::row::{Role, TrialRow};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::suite::task::Task;

use crate::run::Contender;

/// A model made from a task itself, with its part in an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The known-good actions.
    Solution,
    /// Actions that come near.
    NearMiss,
    /// Says at once that it is done.
    Noop,
    /// Says at once that it cannot be done.
    GiveUp,
}

/// A task whose checks do not tell right from wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The task.
    pub task: TaskId,
    /// The variation.
    pub seed: u32,
    /// Who ran.
    pub baseline: Baseline,
    /// What came out; nothing when it was not run.
    pub verdict: Option<Verdict>,
    /// Why it is void, if it is.
    pub void_cause: Option<VoidCause>,
    /// Why it ended, if it is not void: a near miss must get to its end.
    pub stop_reason: Option<StopReason>,
    /// The attempt's folder, relative to the run.
    pub trace: Option<String>,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Solution, Self::NearMiss, Self::Noop, Self::GiveUp];

    /// The name under which a run knows the model.
    pub fn model(self) -> &'static str {
        match self {
            Self::Solution => "baseline/solution",
            Self::NearMiss => "baseline/near-miss",
            Self::Noop => "baseline/noop",
            Self::GiveUp => "baseline/give-up",
        }
    }

    /// What it must score on a task.
    fn due(self, task: &Task) -> Verdict {
        let right = match self {
            Self::Solution => true,
            Self::NearMiss | Self::Noop => false,
            Self::GiveUp => task.evaluator.is_infeasible(),
        };
        if right { Verdict::Pass } else { Verdict::Fail }
    }

    /// Whether it did what it set out to do. A near miss whose target never came fails for the wrong reason.
    fn got_through(self, task: &Task, row: &TrialRow) -> bool {
        let steps = task.apprentice.as_ref().map(|ours| ours.near_miss.as_slice()).unwrap_or_default();
        let means_to = steps.last().is_some_and(|step| step.get("give_up").is_some());
        self != Self::NearMiss || means_to || row.stop_reason != Some(StopReason::GaveUp)
    }

    /// Whether it can run on a task at all.
    fn applies(self, task: &Task) -> bool {
        let ours = task.apprentice.as_ref();
        match self {
            Self::Solution => ours.is_some_and(|ours| !ours.solution.is_empty()),
            Self::NearMiss => ours.is_some_and(|ours| !ours.near_miss.is_empty()),
            Self::Noop | Self::GiveUp => true,
        }
    }
}

/// Who runs in an audit, each on the tasks that it can run on.
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

/// What an audit's results say against the suite; empty when it is sound. Variations from 0 to `seeds` are
/// expected of tasks that vary, one of the others.
pub fn findings(tasks: &[&Task], seeds: u32, results: &[TrialRow]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for task in tasks {
        for baseline in Baseline::ALL.into_iter().filter(|baseline| baseline.applies(task)) {
            for seed in 0..if task.varies() { seeds } else { seeds.min(1) } {
                let row = results
                    .iter()
                    .rfind(|row| row.task == task.id && row.seed == seed && row.model == baseline.model());
                if row.is_some_and(|row| row.verdict == baseline.due(task) && baseline.got_through(task, row))
                {
                    continue;
                }
                findings.push(Finding {
                    task: task.id.clone(),
                    seed,
                    baseline,
                    verdict: row.map(|row| row.verdict),
                    void_cause: row.and_then(|row| row.void_cause),
                    stop_reason: row.and_then(|row| row.stop_reason),
                    trace: row.map(|row| row.trace.clone()),
                });
            }
        }
    }
    findings
}
