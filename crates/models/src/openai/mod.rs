//! OpenAI's Responses API: the `computer` tool with its batches of actions, function tools, and structured output.
//! Conversations are sent whole each time, and are not stored at the provider.

mod batch;
mod decode;
mod encode;
mod stream;

use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, CoordinateSpace, ModelError, ModelProfile, ReplyStop,
};
use serde_json::Value;

use crate::hosted::HostedConfig;
use crate::http::{Header, KeyHeader, PictureCache, Transport};
use crate::identity::{IdentitySource, ModelIdentity, fetch_identity, non_empty_text};
use crate::written_calls::refuse_written_calls;

const MAX_REQUEST_BYTES: u64 = 45 << 20;

/// An OpenAI model. It sends one request per reply and does not retry.
#[derive(Debug)]
pub struct OpenAi {
    config: HostedConfig,
    profile: ModelProfile,
    transport: Transport,
    fragments: PictureCache,
}

impl OpenAi {
    /// Creates a client of the Responses API.
    pub fn new(config: HostedConfig, transport: Transport) -> Self {
        let profile = config.profile("openai", CoordinateSpace::ImagePixels, MAX_REQUEST_BYTES);
        Self { config, profile, transport, fragments: PictureCache::default() }
    }

    /// Returns the body of a request as it is sent.
    pub fn body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        encode::body(&self.config, request, &self.fragments)
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let url = self.config.endpoint.url("/responses");
        let mut assembler = stream::ResponseAssembler::default();
        let streamed = self.config.calls.streamed(&mut assembler);
        let answer = self.transport.ask(&url, &self.headers().await?, self.body(request)?, streamed).await?;
        self.read_reply(request, &answer.body, answer.took).await
    }

    async fn read_reply(
        &self,
        request: &ChatRequest,
        body: &[u8],
        took: Duration,
    ) -> Result<ChatReply, ModelError> {
        let decoded = decode::reply(body);
        let (mut decoded, concerns) =
            decoded.map_err(|error| error.into_model_error(&self.transport, body))?;
        if !self.config.safety.allows(&concerns).await {
            decoded.stop = ReplyStop::SafetyDeclined;
        }
        refuse_written_calls(&mut decoded, request);
        Ok(decoded.into_reply(took, self.config.tariff.as_ref()))
    }

    /// Requests the server's description of the model.
    async fn describe(&self) -> Result<Value, ModelError> {
        let url = self.config.endpoint.url(&format!("/models/{}", self.config.model));
        self.transport.get_json(&url, &self.headers().await?).await
    }

    async fn headers(&self) -> Result<Vec<Header>, ModelError> {
        Ok(self.config.endpoint.authorization(KeyHeader::Bearer).await?.into_iter().collect())
    }
}

impl ChatModel for OpenAi {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl IdentitySource for OpenAi {
    fn identity(&self) -> BoxFuture<'_, ModelIdentity> {
        Box::pin(fetch_identity(self.describe(), identity, &self.transport))
    }
}

/// Reads the model's identity from the server's description.
fn identity(told: &Value) -> ModelIdentity {
    ModelIdentity {
        id: non_empty_text(&told["id"]),
        revision: told["created"].as_u64().map(|seconds| seconds.to_string()),
        context_tokens: None,
        ..ModelIdentity::default()
    }
}
