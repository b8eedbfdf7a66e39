//! The HTTP transport: one request, a deadline on every wait, no retry.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Clock, ModelError, ModelErrorKind, Retry};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use apprentice_trace::Redactor;
use tokio::sync::mpsc::UnboundedSender;

use super::decode_error::DecodeError;
use super::extra_headers::ExtraHeaders;
use super::failure::classify_status;
#[cfg(feature = "bedrock")]
use super::frames;
use super::header::Header;
use super::response::{PieceError, Pieces};
use super::stream::{Assembler, Broken, ReplyWords, assembled};
use super::timeouts::{Exceeded, Timeouts};
use super::well_formed::well_formed;

/// The HTTP client could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client could not be set up")]
pub struct TransportError(#[from] reqwest::Error);

/// A successful response.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// The response body.
    pub body: Vec<u8>,
    /// Duration of the request.
    pub took: Duration,
}

/// Headers that carry credentials.
const CREDENTIALS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// How the events of a response are read.
pub(crate) struct Streamed<'a> {
    /// Puts them together.
    pub(crate) assembler: &'a mut dyn Assembler,
    /// Gets the words as they come.
    pub(crate) words: Option<&'a UnboundedSender<ReplyWords>>,
}

fn has_type(headers: &HeaderMap, name: &str) -> bool {
    let kind = headers.get(reqwest::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with(name))
}

/// Sends requests. One instance serves all providers, so that connections are reused.
#[derive(Clone)]
pub struct Transport {
    client: reqwest::Client,
    /// For servers on this machine.
    direct: reqwest::Client,
    clock: Arc<dyn Clock>,
    redactor: Arc<Redactor>,
    deadlines: Timeouts,
    /// The user's own headers, on every request.
    extra: HeaderMap,
}

fn is_loopback(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("deadlines", &self.deadlines).finish_non_exhaustive()
    }
}

impl Transport {
    /// Creates a transport whose error texts pass through `redactor`.
    pub fn new(
        clock: Arc<dyn Clock>,
        redactor: Arc<Redactor>,
        deadlines: Timeouts,
    ) -> Result<Self, TransportError> {
        // Another part of the process may have installed a crypto provider already; that one is used then.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            reqwest::Client::builder()
                .connect_timeout(deadlines.connect)
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("apprentice/", env!("CARGO_PKG_VERSION")))
        };
        let (client, direct) = (builder().build()?, builder().no_proxy().build()?);
        Ok(Self { client, direct, clock, redactor, deadlines, extra: HeaderMap::new() })
    }

    /// Adds headers to every request but those of [`Self::reach`]. Their values are shown nowhere.
    #[must_use]
    pub fn with_headers(mut self, headers: ExtraHeaders) -> Self {
        self.extra = headers.into_map();
        self
    }

    /// A server on this machine is never reached through a proxy, which is another machine.
    fn client(&self, url: &str) -> &reqwest::Client {
        if is_loopback(url) { &self.direct } else { &self.client }
    }

    /// Posts JSON and reads the whole response. Dropping the future cancels the request.
    pub async fn post(
        &self,
        url: &str,
        headers: &[Header],
        body: Vec<u8>,
    ) -> Result<HttpResponse, ModelError> {
        self.ask(url, headers, body, None).await
    }

    /// Posts JSON, and puts the events of the response together where `streamed` says how. A server that answers in one
    /// piece all the same is read like any other.
    pub(crate) async fn ask(
        &self,
        url: &str,
        headers: &[Header],
        body: Vec<u8>,
        streamed: Option<Streamed<'_>>,
    ) -> Result<HttpResponse, ModelError> {
        let mut request = self.client(url).post(url).headers(self.headers(headers)?).body(body);
        // A platform with streams of its own says so itself.
        if streamed.is_some() && !headers.iter().any(|(name, _)| *name == "accept") {
            request = request.header(reqwest::header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        }
        self.exchange(request, streamed).await.map_err(|error| self.without_values(error, headers))
    }

    /// Gets a resource and reads the whole response.
    pub async fn get(&self, url: &str, headers: &[Header]) -> Result<HttpResponse, ModelError> {
        let request = self.client(url).get(url).headers(self.headers(headers)?);
        self.exchange(request, None).await.map_err(|error| self.without_values(error, headers))
    }

    /// Asks a server for anything at all, without a key. Every response counts, also a refusal: the server is there.
    pub async fn reach(&self, url: &str, deadline: Duration) -> Result<(), ModelError> {
        match tokio::time::timeout(deadline, self.client(url).get(url).send()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_) => Err(self.lost(&format!("no response within {} s", deadline.as_secs_f64()))),
        }
    }

    /// Returns the present time.
    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    fn headers(&self, pairs: &[Header]) -> Result<HeaderMap, ModelError> {
        let mut headers = self.extra.clone();
        headers.insert(reqwest::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in pairs {
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                let story = format!(
                    "the value of the header {name} contains characters that are not allowed in a header"
                );
                ModelError::never(ModelErrorKind::Request, story)
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    /// Gets JSON.
    pub(crate) async fn get_json(
        &self,
        url: &str,
        headers: &[Header],
    ) -> Result<serde_json::Value, ModelError> {
        let answer = self.get(url, headers).await?;
        serde_json::from_slice(&answer.body).map_err(|error| self.not_json(&answer.body, &error))
    }

    /// Removes the credentials and the user's own headers of a request from an error: the redactor knows neither a token
    /// that was made just now, nor what stands in a header.
    fn without_values(&self, mut error: ModelError, headers: &[Header]) -> ModelError {
        let credentials = headers.iter().filter(|(name, _)| CREDENTIALS.contains(name));
        let credentials = credentials.map(|(_, value)| value.trim_start_matches("Bearer "));
        let own = self.extra.values().filter_map(|value| value.to_str().ok());
        for secret in credentials.chain(own).filter(|secret| !secret.is_empty()) {
            error.message = error.message.replace(secret, "[redacted]");
        }
        error
    }

    async fn exchange(
        &self,
        request: reqwest::RequestBuilder,
        streamed: Option<Streamed<'_>>,
    ) -> Result<HttpResponse, ModelError> {
        let begun = self.clock.mono();
        let done = tokio::time::timeout(self.deadlines.whole, self.talk(request, streamed)).await;
        let body = done.unwrap_or_else(|_| Err(self.deadlines.error(Exceeded::Whole)))?;
        Ok(HttpResponse { body, took: self.clock.mono().saturating_sub(begun) })
    }

    async fn talk(
        &self,
        request: reqwest::RequestBuilder,
        streamed: Option<Streamed<'_>>,
    ) -> Result<Vec<u8>, ModelError> {
        let response = tokio::time::timeout(self.deadlines.first_byte, request.send()).await;
        let response = response
            .map_err(|_| self.deadlines.error(Exceeded::FirstByte))?
            .map_err(|error| self.failed(&error))?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let pieces = Pieces::new(response, self.deadlines.idle);
        let succeeded = (200..300).contains(&status);
        #[cfg(feature = "bedrock")]
        let (streamed, framed) = match has_type(&headers, frames::CONTENT_TYPE) {
            true => (None, streamed.filter(|_| succeeded)),
            false => (streamed, None),
        };
        if let Some(Streamed { assembler, words }) =
            streamed.filter(|_| succeeded && has_type(&headers, "text/event-stream"))
        {
            return assembled(pieces, assembler, words).await.map_err(|broken| self.broken(broken));
        }
        #[cfg(feature = "bedrock")]
        if let Some(Streamed { assembler, words }) = framed {
            return frames::assembled(pieces, assembler, words).await.map_err(|broken| self.broken(broken));
        }
        let body = pieces.rest().await.map_err(|error| self.no_piece(error))?;
        if succeeded {
            return Ok(well_formed(body));
        }
        let find = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Err(self.redacted(classify_status(status, &find, &body, self.clock.now())))
    }

    /// The error for a body that stopped coming.
    fn no_piece(&self, error: PieceError) -> ModelError {
        match error {
            PieceError::Idle => self.deadlines.error(Exceeded::Idle),
            PieceError::TooLarge => ModelError::never(ModelErrorKind::Protocol, error.to_string()),
            PieceError::Lost(error) => self.failed(&error),
        }
    }

    /// The error for a stream that gave no reply.
    fn broken(&self, broken: Broken) -> ModelError {
        match broken {
            Broken::Lost(error) => self.no_piece(error),
            Broken::NotEvents(error) => {
                let message = format!("the server's stream is not one of events: {error}");
                self.redacted(ModelError { fault: ModelErrorKind::Protocol, retry: Retry::Now, message })
            }
            #[cfg(feature = "bedrock")]
            Broken::Frame(why) => {
                let message = format!("the server's stream has a broken frame: {why}");
                self.redacted(ModelError { fault: ModelErrorKind::Protocol, retry: Retry::Now, message })
            }
            Broken::Event(error, data) => self.misread(error, data.as_bytes()),
            Broken::Cut => {
                let message = "the response was cut: its stream ended before its last event".to_owned();
                ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message }
            }
        }
    }

    /// The error for a body, or an event, that is not a reply.
    pub(super) fn misread(&self, error: DecodeError, body: &[u8]) -> ModelError {
        match error {
            DecodeError::Form(error) => self.not_json(body, &error),
            DecodeError::Error(error) | DecodeError::BrokenOff(error) => self.redacted(error),
        }
    }

    /// A transport error with its innermost cause in words.
    fn failed(&self, error: &reqwest::Error) -> ModelError {
        if error.is_connect() && error.is_timeout() {
            return self.deadlines.error(Exceeded::Connect);
        }
        let mut words = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            words = format!("{words}: {inner}");
            cause = inner.source();
        }
        self.lost(&words)
    }

    fn lost(&self, words: &str) -> ModelError {
        let message = format!("the model's server was not reached: {}", self.redactor.apply(words));
        ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message }
    }

    /// Removes secrets from a server's text.
    pub(crate) fn clean(&self, words: &str) -> String {
        self.redactor.apply(words).into_owned()
    }

    /// Removes secrets from an error.
    pub(crate) fn redacted(&self, mut error: ModelError) -> ModelError {
        error.message = self.redactor.apply(&error.message).into_owned();
        error
    }

    /// The error for a response that is not JSON: a proxy answered, or the response was cut short.
    pub(crate) fn not_json(&self, body: &[u8], error: &serde_json::Error) -> ModelError {
        let text = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        // Control characters (of a compressed body, say) must not reach a terminal.
        let text = text.replace(|c: char| c.is_control() && !c.is_whitespace(), "\u{fffd}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = format!("the server's response does not match its API ({error}): {text}");
        let message = self.redactor.apply(&message).into_owned();
        ModelError { fault: ModelErrorKind::Protocol, retry: Retry::Now, message }
    }
}
