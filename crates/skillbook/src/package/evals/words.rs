//! What reading an evaluation and its checks share: words for messages, and paths that stay in the package.

use std::path::{Component, Path};

use serde_json::Value;

/// The beginning of a text, for a message.
pub(super) fn clipped(text: &str) -> String {
    text.chars().take(100).collect()
}

/// What a JSON value is, in words.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A path that stays where it belongs, without `./`.
pub(super) fn inner_path(path: &str) -> Result<String, String> {
    let outside = || Err(format!("the path {:?} leads out of the package", clipped(path)));
    if path.is_empty() || path.contains(['\\', '\0', '\n']) || path.len() > 300 {
        return outside();
    }
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => parts.push(name.to_string_lossy()),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return outside(),
        }
    }
    match parts.is_empty() {
        true => outside(),
        false => Ok(parts.join("/")),
    }
}
