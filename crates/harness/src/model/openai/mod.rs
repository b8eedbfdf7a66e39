//! OpenAI's Responses API: the `computer` tool with its batches of actions, function tools, and structured output.
//! Conversations are replayed whole and stored nowhere else.

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

/// A size that the API neither shrinks nor tiles.
const PICTURE: Size = Size::new(1440, 900);
const MAX_REQUEST_BYTES: u64 = 45 << 20;
const MAX_OUTPUT_TOKENS: u32 = 16_000;

/// What one of OpenAI's models needs.
#[derive(Clone, Debug)]
pub struct OpenAiConfig {
    /// The model's id.
    pub model: String,
    /// Where the API is.
    pub endpoint: Endpoint,
    /// How hard it is to reason, if it is told.
    pub effort: Option<String>,
    /// Who answers pending safety checks.
    pub safety: SafetyPolicy,
    /// What it costs, if that is known.
    pub tariff: Option<Tariff>,
}

/// One of OpenAI's models. One exchange per reply; it never tries again by itself.
#[derive(Debug)]
pub struct OpenAi {
    config: OpenAiConfig,
    profile: ModelProfile,
    transport: Transport,
    fragments: Fragments,
}

impl OpenAi {
    /// A client of the Responses API.
    pub fn new(config: OpenAiConfig, transport: Transport) -> Self {
        let name = format!("openai/{}", config.model);
        let profile = ModelProfile {
            consumer: name.clone(),
            name,
            space: CoordinateSpace::ImagePixels,
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
        let url = format!("{}/responses", self.config.endpoint.base_url);
        let bearer = self.bearer();
        let headers: Vec<(&'static str, &str)> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let answer = self.transport.post(&url, &headers, self.body(request)?).await?;
        let decoded = decode::reply(&answer.body);
        let (mut decoded, concerns) =
            decoded.map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
        if !self.config.safety.allows(&concerns).await {
            decoded.stop = ReplyStop::SafetyDeclined;
        }
        Ok(decoded.into_reply(answer.took, self.config.tariff.as_ref()))
    }

    fn bearer(&self) -> Option<String> {
        self.config.endpoint.key.as_ref().map(|key| format!("Bearer {}", key.reveal()))
    }

    /// What the server says of the model.
    pub async fn describe(&self) -> Result<Value, ModelError> {
        let bearer = self.bearer();
        let headers: Vec<(&'static str, &str)> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let url = format!("{}/models/{}", self.config.endpoint.base_url, self.config.model);
        let answer = self.transport.get(&url, &headers).await?;
        serde_json::from_slice(&answer.body).map_err(|error| self.transport.not_json(&answer.body, &error))
    }
}

impl ChatModel for OpenAi {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}
