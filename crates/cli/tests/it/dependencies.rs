//! Checks of the packages that the default build is made of: licences, sources and versions, by the lists of `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One package of the build.
struct Package {
    name: String,
    version: String,
    /// Where it is from, if not from the public registry.
    source: Option<String>,
    licence: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines that `cargo tree` prints with these further arguments.
fn tree(arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix", "none", "--target", "x86_64-unknown-linux-gnu"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The packages that the default members are built of, tests aside, without our own.
fn packages() -> Vec<Package> {
    let lines = tree(&["--edges", "normal,build", "--no-dedupe", "--format", "{p}|{l}"]);
    let read = |line: &String| {
        let (package, licence) = line.split_once('|').expect("two columns");
        let mut words = package.split(' ');
        let name = words.next().expect("a name").to_owned();
        let version = words.next().and_then(|word| word.strip_prefix('v')).expect("a version").to_owned();
        let source = words.find(|word| *word != "(proc-macro)").map(str::to_owned);
        Package { name, version, source, licence: licence.to_owned() }
    };
    lines.iter().map(read).filter(|package| !package.name.starts_with("apprentice-")).collect()
}

/// A table of `deny.toml`.
fn rules(table: &str) -> toml::Table {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let rules: toml::Table = text.parse().expect("toml");
    rules[table].as_table().expect("a table").clone()
}

/// Returns whether an SPDX expression allows the use under these licences. A slash is an old way to write `OR`.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let expression = expression.replace('/', " OR ");
    if let Some(open) = expression.find('(') {
        let close = open + expression[open..].find(')').expect("a closing bracket");
        let inner = if is_allowed(&expression[open + 1..close], allowed) { "yes" } else { "no" };
        return is_allowed(&format!("{}{inner}{}", &expression[..open], &expression[close + 1..]), allowed);
    }
    let one = |licence: &str| licence.trim() == "yes" || allowed.contains(licence.trim());
    expression.split(" OR ").any(|part| part.split(" AND ").all(one))
}

#[test]
fn licences_are_among_the_allowed_ones() {
    let rules = rules("licenses");
    let allowed: BTreeSet<&str> =
        rules["allow"].as_array().expect("a list").iter().filter_map(|one| one.as_str()).collect();
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT/GPL-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
        ("(GPL-3.0 OR AGPL-3.0) AND MIT", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression:?}");
    }
    let wrong: Vec<String> = packages()
        .iter()
        .filter(|package| !is_allowed(&package.licence, &allowed))
        .map(|package| format!("{}: {:?}", package.name, package.licence))
        .collect();
    assert!(wrong.is_empty(), "not among the allowed licences of deny.toml:\n{}", wrong.join("\n"));
}

#[test]
fn packages_come_from_the_registry_and_stand_once() {
    let rules = rules("bans");
    let skipped: BTreeSet<&str> =
        rules["skip"].as_array().expect("a list").iter().filter_map(|one| one["crate"].as_str()).collect();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages() {
        assert_eq!(package.source, None, "{} is not from the registry", package.name);
        if !skipped.contains(format!("{}@{}", package.name, package.version).as_str()) {
            versions.entry(package.name).or_default().push(package.version);
        }
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert!(versions.is_empty(), "in the tree more than once, and not in deny.toml: {versions:?}");
}

/// Cargo joins the features that the crates of one command ask for. Where a crate alone gets fewer than the workspace,
/// `cargo test --package` compiles shared dependencies a second time.
#[test]
fn a_crate_alone_is_built_with_the_features_of_the_workspace() {
    let features = |more: &[&str]| {
        tree(&[&["--edges", "normal,build,dev", "--no-dedupe", "--format", "{p} [{f}]"][..], more].concat())
    };
    let manifest: toml::Table =
        std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest").parse().expect("toml");
    let members = manifest["workspace"]["default-members"].as_array().expect("a list");
    let together = features(&[]);
    let mut fewer = BTreeMap::new();
    for member in members.iter().filter_map(|member| member.as_str()?.strip_prefix("crates/")) {
        for line in features(&["--package", &format!("apprentice-{member}")]).difference(&together) {
            fewer.entry(line.clone()).or_insert_with(Vec::new).push(member.to_owned());
        }
    }
    let told: Vec<String> =
        fewer.iter().map(|(line, members)| format!("{line}, in {}", members.join(", "))).collect();
    assert!(
        told.is_empty(),
        "add what these lack to crates/workspace-hack/Cargo.toml, or to [workspace.dependencies]:\n{}",
        told.join("\n")
    );
}
