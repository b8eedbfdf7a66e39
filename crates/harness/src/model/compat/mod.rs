//! Models behind an OpenAI-compatible `/chat/completions`: vLLM, SGLang, Ollama, llama.cpp, and hosted ones. What
//! differs between them is data: a [`StudentProfile`].

mod decode;
mod dialect;
mod encode;
mod profile;

use apprentice_protocol::{ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile, PortFuture};
use serde_json::Value;

use crate::model::exchange::{Endpoint, Fragments, Transport};
use crate::model::price::Tariff;

pub(crate) use dialect::PROMPTS;
pub use profile::{Dialect, ProfileError, Space, Structured, StudentProfile};

/// What one model behind such a server needs.
#[derive(Clone, Debug)]
pub struct CompatConfig {
    /// The model's name as the server knows it.
    pub model: String,
    /// Where the server is.
    pub endpoint: Endpoint,
    /// How it sees and speaks.
    pub student: StudentProfile,
    /// What it costs, if that is known.
    pub tariff: Option<Tariff>,
}

/// A model behind an OpenAI-compatible server. One exchange per reply; it never tries again by itself.
#[derive(Debug)]
pub struct Compat {
    config: CompatConfig,
    profile: ModelProfile,
    transport: Transport,
    fragments: Fragments,
}

impl Compat {
    /// A client of this server.
    pub fn new(config: CompatConfig, transport: Transport) -> Self {
        let profile = config.student.model_profile(&format!("compat/{}", config.model));
        Self { config, profile, transport, fragments: Fragments::default() }
    }

    /// The body of a request, as it is sent.
    pub fn body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        encode::body(&self.config, request, &self.fragments)
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let url = format!("{}/chat/completions", self.config.endpoint.base_url);
        let answer = self.post(&url, self.body(request)?).await?;
        let decoded = decode::reply(&answer.body, &self.config.student, request);
        let decoded = decoded.map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
        Ok(decoded.into_reply(answer.took, self.config.tariff.as_ref()))
    }

    async fn post(&self, url: &str, body: Vec<u8>) -> Result<crate::model::exchange::Answer, ModelError> {
        let bearer = self.config.endpoint.key.as_ref().map(|key| format!("Bearer {}", key.reveal()));
        let headers: Vec<(&'static str, &str)> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        self.transport.post(url, &headers, body).await
    }

    /// What the server says of its models (`/models`), as it says it.
    pub async fn models(&self) -> Result<Value, ModelError> {
        let bearer = self.config.endpoint.key.as_ref().map(|key| format!("Bearer {}", key.reveal()));
        let headers: Vec<(&'static str, &str)> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let url = format!("{}/models", self.config.endpoint.base_url);
        let answer = self.transport.get(&url, &headers).await?;
        serde_json::from_slice(&answer.body).map_err(|error| self.transport.not_json(&answer.body, &error))
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
