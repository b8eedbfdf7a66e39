//! Checks of the repository itself: arrows between crates, sizes, opening comments, borders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::imports::{Circle, House};

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
const HOUSE: [(&str, &[&str]); 37] = [
    ("workspace-hack", &[]),
    ("protocol", &["workspace-hack"]),
    ("pixels", &["workspace-hack"]),
    ("cdp", &["workspace-hack"]),
    ("files", &["workspace-hack"]),
    ("packed", &["files"]),
    ("listening", &["workspace-hack"]),
    ("acp", &["workspace-hack"]),
    ("secrets", &["workspace-hack"]),
    ("host", &["protocol"]),
    ("trace", &["files", "protocol", "secrets"]),
    ("sandbox", &["files", "protocol", "pixels"]),
    ("functions", &["protocol"]),
    ("control", &["protocol", "trace"]),
    ("models", &["acp", "files", "protocol", "pixels", "trace", "sandbox"]),
    ("harness", &["protocol", "pixels", "cdp", "trace", "sandbox", "functions", "models", "secrets"]),
    ("model-json", &["protocol"]),
    ("wording", &["packed", "protocol"]),
    ("screening", &["files", "packed", "protocol", "model-json", "secrets", "wording"]),
    ("skillbook", &["files", "protocol", "functions", "wording", "screening"]),
    ("guidance", &["protocol", "functions", "model-json", "wording", "screening", "skillbook"]),
    (
        "learning",
        &["files", "protocol", "functions", "model-json", "wording", "screening", "skillbook", "guidance"],
    ),
    ("runs", &["files", "protocol", "trace"]),
    ("transcripts", &["files"]),
    ("metrics", &["files", "packed", "protocol", "trace", "runs"]),
    ("tasks", &["files", "protocol", "cdp", "trace", "runs", "metrics"]),
    ("results", &["files", "packed", "protocol", "trace", "runs"]),
    ("policies", &["protocol", "harness", "trace"]),
    // Its tests read what it writes by the readers of `transcripts`.
    ("exports", &["files", "pixels", "protocol", "trace", "runs", "transcripts"]),
    (
        "evaluator",
        &[
            "files",
            "protocol",
            "pixels",
            "trace",
            "runs",
            "transcripts",
            "control",
            "harness",
            "models",
            "model-json",
            "wording",
            "screening",
            "skillbook",
            "guidance",
            "learning",
            "tasks",
            "results",
            "sandbox",
            "policies",
        ],
    ),
    (
        "explore",
        &[
            "evaluator",
            "files",
            "harness",
            "learning",
            "models",
            "policies",
            "protocol",
            "results",
            "runs",
            "screening",
            "skillbook",
            "tasks",
            "trace",
        ],
    ),
    (
        "fork",
        &[
            "evaluator",
            "files",
            "harness",
            "models",
            "protocol",
            "results",
            "runs",
            "skillbook",
            "tasks",
            "trace",
        ],
    ),
    (
        "measure",
        &[
            "evaluator",
            "files",
            "functions",
            "harness",
            "learning",
            "protocol",
            "results",
            "runs",
            "skillbook",
            "tasks",
        ],
    ),
    ("fleet", &["protocol", "trace", "runs", "results", "evaluator", "harness", "sandbox", "tasks"]),
    ("server", &["listening", "protocol", "secrets", "trace", "tasks"]),
    (
        "viewer",
        &[
            "files",
            "listening",
            "packed",
            "protocol",
            "trace",
            "runs",
            "control",
            "results",
            "wording",
            "skillbook",
        ],
    ),
    (
        "cli",
        &[
            "acp",
            "files",
            "protocol",
            "trace",
            "sandbox",
            "functions",
            "control",
            "harness",
            "models",
            "wording",
            "screening",
            "skillbook",
            "guidance",
            "learning",
            "tasks",
            "runs",
            "transcripts",
            "results",
            "policies",
            "exports",
            "evaluator",
            "explore",
            "fork",
            "measure",
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

/// Names of the folder of a run that no other word of the program could be.
const LAYOUT: [&str; 17] = [
    "run.json",
    "run.json.draft",
    "run.lock",
    "trials.jsonl",
    "trials.torn",
    "events.jsonl",
    "evidence.json",
    "asked.json",
    "conversation.json",
    "experiment.json",
    "experiment.json.draft",
    "prereg.lock",
    "hygiene.json",
    "report.json",
    "report.html",
    "fork.json",
    "bundle.json",
];
/// Names of its folders, which are other words, too: they are looked for where a path is joined.
const LAYOUT_FOLDERS: [&str; 7] = ["blobs", "evidence", "trials", "book", "skillbook", "learning", "measure"];

#[test]
fn only_the_crate_of_runs_spells_the_names_in_the_folder_of_a_run() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        // Traces are below runs: the names of their two parts stand there, and `runs` passes them on.
        let owner = name.starts_with("crates/runs/") || name.starts_with("crates/trace/");
        if owner || is_test(&name) || !name.contains("/src/") {
            continue;
        }
        let code = |line: &&str| !line.trim_start().starts_with("//");
        for line in shipped(&text).lines().filter(code) {
            let spelt = LAYOUT
                .iter()
                .any(|file| line.contains(&format!("\"{file}\"")) || line.contains(&format!("/{file}\"")));
            let joined = LAYOUT_FOLDERS.iter().any(|folder| line.contains(&format!(".join(\"{folder}\")")));
            if spelt || joined {
                wrong.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "name it by `apprentice_runs::layout`:\n{}", wrong.join("\n"));
}

/// The laws of syntax, which share one reading of the code: that takes most of their time.
///
/// - A module may import its children and they may import it; any other circle of files is a knot.
/// - A folder is a floor of its crate: what it holds and what another folder holds import each other in one direction.
/// - The file that opens a crate shows what the crate offers; it stands on its modules, and they do not stand on it.
/// - A function's arguments have names, so none is a tuple.
#[test]
fn imports_go_in_one_direction_and_no_function_takes_a_tuple() {
    let house = House::read(&root());
    assert_none("circles of files", &lines_of(&house.circles()));
    assert_none("circles of folders", &lines_of(&house.folder_circles()));
    assert_none("imports from the file that opens the crate", &house.taken_from_roots());
    assert_none("tuple parameters: name a type, or pass separate arguments", house.tuple_parameters());
}

fn lines_of(circles: &[Circle]) -> Vec<String> {
    let shown = |circle: &Circle| {
        format!("{}\n  tied by\n    {}", circle.files.join("\n"), circle.ties.join("\n    "))
    };
    circles.iter().map(shown).collect()
}

fn assert_none(law: &str, found: &[String]) {
    assert!(found.is_empty(), "{} {law}\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_agent_loop_names_no_model_and_no_world() {
    for (name, text) in sources() {
        if !name.starts_with("crates/harness/src/agent/") {
            continue;
        }
        for word in ["apprentice_models", "crate::env", "super::super::env"] {
            assert!(!shipped(&text).contains(word), "{name} names {word}");
        }
    }
}

#[test]
fn adapters_do_not_know_each_other() {
    for (folder, prefixes, members) in [
        (
            "crates/models/src",
            ["crate", "super"],
            &["acp", "anthropic", "compat", "gemini", "openai", "scripted"][..],
        ),
        ("crates/harness/src/env", ["env", "super"], &["browser", "desktop", "scene", "vm"][..]),
    ] {
        for (name, text) in sources() {
            for own in members.iter().filter(|own| name.starts_with(&format!("{folder}/{own}"))) {
                for other in members.iter().filter(|other| other != &own) {
                    for path in prefixes.map(|prefix| format!("{prefix}::{other}::")) {
                        assert!(!shipped(&text).contains(&path), "{name} names {path}");
                    }
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
