//! The guide: its contents list names every page, its links lead somewhere, and its commands work as they stand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::place::PROGRAM;

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
