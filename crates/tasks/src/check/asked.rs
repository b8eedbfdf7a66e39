//! What a check asked and how the attempt ended, kept beside the evidence: a grade can then be repeated
//! without the suite.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::{EvidenceError, keep};
use super::judge::Ending;
use super::metric::Compat;
use crate::suite::task::CheckSpec;

/// The name of the format.
pub const ASKED_SCHEMA: &str = "apprentice.asked/1";
const FILE: &str = "asked.json";

/// What [`judge`](super::judge()) needs beside the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// [`ASKED_SCHEMA`].
    pub schema: String,
    /// The check, with the variation's values filled in.
    pub spec: CheckSpec,
    /// How the attempt ended.
    pub ending: Ending,
    /// How the known faults of the suite's checks were read.
    #[serde(default)]
    pub compat: Compat,
}

impl Asked {
    /// A check and an ending.
    pub fn new(spec: CheckSpec, ending: Ending) -> Self {
        Self { schema: ASKED_SCHEMA.into(), spec, ending, compat: Compat::default() }
    }

    /// Writes it into the evidence folder, which is made if need be.
    pub fn save(&self, folder: &Path) -> Result<(), EvidenceError> {
        fs::create_dir_all(folder).map_err(|source| EvidenceError::Io { path: folder.to_owned(), source })?;
        let path = folder.join(FILE);
        let json = serde_json::to_vec_pretty(self)
            .map_err(|source| EvidenceError::Form { path: path.clone(), source })?;
        keep(&path, &json)
    }

    /// Reads it back.
    pub fn load(folder: &Path) -> Result<Self, EvidenceError> {
        let path = folder.join(FILE);
        let json = fs::read(&path).map_err(|source| EvidenceError::Io { path: path.clone(), source })?;
        serde_json::from_slice(&json).map_err(|source| EvidenceError::Form { path, source })
    }
}
