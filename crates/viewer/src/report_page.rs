//! The report of what is shown, with each attempt linked to its page.

use std::io;

use apprentice_results::report::{AttemptLinks, Report, render_page_with};
use apprentice_runs::layout::REPORT_JSON;

use crate::document::DocumentError;
use crate::library::Library;

/// What the report may load: its own style. It has no scripts and no pictures.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                                 frame-ancestors 'none'";

impl Library {
    /// Returns whether the folder has a report.
    pub(crate) fn has_report(&self) -> bool {
        self.folder().join(REPORT_JSON).is_file()
    }

    /// Makes the report's page from its numbers.
    pub(crate) fn report_page(&self) -> Result<String, DocumentError> {
        let text =
            apprentice_files::read_to_string(self.folder().join(REPORT_JSON)).map_err(|error| match error
                .kind()
            {
                io::ErrorKind::NotFound => DocumentError::Absent(
                    "there is no report; `apprentice report` with this folder makes one".into(),
                ),
                _ => DocumentError::Unreadable(format!("{REPORT_JSON}: {error}")),
            })?;
        let report: Report = serde_json::from_str(&text).map_err(|error| {
            DocumentError::Unreadable(format!("{REPORT_JSON}: {error}; `apprentice report` makes it anew"))
        })?;
        render_page_with(&report, AttemptLinks::Viewer)
            .map_err(|error| DocumentError::Unreadable(error.to_string()))
    }
}
