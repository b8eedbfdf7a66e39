//! What is asked about models before any of them is called: whether a name fits, what a forecast needs, whether the server
//! is there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use apprentice_control::PERSON;
use apprentice_models::http::Timeouts;
use apprentice_policies::Policy;
use apprentice_protocol::ChatModel;

use super::{BASELINES, Models};
use crate::access::Access;
use crate::failure::{Failure, Kind};
use crate::provider::provider_of;

/// How long a server may take to show that it is there.
const REACH_DEADLINE: Duration = Duration::from_secs(5);

impl Models {
    /// Returns an error for a name that no model has. Unlike [`Self::check`] it needs no key: a forecast calls nothing.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), Failure> {
        match provider_of(self.resolve(name)?).filter(|(_, model)| !model.is_empty()) {
            Some(_) => self.sketch(name).map(drop),
            None => self.check(name),
        }
    }

    /// Refuses a judge that could compare no answer, before any trial.
    pub(crate) fn check_judge(&self) -> Result<(), Failure> {
        let Some(name) = self.config.role.judge.model.as_deref() else { return Ok(()) };
        self.check_judge_name(name)?;
        self.check(name)
    }

    /// The same for a forecast, which needs no key.
    pub(crate) fn check_forecast_judge(&self) -> Result<(), Failure> {
        let Some(name) = self.config.role.judge.model.as_deref() else { return Ok(()) };
        self.check_judge_name(name)?;
        self.check_name(name)
    }

    /// Refuses a name that no model has that reads language.
    pub(super) fn check_judge_name(&self, name: &str) -> Result<(), Failure> {
        let full = self.resolve(name)?;
        if BASELINES.contains(&full) || full == PERSON || Policy::named(full).is_some() {
            let told = Failure::say(Kind::Config, format!("{full} cannot judge answers"));
            return Err(told.hint("name a language model with --judge or in role.judge"));
        }
        Ok(())
    }

    /// Builds a model that is described and never called: without its key.
    pub(crate) fn sketch(&self, name: &str) -> Result<Arc<dyn ChatModel>, Failure> {
        let name = self.resolve(name)?;
        if provider_of(name).is_none_or(|(_, model)| model.is_empty()) {
            return self.get(name, "forecast");
        }
        self.check_spelling(name)?;
        Ok(Arc::new(self.client(name, &self.settings(name)?, &Access::default())?))
    }

    /// Asks the server of each model once whether it is there, before the first trial.
    pub(crate) async fn reach(&self, names: impl IntoIterator<Item = &str>) -> Result<(), Failure> {
        let mut asked = BTreeSet::new();
        for name in names {
            let name = self.resolve(name)?;
            if provider_of(name).is_none_or(|(_, model)| model.is_empty()) {
                continue;
            }
            let address = self.settings(name)?.base_url;
            if !asked.insert(address.clone()) {
                self.introduce(name).await?;
                continue;
            }
            let there = self.transport(Timeouts::default())?.reach(&address, REACH_DEADLINE).await;
            there.map_err(|error| {
                Failure::say(
                    Kind::Model,
                    format!("the server of {name} does not answer at {address}: {error}"),
                )
                .hint("start the server, or give its address with --base-url or provider.NAME.base_url in apprentice.toml")
            })?;
            self.introduce(name).await?;
        }
        Ok(())
    }
}
