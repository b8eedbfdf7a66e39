//! The check and the attempt's ending, saved next to the evidence, so that a grade can be recomputed without the
//! suite.

use std::fs;
use std::path::Path;

use apprentice_metrics::{Compat, EvidenceError, write_synced};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::AttemptEnding;
use crate::task::CheckSpec;
use apprentice_runs::layout::CHECK_FILE;

/// Name and version of the format of `asked.json`.
pub const JUDGE_INPUT_SCHEMA: &str = "apprentice.asked/1";

/// The inputs of [`judge`](super::judge()) other than the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeInput {
    /// [`JUDGE_INPUT_SCHEMA`].
    pub schema: String,
    /// The check, with the task variation's values substituted.
    pub spec: CheckSpec,
    /// The attempt's ending.
    pub ending: AttemptEnding,
    /// Whether known bugs of upstream's checks were fixed or reproduced.
    #[serde(default)]
    pub compat: Compat,
}

impl JudgeInput {
    /// Combines a check and an ending, in the default compatibility mode.
    pub fn new(spec: CheckSpec, ending: AttemptEnding) -> Self {
        Self { schema: JUDGE_INPUT_SCHEMA.into(), spec, ending, compat: Compat::default() }
    }

    /// Writes it into the evidence folder, which is created if necessary.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created or the file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), EvidenceError> {
        fs::create_dir_all(folder).map_err(|source| EvidenceError::Io { path: folder.to_owned(), source })?;
        let path = folder.join(CHECK_FILE);
        let json = serde_json::to_vec_pretty(self)
            .map_err(|source| EvidenceError::Format { path: path.clone(), source })?;
        write_synced(&path, &json)
    }

    /// Loads it from an evidence folder.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is not such an input.
    pub fn load(folder: &Path) -> Result<Self, EvidenceError> {
        let path = folder.join(CHECK_FILE);
        let json = apprentice_files::read(&path)
            .map_err(|source| EvidenceError::Io { path: path.clone(), source })?;
        serde_json::from_slice(&json).map_err(|source| EvidenceError::Format { path, source })
    }
}
