//! The model whose words are shown while they come.

use std::sync::Arc;

use apprentice_evaluator::run::AttemptOf;
use apprentice_protocol::{BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile};

use super::Models;
use crate::failure::Failure;
use crate::terminal;
use crate::terminal::live_words::LiveWords;

impl Models {
    /// Returns a model as [`Models::get`] does. Where there is a terminal, its words are shown on it as they come.
    pub(crate) fn get_heard(&self, name: &str, trial: &str) -> Result<Arc<dyn ChatModel>, Failure> {
        self.heard(name, trial, None)
    }

    fn heard(
        &self,
        name: &str,
        trial: &str,
        attempt: Option<AttemptOf<'_>>,
    ) -> Result<Arc<dyn ChatModel>, Failure> {
        let Some((sender, live)) = LiveWords::start() else { return self.get_for(name, trial, attempt) };
        self.shared().words = Some(sender);
        let model = self.get_for(name, trial, attempt);
        let mut shared = self.shared();
        shared.words = None;
        shared.live = Some(live);
        drop(shared);
        model
    }

    /// Has the words of the models of trials shown while they come, if the run has one trial and there is a terminal: words of
    /// several would run into each other. Returns whether they are.
    pub(crate) fn hear_trials(&self, trials: usize) -> bool {
        let hears = trials == 1 && terminal::shows_pieces();
        self.shared().hears_trials = hears;
        hears
    }

    /// Returns the model of a trial. What it says is shown if [`Models::hear_trials`] says so.
    pub(super) fn get_for_trial(
        &self,
        name: &str,
        trial: &str,
        attempt: Option<AttemptOf<'_>>,
    ) -> Result<Arc<dyn ChatModel>, Failure> {
        if !self.shared().hears_trials {
            return self.get_for(name, trial, attempt);
        }
        let model = self.heard(name, trial, attempt)?;
        Ok(match self.live_words() {
            Some(live) => Arc::new(Heard { model, live }),
            None => model,
        })
    }

    /// Returns the words of the model that is heard, if there is one.
    pub(crate) fn live_words(&self) -> Option<LiveWords> {
        self.shared().live.clone()
    }
}

/// A model after whose replies the line of its words ends.
struct Heard {
    model: Arc<dyn ChatModel>,
    live: LiveWords,
}

impl ChatModel for Heard {
    fn profile(&self) -> &ModelProfile {
        self.model.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let replied = self.model.reply(request).await;
            self.live.end();
            replied
        })
    }
}
