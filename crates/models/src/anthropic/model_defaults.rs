//! Built-in settings of Anthropic's models, by the prefix of their families. An unlisted model has none: what another one
//! takes may be refused, or billed otherwise.

use std::collections::BTreeMap;

use apprentice_protocol::{CoordinateSpace, ImageRule, ModelProfile, Size, ToolRule, ViewRule};
use serde::Deserialize;

use crate::family::family;
use crate::hosted::history;

const SHIPPED: &str = include_str!("models.toml");
/// All models take pictures of this size unchanged, however many a request holds.
const PICTURE: Size = Size::new(1280, 800);
/// The API's limit on one request, minus room for the framing of the body.
const MAX_REQUEST_BYTES: u64 = 30_000_000;
/// Covers reasoning and text.
const MAX_OUTPUT_TOKENS: u32 = 16_000;

/// A version of the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum ApiVersion {
    /// The version of October 2026.
    #[default]
    #[serde(rename = "2026-10-21")]
    October2026,
    /// The first version, of June 2023.
    #[serde(rename = "2023-06-01")]
    June2023,
}

impl ApiVersion {
    /// Returns the value of the version header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::October2026 => "2026-10-21",
            Self::June2023 => "2023-06-01",
        }
    }

    /// Returns the version with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::October2026, Self::June2023].into_iter().find(|version| version.as_str() == name)
    }
}

/// A computer tool of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ComputerTool {
    /// `computer_toolset_20260801`, and `browser_toolset_20260801` in browsers.
    #[serde(rename = "toolset")]
    Toolset,
    /// `computer_20251124`
    #[serde(rename = "20251124")]
    November2025,
    /// `computer_20250124`
    #[serde(rename = "20250124")]
    January2025,
    /// `computer_20241022`
    #[serde(rename = "20241022")]
    October2024,
}

impl ComputerTool {
    /// Returns the type of an older tool and the beta feature it needs; `None` for the toolset.
    pub(super) fn legacy(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Toolset => None,
            Self::November2025 => Some(("computer_20251124", "computer-use-2025-11-24")),
            Self::January2025 => Some(("computer_20250124", "computer-use-2025-01-24")),
            Self::October2024 => Some(("computer_20241022", "computer-use-2024-10-22")),
        }
    }
}

/// How reasoning is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// The model decides when and how much.
    Adaptive,
    /// With a token budget, which older models require.
    Enabled,
    /// No reasoning is requested.
    None,
}

/// The reasoning effort of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// `low`
    Low,
    /// `medium`
    Medium,
    /// `high`
    High,
    /// `xhigh`
    Xhigh,
    /// `max`
    Max,
}

impl Effort {
    /// Returns the API's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Returns the effort with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max]
            .into_iter()
            .find(|effort| effort.as_str() == name)
    }
}

/// The built-in settings of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelDefaults {
    /// The computer tool it supports.
    pub tool: ComputerTool,
    /// How reasoning is requested.
    pub thinking: Thinking,
}

impl ModelDefaults {
    /// Returns the settings for a model's id on any platform; `None` if its family is not known.
    pub fn of(model: &str) -> Option<Self> {
        let family = family(model);
        let known: BTreeMap<String, Self> = toml::from_str(SHIPPED).unwrap_or_default();
        let fits = known.into_iter().filter(|(head, _)| family.starts_with(head.as_str()));
        fits.max_by_key(|(head, _)| head.len()).map(|(_, facts)| facts)
    }

    /// Builds the profile that the agent loop uses. `max_output_tokens` replaces the usual limit.
    pub(super) fn model_profile(self, name: &str, max_output_tokens: Option<u32>) -> ModelProfile {
        ModelProfile {
            name: name.to_owned(),
            consumer: name.to_owned(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::Within { size: PICTURE },
            outline: false,
            views: ViewRule::Changes,
            history: history(MAX_REQUEST_BYTES),
            tools: ToolRule::Fixed,
            max_output_tokens: max_output_tokens.unwrap_or(MAX_OUTPUT_TOKENS),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{ComputerTool, ModelDefaults, SHIPPED, Thinking};

    #[test]
    fn the_longest_beginning_holds() {
        toml::from_str::<BTreeMap<String, ModelDefaults>>(SHIPPED).expect("is sound");
        let check = |model: &str, tool, thinking| {
            assert_eq!(ModelDefaults::of(model), Some(ModelDefaults { tool, thinking }), "{model}");
        };
        check("claude-opus-5-5", ComputerTool::Toolset, Thinking::Adaptive);
        check("claude-opus-4-5-20251101", ComputerTool::November2025, Thinking::Enabled);
        check("claude-haiku-4-5", ComputerTool::January2025, Thinking::Enabled);
        check("claude-3-5-sonnet-20241022", ComputerTool::October2024, Thinking::None);
        check("us.anthropic.claude-opus-4-5-20251101-v1:0", ComputerTool::November2025, Thinking::Enabled);
        check("global.anthropic.claude-sonnet-4-6", ComputerTool::November2025, Thinking::Adaptive);
        check("claude-haiku-4-5@20251001", ComputerTool::January2025, Thinking::Enabled);
        check("claude-opus-4-1-20250805", ComputerTool::January2025, Thinking::Enabled);
        check("claude-3-7-sonnet-20250219", ComputerTool::January2025, Thinking::Enabled);
        for unknown in ["something-new", "claude-next", "application-inference-profile/a1b2c3"] {
            assert_eq!(ModelDefaults::of(unknown), None, "{unknown}");
        }
    }
}
