//! Gemini's Interactions API: computer use on desktops and in browsers, on a grid of a thousand lines. Interactions
//! are replayed whole and stored nowhere else.

mod decode;
mod encode;

use apprentice_protocol::{
    ChatModel, ChatReply, ChatRequest, CoordinateSpace, HistoryRule, ImageRule, ModelError, ModelProfile,
    PortFuture, ReplyStop, Size, ToolRule,
};
use serde_json::Value;

use crate::model::exchange::{Endpoint, Fragments, Transport};
use crate::model::price::Tariff;
use crate::model::safety::SafetyPolicy;

const PICTURE: Size = Size::new(1440, 900);
const MAX_REQUEST_BYTES: u64 = 18 << 20;
const MAX_OUTPUT_TOKENS: u32 = 16_000;
/// Points are given from 0 to 999, in thousandths of the picture.
const GRID: u32 = 1000;

/// What one of Gemini's models needs.
#[derive(Clone, Debug)]
pub struct GeminiConfig {
    /// The model's id.
    pub model: String,
    /// Where the API is.
    pub endpoint: Endpoint,
    /// How hard it is to think (`minimal` to `xhigh`), if it is told.
    pub effort: Option<String>,
    /// Who answers safety decisions.
    pub safety: SafetyPolicy,
    /// What it costs, if that is known.
    pub tariff: Option<Tariff>,
}

/// One of Gemini's models. One exchange per reply; it never tries again by itself.
#[derive(Debug)]
pub struct Gemini {
    config: GeminiConfig,
    profile: ModelProfile,
    transport: Transport,
    fragments: Fragments,
}

impl Gemini {
    /// A client of the Interactions API.
    pub fn new(config: GeminiConfig, transport: Transport) -> Self {
        let name = format!("gemini/{}", config.model);
        let profile = ModelProfile {
            consumer: name.clone(),
            name,
            space: CoordinateSpace::Grid { max: GRID },
            images: ImageRule::Within { size: PICTURE },
            outline: false,
            history: HistoryRule::AppendOnly { max_request_bytes: MAX_REQUEST_BYTES, uploads: false },
            tools: ToolRule::Fixed,
            max_output_tokens: MAX_OUTPUT_TOKENS,
        };
        Self { config, profile, transport, fragments: Fragments::default() }
    }

    /// The body of a request, as it is sent.
    pub fn body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        encode::body(&self.config, request, &self.fragments)
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let url = format!("{}/v1beta/interactions", self.config.endpoint.base_url);
        let answer = self.transport.post(&url, &self.headers(), self.body(request)?).await?;
        let decoded = decode::reply(&answer.body);
        let (mut decoded, concerns) =
            decoded.map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
        if !self.config.safety.allows(&concerns).await {
            decoded.stop = ReplyStop::SafetyDeclined;
        }
        Ok(decoded.into_reply(answer.took, self.config.tariff.as_ref()))
    }

    /// The key travels in a header, never in an address.
    fn headers(&self) -> Vec<(&'static str, &str)> {
        self.config.endpoint.key.iter().map(|key| ("x-goog-api-key", key.reveal())).collect()
    }

    /// What the server says of the model.
    pub async fn describe(&self) -> Result<Value, ModelError> {
        let url = format!("{}/v1beta/models/{}", self.config.endpoint.base_url, self.config.model);
        let answer = self.transport.get(&url, &self.headers()).await?;
        serde_json::from_slice(&answer.body).map_err(|error| self.transport.not_json(&answer.body, &error))
    }
}

impl ChatModel for Gemini {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}
