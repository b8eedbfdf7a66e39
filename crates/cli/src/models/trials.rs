//! The models of a run's trials, as the evaluator asks for them.

use std::sync::Arc;

use apprentice_control::{PERSON, PersonModel};
use apprentice_evaluator::run::{AttemptOf, ChosenProfile, ModelSource, TrialSpec};
use apprentice_models::identity::ModelIdentity;
use apprentice_protocol::{BoxFuture, ChatModel};

use super::Models;

/// Labels a trial's conversations in recordings.
fn trial_label(trial: &TrialSpec) -> String {
    format!("{}/{}/{}/{}", trial.task, trial.role.as_str(), trial.arm, trial.seed)
}

impl Models {
    fn of_trial(
        &self,
        trial: &TrialSpec,
        attempt: Option<AttemptOf<'_>>,
    ) -> Result<Arc<dyn ChatModel>, String> {
        if self.resolve(&trial.model).is_ok_and(|name| name == PERSON) {
            return Ok(Arc::new(PersonModel::new(Arc::clone(&self.acts), trial.trial.as_str())));
        }
        let model = self.get_for_trial(&trial.model, &trial_label(trial), attempt);
        model.map_err(|failure| failure.to_string())
    }
}

impl ModelSource for Models {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        self.of_trial(trial, None)
    }

    fn model_of_attempt(&self, attempt: AttemptOf<'_>) -> Result<Arc<dyn ChatModel>, String> {
        self.of_trial(attempt.trial, Some(attempt))
    }

    fn identity<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Option<ModelIdentity>> {
        Box::pin(self.identify(model))
    }

    fn profile(&self, model: &str) -> Option<ChosenProfile> {
        self.chosen_profile(model).ok().flatten()
    }

    fn gone<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { self.reach([model]).await.err().map(|failure| failure.source.to_string()) })
    }

    fn judge(&self) -> Option<String> {
        // A role without a model was refused when the judge was checked.
        let name = self.config.role.judge.model.as_deref()?;
        Some(self.resolve(name).unwrap_or(name).to_owned())
    }

    fn judge_model(&self, name: &str, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        self.check_judge_name(name).map_err(|failure| failure.to_string())?;
        self.get(name, &trial_label(trial)).map_err(|failure| failure.to_string())
    }
}
