//! Models behind an OpenAI-compatible `/chat/completions`: vLLM, SGLang, Ollama, llama.cpp, and hosted ones. Their
//! differences are data: a [`StudentProfile`].

mod act_form;
mod adaptation;
mod advice_steps;
mod binding;
mod decode;
mod encode;
mod following;
mod identity;
mod likelihoods;
mod listed;
mod named;
mod profile;
mod references;
mod repetition;
mod roles;
mod stream;
mod text_format;
mod usage;
mod words;
mod written;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelProfile,
};

use adaptation::{Concession, MOST_CONCESSIONS, Sent, adapted};
use decode::CompatReply;

use crate::http::{DecodeError, Endpoint, Header, KeyHeader, PictureCache, Transport};
use crate::identity::{IdentitySource, ModelIdentity};
use crate::options::CallOptions;
use crate::price::Tariff;

pub use adaptation::Adaptation;
pub use encode::as_sent;
pub use profile::{ActionFormat, History, ProfileError, SkillReading, Space, Structured, StudentProfile};
pub(crate) use text_format::PROMPTS;
use words::Unparsed;
pub use written::as_written;

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
    /// What the server was found not to take. All clients of one server share it.
    pub adaptation: Arc<Adaptation>,
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
    /// Whether the user was warned that the server leaves calls in the words.
    warned: AtomicBool,
    /// Whether the user was warned that a reply was cut.
    warned_of_cut: AtomicBool,
    /// What a reply has reported so far of the concessions to the server.
    reported: Mutex<BTreeSet<Concession>>,
}

impl Compat {
    /// Creates a client of this server.
    pub fn new(config: CompatConfig, transport: Transport) -> Self {
        let mut config = config;
        let own = config.student.max_output_tokens;
        config.student.max_output_tokens = config.calls.max_output_tokens.unwrap_or(own);
        let profile = config.student.model_profile(&format!("compat/{}", config.model));
        Self {
            config,
            profile,
            transport,
            fragments: PictureCache::default(),
            reported: Mutex::default(),
            warned: AtomicBool::new(false),
            warned_of_cut: AtomicBool::new(false),
        }
    }

    /// Returns the body of a request as it is sent.
    pub fn body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        let found = self.config.adaptation.found();
        encode::body(&self.config, request, &found, &self.fragments)
    }

    /// Warns the user, once, of a server that lacks the parser of its model.
    fn warn_of_server(&self, unparsed: &Unparsed) {
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let (what, parsers) = match unparsed {
            Unparsed::Read(notation) => ("they are read here".to_owned(), notation.parsers()),
            Unparsed::Mark(mark) => (format!("one of them, with the mark {mark:?}, could not be read"), None),
        };
        let (vllm, sglang) = parsers.unwrap_or(("NAME", "NAME"));
        tracing::warn!(
            "the server of {} leaves calls in the model's words, as without a parser of calls; {what}. Start vLLM \
             with --enable-auto-tool-choice --tool-call-parser {vllm}, SGLang with --tool-call-parser {sglang}, \
             llama.cpp with --jinja",
            self.profile.name
        );
    }

    /// Warns the user, once each, of what a reply shows about the server and its limits.
    fn warn_of(&self, reply: &CompatReply, request: &ChatRequest) {
        if let Some(unparsed) = &reply.unparsed {
            self.warn_of_server(unparsed);
        }
        if !reply.cut || self.warned_of_cut.swap(true, Ordering::Relaxed) {
            return;
        }
        let (model, limit) = (&self.profile.name, request.max_output_tokens);
        if reply.repeated {
            tracing::warn!("a reply of {model} repeated itself and was stopped; the model learns why");
        } else {
            tracing::warn!(
                "a reply of {model} was cut at its limit of {limit} tokens, thoughts included; \
                 `max_output_tokens` raises it"
            );
        }
    }

    /// Returns the messages and tools of a request as the server gets them, which it makes the model's prompt of.
    pub fn prompt(&self, request: &ChatRequest) -> Result<String, ModelError> {
        let body: serde_json::Value = serde_json::from_slice(&self.body(request)?).unwrap_or_default();
        let words = body["messages"].as_array().into_iter().flatten();
        let words = words.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n");
        Ok(match &body["tools"] {
            serde_json::Value::Null => words,
            tools => format!("{words}\n{tools}"),
        })
    }

    /// Asks, and asks again without what the server refuses.
    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        for _ in 0..MOST_CONCESSIONS {
            let found = self.config.adaptation.found();
            let student = adapted(&self.config.student, &found);
            let body = encode::body(&self.config, request, &found, &self.fragments)?;
            let error = match self.exchange(request, body.clone(), &student).await {
                Ok(mut reply) => {
                    reply.adapted = self.unreported(&found);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            let body = String::from_utf8_lossy(&body);
            if !self.config.adaptation.learn(&error, Sent { student: &student, body: &body }) {
                return Err(error);
            }
        }
        let found = self.config.adaptation.found();
        let student = adapted(&self.config.student, &found);
        self.exchange(request, encode::body(&self.config, request, &found, &self.fragments)?, &student).await
    }

    /// Sends a request, and once more where a provider broke off within a reply: the router before it asks another one then
    /// (OpenRouter; gethouston/houston#1211, damianvtran/local-operator#223). Whatever else fails is for the retries.
    async fn exchange(
        &self,
        request: &ChatRequest,
        body: Vec<u8>,
        student: &StudentProfile,
    ) -> Result<ChatReply, ModelError> {
        let url = self.config.endpoint.url("/chat/completions");
        let streams = encode::streams(&self.config.calls, student, request);
        let mut asked_again = false;
        loop {
            let mut assembler = stream::ChatAssembler::default();
            let streamed = self.config.calls.streamed_if(streams, &mut assembler);
            let headers = self.config.headers().await?;
            let answer = match self.transport.ask(&url, &headers, body.clone(), streamed).await {
                // What the model wrote is its own fault: it is told, and the attempt goes on.
                Err(error) if error.fault == ModelErrorKind::Unreadable => {
                    let unreadable = decode::unreadable(&error.message);
                    return Ok(unreadable.into_reply(Duration::ZERO, self.config.tariff.as_ref()));
                }
                answered => answered?,
            };
            match decode::reply(&answer.body, student, request) {
                Ok(decoded) => {
                    self.warn_of(&decoded, request);
                    return Ok(decoded.parsed.into_reply(answer.took, self.config.tariff.as_ref()));
                }
                Err(DecodeError::BrokenOff(_)) if !asked_again => asked_again = true,
                Err(error) => return Err(error.into_model_error(&self.transport, &answer.body)),
            }
        }
    }

    /// Describes the concessions that no reply of this conversation has reported yet.
    fn unreported(&self, found: &BTreeSet<Concession>) -> Vec<String> {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let new: BTreeSet<Concession> = found.difference(&reported).cloned().collect();
        reported.extend(new.iter().cloned());
        adaptation::told(&new)
    }
}

impl ChatModel for Compat {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl IdentitySource for Compat {
    fn identity(&self) -> BoxFuture<'_, ModelIdentity> {
        Box::pin(identity::ask(&self.config, &self.transport))
    }
}
