//! Settings that the providers with their own computer tool share.

use apprentice_protocol::{CoordinateSpace, HistoryRule, ImageRule, ModelProfile, Size, ToolRule};

use super::http::Endpoint;
use super::price::Tariff;
use super::safety::SafetyPolicy;

/// A picture size that these providers neither shrink nor tile.
const PICTURE: Size = Size::new(1440, 900);
const MAX_OUTPUT_TOKENS: u32 = 16_000;

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
            history: HistoryRule::AppendOnly { max_request_bytes, uploads: false },
            tools: ToolRule::Fixed,
            max_output_tokens: MAX_OUTPUT_TOKENS,
        }
    }
}
