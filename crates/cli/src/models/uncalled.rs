//! What is asked about models before any of them is called: whether a name fits, what a forecast needs, whether the server
//! is there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use apprentice_control::PERSON;
use apprentice_models::http::Timeouts;
use apprentice_models::identity::ModelIdentity;
use apprentice_protocol::{ChatModel, did_you_mean};

use super::agents::AGENT;
use super::{BASELINES, Models, rule_based};
use crate::failure::{Failure, Kind};
use crate::models::access::Access;
use crate::settings::provider::{PROVIDERS, ProviderApi, provider_of};
use crate::terminal;

/// Served models that are named where one is not among them.
const SERVED: usize = 5;
/// How long a server may take to show that it is there.
const REACH_DEADLINE: Duration = Duration::from_secs(5);

/// Refuses an address that is none.
pub(super) fn check_address(name: &str, address: &str) -> Result<(), Failure> {
    if address.starts_with("http://") || address.starts_with("https://") {
        return Ok(());
    }
    let told = format!("the address of {name} is {address:?}, without http:// or https://");
    Err(Failure::say(Kind::Config, told)
        .hint(format!("did you mean http://{}?", address.trim_start_matches('/'))))
}

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
        if BASELINES.contains(&full)
            || full == PERSON
            || full.starts_with(AGENT)
            || rule_based::is_rule_based(full)
        {
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

    /// Says of a model behind a compatible server, before a forecast, what its server does not serve. Nothing is refused: the
    /// server may be started later.
    pub(crate) async fn foresee(&self, name: &str) -> Result<(), Failure> {
        let name = self.resolve(name)?;
        let of_compat =
            provider_of(name).filter(|(entry, model)| entry.api == ProviderApi::Compat && !model.is_empty());
        let Some((_, model)) = of_compat else { return Ok(()) };
        let address = self.settings(name)?.base_url;
        match self.transport(Timeouts::default())?.reach(&address, REACH_DEADLINE).await {
            Ok(()) => self.note_unlisted(name, model, &self.identify(name).await.unwrap_or_default()),
            Err(_) => terminal::note(format_args!("{name}: no server answers at {address} yet")),
        }
        Ok(())
    }

    /// Says that a server's list of models lacks a name.
    pub(super) fn note_unlisted(&self, name: &str, model: &str, identity: &ModelIdentity) {
        let address = self.settings(name).map(|own| own.base_url).unwrap_or_default();
        if identity.is_unknown()
            && identity.served.is_empty()
            && !address.trim_end_matches('/').ends_with("/v1")
        {
            terminal::note(format_args!(
                "{name}: no list of models at {address}/models; the addresses of most servers end in /v1"
            ));
        }
        if identity.served.is_empty() || !self.shared().told.insert(format!("served {name}")) {
            return;
        }
        let served = identity.served.iter().take(SERVED).cloned().collect::<Vec<_>>().join(", ");
        let more = if identity.served.len() > SERVED { " and others" } else { "" };
        let like = did_you_mean(model, identity.served.iter().map(String::as_str));
        terminal::note(format_args!(
            "{name}: its server lists no model {model:?}; it serves {served}{more}{like}"
        ));
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

    /// Returns an error for a name that no model has.
    pub(super) fn unknown(&self, name: &str) -> Failure {
        if let Some(failure) = rule_based::left_out(name) {
            return failure;
        }
        let own: Vec<&str> = rule_based::names().collect();
        let priced = self.prices.price.keys().map(|name| name.trim_end_matches('*'));
        let known = own.iter().chain(&BASELINES).copied().chain(priced);
        if BASELINES.contains(&name) {
            let told = format!("{name} has no task to take its turns from");
            return Failure::say(Kind::Model, told)
                .hint("baselines are for `run`, with the tasks of a suite");
        }
        Failure::say(Kind::Model, format!("unknown model {name:?}")).hint_nearest(name, known).hint(format!(
            "models: {}person, acp:COMMAND, scripted:FILE, cassette:FILE, and PROVIDER/MODEL with {}; baselines: {}",
            own.iter().map(|name| format!("{name}, ")).collect::<String>(),
            PROVIDERS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
            BASELINES.join(", ")
        ))
    }
}
