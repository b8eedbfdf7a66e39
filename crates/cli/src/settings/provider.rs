//! The providers of models: the table of their names and APIs, and their settings.

use std::path::PathBuf;

use apprentice_models::compat::History;
use serde::Deserialize;

use crate::settings::call_settings::CallSettings;
use crate::settings::value_type::ValueType;

/// An API that providers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProviderApi {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    OpenAi,
    /// Gemini's Interactions API.
    Gemini,
    /// `/chat/completions`, on a server that the user chooses.
    Compat,
}

/// One provider.
#[derive(Debug)]
pub(crate) struct ProviderEntry {
    /// The part of a model's name before the slash, and the name of the provider's table in the settings.
    pub(crate) name: &'static str,
    /// The API that its server speaks.
    pub(crate) api: ProviderApi,
    /// The default of `base_url`.
    pub(crate) vendor_url: &'static str,
    /// The default of `key_env`.
    pub(crate) vendor_key: &'static str,
    settings: fn(&Providers) -> &Provider,
}

/// All providers, in the order in which they are listed.
pub(crate) const PROVIDERS: &[ProviderEntry] = &[
    ProviderEntry {
        name: "anthropic",
        api: ProviderApi::Anthropic,
        vendor_url: "https://api.anthropic.com",
        vendor_key: "ANTHROPIC_API_KEY",
        settings: |all| &all.anthropic,
    },
    ProviderEntry {
        name: "openai",
        api: ProviderApi::OpenAi,
        vendor_url: "https://api.openai.com/v1",
        vendor_key: "OPENAI_API_KEY",
        settings: |all| &all.openai,
    },
    ProviderEntry {
        name: "gemini",
        api: ProviderApi::Gemini,
        vendor_url: "https://generativelanguage.googleapis.com",
        vendor_key: "GEMINI_API_KEY",
        settings: |all| &all.gemini,
    },
    ProviderEntry {
        name: "compat",
        api: ProviderApi::Compat,
        vendor_url: "http://127.0.0.1:8000/v1",
        vendor_key: "COMPAT_API_KEY",
        settings: |all| &all.compat,
    },
];

/// Returns a model's provider, and the model's name there, which is empty if only the provider is named.
pub(crate) fn provider_of(name: &str) -> Option<(&'static ProviderEntry, &str)> {
    let (provider, model) = name.split_once('/').unwrap_or((name, ""));
    Some((PROVIDERS.iter().find(|entry| entry.name == provider)?, model))
}

impl ProviderEntry {
    /// Returns this provider's settings.
    pub(crate) fn settings<'a>(&self, all: &'a Providers) -> &'a Provider {
        (self.settings)(all)
    }
}

/// Settings of each provider without a default, below its name, with their types.
pub(crate) const OPTIONAL: &[(&str, ValueType)] =
    &[("key_file", ValueType::Text), ("key_command", ValueType::Text), ("usd_per_hour", ValueType::Number)];

/// Settings without a default that only one provider has, with its name.
pub(crate) const OWN: &[(&str, &str, ValueType)] = &[
    ("anthropic", "version", ValueType::Text),
    ("anthropic", "forget_above", ValueType::Whole),
    ("compat", "profile", ValueType::Text),
    ("compat", "context_tokens", ValueType::Whole),
    ("compat", "history", ValueType::Text),
];

/// Endpoints and keys of the model providers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Providers {
    /// Anthropic's Messages API.
    pub(crate) anthropic: Provider,
    /// OpenAI's Responses API.
    pub(crate) openai: Provider,
    /// Gemini's Interactions API.
    pub(crate) gemini: Provider,
    /// Any server with `/chat/completions`.
    pub(crate) compat: Provider,
}

/// The endpoint, key and options of one provider.
///
/// Unknown keys are refused where settings are read; a flattened struct cannot refuse them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Provider {
    /// Base URL of the API.
    pub(crate) base_url: String,
    /// Name of the environment variable with the key.
    pub(crate) key_env: String,
    /// File with the key; other users must not have access to it.
    pub(crate) key_file: Option<PathBuf>,
    /// Command that prints the key.
    pub(crate) key_command: Option<String>,
    /// Concurrent calls per key.
    pub(crate) max_in_flight: u32,
    /// The version of the API (Anthropic).
    pub(crate) version: Option<String>,
    /// Number of input tokens above which the server drops old tool results (Anthropic).
    pub(crate) forget_above: Option<u64>,
    /// Profile of the model, by name or as a file (compat).
    pub(crate) profile: Option<String>,
    /// Context length in tokens, for servers that do not report it (compat).
    pub(crate) context_tokens: Option<u64>,
    /// What is left out of a conversation, and when; by default as the profile says (compat).
    pub(crate) history: Option<History>,
    /// US dollars per hour of the machine, for self-hosted models; zero for free (compat).
    pub(crate) usd_per_hour: Option<f64>,
    /// Settings of its calls.
    #[serde(flatten)]
    pub(crate) calls: CallSettings,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{PROVIDERS, ProviderApi, provider_of};
    use crate::settings::{Settings, Sources};

    #[test]
    fn the_table_has_every_provider_of_the_settings() {
        let settings = Settings::layer(&Sources::default()).expect("the defaults");
        let tables: BTreeSet<&str> = settings
            .rows()
            .filter_map(|(key, ..)| key.strip_prefix("provider.")?.split_once('.'))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(tables, PROVIDERS.iter().map(|entry| entry.name).collect());
        let config = settings.config().expect("typed");
        for entry in PROVIDERS {
            let key = format!("provider.{}.base_url", entry.name);
            let given = settings.rows().find(|row| row.0 == key).map(|row| row.1);
            assert_eq!(given, Some(format!("{:?}", entry.vendor_url)), "{key}");
            assert_eq!(entry.settings(&config.provider).key_env, entry.vendor_key, "{key}");
        }
    }

    #[test]
    fn a_model_belongs_to_the_provider_before_the_first_slash() {
        let (entry, model) = provider_of("compat/org/model").expect("a provider");
        assert_eq!((entry.api, model), (ProviderApi::Compat, "org/model"));
        assert_eq!(provider_of("compat").map(|(_, model)| model), Some(""));
        assert!(provider_of("builtin/novice").is_none());
    }
}
