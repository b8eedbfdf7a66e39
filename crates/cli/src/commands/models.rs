//! `apprentice models`: which models there are, whether one answers, and how well it points.

use std::sync::Arc;

use apprentice_harness::model::calibrate::{Fit, aim, fits};
use apprentice_harness::model::compat::{Structured, StudentProfile};
use apprentice_harness::model::identity::ModelIdentity;
use apprentice_harness::model::probe::{Tried, keeps_form, sees, shown};
use apprentice_policies::Policy;
use apprentice_protocol::{
    BoundedText, ChatModel, ChatReply, ChatRequest, Clock, Content, CoordinateSpace, ImageRule, Message,
    Purpose, Size, TextBudget,
};
use apprentice_sandbox::SystemClock;
use clap::{Args, Subcommand};

use crate::config::Config;
use crate::failure::{Failure, Kind, Kinded as _};
use crate::forecast::{Consent, Forecast, Going};
use crate::models::{BASELINES, Models, PROVIDERS, student};
use crate::{key, terminal, wire};

/// Words of one cheap request.
const SYSTEM: &str = "Answer with the one word ready.";
/// Enough for one word, and for what a model may think before it.
const FEW_TOKENS: u32 = 1024;
/// Characters that are shown of an answer that is not as it should be.
const WORDS: TextBudget = TextBudget(200);
/// The screen that calibration stands for.
const SCREEN: Size = Size::new(1920, 1080);

/// Lists models, asks one whether it answers, and measures how well it points.
#[derive(Debug, Args)]
pub(crate) struct ModelsCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists models with their prices, and says for which providers there is a key.
    List,
    /// Sends a few cheap requests and prints what the model can do, what it said, and what it cost: whether it answers,
    /// and where its profile says so, whether it sees a picture and answers in a form.
    Check {
        /// The model, as PROVIDER/NAME.
        model: String,
        #[command(flatten)]
        consent: Consent,
    },
    /// Shows nine targets, asks for nine clicks, and says in which space the model points, and how far off.
    Calibrate {
        /// The model, as PROVIDER/NAME.
        model: String,
        #[command(flatten)]
        consent: Consent,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &ModelsCommand, config: &Config) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, clock)?;
    match &arguments.what {
        What::List => list(config, &models),
        What::Check { model, consent } => {
            let model = models.resolve(model)?;
            let claims = Claims::of(&models, model)?;
            match agreed(&models, config, (model, claims.requests()), *consent)? {
                Going::On => check(&models, model, claims),
                Going::Off => Ok(()),
            }
        }
        What::Calibrate { model, consent } => {
            let model = models.resolve(model)?;
            let output = models.profile(model).map_or(FEW_TOKENS, |profile| profile.max_output_tokens);
            match agreed(&models, config, (model, (9, output, Some(SCREEN))), *consent)? {
                Going::On => calibrate(&models, model),
                Going::Off => Ok(()),
            }
        }
    }
}

fn agreed(
    models: &Models,
    config: &Config,
    (name, requests): (&str, (u32, u32, Option<Size>)),
    consent: Consent,
) -> Result<Going, Failure> {
    let mut forecast = Forecast::default();
    forecast.add_requests(models, name, requests)?;
    forecast.agree(config, consent)
}

fn list(config: &Config, models: &Models) -> Result<(), Failure> {
    let own = Policy::ALL.iter().map(|policy| policy.name()).chain(BASELINES);
    terminal::line(format_args!("without a key: {}", own.collect::<Vec<_>>().join(", ")));
    terminal::line(format_args!("from files: scripted:FILE, cassette:FILE"));
    let all = &config.provider;
    for (name, provider) in [
        ("anthropic", &all.anthropic),
        ("openai", &all.openai),
        ("gemini", &all.gemini),
        ("compat", &all.compat),
    ] {
        let stated = match (&provider.key_command, &provider.key_file) {
            (Some(_), _) => "its key comes from key_command".to_owned(),
            (None, Some(file)) => format!("its key comes from {}", file.display()),
            (None, None) if key::find(provider)?.is_some() => format!("{} is set", provider.key_env),
            (None, None) => format!("{} is not set", provider.key_env),
        };
        terminal::line(format_args!("\n{name}/… at {} ({stated})", provider.base_url));
        for (model, price) in &models.prices().price {
            if model.starts_with(&format!("{name}/")) {
                terminal::line(format_args!(
                    "  {:36} ${:<6} in, ${:<6} out per million tokens",
                    model, price.input, price.output
                ));
            }
        }
    }
    let profiles: Vec<&str> = StudentProfile::names().collect();
    terminal::line(format_args!("\nprofiles of students: {}", profiles.join(", ")));
    let dated = &models.prices().read_on;
    terminal::line(format_args!(
        "prices were read on {dated}; a trailing * stands for all names that begin so"
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

/// What is tried of a model besides whether it answers.
#[derive(Clone, Copy, Debug)]
struct Claims {
    /// The picture that it is shown, if it takes pictures.
    picture: Option<Size>,
    /// Whether its server is said to hold answers to a form.
    form: bool,
}

impl Claims {
    /// Of a model's profile. What has no server has nothing to try.
    fn of(models: &Models, name: &str) -> Result<Self, Failure> {
        let (provider, model) = name.split_once('/').unwrap_or((name, ""));
        if !PROVIDERS.contains(&provider) {
            return Ok(Self { picture: None, form: false });
        }
        let form = match provider {
            "compat" => {
                let settings = models.settings(name)?;
                student(settings.profile.as_deref(), model)?.structured != Structured::Words
            }
            _ => true,
        };
        Ok(Self { picture: shown(&models.profile(name)?.images), form })
    }

    /// How many requests that takes, with how many tokens of answer, and which picture at the most.
    fn requests(self) -> (u32, u32, Option<Size>) {
        (1 + u32::from(self.picture.is_some()) + u32::from(self.form), FEW_TOKENS, self.picture)
    }
}

/// Tries what a model is said to do; says what it cannot.
async fn try_claims(model: &dyn ChatModel, claims: Claims) -> Result<Vec<&'static str>, Failure> {
    let mut missing = Vec::new();
    let mut tell = |what: &'static str, tried: &Tried| match tried {
        Tried::Can => terminal::line(format_args!("  {what}: as it should")),
        Tried::Cannot(words) => {
            let words = BoundedText::cut(words.trim(), WORDS);
            terminal::line(format_args!("  {what}: no; it answered {:?}", words.as_str()));
            missing.push(what);
        }
    };
    if claims.picture.is_some()
        && let Some(tried) = sees(model).await.kind(Kind::Model)?
    {
        tell("sees a picture", &tried);
    }
    if claims.form {
        tell("answers in a form", &keeps_form(model).await.kind(Kind::Model)?);
    }
    Ok(missing)
}

fn check(models: &Models, name: &str, claims: Claims) -> Result<(), Failure> {
    let model = models.get(name, "check")?;
    let profile = model.profile();
    terminal::line(format_args!("{}", profile.name));
    terminal::line(format_args!("  pictures: {}", pictures(&profile.images)));
    terminal::line(format_args!("  points:   {}", space(profile.space)));
    terminal::line(format_args!("  elements as text: {}", if profile.outline { "yes" } else { "no" }));
    let reply = wire::runtime()?.block_on(async { model.reply(&asking()).await.kind(Kind::Model) })?;
    say(&reply);
    let missing = wire::runtime()?.block_on(try_claims(model.as_ref(), claims))?;
    if let Some(identity) = wire::runtime()?.block_on(async { Ok(models.identify(name).await) })? {
        introduce(&identity);
    }
    terminal::line(format_args!("  this command spent ${:.6}", models.spent()));
    match missing.is_empty() {
        true => Ok(()),
        false => {
            let story = format!("{name} does not do all that is said of it: {}", missing.join(", "));
            let hint =
                "a student's profile says what it does (`images`, `structured`); --profile names another";
            Err(Failure::say(Kind::Model, story).hint(hint))
        }
    }
}

fn say(reply: &ChatReply) {
    let words = reply.say.join(" ");
    terminal::line(format_args!("  it answered {:?} ({:?})", words.trim(), reply.stop));
    let named = reply.provider_model.as_deref().unwrap_or("it does not say");
    terminal::line(format_args!("  answering model: {named}"));
    let usage = reply.usage;
    terminal::line(format_args!(
        "  {} tokens in, {} of them cached, {} out, in {} ms of work and {} ms of waiting",
        usage.input, usage.cached, usage.output, reply.timing.working_ms, reply.timing.waiting_ms
    ));
    match reply.cost_usd {
        Some(cost) => terminal::line(format_args!("  cost: ${cost:.6}")),
        None => terminal::line(format_args!("  cost: unknown; the model has no price")),
    }
}

/// What the server says of the model, beside its answer.
fn introduce(identity: &ModelIdentity) {
    if identity.is_unknown() {
        terminal::line(format_args!("  its server says nothing more of it"));
        return;
    }
    let said = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let ModelIdentity { id, revision, quantization, context_tokens, server } = identity;
    let context = context_tokens.map(|tokens| format!("{tokens} tokens"));
    for (what, told) in [
        ("served by", said(server)),
        ("serves", said(id)),
        ("revision", said(revision)),
        ("quantisation", said(quantization)),
        ("context", said(&context)),
    ] {
        terminal::line(format_args!("  {what}: {told}"));
    }
}

fn calibrate(models: &Models, name: &str) -> Result<(), Failure> {
    let model = models.get(name, "calibrate")?;
    let images = model.profile().images;
    let size = apprentice_harness::agent::fitted(&images, SCREEN)
        .ok_or_else(|| Failure::say(Kind::Model, format!("{name} takes no pictures")))?;
    let aims = wire::runtime()?.block_on(async { aim(model.as_ref(), size).await.kind(Kind::Model) })?;
    terminal::line(format_args!("picture of {}x{}", size.width, size.height));
    for aim in &aims {
        let found =
            aim.point.map_or_else(|| "no point".into(), |point| format!("({}, {})", point.x, point.y));
        terminal::line(format_args!("  {:7} at ({}, {}): {found}", aim.colour, aim.middle.x, aim.middle.y));
    }
    for Fit { space: read_as, median, worst } in fits(&aims, size) {
        terminal::line(format_args!(
            "  read as {:26} median error {median:7.1} px, worst {worst:7.1} px",
            space(read_as)
        ));
    }
    let declared = model.profile().space;
    match fits(&aims, size).first() {
        Some(best) if !best.median.is_finite() => Err(Failure::say(
            Kind::Model,
            "its points fit no space: most lie outside the picture, or are missing",
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
        ImageRule::AsIs => "of the screen's own size".into(),
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
