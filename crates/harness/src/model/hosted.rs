//! What a model of a provider with a computer tool of its own needs, where nothing else is particular to it.

use apprentice_protocol::{CoordinateSpace, HistoryRule, ImageRule, ModelProfile, Size, ToolRule};

use super::exchange::Endpoint;
use super::price::Tariff;
use super::safety::SafetyPolicy;

/// A size that the providers neither shrink nor tile.
const PICTURE: Size = Size::new(1440, 900);
const MAX_OUTPUT_TOKENS: u32 = 16_000;

/// One model of such a provider.
#[derive(Clone, Debug)]
pub struct Hosted {
    /// The model's id.
    pub model: String,
    /// Where the provider is.
    pub endpoint: Endpoint,
    /// How hard it is to think, in the provider's word, if it is told.
    pub effort: Option<String>,
    /// Who answers its concerns about safety.
    pub safety: SafetyPolicy,
    /// What it costs, if that is known.
    pub tariff: Option<Tariff>,
}

impl Hosted {
    /// What the loop must know; `max_request_bytes` is the provider's limit of one request.
    pub(super) fn profile(
        &self,
        provider: &str,
        space: CoordinateSpace,
        max_request_bytes: u64,
    ) -> ModelProfile {
        let name = format!("{provider}/{}", self.model);
        ModelProfile {
            consumer: name.clone(),
            name,
            space,
            images: ImageRule::Within { size: PICTURE },
            outline: false,
            history: HistoryRule::AppendOnly { max_request_bytes, uploads: false },
            tools: ToolRule::Fixed,
            max_output_tokens: MAX_OUTPUT_TOKENS,
        }
    }
}
