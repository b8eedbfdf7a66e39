//! Texts and patterns.

/// Returns whether a pattern is words alone.
pub(super) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == ' ' || c == '-')
}

/// Returns a text in the quotes of this language.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
