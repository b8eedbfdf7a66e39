//! Embeddings from any server with an OpenAI-compatible `/embeddings`: vLLM, Ollama, llama.cpp,
//! text-embeddings-inference, hosted ones. Differences between models (prefixes, the input type, the vector length) are
//! data.

mod answer;
mod cached;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use apprentice_protocol::{BoxFuture, Clock, EmbedError, Embedder, ModelError, Purpose, Side};
use apprentice_trace::hex;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::http::{Endpoint, Header, KeyHeader, Transport};
use crate::middleware::{Entry, Ledger, RetryPolicy, reserve_all, with_retries};

pub use cached::{Cached, StoreError};

/// The least characters per token, for the worst-case price of a request.
const CHARS_PER_TOKEN: usize = 2;

/// The settings of one embedding model behind such a server.
#[derive(Clone, Debug)]
pub struct EmbeddingsConfig {
    /// The model's name on the server.
    pub model: String,
    /// The server's address and key.
    pub endpoint: Endpoint,
    /// The vector length, for models that offer several; `None` leaves it to the server.
    pub dimensions: Option<u32>,
    /// Limit on the texts in one request.
    pub batch: usize,
    /// The prefix that the model expects before each text, such as `query: `.
    pub prefix: Sides<String>,
    /// The value of `input_type`, for servers that support it; an empty text is not sent.
    pub input_type: Sides<String>,
    /// US dollars per million tokens; `None` when the price is unknown.
    pub usd_per_million: Option<f64>,
}

/// One value for each side of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides<T> {
    /// The value for search queries.
    pub query: T,
    /// The value for stored passages.
    pub passage: T,
}

impl<T> Sides<T> {
    fn of(&self, side: Side) -> &T {
        match side {
            Side::Query => &self.query,
            Side::Passage => &self.passage,
        }
    }
}

/// The retry and budget middleware of an embedder.
#[derive(Clone)]
pub struct EmbeddingMiddleware {
    /// The clock for backoff.
    pub clock: Arc<dyn Clock>,
    /// The retry policy.
    pub patience: RetryPolicy,
    /// The ledgers in which calls are booked.
    pub ledgers: Vec<Arc<Ledger>>,
}

/// An embedding model behind a server.
pub struct Embeddings {
    config: EmbeddingsConfig,
    name: String,
    transport: Transport,
    around: EmbeddingMiddleware,
    draws: AtomicU64,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
    #[serde(skip_serializing_if = "str::is_empty")]
    input_type: &'a str,
}

impl Embeddings {
    /// Creates a client of this server.
    pub fn new(config: EmbeddingsConfig, transport: Transport, around: EmbeddingMiddleware) -> Self {
        let name = named(&config);
        Self { config, name, transport, around, draws: AtomicU64::default() }
    }

    async fn ask(&self, side: Side, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.config.batch.max(1)) {
            vectors.extend(self.batch(side, batch).await?);
        }
        answer::one_length(&vectors)?;
        Ok(vectors)
    }

    async fn batch(&self, side: Side, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let prefix = self.config.prefix.of(side);
        let input: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let body = Body {
            model: &self.config.model,
            input: &input,
            encoding_format: "float",
            dimensions: self.config.dimensions,
            input_type: self.config.input_type.of(side),
        };
        let body = serde_json::to_vec(&body).map_err(|error| answer::broken(&error.to_string()))?;
        let letters: usize = input.iter().map(|text| text.chars().count()).sum();
        let worst = self.price(u64::try_from(letters / CHARS_PER_TOKEN + input.len()).unwrap_or(u64::MAX));
        let clock = self.around.clock.as_ref();
        let reserved = reserve_all(&self.around.ledgers, &self.name, worst, clock.now())?;
        let exchange = || self.exchange(&body, texts.len());
        let (answer, _) = with_retries(clock, self.around.patience, &self.draws, exchange).await?;
        let usd = self.price(answer.tokens).unwrap_or_default();
        let entry = Entry { at: clock.now(), model: self.name.clone(), purpose: Purpose::Embed, usd };
        reserved.into_iter().for_each(|one| one.settle(&entry));
        Ok(answer.vectors)
    }

    async fn exchange(&self, body: &[u8], texts: usize) -> Result<answer::EmbeddingResponse, ModelError> {
        let bearer = self.config.endpoint.authorization(KeyHeader::Bearer).await?;
        let headers: Vec<Header> = bearer.into_iter().collect();
        let url = self.config.endpoint.url("/embeddings");
        let answer = self.transport.post(&url, &headers, body.to_vec()).await?;
        answer::read(&self.transport, &answer.body, texts, self.config.dimensions)
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum of money")]
    fn price(&self, tokens: u64) -> Option<f64> {
        self.config.usd_per_million.map(|dollars| dollars * tokens as f64 / 1e6)
    }
}

/// Returns the model's name with a hash, in brackets, of every other setting that its vectors depend on.
fn named(config: &EmbeddingsConfig) -> String {
    let EmbeddingsConfig { model, dimensions, prefix, input_type, .. } = config;
    if dimensions.is_none() && *prefix == Sides::default() && *input_type == Sides::default() {
        return model.clone();
    }
    let digest = Sha256::digest(format!("{dimensions:?}{prefix:?}{input_type:?}"));
    format!("{model} ({})", hex(&digest[..4]))
}

impl Embedder for Embeddings {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed<'a>(
        &'a self,
        side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move { self.ask(side, texts).await.map_err(|error| EmbedError(error.message)) })
    }
}
