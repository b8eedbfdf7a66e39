//! Models with a ledger of their own beside those that every model of a command has.

use std::sync::Arc;

use apprentice_models::middleware::{Budgeted, Ledger};
use apprentice_protocol::{BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile};

use super::{Models, client};
use crate::failure::Failure;
use crate::settings::provider::provider_of;

/// A model that is shared with others.
pub(super) struct SharedModel(pub(super) Arc<dyn ChatModel>);

impl ChatModel for SharedModel {
    fn profile(&self) -> &ModelProfile {
        self.0.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        self.0.reply(request)
    }
}

impl Models {
    /// Returns a model whose calls this ledger caps, too. A call without a price is refused where the ledger has a cap.
    pub(crate) fn within(
        &self,
        model: Arc<dyn ChatModel>,
        name: &str,
        ledger: &Arc<Ledger>,
    ) -> Result<Arc<dyn ChatModel>, Failure> {
        let name = self.resolve(name)?;
        let longest = match provider_of(name) {
            Some((entry, _)) => {
                let limits = client::timeouts(entry.api, &self.settings(name)?.calls);
                u64::try_from(limits.whole.as_millis()).unwrap_or(u64::MAX)
            }
            None => 0,
        };
        let (tariff, clock) = (self.tariff(name)?, Arc::clone(self.clock()));
        let ledgers = vec![Arc::clone(ledger)];
        Ok(Arc::new(Budgeted::new(SharedModel(model), ledgers, tariff, longest, clock)))
    }
}
