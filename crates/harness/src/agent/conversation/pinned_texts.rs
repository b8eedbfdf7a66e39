//! Tracks which tool results hold texts that a tool may pin. A pinned text stays in the conversation; a released one is
//! the first to be trimmed.

use std::collections::BTreeMap;

use apprentice_protocol::{CallId, Message, TextMark};

/// How a marked text is treated when the context is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    /// It stays.
    Pinned,
    /// It was pinned before, and no result has held it since. These words replace it.
    Released { left_out: &'static str },
}

/// The marks that tools have set on their texts.
#[derive(Debug, Default)]
pub(crate) struct PinnedTexts {
    /// Retention by the key of the texts. Texts with other keys are treated like any other text.
    retention: BTreeMap<String, Retention>,
    /// Calls of the current turn whose results hold a text with a key.
    holders: Vec<(CallId, String)>,
}

impl PinnedTexts {
    /// Stores the marks of a call's result.
    pub(crate) fn note(&mut self, call: &CallId, marks: Vec<TextMark>) {
        for mark in marks {
            match mark {
                TextMark::Holds(key) => {
                    if matches!(self.retention.get(&key), Some(Retention::Released { .. })) {
                        self.retention.remove(&key);
                    }
                    self.holders.push((call.clone(), key));
                }
                TextMark::Pins(key) => drop(self.retention.insert(key, Retention::Pinned)),
                TextMark::Releases { key, left_out } => {
                    self.retention.insert(key, Retention::Released { left_out });
                }
            }
        }
    }

    /// Returns, for each part of a message, the key of the text that it holds. Forgets the holders of the current turn.
    pub(crate) fn keys(&mut self, message: &Message) -> Vec<Option<String>> {
        let Message::Results { results, .. } = message else { return Vec::new() };
        let holders = std::mem::take(&mut self.holders);
        let key = |id: &CallId| holders.iter().find(|(call, _)| call == id).map(|(_, key)| key.clone());
        results.iter().flat_map(|result| vec![key(&result.id); result.content.len()]).collect()
    }

    pub(crate) fn retention(&self, key: Option<&str>) -> Option<Retention> {
        self.retention.get(key?).copied()
    }
}
