//! What `apprentice submit` prints for a program.

use apprentice_evaluator::run::RunPlan;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `submit --json`: a run or an experiment that waits for workers.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct Submitted<'a> {
    schema: &'static str,
    #[serde(flatten)]
    work: Work<'a>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Work<'a> {
    Run {
        /// The run.
        run: &'a str,
        /// How many trials it has.
        trials: usize,
    },
    Experiment {
        /// The experiment.
        experiment: &'a str,
    },
}

impl<'a> Submitted<'a> {
    pub(super) fn run(plan: &'a RunPlan) -> Self {
        Self::of(Work::Run { run: plan.run.as_str(), trials: plan.trials.len() })
    }

    pub(super) fn experiment(experiment: &'a str) -> Self {
        Self::of(Work::Experiment { experiment })
    }

    fn of(work: Work<'a>) -> Self {
        Self { schema: "apprentice.submitted/1", work }
    }
}
