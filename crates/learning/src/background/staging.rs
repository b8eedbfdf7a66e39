//! A decided change that is not in the book yet. It is kept in one file until the gateway has written it, so that a review
//! that was cut off in between is neither lost nor half done: the book is as it was, and the next review writes the change
//! without paying for it again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use apprentice_protocol::{SkillId, Versions};
use apprentice_skillbook::{BookError, Cause, Change};
use serde::{Deserialize, Serialize};

/// One staged change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StagedChange {
    /// The review that decided it.
    pub review: String,
    /// The candidate that it answers.
    pub key: String,
    /// The run of the session.
    pub run: String,
    /// The skill.
    pub skill: SkillId,
    /// True if the skill is new.
    pub created: bool,
    /// The change.
    pub change: Change,
    /// The skill versions that it is based on.
    pub read: BTreeMap<SkillId, u32>,
    /// The cause, which never acts twice.
    pub cause: Cause,
    /// Program versions of the session.
    pub seen: Versions,
}

fn path(book: &Path) -> PathBuf {
    book.join(".meta").join("review").join("staged.json")
}

fn failed(book: &Path) -> impl Fn(std::io::Error) -> BookError {
    let path = path(book);
    move |source| BookError::Io { path: path.clone(), source }
}

/// Stages a change: the file appears whole or not at all.
pub(super) fn stage(book: &Path, staged: &StagedChange) -> Result<(), BookError> {
    let path = path(book);
    let beside = path.with_extension("new");
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(book))?;
        let mut file = fs::File::create(&beside)?;
        serde_json::to_writer(&mut file, staged)?;
        file.write_all(b"\n")?;
        file.sync_data()?;
        fs::rename(&beside, &path)
    };
    write().map_err(failed(book))
}

/// Returns the change that a review left. A file that cannot be read is no change: its review is done again.
pub(super) fn staged(book: &Path) -> Result<Option<StagedChange>, BookError> {
    match apprentice_files::read(path(book)) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok().and_then(|text| serde_json::from_str(&text).ok())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(book)(error)),
    }
}

/// Removes the staged change.
pub(super) fn clear(book: &Path) -> Result<(), BookError> {
    match fs::remove_file(path(book)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(book)(error)),
        _ => Ok(()),
    }
}
