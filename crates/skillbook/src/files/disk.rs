//! Compares the pages on disk with the state that the log describes. Finds writes of our own that were interrupted, and
//! edits by people.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use apprentice_protocol::SkillId;
use apprentice_screening::{Finding, scan};

use super::file_stamps::{Stamp, Stamps};
use crate::log::change::Change;
use crate::log::operation::Operation;
use crate::replay::state::State;
use crate::skill::hash::hash;
use crate::skill::model::{OpId, Origin, SkillText};
use crate::skill::page::{Page, page_path};
use crate::skill::short_steps::short_steps;
use crate::{BookError, Problem};

const MAX_PAGE_BYTES: u64 = 200_000;
const APPLIED: &str = ".meta/cache/applied";
const STAMPS: &str = ".meta/cache/stamps";

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct DiskChanges {
    /// Pages that the last operation did not write before it was interrupted.
    pub(crate) unfinished: Vec<SkillId>,
    /// Edits by people, as changes, with the hash of the edited page.
    pub(crate) edits: Vec<Edit>,
    /// Files that could not be parsed as pages.
    pub(crate) problems: Vec<Problem>,
    /// File metadata of the pages, for the next comparison.
    pub(crate) stamps: Stamps,
}

impl DiskChanges {
    /// Returns whether a page, or its folder, exists but could not be read.
    fn is_unreadable(&self, id: &SkillId) -> bool {
        let path = page_path(id);
        self.problems.iter().any(|problem| problem.path == path || problem.path == id.domain())
    }
}

/// An edit of a page by a person.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) change: Change,
    /// Path of the page, and its hash after the edit. `None` if the page was removed.
    pub(crate) files: Vec<(String, Option<String>)>,
}

/// Compares pages with the state that the log describes.
pub(crate) fn compare(
    operations: &[Operation],
    state: &State,
    on_disk: PageScan,
) -> Result<DiskChanges, BookError> {
    let PageScan { pages, mut found, applied } = on_disk;
    let open = PendingWrites::since(applied, operations);
    let mut missing: Vec<SkillId> = Vec::new();
    for id in state.skills.keys() {
        let path = page_path(id);
        let recorded = state.files.get(&path).and_then(Option::as_deref);
        match pages.get(id) {
            Some(page) if Some(page.hash.as_str()) == recorded => {}
            Some(page) if open.may_contain(&path, &page.hash) => found.unfinished.push(id.clone()),
            Some(page) => edited(id, page, &mut found),
            // A page that exists but cannot be read is not a deleted page.
            None if found.is_unreadable(id) => {}
            None if open.writes(&path) => found.unfinished.push(id.clone()),
            None => missing.push(id.clone()),
        }
    }
    for (id, page) in pages.iter().filter(|(id, _)| !state.skills.contains_key(id)) {
        if open.may_contain(&page_path(id), &page.hash) {
            found.unfinished.push(id.clone());
        } else {
            arrived(id, page, state, &mut missing, &mut found);
        }
    }
    for id in missing {
        let files = vec![(page_path(&id), None)];
        found.edits.push(Edit { change: Change::SkillDeleted { skill: id }, files });
    }
    Ok(found)
}

/// Operations whose page writes are not confirmed. Their writer is still running, or was interrupted.
struct PendingWrites<'a> {
    /// For each file of these operations, all contents that it may legitimately have.
    files: HashMap<&'a str, HashSet<&'a str>>,
}

impl<'a> PendingWrites<'a> {
    /// Collects every operation after `applied`, or the last operation if `applied` is `None`.
    fn since(applied: Option<OpId>, operations: &'a [Operation]) -> Self {
        let last = operations.last().map(|operation| operation.id);
        let is_open = |id: OpId| applied.map_or(Some(id) == last, |applied| id > applied);
        let mut files: HashMap<&str, HashSet<&str>> = HashMap::new();
        for operation in operations.iter().rev().take_while(|operation| is_open(operation.id)) {
            for file in &operation.files {
                let contents = file.before.iter().chain(&file.after).map(String::as_str);
                files.entry(&file.path).or_default().extend(contents);
            }
        }
        Self { files }
    }

    fn writes(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns whether the file may have had this content before or after one of these operations.
    fn may_contain(&self, path: &str, hash: &str) -> bool {
        self.files.get(path).is_some_and(|contents| contents.contains(hash))
    }
}

fn edited(id: &SkillId, page: &DiskPage, found: &mut DiskChanges) {
    match &page.read() {
        Ok(read) => found.edits.push(Edit {
            change: Change::SkillEdited {
                skill: id.clone(),
                situation: read.situation.clone(),
                guidance: read.guidance.clone(),
                annotations: read.annotations.clone(),
            },
            files: vec![(page_path(id), Some(page.hash.clone()))],
        }),
        Err(what) => found.problems.push(Problem { path: page_path(id), what: what.clone() }),
    }
}

fn arrived(
    id: &SkillId,
    page: &DiskPage,
    state: &State,
    missing: &mut Vec<SkillId>,
    found: &mut DiskChanges,
) {
    let same =
        |from: &SkillId| state.files.get(&page_path(from)).and_then(Option::as_ref) == Some(&page.hash);
    if let Some(place) = missing.iter().position(same) {
        let from = missing.remove(place);
        let files = vec![(page_path(&from), None), (page_path(id), Some(page.hash.clone()))];
        found.edits.push(Edit { change: Change::SkillRenamed { from, to: id.clone() }, files });
        return;
    }
    match &page.read() {
        Ok(read) => found.edits.push(Edit {
            change: Change::SkillCreated {
                skill: id.clone(),
                text: SkillText {
                    description: first_sentence(&read.situation),
                    situation: read.situation.clone(),
                    guidance: read.guidance.clone(),
                },
                annotations: read.annotations.clone(),
                origin: Origin::Authored,
                domain: None,
            },
            files: vec![(page_path(id), Some(page.hash.clone()))],
        }),
        Err(what) => found.problems.push(Problem { path: page_path(id), what: what.clone() }),
    }
}

/// Returns the first sentence of the situation, as the description of a page that a person wrote.
fn first_sentence(situation: &str) -> String {
    let flat = situation.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = flat.find(". ").map_or(flat.len(), |at| at + 1);
    flat[..end].chars().take(160).collect()
}

/// A page on disk. It is parsed only if its content differs from the known content.
struct DiskPage {
    path: PathBuf,
    hash: String,
}

impl DiskPage {
    fn read(&self) -> Result<Page, String> {
        let bytes = apprentice_files::read(&self.path).map_err(|error| error.to_string())?;
        let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string())?;
        let page = Page::parse(text).map_err(|error| error.to_string())?;
        short_steps(&page.guidance).map_err(|error| error.to_string())?;
        // People may write addresses. The other rules of the scan apply to people, too.
        let barred = |text: &String| scan(text).filter(|finding| *finding != Finding::Address);
        let refusal = page.annotations.iter().chain([&page.situation, &page.guidance]).find_map(barred);
        refusal.map_or(Ok(page), |finding| Err(finding.why().to_owned()))
    }
}

/// All pages on disk, read independently of the log.
pub(crate) struct PageScan {
    pages: BTreeMap<SkillId, DiskPage>,
    /// Unreadable files, and file metadata of the pages.
    found: DiskChanges,
    /// The last operation whose pages were completely written before the scan of the folder began.
    applied: Option<OpId>,
}

/// Reads every page. A log that is read afterwards covers every write that this scan may have seen.
pub(crate) fn scan_pages(folder: &Path) -> Result<PageScan, BookError> {
    let applied = read_applied(folder);
    let remembered = Stamps::load(&folder.join(STAMPS));
    let (mut pages, mut found) = (BTreeMap::new(), DiskChanges::default());
    for domain in names(folder)? {
        let domain_folder = folder.join(&domain);
        if domain.starts_with('.') || !domain_folder.is_dir() {
            continue;
        }
        let mut problem = |path: String, what: &str| {
            found.problems.push(Problem { path, what: what.to_owned() });
        };
        if !SkillId::is_slug(&domain) {
            problem(domain, "a domain is named by lower-case letters, digits and hyphens");
            continue;
        }
        if domain_folder.is_symlink() {
            problem(domain, "a link; a domain is a folder of the book itself");
            continue;
        }
        for name in names(&domain_folder)? {
            let path = format!("{domain}/{name}");
            let Some(slug) = name.strip_suffix(".md") else {
                problem(path, "a domain holds pages only, in no folders");
                continue;
            };
            if slug == "INDEX" {
                continue;
            }
            match SkillId::parse(&format!("{domain}/{slug}")) {
                Ok(id) => match look(folder, &path, &remembered) {
                    Ok((page, stamp)) => {
                        found.stamps.put(path, stamp);
                        pages.insert(id, page);
                    }
                    Err(what) => problem(path, &what),
                },
                Err(error) => problem(path, &error.to_string()),
            }
        }
    }
    Ok(PageScan { pages, found, applied })
}

fn names(folder: &Path) -> Result<Vec<String>, BookError> {
    let failed = |source| BookError::Io { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// Returns a page's hash: the remembered hash while the file's metadata is unchanged, otherwise the hash of its
/// content.
fn look(folder: &Path, path: &str, remembered: &Stamps) -> Result<(DiskPage, Stamp), String> {
    let place = folder.join(path);
    let meta = fs::symlink_metadata(&place).map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("not a regular file".to_owned());
    }
    if meta.len() > MAX_PAGE_BYTES {
        return Err(format!("{} bytes; a page has at most {MAX_PAGE_BYTES}", meta.len()));
    }
    let mut stamp = Stamp::of(&meta);
    stamp.hash = match remembered.hash_of(path, &stamp) {
        Some(known) => known.to_owned(),
        None => hash(&apprentice_files::read(&place).map_err(|error| error.to_string())?),
    };
    Ok((DiskPage { path: place, hash: stamp.hash.clone() }, stamp))
}

/// Stores the file metadata of pages, so that the next opening can skip unchanged files.
pub(crate) fn remember(folder: &Path, stamps: &Stamps) -> Result<(), BookError> {
    put(folder, STAMPS, Some(&stamps.render()))
}

/// Returns the hash of a file, or `None` if the file does not exist.
pub(crate) fn hash_of(path: &Path) -> Result<Option<String>, BookError> {
    match apprentice_files::read(path) {
        Ok(bytes) => Ok(Some(hash(&bytes))),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(BookError::Io { path: path.to_owned(), source }),
    }
}

/// Returns whether the error means that the file does not exist, including the case that a file has replaced its
/// folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Replaces a file atomically: writes a temporary file, syncs it, and renames it. Removes the file if `text` is `None`.
pub(crate) fn put(folder: &Path, path: &str, text: Option<&str>) -> Result<(), BookError> {
    let place = folder.join(path);
    let failed = |source| BookError::Io { path: place.clone(), source };
    let Some(text) = text else {
        return match fs::remove_file(&place) {
            Err(error) if !is_absent(&error) => Err(failed(error)),
            Ok(()) | Err(_) => Ok(()),
        };
    };
    let parent = place.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(failed)?;
    let cache = folder.join(".meta").join("cache");
    fs::create_dir_all(&cache).map_err(failed)?;
    // One temporary name is enough because there is only one writer. A leftover file is overwritten.
    let beside = cache.join("writing");
    let mut file = fs::File::create(&beside).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.sync_data().map_err(failed)?;
    fs::rename(&beside, &place).map_err(failed)
}

pub(crate) fn mark_applied(folder: &Path, id: OpId) -> Result<(), BookError> {
    put(folder, APPLIED, Some(&id.to_string()))
}

fn read_applied(folder: &Path) -> Option<OpId> {
    apprentice_files::read_to_string(folder.join(APPLIED))
        .ok()
        .and_then(|text| OpId::try_from(text.trim().to_owned()).ok())
}
