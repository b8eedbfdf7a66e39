//! Writes a report where it belongs: the page, and the same numbers as JSON and as Markdown, side by side.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::content::Report;
use super::page::{PageError, render_page, render_text};

/// The names of the files.
pub const REPORT_FILES: [&str; 3] = ["report.json", "report.html", "report.md"];

/// Why a report is not there.
#[derive(Debug, thiserror::Error)]
pub enum ReportFileError {
    /// The page cannot be made.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The numbers cannot be put into words.
    #[error("the report could not be written as JSON")]
    Json(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("{}: the report cannot be written", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Writes all files into a folder; each is there as it was or as it is now, never in part.
pub fn write_report(report: &Report, folder: &Path) -> Result<(), ReportFileError> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    let texts = [json, render_page(report)?, render_text(report)?];
    for (name, text) in REPORT_FILES.iter().zip(texts) {
        let path = folder.join(name);
        let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            open_to_all(&file)?;
            file.persist(&path).map(drop).map_err(|error| error.error)
        });
        written.map_err(|source| ReportFileError::Write { path, source })?;
    }
    Ok(())
}

/// A temporary file is its owner's alone; a report is read by whoever may read the folder.
fn open_to_all(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}
