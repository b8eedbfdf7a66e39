//! The scripts of the repository: each that a text names is there, and what is flaky is named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

#[test]
fn every_script_that_a_text_names_is_there() {
    let output = Command::new("git")
        .args(["ls-files", "*.md", "*.toml", "justfile", "scripts", ".ci", ".github"])
        .current_dir(root())
        .output()
        .expect("git");
    let named = Regex::new(r"(?:^|[\s`(])(scripts/[a-z][\w/-]*(?:\.(?:py|json|rs))?)").expect("a pattern");
    let mut missing = Vec::new();
    for file in String::from_utf8(output.stdout).expect("text").lines() {
        // Pages of skills name the scripts of their own packages, and the changelog those of its day.
        let is_ours = !file.starts_with("crates/") && !["docs/skillbook.md", "CHANGELOG.md"].contains(&file);
        let Some(text) = is_ours.then(|| fs::read_to_string(root().join(file)).ok()).flatten() else {
            continue;
        };
        for found in named.captures_iter(&text) {
            if !root().join(&found[1]).exists() {
                missing.push(format!("{file}: {}", &found[1]));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Runs `scripts/ci/flaky` in a checkout with these noted runs, over a report of one flaky test; returns whether it passed, and
/// what it printed.
fn flaky(noted: &str) -> (bool, String) {
    let place = tempfile::tempdir().expect("a folder");
    for folder in [".config", "scripts/ci", "reports"] {
        fs::create_dir_all(place.path().join(folder)).expect("a folder");
    }
    fs::copy(root().join("scripts/ci/flaky"), place.path().join("scripts/ci/flaky")).expect("a copy");
    fs::write(place.path().join(".config/flaky.toml"), noted).expect("writes");
    let report = r#"<testsuites><testsuite name="a::it"><testcase name="x::shaky" classname="a::it"><flakyFailure/></testcase>
        <testcase name="x::sound" classname="a::it"/></testsuite></testsuites>"#;
    fs::write(place.path().join("reports/lane.xml"), report).expect("writes");
    fs::write(place.path().join("reports/flaky.txt"), "exports\n").expect("writes");
    let ran =
        Command::new("python3").args(["scripts/ci/flaky", "reports"]).current_dir(place.path()).output();
    let ran = ran.expect("python3");
    (ran.status.success(), String::from_utf8(ran.stdout).expect("text"))
}

#[test]
fn what_passed_at_the_second_try_is_named_and_fails_when_it_did_so_before() {
    let (passed, told) = flaky("");
    assert!(passed && told == "flaky: 2\n  a::it x::shaky\n  lane exports\n", "{told}");
    let (passed, told) = flaky("[[run]]\ndate = \"d\"\ncommit = \"c\"\nflaky = [\"a::it x::shaky\"]\n");
    assert!(!passed && told.contains("a::it x::shaky - as in 1 of the 1 runs"), "{told}");
    let (passed, _) = flaky("[[run]]\ndate = \"d\"\ncommit = \"c\"\nflaky = [\"a::it x::sound\"]\n");
    assert!(passed, "another test was flaky");
}
