//! What a run needs from outside: models, worlds, guidance and a clock.

use std::sync::Arc;

use apprentice_models::identity::ModelIdentity;
use apprentice_protocol::{BoxFuture, ChatModel, Clock, EnvironmentSource, RunId};
use apprentice_tasks::suite::SuiteOptions;
use apprentice_trace::Redactor;

use super::plan::{ChosenProfile, JudgePlan, RunPlan, TrialSpec};
use crate::arms::ArmError;
use crate::arms::guidance::ArmGuidance;
use crate::grading::answer_judge::judge_prompt_hash;

/// One attempt at a trial of a run.
#[derive(Clone, Copy, Debug)]
pub struct AttemptOf<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The trial.
    pub trial: &'a TrialSpec,
    /// The attempt's number, from 1.
    pub attempt: u32,
}

/// Creates models by name. The evaluator creates the baselines itself.
pub trait ModelSource: Send + Sync {
    /// Returns the model for one trial. The error describes the remedy.
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String>;

    /// Returns the model for one attempt, as [`Self::model`] does: a source whose servers hear of the attempt needs its number.
    fn model_of_attempt(&self, attempt: AttemptOf<'_>) -> Result<Arc<dyn ChatModel>, String> {
        self.model(attempt.trial)
    }

    /// Returns the identity that a model's server reports; `None` without a server. It is called before a run's
    /// first trial, never fails, and takes seconds at most.
    fn identity<'a>(&'a self, _model: &'a str) -> BoxFuture<'a, Option<ModelIdentity>> {
        Box::pin(std::future::ready(None))
    }

    /// Returns the profile by which a model is asked, once its identity was asked for; `None` for a model without one.
    fn profile(&self, _model: &str) -> Option<ChosenProfile> {
        None
    }

    /// Asks the server of a model once whether it is there, after retries were used up. Returns why not; `None` if it answers
    /// or there is no server. It takes seconds at most.
    fn gone<'a>(&'a self, _model: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Returns the name of the model that compares answers with references; `None` if the user named none.
    fn judge(&self) -> Option<String> {
        None
    }

    /// Returns the model of this name that compares the answer of one trial. The error describes the remedy.
    fn judge_model(&self, name: &str, _trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        Err(format!("{name} cannot be asked here"))
    }
}

/// Builds an arm's guidance anew for every attempt. An error makes the attempt void.
pub type GuidanceFactory = Arc<dyn Fn(&TrialSpec) -> Result<ArmGuidance, ArmError> + Send + Sync>;

/// The external dependencies of a run.
#[derive(Clone)]
pub struct RunDeps {
    /// The models by name.
    pub models: Arc<dyn ModelSource>,
    /// The worlds of every kind.
    pub worlds: Arc<dyn EnvironmentSource>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The guidance by arm.
    pub guidance: GuidanceFactory,
    /// Removes secrets from every recorded line and text blob.
    pub redactor: Arc<Redactor>,
    /// Options for third-party suites.
    pub reading: SuiteOptions,
    /// The number of worlds that may start, set up or be checked at a time. Waiting for a model needs no permit.
    pub cpu: usize,
}

impl RunDeps {
    /// Completes a plan with facts known only where it runs: relaxed isolation guarantees, and the identities
    /// reported by the models' servers.
    pub async fn resolve_runtime(&self, mut plan: RunPlan) -> RunPlan {
        plan.concessions = self.worlds.concessions();
        for one in &mut plan.models {
            one.identity = self.models.identity(&one.model).await;
            one.profile = self.models.profile(&one.model);
        }
        if let Some(judge) = &mut plan.judge {
            judge.model = self.models.judge();
            if let Some(model) = &judge.model {
                judge.identity = self.models.identity(model).await;
            }
        }
        plan
    }

    /// Returns the differences between a plan's recorded and current identities of the models' servers, as text. All
    /// servers are queried, because their replies also set how much input they accept.
    pub async fn model_drift(&self, plan: &RunPlan) -> Vec<String> {
        let mut changed = Vec::new();
        for one in &plan.models {
            let now = self.models.identity(&one.model).await;
            if let Some((before, now)) = one.identity.as_ref().zip(now) {
                changed
                    .extend(before.differences(&now).iter().map(|what| format!("{what} of {}", one.model)));
            }
        }
        if let Some(judge) = &plan.judge {
            changed.extend(self.judge_drift(judge).await);
        }
        changed
    }

    /// Returns the name of the model that compares answers in a plan's trials: the one that is named now, else the plan's.
    pub(super) fn judge_of(&self, plan: &RunPlan) -> Option<String> {
        self.models.judge().or_else(|| plan.judge.as_ref()?.model.clone())
    }

    /// Returns what differs from a plan's judge. Where none is named now, the plan's is asked.
    async fn judge_drift(&self, planned: &JudgePlan) -> Vec<String> {
        let mut changed = Vec::new();
        if planned.prompt_hash != judge_prompt_hash() {
            changed.push("the judge's prompts".to_owned());
        }
        match (&planned.model, self.models.judge()) {
            (before, Some(now)) if before.as_ref() != Some(&now) => {
                let before = before.as_deref().unwrap_or("none");
                changed.push(format!("the judge ({before} before, {now} now)"));
            }
            (Some(model), _) => {
                let now = self.models.identity(model).await;
                let both = planned.identity.as_ref().zip(now);
                let differ = both.into_iter().flat_map(|(before, now)| before.differences(&now));
                changed.extend(differ.map(|what| format!("{what} of the judge {model}")));
            }
            (None, _) => {}
        }
        changed
    }
}
