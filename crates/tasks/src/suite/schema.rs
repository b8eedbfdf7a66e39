//! The JSON Schema of task files for editors: the schema of the Rust types, plus enums of all valid names.

use schemars::{Schema, schema_for};
use serde_json::{Value, json};

use crate::check::{GETTERS, METRICS, UNSUPPORTED_GETTERS};
use crate::setup::{KNOWN_STEPS, STEPS};
use crate::task::Task;

/// Returns the schema of a task file, published as `tasks/schema.json`.
pub fn task_schema() -> Schema {
    let mut schema = schema_for!(Task);
    let names = |names: Vec<&str>| json!({"type": "string", "enum": names});
    let metrics = names(METRICS.iter().map(|metric| metric.name).collect());
    let steps = names(STEPS.iter().copied().chain(KNOWN_STEPS.iter().map(|(name, _)| *name)).collect());
    let getters =
        names(GETTERS.iter().copied().chain(UNSUPPORTED_GETTERS.iter().map(|(name, _)| *name)).collect());
    let getter = json!({"type": ["object", "null"], "properties": {"type": getters}, "required": ["type"]});
    let one_or_many =
        |one: &Value| json!({"anyOf": [{"type": "array", "items": one}, one, {"type": "null"}]});
    for (place, form) in [
        (
            "/$defs/CheckSpec/properties/func",
            json!({"anyOf": [{"type": "array", "items": metrics}, metrics]}),
        ),
        ("/$defs/CheckSpec/properties/result", one_or_many(&getter)),
        ("/$defs/CheckSpec/properties/expected", one_or_many(&getter)),
        ("/$defs/SetupStep/properties/type", steps),
    ] {
        if let Some(node) = schema.pointer_mut(place) {
            let told = node.get("description").cloned();
            *node = form;
            if let (Some(object), Some(told)) = (node.as_object_mut(), told) {
                object.insert("description".to_owned(), told);
            }
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::task_schema;

    #[test]
    fn every_name_stands_in_the_schema() {
        let schema = task_schema();
        let holds = |place: &str, name: &str| {
            let node = schema.pointer(place).expect("the place").to_string();
            assert!(node.contains(&format!("\"{name}\"")), "{place} has no {name}: {node}");
        };
        holds("/$defs/CheckSpec/properties/func", "compare_table");
        holds("/$defs/CheckSpec/properties/result", "vm_file");
        holds("/$defs/CheckSpec/properties/expected", "googledrive_file");
        holds("/$defs/SetupStep/properties/type", "chrome_open_tabs");
    }
}
