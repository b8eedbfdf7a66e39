//! Finds logs: what a path holds, and which files are one session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::ReadError;
use crate::lines::Lines;
use crate::model::Program;
use crate::recognise::{Kind, recognise};
use crate::unpacked::has_ending;

/// Maximum number of logs below a folder.
pub const MAX_LOGS: usize = 10_000;
/// Maximum number of files and folders that are looked at.
const MAX_ENTRIES: usize = 200_000;
/// Endings of the names of logs, packed or not.
const ENDINGS: [&str; 3] = ["jsonl", "json", "eval"];
/// How deep logs lie below a folder: Codex keeps them by year, month and day, OSWorld by five names.
const MAX_DEPTH: usize = 9;

/// One log, in one file, several or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The program that wrote it.
    pub program: Program,
    /// Its files, in the order of their times, or its folder.
    pub paths: Vec<PathBuf>,
}

/// Returns the logs that a path holds, in the order of their names.
///
/// # Errors
/// It holds none, or too many, or cannot be read. What it seems to be is in the error.
pub fn find(path: &Path) -> Result<Vec<Found>, ReadError> {
    match recognise(path)? {
        Kind::Of(program) => Ok(vec![Found { program, paths: vec![path.to_owned()] }]),
        Kind::Other(seems) if !path.is_dir() => Err(ReadError::Other { path: path.to_owned(), seems }),
        Kind::Other(_) => below(path),
    }
}

/// Looks for logs below a folder.
fn below(path: &Path) -> Result<Vec<Found>, ReadError> {
    let mut walk = Walk { found: Vec::new(), entries: 0, other: 0, first_other: None };
    walk.folder(path, 0)?;
    if walk.found.is_empty() {
        let seems = match walk.other {
            0 => "is a folder without a trace".to_owned(),
            other => {
                let first = walk.first_other.map_or_else(String::new, |first| format!(" ({first})"));
                format!("is a folder with {other} files of which none is a trace{first}")
            }
        };
        return Err(ReadError::Other { path: path.to_owned(), seems });
    }
    Ok(sessions(walk.found))
}

/// A walk under way.
struct Walk {
    found: Vec<Found>,
    entries: usize,
    other: usize,
    /// The first file of JSON that is no trace, and what it seems to be.
    first_other: Option<String>,
}

impl Walk {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), ReadError> {
        let entries = std::fs::read_dir(folder).map_err(|error| ReadError::file(folder, error))?;
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        self.entries += entries.len();
        if self.entries > MAX_ENTRIES {
            let (what, most) = (format!("{} files and folders", self.entries), MAX_ENTRIES.to_string());
            return Err(ReadError::TooLarge { path: folder.to_owned(), what, most });
        }
        for entry in entries {
            self.entry(&entry, depth)?;
            if self.found.len() > MAX_LOGS {
                let (what, most) = ("too many traces".to_owned(), MAX_LOGS.to_string());
                return Err(ReadError::TooLarge { path: folder.to_owned(), what, most });
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Path, depth: usize) -> Result<(), ReadError> {
        // A link may lead into a circle.
        let Ok(kind) = std::fs::symlink_metadata(entry).map(|data| data.file_type()) else { return Ok(()) };
        if kind.is_dir() {
            // Agents that a session started are read with it.
            let of_session = entry.file_name().is_some_and(|name| name == "subagents")
                && entry.parent().is_some_and(has_session);
            if of_session {
                return Ok(());
            }
            if let Ok(Kind::Of(program)) = recognise(entry) {
                self.found.push(Found { program, paths: vec![entry.to_owned()] });
            } else if depth < MAX_DEPTH {
                self.folder(entry, depth + 1)?;
            }
        } else if kind.is_file() && ENDINGS.iter().any(|ending| has_ending(entry, ending)) {
            match recognise(entry) {
                Ok(Kind::Of(program)) => self.found.push(Found { program, paths: vec![entry.to_owned()] }),
                Ok(Kind::Other(seems)) => {
                    self.other += 1;
                    let name = entry.file_name().unwrap_or_default().to_string_lossy();
                    self.first_other.get_or_insert_with(|| format!("{name} {seems}"));
                }
                Err(_) => self.other += 1,
            }
        } else {
            self.other += 1;
        }
        Ok(())
    }
}

/// Returns whether a session of Claude Code lies beside the folder of its agents.
fn has_session(folder: &Path) -> bool {
    ["jsonl", "jsonl.gz", "jsonl.zst"].iter().any(|ending| folder.with_extension(ending).is_file())
}

/// Joins the files of one session of Gemini CLI: one that is resumed in a later minute leaves two.
fn sessions(found: Vec<Found>) -> Vec<Found> {
    let mut out: Vec<Found> = Vec::new();
    let mut seen: BTreeMap<(PathBuf, String), usize> = BTreeMap::new();
    for log in found {
        let key = match log.program {
            Program::GeminiCli => session(&log.paths[0]),
            _ => None,
        };
        match key.as_ref().and_then(|key| seen.get(key)) {
            Some(place) => out[*place].paths.extend(log.paths),
            None => {
                if let Some(key) = key {
                    seen.insert(key, out.len());
                }
                out.push(log);
            }
        }
    }
    out
}

/// The folder and the session of a chat.
fn session(path: &Path) -> Option<(PathBuf, String)> {
    let mut lines = Lines::open(path).ok()?;
    let line = lines.next().ok()??;
    let header: Value = serde_json::from_slice(line.bytes).ok()?;
    Some((path.parent()?.to_owned(), header.get("sessionId")?.as_str()?.to_owned()))
}
