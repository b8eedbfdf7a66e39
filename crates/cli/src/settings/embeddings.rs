//! Settings of search and comparison by meaning: the built-in vectors, none, or a server's model.

use std::path::PathBuf;

use apprentice_models::embeddings::{EmbeddingsConfig, Sides};
use apprentice_models::http::{Endpoint, Secret};
use serde::Deserialize;

use crate::failure::Failure;
use crate::settings::key;
use crate::settings::value_type::ValueType;

/// Settings of the table `embeddings` that have no default, with their types.
pub(crate) const OPTIONAL: &[(&str, ValueType)] = &[
    ("dimensions", ValueType::Whole),
    ("key_file", ValueType::Text),
    ("key_command", ValueType::Text),
    ("query_prefix", ValueType::Text),
    ("passage_prefix", ValueType::Text),
    ("query_type", ValueType::Text),
    ("passage_type", ValueType::Text),
    ("usd_per_million", ValueType::Number),
];

/// The server's endpoint and the model's options.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbeddingsSettings {
    /// The model; `builtin` needs no server, `words` is none, `cassette:FILE` replays recorded vectors.
    pub(crate) model: String,
    /// Base URL of the API.
    pub(crate) base_url: String,
    /// Name of the environment variable with the key.
    pub(crate) key_env: String,
    /// File with the key; other users must not have access to it.
    pub(crate) key_file: Option<PathBuf>,
    /// Command that prints the key.
    pub(crate) key_command: Option<String>,
    /// Maximum number of texts per request.
    pub(crate) batch: usize,
    /// Length of the vectors, for models that offer several.
    pub(crate) dimensions: Option<u32>,
    /// Prefix of queries.
    pub(crate) query_prefix: Option<String>,
    /// Prefix of skills.
    pub(crate) passage_prefix: Option<String>,
    /// `input_type` sent with queries.
    pub(crate) query_type: Option<String>,
    /// `input_type` sent with skills.
    pub(crate) passage_type: Option<String>,
    /// US dollars per million tokens.
    pub(crate) usd_per_million: Option<f64>,
}

impl EmbeddingsSettings {
    /// Returns the key, if there is one.
    pub(crate) fn key(&self) -> Result<Option<Secret>, Failure> {
        let Self { key_command, key_file, key_env, .. } = self;
        let place =
            key::Place { command: key_command.as_deref(), file: key_file.as_deref(), variable: key_env };
        key::at(&place)
    }

    /// Returns the configuration of the client.
    pub(crate) fn model_config(&self, model: &str, key: Option<Secret>) -> EmbeddingsConfig {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        // A local server charges no price per token.
        let own = key::on_this_machine(&self.base_url).then_some(0.0);
        EmbeddingsConfig {
            model: model.to_owned(),
            endpoint: Endpoint::new(&self.base_url, key),
            dimensions: self.dimensions,
            batch: self.batch,
            prefix: Sides { query: text(&self.query_prefix), passage: text(&self.passage_prefix) },
            input_type: Sides { query: text(&self.query_type), passage: text(&self.passage_type) },
            usd_per_million: self.usd_per_million.or(own),
        }
    }
}
