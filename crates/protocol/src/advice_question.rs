//! What a trace holds of a question to a model about advice for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlobHash, Timing, Usage};

/// A question to the model about advice for it, and its reply. It is no turn, and its tokens, time and cost count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdviceQuestion {
    /// The blob of the request without its messages.
    pub request: BlobHash,
    /// Blobs of its messages.
    pub messages: Vec<BlobHash>,
    /// Blobs of the reply's raw content, one per block.
    pub raw: Vec<BlobHash>,
    /// The text parts of the reply.
    pub say: Vec<String>,
    /// Token usage.
    pub usage: Usage,
    /// Time spent.
    pub timing: Timing,
    /// Cost in US dollars; `None` if the model has no price.
    pub cost_usd: Option<f64>,
    /// The exact model that replied, as the provider names it.
    pub provider_model: Option<String>,
    /// Whether usage and cost are estimates, because the server did not say them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}
