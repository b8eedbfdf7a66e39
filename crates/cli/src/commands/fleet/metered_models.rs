//! The models of a worker: their calls take tokens of the buckets that all workers share.

use std::sync::Arc;

use apprentice_evaluator::run::{AttemptOf, ModelSource, TrialSpec};
use apprentice_fleet::{Database, Metered};
use apprentice_models::identity::ModelIdentity;
use apprentice_protocol::{BoxFuture, ChatModel};

/// Models whose calls take a token of their provider's bucket.
pub(super) struct MeteredModels {
    pub(super) inner: Arc<dyn ModelSource>,
    pub(super) database: Arc<Database>,
    /// The experiment for which a leader learns.
    pub(super) learns_for: Option<String>,
}

impl MeteredModels {
    fn metered(&self, trial: &TrialSpec, model: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        let metered = Metered::new(model, &trial.model, Arc::clone(&self.database));
        match &self.learns_for {
            Some(experiment) => Arc::new(metered.learning_for(experiment)),
            None => Arc::new(metered),
        }
    }
}

impl ModelSource for MeteredModels {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        Ok(self.metered(trial, self.inner.model(trial)?))
    }

    fn model_of_attempt(&self, attempt: AttemptOf<'_>) -> Result<Arc<dyn ChatModel>, String> {
        Ok(self.metered(attempt.trial, self.inner.model_of_attempt(attempt)?))
    }

    fn identity<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Option<ModelIdentity>> {
        self.inner.identity(model)
    }

    fn judge(&self) -> Option<String> {
        self.inner.judge()
    }

    fn judge_model(&self, name: &str, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let model = self.inner.judge_model(name, trial)?;
        Ok(Arc::new(Metered::new(model, name, Arc::clone(&self.database))))
    }
}
