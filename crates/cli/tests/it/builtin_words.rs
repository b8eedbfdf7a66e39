//! The built-in models know no task: no label, file, address, setting key or number of the suites and the
//! skillbook stands in their sources, but for a short list of words that belong to interfaces in general.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Words of interfaces in general that a task may use too.
const GENERAL: &str = include_str!("general_words.txt");
/// More would no longer be a list of general words.
const MOST: usize = 150;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|known| known == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every text that a task names: labels to press, quoted texts, file names, addresses, keys, numbers.
fn told(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            found.insert(text.trim().to_lowercase());
            let marks = text.split(['"', '“', '”', '`', '\'']).skip(1).step_by(2);
            found.extend(marks.map(|mark| mark.trim().to_lowercase()));
            let tokens = text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '(' | ')'));
            let particular = |token: &&str| {
                token.chars().any(|c| c.is_ascii_digit()) || token.trim_matches('.').contains(['.', '/', '_'])
            };
            found.extend(tokens.filter(particular).map(|token| token.trim_matches('.').to_lowercase()));
        }
        Value::Number(number) => {
            found.insert(number.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| told(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| told(field, found)),
        Value::Bool(_) | Value::Null => {}
    }
}

/// Texts in quotation marks in a Rust source, and its numbers of four digits and more: what could be a task's.
fn written(source: &str) -> BTreeSet<String> {
    let shipped = source.find("#[cfg(test)]\nmod tests").map_or(source, |at| &source[..at]);
    let mut found = BTreeSet::new();
    for line in shipped.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let line = line.replace("\\\"", "\u{1}");
        found.extend(line.split('"').skip(1).step_by(2).map(|text| text.trim().to_lowercase()));
        let numbers =
            line.split(|c: char| !c.is_ascii_digit() && c != '_').map(|token| token.replace('_', ""));
        found.extend(numbers.filter(|token| token.len() >= 4 && token.chars().all(|c| c.is_ascii_digit())));
    }
    found
}

#[test]
fn the_built_in_models_hold_no_word_of_a_task() {
    let general: BTreeSet<&str> =
        GENERAL.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(general.len() <= MOST, "{} general words, at most {MOST}", general.len());
    let mut particular = BTreeSet::new();
    // The form of task files is not one of them.
    let is_task = |path: &PathBuf| !path.ends_with("tasks/schema.json");
    for path in files(&root().join("tasks"), "json").into_iter().filter(is_task) {
        let text = fs::read_to_string(&path).expect("text");
        told(&serde_json::from_str(&text).expect("JSON"), &mut particular);
    }
    for path in files(&root().join("skillbook"), "md") {
        told(&Value::String(fs::read_to_string(&path).expect("text")), &mut particular);
    }
    particular.retain(|word| word.chars().count() > 1 && !general.contains(word.as_str()));
    assert!(particular.len() > 100, "the suites are read: {}", particular.len());
    let mut wrong = Vec::new();
    for path in files(&root().join("crates/policies/src"), "rs") {
        let source = fs::read_to_string(&path).expect("text");
        for text in written(&source).intersection(&particular) {
            wrong.push(format!("{}: {text:?}", path.file_name().unwrap_or_default().to_string_lossy()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words without a subject, and names of parts of interfaces: three of them in a row are no task's phrase.
const SUBJECTLESS: &str = "a an and as at by can context field for from i in into is it its menu now of on one open or so \
                           that the them then these this those to we where with";

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Every three words in a row of a text, but for those without a subject. Marks and placeholders end a row.
fn phrases(text: &str) -> BTreeSet<Vec<String>> {
    let subjectless: BTreeSet<&str> = SUBJECTLESS.split_whitespace().collect();
    let rows = text.split(['.', ',', ':', ';', '?', '!', '"', '{', '}']).map(words);
    let mut found: BTreeSet<Vec<String>> =
        rows.flat_map(|row| row.windows(3).map(<[String]>::to_vec).collect::<Vec<_>>()).collect();
    found.retain(|phrase| !phrase.iter().all(|word| subjectless.contains(word.as_str())));
    found
}

#[test]
fn the_built_in_models_hold_no_phrase_of_an_instruction() {
    let mut asked = BTreeSet::new();
    for path in files(&root().join("tasks"), "json") {
        let task: Value = serde_json::from_str(&fs::read_to_string(&path).expect("text")).expect("JSON");
        asked.extend(task["instruction"].as_str().map(phrases).unwrap_or_default());
    }
    assert!(asked.len() > 100, "the instructions are read: {}", asked.len());
    let mut wrong = Vec::new();
    for path in files(&root().join("crates/policies/src"), "rs") {
        let source = fs::read_to_string(&path).expect("text");
        for text in written(&source) {
            for phrase in phrases(&text).intersection(&asked) {
                wrong.push(format!("{}: {phrase:?} in {text:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
