//! `apprentice models`: lists models, tests one, and calibrates its coordinates.

use std::sync::Arc;

use apprentice_models::calibrate::{SpaceFit, aim, fits};
use apprentice_models::compat::{Structured, StudentProfile};
use apprentice_models::identity::ModelIdentity;
use apprentice_models::probe::{ProbeResult, calls, points, probe_structured_output, sees, shown};
use apprentice_protocol::{
    BoundedText, ChatModel, ChatReply, ChatRequest, Clock, Content, CoordinateSpace, DEFAULT_SCREEN,
    ImageRule, Message, Purpose, Size, TextBudget,
};
use apprentice_sandbox::SystemClock;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::forecast::{Forecast, Proceed, SmallRequests, SpendingArgs};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::{BASELINES, Models, rule_based};
use crate::settings::config::Config;
use crate::settings::provider::{PROVIDERS, ProviderApi, ProviderEntry, provider_of};
use crate::{settings::key, terminal, wire};

/// System prompt of the test request.
const SYSTEM: &str = "Answer with the one word ready.";
/// Output tokens: enough for one word and for the reasoning before it.
const FEW_TOKENS: u32 = 1024;
/// Characters of a wrong answer that are printed.
const WORDS: TextBudget = TextBudget(200);

/// Lists models, tests a model with cheap requests, and calibrates its coordinates.
#[derive(Debug, Args)]
pub(crate) struct ModelsCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists models with their prices, and which providers have a key.
    List {
        /// Print one JSON object (`apprentice.models.list/1`).
        #[arg(long)]
        json: bool,
    },
    /// Tests a model with a few cheap requests: whether it answers and calls tools, and if its profile claims so, whether it
    /// accepts images, points where it should, and gives structured output. Prints the answers and their cost.
    Check {
        /// The model, as PROVIDER/NAME.
        model: String,
        #[command(flatten)]
        consent: SpendingArgs,
    },
    /// Asks for clicks on nine targets; prints the model's coordinate space and its error in pixels.
    Calibrate {
        /// The model, as PROVIDER/NAME.
        model: String,
        #[command(flatten)]
        consent: SpendingArgs,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &ModelsCommand, config: &Config) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, clock)?;
    match &arguments.what {
        What::List { json } => list(&Listing::of(config, &models)?, *json),
        What::Check { model, consent } => {
            let model = models.resolve(model)?;
            let claims = Claims::of(&models, model)?;
            match confirm_cost(&models, config, model, claims.requests(), *consent)? {
                Proceed::On => check(&models, model, claims),
                Proceed::Off => Ok(()),
            }
        }
        What::Calibrate { model, consent } => {
            let model = models.resolve(model)?;
            let output = models.profile(model).map_or(FEW_TOKENS, |profile| profile.max_output_tokens);
            let clicks = SmallRequests { count: 9, output_tokens: output, picture: Some(DEFAULT_SCREEN) };
            match confirm_cost(&models, config, model, clicks, *consent)? {
                Proceed::On => calibrate(&models, model),
                Proceed::Off => Ok(()),
            }
        }
    }
}

fn confirm_cost(
    models: &Models,
    config: &Config,
    name: &str,
    requests: SmallRequests,
    consent: SpendingArgs,
) -> Result<Proceed, Failure> {
    let mut forecast = Forecast::default();
    forecast.add_requests(models, name, requests)?;
    forecast.agree(config, consent)
}

/// The output of `models list --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::commands) struct Listing<'a> {
    schema: &'static str,
    /// Models and baselines that need no server.
    built_in: Vec<&'static str>,
    providers: Vec<ListedProvider<'a>>,
    /// Profiles for `compat` models.
    profiles: Vec<&'static str>,
    /// The day of the prices.
    prices_as_of: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::commands) struct ListedProvider<'a> {
    name: &'static str,
    base_url: &'a str,
    /// Whether the settings name a key that can be used.
    has_key: bool,
    /// Where the key comes from, in words. Never the key.
    key: String,
    models: Vec<ListedModel<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::commands) struct ListedModel<'a> {
    /// `PROVIDER/NAME`; a trailing `*` matches all names with that prefix.
    name: &'a str,
    /// US dollars per million input tokens.
    input_usd: f64,
    /// US dollars per million output tokens.
    output_usd: f64,
}

impl<'a> Listing<'a> {
    fn of(config: &'a Config, models: &'a Models) -> Result<Self, Failure> {
        let providers = PROVIDERS.iter().map(|entry| ListedProvider::of(entry, config, models));
        Ok(Self {
            schema: "apprentice.models.list/1",
            built_in: rule_based::names().chain(BASELINES).collect(),
            providers: providers.collect::<Result<_, _>>()?,
            profiles: StudentProfile::names().collect(),
            prices_as_of: &models.prices().read_on,
        })
    }
}

impl<'a> ListedProvider<'a> {
    fn of(entry: &ProviderEntry, config: &'a Config, models: &'a Models) -> Result<Self, Failure> {
        let provider = entry.settings(&config.provider);
        let (has_key, key) = match (&provider.key_command, &provider.key_file) {
            (Some(_), _) => (true, "key from key_command".to_owned()),
            (None, Some(file)) => (true, format!("key from {}", file.display())),
            (None, None) if key::find(provider)?.is_some() => (true, format!("{} is set", provider.key_env)),
            (None, None) => (false, format!("{} is not set", provider.key_env)),
        };
        let head = format!("{}/", entry.name);
        let priced = models.prices().price.iter().filter(|(name, _)| name.starts_with(&head));
        let listed = priced.map(|(name, price)| ListedModel {
            name,
            input_usd: price.input,
            output_usd: price.output,
        });
        Ok(Self { name: entry.name, base_url: &provider.base_url, has_key, key, models: listed.collect() })
    }
}

fn list(listing: &Listing<'_>, json: bool) -> Result<(), Failure> {
    if json {
        return terminal::json(listing);
    }
    terminal::line(format_args!("built in, no key needed: {}", listing.built_in.join(", ")));
    terminal::line(format_args!("from files: scripted:FILE, cassette:FILE; you yourself: person"));
    for provider in &listing.providers {
        terminal::line(format_args!("\n{}/… at {} ({})", provider.name, provider.base_url, provider.key));
        for model in &provider.models {
            terminal::line(format_args!(
                "  {:32} ${} in, ${} out",
                model.name, model.input_usd, model.output_usd
            ));
        }
    }
    terminal::line(format_args!("\nprofiles for compat models: {}", listing.profiles.join(", ")));
    let dated = listing.prices_as_of;
    terminal::line(format_args!(
        "prices per million tokens, as of {dated}; a trailing * matches all names with that prefix"
    ));
    Ok(())
}

fn asking() -> ChatRequest {
    ChatRequest {
        purpose: Purpose::Check,
        system: SYSTEM.into(),
        messages: vec![Message::User { content: vec![Content::text("Are you ready?")] }],
        max_output_tokens: FEW_TOKENS,
        ..ChatRequest::default()
    }
}

/// Capabilities that a model's profile claims and that `check` tests.
#[derive(Clone, Copy, Debug)]
struct Claims {
    /// Size of the test picture, if the model accepts images.
    picture: Option<Size>,
    /// Whether the server is said to support structured output.
    form: bool,
}

impl Claims {
    /// Reads the claims from a model's profile. Models without a server have none.
    fn of(models: &Models, name: &str) -> Result<Self, Failure> {
        let Some((provider, model)) = provider_of(name) else {
            return Ok(Self { picture: None, form: false });
        };
        let form = match provider.api {
            ProviderApi::Compat => models.student(name, model)?.structured != Structured::Words,
            ProviderApi::Anthropic | ProviderApi::OpenAi | ProviderApi::Gemini => true,
        };
        Ok(Self { picture: shown(&models.profile(name)?.images), form })
    }

    /// Returns the requests that test the claims.
    fn requests(self) -> SmallRequests {
        // An answer, a call; with pictures their colours and a point; a form.
        let count = 2 + 2 * u32::from(self.picture.is_some()) + u32::from(self.form);
        SmallRequests { count, output_tokens: FEW_TOKENS, picture: self.picture }
    }
}

/// Tests the claims, prints the results, and returns the capabilities that are missing.
async fn try_claims(model: &dyn ChatModel, claims: Claims) -> Result<Vec<&'static str>, Failure> {
    let mut missing = Vec::new();
    let mut print_claim = |what: &'static str, tried: &ProbeResult| match tried {
        ProbeResult::Can => terminal::line(format_args!("  {what}: yes")),
        ProbeResult::Cannot(words) => {
            let words = BoundedText::cut(words.trim(), WORDS);
            terminal::line(format_args!("  {what}: no; the answer was {:?}", words.as_str()));
            missing.push(what);
        }
    };
    if claims.picture.is_some()
        && let Some(tried) = sees(model).await.kind(Kind::Model)?
    {
        print_claim("accepts images", &tried);
    }
    print_claim("calls tools", &calls(model).await.kind(Kind::Model)?);
    if let Some(tried) = points(model).await.kind(Kind::Model)? {
        print_claim("points where it should", &tried);
    }
    if claims.form {
        print_claim("structured output", &probe_structured_output(model).await.kind(Kind::Model)?);
    }
    Ok(missing)
}

fn check(models: &Models, name: &str, claims: Claims) -> Result<(), Failure> {
    // The server's own statement may decide by which profile the model is asked.
    let identity = wire::runtime()?.block_on(async { Ok(models.identify(name).await) })?;
    let model = models.get(name, "check")?;
    let profile = model.profile();
    terminal::line(format_args!("{}", profile.name));
    if let Some(chosen) = models.chosen_profile(name)? {
        terminal::line(format_args!("  profile:  {}, {}", chosen.name, chosen.why));
    }
    terminal::line(format_args!("  pictures: {}", pictures(&profile.images)));
    terminal::line(format_args!("  points:   {}", space(profile.space)));
    terminal::line(format_args!("  elements as text: {}", if profile.outline { "yes" } else { "no" }));
    let reply = wire::runtime()?.block_on(async { model.reply(&asking()).await.kind(Kind::Model) })?;
    print_reply(&reply);
    let missing = wire::runtime()?.block_on(try_claims(model.as_ref(), claims))?;
    if let Some(identity) = identity {
        introduce(&identity);
    }
    terminal::line(format_args!("  total cost of this command: ${:.6}", models.spent()));
    match missing.is_empty() {
        true => Ok(()),
        false => {
            let message =
                format!("{name} lacks capabilities that its profile claims: {}", missing.join(", "));
            let hints = [
                ("accepts images", "set images = \"none\" in its profile, or choose --profile text"),
                (
                    "calls tools",
                    "start its server with the parser of its calls (vLLM, SGLang: --tool-call-parser; llama.cpp: --jinja), or set dialect = \"json\" in its profile",
                ),
                (
                    "points where it should",
                    "`apprentice models calibrate` finds the coordinate space: set `space` in its profile",
                ),
                ("structured output", "set `structured` in its profile to what the server enforces"),
            ];
            let fitting = hints.iter().filter(|(what, _)| missing.contains(what));
            Err(fitting.fold(Failure::say(Kind::Model, message), |failure, (_, hint)| failure.hint(*hint)))
        }
    }
}

fn print_reply(reply: &ChatReply) {
    let words = reply.say.join(" ");
    terminal::line(format_args!("  answer: {:?} ({:?})", words.trim(), reply.stop));
    let named = reply.provider_model.as_deref().unwrap_or("not reported");
    terminal::line(format_args!("  answering model: {named}"));
    let usage = reply.usage;
    terminal::line(format_args!(
        "  {} input tokens ({} cached), {} output tokens; {} ms working, {} ms waiting",
        usage.input, usage.cached, usage.output, reply.timing.working_ms, reply.timing.waiting_ms
    ));
    match reply.cost_usd {
        Some(cost) => terminal::line(format_args!("  cost: ${cost:.6}")),
        None => terminal::line(format_args!("  cost: unknown; the model has no price")),
    }
}

/// Prints the identity that the server reports.
fn introduce(identity: &ModelIdentity) {
    if identity.is_unknown() {
        terminal::line(format_args!("  the server reports no further details"));
        return;
    }
    let said = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let ModelIdentity {
        id,
        revision,
        quantization,
        context_tokens,
        server,
        tools,
        reads_calls,
        vision,
        parameters,
        served: _,
    } = identity;
    let parameters = parameters.map(|count| format!("{} million", count / 1_000_000));
    let context = context_tokens.map(|tokens| format!("{tokens} tokens"));
    let yes = |said: &Option<bool>| said.map(|yes| if yes { "yes" } else { "no" }.to_owned());
    for (what, told) in [
        ("served by", said(server)),
        ("serves", said(id)),
        ("revision", said(revision)),
        ("quantisation", said(quantization)),
        ("parameters", said(&parameters)),
        ("context", said(&context)),
        ("tools in its template", said(&yes(tools))),
        ("reads calls", said(&yes(reads_calls))),
        ("sees pictures", said(&yes(vision))),
    ] {
        terminal::line(format_args!("  {what}: {told}"));
    }
}

fn calibrate(models: &Models, name: &str) -> Result<(), Failure> {
    let model = models.get(name, "calibrate")?;
    let images = model.profile().images;
    let size = images
        .fit(DEFAULT_SCREEN)
        .ok_or_else(|| Failure::say(Kind::Model, format!("{name} does not accept images")))?;
    let aims = wire::runtime()?.block_on(async { aim(model.as_ref(), size).await.kind(Kind::Model) })?;
    terminal::line(format_args!("picture of {}x{}", size.width, size.height));
    for aim in &aims {
        let found =
            aim.point.map_or_else(|| "no point".into(), |point| format!("({}, {})", point.x, point.y));
        terminal::line(format_args!("  {:7} at ({}, {}): {found}", aim.colour, aim.middle.x, aim.middle.y));
    }
    for SpaceFit { space: read_as, median, worst } in fits(&aims, size) {
        terminal::line(format_args!(
            "  read as {:26} median error {median:7.1} px, worst {worst:7.1} px",
            space(read_as)
        ));
    }
    let declared = model.profile().space;
    match fits(&aims, size).first() {
        Some(best) if !best.median.is_finite() => Err(Failure::say(
            Kind::Model,
            "the points match no coordinate space: most are missing or outside the picture",
        )),
        Some(best) if best.space != declared => {
            terminal::line(format_args!("best: {}; its profile says {}", space(best.space), space(declared)));
            Ok(())
        }
        Some(_) | None => {
            terminal::line(format_args!("best: {}, as its profile says", space(declared)));
            Ok(())
        }
    }
}

fn pictures(rule: &ImageRule) -> String {
    match rule {
        ImageRule::None => "none".into(),
        ImageRule::AsIs => "at screen size".into(),
        ImageRule::Within { size } => format!("within {}x{}", size.width, size.height),
        ImageRule::Factor { factor, min_pixels, max_pixels } => {
            format!("sides in multiples of {factor}, from {min_pixels} to {max_pixels} pixels")
        }
    }
}

fn space(space: CoordinateSpace) -> String {
    match space {
        CoordinateSpace::ImagePixels => "pixels of the picture".into(),
        CoordinateSpace::Grid { max } => format!("a grid from 0 to {max}"),
        CoordinateSpace::Unit => "fractions from 0 to 1".into(),
    }
}
