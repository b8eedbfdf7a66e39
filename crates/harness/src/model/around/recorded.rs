//! Cassettes: what a model was asked and what it replied, one JSON line per exchange, played again without a network.
//!
//! An exchange is found by its conversation (the trial and which try at it), its purpose, and its place among them.
//! A request that differs from the one that was recorded is refused, with the first part that differs.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{
    ChatModel, ChatReply, ChatRequest, EmbedError, Embedder, Message, ModelError, ModelFault, ModelProfile,
    PortFuture, Purpose, Side,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::record::Redactor;

/// The version of the line format.
const VERSION: u32 = 1;

/// One line of a cassette.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    /// A model that was recorded.
    Model { version: u32, profile: Box<ModelProfile> },
    /// One exchange.
    Exchange(Box<Exchange>),
    /// The vector of one text.
    Vector(Vector),
}

/// A text's vector. The text itself is not kept: its hash finds the vector again.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Vector {
    embedder: String,
    side: Side,
    sha256: String,
    numbers: Vec<f32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Exchange {
    model: String,
    trial: String,
    take: u32,
    purpose: Purpose,
    ordinal: u32,
    /// Hashes of the request's head and of each message, without pictures.
    parts: Vec<String>,
    reply: ChatReply,
}

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be opened, read or written.
    #[error("cannot use the cassette {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line is none of a cassette.
    #[error("{}:{line}: not a line of a cassette", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The cassette does not hold one model only, or not the one that was named.
    #[error("{} holds {held}; name one as cassette:FILE#MODEL", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// The models that it holds, in words.
        held: String,
    },
    /// The cassette does not hold the vectors of one embedder only.
    #[error("{} holds {held}, and the vectors of one embedder are needed", path.display())]
    Vectors {
        /// The file.
        path: PathBuf,
        /// The embedders whose vectors it holds, in words.
        held: String,
    },
}

/// A cassette that is being written. Shared by all models of a command.
#[derive(Debug)]
pub struct Tape {
    state: Mutex<Writing>,
}

#[derive(Debug)]
struct Writing {
    file: File,
    models: Vec<String>,
    takes: BTreeMap<(String, String), u32>,
    redactor: Redactor,
}

impl Tape {
    /// Begins a new cassette; an old one is never overwritten.
    pub fn create(path: &Path, redactor: Redactor) -> Result<Self, CassetteError> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|source| CassetteError::Io { path: path.to_owned(), source })?;
        let state = Writing { file, models: Vec::new(), takes: BTreeMap::new(), redactor };
        Ok(Self { state: Mutex::new(state) })
    }

    /// Takes other secrets out from now on: keys are found one by one, as models are named.
    pub fn guard(&self, redactor: Redactor) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).redactor = redactor;
    }

    /// Which try at this trial begins now, from 1.
    fn take(&self, profile: &ModelProfile, trial: &str) -> u32 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let take = state.takes.entry((profile.name.clone(), trial.to_owned())).or_insert(0);
        *take += 1;
        *take
    }

    /// Keeps the vectors of texts.
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
    ModelError::never(ModelFault::Request, format!("the cassette could not be written: {error}"))
}

/// Counts the exchanges of one conversation by their purpose.
#[derive(Debug, Default)]
struct Places(Mutex<BTreeMap<String, u32>>);

impl Places {
    fn next(&self, purpose: Purpose) -> u32 {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.entry(format!("{purpose:?}")).or_insert(0);
        *place += 1;
        *place
    }
}

/// A model whose exchanges are recorded. Made anew for each try at a trial.
pub struct Recorded<M> {
    inner: M,
    tape: Arc<Tape>,
    trial: String,
    take: u32,
    places: Places,
}

impl<M: ChatModel> Recorded<M> {
    /// Records the exchanges of `inner` under the name of a trial.
    pub fn new(inner: M, tape: Arc<Tape>, trial: &str) -> Self {
        let take = tape.take(inner.profile(), trial);
        Self { inner, tape, trial: trial.to_owned(), take, places: Places::default() }
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

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// An embedder whose vectors are recorded.
pub struct RecordedVectors<E> {
    inner: E,
    tape: Arc<Tape>,
}

impl<E: Embedder> RecordedVectors<E> {
    /// Records what `inner` answers.
    pub fn new(inner: E, tape: Arc<Tape>) -> Self {
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
    ) -> PortFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.ask(side, texts))
    }
}

/// The vectors of a cassette: each text that was embedded once is embedded again, in any order.
#[derive(Debug)]
pub struct PlayedVectors {
    name: String,
    vectors: BTreeMap<(bool, String), Vec<f32>>,
}

impl PlayedVectors {
    /// Reads a cassette that holds the vectors of one embedder.
    pub fn load(path: &Path) -> Result<Self, CassetteError> {
        let mut found: BTreeMap<String, BTreeMap<(bool, String), Vec<f32>>> = BTreeMap::new();
        for line in lines(path)? {
            match line? {
                Line::Vector(Vector { embedder, side, sha256, numbers }) => {
                    found.entry(embedder).or_default().insert((side == Side::Query, sha256), numbers);
                }
                Line::Model { .. } | Line::Exchange(_) => {}
            }
        }
        let names: Vec<String> = found.keys().cloned().collect();
        let mut all = found.into_iter();
        match (all.next(), all.next()) {
            (Some((name, vectors)), None) => Ok(Self { name, vectors }),
            _ => {
                let held = if names.is_empty() { "no vectors".into() } else { names.join(", ") };
                Err(CassetteError::Vectors { path: path.to_owned(), held })
            }
        }
    }
}

impl Embedder for PlayedVectors {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed<'a>(
        &'a self,
        side: Side,
        texts: &'a [String],
    ) -> PortFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let one = |text: &String| {
            let found = self.vectors.get(&(side == Side::Query, text_hash(text))).cloned();
            let start: String = text.chars().take(60).collect();
            found.ok_or_else(|| EmbedError(format!("the cassette holds no vector of {start:?}")))
        };
        Box::pin(std::future::ready(texts.iter().map(one).collect()))
    }
}

fn text_hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lines of a cassette, each read or named.
fn lines(path: &Path) -> Result<Vec<Result<Line, CassetteError>>, CassetteError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| CassetteError::Io { path: path.to_owned(), source })?;
    let read = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|source| CassetteError::Line {
            path: path.to_owned(),
            line: index + 1,
            source,
        })
    };
    Ok(text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(read).collect())
}

/// A cassette that is played.
#[derive(Debug)]
pub struct Cassette {
    profile: ModelProfile,
    exchanges: Vec<Exchange>,
    takes: Mutex<BTreeMap<String, u32>>,
}

impl Cassette {
    /// Reads a cassette; `model` names one of its models, when it holds several.
    pub fn load(path: &Path, model: Option<&str>) -> Result<Self, CassetteError> {
        let (mut profiles, mut exchanges) = (Vec::new(), Vec::new());
        for line in lines(path)? {
            match line? {
                Line::Model { profile, .. } => profiles.push(*profile),
                Line::Exchange(exchange) => exchanges.push(*exchange),
                Line::Vector(_) => {}
            }
        }
        let names: Vec<String> = profiles.iter().map(|profile| profile.name.clone()).collect();
        let fits = |profile: &ModelProfile| model.is_none_or(|model| profile.name == model);
        let mut fitting = profiles.into_iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(profile), None) => {
                exchanges.retain(|exchange| exchange.model == profile.name);
                Ok(Self { profile, exchanges, takes: Mutex::default() })
            }
            _ => {
                let held = if names.is_empty() { "no model".into() } else { names.join(", ") };
                Err(CassetteError::Model { path: path.to_owned(), held })
            }
        }
    }

    /// The model as it was recorded for this trial; each call begins the next try.
    pub fn play(self: &Arc<Self>, trial: &str) -> Played {
        let mut takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        let take = takes.entry(trial.to_owned()).or_insert(0);
        *take += 1;
        Played { cassette: Arc::clone(self), trial: trial.to_owned(), take: *take, places: Places::default() }
    }
}

/// One conversation of a cassette.
pub struct Played {
    cassette: Arc<Cassette>,
    trial: String,
    take: u32,
    places: Places,
}

impl Played {
    fn answer(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let ordinal = self.places.next(request.purpose);
        let place =
            format!("request {ordinal} ({:?}) of {}, take {}", request.purpose, self.trial, self.take);
        let found = self.cassette.exchanges.iter().find(|one| {
            one.trial == self.trial
                && one.take == self.take
                && one.purpose == request.purpose
                && one.ordinal == ordinal
        });
        let Some(exchange) = found else {
            return Err(ModelError::never(
                ModelFault::Unavailable,
                format!("the cassette does not hold {place}"),
            ));
        };
        match difference(&exchange.parts, &parts(request)) {
            None => Ok(exchange.reply.clone()),
            Some(differs) => Err(ModelError::never(
                ModelFault::Unavailable,
                format!("{place} differs from the one that was recorded: {differs}"),
            )),
        }
    }
}

impl ChatModel for Played {
    fn profile(&self) -> &ModelProfile {
        &self.cassette.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }
}

/// The first part in which two requests differ, in words.
fn difference(recorded: &[String], asked: &[String]) -> Option<String> {
    if recorded == asked {
        return None;
    }
    if recorded.first() != asked.first() {
        return Some("its system prompt, tools or limits".into());
    }
    let place = recorded.iter().zip(asked).position(|(one, other)| one != other);
    Some(match place {
        Some(place) => format!("message {place} of {}", asked.len() - 1),
        None => format!("it has {} messages, the recorded one has {}", asked.len() - 1, recorded.len() - 1),
    })
}

/// Hashes of the head and of each message; pictures count by their size alone.
fn parts(request: &ChatRequest) -> Vec<String> {
    let head = ChatRequest { messages: Vec::new(), ..request.clone() };
    let messages = request.messages.iter().map(|message: &Message| hash(serde_json::to_value(message)));
    std::iter::once(hash(serde_json::to_value(head))).chain(messages).collect()
}

fn hash(value: Result<Value, serde_json::Error>) -> String {
    let mut value = value.unwrap_or_default();
    forget_pictures(&mut value);
    let digest = Sha256::digest(value.to_string());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn forget_pictures(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("media") && fields.contains_key("size") {
                fields.remove("hash");
            }
            fields.values_mut().for_each(forget_pictures);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_pictures),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apprentice_protocol::{ChatModel, ChatRequest, Content, Message, Purpose};

    use super::{Cassette, Recorded, Tape};
    use crate::model::scripted::{Scripted, ScriptedReply};
    use crate::record::Redactor;

    fn request(words: &str) -> ChatRequest {
        let messages = vec![Message::User { content: vec![Content::text(words)] }];
        ChatRequest { messages, ..ChatRequest::default() }
    }

    fn script() -> Scripted {
        let said = |text: &str| ScriptedReply { say: Some(text.into()), ..ScriptedReply::default() };
        Scripted::new([said("one hunter22"), said("two"), said("three")]).expect("a script").in_order()
    }

    #[tokio::test]
    async fn a_run_is_played_again_and_what_differs_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.jsonl");
        let redactor = Redactor::new(["hunter22"]).expect("builds");
        let tape = Arc::new(Tape::create(&path, redactor.clone()).expect("begins"));
        let model = Recorded::new(script(), Arc::clone(&tape), "task/0");
        model.reply(&request("a")).await.expect("answers");
        let reflect = ChatRequest { purpose: Purpose::Reflect, ..request("r") };
        model.reply(&reflect).await.expect("answers");
        model.reply(&request("b")).await.expect("answers");
        assert!(!std::fs::read_to_string(&path).expect("reads").contains("hunter22"));
        assert!(Tape::create(&path, redactor).is_err(), "is never overwritten");

        let cassette = Arc::new(Cassette::load(&path, None).expect("loads"));
        let played = cassette.play("task/0");
        assert_eq!(played.profile(), model.profile());
        assert_eq!(played.reply(&reflect).await.expect("answers").say, ["two"]);
        assert_eq!(played.reply(&request("a")).await.expect("answers").say, ["one [redacted]"]);
        let told = played.reply(&request("x")).await.expect_err("differs").message;
        assert_eq!(
            told,
            "request 2 (Act) of task/0, take 1 differs from the one that was recorded: message 1 of 1"
        );
        let told = played.reply(&request("a")).await.expect_err("is over").message;
        assert_eq!(told, "the cassette does not hold request 3 (Act) of task/0, take 1");
        let told = cassette.play("task/0").reply(&request("a")).await.expect_err("no second take").message;
        assert!(told.contains("take 2"), "{told}");
        assert!(Cassette::load(&path, Some("other")).is_err());
    }
}
