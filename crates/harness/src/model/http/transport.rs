//! The HTTP transport: one request, a deadline on every wait, no retry.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Clock, ModelError, ModelErrorKind, Retry};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::failure::classify_status;
use apprentice_trace::Redactor;

/// Limit on the bytes of a response.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// An API key. Its `Debug` output hides the value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// Returns the key itself, for the header that carries it and for the redactor.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The address and key of a provider.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Base URL of the API, without a slash at the end.
    pub base_url: String,
    /// The key; local servers often need none.
    pub key: Option<Secret>,
}

impl Endpoint {
    /// Creates an endpoint; slashes at the end of the URL are removed.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        Self { base_url: base_url.trim_end_matches('/').to_owned(), key }
    }

    /// Returns the value of an `authorization` header, if there is a key.
    pub(crate) fn bearer(&self) -> Option<String> {
        self.key.as_ref().map(|key| format!("Bearer {}", key.reveal()))
    }
}

/// The timeouts of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Timeout of the connection.
    pub connect: Duration,
    /// Timeout between two chunks of the response, once it has begun.
    pub idle: Duration,
    /// Timeout of the whole request.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            whole: Duration::from_secs(600),
        }
    }
}

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

/// Sends requests. One instance serves all providers, so that connections are reused.
#[derive(Clone)]
pub struct Transport {
    client: reqwest::Client,
    /// For servers on this machine.
    direct: reqwest::Client,
    clock: Arc<dyn Clock>,
    redactor: Arc<Redactor>,
    deadlines: Timeouts,
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
        Ok(Self { client, direct, clock, redactor, deadlines })
    }

    /// A server on this machine is never reached through a proxy, which is another machine.
    fn client(&self, url: &str) -> &reqwest::Client {
        if is_loopback(url) { &self.direct } else { &self.client }
    }

    /// Posts JSON and reads the whole response. Dropping the future cancels the request.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&'static str, &str)],
        body: Vec<u8>,
    ) -> Result<HttpResponse, ModelError> {
        let request = self.client(url).post(url).headers(self.headers(headers)?).body(body);
        self.exchange(request).await
    }

    /// Gets a resource and reads the whole response.
    pub async fn get(&self, url: &str, headers: &[(&'static str, &str)]) -> Result<HttpResponse, ModelError> {
        self.exchange(self.client(url).get(url).headers(self.headers(headers)?)).await
    }

    /// Asks a server for anything at all, without a key. Every response counts, also a refusal: the server is there.
    pub async fn reach(&self, url: &str, deadline: Duration) -> Result<(), ModelError> {
        match tokio::time::timeout(deadline, self.client(url).get(url).send()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_) => Err(self.lost(&format!("no response within {} s", deadline.as_secs_f64()))),
        }
    }

    fn headers(&self, pairs: &[(&'static str, &str)]) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
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
        headers: &[(&'static str, &str)],
    ) -> Result<serde_json::Value, ModelError> {
        let answer = self.get(url, headers).await?;
        serde_json::from_slice(&answer.body).map_err(|error| self.not_json(&answer.body, &error))
    }

    async fn exchange(&self, request: reqwest::RequestBuilder) -> Result<HttpResponse, ModelError> {
        let begun = self.clock.mono();
        let done = tokio::time::timeout(self.deadlines.whole, self.talk(request)).await;
        let done = done.unwrap_or_else(|_| {
            Err(self.lost(&format!("no complete response within {} s", self.deadlines.whole.as_secs_f64())))
        });
        let body = done?;
        Ok(HttpResponse { body, took: self.clock.mono().saturating_sub(begun) })
    }

    async fn talk(&self, request: reqwest::RequestBuilder) -> Result<Vec<u8>, ModelError> {
        let mut response = request.send().await.map_err(|error| self.failed(&error))?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let mut body = Vec::new();
        loop {
            let piece = tokio::time::timeout(self.deadlines.idle, response.chunk()).await;
            let piece = piece
                .map_err(|_| self.lost(&format!("no data for {} s", self.deadlines.idle.as_secs_f64())))?
                .map_err(|error| self.failed(&error))?;
            let Some(piece) = piece else { break };
            body.extend_from_slice(&piece);
            if body.len() > MAX_RESPONSE_BYTES {
                let story = format!("the response is larger than {} MB", MAX_RESPONSE_BYTES >> 20);
                return Err(ModelError::never(ModelErrorKind::Protocol, story));
            }
        }
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let find = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Err(self.redacted(classify_status(status, &find, &body, self.clock.now())))
    }

    /// A transport error with its innermost cause in words.
    fn failed(&self, error: &reqwest::Error) -> ModelError {
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
