//! Lines of training data, in one file per part of the split.

use std::collections::BTreeMap;

use apprentice_protocol::{Action, ImagePoint};
use apprentice_runs::row::{Split, TrialRow};
use serde_json::Value;

use super::EpisodeError;
use crate::card::part_file;
use crate::folder::{FolderError, OutFile, OutFolder};
use apprentice_trace::Blobs;

/// The files of the parts that have an attempt.
#[derive(Default)]
pub(super) struct PartFiles(BTreeMap<&'static str, OutFile>);

impl PartFiles {
    /// Writes the schema of the actions beside the data.
    pub(super) fn begin(out: &OutFolder) -> Result<Self, FolderError> {
        write_action_schema(out)?;
        Ok(Self::default())
    }

    /// Adds a line and returns the file's name.
    pub(super) fn add(
        &mut self,
        row: &TrialRow,
        value: &Value,
        out: &OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let part = row.split.map_or("none", Split::as_str);
        let name = format!("{}.jsonl", part_file(part));
        if !self.0.contains_key(part) {
            self.0.insert(part, out.create(&name)?);
        }
        if let Some(file) = self.0.get_mut(part) {
            out.put(file, value, blobs)?;
            file.raw("\n")?;
        }
        Ok(name)
    }

    pub(super) fn finish(self) -> Result<(), FolderError> {
        self.0.into_values().try_for_each(OutFile::end)
    }
}

/// Writes the schema of the actions beside the data.
pub(super) fn write_action_schema(out: &OutFolder) -> Result<(), FolderError> {
    let schema = schemars::schema_for!(Action<ImagePoint>);
    out.write_json("actions.schema.json", schema.as_value())
}
