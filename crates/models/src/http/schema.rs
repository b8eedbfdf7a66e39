//! Reduces a JSON Schema to the keywords that providers enforce; the other constraints move into the description.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::Json;

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

/// Keywords of bounds, which servers that sample under a grammar enforce (llama.cpp, xgrammar).
const BOUNDS: &[&str] = &["minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"];

/// The part of JSON Schema that a server enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaSubset {
    /// Optional properties may be absent; no bounds.
    Optional,
    /// Every property is required, and optional ones may be null; no bounds. What OpenAI accepts.
    AllRequired,
    /// Optional properties may be absent, and bounds hold.
    Bounded,
}

/// Returns the schema in the form that strict providers accept: closed objects, `anyOf` for `oneOf`, and every
/// unsupported keyword written into the description.
pub(crate) fn enforced_schema(schema: &Value, subset: SchemaSubset) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(enforced_object(fields, subset)),
        Value::Bool(true) => json!({}),
        other => other.clone(),
    }
}

fn enforced_object(fields: &Map<String, Value>, subset: SchemaSubset) -> Map<String, Value> {
    let mut kept = Map::new();
    let mut words = Vec::new();
    for (name, value) in fields {
        match name.as_str() {
            "$schema" | "default" | "examples" | "discriminator" => {}
            "oneOf" | "anyOf" | "allOf" => {
                let to = if name == "oneOf" { "anyOf" } else { name };
                kept.insert(to.to_owned(), each(value, subset));
            }
            "properties" | "$defs" | "definitions" => {
                kept.insert(name.clone(), each_named(value, subset));
            }
            "items" => {
                kept.insert(name.clone(), enforced_schema(value, subset));
            }
            "additionalProperties" => {}
            "format" if !FORMATS.iter().any(|known| value == known) => {
                words.push(format!("format: {value}"));
            }
            known if KNOWN.contains(&known) => {
                kept.insert(name.clone(), value.clone());
            }
            bound if subset == SchemaSubset::Bounded && BOUNDS.contains(&bound) => {
                kept.insert(name.clone(), value.clone());
            }
            unknown => words.push(format!("{unknown}: {value}")),
        }
    }
    close(&mut kept, subset);
    if !words.is_empty() {
        let before = kept.get("description").and_then(Value::as_str).unwrap_or_default();
        let joint = if before.is_empty() { "" } else { " " };
        kept.insert("description".into(), format!("{before}{joint}({})", words.join(", ")).into());
    }
    kept
}

/// Closes an object. With [`SchemaSubset::AllRequired`] every property becomes required.
fn close(fields: &mut Map<String, Value>, subset: SchemaSubset) {
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
    if subset != SchemaSubset::AllRequired {
        return;
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if !required.contains(name) {
                *property = nullable(property.take());
            }
        }
        // The order of `required` is the order in which the properties are sent.
        let rest = properties.keys().filter(|name| !required.contains(name));
        let all: Vec<Value> = required.iter().chain(rest).map(|name| name.clone().into()).collect();
        fields.insert("required".into(), all.into());
    }
}

/// Returns a schema whose properties stand in the order of `required`, optional ones behind: models write, and grammars
/// make them write, in the order of a schema, and a thought has to come before what follows from it.
pub(crate) fn ordered(schema: &Value) -> Json {
    // What was parsed from JSON can be written again.
    serde_json::to_string(&Ordered(schema))
        .and_then(|text| Json::raw(&text))
        .unwrap_or_else(|_| schema.clone().into())
}

struct Ordered<'a>(&'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let required = fields.get("required").and_then(Value::as_array).map(Vec::as_slice);
                serializer.collect_map(fields.iter().map(|(name, value)| match (name.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        (name, Field::Properties(properties, required.unwrap_or_default()))
                    }
                    _ => (name, Field::Other(Ordered(value))),
                }))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Ordered)),
            other => other.serialize(serializer),
        }
    }
}

enum Field<'a> {
    Properties(&'a Map<String, Value>, &'a [Value]),
    Other(Ordered<'a>),
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Other(value) => value.serialize(serializer),
            Self::Properties(properties, required) => {
                let first = required.iter().filter_map(Value::as_str);
                let first = first.filter_map(|name| properties.get_key_value(name));
                let rest =
                    properties.iter().filter(|(name, _)| !required.iter().any(|one| one == name.as_str()));
                serializer.collect_map(first.chain(rest).map(|(name, value)| (name, Ordered(value))))
            }
        }
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

fn each(value: &Value, subset: SchemaSubset) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| enforced_schema(item, subset)).collect(),
        other => other.clone(),
    }
}

fn each_named(value: &Value, subset: SchemaSubset) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, value)| (name.clone(), enforced_schema(value, subset))).collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{SchemaSubset, enforced_schema, ordered};

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
            enforced_schema(&schema, SchemaSubset::Optional),
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
        let bounded = enforced_schema(&schema, SchemaSubset::Bounded);
        assert_eq!(
            bounded["properties"]["a"],
            json!({ "type": "string", "minLength": 2, "description": "A name." })
        );
        let strict = enforced_schema(&schema, SchemaSubset::AllRequired);
        assert_eq!(strict["required"], json!(["a", "b", "c"]));
        assert_eq!(strict["properties"]["c"]["anyOf"][1], json!({ "type": "null" }));
        assert_eq!(strict["properties"]["c"]["description"], "Optional: null leaves it out.");
        assert_eq!(strict["properties"]["b"]["anyOf"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn properties_keep_the_order_in_which_they_are_required() {
        let turn = json!({ "type": "object", "required": ["thought", "tool", "arguments"], "properties": {
            "arguments": { "type": "object", "required": ["z", "a"], "properties": { "a": {}, "b": {}, "z": {} } },
            "thought": {}, "tool": {}, "note": {},
        } });
        let text = serde_json::to_string(&ordered(&turn)).expect("writes");
        let place = |name: &str| text.find(&format!("\"{name}\":")).expect("stands there");
        let places = ["thought", "tool", "arguments", "z", "a", "b", "note"].map(place);
        assert!(places.is_sorted(), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), turn);
        let strict = enforced_schema(&turn, SchemaSubset::AllRequired);
        assert_eq!(strict["required"], json!(["thought", "tool", "arguments", "note"]));
    }
}
