//! What a user asks of an export.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use apprentice_trace::{FileSource, Redactor};

use crate::as_sent::{AsSent, ForProfile};
use crate::formats::{ExportFormat, PictureForm};
use crate::select::Selection;

/// What to export, and where to.
pub struct ExportRequest {
    /// The run's folder.
    pub run: PathBuf,
    /// Where traces and pictures come from that are not in it yet.
    pub source: Option<Arc<dyn FileSource>>,
    /// The format.
    pub format: ExportFormat,
    /// The output folder, which must not exist or be empty.
    pub out: PathBuf,
    /// Which attempts, and which of their parts.
    pub selection: Selection,
    /// How pictures are held; the format's own way when `None`.
    pub pictures: Option<PictureForm>,
    /// The licence that the user states.
    pub licence: Option<String>,
    /// The application of each task, for formats that sort by it. Tasks that are missing are sorted under their suite.
    pub apps: BTreeMap<String, String>,
    /// Writes a conversation as the model's server got it, for formats that are trained on.
    pub as_sent: Option<AsSent>,
    /// Writes conversations as a model of one profile would have had them: whole ones, in the format `openai`.
    pub for_profile: Option<ForProfile>,
    /// Removes secrets from all text.
    pub redactor: Arc<Redactor>,
    /// The version of the program.
    pub program: String,
}
