//! The exact model behind a server, as far as the server reports it. The server is asked once, within a deadline. A
//! missing answer means unknown, never failure.

use std::time::Duration;

use apprentice_protocol::{BoxFuture, ChatModel, ModelError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::http::Transport;

/// Timeout for all identity requests together.
pub(super) const IDENTITY_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer texts of a server are cut, because they are stored with every run.
const MAX_TEXT: usize = 200;

/// Requests the description of a model at one address and parses it with `read`. Returns an unknown identity when the
/// server does not answer in time.
pub(super) async fn fetch_identity(
    describing: impl Future<Output = Result<Value, ModelError>>,
    read: fn(&Value) -> ModelIdentity,
    transport: &Transport,
) -> ModelIdentity {
    let told = tokio::time::timeout(IDENTITY_TIMEOUT, describing).await;
    told.ok().and_then(Result::ok).map(|told| read(&told)).unwrap_or_default().redacted(transport)
}

/// A model as its server reports it. A `None` field is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ModelIdentity {
    /// The exact model: an id, a repository, or a path on the server.
    #[serde(default)]
    pub id: Option<String>,
    /// The model's version, digest or date.
    #[serde(default)]
    pub revision: Option<String>,
    /// The quantization of its weights.
    #[serde(default)]
    pub quantization: Option<String>,
    /// Context length in tokens, request and answer together.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    /// The serving program, with its version if the server reports one.
    #[serde(default)]
    pub server: Option<String>,
    /// Whether the server presents tools to the model: its chat template knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether the server reads the model's calls, and does not leave them in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_calls: Option<bool>,
    /// Whether the model sees pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// The number of the model's parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// The names that the server lists, where the model's is not among them. It belongs to no record.
    #[serde(skip)]
    pub served: Vec<String>,
}

impl ModelIdentity {
    /// Returns whether the server reported no identity at all.
    pub fn is_unknown(&self) -> bool {
        Self { served: Vec::new(), ..self.clone() } == Self::default()
    }

    /// Returns the known fields of `self`, filled up from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            id: self.id.or(other.id),
            revision: self.revision.or(other.revision),
            quantization: self.quantization.or(other.quantization),
            context_tokens: self.context_tokens.or(other.context_tokens),
            server: self.server.or(other.server),
            tools: self.tools.or(other.tools),
            reads_calls: self.reads_calls.or(other.reads_calls),
            vision: self.vision.or(other.vision),
            parameters: self.parameters.or(other.parameters),
            served: self.served,
        }
    }

    /// Returns the identity without secrets: a server may echo its credentials.
    pub(super) fn redacted(self, transport: &Transport) -> Self {
        let clean = |words: Option<String>| words.map(|words| transport.clean(&words));
        Self {
            id: clean(self.id),
            revision: clean(self.revision),
            quantization: clean(self.quantization),
            context_tokens: self.context_tokens,
            server: clean(self.server),
            ..self
        }
    }

    /// Returns the names of the fields that changed between two reports. An unknown field equals everything.
    pub fn differences(&self, now: &Self) -> Vec<&'static str> {
        let differs = |before: &Option<String>, now: &Option<String>| {
            before.as_ref().zip(now.as_ref()).is_some_and(|(before, now)| before != now)
        };
        [
            ("id", differs(&self.id, &now.id)),
            ("revision", differs(&self.revision, &now.revision)),
            ("quantization", differs(&self.quantization, &now.quantization)),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }
}

/// A model behind a server that reports what it serves.
pub trait IdentitySource: ChatModel {
    /// Asks the server for the model's identity.
    fn identity(&self) -> BoxFuture<'_, ModelIdentity>;
}

/// Returns the text of a JSON value, or `None` when it is empty or not a text.
pub(super) fn non_empty_text(value: &Value) -> Option<String> {
    let text = value.as_str().map(str::trim).filter(|text| !text.is_empty())?;
    Some(text.chars().take(MAX_TEXT).collect())
}

#[cfg(test)]
mod tests {
    use super::ModelIdentity;

    #[test]
    fn only_what_both_sides_know_can_differ() {
        let named = |quantization: Option<&str>| ModelIdentity {
            id: Some("m".into()),
            quantization: quantization.map(str::to_owned),
            ..ModelIdentity::default()
        };
        assert_eq!(named(Some("fp8")).differences(&named(Some("awq"))), ["quantization"]);
        assert!(named(Some("fp8")).differences(&named(None)).is_empty());
        assert!(ModelIdentity::default().is_unknown() && !named(None).is_unknown());
    }
}
