//! Model profiles: the properties of a model as data. Profiles have no methods that talk to a provider.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CoordinateSpace, Size};

/// The picture sizes that a model processes without resizing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageRule {
    /// The model gets no pictures.
    None,
    /// Any size; the screen's size is used.
    AsIs,
    /// Scaled to fit into this box, with the same aspect ratio.
    Within {
        /// The box.
        size: Size,
    },
    /// Sides are multiples of `factor`, and the area lies between two bounds.
    Factor {
        /// 28 or 32 in the models known so far.
        factor: u32,
        /// Minimum number of pixels.
        min_pixels: u64,
        /// Maximum number of pixels.
        max_pixels: u64,
    },
}

/// The size of a model's context, and how pictures count towards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextRule {
    /// Tokens of a request and its reply together.
    pub tokens: u64,
    /// Side length in pixels of the square patch that counts as one token.
    pub patch: u32,
}

impl ContextRule {
    /// Estimates the tokens of a picture of this size.
    pub fn picture(&self, size: Size) -> u64 {
        let patches = |side: u32| u64::from(side.div_ceil(self.patch.max(1)));
        patches(size.width) * patches(size.height)
    }
}

/// The part of a conversation that is sent with each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryRule {
    /// The whole conversation, which only grows: each request begins with the one before, byte by byte. One that does not
    /// fit is not sent, and nothing is left out of it.
    AppendOnly {
        /// The provider's limit on the size of a request, in bytes.
        max_request_bytes: u64,
        /// Whether pictures can be uploaded once and referenced afterwards.
        uploads: bool,
        /// The context size; `None` if unknown, so that only the server can detect an overflow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<ContextRule>,
    },
    /// All text and the newest pictures. Older pictures are left out in blocks: between two blocks the conversation only
    /// grows, so that the provider's cache stays valid.
    Blocks {
        /// Pictures that remain when a block is left out.
        keep: u32,
        /// The most pictures in one request.
        at_most: u32,
        /// The provider's limit on the size of a request, in bytes.
        max_request_bytes: u64,
    },
    /// All text and the newest pictures; less if the context size is known and too small for them.
    Window {
        /// Pictures that remain when older ones are left out.
        images: u32,
        /// The most pictures in one request: older ones are left out in blocks, so that between two blocks each request
        /// begins with the one before. `None` leaves one out each turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<u32>,
        /// The context size; `None` if unknown, so that only the server can detect an overflow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<ContextRule>,
    },
}

/// Whether the tool list may change during a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolRule {
    /// The first request fixes the tool list.
    Fixed,
    /// The tool list may change.
    MayChange,
}

/// How the list of elements is written for a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ViewRule {
    /// The whole tree as it is, each time.
    #[default]
    Whole,
    /// The elements that matter for acting, and after the first view those that changed.
    Changes,
    /// Up to some 300 tokens each time, for a model of few parameters: what can be acted on now, by name, one element a line.
    Short,
}

impl ViewRule {
    /// Returns whether this is the whole tree each time, as in records without the field.
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// The properties of a model that the agent loop needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelProfile {
    /// `provider/name`, as in rows and reports.
    pub name: String,
    /// The model class for skill counters (`builtin/novice`, `small-vlm`).
    pub consumer: String,
    /// The coordinate space of the model's points.
    pub space: CoordinateSpace,
    /// The accepted picture sizes.
    pub images: ImageRule,
    /// Whether the model gets the accessibility tree as text.
    pub outline: bool,
    /// How that text is written.
    #[serde(default, skip_serializing_if = "ViewRule::is_whole")]
    pub views: ViewRule,
    /// The part of the conversation that is sent with each request.
    pub history: HistoryRule,
    /// Whether the tool list may change.
    pub tools: ToolRule,
    /// Maximum number of output tokens to request.
    pub max_output_tokens: u32,
}
