//! What commands print with `--json` has the published form: each field that its schema asks for, and none that its schema
//! does not name.
//!
//! The words of JSON Schema that our schemas use are read here. Crates for all of them turn on features of dependencies that we
//! ship (`jsonschema` of `serde_json`, `boon` of `ahash`), and the program on trial would no longer be the shipped one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::{Value, json};

#[path = "../../src/commands/printed.rs"]
mod printed;

/// Checks what the program printed, if these arguments had it print JSON.
pub(crate) fn check(arguments: &[&str], printed: &[u8]) {
    if !arguments.contains(&"--json") {
        return;
    }
    let (command, names) = command(arguments);
    for told in serde_json::Deserializer::from_slice(printed).into_iter::<Value>() {
        let told = told.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {printed:?}"));
        assert_eq!(differences(&told), [""; 0], "{arguments:?}");
        let name = file_name(&told).expect("a schema");
        assert!(names.contains(&name.as_str()), "{arguments:?}: {name} is none of {names:?}");
        fs::create_dir_all(marks()).expect("a folder");
        fs::write(marks().join(format!("{command} {name}")), "").expect("written");
    }
}

/// Finds the command among those that print JSON, and the schemas of what it may print.
fn command(arguments: &[&str]) -> (&'static str, &'static [&'static str]) {
    // What is left of the arguments behind the words of a command. Names of skills and files may be such words, too.
    let behind = |words: &str| {
        let mut rest = arguments.iter();
        let is_it =
            words.starts_with(arguments[0]) && words.split(' ').all(|word| rest.any(|one| *one == word));
        is_it.then_some(rest.len())
    };
    let found = commands().filter_map(|one| Some((one.0.split(' ').count(), behind(one.0)?, one)));
    let longest = found.max_by_key(|(words, behind, _)| (*words, *behind));
    longest.unwrap_or_else(|| panic!("{arguments:?}: no command that prints JSON")).2
}

fn commands() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    printed::PRINTED.iter().chain(printed::OF_A_FLEET).copied()
}

/// Where it is marked which command was seen to print which form.
fn marks() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("published")
}

/// The name of the schema that an object names, as its file has it.
fn file_name(told: &Value) -> Option<String> {
    let name = told["schema"].as_str()?.strip_prefix("apprentice.")?;
    Some(name.replace(['.', '/'], "-"))
}

/// What in an object is not as the schema says that the object names.
pub(crate) fn differences(told: &Value) -> Vec<String> {
    let Some(name) = file_name(told) else { return vec!["it names no schema".to_owned()] };
    let file = format!("{name}.json");
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
    fn value(&mut self, schema: &'a Value, told: &'a Value, at: &str) {
        let before = self.wrong.len();
        let named = self.part(schema, told, at);
        if let (Some(named), Value::Object(told), true) = (named, told, self.wrong.len() == before) {
            let unnamed = told.keys().filter(|field| !named.contains(&field.as_str()));
            self.wrong.extend(unnamed.map(|field| format!("{at}/{field}: the schema does not name it")));
        }
    }

    /// Reads a value by a part of its schema. Returns the fields that this part names; `None` if it allows any.
    fn part(&mut self, schema: &'a Value, told: &'a Value, at: &str) -> Option<Vec<&'a str>> {
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
        for (pattern, schema) in says("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            let pattern = Regex::new(pattern).expect("a pattern");
            let fields = told.as_object().into_iter().flatten().filter(|(field, _)| pattern.is_match(field));
            for (field, told) in fields {
                named.push(field);
                self.value(schema, told, &format!("{at}/{field}"));
            }
        }
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
    fn one_of(&mut self, parts: &'a [Value], told: &'a Value, at: &str) -> Option<Vec<&'a str>> {
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
const KNOWN: [&str; 26] = [
    "type",
    "enum",
    "const",
    "required",
    "properties",
    "patternProperties",
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
        "schema": "apprentice.verify/1", "packed_by": null, "files": 0, "changed": [], "claims": [], "contradictions": [], "unchecked": [],
        "runs": {},
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

/// The other tests leave marks of what they saw; the lane that runs them removes those of earlier runs.
#[test]
#[ignore = "it needs the marks of all other tests"]
fn every_form_was_seen_from_each_command_that_prints_it() {
    let names = fs::read_dir(marks()).into_iter().flatten().flatten();
    let seen: BTreeSet<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let commands = if cfg!(feature = "fleet") { printed::OF_A_FLEET } else { printed::PRINTED };
    let all = commands
        .iter()
        .flat_map(|(command, names)| names.iter().map(move |name| format!("{command} {name}")));
    let unseen: Vec<String> = all.filter(|pair| !seen.contains(pair)).collect();
    assert!(unseen.is_empty(), "no test has these commands print JSON of these forms: {unseen:?}");
}
