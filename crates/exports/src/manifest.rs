//! The manifest of an export: what was exported from where, what was left out and why, and under which licence.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::formats::{ExportFormat, PictureForm};
use crate::select::Selection;

/// The schema name of a manifest.
pub const EXPORT_SCHEMA: &str = "apprentice.export/1";

/// An attempt that was chosen and could not be exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The trial.
    pub trial: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The reason, in words.
    pub reason: String,
}

/// What an export holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Manifest {
    /// [`EXPORT_SCHEMA`].
    pub schema: &'static str,
    /// The format.
    pub format: ExportFormat,
    /// The version of the program that exported.
    pub program: String,
    /// The licence of the data, as the user stated it; null if nobody stated one.
    pub licence: Option<String>,
    /// The run: its id, suite, hashes, models and arms.
    pub run: Value,
    /// The selection.
    pub selection: Selection,
    /// Number of rows of the run.
    pub rows: usize,
    /// Number of attempts exported.
    pub exported: usize,
    /// Number of attempts exported, by verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// Number of attempts exported, by part of the split; `none` without a locked split.
    pub split: BTreeMap<String, usize>,
    /// Number of rows that the selection leaves out, by reason.
    pub not_selected: BTreeMap<String, usize>,
    /// Attempts that the selection wants and that could not be exported.
    pub left_out: Vec<LeftOut>,
    /// Remarks on the run and on exported attempts, in words.
    pub remarks: Vec<String>,
    /// How pictures are held.
    pub picture_form: PictureForm,
    /// Number of pictures, in whatever form.
    pub pictures: usize,
    /// Bytes of pictures.
    pub picture_bytes: u64,
    /// The coordinate spaces of points in calls, as models used them.
    pub coordinate_spaces: Vec<Value>,
    /// Sizes of the pictures that models got, as `width x height`.
    pub picture_sizes: Vec<String>,
    /// Sizes of the screens, as `width x height`.
    pub screen_sizes: Vec<String>,
    /// What was done about secrets.
    pub redaction: &'static str,
    /// Number of secrets that were replaced in the texts of this export, while recording or exporting.
    pub redacted: usize,
    /// Number of pictures in which something was painted over.
    pub painted_pictures: usize,
    /// Number of places that were painted over in them: fields of passwords, and elements whose text looked like a secret.
    pub painted_places: usize,
}

/// What was done about secrets, for manifests and cards.
pub(crate) const REDACTION: &str = "Text was searched for the keys that the program knew when it recorded and when it exported, and for what looks like a \
     key, token or password; each was replaced by [redacted]. In pictures, fields of passwords and elements whose text looked so are painted black, where the \
     program knew their place; nobody has looked at what else they show.";
