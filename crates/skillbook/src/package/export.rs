//! Exports a book as Agent Skills packages that every validator of the format accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use super::{DESCRIPTION_CAP, NAME_CAP, PROVENANCE_FILE, PROVENANCE_SCHEMA, Package, SKILL_FILE};
use crate::{
    Page, Skill, Snapshot, figure_path, figure_refs, function_path, hash, history, is_function_file,
};

/// Returns every skill as a package, by name. An imported skill that has not changed since is returned as its original
/// package.
pub fn export(book: &Snapshot) -> Vec<Package> {
    let operations = book.operations();
    let mut taken = BTreeSet::new();
    let mut packages = Vec::new();
    for skill in book.skills() {
        let mut package = verbatim(book, skill)
            .unwrap_or_else(|| written(book, skill, &history(&operations, Some(&skill.id))));
        if !taken.insert(package.name.clone()) {
            // Two names can become equal once their parts are joined.
            let name = shortened(&package.name, skill.id.as_str(), Fit::Always);
            package = rename(package, &name);
            taken.insert(name);
        }
        packages.push(package);
    }
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    packages
}

fn verbatim(book: &Snapshot, skill: &Skill) -> Option<Package> {
    let attached = skill.package.as_ref()?;
    if attached.view_hash != hash(skill.view().as_bytes()) {
        return None;
    }
    let kept = attached.files.iter().filter(|file| !is_function_file(&file.path));
    let files = kept.map(|file| Some((file.path.clone(), book.attachment(&file.sha256)?)));
    let mut files: BTreeMap<String, Vec<u8>> = files.collect::<Option<_>>()?;
    // The book's functions may have changed since; their evidence stays here.
    files.extend(functions(skill));
    Some(Package { name: attached.name.clone(), files })
}

/// Returns the functions of a skill that are in use, as files of its package. What replays showed of them is not carried
/// along: whoever imports them admits them again.
fn functions(skill: &Skill) -> impl Iterator<Item = (String, Vec<u8>)> {
    let used = skill.functions.iter().filter(|(_, function)| function.retired.is_none());
    used.map(|(name, function)| (function_path(name), function.source.clone().into_bytes()))
}

/// Returns a skill as an editable package: the imported package, or the skill's texts without their history.
pub fn to_edit(book: &Snapshot, skill: &Skill) -> Package {
    verbatim(book, skill).unwrap_or_else(|| {
        let id = &skill.id;
        let own = skill.package.as_ref().map(|package| package.name.clone());
        let name = own.unwrap_or_else(|| {
            shortened(&format!("{}-{}", id.domain(), id.slug()), id.as_str(), Fit::IfLong)
        });
        let head = format!("name: {name}\ndescription: {}", quoted(&plain(&skill.text.description)));
        let page = Page { annotations: Vec::new(), ..skill.page() }.render();
        let text = format!("---\n{head}\nmetadata:\n  cua-id: {}\n---\n\n{page}", quoted(id.as_str()));
        let files = [(SKILL_FILE.to_owned(), text.into_bytes())].into_iter();
        Package { name, files: files.chain(figures(book, skill)).collect() }
    })
}

fn rename(mut package: Package, name: &str) -> Package {
    let old = format!("name: {}\n", package.name);
    if let Some(bytes) = package.files.get_mut(SKILL_FILE)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        *bytes = text.replacen(&old, &format!("name: {name}\n"), 1).into_bytes();
    }
    Package { name: name.to_owned(), ..package }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    IfLong,
    Always,
}

/// Cuts a name to its cap and appends a hash of the id to keep it unique.
fn shortened(name: &str, id: &str, when: Fit) -> String {
    if name.len() <= NAME_CAP && when == Fit::IfLong {
        return name.to_owned();
    }
    let tail = format!("-{:.6}", hash(id.as_bytes()));
    let head: String = name.chars().take(NAME_CAP - tail.len()).collect();
    head.trim_end_matches('-').to_owned() + tail.as_str()
}

fn written(book: &Snapshot, skill: &Skill, history: &[crate::Entry]) -> Package {
    let id = &skill.id;
    let name = shortened(&format!("{}-{}", id.domain(), id.slug()), id.as_str(), Fit::IfLong);
    let mut text = String::from("---\n");
    let _ = writeln!(text, "name: {name}");
    let _ = writeln!(text, "description: {}", quoted(&description(skill)));
    text.push_str("metadata:\n");
    for (key, value) in [
        ("cua-id", id.to_string()),
        ("cua-domain", id.domain().to_owned()),
        ("cua-version", skill.version.to_string()),
        ("cua-origin", format!("{:?}", skill.origin).to_lowercase()),
        ("cua-content-sha256", skill.text_hash()),
    ] {
        let _ = writeln!(text, "  {key}: {}", quoted(&value));
    }
    let _ = write!(text, "---\n\n{}", skill.page().render());
    let counters = skill.counters.iter().map(
        |((version, consumer), counts)| json!({ "version": version, "consumer": consumer, "counts": counts }),
    );
    let provenance = json!({
        "schema": PROVENANCE_SCHEMA,
        "id": id,
        "version": skill.version,
        "domain": { "name": id.domain(), "description": book.state().domains.get(id.domain()) },
        "text": skill.text,
        "annotations": skill.page().annotations,
        "notes": skill.notes,
        "metrics": counters.collect::<Vec<_>>(),
        "origin": skill.origin,
        "operations": history,
    });
    let provenance = format!("{provenance:#}\n");
    let files = [(SKILL_FILE, text), (PROVENANCE_FILE, provenance)];
    let files = files.map(|(path, text)| (path.to_owned(), text.into_bytes())).into_iter();
    Package { name, files: files.chain(figures(book, skill)).chain(functions(skill)).collect() }
}

/// Returns the figures that a skill points at, as files of its package.
fn figures(book: &Snapshot, skill: &Skill) -> Vec<(String, Vec<u8>)> {
    let figures = figure_refs(&skill.text.guidance).into_iter();
    figures
        .filter_map(|figure| Some((figure_path(&figure.sha256), book.attachment(&figure.sha256)?)))
        .collect()
}

/// Returns a description that says what the skill is about and when to use it, in a form that every reader of the
/// format accepts.
fn description(skill: &Skill) -> String {
    let situation = skill.text.situation.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = format!("{}. Use when: {situation}", skill.text.description.trim_end_matches('.'));
    if text.chars().count() > DESCRIPTION_CAP {
        text = text.chars().take(DESCRIPTION_CAP - 1).chain(['…']).collect();
    }
    plain(&text)
}

/// Removes characters that some readers of the format reject.
fn plain(text: &str) -> String {
    let mut plain = text.replace('<', "\u{2039}").replace('>', "\u{203a}");
    while plain.contains("---") {
        plain = plain.replace("---", "\u{2014}");
    }
    plain
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', " "))
}
