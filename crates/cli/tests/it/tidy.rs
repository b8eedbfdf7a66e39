//! Checks of the repository itself: arrows between crates, sizes, opening comments, borders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::imports::House;
use crate::signatures::tuple_parameters;

const FILE_CAP: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Every Rust source file of the workspace, relative to its root, with its text.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("inside").to_string_lossy().into_owned();
                found.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found.sort();
    found
}

/// The part of a file that is shipped: everything above its test module.
fn shipped(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests").map_or(text, |at| &text[..at])
}

fn is_test(name: &str) -> bool {
    name.contains("/tests/")
        || name.ends_with("/tests.rs")
        || name.contains("/benches/")
        || name.contains("/examples/")
}

/// Each crate, and those of ours that it may use.
const HOUSE: [(&str, &[&str]); 21] = [
    ("workspace-hack", &[]),
    ("protocol", &["workspace-hack"]),
    ("pixels", &["workspace-hack"]),
    ("cdp", &["workspace-hack"]),
    ("packed", &[]),
    ("host", &["protocol"]),
    ("trace", &["protocol"]),
    ("sandbox", &["protocol", "pixels"]),
    ("functions", &["protocol"]),
    ("control", &["protocol", "trace"]),
    ("harness", &["protocol", "pixels", "cdp", "trace", "sandbox", "functions"]),
    ("skills", &["packed", "protocol", "functions"]),
    ("tasks", &["packed", "protocol", "cdp", "trace"]),
    ("results", &["packed", "protocol", "trace"]),
    ("policies", &["protocol", "harness", "trace"]),
    ("exports", &["protocol", "trace", "results"]),
    (
        "evaluator",
        &[
            "protocol", "pixels", "trace", "control", "harness", "skills", "tasks", "results", "sandbox",
            "policies",
        ],
    ),
    ("fleet", &["protocol", "trace", "results", "evaluator", "harness", "sandbox", "tasks"]),
    ("server", &["protocol", "trace", "tasks"]),
    ("viewer", &["packed", "protocol", "trace", "control", "results", "skills"]),
    (
        "cli",
        &[
            "protocol",
            "trace",
            "sandbox",
            "functions",
            "control",
            "harness",
            "skills",
            "tasks",
            "results",
            "policies",
            "exports",
            "evaluator",
            "fleet",
            "server",
            "viewer",
            "host",
        ],
    ),
];

#[test]
fn arrows_between_crates_only_go_down() {
    let allowed = BTreeMap::from(HOUSE);
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let manifest: toml::Table =
            fs::read_to_string(path.join("Cargo.toml")).expect("a manifest").parse().expect("toml");
        let allowed =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("crate {name} is not in the house"));
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(section) = manifest.get(section).and_then(|section| section.as_table()) else {
                continue;
            };
            for ours in section.keys().filter_map(|key| key.strip_prefix("apprentice-")) {
                assert!(allowed.contains(&ours), "{name} must not depend on {ours}");
            }
        }
        seen.insert(name);
    }
    assert_eq!(seen.len(), allowed.len(), "crates and plan differ: {seen:?}");
}

#[test]
fn files_open_with_what_they_are_for_and_stay_small() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        if !text.starts_with("//! ") {
            wrong.push(format!("{name}: no opening comment"));
        }
        let lines = shipped(&text).lines().count();
        if lines > FILE_CAP && !is_test(&name) {
            wrong.push(format!("{name}: {lines} lines without tests, the cap is {FILE_CAP}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_function_takes_a_tuple() {
    let mut found = Vec::new();
    for (name, text) in sources().into_iter().filter(|(name, _)| name.contains("/src/") && !is_test(name)) {
        let parameters = tuple_parameters(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        found.extend(parameters.into_iter().map(|parameter| format!("{name}: {parameter}")));
    }
    assert!(
        found.is_empty(),
        "{} tuple parameters: name a type, or pass separate arguments\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn only_the_command_line_prints_exits_or_reads_the_environment() {
    let forbidden =
        ["println!", "eprintln!", "print!(", "eprint!(", "process::exit", "env::var", "env::args"];
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        // A build script is told its folder by the environment, and talks to cargo by lines.
        if name.starts_with("crates/cli/") || is_test(&name) || name.ends_with("/build.rs") {
            continue;
        }
        for word in forbidden {
            if shipped(&text).lines().any(|line| line.contains(word) && !line.trim_start().starts_with("//"))
            {
                wrong.push(format!("{name}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A module may import its children and they may import it; any other circle of files is a knot.
#[test]
fn no_files_import_each_other_in_a_circle() {
    let circles = House::read(&root()).circles();
    let told: Vec<String> = circles
        .iter()
        .map(|circle| format!("{}\n  tied by\n    {}", circle.files.join("\n"), circle.ties.join("\n    ")))
        .collect();
    assert!(told.is_empty(), "{} circles:\n{}", told.len(), told.join("\n"));
}

#[test]
fn the_agent_loop_names_no_model_and_no_world() {
    for (name, text) in sources() {
        if !name.starts_with("crates/harness/src/agent/") {
            continue;
        }
        for word in ["crate::model", "crate::env", "super::super::model", "super::super::env"] {
            assert!(!shipped(&text).contains(word), "{name} names {word}");
        }
    }
}

#[test]
fn adapters_do_not_know_each_other() {
    for (family, members) in [
        ("model", &["anthropic", "compat", "gemini", "openai", "scripted"][..]),
        ("env", &["browser", "desktop", "scene", "vm"][..]),
    ] {
        for (name, text) in sources() {
            for own in
                members.iter().filter(|own| name.starts_with(&format!("crates/harness/src/{family}/{own}")))
            {
                for other in members.iter().filter(|other| other != &own) {
                    let path = format!("{family}::{other}");
                    assert!(!shipped(&text).contains(&path), "{name} names {path}");
                }
            }
        }
    }
}

#[test]
fn only_wiring_and_tests_know_the_policies() {
    for (name, text) in sources() {
        if name.starts_with("crates/cli/") || name.starts_with("crates/policies/") || is_test(&name) {
            continue;
        }
        assert!(!shipped(&text).contains("apprentice_policies"), "{name} names the rule-based policies");
    }
}

#[test]
fn tracked_files_are_small_and_free_of_this_machine() {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let Ok(listed) = listed.map(|output| output.stdout) else { return };
    let root_text = root().to_string_lossy().into_owned();
    for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = String::from_utf8_lossy(name).into_owned();
        let Ok(bytes) = fs::read(root().join(&name)) else { continue };
        // The record of a run holds its screenshots, so it may be larger than what people write.
        let most = if name.starts_with("docs/records/") { 4_000_000 } else { 500_000 };
        assert!(bytes.len() <= most, "{name} has {} bytes", bytes.len());
        if name != "Cargo.lock" && root_text.len() > 6 {
            assert!(
                !String::from_utf8_lossy(&bytes).contains(&root_text),
                "{name} names this checkout's place"
            );
        }
    }
}
