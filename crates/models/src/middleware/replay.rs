//! Replays cassettes, without a network. A request that differs from the recorded one is refused, and the error names
//! the first difference.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, EmbedError, Embedder, ModelError, ModelErrorKind,
    ModelProfile, Side,
};

use super::cassette::{CassetteError, Exchange, ExchangeCounters, Line, Vector, lines, parts, text_hash};

/// The recorded embeddings of a cassette, found by text, in any order.
#[derive(Debug)]
pub struct ReplayedVectors {
    name: String,
    vectors: BTreeMap<(bool, String), Vec<f32>>,
}

impl ReplayedVectors {
    /// Reads a cassette that holds the vectors of exactly one embedder.
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

impl Embedder for ReplayedVectors {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed<'a>(
        &'a self,
        side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let one = |text: &String| {
            let found = self.vectors.get(&(side == Side::Query, text_hash(text))).cloned();
            let start: String = text.chars().take(60).collect();
            found.ok_or_else(|| EmbedError(format!("the cassette holds no vector of {start:?}")))
        };
        Box::pin(std::future::ready(texts.iter().map(one).collect()))
    }
}

/// A cassette for replay.
#[derive(Debug)]
pub struct Cassette {
    profile: ModelProfile,
    exchanges: Vec<Exchange>,
    takes: Mutex<BTreeMap<String, u32>>,
}

impl Cassette {
    /// Reads a cassette. `model` selects one of its models; it may be `None` when there is only one.
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

    /// Returns the recorded model for this trial. Each call starts the next take.
    pub fn play(self: &Arc<Self>, trial: &str) -> ReplayedModel {
        let mut takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        let take = takes.entry(trial.to_owned()).or_insert(0);
        *take += 1;
        ReplayedModel {
            cassette: Arc::clone(self),
            trial: trial.to_owned(),
            take: *take,
            places: ExchangeCounters::default(),
        }
    }
}

/// One conversation of a cassette, in replay.
pub struct ReplayedModel {
    cassette: Arc<Cassette>,
    trial: String,
    take: u32,
    places: ExchangeCounters,
}

impl ReplayedModel {
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
                ModelErrorKind::Unavailable,
                format!("the cassette does not hold {place}"),
            ));
        };
        match difference(&exchange.parts, &parts(request)) {
            None => Ok(exchange.reply.clone()),
            Some(differs) => Err(ModelError::never(
                ModelErrorKind::Unavailable,
                format!("{place} differs from the recorded one: {differs}"),
            )),
        }
    }
}

impl ChatModel for ReplayedModel {
    fn profile(&self) -> &ModelProfile {
        &self.cassette.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }
}

/// Describes the first difference between two requests.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apprentice_protocol::{ChatModel, ChatRequest, Content, Message, Purpose};

    use super::super::{Recorded, Recording};
    use super::Cassette;
    use crate::scripted::{Scripted, ScriptedReply};
    use apprentice_trace::Redactor;

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
        let tape = Arc::new(Recording::create(&path, redactor.clone()).expect("begins"));
        let model = Recorded::new(script(), Arc::clone(&tape), "task/0");
        model.reply(&request("a")).await.expect("answers");
        let reflect = ChatRequest { purpose: Purpose::Reflect, ..request("r") };
        model.reply(&reflect).await.expect("answers");
        model.reply(&request("b")).await.expect("answers");
        assert!(!std::fs::read_to_string(&path).expect("reads").contains("hunter22"));
        assert!(Recording::create(&path, redactor).is_err(), "is never overwritten");

        let cassette = Arc::new(Cassette::load(&path, None).expect("loads"));
        let played = cassette.play("task/0");
        assert_eq!(played.profile(), model.profile());
        assert_eq!(played.reply(&reflect).await.expect("answers").say, ["two"]);
        assert_eq!(played.reply(&request("a")).await.expect("answers").say, ["one [redacted]"]);
        let told = played.reply(&request("x")).await.expect_err("differs").message;
        assert_eq!(told, "request 2 (Act) of task/0, take 1 differs from the recorded one: message 1 of 1");
        let told = played.reply(&request("a")).await.expect_err("is over").message;
        assert_eq!(told, "the cassette does not hold request 3 (Act) of task/0, take 1");
        let told = cassette.play("task/0").reply(&request("a")).await.expect_err("no second take").message;
        assert!(told.contains("take 2"), "{told}");
        assert!(Cassette::load(&path, Some("other")).is_err());
    }
}
