//! How much of a log's text is kept: the same log must be read whether it has a few lines or a gigabyte.

use std::cell::Cell;

use serde_json::{Map, Value};

/// Maximum number of bytes of one text that are kept.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// Maximum number of bytes that are kept of all texts of a log; after that, only the beginning of each is.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// Bytes of a text that are kept when the log's are used up.
const START_BYTES: usize = 200;
/// Rough size of a value without its text.
const VALUE_BYTES: usize = 64;

/// Counts what is kept of a log's texts.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    kept: Cell<usize>,
    cut: Cell<usize>,
}

impl Texts {
    /// Keeps a text, or its beginning.
    pub(crate) fn keep(&self, text: &str) -> String {
        let most = if self.kept.get() < MAX_KEPT_BYTES { MAX_TEXT_BYTES } else { START_BYTES };
        let kept = start(text, most);
        if kept.len() < text.len() {
            self.cut.set(self.cut.get() + 1);
        }
        self.kept.set(self.kept.get() + kept.len());
        kept.to_owned()
    }

    /// Keeps the arguments of a call, with long texts cut.
    pub(crate) fn arguments(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        arguments.into_iter().map(|(name, value)| (name, self.value(value))).collect()
    }

    fn value(&self, value: Value) -> Value {
        self.kept.set(self.kept.get() + VALUE_BYTES);
        match value {
            Value::String(text) => Value::String(self.keep(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => Value::Object(self.arguments(fields)),
            other => other,
        }
    }

    /// Says how many texts are not whole.
    pub(crate) fn cut(&self) -> Option<String> {
        match self.cut.get() {
            0 => None,
            1 => Some("one long text is kept by its beginning alone".to_owned()),
            count => Some(format!("{count} long texts are kept by their beginning alone")),
        }
    }
}

/// The beginning of a text, at most this many bytes.
pub(crate) fn start(text: &str, most: usize) -> &str {
    if text.len() <= most { text } else { &text[..text.floor_char_boundary(most)] }
}

#[cfg(test)]
mod tests {
    use super::{MAX_KEPT_BYTES, MAX_TEXT_BYTES, START_BYTES, Texts};

    #[test]
    fn long_texts_are_cut_and_counted() {
        let texts = Texts::default();
        assert_eq!(texts.keep("short"), "short");
        assert_eq!(texts.cut(), None);
        assert_eq!(texts.keep(&"é".repeat(MAX_TEXT_BYTES)).len(), MAX_TEXT_BYTES);
        assert!(texts.cut().expect("cut").starts_with("one long text"));
        for _ in 0..MAX_KEPT_BYTES / MAX_TEXT_BYTES {
            texts.keep(&"x".repeat(MAX_TEXT_BYTES));
        }
        assert_eq!(texts.keep(&"x".repeat(MAX_TEXT_BYTES)).len(), START_BYTES);
    }
}
