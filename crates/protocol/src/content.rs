//! Content of messages to a model: size-limited text and pictures.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlobHash, Size};

/// Maximum number of characters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TextBudget(pub usize);

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

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
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

    use super::{BoundedText, TextBudget};

    proptest! {
        #[test]
        fn a_cut_text_never_exceeds_its_budget(text in "(?s).{0,400}", budget in 0usize..300) {
            let cut = BoundedText::cut(&text, TextBudget(budget));
            prop_assert!(cut.as_str().chars().count() <= budget.max(text.chars().count().min(budget)));
        }
    }

    #[test]
    fn a_cut_says_how_much_is_missing() {
        let cut = BoundedText::cut(&"line of text\n".repeat(20), TextBudget(100));
        assert!(cut.as_str().ends_with("more characters]"), "{cut:?}");
    }
}
