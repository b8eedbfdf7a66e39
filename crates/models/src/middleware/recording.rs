//! Records the exchanges of models and embedders to a cassette, without secrets.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, EmbedError, Embedder, ModelError, ModelErrorKind,
    ModelProfile, Side,
};

use super::cassette::{CassetteError, Exchange, ExchangeCounters, Line, VERSION, Vector, parts, text_hash};
use apprentice_trace::Redactor;

/// A cassette in recording. Shared by all models of a command.
#[derive(Debug)]
pub struct Recording {
    state: Mutex<Writing>,
}

#[derive(Debug)]
struct Writing {
    file: File,
    models: Vec<String>,
    takes: BTreeMap<(String, String), u32>,
    redactor: Redactor,
}

impl Recording {
    /// Creates a cassette. An existing file is never overwritten.
    pub fn create(path: &Path, redactor: Redactor) -> Result<Self, CassetteError> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|source| CassetteError::Io { path: path.to_owned(), source })?;
        let state = Writing { file, models: Vec::new(), takes: BTreeMap::new(), redactor };
        Ok(Self { state: Mutex::new(state) })
    }

    /// Replaces the redactor from now on: keys become known one by one, as models are named.
    pub fn guard(&self, redactor: Redactor) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).redactor = redactor;
    }

    /// Starts the next take of this trial, and returns its number, from 1.
    fn take(&self, profile: &ModelProfile, trial: &str) -> u32 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let take = state.takes.entry((profile.name.clone(), trial.to_owned())).or_insert(0);
        *take += 1;
        *take
    }

    /// Writes the vectors of texts.
    fn write_vectors(&self, vectors: Vec<Vector>) -> std::io::Result<()> {
        let mut text = String::new();
        for vector in vectors {
            text.push_str(&serde_json::to_string(&Line::Vector(vector))?);
            text.push('\n');
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner).file.write_all(text.as_bytes())
    }

    fn write(&self, profile: &ModelProfile, exchange: Exchange) -> Result<(), ModelError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        if !state.models.contains(&profile.name) {
            state.models.push(profile.name.clone());
            lines.push(Line::Model { version: VERSION, profile: Box::new(profile.clone()) });
        }
        lines.push(Line::Exchange(Box::new(exchange)));
        let mut text = String::new();
        for line in &lines {
            let line = serde_json::to_string(line).map_err(|error| unwritten(&error))?;
            text.push_str(&state.redactor.apply_to_json(&line));
            text.push('\n');
        }
        state.file.write_all(text.as_bytes()).map_err(|error| unwritten(&error))
    }
}

fn unwritten(error: &dyn std::fmt::Display) -> ModelError {
    ModelError::never(ModelErrorKind::Request, format!("the cassette could not be written: {error}"))
}

/// A model whose exchanges are recorded. Create one for each take of a trial.
pub struct Recorded<M> {
    inner: M,
    tape: Arc<Recording>,
    trial: String,
    take: u32,
    places: ExchangeCounters,
}

impl<M: ChatModel> Recorded<M> {
    /// Records the exchanges of `inner` under the name of a trial.
    pub fn new(inner: M, tape: Arc<Recording>, trial: &str) -> Self {
        let take = tape.take(inner.profile(), trial);
        Self { inner, tape, trial: trial.to_owned(), take, places: ExchangeCounters::default() }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let ordinal = self.places.next(request.purpose);
        let reply = self.inner.reply(request).await?;
        let exchange = Exchange {
            model: self.inner.profile().name.clone(),
            trial: self.trial.clone(),
            take: self.take,
            purpose: request.purpose,
            ordinal,
            parts: parts(request),
            reply: reply.clone(),
        };
        self.tape.write(self.inner.profile(), exchange)?;
        Ok(reply)
    }
}

impl<M: ChatModel> ChatModel for Recorded<M> {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// An embedder whose vectors are recorded.
pub struct RecordedVectors<E> {
    inner: E,
    tape: Arc<Recording>,
}

impl<E: Embedder> RecordedVectors<E> {
    /// Records the vectors of `inner`.
    pub fn new(inner: E, tape: Arc<Recording>) -> Self {
        Self { inner, tape }
    }

    async fn ask(&self, side: Side, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let answer = self.inner.embed(side, texts).await?;
        let line = |(text, numbers): (&String, &Vec<f32>)| Vector {
            embedder: self.inner.name().to_owned(),
            side,
            sha256: text_hash(text),
            numbers: numbers.clone(),
        };
        let unwritten = |error| EmbedError(format!("the cassette could not be written: {error}"));
        self.tape.write_vectors(texts.iter().zip(&answer).map(line).collect()).map_err(unwritten)?;
        Ok(answer)
    }
}

impl<E: Embedder> Embedder for RecordedVectors<E> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn embed<'a>(
        &'a self,
        side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.ask(side, texts))
    }
}
