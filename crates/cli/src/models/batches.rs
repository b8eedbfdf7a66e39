//! Models whose reviews go in batches: one for each name and command, so that reviews that are asked for together share a
//! batch, and a journal that later commands take up.

use std::sync::Arc;
use std::time::Duration;

use apprentice_models::batch::{BatchJournal, BatchOptions, Batched};
use apprentice_models::middleware::RetryPolicy;
use apprentice_protocol::ChatModel;
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

use super::Models;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::process_env;
use crate::settings::call_checks::BATCH;

/// How long a batch may take by default: an hour more than the providers allow it.
const DEADLINE: Duration = Duration::from_hours(25);

impl Models {
    /// Returns whether a model's reviews go in batches.
    pub(crate) fn waits_for_batches(&self, name: &str) -> Result<bool, Failure> {
        let name = self.resolve(name)?;
        if crate::settings::provider::provider_of(name).is_none() {
            return Ok(false);
        }
        Ok(self.settings(name)?.calls.service_tier.as_deref() == Some(BATCH))
    }

    /// Returns an error for a model that acts, or reviews between acts, and cannot wait for hours.
    pub(crate) fn check_answers_at_once(&self, name: &str) -> Result<(), Failure> {
        match self.waits_for_batches(name)? {
            false => Ok(()),
            true => {
                let story = format!("{name} has service_tier = \"batch\", whose answers may take a day");
                let failure = Failure::say(Kind::Config, story);
                let failure =
                    failure.hint("only `learn` waits for batches: `apprentice learn RUN --model reflector`");
                Err(failure
                    .hint("set service_tier for a role of its own, with another model than those that act"))
            }
        }
    }

    /// Wraps a model: its reviews go in batches, its other requests to `direct`.
    pub(super) fn batched(&self, name: &str, direct: Arc<dyn ChatModel>) -> Result<Arc<Batched>, Failure> {
        if let Some(model) = self.shared().batched.get(name) {
            return Ok(Arc::clone(model));
        }
        let (settings, access, _) = self.gate(name)?;
        let service = self.batch_client(name, &settings, &access)?.ok_or_else(|| self.unknown(name))?;
        // The journal of another address or model knows nothing of these batches.
        let of = hex(&Sha256::digest(format!("{name} {}", settings.base_url)));
        let folder = process_env::lasting_state().kind(Kind::Environment)?.join("batches");
        let journal = folder.join(format!("{}.jsonl", &of[..16]));
        let journal = BatchJournal::open(&journal, self.clock().now()).kind(Kind::Environment)?;
        let options = BatchOptions {
            retry: RetryPolicy { retries: self.config().retries, ..RetryPolicy::default() },
            deadline: settings.calls.batch_timeout_s.map_or(DEADLINE, Duration::from_secs_f64),
        };
        let model = Arc::new(Batched::new(service, direct, journal, Arc::clone(self.clock()), options));
        self.shared().batched.insert(name.to_owned(), Arc::clone(&model));
        Ok(model)
    }

    /// Forgets the batches whose answers this command used: a command that asks the same again means to ask anew.
    pub(crate) fn close_batches(&self) -> Result<(), Failure> {
        let all: Vec<Arc<Batched>> = self.shared().batched.values().cloned().collect();
        all.iter().try_for_each(|model| model.close().kind(Kind::Environment))
    }
}
