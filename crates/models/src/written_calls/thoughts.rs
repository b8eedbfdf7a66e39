//! Takes a model's thoughts out of its words. A thought that is not closed ends everything behind it: what stands there
//! is neither a call nor an answer.

use super::call_values::value_at;
use super::harmony::{self, HarmonyMessage};
use super::marks::plain_marks;
use super::{NamedCall, ReadCall};

/// The marks around a thought, as templates have them.
const PAIRS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|think|>", "<|/think|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|channel>thought", "<channel|>"),
    ("<ifm|think>", "</ifm|think>"),
    ("<ifm|think_fast>", "</ifm|think_fast>"),
    ("<ifm|think_faster>", "</ifm|think_faster>"),
    ("◁think▷", "◁/think▷"),
];

/// A model's text, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Words {
    /// Its thoughts, in order.
    pub(crate) thoughts: Vec<String>,
    /// Everything else: words for a person, and calls.
    pub(crate) text: String,
    /// Whether the text ends within a thought.
    pub(crate) open: bool,
    /// Calls in the channels of OpenAI's harmony format.
    pub(crate) calls: Vec<ReadCall>,
    /// Whether the words are remarks before a call, and so no answer.
    pub(crate) commentary: bool,
}

/// Takes a text apart.
pub(crate) fn split_thoughts(text: &str) -> Words {
    let plain = plain_marks(text);
    if let Some(messages) = harmony::messages(&plain) {
        return of_channels(messages);
    }
    let mut words = Words::default();
    let mut rest = plain.as_ref();
    loop {
        match next_mark(rest) {
            None => {
                words.text.push_str(rest);
                return words;
            }
            // The template has opened this thought.
            Some(Mark { pair, closes: true, start }) => {
                let thought = format!("{}{}", std::mem::take(&mut words.text), &rest[..start]);
                words.note(&thought);
                rest = &rest[start + pair.1.len()..];
            }
            Some(Mark { pair, closes: false, start }) => {
                words.text.push_str(&rest[..start]);
                let inside = &rest[start + pair.0.len()..];
                match inside.split_once(pair.1) {
                    Some((thought, after)) => {
                        words.note(thought);
                        rest = after;
                    }
                    None => {
                        words.note(inside);
                        words.open = true;
                        return words;
                    }
                }
            }
        }
    }
}

impl Words {
    fn note(&mut self, thought: &str) {
        let thought = thought.trim();
        self.thoughts.extend((!thought.is_empty()).then(|| thought.to_owned()));
    }
}

fn of_channels(messages: Vec<HarmonyMessage>) -> Words {
    let mut words = Words::default();
    let mut answer = Vec::new();
    let mut remarks = Vec::new();
    for message in messages {
        match message {
            HarmonyMessage::Thought { text, open } => {
                words.note(&text);
                words.open |= open;
            }
            HarmonyMessage::Call { name, arguments } => {
                words.calls.push(Ok(NamedCall { name, arguments: arguments.into() }));
            }
            HarmonyMessage::Remark { text } => remarks.push(text),
            HarmonyMessage::Answer { text } => answer.push(text),
        }
    }
    words.commentary = answer.is_empty();
    let said = if answer.is_empty() { remarks } else { answer };
    words.text = said.join("\n").trim().to_owned();
    words
}

/// A mark of a thought in a text.
struct Mark {
    pair: &'static (&'static str, &'static str),
    closes: bool,
    start: usize,
}

/// Returns the first mark that does not stand inside an object of JSON, where it is material.
fn next_mark(text: &str) -> Option<Mark> {
    let mut skipped = 0;
    loop {
        let found = PAIRS
            .iter()
            .flat_map(|pair| [(pair, false, pair.0), (pair, true, pair.1)])
            .filter_map(|(pair, closes, mark)| {
                let start = skipped + text.get(skipped..)?.find(mark)?;
                Some(Mark { pair, closes, start })
            })
            .min_by_key(|mark| mark.start)?;
        match object_around(text, skipped, found.start) {
            Some(end) => skipped = end,
            None => return Some(found),
        }
    }
}

/// Returns the end of the first object that begins between two places and reaches beyond the second.
fn object_around(text: &str, from: usize, place: usize) -> Option<usize> {
    let mut at = from;
    while let Some(start) = text.get(at..place)?.find('{').map(|found| at + found) {
        match value_at(text, start) {
            Ok(read) if read.end > place => return Some(read.end),
            Ok(read) => at = read.end,
            Err(_) => at = start + 1,
        }
    }
    None
}
