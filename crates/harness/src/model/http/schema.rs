//! Reduces a JSON Schema to the keywords that providers enforce; the other constraints move into the description.

use serde_json::{Map, Value, json};

/// Keywords that every provider with strict schemas supports.
const KNOWN: &[&str] = &[
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "anyOf",
    "allOf",
    "$ref",
    "$defs",
    "description",
    "title",
    "format",
    "additionalProperties",
];
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// What is said of an optional property that a strict schema has to require.
const OPTIONAL: &str = "Optional: null leaves it out.";

/// The treatment of optional properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionalProperties {
    /// They may be omitted.
    Absent,
    /// Every property is required; optional ones may be null.
    Null,
}

/// Returns the schema in the form that strict providers accept: closed objects, `anyOf` for `oneOf`, and every
/// unsupported keyword written into the description.
pub(crate) fn strict_schema(schema: &Value, optional: OptionalProperties) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(strict_object(fields, optional)),
        Value::Bool(true) => json!({}),
        other => other.clone(),
    }
}

fn strict_object(fields: &Map<String, Value>, optional: OptionalProperties) -> Map<String, Value> {
    let mut kept = Map::new();
    let mut words = Vec::new();
    for (name, value) in fields {
        match name.as_str() {
            "$schema" | "default" | "examples" | "discriminator" => {}
            "oneOf" | "anyOf" | "allOf" => {
                let to = if name == "oneOf" { "anyOf" } else { name };
                kept.insert(to.to_owned(), each(value, optional));
            }
            "properties" | "$defs" | "definitions" => {
                kept.insert(name.clone(), each_named(value, optional));
            }
            "items" => {
                kept.insert(name.clone(), strict_schema(value, optional));
            }
            "additionalProperties" => {}
            "format" if !FORMATS.iter().any(|known| value == known) => {
                words.push(format!("format: {value}"));
            }
            known if KNOWN.contains(&known) => {
                kept.insert(name.clone(), value.clone());
            }
            unknown => words.push(format!("{unknown}: {value}")),
        }
    }
    close(&mut kept, optional);
    if !words.is_empty() {
        let before = kept.get("description").and_then(Value::as_str).unwrap_or_default();
        let joint = if before.is_empty() { "" } else { " " };
        kept.insert("description".into(), format!("{before}{joint}({})", words.join(", ")).into());
    }
    kept
}

/// Closes an object. With [`OptionalProperties::Null`] every property becomes required.
fn close(fields: &mut Map<String, Value>, optional: OptionalProperties) {
    let is_object = fields.get("type").is_some_and(|kind| {
        kind == "object" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
    });
    if !is_object && !fields.contains_key("properties") {
        return;
    }
    fields.insert("additionalProperties".into(), false.into());
    let required: Vec<String> = fields
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    if optional == OptionalProperties::Absent {
        return;
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if !required.contains(name) {
                *property = nullable(property.take());
            }
        }
        let all: Vec<Value> = properties.keys().map(|name| name.clone().into()).collect();
        fields.insert("required".into(), all.into());
    }
}

fn nullable(property: Value) -> Value {
    let takes_null = |value: &Value| value["type"] == "null";
    if property["anyOf"].as_array().is_some_and(|any| any.iter().any(takes_null))
        || property["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
    {
        return property;
    }
    json!({ "anyOf": [property, { "type": "null" }], "description": OPTIONAL })
}

fn each(value: &Value, optional: OptionalProperties) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| strict_schema(item, optional)).collect(),
        other => other.clone(),
    }
}

fn each_named(value: &Value, optional: OptionalProperties) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, value)| (name.clone(), strict_schema(value, optional))).collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{OptionalProperties, strict_schema};

    #[test]
    fn what_cannot_be_enforced_goes_into_words() {
        let schema = json!({
            "$schema": "x", "type": "object", "required": ["a"],
            "properties": {
                "a": { "type": "string", "minLength": 2, "description": "A name." },
                "b": { "oneOf": [{ "type": "integer", "format": "uint8" }, { "type": "null" }] },
                "c": { "type": "array", "items": { "type": "object", "properties": { "d": true } } },
            },
        });
        assert_eq!(
            strict_schema(&schema, OptionalProperties::Absent),
            json!({
                "type": "object", "required": ["a"], "additionalProperties": false,
                "properties": {
                    "a": { "type": "string", "description": "A name. (minLength: 2)" },
                    "b": { "anyOf": [
                        { "type": "integer", "description": "(format: \"uint8\")" }, { "type": "null" }
                    ] },
                    "c": { "type": "array", "items": {
                        "type": "object", "properties": { "d": {} }, "additionalProperties": false
                    } },
                },
            })
        );
        let strict = strict_schema(&schema, OptionalProperties::Null);
        assert_eq!(strict["required"], json!(["a", "b", "c"]));
        assert_eq!(strict["properties"]["c"]["anyOf"][1], json!({ "type": "null" }));
        assert_eq!(strict["properties"]["c"]["description"], "Optional: null leaves it out.");
        assert_eq!(strict["properties"]["b"]["anyOf"].as_array().map(Vec::len), Some(2));
    }
}
