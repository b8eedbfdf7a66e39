//! Content of messages to a model: size-limited text and pictures.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlobHash, Size};

/// Maximum number of characters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TextBudget(pub usize);

/// ASCII bytes of words, markup and JSON that count as one token.
const BYTES_PER_TOKEN: u64 = 3;

/// Estimates the tokens of a text. Each character outside ASCII counts as one token.
pub fn estimated_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.chars().count() as u64 - ascii;
    ascii.div_ceil(BYTES_PER_TOKEN) + other
}

/// Text that was cut to a maximum length. External text reaches a model only in this form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct BoundedText(String);

impl BoundedText {
    /// Keeps `text` if it fits; otherwise cuts it at a line or character boundary and appends the number of missing
    /// characters.
    pub fn cut(text: &str, budget: TextBudget) -> Self {
        let count = text.chars().count();
        if count <= budget.0 {
            return Self(text.to_owned());
        }
        let mark_of = |missing: usize| format!("\n[… {missing} more characters]");
        let room = budget.0.saturating_sub(mark_of(count).chars().count());
        let end = text.char_indices().nth(room).map_or(text.len(), |(index, _)| index);
        let line_end = text[..end].rfind('\n').filter(|line| *line * 2 > end).unwrap_or(end);
        let kept = &text[..line_end];
        let mark = mark_of(count - kept.chars().count());
        Self(format!("{kept}{mark}").chars().take(budget.0).collect())
    }

    /// Keeps `text` if it has at most this many estimated tokens; otherwise cuts it like [`Self::cut`].
    pub fn cut_to_tokens(text: &str, tokens: u64) -> Self {
        if estimated_tokens(text) <= tokens {
            return Self(text.to_owned());
        }
        // Counted in thirds of a token, so that the sum over the characters is exact.
        let room = tokens.saturating_mul(BYTES_PER_TOKEN);
        let mut used = 0;
        let fitting = text.chars().take_while(|c| {
            used += if c.is_ascii() { 1 } else { BYTES_PER_TOKEN };
            used <= room
        });
        Self::cut(text, TextBudget(fitting.count()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The encoding of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MediaType {
    /// `image/png`
    #[serde(rename = "image/png")]
    Png,
    /// `image/webp`
    #[serde(rename = "image/webp")]
    Webp,
    /// `image/jpeg`
    #[serde(rename = "image/jpeg")]
    Jpeg,
}

/// The bytes of an encoded picture, shared by the trace and all later requests.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ImageBytes(pub Arc<[u8]>);

impl std::fmt::Debug for ImageBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// An encoded picture with its hash. Serialized without its bytes: traces refer to pictures by hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// SHA-256 of the encoded bytes.
    pub hash: BlobHash,
    /// Size in pixels.
    pub size: Size,
    /// Encoding.
    pub media: MediaType,
    /// The encoded bytes; empty after loading from a trace, until the blob is read.
    #[serde(skip)]
    pub bytes: ImageBytes,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// The picture.
        image: Image,
    },
}

impl Content {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::{BoundedText, TextBudget, estimated_tokens};

    proptest! {
        #[test]
        fn a_cut_text_never_exceeds_its_budget(text in "(?s).{0,400}", budget in 0usize..300) {
            let cut = BoundedText::cut(&text, TextBudget(budget));
            prop_assert!(cut.as_str().chars().count() <= budget.max(text.chars().count().min(budget)));
        }

        #[test]
        fn a_text_cut_to_tokens_never_exceeds_them(text in "(?s).{0,400}", tokens in 0u64..300) {
            let cut = BoundedText::cut_to_tokens(&text, tokens);
            prop_assert!(estimated_tokens(cut.as_str()) <= tokens.max(1) + 1, "{cut:?}");
        }
    }

    #[test]
    fn a_text_that_just_fits_its_tokens_is_whole() {
        let text = "abcdef".repeat(20);
        assert_eq!(BoundedText::cut_to_tokens(&text, 40).as_str(), text);
        assert!(BoundedText::cut_to_tokens(&text, 39).as_str().ends_with("more characters]"));
        assert_eq!((estimated_tokens("日本語"), estimated_tokens("abcd")), (3, 2));
    }

    #[test]
    fn a_cut_says_how_much_is_missing() {
        let cut = BoundedText::cut(&"line of text\n".repeat(20), TextBudget(100));
        assert!(cut.as_str().ends_with("more characters]"), "{cut:?}");
    }
}
