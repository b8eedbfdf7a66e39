//! Gemini's Interactions API: computer use on desktops and in browsers, with points on a grid of 1000. Conversations
//! are sent whole each time, and are not stored at the provider.

mod decode;
mod encode;
mod stream;

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, CoordinateSpace, ModelError, ModelProfile, ReplyStop,
};
use serde_json::Value;

use crate::hosted::HostedConfig;
use crate::http::{Header, KeyHeader, PictureCache, Platform, Transport};
use crate::identity::{IdentitySource, ModelIdentity, fetch_identity, non_empty_text};
use crate::written_calls::refuse_written_calls;

const MAX_REQUEST_BYTES: u64 = 18 << 20;
/// Points are given from 0 to 999, in thousandths of the picture.
const GRID: u32 = 1000;

/// A Gemini model. It sends one request per reply and does not retry.
#[derive(Debug)]
pub struct Gemini {
    config: HostedConfig,
    profile: ModelProfile,
    transport: Transport,
    fragments: PictureCache,
}

impl Gemini {
    /// Creates a client of the Interactions API.
    pub fn new(config: HostedConfig, transport: Transport) -> Self {
        let profile = config.profile("gemini", CoordinateSpace::Grid { max: GRID }, MAX_REQUEST_BYTES);
        Self { config, profile, transport, fragments: PictureCache::default() }
    }

    /// Returns the body of a request as it is sent.
    pub fn body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        encode::body(&self.config, request, &self.fragments)
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let endpoint = &self.config.endpoint;
        let url = match &endpoint.platform {
            Platform::Vertex { project, region } => {
                endpoint.url(&format!("/v1beta1/projects/{project}/locations/{region}/interactions"))
            }
            Platform::Direct | Platform::Azure { .. } | Platform::Bedrock => {
                endpoint.url("/v1beta/interactions")
            }
        };
        let mut assembler = stream::InteractionAssembler::default();
        let streamed = self.config.calls.streamed(&mut assembler);
        let answer = self.transport.ask(&url, &self.headers().await?, self.body(request)?, streamed).await?;
        let decoded = decode::reply(&answer.body);
        let (mut decoded, concerns) =
            decoded.map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
        if !self.config.safety.allows(&concerns).await {
            decoded.stop = ReplyStop::SafetyDeclined;
        }
        refuse_written_calls(&mut decoded, request);
        Ok(decoded.into_reply(answer.took, self.config.tariff.as_ref()))
    }

    /// The key travels in a header, never in a URL.
    async fn headers(&self) -> Result<Vec<Header>, ModelError> {
        let own = KeyHeader::Named("x-goog-api-key");
        Ok(self.config.endpoint.authorization(own).await?.into_iter().collect())
    }

    /// Requests the server's description of the model.
    async fn describe(&self) -> Result<Value, ModelError> {
        let url = self.config.endpoint.url(&format!("/v1beta/models/{}", self.config.model));
        self.transport.get_json(&url, &self.headers().await?).await
    }
}

impl ChatModel for Gemini {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl IdentitySource for Gemini {
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
        id: non_empty_text(&told["name"]),
        revision: non_empty_text(&told["version"]),
        context_tokens: told["inputTokenLimit"].as_u64(),
        ..ModelIdentity::default()
    }
}
