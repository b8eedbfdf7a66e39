//! Settings of a model's calls, which a provider and a role have in common: time limits, what is asked for, headers,
//! and the platform that serves the model.

use serde::Deserialize;

use crate::settings::value_type::ValueType;

/// Defines the settings once: their fields, their types, and how a role's replace its provider's.
macro_rules! call_settings {
    ($($(#[$doc:meta])+ $name:ident: $type:ty => $form:ident,)+) => {
        /// Settings of calls. A setting without a value has a default that depends on the provider.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        pub(crate) struct CallSettings {
            $($(#[$doc])+ pub(crate) $name: Option<$type>,)+
        }

        /// The settings' names and types.
        pub(crate) const OPTIONAL: &[(&str, ValueType)] = &[$((stringify!($name), ValueType::$form)),+];

        impl CallSettings {
            /// Returns these settings, and those of `below` for what these leave open.
            pub(crate) fn over(&self, below: &Self) -> Self {
                Self { $($name: self.$name.clone().or_else(|| below.$name.clone()),)+ }
            }

            /// Returns the names of the settings that have a value.
            pub(crate) fn names(&self) -> Vec<&'static str> {
                [$((stringify!($name), self.$name.is_some())),+]
                    .into_iter()
                    .filter_map(|(name, given)| given.then_some(name))
                    .collect()
            }
        }
    };
}

call_settings! {
    /// Reasoning effort, in the provider's spelling.
    effort: String => Text,
    /// Reasoning tokens of one reply (Anthropic's models that take a budget).
    thinking_budget: u32 => Whole,
    /// Limit on the output tokens of one reply, reasoning included.
    max_output_tokens: u32 => Whole,
    /// Lifetime of cache entries: `5m` or `1h` (Anthropic).
    cache_ttl: String => Text,
    /// Key by which requests are brought to one cache (OpenAI, compat).
    prompt_cache_key: String => Text,
    /// Service tier, in the provider's spelling.
    service_tier: String => Text,
    /// Whether responses are streamed.
    stream: bool => Switch,
    /// Headers to add to every request, each as `Name: value` or `Name: env:VARIABLE`.
    headers: Vec<String> => Lines,
    /// Limit until the connection stands, in seconds.
    connect_timeout_s: f64 => Number,
    /// Limit until the head of the response, in seconds.
    first_byte_timeout_s: f64 => Number,
    /// Limit between two pieces of the response, in seconds.
    idle_timeout_s: f64 => Number,
    /// Limit until the end of the response, in seconds.
    total_timeout_s: f64 => Number,
    /// Limit until the end of a batch, in seconds.
    batch_timeout_s: f64 => Number,
    /// Who serves the model: `direct`, `azure`, `vertex` or `bedrock`.
    platform: String => Text,
    /// The vendor's name of the model behind the name of a deployment or of an inference profile.
    family: String => Text,
    /// Version of the API (Azure).
    api_version: String => Text,
    /// The project's id (Vertex).
    project: String => Text,
    /// The region (Vertex, Bedrock).
    region: String => Text,
    /// Command that prints a token that expires; it is run again every five minutes.
    token_command: String => Text,
}

#[cfg(test)]
mod tests {
    use super::CallSettings;

    #[test]
    fn a_roles_settings_replace_those_of_its_provider_one_by_one() {
        let provider = CallSettings {
            effort: Some("low".into()),
            headers: Some(vec!["a: b".into()]),
            ..CallSettings::default()
        };
        let role =
            CallSettings { effort: Some("high".into()), stream: Some(false), ..CallSettings::default() };
        let both = role.over(&provider);
        assert_eq!((both.effort.as_deref(), both.stream), (Some("high"), Some(false)));
        assert_eq!(both.names(), ["effort", "stream", "headers"]);
    }
}
