//! Copies a snapshot into a folder of its own, so that a run keeps the exact book that it used.

use std::fs;
use std::path::Path;

use crate::files::disk::{mark_applied, put};
use crate::skill::attachment;
use crate::skill::figure::{figure_path, figure_refs};
use crate::skill::page::page_path;
use crate::{BookError, Snapshot, domains_file, index_file};

/// Creates `folder` and writes the snapshot's log, pages and indexes into it.
///
/// # Errors
///
/// A file or folder cannot be written.
pub fn freeze(snapshot: &Snapshot, folder: &Path) -> Result<(), BookError> {
    let meta = folder.join(".meta");
    let failed = |source| BookError::Io { path: meta.clone(), source };
    fs::create_dir_all(&meta).map_err(failed)?;
    fs::write(meta.join("ops.jsonl"), snapshot.log_bytes()).map_err(failed)?;
    for skill in snapshot.skills() {
        put(folder, &page_path(&skill.id), Some(&skill.page().render()))?;
        let files = skill.package.iter().flat_map(|package| &package.files);
        let found = files.filter_map(|file| Some((file.path.clone(), snapshot.attachment(&file.sha256)?)));
        attachment::keep(folder, &found.collect())?;
        let figures = figure_refs(&skill.text.guidance).into_iter();
        let found = figures
            .filter_map(|figure| Some((figure_path(&figure.sha256), snapshot.attachment(&figure.sha256)?)));
        attachment::keep(folder, &found.collect())?;
    }
    let state = snapshot.state();
    for domain in snapshot.domains() {
        put(folder, &format!("{domain}/INDEX.md"), Some(&index_file(state, domain)))?;
    }
    put(folder, "DOMAINS.md", Some(&domains_file(state)))?;
    mark_applied(folder, state.last)
}
