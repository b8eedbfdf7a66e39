//! Anthropic's Messages API: the computer and browser toolsets, the older computer tools, reasoning blocks that must be
//! sent back unchanged, prompt caching, and server-side context editing.

mod batch;
mod browser;
mod decode;
mod encode;
mod model_defaults;
mod stream;

use apprentice_protocol::{BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::http::{Endpoint, Header, KeyHeader, PictureCache, Platform, Transport};
use crate::identity::{IdentitySource, ModelIdentity, fetch_identity, non_empty_text};
use crate::options::CallOptions;
use crate::price::Tariff;
use crate::written_calls::refuse_written_calls;

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
    /// Options of its calls.
    pub calls: CallOptions,
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
        let limit = config.calls.max_output_tokens;
        let profile = config.facts.model_profile(&format!("anthropic/{}", config.model), limit);
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
        let mut headers = self.headers().await?;
        headers.extend(self.betas(request).map(|betas| ("anthropic-beta", betas)));
        if self.config.calls.stream.always() && self.config.endpoint.platform == Platform::Bedrock {
            headers.push(("accept", "application/vnd.amazon.eventstream".to_owned()));
        }
        let mut assembler = stream::MessageAssembler::default();
        let streamed = self.config.calls.streamed(&mut assembler);
        let url = self.config.endpoint.url(&self.config.path());
        let body = self.body(request)?;
        headers.extend(self.config.endpoint.signature(&url, &body, self.transport.now())?);
        let answer = self.transport.ask(&url, &headers, body, streamed).await?;
        let decoded = decode::reply(&answer.body, browser::front_tab(request));
        let mut decoded = decoded.map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
        refuse_written_calls(&mut decoded, request);
        Ok(decoded.into_reply(answer.took, self.config.tariff.as_ref()))
    }

    async fn headers(&self) -> Result<Vec<Header>, ModelError> {
        let Endpoint { platform, .. } = &self.config.endpoint;
        let key = self.config.endpoint.authorization(KeyHeader::Named("x-api-key")).await?;
        // Platforms that name the model in the path take the version in the body.
        let in_header = matches!(platform, Platform::Direct | Platform::Azure { .. });
        let version = in_header.then(|| ("anthropic-version", self.config.version.as_str().to_owned()));
        Ok(key.into_iter().chain(version).collect())
    }

    /// Requests the server's description of the model.
    async fn describe(&self) -> Result<Value, ModelError> {
        let url = self.config.endpoint.url(&format!("/v1/models/{}", self.config.model));
        self.transport.get_json(&url, &self.headers().await?).await
    }
}

impl AnthropicConfig {
    /// Returns the path of a request. Other platforms name the model in it, and in place of the body.
    fn path(&self) -> String {
        match &self.endpoint.platform {
            Platform::Direct | Platform::Azure { .. } => "/v1/messages".to_owned(),
            Platform::Vertex { project, region } => {
                let how = if self.calls.stream.always() { "streamRawPredict" } else { "rawPredict" };
                let model = &self.model;
                format!("/v1/projects/{project}/locations/{region}/publishers/anthropic/models/{model}:{how}")
            }
            Platform::Bedrock => {
                let how = if self.calls.stream.always() { "invoke-with-response-stream" } else { "invoke" };
                format!("/model/{}/{how}", path_segment(&self.model))
            }
        }
    }
}

/// Encodes a model's name for a path, as Amazon's own clients do: a name may be an address with slashes.
fn path_segment(name: &str) -> String {
    const ENCODED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':').remove(b';');
    utf8_percent_encode(name, ENCODED).to_string()
}

impl ChatModel for Anthropic {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl IdentitySource for Anthropic {
    fn identity(&self) -> BoxFuture<'_, ModelIdentity> {
        if self.config.endpoint.platform != Platform::Direct {
            // Other platforms describe no models at this address.
            return Box::pin(std::future::ready(ModelIdentity::default()));
        }
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
