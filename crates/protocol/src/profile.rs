//! What is known of a model as data. Profiles never grow methods that talk to a provider.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CoordinateSpace, Size};

/// Which picture size a model takes unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageRule {
    /// The model gets no pictures.
    None,
    /// The screen's own size.
    AsIs,
    /// At most this box, keeping the shape.
    Within {
        /// The box.
        size: Size,
    },
    /// Sides are multiples of `factor`, the area between two bounds.
    Factor {
        /// 28 or 32 in the models known so far.
        factor: u32,
        /// Least number of pixels.
        min_pixels: u64,
        /// Largest number of pixels.
        max_pixels: u64,
    },
}

/// How much fits into a model's context, and how a picture counts in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextRule {
    /// Tokens of a request and its answer together.
    pub tokens: u64,
    /// Pixels on a side of the square of a picture that counts as one token.
    pub patch: u32,
}

impl ContextRule {
    /// Tokens that a picture of this size counts as, by estimate.
    pub fn picture(&self, size: Size) -> u64 {
        let patches = |side: u32| u64::from(side.div_ceil(self.patch.max(1)));
        patches(size.width) * patches(size.height)
    }
}

/// What of a conversation is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryRule {
    /// Everything; the conversation only grows.
    AppendOnly {
        /// The provider's limit of one request.
        max_request_bytes: u64,
        /// Whether pictures can be uploaded once and named afterwards.
        uploads: bool,
    },
    /// All text, and only the last few pictures; less where the context is known and would not hold them.
    Window {
        /// How many pictures.
        images: u32,
        /// What fits; none when nobody knows, then only the server can tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<ContextRule>,
    },
}

/// Whether the tool list may change during a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolRule {
    /// It is fixed by the first request.
    Fixed,
    /// It may change.
    MayChange,
}

/// What the loop must know of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelProfile {
    /// `provider/name`, as rows and reports show it.
    pub name: String,
    /// The class under which skill counters are kept for this consumer (`builtin/novice`, `small-vlm`).
    pub consumer: String,
    /// How its points are to be read.
    pub space: CoordinateSpace,
    /// Which pictures it takes.
    pub images: ImageRule,
    /// Whether the interface tree is put before it as text.
    pub outline: bool,
    /// What is sent again.
    pub history: HistoryRule,
    /// Whether lent tools may change.
    pub tools: ToolRule,
    /// Largest number of output tokens to ask for.
    pub max_output_tokens: u32,
}
