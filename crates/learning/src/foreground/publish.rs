//! Publishes a package that an agent wrote in its environment as a skill: completely and through the gateway, or not at
//! all.

use std::collections::BTreeMap;

use apprentice_protocol::{EntryKind, Machine, MachineError, SkillId, Versions};
use apprentice_skillbook::package::{Level, Package, check, parse_package};
use apprentice_skillbook::{
    Actor, Applied, AttachedPackage, Change, FileText, Gateway, OpId, WriteRefusal, WriteRequest, is_part,
    reading,
};
use jiff::Timestamp;

/// Largest number of files in a package; below, the largest total size in bytes.
const MAX_FILES: usize = 64;
const MAX_PACKAGE_BYTES: u64 = 512 * 1024;
const DOMAIN: &str = "general";
/// Folders that a package may contain beside `SKILL.md`.
const FOLDERS: [&str; 3] = ["scripts/", "references/", "assets/"];

/// A refusal: a code for programs and a sentence for the agent.
pub(super) type Fault = (&'static str, String);

/// The skill that a package changes, and the version that its author read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) skill: SkillId,
    pub(super) version: u32,
}

/// A published package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) skill: SkillId,
    pub(super) version: u32,
    /// The operation that proposed the change, if it waits for a person's approval.
    pub(super) proposed: Option<OpId>,
    /// Binary files, which could not be scanned completely.
    pub(super) binary_files: Vec<String>,
}

pub(super) fn unreachable(error: &MachineError) -> Fault {
    ("unavailable", format!("the folder in the world cannot be reached: {error}"))
}

/// Reads a package from a folder of the environment. Reads only files below that folder and follows no links.
pub(super) async fn collect(machine: &dyn Machine, folder: &str, name: &str) -> Result<Package, Fault> {
    let entries = match machine.list(folder).await {
        Ok(entries) => entries,
        Err(MachineError::NotFound(_)) => {
            return Err(("no_package", format!("{folder} is not there; write SKILL.md into it first")));
        }
        Err(error) => return Err(unreachable(&error)),
    };
    let mut bytes = 0u64;
    let mut paths = Vec::new();
    for entry in entries {
        match entry.kind {
            EntryKind::Directory => continue,
            EntryKind::File => {}
            EntryKind::Link | EntryKind::Other => {
                return Err(("bad_file", format!("{}: a package holds plain files only", entry.path)));
            }
        }
        check_location(&entry.path)?;
        bytes = bytes.saturating_add(entry.size);
        paths.push(entry.path);
    }
    if paths.len() > MAX_FILES || bytes > MAX_PACKAGE_BYTES {
        let why = format!(
            "{} files of {bytes} bytes; at most {MAX_FILES} files and {MAX_PACKAGE_BYTES} bytes",
            paths.len()
        );
        return Err(("too_large", why));
    }
    let mut files = BTreeMap::new();
    let mut left = MAX_PACKAGE_BYTES;
    for path in paths {
        let content = machine.read(&format!("{folder}/{path}")).await.map_err(|error| unreachable(&error))?;
        // A file may have grown since it was listed.
        left = left
            .checked_sub(u64::try_from(content.len()).unwrap_or(u64::MAX))
            .ok_or_else(|| ("too_large", format!("{path} grew; at most {MAX_PACKAGE_BYTES} bytes in all")))?;
        files.insert(path, content);
    }
    Ok(Package { name: name.to_owned(), files })
}

/// Checks where a package file is located.
fn check_location(path: &str) -> Result<(), Fault> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_permitted = path == "SKILL.md" || FOLDERS.iter().any(|folder| path.starts_with(folder));
    if !parts.iter().all(|part| is_part(part)) || !is_permitted || parts.len() > 4 {
        let why =
            format!("{path:?} has no place in a package: SKILL.md, scripts/, references/ and assets/ have");
        return Err(("bad_file", why));
    }
    Ok(())
}

/// A package whose files are kept, and whose publication is one operation.
pub(super) struct Publication {
    skill: SkillId,
    pub(super) change: Change,
    base: Option<Base>,
    binary_files: Vec<String>,
}

/// Checks a package and keeps its files. Every check that can fail comes before the single operation that creates the
/// skill, but for the gate's.
pub(super) fn prepare(
    gateway: &mut Gateway,
    package: &Package,
    base: Option<&Base>,
) -> Result<Publication, Fault> {
    let wrong: Vec<String> = check(package)
        .into_iter()
        .filter(|finding| finding.level == Level::Error)
        .map(|finding| finding.what)
        .collect();
    if !wrong.is_empty() {
        return Err(("bad_package", wrong.join("; ")));
    }
    let (named, domain, text) = parse_package(package, DOMAIN).map_err(|why| ("bad_package", why))?;
    gateway.inspect_files(Actor::Agent, &package.files)?;
    let skill = match base {
        Some(base) => base.skill.clone(),
        None => new_skill_id(&named, &package.name)?,
    };
    if base.is_none() && gateway.state().skills.contains_key(&skill) {
        return Err((
            "exists",
            format!("{skill} is in the book; finish as skipped and start an update of it"),
        ));
    }
    // Files are stored only for a change that will be written.
    let version = |skill: &SkillId| gateway.state().skills.get(skill).map(|skill| skill.version);
    if base.is_some_and(|base| version(&base.skill) != Some(base.version)) {
        return Err(("stale_read", format!("{skill} was changed meanwhile; skip this, and start anew")));
    }
    let exists = gateway.state().domains.contains_key(skill.domain());
    let is_binary = |bytes: &Vec<u8>| matches!(reading(bytes), FileText::Binary(_));
    let binary = package.files.iter().filter(|(_, bytes)| is_binary(bytes));
    let binary_files = binary.map(|(path, _)| path.clone()).collect();
    let files = gateway.keep_files(Actor::Agent, &package.files).map_err(book_failed)?;
    let package = AttachedPackage {
        name: package.name.clone(),
        files,
        view_hash: String::new(),
        tools: BTreeMap::new(),
        active: false,
    };
    let change =
        Change::SkillPublished { skill: skill.clone(), text, domain: (!exists).then_some(domain), package };
    Ok(Publication { skill, change, base: base.cloned(), binary_files })
}

fn book_failed(error: WriteRefusal) -> Fault {
    match error {
        WriteRefusal::Refused { code, why } => (code, why),
        WriteRefusal::Book(error) => ("unavailable", error.to_string()),
    }
}

/// Publishes a package by a single operation.
pub(super) fn publish(
    gateway: &mut Gateway,
    publication: Publication,
    time: Timestamp,
    seen: &Versions,
) -> Result<Published, Fault> {
    let Publication { skill, change, base, binary_files } = publication;
    let read = base.map(|base| (base.skill, base.version)).into_iter().collect();
    let applied = gateway
        .apply(WriteRequest { seen: seen.clone(), read, ..WriteRequest::of(Actor::Agent, time, change) })
        .map_err(book_failed)?;
    let version = gateway.state().skills.get(&skill).map_or(1, |skill| skill.version);
    let proposed = match applied {
        Applied::Proposed(by) => Some(by),
        Applied::Written(_) | Applied::AlreadyThere(_) => None,
    };
    Ok(Published { skill, version, proposed, binary_files })
}

/// Returns the id of a new skill. It keeps the package's name, whatever the frontmatter says.
fn new_skill_id(named: &SkillId, package: &str) -> Result<SkillId, Fault> {
    SkillId::parse(&format!("{}/{package}", named.domain())).map_err(|error| ("bad_name", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::check_location;

    #[test]
    fn a_package_holds_its_page_scripts_references_and_assets_up_to_four_levels_deep() {
        for path in
            ["SKILL.md", "scripts/run.py", "references/more.md", "assets/picture.png", "scripts/a/b/c.py"]
        {
            assert_eq!(check_location(path), Ok(()), "{path}");
        }
        for path in
            ["run.py", "bin/run.py", "scripts", "scriptsx/run.py", "scripts/../run.py", "/scripts/run.py"]
        {
            assert!(check_location(path).is_err_and(|(code, _)| code == "bad_file"), "{path}");
        }
        assert!(check_location("scripts/a/b/c/d.py").is_err(), "too deep");
    }
}
