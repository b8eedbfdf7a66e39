//! The page of differences names tests: each of them is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Names of all functions and modules in the sources, and the paths of their files.
struct Sources {
    functions: BTreeSet<String>,
    modules: BTreeSet<String>,
    files: Vec<String>,
}

fn sources() -> Sources {
    let (mut functions, mut modules, mut files) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let stem = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_dir() {
                modules.insert(stem);
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                modules.insert(stem);
                let text = fs::read_to_string(&path).expect("text");
                let starts = text.match_indices("fn ").map(|(at, _)| &text[at + 3..]);
                let end = |c: char| !(c.is_alphanumeric() || c == '_');
                functions.extend(starts.filter_map(|rest| rest.split(end).next()).map(str::to_owned));
                files.push(path.to_string_lossy().into_owned());
            }
        }
    }
    Sources { functions, modules, files }
}

/// Why a name of the page leads nowhere.
fn astray(name: &str, sources: &Sources) -> Option<String> {
    // A crate may stand before it: `cli: servers::*`.
    let path = name.rsplit(": ").next().unwrap_or(name);
    if path.ends_with(".rs") {
        let found = sources.files.iter().any(|file| file.ends_with(&format!("/{path}")));
        return (!found).then(|| format!("{name}: there is no such file"));
    }
    let parts: Vec<&str> = path.split("::").collect();
    let [modules @ .., last] = parts.as_slice() else { return None };
    if modules.is_empty() {
        return None;
    }
    if let Some(missing) =
        modules.iter().find(|module| **module != "tests" && !sources.modules.contains(**module))
    {
        return Some(format!("{name}: there is no module {missing}"));
    }
    let found = match last.strip_suffix('…') {
        _ if *last == "*" => true,
        Some(start) => sources.functions.iter().any(|function| function.starts_with(start)),
        None => sources.functions.contains(*last) || sources.modules.contains(*last),
    };
    (!found).then(|| format!("{name}: there is no such test"))
}

#[test]
fn every_test_that_the_page_of_differences_names_is_there() {
    let page = fs::read_to_string(root().join("docs/differences.md")).expect("the page");
    let sources = sources();
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let tests = named.iter().filter(|name| name.contains("::")).count();
    assert!(tests > 80, "the page names {tests} tests");
    let wrong: Vec<String> = named.iter().filter_map(|name| astray(name, &sources)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(astray("manage::a_test_that_nobody_wrote", &sources).is_some());
    assert!(astray("nowhere::*", &sources).is_some() && astray("nowhere.rs", &sources).is_some());
}
