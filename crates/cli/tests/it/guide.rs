//! The guide: its contents list names every page, its links lead somewhere, and its commands work as they stand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::place::{PROGRAM, Place};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Every page of the guide, by file name, with its text.
fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(root().join("docs")).expect("the guide").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            pages.push((name, fs::read_to_string(entry.path()).expect("text")));
        }
    }
    pages.sort();
    pages
}

/// The lines of the blocks that are marked `sh test`.
fn tested_commands(page: &str) -> Vec<&str> {
    let blocks = page.split("```sh test\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    lines.filter(|line| !line.trim().is_empty()).collect()
}

#[test]
fn the_contents_list_every_page() {
    let contents = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("the contents");
    for (name, _) in pages() {
        assert!(
            name == "SUMMARY.md" || contents.contains(&format!("({name})")),
            "SUMMARY.md does not list {name}"
        );
    }
}

#[test]
fn links_lead_to_files() {
    let pages = pages().into_iter().map(|(name, text)| (format!("docs/{name}"), text));
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        .map(|name| (name.to_owned(), fs::read_to_string(root().join(name)).expect("text")));
    for (name, text) in pages.chain(top) {
        let folder = root().join(&name).parent().expect("a folder").to_owned();
        // What stands in backquotes is an example. Every second part of a text split at them lies outside.
        let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") {
                assert!(folder.join(file).exists(), "{name} links to {file}, which is not there");
            }
        }
    }
}

/// Gathers the names that a schema permits at a place.
fn permitted(node: &Value, names: &mut BTreeSet<String>) {
    match node {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("enum", Value::Array(all)) => {
                        names.extend(all.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ => permitted(value, names),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|one| permitted(one, names)),
        _ => {}
    }
}

/// Returns the examples of a section, which stand in backquotes as JSON objects.
fn examples(section: &str) -> Vec<Value> {
    let quoted = section.split('`').skip(1).step_by(2).filter(|text| text.starts_with('{'));
    let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    quoted.map(read).collect()
}

#[test]
fn every_step_getter_and_metric_stands_in_the_guide_and_its_examples_load() {
    let page = fs::read_to_string(root().join("docs/setup-and-checks.md")).expect("the page");
    let schema = fs::read_to_string(root().join("tasks/schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let section = |title: &str| {
        let (_, rest) = page.split_once(&format!("\n## {title}\n")).expect("a section");
        rest.split("\n## ").next().unwrap_or_default().to_owned()
    };
    let place = Place::new();
    let mut files = Vec::new();
    for (title, pointer) in [
        ("Setup steps", "/$defs/SetupStep/properties/type"),
        ("Getters", "/$defs/CheckSpec/properties/result"),
        ("Metrics", "/$defs/CheckSpec/properties/func"),
    ] {
        let (section, mut names) = (section(title), BTreeSet::new());
        permitted(schema.pointer(pointer).expect("a place"), &mut names);
        assert!(names.len() > 10, "{title}: {names:?}");
        let examples = examples(&section);
        let (_, left) = section.rsplit_once("Known and not").unwrap_or(("", ""));
        for name in &names {
            let has = |one: &Value| one["type"] == name.as_str();
            let quoted = format!("`{name}`");
            let told = title == "Metrics" && section.contains(&quoted);
            assert!(
                told || examples.iter().any(has) || left.contains(&quoted),
                "{title}: no example of {name}"
            );
        }
        for example in examples {
            let plain = json!({ "func": "exact_match", "result": { "type": "rule", "rules": "a" },
                "expected": { "type": "rule", "rules": { "expected": "a" } } });
            let mut parts = json!({ "evaluator": plain });
            match title {
                "Setup steps" => parts["config"] = json!([example]),
                "Getters" => parts["evaluator"]["result"] = example,
                _ => parts["evaluator"] = example,
            }
            files.push((format!("example-{}", files.len()), parts));
        }
    }
    let tasks: Vec<(&str, Value)> =
        files.iter().map(|(name, parts)| (name.as_str(), parts.clone())).collect();
    let suite = place.suite(&tasks);
    fs::create_dir_all(suite.join("files")).expect("a folder");
    fs::write(suite.join("files/a.txt"), "a").expect("written");
    let output = place.output(&["tasks", "check", &suite.to_string_lossy(), "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    for task in report["tasks"].as_array().expect("tasks") {
        let (id, error, missing) = (&task["id"], &task["error"], &task["missing"]["unknown"]);
        let part = files.iter().find(|(name, _)| *id == name.as_str()).map(|(_, parts)| parts.to_string());
        assert_eq!(task["loads"], true, "{id}: {error} {missing}: {part:?}");
    }
    assert_eq!(report["totals"]["tasks"], files.len());
}

#[test]
fn commands_of_the_guide_work_as_they_stand() {
    let home = tempfile::tempdir().expect("a folder");
    let program = Path::new(PROGRAM).parent().expect("a folder");
    let mut ran = 0;
    for (name, text) in pages() {
        for line in tested_commands(&text) {
            let words = line.strip_prefix("apprentice ").unwrap_or_else(|| panic!("{name}: {line}"));
            let output = Command::new(program.join("apprentice"))
                .args(words.split_whitespace())
                .env_clear()
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .env("HOME", home.path())
                .env("APPRENTICE_STATE", home.path().join("state"))
                .env("APPRENTICE_RUNS", home.path().join("runs"))
                .current_dir(root())
                .stdin(Stdio::null())
                .output()
                .expect("it starts");
            assert!(output.status.success(), "{name}: {line}: {}", String::from_utf8_lossy(&output.stderr));
            ran += 1;
        }
    }
    assert!(ran > 12, "the guide marks {ran} commands");
}
