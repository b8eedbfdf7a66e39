//! A copy of a given suite in which each task says that the measured skills bear on it, so that the placebo holds none of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use apprentice_protocol::SkillId;
use apprentice_tasks::suite::Suite;
use serde_json::Value;

use super::drawn_suite::{DrawError, write, write_inert};

/// Largest size of a suite's files, in bytes, and their largest number.
const MAX_SUITE_BYTES: u64 = 512 << 20;
const MAX_SUITE_FILES: usize = 50_000;

/// What may still be copied.
struct Room {
    bytes: u64,
    files: usize,
}

/// Writes the copy of a suite into a folder that does not exist yet.
///
/// # Errors
/// A file cannot be read or written, or the suite has more files than are copied.
pub fn lend_suite(suite: &Suite, skills: &BTreeSet<SkillId>, folder: &Path) -> Result<(), DrawError> {
    let mut left = Room { bytes: MAX_SUITE_BYTES, files: MAX_SUITE_FILES };
    copy(&suite.root, folder, skills, &mut left)?;
    match folder.join("inert").is_dir() {
        true => Ok(()),
        false => write_inert(folder),
    }
}

fn copy(from: &Path, to: &Path, skills: &BTreeSet<SkillId>, left: &mut Room) -> Result<(), DrawError> {
    let failed = |source| DrawError { path: from.to_owned(), source };
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') || name == "runs" || name == "target" {
            continue;
        }
        if kind.is_dir() {
            copy(&path, &to.join(&name), skills, left)?;
        } else if kind.is_file() {
            let size = entry.metadata().map_err(failed)?.len();
            if size > left.bytes || left.files == 0 {
                let why =
                    format!("the suite has more than {MAX_SUITE_BYTES} bytes or {MAX_SUITE_FILES} files");
                return Err(DrawError { path: path.clone(), source: std::io::Error::other(why) });
            }
            *left = Room { bytes: left.bytes - size, files: left.files - 1 };
            let bytes =
                apprentice_files::read(&path).map_err(|source| DrawError { path: path.clone(), source })?;
            let changed = labelled(&path, &bytes, skills);
            write(&to.join(&name), changed.as_deref().unwrap_or(&bytes))?;
        }
    }
    Ok(())
}

/// A task file with the labels; `None` for any other file.
fn labelled(path: &Path, bytes: &[u8], skills: &BTreeSet<SkillId>) -> Option<Vec<u8>> {
    let in_examples = path.ancestors().any(|above| above.file_name().is_some_and(|name| name == "examples"));
    let is_task = in_examples && path.extension().is_some_and(|ending| ending == "json");
    let mut task: Value = is_task.then(|| serde_json::from_slice(bytes).ok())??;
    let labels = skills.iter().map(|skill| Value::from(skill.as_str()));
    let ours = task.get_mut("apprentice")?.as_object_mut()?;
    match ours.entry("knowledge").or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(list) => list.extend(labels),
        _ => return None,
    }
    Some(format!("{task:#}\n").into_bytes())
}
