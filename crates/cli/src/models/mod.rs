//! Builds models from their names: adapter, key, price and middleware. All models of a command share keys, rate
//! limits, ledgers and the cassette.

pub(crate) mod access;
mod address;
mod agents;
mod batches;
mod client;
mod heard;
mod introduce;
mod readers;
pub(crate) mod rule_based;
pub(crate) mod spelling;
mod trials;
mod uncalled;
mod within;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_control::{PERSON, PersonActs, PersonModel};
use apprentice_evaluator::estimates::cost::Pricing;
use apprentice_evaluator::run::AttemptOf;
use apprentice_models::batch::Batched;
use apprentice_models::compat::Adaptation;
use apprentice_models::embeddings::{Cached, EmbeddingMiddleware, Embeddings};
use apprentice_models::grounded::Grounded;
use apprentice_models::http::{ReplyWords, Secret, Timeouts, Transport};
use apprentice_models::identity::ModelIdentity;
use apprentice_models::middleware::{
    AdaptiveLimit, Budgeted, Cassette, Ledger, Limited, OutputLimited, Recorded, RecordedVectors, Recording,
    ReplayedVectors, RetryPolicy, Retrying,
};
use apprentice_models::price::{PriceList, Tariff};
use apprentice_models::safety::{Approver, SafetyPolicy};
use apprentice_models::scripted::Scripted;
use apprentice_protocol::{BoxFuture, ChatModel, Clock, ModelProfile};
use apprentice_trace::Redactor;
use apprentice_wording::EmbeddingModel;
use tokio::sync::mpsc::UnboundedSender;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::access::Access;
use crate::models::spelling::{Spelling, spelling};
use crate::settings::call_checks::{address, key_variable};
use crate::settings::config::{Config, SafetyChoice};
use crate::settings::provider::{Provider, ProviderApi, provider_of};
use crate::terminal::live_words::LiveWords;
use crate::{process_env, settings::prompts, terminal};
use agents::AGENT;
use within::SharedModel;

/// Baselines that the evaluator derives from a task.
pub(crate) const BASELINES: [&str; 4] =
    ["baseline/solution", "baseline/near-miss", "baseline/noop", "baseline/give-up"];

/// Builds the models of one command.
pub(crate) struct Models {
    config: Config,
    clock: Arc<dyn Clock>,
    prices: PriceList,
    /// Brings the requests of this command, which begin alike, to one cache.
    cache_key: String,
    run: Arc<Ledger>,
    recording: Option<Arc<Recording>>,
    /// What persons do in trials whose model they are.
    acts: Arc<PersonActs>,
    shared: Mutex<Shared>,
}

/// State shared by the models of one command.
#[derive(Default)]
struct Shared {
    day: Option<Arc<Ledger>>,
    /// Credentials and rate limits, by address and key source.
    endpoints: BTreeMap<String, (Access, Arc<AdaptiveLimit>)>,
    /// Values of headers from the environment.
    headers: BTreeSet<String>,
    /// The embeddings server's key.
    embeddings: Option<Secret>,
    cassettes: BTreeMap<String, Arc<Cassette>>,
    /// Names that passed the spelling check, so that the note about an unlisted name is printed once.
    told: BTreeSet<String>,
    /// Receives the words of the model that is being built.
    words: Option<UnboundedSender<ReplyWords>>,
    /// The words of the model that is heard.
    live: Option<LiveWords>,
    /// Whether the words of trials are shown.
    hears_trials: bool,
    /// Models whose reviews go in batches, by name.
    batched: BTreeMap<String, Arc<Batched>>,
    /// Identities that servers reported, by model name.
    identities: BTreeMap<String, ModelIdentity>,
    /// What servers were found not to take, by model name.
    adaptations: BTreeMap<String, Arc<Adaptation>>,
}

impl Models {
    /// Creates the source of models from the settings.
    pub(crate) fn new(config: &Config, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
        if let Some(folder) = &config.prompts {
            prompts::install(folder)?;
        }
        let prices = match &config.prices {
            None => PriceList::shipped().clone(),
            Some(path) => {
                let failed = |why: String| Failure::say(Kind::Config, format!("{}: {why}", path.display()));
                let text =
                    apprentice_files::read_to_string(path).map_err(|error| failed(error.to_string()))?;
                PriceList::parse(&text).map_err(|error| failed(error.to_string()))?
            }
        };
        let recording = match &config.record {
            Some(path) => {
                let redactor = Redactor::new(process_env::secrets().iter().map(String::as_str));
                Some(Arc::new(Recording::create(path, redactor.kind(Kind::Bug)?).kind(Kind::Config)?))
            }
            None => None,
        };
        let run = Arc::new(Ledger::new("run", config.cap.run_usd));
        let cache_key = format!("apprentice-{:x}-{:x}", clock.now().as_nanosecond(), std::process::id());
        Ok(Self {
            config: config.clone(),
            clock,
            prices,
            cache_key,
            run,
            recording,
            acts: Arc::default(),
            shared: Mutex::default(),
        })
    }

    /// Returns the settings of the command.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Takes what persons do in trials whose model they are.
    pub(crate) fn acts(&self) -> Arc<PersonActs> {
        Arc::clone(&self.acts)
    }

    /// Returns the clock of the command.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds the model with this name for one conversation; `trial` labels the conversation in recordings.
    pub(crate) fn get(&self, name: &str, trial: &str) -> Result<Arc<dyn ChatModel>, Failure> {
        self.get_for(name, trial, None)
    }

    /// Builds a model as [`Self::get`] does. Its server's address may name the attempt.
    fn get_for(
        &self,
        name: &str,
        trial: &str,
        attempt: Option<AttemptOf<'_>>,
    ) -> Result<Arc<dyn ChatModel>, Failure> {
        let name = self.resolve(name)?;
        if name == PERSON {
            return Ok(Arc::new(PersonModel::new(Arc::clone(&self.acts), trial)));
        }
        if let Some(file) = name.strip_prefix("scripted:") {
            return Ok(self.recorded(Scripted::load(file.as_ref()).kind(Kind::Config)?, trial));
        }
        if let Some(file) = name.strip_prefix("cassette:") {
            return Ok(Arc::new(self.cassette(file)?.play(trial)));
        }
        if let Some(command) = name.strip_prefix(AGENT) {
            return self.agent(name, command, trial);
        }
        if let Some(model) = self.rule_based(name, trial) {
            return Ok(model);
        }
        match provider_of(name) {
            Some((_, model)) if !model.is_empty() => self.grounded(name, trial, attempt),
            Some(_) | None => Err(self.unknown(name)),
        }
    }

    /// Returns an error for a model that no trial could use.
    pub(crate) fn check(&self, name: &str) -> Result<(), Failure> {
        if BASELINES.contains(&name) || name.starts_with("cassette:") {
            return Ok(());
        }
        let name = self.resolve(name)?;
        self.check_answers_at_once(name)?;
        match provider_of(name) {
            // `get` would start an unused recording in the cassette.
            Some((_, model)) if !model.is_empty() => self.adapter(name, None).map(drop),
            Some(_) | None => self.get(name, "check").map(drop),
        }
    }

    /// Returns the model of the role with this name, or the name itself.
    pub(crate) fn resolve<'a>(&'a self, name: &'a str) -> Result<&'a str, Failure> {
        match self.config.role.of(name) {
            None => Ok(name),
            Some(Some(model)) => Ok(model),
            Some(None) => Err(Failure::say(Kind::Config, format!("the role {name:?} has no model"))
                .hint(format!("set role.{name} in apprentice.toml, or give a model's name"))),
        }
    }

    /// Returns a redactor for stored data. It knows secrets of the environment and the keys used so far.
    pub(crate) fn redactor(&self) -> Result<Arc<Redactor>, Failure> {
        let mut secrets: BTreeSet<String> = process_env::secrets().into_iter().collect();
        let shared = self.shared();
        let keys = shared.endpoints.values().filter_map(|(access, _)| access.secret());
        secrets.extend(keys.chain(shared.embeddings.clone()).map(|key| key.reveal().to_owned()));
        secrets.extend(shared.headers.iter().cloned());
        drop(shared);
        Redactor::new(secrets.iter().map(String::as_str)).map(Arc::new).kind(Kind::Bug)
    }

    /// Returns the US dollars that this command has spent so far.
    pub(crate) fn spent(&self) -> f64 {
        self.run.spent()
    }

    /// Returns a model's tariff; `None` if its price is unknown.
    pub(crate) fn tariff(&self, name: &str) -> Result<Option<Tariff>, Failure> {
        if provider_of(name).is_none() {
            // What the model of another's agent costs is not known here.
            return Ok(Some(Tariff::Hour(0.0)).filter(|_| !name.starts_with(AGENT)));
        }
        let settings = self.settings(name)?;
        let hourly = settings.usd_per_hour.map(Tariff::Hour);
        Ok(hourly.or_else(|| self.price(name, &settings.calls).map(Tariff::Tokens)))
    }

    /// Returns what a cost forecast needs to know of a model.
    pub(crate) fn quote(&self, name: &str) -> Result<Pricing, Failure> {
        let name = self.resolve(name)?;
        if provider_of(name).is_none() {
            return Ok(Pricing { tariff: self.tariff(name)?, ..Pricing::free() });
        }
        let profile = Some(self.profile(name)?);
        Ok(Pricing { tariff: self.tariff(name)?, profile, attempt_cap: self.trial_cap(name)? })
    }

    /// Returns the effective price list.
    pub(crate) fn prices(&self) -> &PriceList {
        &self.prices
    }

    /// Returns a model's settings: its provider's, with the overrides of the model's role. An address that names attempts is
    /// that of none.
    pub(crate) fn settings(&self, name: &str) -> Result<Provider, Failure> {
        self.settings_for(name, None)
    }

    /// Returns a model's settings for one attempt.
    fn settings_for(&self, name: &str, attempt: Option<AttemptOf<'_>>) -> Result<Provider, Failure> {
        let (entry, _) = provider_of(name).ok_or_else(|| self.unknown(name))?;
        let provider = entry.settings(&self.config.provider);
        let part = self.config.role.settings_of_model(name)?;
        let mut own = part.map_or_else(|| provider.clone(), |part| provider.with_role_settings(part));
        if own.base_url == entry.vendor_url {
            own.base_url = address(&own.calls).unwrap_or(own.base_url);
        }
        uncalled::check_address(name, &own.base_url)?;
        own.base_url = address::filled(name, &own.base_url, attempt)?;
        if own.key_env == entry.vendor_key
            && let Some(variable) = key_variable(&own.calls)
        {
            variable.clone_into(&mut own.key_env);
        }
        Ok(own)
    }

    /// Returns the embedder for semantic search and comparison of skills, unless the settings choose words alone.
    pub(crate) fn embedding(&self) -> Result<Option<Arc<EmbeddingModel>>, Failure> {
        let settings = &self.config.embeddings;
        let model = settings.model.as_str();
        match model {
            "" | "words" => return Ok(None),
            "builtin" => return Ok(Some(Arc::new(EmbeddingModel::builtin()))),
            _ => {}
        }
        if let Some(file) = model.strip_prefix("cassette:") {
            let played = ReplayedVectors::load(Path::new(file)).kind(Kind::Config)?;
            return Ok(Some(Arc::new(EmbeddingModel::new(Arc::new(played)))));
        }
        let key = settings.key()?;
        self.shared().embeddings.clone_from(&key);
        if let Some(recording) = &self.recording {
            recording.guard(self.redactor()?.as_ref().clone());
        }
        let retry = RetryPolicy { retries: self.config.retries, ..RetryPolicy::default() };
        let ledgers = vec![Arc::clone(&self.run), self.day()?];
        let around = EmbeddingMiddleware { clock: Arc::clone(&self.clock), patience: retry, ledgers };
        let server =
            Embeddings::new(settings.model_config(model, key), self.transport(Timeouts::default())?, around);
        let folder = process_env::lasting_state().kind(Kind::Environment)?.join("vectors");
        let cached = Cached::new(server, &folder, &settings.base_url).kind(Kind::Environment)?;
        Ok(Some(Arc::new(match &self.recording {
            Some(recording) => {
                EmbeddingModel::new(Arc::new(RecordedVectors::new(cached, Arc::clone(recording))))
            }
            None => EmbeddingModel::new(Arc::new(cached)),
        })))
    }

    /// Returns an HTTP transport whose errors contain no key.
    pub(crate) fn transport(&self, limits: Timeouts) -> Result<Transport, Failure> {
        Transport::new(Arc::clone(&self.clock), self.redactor()?, limits).kind(Kind::Environment)
    }

    /// Returns a model's profile without a request to its server.
    pub(crate) fn profile(&self, name: &str) -> Result<ModelProfile, Failure> {
        Ok(self.client(name, &self.settings(name)?, &Access::default())?.profile().clone())
    }

    /// Returns an error for a name that is probably mistyped, before any request; prints a note for a new name.
    fn check_spelling(&self, name: &str) -> Result<(), Failure> {
        let Some((provider, model)) = provider_of(name).filter(|(_, model)| !model.is_empty()) else {
            return Ok(());
        };
        // Self-hosted servers choose their own model names, and so do other platforms.
        let own = provider.api == ProviderApi::Compat || self.settings(name)?.calls.platform.is_some();
        if own || self.shared().told.contains(name) {
            return Ok(());
        }
        let head = format!("{}/", provider.name);
        let known = self.prices.price.keys().filter_map(|name| name.strip_prefix(&head));
        match spelling(model, known) {
            Spelling::Known => {}
            Spelling::New => {
                terminal::note(format_args!(
                    "{name} is not in the list of known models; it is used as given"
                ));
            }
            Spelling::Mistyped(near) => {
                let near: Vec<String> = near.iter().map(|name| format!("{head}{name}")).collect();
                return Err(Failure::say(Kind::Model, format!("unknown model {name:?}"))
                    .hint(format!("the nearest names are {}", near.join(", ")))
                    .hint("if the name is correct, add its price to the file of the setting `prices`"));
            }
        }
        self.shared().told.insert(name.to_owned());
        Ok(())
    }

    /// Returns the identity that a model's server reports; `None` for models without a server. One request per command.
    pub(crate) async fn identify(&self, name: &str) -> Option<ModelIdentity> {
        let name = self.resolve(name).ok()?;
        provider_of(name)?;
        if let Some(known) = self.shared().identities.get(name) {
            return Some(known.clone());
        }
        let (adapter, _) = self.adapter(name, None).ok()?;
        let identity = adapter.0.identity().await;
        self.shared().identities.insert(name.to_owned(), identity.clone());
        Some(identity)
    }

    /// Adds the grounder to a `compat/` model, if the role has a model; other models locate targets themselves.
    fn grounded(
        &self,
        name: &str,
        trial: &str,
        attempt: Option<AttemptOf<'_>>,
    ) -> Result<Arc<dyn ChatModel>, Failure> {
        let purse = Arc::new(Ledger::new("trial", self.trial_cap(name)?));
        let model = self.api(name, &purse, attempt)?;
        match self.config.role.grounder.model.as_deref() {
            Some(grounder) if name.starts_with("compat/") && name != grounder => {
                let both = Grounded::new(Arc::new(model), Arc::new(self.api(grounder, &purse, attempt)?));
                // A recording treats the two models as one, like their callers.
                Ok(self.recorded(both.kind(Kind::Config)?, trial))
            }
            Some(_) | None => Ok(self.recorded(model, trial)),
        }
    }

    /// Wraps the client in fixed order: retries, then the key's rate limit, then the budget, then the limit on output.
    fn api(
        &self,
        name: &str,
        trial: &Arc<Ledger>,
        attempt: Option<AttemptOf<'_>>,
    ) -> Result<impl ChatModel + use<>, Failure> {
        let (adapter, limit) = self.adapter(name, attempt)?;
        let (entry, _) = provider_of(name).ok_or_else(|| self.unknown(name))?;
        let seed = u64::try_from(self.clock.now().as_nanosecond()).unwrap_or(0);
        let retry = RetryPolicy { retries: self.config.retries, seed, ..RetryPolicy::default() };
        let retrying = Retrying::new(adapter, Arc::clone(&self.clock), retry);
        let limited = Arc::new(Limited::new(retrying, limit, Arc::clone(&self.clock)));
        let limited: Arc<dyn ChatModel> = match self.waits_for_batches(name)? {
            true => self.batched(name, limited)?,
            false => limited,
        };
        let limited = SharedModel(limited);
        let ledgers = vec![Arc::clone(trial), Arc::clone(&self.run), self.day()?];
        let calls = self.settings(name)?.calls;
        let limits = client::timeouts(entry.api, &calls);
        let longest = u64::try_from(limits.whole.as_millis()).unwrap_or(u64::MAX);
        let budgeted = Budgeted::new(limited, ledgers, self.tariff(name)?, longest, Arc::clone(&self.clock));
        Ok(OutputLimited::new(budgeted, calls.max_output_tokens, calls.thinking_budget))
    }

    /// Returns the cap on a model's cost in one attempt, in US dollars: the cap of its role, else the common one.
    pub(crate) fn trial_cap(&self, name: &str) -> Result<Option<f64>, Failure> {
        let own = self.config.role.settings_of_model(name)?.and_then(|part| part.trial_usd);
        Ok(own.or(self.config.cap.trial_usd))
    }

    /// Returns the caps on what models cost in one attempt, as [`Self::trial_cap`] does for each.
    #[cfg(feature = "fleet")]
    pub(crate) fn trial_caps<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Option<f64>>, Failure> {
        names.into_iter().map(|name| self.trial_cap(name)).collect()
    }

    fn recorded<M: ChatModel + 'static>(&self, model: M, trial: &str) -> Arc<dyn ChatModel> {
        match &self.recording {
            Some(recording) => Arc::new(Recorded::new(model, Arc::clone(recording), trial)),
            None => Arc::new(model),
        }
    }

    /// Returns the day's ledger, which all commands of a user share.
    fn day(&self) -> Result<Arc<Ledger>, Failure> {
        let mut shared = self.shared();
        if let Some(day) = &shared.day {
            return Ok(Arc::clone(day));
        }
        let folder = process_env::lasting_state().kind(Kind::Environment)?.join("spent");
        let day = match Ledger::daily(&folder, self.config.cap.day_usd, self.clock.now()) {
            Ok(day) => day,
            Err(error) if self.config.cap.day_usd.is_some() => {
                return Err(Failure::new(Kind::Environment, error));
            }
            // Without a daily cap the ledger is optional.
            Err(_) => Ledger::new("day", None),
        };
        let day = Arc::new(day);
        shared.day = Some(Arc::clone(&day));
        Ok(day)
    }

    fn cassette(&self, name: &str) -> Result<Arc<Cassette>, Failure> {
        let mut shared = self.shared();
        if let Some(cassette) = shared.cassettes.get(name) {
            return Ok(Arc::clone(cassette));
        }
        let (file, model) = name.split_once('#').map_or((name, None), |(file, model)| (file, Some(model)));
        let cassette = Arc::new(Cassette::load(Path::new(file), model).kind(Kind::Config)?);
        shared.cassettes.insert(name.to_owned(), Arc::clone(&cassette));
        Ok(cassette)
    }

    fn safety(&self) -> SafetyPolicy {
        match self.config.safety {
            SafetyChoice::Refuse => SafetyPolicy::Refuse,
            SafetyChoice::Acknowledge => SafetyPolicy::Acknowledge,
            SafetyChoice::Ask => SafetyPolicy::Ask(Arc::new(TerminalApprover)),
        }
    }
}

/// Asks the user at the terminal.
struct TerminalApprover;

impl Approver for TerminalApprover {
    fn approve<'a>(&'a self, concerns: &'a [String]) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            terminal::note(format_args!("the provider raised a safety check: {}", concerns.join("; ")));
            terminal::note(format_args!(
                "continue? Type yes and press Enter; anything else ends the attempt"
            ));
            let answer = tokio::task::spawn_blocking(terminal::answer).await;
            answer.is_ok_and(|answer| answer.is_some_and(|answer| answer.trim() == "yes"))
        })
    }
}
