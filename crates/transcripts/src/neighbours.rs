//! Finds the log of another session near one: that from which it was copied, or that it continues.

use std::path::{Path, PathBuf};

/// Maximum number of files of a folder that are looked at.
const MAX_NEIGHBOURS: usize = 10_000;

/// The path of a session of Claude Code near another one, as text.
pub(crate) fn beside(path: &Path, session: &str) -> Option<String> {
    file_of_session(path, session).map(|file| file.display().to_string())
}

/// The file of a session near another one: in its folder, or in one beside that, as Codex keeps them by day.
pub(crate) fn file_of_session(path: &Path, session: &str) -> Option<PathBuf> {
    if session.len() < 8 {
        return None;
    }
    let folder = path.parent()?;
    let above = folder.parent();
    let mut folders = vec![folder.to_owned()];
    for above in above.into_iter().chain(above.and_then(Path::parent).filter(|above| is_day(above))) {
        let entries = std::fs::read_dir(above).into_iter().flatten().flatten().take(MAX_NEIGHBOURS);
        let mut beside: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|entry| entry.is_dir()).collect();
        beside.sort();
        folders.append(&mut beside);
    }
    folders.iter().find_map(|folder| {
        let entries = std::fs::read_dir(folder).ok()?.flatten().take(MAX_NEIGHBOURS);
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            file != path && name.ends_with(&format!("{session}.jsonl"))
        });
        files.sort();
        files.into_iter().next()
    })
}

/// Returns whether a folder is named by a number, as those of years and months are.
fn is_day(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
}
