//! Builds models from their names: adapter, key, price and middleware. All models of a command share keys, rate
//! limits, ledgers and the cassette.

mod readers;
mod uncalled;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_evaluator::cost_estimate::Pricing;
use apprentice_evaluator::run::{ModelSource, TrialSpec};
use apprentice_harness::model::anthropic::{Anthropic, AnthropicConfig, ApiVersion, Effort, ModelDefaults};
use apprentice_harness::model::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_harness::model::embeddings::{Cached, EmbeddingMiddleware, Embeddings};
use apprentice_harness::model::gemini::Gemini;
use apprentice_harness::model::grounded::Grounded;
use apprentice_harness::model::hosted::HostedConfig;
use apprentice_harness::model::http::{Endpoint, Secret, Timeouts, Transport};
use apprentice_harness::model::identity::{IdentitySource, ModelIdentity};
use apprentice_harness::model::middleware::{
    AdaptiveLimit, Budgeted, Cassette, Ledger, Limited, Recorded, RecordedVectors, Recording,
    ReplayedVectors, RetryPolicy, Retrying,
};
use apprentice_harness::model::openai::OpenAi;
use apprentice_harness::model::price::{PriceList, Tariff};
use apprentice_harness::model::safety::{Approver, SafetyPolicy};
use apprentice_harness::model::scripted::Scripted;
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::{ChatModel, ChatReply, ChatRequest, Clock, ModelError, ModelProfile, PortFuture};
use apprentice_skills::EmbeddingModel;
use apprentice_trace::Redactor;

use crate::config::{Config, SafetyChoice};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::provider::{PROVIDERS, Provider, ProviderApi, ProviderEntry, provider_of};
use crate::spelling::{Spelling, spelling};
use crate::{key, process_env, prompts, terminal};

/// Baselines that the evaluator derives from a task.
pub(crate) const BASELINES: [&str; 4] =
    ["baseline/solution", "baseline/near-miss", "baseline/noop", "baseline/give-up"];

/// Builds the models of one command.
pub(crate) struct Models {
    config: Config,
    clock: Arc<dyn Clock>,
    prices: PriceList,
    run: Arc<Ledger>,
    tape: Option<Arc<Recording>>,
    shared: Mutex<Shared>,
}

/// State shared by the models of one command.
#[derive(Default)]
struct Shared {
    day: Option<Arc<Ledger>>,
    /// Keys and rate limits, by address and key source.
    endpoints: BTreeMap<String, (Option<Secret>, Arc<AdaptiveLimit>)>,
    /// The embeddings server's key.
    embeddings: Option<Secret>,
    cassettes: BTreeMap<String, Arc<Cassette>>,
    /// Names that passed the spelling check, so that the note about an unlisted name is printed once.
    told: BTreeSet<String>,
    /// Identities that servers reported, by model name.
    identities: BTreeMap<String, ModelIdentity>,
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
                let place = path.display();
                let text = std::fs::read_to_string(path)
                    .map_err(|error| Failure::say(Kind::Config, format!("{place}: {error}")))?;
                PriceList::parse(&text)
                    .map_err(|error| Failure::say(Kind::Config, format!("{place}: {error}")))?
            }
        };
        let tape = match &config.record {
            Some(path) => {
                let redactor = Redactor::new(process_env::secrets().iter().map(String::as_str));
                Some(Arc::new(Recording::create(path, redactor.kind(Kind::Bug)?).kind(Kind::Config)?))
            }
            None => None,
        };
        let run = Arc::new(Ledger::new("run", config.cap.run_usd));
        Ok(Self { config: config.clone(), clock, prices, run, tape, shared: Mutex::default() })
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds the model with this name for one conversation; `trial` labels the conversation in recordings.
    pub(crate) fn get(&self, name: &str, trial: &str) -> Result<Arc<dyn ChatModel>, Failure> {
        let name = self.resolve(name)?;
        if let Some(file) = name.strip_prefix("scripted:") {
            return Ok(self.recorded(Scripted::load(file.as_ref()).kind(Kind::Config)?, trial));
        }
        if let Some(file) = name.strip_prefix("cassette:") {
            return Ok(Arc::new(self.cassette(file)?.play(trial)));
        }
        if let Some(policy) = Policy::named(name) {
            return Ok(self.recorded(BuiltInModel::new(policy), trial));
        }
        match provider_of(name) {
            Some((_, model)) if !model.is_empty() => self.grounded(name, trial),
            Some(_) | None => Err(self.unknown(name)),
        }
    }

    /// Returns an error for a model that no trial could use.
    pub(crate) fn check(&self, name: &str) -> Result<(), Failure> {
        if BASELINES.contains(&name) || name.starts_with("cassette:") {
            return Ok(());
        }
        let name = self.resolve(name)?;
        match provider_of(name) {
            // `get` would start an unused recording in the cassette.
            Some((_, model)) if !model.is_empty() => self.adapter(name).map(drop),
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
        let keys = shared.endpoints.values().filter_map(|(key, _)| key.as_ref()).chain(&shared.embeddings);
        secrets.extend(keys.map(|key| key.reveal().to_owned()));
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
            return Ok(Some(Tariff::Hour(0.0)));
        }
        let hourly = self.settings(name)?.usd_per_hour.map(Tariff::Hour);
        Ok(hourly.or_else(|| self.prices.of(name).cloned().map(Tariff::Tokens)))
    }

    /// Returns what a cost forecast needs to know of a model.
    pub(crate) fn quote(&self, name: &str) -> Result<Pricing, Failure> {
        let name = self.resolve(name)?;
        if provider_of(name).is_none() {
            return Ok(Pricing::free());
        }
        let tariff = self.tariff(name)?;
        let profile = match tariff {
            Some(Tariff::Tokens(_)) => Some(self.profile(name)?),
            Some(Tariff::Hour(_)) | None => None,
        };
        Ok(Pricing { tariff, profile, attempt_cap: self.trial_cap(name)? })
    }

    /// Returns the effective price list.
    pub(crate) fn prices(&self) -> &PriceList {
        &self.prices
    }

    /// Returns a model's settings: its provider's, with the overrides of the model's role.
    pub(crate) fn settings(&self, name: &str) -> Result<Provider, Failure> {
        let (entry, _) = provider_of(name).ok_or_else(|| self.unknown(name))?;
        let provider = entry.settings(&self.config.provider);
        let part = self.config.role.settings_of_model(name)?;
        Ok(part.map_or_else(|| provider.clone(), |part| provider.with_role_settings(part)))
    }

    /// Returns a model's settings, key and rate limit. Each key is looked up once.
    fn gate(&self, name: &str) -> Result<(Provider, Option<Secret>, Arc<AdaptiveLimit>), Failure> {
        let settings = self.settings(name)?;
        let Provider { base_url, key_env, key_file, key_command, .. } = &settings;
        // Models with the same address and key share a rate limit.
        let gate = format!("{base_url} {key_env:?} {key_file:?} {key_command:?}");
        if let Some((key, pace)) = self.shared().endpoints.get(&gate) {
            return Ok((settings, key.clone(), Arc::clone(pace)));
        }
        let (ProviderEntry { name: provider, api, .. }, _) =
            provider_of(name).ok_or_else(|| self.unknown(name))?;
        let key = key::find(&settings)?;
        if key.is_none() && *api != ProviderApi::Compat && !key::on_this_machine(base_url) {
            let told = format!("{key_env} is not set, so {provider} cannot be used");
            let hint = format!("export {key_env}=…, or set provider.{provider}.key_file or .key_command");
            return Err(Failure::say(Kind::Model, told).hint(hint));
        }
        let pace = Arc::new(AdaptiveLimit::new(settings.max_in_flight));
        self.shared().endpoints.insert(gate, (key.clone(), Arc::clone(&pace)));
        if let Some(tape) = &self.tape {
            tape.guard(self.redactor()?.as_ref().clone());
        }
        Ok((settings, key, pace))
    }

    /// Returns the embedder for semantic search and comparison of skills, if the settings name a model for it.
    pub(crate) fn meaning(&self) -> Result<Option<Arc<EmbeddingModel>>, Failure> {
        let settings = &self.config.embeddings;
        let Some(model) = settings.model.as_deref().filter(|model| !model.is_empty()) else {
            return Ok(None);
        };
        if model == "builtin" {
            return Ok(Some(Arc::new(EmbeddingModel::builtin())));
        }
        if let Some(file) = model.strip_prefix("cassette:") {
            let played = ReplayedVectors::load(Path::new(file)).kind(Kind::Config)?;
            return Ok(Some(Arc::new(EmbeddingModel::new(Arc::new(played)))));
        }
        let key = settings.key()?;
        self.shared().embeddings.clone_from(&key);
        if let Some(tape) = &self.tape {
            tape.guard(self.redactor()?.as_ref().clone());
        }
        let patience = RetryPolicy { retries: self.config.retries, ..RetryPolicy::default() };
        let ledgers = vec![Arc::clone(&self.run), self.day()?];
        let around = EmbeddingMiddleware { clock: Arc::clone(&self.clock), patience, ledgers };
        let server = Embeddings::new(settings.model_config(model, key), self.transport()?, around);
        let folder = process_env::lasting_state().kind(Kind::Environment)?.join("vectors");
        let cached = Cached::new(server, &folder, &settings.base_url).kind(Kind::Environment)?;
        Ok(Some(Arc::new(match &self.tape {
            Some(tape) => EmbeddingModel::new(Arc::new(RecordedVectors::new(cached, Arc::clone(tape)))),
            None => EmbeddingModel::new(Arc::new(cached)),
        })))
    }

    /// Returns an HTTP transport whose errors contain no key.
    pub(crate) fn transport(&self) -> Result<Transport, Failure> {
        Transport::new(Arc::clone(&self.clock), self.redactor()?, Timeouts::default()).kind(Kind::Environment)
    }

    /// Returns a model's profile without a request to its server.
    pub(crate) fn profile(&self, name: &str) -> Result<ModelProfile, Failure> {
        Ok(self.client(name, &self.settings(name)?, None)?.profile().clone())
    }

    /// Returns an error for a name that is probably mistyped, before any request; prints a note for a new name.
    fn check_spelling(&self, name: &str) -> Result<(), Failure> {
        let Some((provider, model)) = provider_of(name).filter(|(_, model)| !model.is_empty()) else {
            return Ok(());
        };
        // Self-hosted servers choose their own model names.
        if provider.api == ProviderApi::Compat || self.shared().told.contains(name) {
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

    /// Returns the client of a provider's model, without middleware, and its rate limit.
    fn adapter(&self, name: &str) -> Result<(Adapter, Arc<AdaptiveLimit>), Failure> {
        self.check_spelling(name)?;
        let (settings, key, pace) = self.gate(name)?;
        Ok((self.client(name, &settings, key)?, pace))
    }

    fn client(&self, name: &str, settings: &Provider, key: Option<Secret>) -> Result<Adapter, Failure> {
        let endpoint = Endpoint::new(&settings.base_url, key);
        let tariff = self.tariff(name)?;
        let transport = self.transport()?;
        let named = provider_of(name).filter(|(_, model)| !model.is_empty());
        let (provider, model) = named.ok_or_else(|| self.unknown(name))?;
        let (model, effort) = (model.to_owned(), settings.effort.clone());
        let hosted = || {
            let (model, endpoint, tariff) = (model.clone(), endpoint.clone(), tariff.clone());
            HostedConfig { model, endpoint, effort, safety: self.safety(), tariff }
        };
        let adapter: Box<dyn IdentitySource> = match provider.api {
            ProviderApi::Anthropic => {
                Box::new(Anthropic::new(anthropic(model, endpoint, settings, tariff)?, transport))
            }
            ProviderApi::OpenAi => Box::new(OpenAi::new(hosted(), transport)),
            ProviderApi::Gemini => Box::new(Gemini::new(hosted(), transport)),
            ProviderApi::Compat => {
                let mut student = student(settings.profile.as_deref(), &model)?;
                let told = self.shared().identities.get(name).and_then(|one| one.context_tokens);
                let least = u64::from(student.max_output_tokens) + 1;
                // Priority: the user's setting, then the server's report, then the profile.
                let context = settings.context_tokens.or(told).or(student.context_tokens);
                student.context_tokens = context.map(|tokens| tokens.max(least));
                Box::new(Compat::new(CompatConfig { model, endpoint, student, tariff }, transport))
            }
        };
        Ok(Adapter(adapter))
    }

    /// Returns the identity that a model's server reports; `None` for models without a server. One request per command.
    pub(crate) async fn identify(&self, name: &str) -> Option<ModelIdentity> {
        let name = self.resolve(name).ok()?;
        provider_of(name)?;
        if let Some(known) = self.shared().identities.get(name) {
            return Some(known.clone());
        }
        let (adapter, _) = self.adapter(name).ok()?;
        let identity = adapter.0.identity().await;
        self.shared().identities.insert(name.to_owned(), identity.clone());
        Some(identity)
    }

    /// Adds the grounder to a `compat/` model, if the role has a model; other models locate targets themselves.
    fn grounded(&self, name: &str, trial: &str) -> Result<Arc<dyn ChatModel>, Failure> {
        let purse = Arc::new(Ledger::new("trial", self.trial_cap(name)?));
        let model = self.api(name, &purse)?;
        match self.config.role.grounder.model.as_deref() {
            Some(grounder) if name.starts_with("compat/") && name != grounder => {
                let both = Grounded::new(Arc::new(model), Arc::new(self.api(grounder, &purse)?));
                // A recording treats the two models as one, like their callers.
                Ok(self.recorded(both.kind(Kind::Config)?, trial))
            }
            Some(_) | None => Ok(self.recorded(model, trial)),
        }
    }

    /// Wraps the client in fixed order: retries, then the key's rate limit, then the budget.
    fn api(&self, name: &str, trial: &Arc<Ledger>) -> Result<impl ChatModel + use<>, Failure> {
        let (adapter, pace) = self.adapter(name)?;
        let seed = u64::try_from(self.clock.now().as_nanosecond()).unwrap_or(0);
        let patience = RetryPolicy { retries: self.config.retries, seed, ..RetryPolicy::default() };
        let retrying = Retrying::new(adapter, Arc::clone(&self.clock), patience);
        let limited = Limited::new(retrying, pace, Arc::clone(&self.clock));
        let ledgers = vec![Arc::clone(trial), Arc::clone(&self.run), self.day()?];
        let longest = u64::try_from(Timeouts::default().whole.as_millis()).unwrap_or(u64::MAX);
        Ok(Budgeted::new(limited, ledgers, self.tariff(name)?, longest, Arc::clone(&self.clock)))
    }

    /// Returns the cap on a model's cost in one attempt, in US dollars: the cap of its role, else the common one.
    pub(crate) fn trial_cap(&self, name: &str) -> Result<Option<f64>, Failure> {
        let own = self.config.role.settings_of_model(name)?.and_then(|part| part.trial_usd);
        Ok(own.or(self.config.cap.trial_usd))
    }

    fn recorded<M: ChatModel + 'static>(&self, model: M, trial: &str) -> Arc<dyn ChatModel> {
        match &self.tape {
            Some(tape) => Arc::new(Recorded::new(model, Arc::clone(tape), trial)),
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

    fn unknown(&self, name: &str) -> Failure {
        let own: Vec<&str> = Policy::ALL.iter().map(|policy| policy.name()).collect();
        let priced = self.prices.price.keys().map(|name| name.trim_end_matches('*'));
        let known = own.iter().chain(&BASELINES).copied().chain(priced);
        Failure::say(Kind::Model, format!("unknown model {name:?}")).hint_nearest(name, known).hint(format!(
            "models: {}, scripted:FILE, cassette:FILE, and PROVIDER/MODEL with {}; baselines: {}",
            own.join(", "),
            PROVIDERS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
            BASELINES.join(", ")
        ))
    }
}

/// Returns the profile of a `compat/` model: the configured one, else one chosen by the model's name.
pub(crate) fn student(profile: Option<&str>, model: &str) -> Result<StudentProfile, Failure> {
    match profile {
        Some(profile) => StudentProfile::load(profile).kind(Kind::Config),
        None => StudentProfile::for_model(model).kind(Kind::Bug),
    }
}

/// The client of any provider.
struct Adapter(Box<dyn IdentitySource>);

impl ChatModel for Adapter {
    fn profile(&self) -> &ModelProfile {
        self.0.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        self.0.reply(request)
    }
}

fn anthropic(
    model: String,
    endpoint: Endpoint,
    provider: &Provider,
    tariff: Option<Tariff>,
) -> Result<AnthropicConfig, Failure> {
    let version = provider.version.as_deref().unwrap_or(ApiVersion::default().as_str());
    let wrong = |what: &str, found: &str| {
        Failure::say(Kind::Config, format!("provider.anthropic.{what}: there is no {what} {found:?}"))
    };
    let effort = provider.effort.as_deref();
    Ok(AnthropicConfig {
        version: ApiVersion::named(version).ok_or_else(|| wrong("version", version))?,
        effort: effort.map(|name| Effort::named(name).ok_or_else(|| wrong("effort", name))).transpose()?,
        facts: ModelDefaults::of(&model),
        forget_above: provider.forget_above.filter(|above| *above > 0),
        model,
        endpoint,
        tariff,
    })
}

impl ModelSource for Models {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let label = format!("{}/{}/{}/{}", trial.task, trial.role.as_str(), trial.arm, trial.seed);
        self.get(&trial.model, &label).map_err(|failure| failure.to_string())
    }

    fn identity<'a>(&'a self, model: &'a str) -> PortFuture<'a, Option<ModelIdentity>> {
        Box::pin(self.identify(model))
    }
}

/// Asks the user at the terminal.
struct TerminalApprover;

impl Approver for TerminalApprover {
    fn approve<'a>(&'a self, concerns: &'a [String]) -> PortFuture<'a, bool> {
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
