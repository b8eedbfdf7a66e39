//! The cassette format: recorded requests and replies, one JSON line per exchange.
//!
//! An exchange is found by its conversation (the trial and its take), its purpose, and its index among those.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use apprentice_protocol::{ChatReply, ChatRequest, Message, ModelProfile, Purpose, Side};
use apprentice_trace::hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The version of the line format.
pub(super) const VERSION: u32 = 1;

/// One line of a cassette.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum Line {
    /// A recorded model.
    Model { version: u32, profile: Box<ModelProfile> },
    /// One request and its reply.
    Exchange(Box<Exchange>),
    /// The embedding of one text.
    Vector(Vector),
}

/// The embedding of a text. The text itself is not stored; its hash is the key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Vector {
    pub(super) embedder: String,
    pub(super) side: Side,
    pub(super) sha256: String,
    pub(super) numbers: Vec<f32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Exchange {
    pub(super) model: String,
    pub(super) trial: String,
    pub(super) take: u32,
    pub(super) purpose: Purpose,
    pub(super) ordinal: u32,
    /// Hashes of the request's head and of each message, without pictures.
    pub(super) parts: Vec<String>,
    pub(super) reply: ChatReply,
}

/// A cassette that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be opened, read or written.
    #[error("cannot use the cassette {}", path.display())]
    Io {
        /// Path of the cassette.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// A line does not have the cassette format.
    #[error("{}:{line}: not a line of a cassette", path.display())]
    Line {
        /// Path of the cassette.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The error of the parser.
        #[source]
        source: serde_json::Error,
    },
    /// The cassette holds several models and none was named, or it lacks the named one.
    #[error("{} holds {held}; name one as cassette:FILE#MODEL", path.display())]
    Model {
        /// Path of the cassette.
        path: PathBuf,
        /// The models it holds, in words.
        held: String,
    },
    /// The cassette does not hold the vectors of exactly one embedder.
    #[error("{} holds {held}; it must hold the vectors of exactly one embedder", path.display())]
    Vectors {
        /// Path of the cassette.
        path: PathBuf,
        /// The embedders it holds, in words.
        held: String,
    },
}

/// Counts the exchanges of one conversation by purpose.
#[derive(Debug, Default)]
pub(super) struct ExchangeCounters(Mutex<BTreeMap<String, u32>>);

impl ExchangeCounters {
    pub(super) fn next(&self, purpose: Purpose) -> u32 {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.entry(format!("{purpose:?}")).or_insert(0);
        *place += 1;
        *place
    }
}

pub(super) fn text_hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Reads the lines of a cassette; each is a parsed line or an error that names it.
pub(super) fn lines(path: &Path) -> Result<Vec<Result<Line, CassetteError>>, CassetteError> {
    let text = apprentice_files::read_to_string(path)
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

/// Hashes the head and each message of a request. A picture contributes only its size.
pub(super) fn parts(request: &ChatRequest) -> Vec<String> {
    let head = ChatRequest { messages: Vec::new(), ..request.clone() };
    let messages = request.messages.iter().map(|message: &Message| hash(serde_json::to_value(message)));
    std::iter::once(hash(serde_json::to_value(head))).chain(messages).collect()
}

fn hash(value: Result<Value, serde_json::Error>) -> String {
    let mut value = value.unwrap_or_default();
    forget_pictures(&mut value);
    let digest = Sha256::digest(value.to_string());
    hex(&digest[..8])
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
