//! Settings that the providers with their own computer tool share.

use apprentice_protocol::{CoordinateSpace, HistoryRule, ImageRule, ModelProfile, Size, ToolRule, ViewRule};

use super::http::Endpoint;
use super::options::CallOptions;
use super::price::Tariff;
use super::safety::SafetyPolicy;

/// A picture size that these providers neither shrink nor tile.
const PICTURE: Size = Size::new(1440, 900);
const MAX_OUTPUT_TOKENS: u32 = 16_000;
/// The pictures in one request, and those that remain when older ones are left out. Every provider takes more: 100
/// (Anthropic), 500 (OpenAI), 3,000 (Gemini). More pictures cost more and say little about the present screen.
const MOST_PICTURES: u32 = 40;
const KEPT_PICTURES: u32 = 20;

/// The rule by which these providers' conversations lose old pictures. `max_request_bytes` is the provider's limit on
/// one request.
pub(super) const fn history(max_request_bytes: u64) -> HistoryRule {
    HistoryRule::Blocks { keep: KEPT_PICTURES, at_most: MOST_PICTURES, max_request_bytes }
}

/// The settings of one hosted model.
#[derive(Clone, Debug)]
pub struct HostedConfig {
    /// The model's id at the provider.
    pub model: String,
    /// The provider's address and credentials.
    pub endpoint: Endpoint,
    /// Reasoning effort in the provider's spelling; `None` leaves the provider's default.
    pub effort: Option<String>,
    /// Decides the provider's pending safety checks.
    pub safety: SafetyPolicy,
    /// The price list; `None` when it is unknown.
    pub tariff: Option<Tariff>,
    /// Options of its calls.
    pub calls: CallOptions,
}

impl HostedConfig {
    /// Builds the profile. `max_request_bytes` is the provider's limit on one request.
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
            views: ViewRule::Changes,
            history: history(max_request_bytes),
            tools: ToolRule::Fixed,
            max_output_tokens: self.calls.max_output_tokens.unwrap_or(MAX_OUTPUT_TOKENS),
        }
    }
}
