//! Turns a model's name into a model: adapter, key, price, and what stands around it. Keys, paces, ledgers and the
//! cassette are shared by all models of a command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_evaluator::run::{ModelSource, TrialSpec};
use apprentice_harness::model::anthropic::{Anthropic, AnthropicConfig, ApiVersion, Effort, ModelFacts};
use apprentice_harness::model::around::{
    Budgeted, Cassette, Ledger, Limited, Pace, Patience, Recorded, Retrying, Tape,
};
use apprentice_harness::model::builtin::{BuiltIn, Policy};
use apprentice_harness::model::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_harness::model::exchange::{Deadlines, Endpoint, Secret, Transport};
use apprentice_harness::model::gemini::{Gemini, GeminiConfig};
use apprentice_harness::model::openai::{OpenAi, OpenAiConfig};
use apprentice_harness::model::price::{PriceList, Tariff};
use apprentice_harness::model::safety::{Approver, SafetyPolicy};
use apprentice_harness::model::scripted::Scripted;
use apprentice_harness::record::Redactor;
use apprentice_protocol::{ChatModel, Clock, PortFuture};

use crate::config::{Config, Provider, SafetyChoice};
use crate::failure::{Failure, Kind, Kinded as _};
use crate::{key, surroundings, terminal};

/// Baselines that the evaluator makes from a task itself.
pub(crate) const BASELINES: [&str; 4] =
    ["baseline/solution", "baseline/near-miss", "baseline/noop", "baseline/give-up"];
/// The providers that models can be named of.
pub(crate) const PROVIDERS: [&str; 4] = ["anthropic", "openai", "gemini", "compat"];

/// Makes models.
pub(crate) struct Models {
    config: Config,
    clock: Arc<dyn Clock>,
    prices: PriceList,
    run: Arc<Ledger>,
    tape: Option<Arc<Tape>>,
    shared: Mutex<Shared>,
}

/// What models of one command have in common.
#[derive(Default)]
struct Shared {
    day: Option<Arc<Ledger>>,
    gates: BTreeMap<String, (Option<Secret>, Arc<Pace>)>,
    cassettes: BTreeMap<String, Arc<Cassette>>,
}

impl Models {
    /// Makes models by these settings.
    pub(crate) fn new(config: &Config, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
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
                let redactor = Redactor::new(surroundings::secrets().iter().map(String::as_str));
                Some(Arc::new(Tape::create(path, redactor.kind(Kind::Bug)?).kind(Kind::Config)?))
            }
            None => None,
        };
        let run = Arc::new(Ledger::new("run", config.cap.run_usd));
        Ok(Self { config: config.clone(), clock, prices, run, tape, shared: Mutex::default() })
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model of a name for one conversation, named after its trial.
    pub(crate) fn get(&self, name: &str, trial: &str) -> Result<Arc<dyn ChatModel>, Failure> {
        let name = self.resolve(name)?;
        if let Some(file) = name.strip_prefix("scripted:") {
            return Ok(self.recorded(Scripted::load(file.as_ref()).kind(Kind::Config)?, trial));
        }
        if let Some(file) = name.strip_prefix("cassette:") {
            return Ok(Arc::new(self.cassette(file)?.play(trial)));
        }
        if let Some(policy) = Policy::named(name) {
            return Ok(self.recorded(BuiltIn::new(policy), trial));
        }
        match name.split_once('/') {
            Some((provider, model)) if PROVIDERS.contains(&provider) && !model.is_empty() => {
                self.api(provider, model, trial)
            }
            Some(_) | None => Err(self.unknown(name)),
        }
    }

    /// Refuses a model's name that no trial could use.
    pub(crate) fn check(&self, name: &str) -> Result<(), Failure> {
        if BASELINES.contains(&name) || name.starts_with("cassette:") {
            return Ok(());
        }
        let name = self.resolve(name)?;
        match name.split_once('/') {
            // Making it would begin a take of the cassette that nobody plays.
            Some((provider, _)) if PROVIDERS.contains(&provider) => self.gate(provider).map(drop),
            Some(_) | None => self.get(name, "check").map(drop),
        }
    }

    /// The model that plays a part, or the name itself.
    pub(crate) fn resolve<'a>(&'a self, name: &'a str) -> Result<&'a str, Failure> {
        match self.config.role.of(name) {
            None => Ok(name),
            Some(Some(model)) => Ok(model),
            Some(None) => Err(Failure::say(Kind::Config, format!("no model plays the part {name:?}"))
                .hint(format!("set role.{name} in apprentice.toml, or name a model"))),
        }
    }

    /// What takes secrets out of everything that is stored: it knows the keys that were used so far.
    pub(crate) fn redactor(&self) -> Result<Arc<Redactor>, Failure> {
        let mut secrets: BTreeSet<String> = surroundings::secrets().into_iter().collect();
        let shared = self.shared();
        secrets.extend(shared.gates.values().filter_map(|(key, _)| Some(key.as_ref()?.reveal().to_owned())));
        drop(shared);
        Redactor::new(secrets.iter().map(String::as_str)).map(Arc::new).kind(Kind::Bug)
    }

    /// US dollars that this command has spent.
    pub(crate) fn spent(&self) -> f64 {
        self.run.spent()
    }

    /// What a model's calls are priced by, if that is known.
    pub(crate) fn tariff(&self, provider: &str, model: &str) -> Option<Tariff> {
        let hourly = self.provider(provider).and_then(|provider| provider.usd_per_hour).map(Tariff::Hour);
        let listed = || self.prices.of(&format!("{provider}/{model}")).cloned().map(Tariff::Tokens);
        hourly.or_else(listed)
    }

    /// The prices in force.
    pub(crate) fn prices(&self) -> &PriceList {
        &self.prices
    }

    fn provider(&self, name: &str) -> Option<&Provider> {
        let all = &self.config.provider;
        Some(match name {
            "anthropic" => &all.anthropic,
            "openai" => &all.openai,
            "gemini" => &all.gemini,
            "compat" => &all.compat,
            _ => return None,
        })
    }

    /// A provider's settings, key and pace; the key is looked for once.
    fn gate(&self, name: &str) -> Result<(&Provider, Option<Secret>, Arc<Pace>), Failure> {
        let provider = self.provider(name).ok_or_else(|| self.unknown(name))?;
        if let Some((key, pace)) = self.shared().gates.get(name) {
            return Ok((provider, key.clone(), Arc::clone(pace)));
        }
        let key = key::find(provider)?;
        if key.is_none() && name != "compat" && !key::on_this_machine(&provider.base_url) {
            return Err(Failure::say(
                Kind::Model,
                format!("{} is not set, so {name} cannot be asked", provider.key_env),
            )
            .hint(format!(
                "export {}=…, or set provider.{name}.key_file or .key_command",
                provider.key_env
            )));
        }
        let pace = Arc::new(Pace::new(provider.max_in_flight));
        self.shared().gates.insert(name.to_owned(), (key.clone(), Arc::clone(&pace)));
        if let Some(tape) = &self.tape {
            tape.guard(self.redactor()?.as_ref().clone());
        }
        Ok((provider, key, pace))
    }

    /// A transport whose errors hold no key.
    pub(crate) fn transport(&self) -> Result<Transport, Failure> {
        Transport::new(Arc::clone(&self.clock), self.redactor()?, Deadlines::default())
            .kind(Kind::Environment)
    }

    fn api(&self, name: &str, model: &str, trial: &str) -> Result<Arc<dyn ChatModel>, Failure> {
        let (provider, key, pace) = self.gate(name)?;
        let endpoint = Endpoint::new(&provider.base_url, key);
        let tariff = self.tariff(name, model);
        let transport = self.transport()?;
        let around = (pace, tariff.clone(), trial);
        let model = model.to_owned();
        let effort = provider.effort.clone();
        match name {
            "anthropic" => {
                let config = anthropic(model, endpoint, provider, tariff)?;
                self.around(Anthropic::new(config, transport), around)
            }
            "openai" => {
                let safety = self.safety();
                let config = OpenAiConfig { model, endpoint, effort, safety, tariff };
                self.around(OpenAi::new(config, transport), around)
            }
            "gemini" => {
                let safety = self.safety();
                let config = GeminiConfig { model, endpoint, effort, safety, tariff };
                self.around(Gemini::new(config, transport), around)
            }
            _ => {
                let student = self.student(&model)?;
                self.around(Compat::new(CompatConfig { model, endpoint, student, tariff }, transport), around)
            }
        }
    }

    /// How a student sees and speaks: as set, else by its name.
    pub(crate) fn student(&self, model: &str) -> Result<StudentProfile, Failure> {
        match &self.config.provider.compat.profile {
            Some(profile) => StudentProfile::load(profile).kind(Kind::Config),
            None => StudentProfile::for_model(model).kind(Kind::Bug),
        }
    }

    /// The order of wrappers is fixed: an exchange, tried again, at the key's pace, within budget, on record.
    fn around<M: ChatModel + 'static>(
        &self,
        adapter: M,
        (pace, tariff, trial): (Arc<Pace>, Option<Tariff>, &str),
    ) -> Result<Arc<dyn ChatModel>, Failure> {
        let seed = u64::try_from(self.clock.now().as_nanosecond()).unwrap_or(0);
        let patience = Patience { retries: self.config.retries, seed, ..Patience::default() };
        let retrying = Retrying::new(adapter, Arc::clone(&self.clock), patience);
        let limited = Limited::new(retrying, pace, Arc::clone(&self.clock));
        let ledgers = vec![
            Arc::new(Ledger::new("trial", self.config.cap.trial_usd)),
            Arc::clone(&self.run),
            self.day()?,
        ];
        let longest = u64::try_from(Deadlines::default().whole.as_millis()).unwrap_or(u64::MAX);
        let budgeted = Budgeted::new(limited, ledgers, tariff, longest, Arc::clone(&self.clock));
        Ok(self.recorded(budgeted, trial))
    }

    fn recorded<M: ChatModel + 'static>(&self, model: M, trial: &str) -> Arc<dyn ChatModel> {
        match &self.tape {
            Some(tape) => Arc::new(Recorded::new(model, Arc::clone(tape), trial)),
            None => Arc::new(model),
        }
    }

    /// The day's ledger, which all commands of a user share.
    fn day(&self) -> Result<Arc<Ledger>, Failure> {
        let mut shared = self.shared();
        if let Some(day) = &shared.day {
            return Ok(Arc::clone(day));
        }
        let folder = surroundings::lasting_state().join("spent");
        let day = match Ledger::of_day(&folder, self.config.cap.day_usd, self.clock.now()) {
            Ok(day) => day,
            Err(error) if self.config.cap.day_usd.is_some() => {
                return Err(Failure::new(Kind::Environment, error));
            }
            // Without a cap for the day nothing depends on the book.
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
            SafetyChoice::Ask => SafetyPolicy::Ask(Arc::new(AtTheTerminal)),
        }
    }

    fn unknown(&self, name: &str) -> Failure {
        let own: Vec<&str> = Policy::ALL.iter().map(|policy| policy.name()).collect();
        let priced = self.prices.price.keys().map(|name| name.trim_end_matches('*'));
        let known = own.iter().chain(&BASELINES).copied().chain(priced);
        let nearest = known.min_by_key(|known| strsim::damerau_levenshtein(known, name)).unwrap_or_default();
        Failure::say(Kind::Model, format!("unknown model {name:?}"))
            .hint(format!("the nearest name is {nearest:?}"))
            .hint(format!(
                "models: {}, scripted:FILE, cassette:FILE, and PROVIDER/MODEL with {}; baselines: {}",
                own.join(", "),
                PROVIDERS.join(", "),
                BASELINES.join(", ")
            ))
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
        facts: ModelFacts::of(&model),
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
}

/// Asks the person at the terminal.
struct AtTheTerminal;

impl Approver for AtTheTerminal {
    fn approve<'a>(&'a self, concerns: &'a [String]) -> PortFuture<'a, bool> {
        Box::pin(async move {
            terminal::note(format_args!("the provider has concerns: {}", concerns.join("; ")));
            terminal::note(format_args!("go on? Type yes and press Enter; anything else ends the attempt"));
            let answer = tokio::task::spawn_blocking(terminal::answer).await;
            answer.is_ok_and(|answer| answer.is_some_and(|answer| answer.trim() == "yes"))
        })
    }
}
