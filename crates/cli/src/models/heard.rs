//! The model whose words are shown while they come.

use std::sync::Arc;

use apprentice_protocol::ChatModel;

use super::Models;
use crate::failure::Failure;
use crate::live_words::LiveWords;

impl Models {
    /// Returns a model as [`Models::get`] does. Where there is a terminal, its words are shown on it as they come.
    pub(crate) fn get_heard(&self, name: &str, trial: &str) -> Result<Arc<dyn ChatModel>, Failure> {
        let Some((sender, live)) = LiveWords::start() else { return self.get(name, trial) };
        self.shared().words = Some(sender);
        let model = self.get(name, trial);
        let mut shared = self.shared();
        shared.words = None;
        shared.live = Some(live);
        drop(shared);
        model
    }

    /// Returns the words of the model that is heard, if there is one.
    pub(crate) fn live_words(&self) -> Option<LiveWords> {
        self.shared().live.clone()
    }
}
