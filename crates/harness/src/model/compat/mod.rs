//! Models behind an OpenAI-compatible `/chat/completions`: vLLM, SGLang, Ollama, llama.cpp, and hosted ones. Their
//! differences are data: a [`StudentProfile`].

mod decode;
mod encode;
mod identity;
mod profile;
mod stream;
mod text_format;

use apprentice_protocol::{ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile, PortFuture};

use crate::model::http::{Endpoint, Header, KeyHeader, PictureCache, Transport};
use crate::model::identity::{IdentitySource, ModelIdentity};
use crate::model::options::CallOptions;
use crate::model::price::Tariff;

pub use profile::{ActionFormat, ProfileError, Space, Structured, StudentProfile};
pub(crate) use text_format::PROMPTS;

/// The settings of one model behind such a server.
#[derive(Clone, Debug)]
pub struct CompatConfig {
    /// The model's name on the server.
    pub model: String,
    /// The server's address and key.
    pub endpoint: Endpoint,
    /// The model's input and output formats.
    pub student: StudentProfile,
    /// The tariff; `None` when it is unknown.
    pub tariff: Option<Tariff>,
    /// Reasoning effort in the server's spelling; `None` leaves its default.
    pub effort: Option<String>,
    /// Options of its calls.
    pub calls: CallOptions,
}

impl CompatConfig {
    async fn headers(&self) -> Result<Vec<Header>, ModelError> {
        Ok(self.endpoint.authorization(KeyHeader::Bearer).await?.into_iter().collect())
    }
}

/// A model behind an OpenAI-compatible server. It sends one request per reply and does not retry.
#[derive(Debug)]
pub struct Compat {
    config: CompatConfig,
    profile: ModelProfile,
    transport: Transport,
    fragments: PictureCache,
}

impl Compat {
    /// Creates a client of this server.
    pub fn new(config: CompatConfig, transport: Transport) -> Self {
        let mut config = config;
        let own = config.student.max_output_tokens;
        config.student.max_output_tokens = config.calls.max_output_tokens.unwrap_or(own);
        let profile = config.student.model_profile(&format!("compat/{}", config.model));
        Self { config, profile, transport, fragments: PictureCache::default() }
    }

    /// Returns the body of a request as it is sent.
    pub fn body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        encode::body(&self.config, request, &self.fragments)
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let url = self.config.endpoint.url("/chat/completions");
        let mut assembler = stream::ChatAssembler::default();
        let streamed = self.config.calls.streamed(&mut assembler);
        let headers = self.config.headers().await?;
        let answer = self.transport.ask(&url, &headers, self.body(request)?, streamed).await?;
        let decoded = decode::reply(&answer.body, &self.config.student, request);
        let decoded = decoded.map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
        Ok(decoded.into_reply(answer.took, self.config.tariff.as_ref()))
    }
}

impl ChatModel for Compat {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl IdentitySource for Compat {
    fn identity(&self) -> PortFuture<'_, ModelIdentity> {
        Box::pin(identity::ask(&self.config, &self.transport))
    }
}
