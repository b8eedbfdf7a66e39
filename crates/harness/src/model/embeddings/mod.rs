//! Embeddings from any server with an OpenAI-compatible `/embeddings`: vLLM, Ollama, llama.cpp, text-embeddings-
//! inference, hosted ones. What differs between models (prefixes, the kind of input, the length) is data.

mod answer;
mod cached;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use apprentice_protocol::{Clock, EmbedError, Embedder, ModelError, PortFuture, Purpose, Side};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::model::around::{Entry, Ledger, Patience, patiently, set_aside};
use crate::model::exchange::{Endpoint, Transport};

pub use cached::{Cached, StoreError};

/// Characters per token at the least, for the worst price of a request.
const CHARS_PER_TOKEN: usize = 2;

/// What one embedding model behind such a server needs.
#[derive(Clone, Debug)]
pub struct EmbeddingsConfig {
    /// The model's name as the server knows it.
    pub model: String,
    /// Where the server is.
    pub endpoint: Endpoint,
    /// The length of the vectors, for models that can give several; none leaves it to the server.
    pub dimensions: Option<u32>,
    /// Most texts in one request.
    pub batch: usize,
    /// What stands before each text, as models ask for it: `query: `.
    pub prefix: Sides<String>,
    /// What is sent as `input_type`, for servers that know it; nothing is sent where it is empty.
    pub input_type: Sides<String>,
    /// US dollars for a million tokens; none where that is not known.
    pub usd_per_million: Option<f64>,
}

/// One value for each side of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides<T> {
    /// For what is looked for.
    pub query: T,
    /// For what is found.
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

/// What stands around the exchanges of an embedder.
#[derive(Clone)]
pub struct Surround {
    /// The clock that waiting goes by.
    pub clock: Arc<dyn Clock>,
    /// How often a request is tried again.
    pub patience: Patience,
    /// What its calls are booked in.
    pub ledgers: Vec<Arc<Ledger>>,
}

/// An embedding model behind a server.
pub struct Embeddings {
    config: EmbeddingsConfig,
    name: String,
    transport: Transport,
    around: Surround,
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
    /// A client of this server.
    pub fn new(config: EmbeddingsConfig, transport: Transport, around: Surround) -> Self {
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
        let reserved = set_aside(&self.around.ledgers, &self.name, worst, clock.now())?;
        let exchange = || self.exchange(&body, texts.len());
        let (answer, _) = patiently(clock, self.around.patience, &self.draws, exchange).await?;
        let usd = self.price(answer.tokens).unwrap_or_default();
        let entry = Entry { at: clock.now(), model: self.name.clone(), purpose: Purpose::Embed, usd };
        reserved.into_iter().for_each(|one| one.settle(&entry));
        Ok(answer.vectors)
    }

    async fn exchange(&self, body: &[u8], texts: usize) -> Result<answer::Answer, ModelError> {
        let bearer = self.config.endpoint.key.as_ref().map(|key| format!("Bearer {}", key.reveal()));
        let headers: Vec<(&'static str, &str)> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let url = format!("{}/embeddings", self.config.endpoint.base_url);
        let answer = self.transport.post(&url, &headers, body.to_vec()).await?;
        answer::read(&self.transport, &answer.body, texts, self.config.dimensions)
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum of money")]
    fn price(&self, tokens: u64) -> Option<f64> {
        self.config.usd_per_million.map(|dollars| dollars * tokens as f64 / 1e6)
    }
}

/// The model, and in brackets a hash of all else that its vectors depend on.
fn named(config: &EmbeddingsConfig) -> String {
    let EmbeddingsConfig { model, dimensions, prefix, input_type, .. } = config;
    if dimensions.is_none() && *prefix == Sides::default() && *input_type == Sides::default() {
        return model.clone();
    }
    let digest = Sha256::digest(format!("{dimensions:?}{prefix:?}{input_type:?}"));
    let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{model} ({hash})")
}

impl Embedder for Embeddings {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed<'a>(
        &'a self,
        side: Side,
        texts: &'a [String],
    ) -> PortFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move { self.ask(side, texts).await.map_err(|error| EmbedError(error.message)) })
    }
}
