//! The forms of acts in the schema of a turn.

use serde_json::{Value, json};

/// Limit on what is typed at once, in characters. Without one such models fill their whole output.
pub(super) const MAX_TEXT_CHARS: u32 = 300;

/// An object of these properties, in this order.
pub(super) fn form(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let map: serde_json::Map<String, Value> =
        properties.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    json!({ "type": "object", "properties": map, "required": names, "additionalProperties": false })
}
