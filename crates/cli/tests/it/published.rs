//! What commands print with `--json` has the published form: each field that its schema asks for, and none that its schema
//! does not name.
//!
//! The words of JSON Schema that our schemas use are read here. A crate for all of them (`jsonschema`) turns on features of
//! `serde_json` with which numbers are read in another way, and the program on trial would no longer be the shipped one.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// What in an object is not as the schema says that the object names.
pub(crate) fn differences(told: &Value) -> Vec<String> {
    let Some(name) = told["schema"].as_str().and_then(|name| name.strip_prefix("apprentice.")) else {
        return vec!["it names no schema".to_owned()];
    };
    let file = format!("{}.json", name.replace(['.', '/'], "-"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(&file);
    let Ok(text) = fs::read_to_string(path) else { return vec![format!("there is no schemas/{file}")] };
    let root: Value = serde_json::from_str(&text).expect("JSON");
    let mut reader = Reader { root: &root, wrong: Vec::new() };
    reader.value(&root, told, "");
    reader.wrong
}

struct Reader<'a> {
    root: &'a Value,
    wrong: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Reads a value where it stands. What its schema and the parts of it name is all that it may have.
    fn value(&mut self, schema: &'a Value, told: &Value, at: &str) {
        let before = self.wrong.len();
        let named = self.part(schema, told, at);
        if let (Some(named), Value::Object(told), true) = (named, told, self.wrong.len() == before) {
            let unnamed = told.keys().filter(|field| !named.contains(&field.as_str()));
            self.wrong.extend(unnamed.map(|field| format!("{at}/{field}: the schema does not name it")));
        }
    }

    /// Reads a value by a part of its schema. Returns the fields that this part names; `None` if it allows any.
    fn part(&mut self, schema: &'a Value, told: &Value, at: &str) -> Option<Vec<&'a str>> {
        let says = |word: &str| schema.get(word);
        let words = schema.as_object()?;
        for word in words.keys() {
            assert!(KNOWN.contains(&word.as_str()), "{at}: this test cannot read {word:?} in a schema");
        }
        self.kind(schema, told, at);
        let mut named: Vec<&str> = Vec::new();
        for field in
            says("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if told.as_object().is_some_and(|told| !told.contains_key(field)) {
                self.wrong.push(format!("{at}/{field}: missing"));
            }
        }
        let properties = says("properties").and_then(Value::as_object);
        for (field, schema) in properties.into_iter().flatten() {
            named.push(field);
            if let Some(told) = told.get(field) {
                self.value(schema, told, &format!("{at}/{field}"));
            }
        }
        if let Some(reference) = says("$ref").and_then(Value::as_str) {
            let definition = self.root.pointer(reference.trim_start_matches('#')).expect("a definition");
            named.extend(self.part(definition, told, at)?);
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(parts) = says(word).and_then(Value::as_array) {
                named.extend(self.one_of(parts, told, at)?);
            }
        }
        for part in says("allOf").and_then(Value::as_array).into_iter().flatten() {
            named.extend(self.part(part, told, at)?);
        }
        for (number, told) in told.as_array().into_iter().flatten().enumerate() {
            let place = says("prefixItems").and_then(|places| places.get(number)).or_else(|| says("items"));
            if let Some(schema) = place {
                self.value(schema, told, &format!("{at}/{number}"));
            }
        }
        let says_fields =
            ["properties", "$ref", "anyOf", "oneOf", "allOf"].iter().any(|word| says(word).is_some());
        match says("additionalProperties") {
            Some(Value::Bool(false)) => Some(named),
            Some(schema) => {
                let others = told.as_object().into_iter().flatten();
                for (field, told) in others.filter(|(field, _)| !named.contains(&field.as_str())) {
                    self.value(schema, told, &format!("{at}/{field}"));
                }
                None
            }
            None => says_fields.then_some(named),
        }
    }

    /// Reads a value by the first of several parts that it agrees with.
    fn one_of(&mut self, parts: &'a [Value], told: &Value, at: &str) -> Option<Vec<&'a str>> {
        let mut tried = Vec::new();
        for part in parts {
            let mut reader = Reader { root: self.root, wrong: Vec::new() };
            let named = reader.part(part, told, at);
            if reader.wrong.is_empty() {
                return named;
            }
            tried.extend(reader.wrong);
        }
        self.wrong.push(format!("{at}: none of several forms: {tried:?}"));
        Some(Vec::new())
    }

    fn kind(&mut self, schema: &Value, told: &Value, at: &str) {
        let is = |kind: &str| match kind {
            "null" => told.is_null(),
            "boolean" => told.is_boolean(),
            "integer" => told.is_i64() || told.is_u64(),
            "number" => told.is_number(),
            "string" => told.is_string(),
            "array" => told.is_array(),
            "object" => told.is_object(),
            other => panic!("{at}: no kind of JSON: {other:?}"),
        };
        let agrees = match schema.get("type") {
            Some(Value::String(kind)) => is(kind),
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(is),
            _ => true,
        };
        let listed = schema.get("enum").and_then(Value::as_array).is_none_or(|words| words.contains(told));
        let same = schema.get("const").is_none_or(|word| word == told);
        if !(agrees && listed && same) {
            self.wrong.push(format!("{at}: {told} is not {schema}"));
        }
    }
}

/// The words of JSON Schema that are read, and those that say nothing about form or only bound a number.
const KNOWN: [&str; 25] = [
    "type",
    "enum",
    "const",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "$schema",
    "$defs",
    "title",
    "description",
    "default",
    "format",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "pattern",
    "uniqueItems",
    "writeOnly",
];

#[test]
fn a_field_that_no_schema_names_is_found_wherever_it_stands() {
    let verified = json!({
        "schema": "apprentice.verify/1", "packed_by": null, "files": 0, "changed": [], "runs": {},
        "report_differs": [{ "at": "/n", "stored": "1", "computed": "2", "wording": false }],
        "holds": false, "signed_by": null,
    });
    assert_eq!(differences(&verified), [""; 0]);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut changed = verified.clone();
        change(&mut changed);
        differences(&changed).join("; ")
    };
    assert_eq!(changed(&|told| told["more"] = json!(1)), "/more: the schema does not name it");
    let deeper = changed(&|told| told["report_differs"][0]["more"] = json!(1));
    assert_eq!(deeper, "/report_differs/0/more: the schema does not name it");
    let less = changed(&|told| drop(told.as_object_mut().expect("an object").remove("holds")));
    assert_eq!(less, "/holds: missing");
    assert!(changed(&|told| told["files"] = json!("none")).starts_with("/files: \"none\" is not"));
    assert_eq!(differences(&json!({ "schema": "apprentice.other/1" })), ["there is no schemas/other-1.json"]);
}
