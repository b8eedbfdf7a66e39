//! What a run needs from outside: models, worlds, guidance and a clock.

use std::sync::Arc;

use apprentice_harness::model::identity::ModelIdentity;
use apprentice_protocol::{ChatModel, Clock, EnvironmentSource, PortFuture};
use apprentice_tasks::suite::SuiteOptions;
use apprentice_trace::Redactor;

use super::plan::{RunPlan, TrialSpec};
use crate::arm::ArmError;
use crate::arm_guidance::ArmGuidance;

/// Creates models by name. The evaluator creates the baselines itself.
pub trait ModelSource: Send + Sync {
    /// Returns the model for one trial. The error describes the remedy.
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String>;

    /// Returns the identity that a model's server reports; `None` without a server. It is called before a run's
    /// first trial, never fails, and takes seconds at most.
    fn identity<'a>(&'a self, _model: &'a str) -> PortFuture<'a, Option<ModelIdentity>> {
        Box::pin(std::future::ready(None))
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
        changed
    }
}
