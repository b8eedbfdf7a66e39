//! Known limits of hosted models.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::family::family;

const SHIPPED: &str = include_str!("limits.toml");

/// Returns the most output tokens that `provider/model` takes for one reply; `None` if it is unknown.
pub fn output_limit(model: &str) -> Option<u32> {
    static LIMITS: OnceLock<BTreeMap<String, u32>> = OnceLock::new();
    let limits = LIMITS.get_or_init(|| toml::from_str(SHIPPED).unwrap_or_default());
    let (provider, name) = model.split_once('/')?;
    let model = format!("{provider}/{}", family(name));
    let fits = limits.iter().filter(|(head, _)| model.starts_with(head.as_str()));
    fits.max_by_key(|(head, _)| head.len()).map(|(_, limit)| *limit)
}

#[cfg(test)]
mod tests {
    use super::{SHIPPED, output_limit};

    #[test]
    fn the_longest_beginning_holds_and_the_rest_is_unknown() {
        toml::from_str::<std::collections::BTreeMap<String, u32>>(SHIPPED).expect("is sound");
        assert_eq!(output_limit("anthropic/claude-opus-5-5"), Some(128_000));
        assert_eq!(output_limit("anthropic/claude-sonnet-4-5-20250929"), Some(64_000));
        assert_eq!(output_limit("openai/computer-use-preview-2025-03-11"), Some(1024));
        assert_eq!(output_limit("anthropic/eu.anthropic.claude-opus-4-5-20251101-v1:0"), Some(64_000));
        assert_eq!(output_limit("anthropic/claude-next"), None);
        assert_eq!(output_limit("compat/claude-opus-5"), None);
    }
}
