//! Anthropic's Messages API: the computer and browser toolsets, the older computer tools, reasoning blocks that must be
//! sent back unchanged, prompt caching, and server-side context editing.

mod browser;
mod decode;
mod encode;
mod model_defaults;

use apprentice_protocol::{ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile, PortFuture};
use serde_json::Value;

use crate::model::http::{Endpoint, PictureCache, Transport};
use crate::model::identity::{IdentitySource, ModelIdentity, fetch_identity, non_empty_text};
use crate::model::price::Tariff;

pub use model_defaults::{ApiVersion, ComputerTool, Effort, ModelDefaults, Thinking};

/// The settings of one Anthropic model.
#[derive(Clone, Debug)]
pub struct AnthropicConfig {
    /// The model's id.
    pub model: String,
    /// The API's address and key.
    pub endpoint: Endpoint,
    /// The version of the API to use.
    pub version: ApiVersion,
    /// The built-in settings of the model.
    pub facts: ModelDefaults,
    /// The reasoning effort; `None` leaves the provider's default.
    pub effort: Option<Effort>,
    /// Whether the world runs the scripts of a model, so that it may be offered to write them.
    pub page_scripts: bool,
    /// Input tokens above which the server clears old tool results; `None` turns that off.
    pub forget_above: Option<u64>,
    /// The tariff; `None` when it is unknown.
    pub tariff: Option<Tariff>,
}

/// An Anthropic model. It sends one request per reply and does not retry.
#[derive(Debug)]
pub struct Anthropic {
    config: AnthropicConfig,
    profile: ModelProfile,
    transport: Transport,
    fragments: PictureCache,
}

impl Anthropic {
    /// Creates a client of the Messages API.
    pub fn new(config: AnthropicConfig, transport: Transport) -> Self {
        let profile = config.facts.model_profile(&format!("anthropic/{}", config.model));
        Self { config, profile, transport, fragments: PictureCache::default() }
    }

    /// Returns the body of a request as it is sent.
    pub fn body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        encode::body(&self.config, request, &self.fragments)
    }

    /// Returns the value of the header that lists the beta features of a request.
    pub fn betas(&self, request: &ChatRequest) -> Option<String> {
        encode::betas(&self.config, request)
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let url = format!("{}/v1/messages", self.config.endpoint.base_url);
        let betas = self.betas(request);
        let mut headers = self.headers();
        headers.extend(betas.iter().map(|betas| ("anthropic-beta", betas.as_str())));
        let answer = self.transport.post(&url, &headers, self.body(request)?).await?;
        let decoded = decode::reply(&answer.body, browser::front_tab(request));
        let decoded = decoded.map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
        Ok(decoded.into_reply(answer.took, self.config.tariff.as_ref()))
    }

    fn headers(&self) -> Vec<(&'static str, &str)> {
        let key = self.config.endpoint.key.iter().map(|key| ("x-api-key", key.reveal()));
        key.chain([("anthropic-version", self.config.version.as_str())]).collect()
    }

    /// Requests the server's description of the model.
    async fn describe(&self) -> Result<Value, ModelError> {
        let url = format!("{}/v1/models/{}", self.config.endpoint.base_url, self.config.model);
        self.transport.get_json(&url, &self.headers()).await
    }
}

impl ChatModel for Anthropic {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl IdentitySource for Anthropic {
    fn identity(&self) -> PortFuture<'_, ModelIdentity> {
        Box::pin(fetch_identity(self.describe(), identity, &self.transport))
    }
}

/// Reads the model's identity from the server's description.
fn identity(told: &Value) -> ModelIdentity {
    ModelIdentity {
        id: non_empty_text(&told["id"]),
        revision: non_empty_text(&told["created_at"]),
        context_tokens: told["max_input_tokens"].as_u64(),
        ..ModelIdentity::default()
    }
}
