//! Writes a report to its folder as HTML, JSON and Markdown.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::page::{PageError, render_page, render_text};
use super::schema::Report;
use apprentice_runs::layout::{REPORT_HTML, REPORT_JSON, REPORT_MARKDOWN};

/// Names of the report files.
pub const REPORT_FILES: [&str; 3] = [REPORT_JSON, REPORT_HTML, REPORT_MARKDOWN];

/// The reason a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportFileError {
    /// The page cannot be rendered.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The report cannot be serialized.
    #[error("the report could not be serialized as JSON")]
    Json(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("{}: the report cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// Writes all report files into a folder. Each file is replaced atomically.
///
/// # Errors
///
/// Fails if the report cannot be rendered or a file cannot be written.
pub fn write_report(report: &Report, folder: &Path) -> Result<(), ReportFileError> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    let texts = [json, render_page(report)?, render_text(report)?];
    for (name, text) in REPORT_FILES.iter().zip(texts) {
        let path = folder.join(name);
        let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            make_world_readable(&file)?;
            file.persist(&path).map(drop).map_err(|error| error.error)
        });
        written.map_err(|source| ReportFileError::Write { path, source })?;
    }
    Ok(())
}

/// Makes a temporary file, readable only by its owner, readable by everyone who may read the folder.
fn make_world_readable(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}
