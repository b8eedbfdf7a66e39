//! How well training and test data are separated, as it is kept beside an experiment and told in its report.

use std::fs;
use std::io;
use std::path::Path;

use apprentice_protocol::TaskId;
use apprentice_runs::layout::CONTAMINATION_FILE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the file's format.
pub const CONTAMINATION_SCHEMA: &str = "apprentice.hygiene/1";

/// How clean the parting of training and test is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contamination {
    /// [`CONTAMINATION_SCHEMA`].
    pub schema: String,
    /// Training and test tasks that are all but the same.
    pub near: Vec<NearDuplicate>,
    /// The skills of the book, the most specific first.
    pub skills: Vec<SkillContamination>,
}

/// A training task and a test task that say nearly the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NearDuplicate {
    /// The training task.
    pub train: TaskId,
    /// The test task.
    pub test: TaskId,
    /// The share of runs of three words that both say, of those that either says.
    pub likeness: f64,
}

/// One skill of the measured book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillContamination {
    /// Which.
    pub skill: String,
    /// The share of its guidance, in runs of three words, that stands in the text, the files or the check of a
    /// task that it was learned from. High: it may hold an answer rather than knowledge.
    pub specificity: f64,
    /// The task for which the share is largest.
    pub most_like: Option<TaskId>,
    /// What kind of sealed material it repeats, if it does.
    pub leak: Option<String>,
}

impl Contamination {
    /// The examination that was kept in an experiment's folder, if there was one.
    ///
    /// # Errors
    ///
    /// Fails if the file is there and cannot be read or parsed.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        match apprentice_files::read_to_string(folder.join(CONTAMINATION_FILE)) {
            Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps it in an experiment's folder.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(CONTAMINATION_FILE), serde_json::to_string_pretty(self)? + "\n")
    }

    /// What a reader must know first.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let leaking: Vec<&str> =
            self.skills.iter().filter(|one| one.leak.is_some()).map(|one| one.skill.as_str()).collect();
        if !leaking.is_empty() {
            let names = leaking.join(", ");
            warnings.push(format!(
                "the book repeats material of sealed tasks, so its gain may be memory: {names}"
            ));
        }
        if !self.near.is_empty() {
            let count = self.near.len();
            warnings.push(format!(
                "{count} pairs of a training and a test task say nearly the same: see hygiene"
            ));
        }
        warnings
    }
}
