//! Builds the client of one model: its address and credentials, and an adapter with the settings of its calls.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::run::AttemptOf;
use apprentice_models::anthropic::{Anthropic, AnthropicConfig, ApiVersion, Effort, ModelDefaults};
use apprentice_models::batch::BatchService;
use apprentice_models::compat::{Adaptation, Compat, CompatConfig, StudentProfile};
use apprentice_models::gemini::Gemini;
use apprentice_models::hosted::HostedConfig;
use apprentice_models::http::{Endpoint, Platform, Timeouts, Transport};
use apprentice_models::identity::IdentitySource;
use apprentice_models::middleware::AdaptiveLimit;
use apprentice_models::openai::OpenAi;
use apprentice_models::options::{CacheLifetime, CallOptions, Streaming};
use apprentice_models::price::{Price, PriceList, Tariff};
use apprentice_protocol::{BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile};

use super::Models;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::access::{Access, CommandTokens, aws_keys};
use crate::settings::call_checks::{
    BATCH, anthropic_defaults, check_each, check_output, check_together, headers, platform,
};
use crate::settings::call_settings::CallSettings;
use crate::settings::config::ScriptChoice;
use crate::settings::provider::{Provider, ProviderApi, ProviderEntry, provider_of};
use crate::{process_env, settings::key, terminal};

/// Limit until the head of a streamed response. In one piece, the head comes with the whole.
const FIRST_BYTE: Duration = Duration::from_secs(120);

impl Models {
    /// Returns a model's settings, credentials and rate limit. Each key is looked up once.
    pub(super) fn gate(&self, name: &str) -> Result<(Provider, Access, Arc<AdaptiveLimit>), Failure> {
        let settings = self.settings(name)?;
        let Provider { base_url, key_env, key_file, key_command, calls, .. } = &settings;
        // Models with the same address, credentials and headers share a rate limit.
        let (tokens, headers) = (&calls.token_command, &calls.headers);
        let gate = format!("{base_url} {key_env:?} {key_file:?} {key_command:?} {tokens:?} {headers:?}");
        if let Some((access, pace)) = self.shared().endpoints.get(&gate) {
            return Ok((settings, access.clone(), Arc::clone(pace)));
        }
        let access = self.access(name, &settings)?;
        let pace = Arc::new(AdaptiveLimit::new(settings.max_in_flight));
        self.shared().endpoints.insert(gate, (access.clone(), Arc::clone(&pace)));
        if let Some(recording) = &self.recording {
            recording.guard(self.redactor()?.as_ref().clone());
        }
        Ok((settings, access, pace))
    }

    fn access(&self, name: &str, settings: &Provider) -> Result<Access, Failure> {
        let (ProviderEntry { name: provider, api, .. }, _) =
            provider_of(name).ok_or_else(|| self.unknown(name))?;
        let variable = |name: &str| process_env::variable(name)?.into_string().ok();
        let (headers, secrets) = headers(&settings.calls, &self.place(name), &variable)?;
        secrets.iter().for_each(|secret| terminal::hide(secret));
        self.shared().headers.extend(secrets);
        if let Some(command) = &settings.calls.token_command {
            let first = key::printed(command, "token_command")?;
            terminal::hide(first.reveal());
            let tokens = CommandTokens::new(command, first, Arc::clone(&self.clock));
            return Ok(Access { tokens: Some(Arc::new(tokens)), headers, ..Access::default() });
        }
        let key = key::find(settings)?;
        let region = settings.calls.region.as_deref().unwrap_or_default();
        let bedrock = key.is_none() && settings.calls.platform.as_deref() == Some("bedrock");
        let aws = aws_keys(&variable, region).filter(|_| bedrock);
        if aws.is_some() && !cfg!(feature = "bedrock") {
            return Err(Failure::say(Kind::Model, "this build cannot sign requests with AWS access keys")
                .hint("set AWS_BEARER_TOKEN_BEDROCK to an API key of Bedrock")
                .hint("or build with `cargo build --release --features bedrock`"));
        }
        if key.is_none()
            && aws.is_none()
            && *api != ProviderApi::Compat
            && !key::on_this_machine(&settings.base_url)
        {
            let key_env = &settings.key_env;
            let told = format!("{key_env} is not set, so {provider} cannot be used");
            let hint = format!("export {key_env}=…, or set provider.{provider}.key_file or .key_command");
            return Err(Failure::say(Kind::Model, told).hint(hint));
        }
        Ok(Access { key, aws, headers, ..Access::default() })
    }

    /// Returns where a setting of this model's calls stands: in its role, or in its provider.
    fn place(&self, name: &str) -> impl Fn(&str) -> String + use<> {
        let provider = provider_of(name).map_or("", |(entry, _)| entry.name);
        let part = self.config.role.settings_of_model(name).ok().flatten();
        let mut of_role: BTreeSet<&str> = part.map(|part| part.calls.names()).into_iter().flatten().collect();
        of_role.extend(part.filter(|part| part.history.is_some()).map(|_| "history"));
        let role = self.config.role.name_of_model(name).unwrap_or_default();
        move |key| match of_role.contains(key) {
            true => format!("role.{role}.{key}"),
            false => format!("provider.{provider}.{key}"),
        }
    }

    /// Returns the client of a provider's model, without middleware, and its rate limit.
    pub(super) fn adapter(
        &self,
        name: &str,
        attempt: Option<AttemptOf<'_>>,
    ) -> Result<(Adapter, Arc<AdaptiveLimit>), Failure> {
        self.check_spelling(name)?;
        // The addresses of all attempts share a rate limit.
        let (mut settings, access, pace) = self.gate(name)?;
        if attempt.is_some() {
            settings.base_url = self.settings_for(name, attempt)?.base_url;
        }
        Ok((self.client(name, &settings, &access)?, pace))
    }

    /// Builds the client of a provider's model; one that is never called needs no access.
    pub(super) fn client(
        &self,
        name: &str,
        settings: &Provider,
        access: &Access,
    ) -> Result<Adapter, Failure> {
        let parts = self.parts(name, settings, access)?;
        let adapter: Box<dyn IdentitySource> = match parts.api {
            ProviderApi::Anthropic => Box::new(self.anthropic(name, parts, settings)?),
            ProviderApi::OpenAi => Box::new(OpenAi::new(parts.config, parts.transport)),
            ProviderApi::Gemini => Box::new(Gemini::new(parts.config, parts.transport)),
            ProviderApi::Compat => Box::new(self.compat_of(name, settings, parts)?),
        };
        Ok(Adapter(adapter))
    }

    /// Returns the client of a model that takes its requests in batches, with their price; `None` for other models.
    pub(super) fn batch_client(
        &self,
        name: &str,
        settings: &Provider,
        access: &Access,
    ) -> Result<Option<Arc<dyn BatchService>>, Failure> {
        let mut parts = self.parts(name, settings, access)?;
        parts.config.calls.stream = Streaming::Never;
        let provider = provider_of(name).map_or("", |(entry, _)| entry.name);
        parts.config.tariff = match (parts.config.tariff, self.prices().tier_factor(provider, BATCH)) {
            (Some(Tariff::Tokens(price)), Some(factor)) => Some(Tariff::Tokens(price.times(factor))),
            (hourly @ Some(Tariff::Hour(_)), _) => hourly,
            (Some(Tariff::Tokens(_)) | None, _) => None,
        };
        Ok(match parts.api {
            ProviderApi::Anthropic => Some(Arc::new(self.anthropic(name, parts, settings)?)),
            ProviderApi::OpenAi => Some(Arc::new(OpenAi::new(parts.config, parts.transport))),
            ProviderApi::Gemini | ProviderApi::Compat => None,
        })
    }

    /// Checks the settings of a model's calls, and returns what its client is made of.
    fn parts(&self, name: &str, settings: &Provider, access: &Access) -> Result<Parts, Failure> {
        let named = provider_of(name).filter(|(_, model)| !model.is_empty());
        let (provider, model) = named.ok_or_else(|| self.unknown(name))?;
        let (api, calls, place) = (provider.api, &settings.calls, self.place(name));
        check_each(api, calls, &place)?;
        if settings.history.is_some() && api != ProviderApi::Compat {
            let told =
                format!("{}: this provider's conversations are kept by its own rule", place("history"));
            return Err(Failure::say(Kind::Config, told).hint("remove it, or use a compat/ model"));
        }
        check_together(api, model, calls, &settings.base_url, &place)?;
        check_output(name, calls, &place)?;
        let config = HostedConfig {
            model: model.to_owned(),
            endpoint: access.endpoint(&settings.base_url).on(platform(calls)),
            effort: calls.effort.clone(),
            safety: self.safety(),
            tariff: self.tariff(name)?,
            calls: self.options(api, calls),
        };
        let transport = self.transport(timeouts(api, calls))?.with_headers(access.headers.clone());
        Ok(Parts { api, config, transport })
    }

    fn anthropic(&self, name: &str, parts: Parts, settings: &Provider) -> Result<Anthropic, Failure> {
        let HostedConfig { model, endpoint, tariff, calls, .. } = parts.config;
        let facts = anthropic_defaults(&model, &settings.calls, &self.place(name))?;
        let mut config = anthropic(model, endpoint, settings, facts, calls)?;
        config.tariff = tariff;
        config.page_scripts = self.config.page_scripts == ScriptChoice::On;
        Ok(Anthropic::new(config, parts.transport))
    }

    fn options(&self, api: ProviderApi, calls: &CallSettings) -> CallOptions {
        let cache_key = calls.prompt_cache_key.clone();
        CallOptions {
            stream: streaming(api, calls),
            words: self.shared().words.clone(),
            max_output_tokens: calls.max_output_tokens,
            thinking_budget: calls.thinking_budget,
            cache: calls.cache_ttl.as_deref().and_then(CacheLifetime::named).unwrap_or_default(),
            prompt_cache_key: match api {
                ProviderApi::OpenAi if platform(calls) == Platform::Direct => {
                    cache_key.or_else(|| Some(self.cache_key.clone()))
                }
                // Some servers, and older versions of the API on Azure, refuse fields that they do not know.
                ProviderApi::OpenAi | ProviderApi::Compat | ProviderApi::Anthropic | ProviderApi::Gemini => {
                    cache_key
                }
            },
            // What does not wait for a batch is asked for as usual.
            service_tier: calls.service_tier.clone().filter(|tier| tier != BATCH),
        }
    }

    /// What the server of a model was found not to take, in this command.
    pub(super) fn adaptation(&self, name: &str) -> Arc<Adaptation> {
        Arc::clone(self.shared().adaptations.entry(name.to_owned()).or_default())
    }

    /// Returns a student's profile, and why it is that one: the settings name it, or a name fits, as that of the model which
    /// the server says it serves.
    pub(super) fn chosen_student(
        &self,
        name: &str,
        settings: &Provider,
        model: &str,
    ) -> Result<(StudentProfile, String), Failure> {
        let (mut student, why) = self.fitting_student(name, settings, model)?;
        student.history = settings.history.unwrap_or(student.history);
        Ok((student, why))
    }

    fn fitting_student(
        &self,
        name: &str,
        settings: &Provider,
        model: &str,
    ) -> Result<(StudentProfile, String), Failure> {
        if let Some(profile) = settings.profile.as_deref() {
            return Ok((StudentProfile::load(profile).kind(Kind::Config)?, "as the settings say".into()));
        }
        let identity = self.shared().identities.get(name).cloned().unwrap_or_default();
        for (named, whose) in [
            (settings.calls.family.as_deref(), "the setting family,"),
            (Some(model), "its name,"),
            (identity.id.as_deref(), "what the server says that it serves,"),
        ] {
            let Some(named) = named else { continue };
            if let Some(profile) = StudentProfile::matching(named).kind(Kind::Bug)? {
                return Ok((profile, format!("by {whose} {named}")));
            }
        }
        let other = "--profile NAME chooses another one";
        let few = identity
            .parameters
            .filter(|count| *count <= MAX_SMALL_PARAMETERS && identity.vision != Some(true));
        if let Some(count) = few {
            let millions = count / 1_000_000;
            let why =
                format!("because the server says that the model has {millions} million parameters; {other}");
            return Ok((StudentProfile::load(SMALL_PROFILE).kind(Kind::Bug)?, why));
        }
        Ok(match identity.vision {
            Some(false) => {
                let why = format!("because the server says that the model sees no pictures; {other}");
                (StudentProfile::load(TEXT_PROFILE).kind(Kind::Bug)?, why)
            }
            Some(true) | None => {
                let why = format!("because no profile is known for the name {model:?}; {other}");
                (StudentProfile::for_model(model).kind(Kind::Bug)?, why)
            }
        })
    }

    /// Returns the client of a model behind a compatible server, to ask what it would send.
    pub(super) fn compat(&self, name: &str) -> Result<Compat, Failure> {
        let settings = self.settings(name)?;
        let parts = self.parts(name, &settings, &Access::default())?;
        self.compat_of(name, &settings, parts)
    }

    fn compat_of(&self, name: &str, settings: &Provider, parts: Parts) -> Result<Compat, Failure> {
        let HostedConfig { model, endpoint, effort, tariff, calls, .. } = parts.config;
        let student = self.sized_student(name, settings, &model)?;
        let adaptation = self.adaptation(name);
        let config = CompatConfig { model, endpoint, student, tariff, effort, calls, adaptation };
        Ok(Compat::new(config, parts.transport))
    }

    /// Returns a student's profile with its context and its limit on output.
    fn sized_student(&self, name: &str, settings: &Provider, model: &str) -> Result<StudentProfile, Failure> {
        let (mut student, _) = self.chosen_student(name, settings, model)?;
        let told = self.shared().identities.get(name).and_then(|one| one.context_tokens);
        // Priority: the user's setting, then the server's report, then the profile.
        let context = settings.context_tokens.or(told).or(student.context_tokens);
        if let (Some(output), Some(context)) = (settings.calls.max_output_tokens, context)
            && u64::from(output) >= context
        {
            let key = self.place(name)("max_output_tokens");
            return Err(Failure::say(
                Kind::Config,
                format!("{key}: {output} tokens leave nothing of the context of {context} for the request"),
            )
            .hint("lower it, or set context_tokens to what the server takes"));
        }
        student.context_tokens = context;
        Ok(student)
    }

    /// Returns a model's price per token: of the list, for its service tier and its cache lifetime.
    pub(super) fn price(&self, name: &str, calls: &CallSettings) -> Option<Price> {
        let (entry, _) = provider_of(name)?;
        let family = calls.family.as_ref().map(|family| format!("{}/{family}", entry.name));
        let mut price = self.prices.of(name).or_else(|| self.prices.of(family.as_ref()?)).cloned()?;
        // A list of the user's holds what the platform charges.
        if let (Some(endpoint), true) = (priced_endpoint(calls, name), self.config.prices.is_none()) {
            price = price.times(PriceList::platform_factor(&endpoint)?);
        }
        if calls.cache_ttl.as_deref() == Some("1h") {
            price = price.with_long_cache();
        }
        match calls.service_tier.as_deref() {
            // The least that a batch saves is nothing: only reviews go in batches.
            None | Some(BATCH) => Some(price),
            Some(tier) => Some(price.times(self.prices.tier_factor(entry.name, tier)?)),
        }
    }
}

/// Names the endpoint of another platform, as the price list does; `None` for the vendor's own.
fn priced_endpoint(calls: &CallSettings, name: &str) -> Option<String> {
    let platform = calls.platform.as_deref().filter(|platform| *platform != "direct")?;
    let (_, model) = name.rsplit_once('/').unwrap_or_default();
    // Bedrock: `us.`, `eu.` and others before the vendor's name are regional inference profiles, `global.` is none.
    let region = model.split_once(".anthropic.").map_or("", |(region, _)| region);
    let part = match (platform, region, calls.region.as_deref()) {
        ("bedrock", "us-gov", _) => "/gov",
        ("bedrock", _, Some(place)) if place.starts_with("us-gov") => "/gov",
        ("bedrock", "" | "global", _) | ("vertex", _, Some("global")) => "",
        ("bedrock" | "vertex", _, _) => "/regional",
        _ => "",
    };
    Some(format!("{platform}{part}"))
}

/// The profile of a model that sees no pictures.
const TEXT_PROFILE: &str = "text";
/// The profile of a model of few parameters.
const SMALL_PROFILE: &str = "small";
/// A model of up to so many parameters gets it: Qwen2.5-Coder 1.5B acts by it and by no other shipped one.
const MAX_SMALL_PARAMETERS: u64 = 3_500_000_000;

/// What the client of a model is made of.
struct Parts {
    api: ProviderApi,
    config: HostedConfig,
    transport: Transport,
}

/// Which responses are streamed. Servers of one's own are asked for calls in one piece, unless the settings say otherwise.
fn streaming(api: ProviderApi, calls: &CallSettings) -> Streaming {
    let framed = calls.platform.as_deref() == Some("bedrock");
    match calls.stream {
        Some(true) => Streaming::Always,
        Some(false) => Streaming::Never,
        None if api == ProviderApi::Compat => Streaming::WithoutTools,
        None if framed && !cfg!(feature = "bedrock") => Streaming::Never,
        None => Streaming::Always,
    }
}

/// Returns the time limits of a model's requests.
pub(super) fn timeouts(api: ProviderApi, calls: &CallSettings) -> Timeouts {
    let usual = Timeouts::default();
    let limit = |seconds: Option<f64>, usual| seconds.map_or(usual, Duration::from_secs_f64);
    let whole = limit(calls.total_timeout_s, usual.whole);
    // A server of one's own may read a long prompt for minutes before its first byte.
    let soon = streaming(api, calls) == Streaming::Always;
    let first_byte = if soon { FIRST_BYTE.min(whole) } else { whole };
    Timeouts {
        connect: limit(calls.connect_timeout_s, usual.connect),
        first_byte: limit(calls.first_byte_timeout_s, first_byte),
        idle: limit(calls.idle_timeout_s, usual.idle),
        whole,
    }
}

/// The client of any provider.
pub(super) struct Adapter(pub(super) Box<dyn IdentitySource>);

impl ChatModel for Adapter {
    fn profile(&self) -> &ModelProfile {
        self.0.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        self.0.reply(request)
    }
}

/// Returns the settings of an Anthropic model, without a tariff.
fn anthropic(
    model: String,
    endpoint: Endpoint,
    provider: &Provider,
    facts: ModelDefaults,
    calls: CallOptions,
) -> Result<AnthropicConfig, Failure> {
    let version = provider.version.as_deref().unwrap_or(ApiVersion::default().as_str());
    let version = ApiVersion::named(version).ok_or_else(|| {
        Failure::say(Kind::Config, format!("provider.anthropic.version: there is no version {version:?}"))
    })?;
    let effort = provider.calls.effort.as_deref().and_then(Effort::named);
    let forget_above = provider.forget_above.filter(|above| *above > 0);
    let tariff = None::<Tariff>;
    Ok(AnthropicConfig {
        model,
        endpoint,
        version,
        facts,
        effort,
        page_scripts: false,
        forget_above,
        tariff,
        calls,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CallSettings, ProviderApi, Streaming, streaming, timeouts};

    #[test]
    fn a_stream_begins_soon_and_an_answer_in_one_piece_when_it_is_whole() {
        let given = |text: &str| toml::from_str::<CallSettings>(text).expect("settings");
        let first = |api, text: &str| timeouts(api, &given(text)).first_byte;
        let seconds = Duration::from_secs;
        assert_eq!(first(ProviderApi::OpenAi, ""), seconds(120));
        assert_eq!(first(ProviderApi::OpenAi, "stream = false"), seconds(600));
        assert_eq!(first(ProviderApi::Compat, ""), seconds(600));
        assert_eq!(first(ProviderApi::Compat, "total_timeout_s = 1800.0"), seconds(1800));
        assert_eq!(first(ProviderApi::OpenAi, "total_timeout_s = 30.0"), seconds(30));
        assert_eq!(first(ProviderApi::OpenAi, "first_byte_timeout_s = 900.0"), seconds(900));
        let bedrock = given("platform = \"bedrock\"");
        let framed = if cfg!(feature = "bedrock") { Streaming::Always } else { Streaming::Never };
        assert_eq!(streaming(ProviderApi::Anthropic, &bedrock), framed);
        assert_eq!(streaming(ProviderApi::Anthropic, &given("platform = \"vertex\"")), Streaming::Always);
        assert_eq!(streaming(ProviderApi::Compat, &given("")), Streaming::WithoutTools);
        assert_eq!(streaming(ProviderApi::Compat, &given("stream = true")), Streaming::Always);
    }
}
