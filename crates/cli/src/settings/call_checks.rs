//! Checks that a provider can honour the settings of calls. What it cannot honour is refused with the key's name and a
//! remedy, and is never ignored.

use apprentice_models::anthropic::{Effort, ModelDefaults, Thinking};
use apprentice_models::http::{ExtraHeaders, Platform};
use apprentice_models::limits::output_limit;
use apprentice_models::options::CacheLifetime;

use crate::failure::{Failure, Kind};
use crate::settings::call_settings::CallSettings;
use crate::settings::provider::{PROVIDERS, ProviderApi, Providers};

/// The efforts of OpenAI's models, which other servers spell likewise.
const OPENAI_EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const GEMINI_EFFORTS: &[&str] = &["minimal", "low", "medium", "high", "xhigh"];
const ANTHROPIC_EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];
/// The least reasoning budget of Anthropic's API, in tokens.
const LEAST_BUDGET: u32 = 1024;
/// The output limit of Anthropic's adapter, in tokens, where no setting names another.
const ANTHROPIC_OUTPUT: u32 = 16_000;
/// Anthropic's own clients ask for more output than this only as a stream: in one piece it takes above ten minutes.
const UNSTREAMED_OUTPUT: u32 = 21_333;

/// The tier of reviews that wait up to a day for their answers. It is an API of its own.
pub(crate) const BATCH: &str = "batch";
/// Gemini's batches take requests of another API than the one that it is asked by here.
const NO_BATCHES: (&str, &str) =
    ("requests of this provider are not sent in batches", "set service_tier = \"flex\", or remove it");

/// Where a setting stands, for messages: its name without the table, to its full name.
pub(crate) type Place<'a> = &'a dyn Fn(&str) -> String;

/// Returns an error for a provider's setting that it cannot honour, whatever the model.
pub(crate) fn check_providers(all: &Providers) -> Result<(), Failure> {
    PROVIDERS.iter().try_for_each(|entry| {
        let place = |key: &str| format!("provider.{}.{key}", entry.name);
        check_each(entry.api, &entry.settings(all).calls, &place)
    })
}

/// Checks each setting by itself.
pub(crate) fn check_each(api: ProviderApi, calls: &CallSettings, place: Place<'_>) -> Result<(), Failure> {
    for name in calls.names() {
        if let Some((why, remedy)) = not_taken(api, name) {
            return Err(Failure::say(Kind::Config, format!("{}: {why}", place(name))).hint(remedy));
        }
    }
    let batch = calls.service_tier.as_deref() == Some(BATCH);
    if batch && matches!(api, ProviderApi::Gemini | ProviderApi::Compat) {
        let (why, remedy) = NO_BATCHES;
        return Err(Failure::say(Kind::Config, format!("{}: {why}", place("service_tier"))).hint(remedy));
    }
    for (name, value, valid) in [
        ("effort", &calls.effort, efforts(api)),
        ("service_tier", &calls.service_tier, tiers(api)),
        ("platform", &calls.platform, platforms(api)),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !valid.contains(value)) {
            return Err(unknown_value(&place(name), value, valid));
        }
    }
    if let Some(ttl) = calls.cache_ttl.as_deref().filter(|ttl| CacheLifetime::named(ttl).is_none()) {
        return Err(unknown_value(&place("cache_ttl"), ttl, &["5m", "1h"]));
    }
    check_numbers(calls, place)?;
    for (name, value) in
        [("api_version", &calls.api_version), ("project", &calls.project), ("region", &calls.region)]
    {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
        if value.as_deref().is_some_and(|value| value.is_empty() || !value.chars().all(plain)) {
            let story = format!("{}: it may hold letters, digits, '-', '.', '_' and ':' only", place(name));
            return Err(Failure::say(Kind::Config, story));
        }
    }
    headers(calls, place, &|_| Some("value".to_owned())).map(drop)
}

fn check_numbers(calls: &CallSettings, place: Place<'_>) -> Result<(), Failure> {
    for (name, seconds) in [
        ("connect_timeout_s", calls.connect_timeout_s),
        ("first_byte_timeout_s", calls.first_byte_timeout_s),
        ("idle_timeout_s", calls.idle_timeout_s),
        ("total_timeout_s", calls.total_timeout_s),
        ("batch_timeout_s", calls.batch_timeout_s),
    ] {
        // A week is beyond any answer, and far below what a duration can hold.
        if seconds.is_some_and(|seconds| !(0.001..=604_800.0).contains(&seconds)) {
            let story = format!("{}: a time limit is between 0.001 and 604800 seconds", place(name));
            return Err(Failure::say(Kind::Config, story));
        }
    }
    if calls.max_output_tokens == Some(0) {
        return Err(Failure::say(
            Kind::Config,
            format!("{}: it must be above zero", place("max_output_tokens")),
        ));
    }
    if calls.thinking_budget.is_some_and(|budget| budget < LEAST_BUDGET) {
        let story = format!("{}: the least budget is {LEAST_BUDGET} tokens", place("thinking_budget"));
        return Err(Failure::say(Kind::Config, story));
    }
    Ok(())
}

/// Returns why a provider does not take a setting, and what to do instead.
fn not_taken(api: ProviderApi, name: &str) -> Option<(&'static str, &'static str)> {
    use ProviderApi::{Anthropic, Compat, Gemini, OpenAi};
    match (name, api) {
        ("thinking_budget", OpenAi | Gemini | Compat) => {
            Some(("this provider takes no budget of reasoning tokens", "set `effort` instead"))
        }
        ("cache_ttl", OpenAi | Gemini | Compat) => {
            Some(("this provider takes no lifetime of cache entries", "remove it; its cache works by itself"))
        }
        ("batch_timeout_s", Gemini | Compat) => Some(NO_BATCHES),
        ("prompt_cache_key", Anthropic | Gemini) => {
            Some(("this provider takes no cache key", "remove it; its cache works by itself"))
        }
        ("api_version", Anthropic | Gemini) => {
            Some(("only Azure takes a version of the API here", "for Anthropic's own API, set `version`"))
        }
        ("project", OpenAi | Compat) | ("region", OpenAi | Compat) => Some((
            "only Vertex and Bedrock have projects and regions",
            "remove it, or give the whole base_url",
        )),
        _ => None,
    }
}

fn efforts(api: ProviderApi) -> &'static [&'static str] {
    match api {
        ProviderApi::Anthropic => ANTHROPIC_EFFORTS,
        ProviderApi::OpenAi | ProviderApi::Compat => OPENAI_EFFORTS,
        ProviderApi::Gemini => GEMINI_EFFORTS,
    }
}

/// The tiers of a provider. All but [`BATCH`] answer at once, and are sent by their names.
fn tiers(api: ProviderApi) -> &'static [&'static str] {
    match api {
        ProviderApi::Anthropic => &["auto", "standard_only", BATCH],
        ProviderApi::OpenAi => &["auto", "default", "flex", "priority", "scale", "fast", "ultrafast", BATCH],
        ProviderApi::Gemini => &["standard", "flex", "priority"],
        ProviderApi::Compat => &["auto", "default", "flex", "priority"],
    }
}

fn platforms(api: ProviderApi) -> &'static [&'static str] {
    match api {
        ProviderApi::Anthropic => &["direct", "vertex", "bedrock"],
        ProviderApi::OpenAi | ProviderApi::Compat => &["direct", "azure"],
        ProviderApi::Gemini => &["direct", "vertex"],
    }
}

fn unknown_value(key: &str, value: &str, valid: &[&str]) -> Failure {
    let failure = Failure::say(Kind::Config, format!("{key}: there is no {value:?} here"));
    failure.hint(format!("this provider takes {}", valid.join(", ")))
}

/// Returns the headers to add, and those of their values that come from the environment.
pub(crate) fn headers(
    calls: &CallSettings,
    place: Place<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(ExtraHeaders, Vec<String>), Failure> {
    let (mut headers, mut secrets) = (ExtraHeaders::default(), Vec::new());
    let key = || place("headers");
    for line in calls.headers.iter().flatten() {
        let Some((name, value)) = line.split_once(':') else {
            return Err(Failure::say(Kind::Config, format!("{}: a header without a colon", key()))
                .hint("write each as \"Name: value\", or \"Name: env:VARIABLE\""));
        };
        let value = value.trim();
        let value = match value.strip_prefix("env:") {
            None => value.to_owned(),
            Some(name) => {
                let found = variable(name.trim()).filter(|value| !value.trim().is_empty());
                let found = found.ok_or_else(|| {
                    Failure::say(Kind::Config, format!("{}: the variable {name} is not set", key()))
                        .hint(format!("export {name}=…"))
                })?;
                secrets.push(found.trim().to_owned());
                found.trim().to_owned()
            }
        };
        let added = headers.add(name.trim(), &value);
        added.map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", key())))?;
    }
    Ok((headers, secrets))
}

/// Checks the settings of one model together.
pub(crate) fn check_together(
    api: ProviderApi,
    model: &str,
    calls: &CallSettings,
    base_url: &str,
    place: Place<'_>,
) -> Result<(), Failure> {
    let platform = calls.platform.as_deref().unwrap_or("direct");
    let refused = |name: &str, why: &str, remedy: &str| {
        Err(Failure::say(Kind::Config, format!("{}: {why}", place(name))).hint(remedy))
    };
    match platform {
        "azure" if calls.api_version.is_none() && !base_url.ends_with("/v1") => {
            return refused("api_version", "Azure needs it", "set it, or a base_url that ends in /openai/v1");
        }
        "vertex" if calls.project.is_none() => {
            return refused("project", "Vertex needs it", "set the project's id");
        }
        "vertex" | "bedrock" if calls.region.is_none() => {
            return refused(
                "region",
                "this platform needs it",
                "set it, such as \"us-east5\" or \"us-east-1\"",
            );
        }
        "bedrock" if calls.stream == Some(true) && !cfg!(feature = "bedrock") => {
            let remedy = "remove it, or build with `cargo build --release --features bedrock`";
            return refused("stream", "this build reads no streams of Bedrock", remedy);
        }
        "azure" | "vertex" | "bedrock" if calls.service_tier.as_deref() == Some(BATCH) => {
            return refused("service_tier", "only the vendor itself takes batches here", "remove it");
        }
        "vertex" | "bedrock" if api == ProviderApi::Anthropic && calls.service_tier.is_some() => {
            return refused("service_tier", "only Anthropic's own API takes it", "remove it");
        }
        _ => {}
    }
    let used = |name: &'static str, on: &[&str]| calls.names().contains(&name) && !on.contains(&platform);
    for (name, on) in
        [("api_version", &["azure"][..]), ("project", &["vertex"]), ("region", &["vertex", "bedrock"])]
    {
        if used(name, on) {
            let remedy = format!("set platform to {}, or remove it", on.join(" or "));
            return refused(name, &format!("the platform {platform} takes none"), &remedy);
        }
    }
    match api {
        ProviderApi::Anthropic => check_anthropic(model, calls, place),
        ProviderApi::OpenAi | ProviderApi::Gemini | ProviderApi::Compat => Ok(()),
    }
}

/// Returns what a model of Anthropic's takes, by its own name or that of its family.
pub(crate) fn anthropic_defaults(
    model: &str,
    calls: &CallSettings,
    place: Place<'_>,
) -> Result<ModelDefaults, Failure> {
    let named = calls.family.as_deref().unwrap_or(model);
    ModelDefaults::of(named).ok_or_else(|| {
        let story = format!(
            "{named:?} names no model of Anthropic's of which it is known which computer tool it takes"
        );
        Failure::say(Kind::Config, story).hint(format!(
            "set {} to the model that it stands for, or that it is most like, such as \"claude-opus-5-5\"",
            place("family")
        ))
    })
}

/// Checks that a reply of this many tokens exists. `name` is the model's full name.
pub(crate) fn check_output(name: &str, calls: &CallSettings, place: Place<'_>) -> Result<(), Failure> {
    let family =
        calls.family.as_deref().and_then(|family| Some(format!("{}/{family}", name.split_once('/')?.0)));
    match (calls.max_output_tokens, output_limit(family.as_deref().unwrap_or(name))) {
        (Some(asked), Some(limit)) if asked > limit => {
            let key = place("max_output_tokens");
            Err(Failure::say(
                Kind::Config,
                format!("{key}: {name} gives at most {limit} tokens, not {asked}"),
            )
            .hint(format!("set it to {limit} or less")))
        }
        _ => Ok(()),
    }
}

fn check_anthropic(model: &str, calls: &CallSettings, place: Place<'_>) -> Result<(), Failure> {
    let thinking = anthropic_defaults(model, calls, place)?.thinking;
    let refused = |name: &str, why: String, remedy: &str| {
        Err(Failure::say(Kind::Config, format!("{}: {why}", place(name))).hint(remedy))
    };
    if calls.effort.as_deref().and_then(Effort::named).is_some() && thinking != Thinking::Adaptive {
        return refused("effort", format!("{model} takes no effort"), "set `thinking_budget`, or remove it");
    }
    let output = calls.max_output_tokens.unwrap_or(ANTHROPIC_OUTPUT);
    if let Some(budget) = calls.thinking_budget {
        if thinking != Thinking::Enabled {
            return refused("thinking_budget", format!("{model} takes no budget"), "set `effort` instead");
        }
        if budget >= output {
            let why = format!("the budget of {budget} tokens leaves nothing of {output} for the answer");
            return refused("thinking_budget", why, "lower it, or raise max_output_tokens");
        }
    }
    let direct = calls.platform.as_deref().unwrap_or("direct") == "direct";
    if direct && calls.stream == Some(false) && output > UNSTREAMED_OUTPUT {
        let why = format!("{output} output tokens take too long in one piece");
        return refused(
            "stream",
            why,
            &format!("set stream = true, or max_output_tokens to {UNSTREAMED_OUTPUT}"),
        );
    }
    Ok(())
}

/// Returns the platform that the settings name. They have been checked.
pub(crate) fn platform(calls: &CallSettings) -> Platform {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    match calls.platform.as_deref() {
        Some("azure") => Platform::Azure { api_version: calls.api_version.clone() },
        Some("vertex") => Platform::Vertex { project: text(&calls.project), region: text(&calls.region) },
        Some("bedrock") => Platform::Bedrock,
        Some(_) | None => Platform::Direct,
    }
}

/// Returns the variable in which a platform's key is looked for, where the settings have only the vendor's own: a vendor's
/// key is not sent to somebody else.
pub(crate) fn key_variable(calls: &CallSettings) -> Option<&'static str> {
    match calls.platform.as_deref()? {
        "azure" => Some("AZURE_OPENAI_API_KEY"),
        "vertex" => Some("GOOGLE_OAUTH_ACCESS_TOKEN"),
        "bedrock" => Some("AWS_BEARER_TOKEN_BEDROCK"),
        _ => None,
    }
}

/// Returns the platform's address, where the settings have only the vendor's own.
pub(crate) fn address(calls: &CallSettings) -> Option<String> {
    let region = calls.region.as_deref()?;
    match (calls.platform.as_deref()?, region) {
        ("vertex", "global") => Some("https://aiplatform.googleapis.com".into()),
        ("vertex", "us" | "eu") => Some(format!("https://aiplatform.{region}.rep.googleapis.com")),
        ("vertex", _) => Some(format!("https://{region}-aiplatform.googleapis.com")),
        ("bedrock", _) => Some(format!("https://bedrock-runtime.{region}.amazonaws.com")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ProviderApi, address, check_each, check_output, check_together, headers};
    use crate::settings::call_settings::CallSettings;

    fn read(text: &str) -> CallSettings {
        toml::from_str(text).expect("settings")
    }

    fn checked((api, model): (ProviderApi, &str), text: &str) -> String {
        let (calls, place) = (read(text), |name: &str| format!("role.x.{name}"));
        let base = "https://h/openai";
        let all = check_each(api, &calls, &place)
            .and_then(|()| check_together(api, model, &calls, base, &place))
            .and_then(|()| check_output(&format!("anthropic/{model}"), &calls, &place));
        all.map_or_else(|failure| failure.to_string(), |()| "good".into())
    }

    #[test]
    fn what_a_provider_cannot_honour_is_refused_by_name_and_with_a_remedy() {
        use ProviderApi::{Anthropic, Compat, Gemini, OpenAi};
        let (new, old) = ((Anthropic, "claude-sonnet-5-5"), (Anthropic, "claude-haiku-4-5"));
        let (openai, gemini, compat) = ((OpenAi, "gpt-6.1-sol"), (Gemini, "gemini-3.8-flash"), (Compat, "m"));
        for (of, text, words) in [
            (openai, "thinking_budget = 2000", "role.x.thinking_budget: "),
            (gemini, "cache_ttl = \"1h\"", "role.x.cache_ttl: "),
            (new, "prompt_cache_key = \"k\"", "role.x.prompt_cache_key: "),
            (new, "cache_ttl = \"2h\"", "hint: this provider takes 5m, 1h"),
            (gemini, "effort = \"max\"", "hint: this provider takes minimal, low, medium, high, xhigh"),
            (openai, "service_tier = \"slow\"", "role.x.service_tier: there is no \"slow\" here"),
            (gemini, "service_tier = \"batch\"", "hint: set service_tier = \"flex\""),
            (
                compat,
                "batch_timeout_s = 9.0",
                "role.x.batch_timeout_s: requests of this provider are not sent",
            ),
            (
                openai,
                "platform = \"azure\"\napi_version = \"v\"\nservice_tier = \"batch\"",
                "only the vendor itself",
            ),
            (openai, "platform = \"bedrock\"", "hint: this provider takes direct, azure"),
            (old, "effort = \"high\"", "hint: set `thinking_budget`"),
            (new, "thinking_budget = 2000", "hint: set `effort` instead"),
            (old, "thinking_budget = 1000", "the least budget is 1024"),
            (old, "thinking_budget = 16000", "leaves nothing of 16000 for the answer"),
            (old, "max_output_tokens = 64001", "gives at most 64000 tokens, not 64001"),
            (new, "max_output_tokens = 21334\nstream = false", "hint: set stream = true"),
            (compat, "idle_timeout_s = 0.0", "role.x.idle_timeout_s: a time limit is between"),
            (compat, "max_output_tokens = 0", "must be above zero"),
            (compat, "headers = [\"no colon\"]", "role.x.headers: a header without a colon"),
            (compat, "headers = [\"Authorization: x\"]", "the header authorization is set by the program"),
            (compat, "platform = \"azure\"", "role.x.api_version: Azure needs it"),
            (openai, "api_version = \"v\"", "role.x.api_version: the platform direct takes none"),
            (openai, "platform = \"azure\"\napi_version = \"a&b\"", "letters, digits"),
            (new, "platform = \"vertex\"\nregion = \"global\"", "role.x.project: Vertex needs it"),
            (new, "platform = \"bedrock\"", "role.x.region: this platform needs it"),
            #[cfg(not(feature = "bedrock"))]
            (new, "platform = \"bedrock\"\nregion = \"r\"\nstream = true", "role.x.stream: "),
            (new, "platform = \"bedrock\"\nregion = \"r\"\nservice_tier = \"auto\"", "role.x.service_tier: "),
        ] {
            let told = checked(of, text);
            assert!(told.contains(words), "{text}: {told}");
        }
    }

    #[test]
    fn what_a_provider_takes_is_let_pass() {
        use ProviderApi::{Anthropic, Compat, Gemini, OpenAi};
        let (new, old) = ((Anthropic, "claude-sonnet-5-5"), (Anthropic, "claude-haiku-4-5"));
        for (of, text) in [
            (
                new,
                "effort = \"max\"\ncache_ttl = \"1h\"\nservice_tier = \"standard_only\"\nmax_output_tokens = 128000",
            ),
            (old, "thinking_budget = 15999\nstream = false"),
            (new, "max_output_tokens = 21333\nstream = false"),
            ((OpenAi, "m"), "effort = \"none\"\nprompt_cache_key = \"k\"\nservice_tier = \"flex\""),
            ((OpenAi, "m"), "platform = \"azure\"\napi_version = \"2026-10-01-preview\""),
            (
                (Gemini, "m"),
                "effort = \"xhigh\"\nservice_tier = \"flex\"\nplatform = \"vertex\"\nproject = \"p\"\nregion = \"eu\"",
            ),
            ((Compat, "m"), "stream = true\nheaders = [\"X-Team: a: b\"]\ntotal_timeout_s = 1800.0"),
        ] {
            assert_eq!(checked(of, text), "good", "{text}");
        }
    }

    #[test]
    fn headers_may_come_from_the_environment_and_are_secret_then() {
        let variable = |name: &str| (name == "GATE").then(|| " planted \n".to_owned());
        let place = |name: &str| format!("provider.compat.{name}");
        let (_, secrets) =
            headers(&read("headers = [\"X-Gate: env:GATE\", \"X-Team: a\"]"), &place, &variable)
                .expect("good");
        assert_eq!(secrets, ["planted"]);
        let told =
            headers(&read("headers = [\"X-Gate: env:OTHER\"]"), &place, &variable).expect_err("not set");
        assert!(
            told.to_string().contains("provider.compat.headers: the variable OTHER is not set"),
            "{told}"
        );
    }

    #[test]
    fn platforms_have_addresses_of_their_own() {
        for (text, expected) in [
            ("platform = \"vertex\"\nregion = \"global\"", Some("https://aiplatform.googleapis.com")),
            ("platform = \"vertex\"\nregion = \"eu\"", Some("https://aiplatform.eu.rep.googleapis.com")),
            (
                "platform = \"vertex\"\nregion = \"us-east5\"",
                Some("https://us-east5-aiplatform.googleapis.com"),
            ),
            (
                "platform = \"bedrock\"\nregion = \"us-east-1\"",
                Some("https://bedrock-runtime.us-east-1.amazonaws.com"),
            ),
            ("platform = \"azure\"\nregion = \"x\"", None),
            ("region = \"x\"", None),
        ] {
            assert_eq!(address(&read(text)).as_deref(), expected, "{text}");
        }
    }
}
