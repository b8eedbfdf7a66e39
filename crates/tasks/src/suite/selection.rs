//! A selection: a file beside a suite that names a subset of its tasks, so that the subset can be run again by
//! name. It records how the tasks were chosen. The suite's hash does not depend on it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_protocol::{TaskId, did_you_mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::load::Suite;

/// The schema name of the file.
pub const SELECTION_SCHEMA: &str = "apprentice.selection/1";

/// A named subset of a suite's tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// [`SELECTION_SCHEMA`].
    pub schema: String,
    /// The suite's name.
    pub suite: String,
    /// The rule by which the tasks were chosen, as text.
    pub rule: String,
    /// The ids of the selected tasks.
    pub tasks: Vec<TaskId>,
}

/// The reason a selection cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// The file cannot be read.
    #[error("{}: the selection cannot be read", path.display())]
    Read {
        /// The selection file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is not a valid selection.
    #[error("{}: not a selection of tasks", path.display())]
    Form {
        /// The selection file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The file has an unsupported schema version.
    #[error("{}: schema {found:?}, expected {SELECTION_SCHEMA:?}", path.display())]
    Schema {
        /// The selection file.
        path: PathBuf,
        /// The schema in the file.
        found: String,
    },
    /// The selection belongs to another suite.
    #[error("{}: selects from suite {named:?}, not from {suite:?}", path.display())]
    SuiteMismatch {
        /// The selection file.
        path: PathBuf,
        /// The suite named in the file.
        named: String,
        /// The loaded suite.
        suite: String,
    },
    /// The selection names a task that the suite does not contain.
    #[error("{}: the suite has no task {task}{hint}", path.display())]
    NoTask {
        /// The selection file.
        path: PathBuf,
        /// The task's id.
        task: TaskId,
        /// A suffix of the message that suggests the nearest id; empty when no id is near.
        hint: String,
    },
    /// The selection contains no task.
    #[error("{}: selects no task", path.display())]
    Empty {
        /// The selection file.
        path: PathBuf,
    },
}

impl Selection {
    /// Reads a selection and validates it against the suite.
    ///
    /// # Errors
    ///
    /// Fails if the file is no selection, is one of another suite, selects nothing, or names a task that the suite does not have.
    pub fn read(path: &Path, suite: &Suite) -> Result<Self, SelectionError> {
        let path = path.to_owned();
        let text = match apprentice_files::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(SelectionError::Read { path, source }),
        };
        let selection: Self = match serde_json::from_str(&text) {
            Ok(selection) => selection,
            Err(source) => return Err(SelectionError::Form { path, source }),
        };
        if selection.schema != SELECTION_SCHEMA {
            return Err(SelectionError::Schema { path, found: selection.schema });
        }
        if selection.suite != suite.name {
            return Err(SelectionError::SuiteMismatch {
                path,
                named: selection.suite,
                suite: suite.name.clone(),
            });
        }
        if let Some(task) = selection.tasks.iter().find(|task| suite.task(task.as_str()).is_none()) {
            let known = suite.tasks.iter().map(|task| task.id.as_str());
            let hint = did_you_mean(task.as_str(), known);
            return Err(SelectionError::NoTask { path, task: task.clone(), hint });
        }
        if selection.tasks.is_empty() {
            return Err(SelectionError::Empty { path });
        }
        Ok(selection)
    }

    /// Returns the selected task ids without duplicates.
    pub fn chosen(&self) -> BTreeSet<TaskId> {
        self.tasks.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Selection, Suite};
    use crate::task::Task;

    fn suite() -> Suite {
        let task = |id: &str| -> Task {
            serde_json::from_value(serde_json::json!({
                "id": id, "instruction": "Do it.", "evaluator": { "func": "exact_match" }
            }))
            .expect("a task")
        };
        Suite {
            name: "small".into(),
            root: PathBuf::from("."),
            hash: "5uite".into(),
            tasks: vec![task("wrap-lines"), task("zoom-in")],
        }
    }

    #[test]
    fn a_selection_fits_its_suite_or_says_where_it_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("few.json");
        let read = |text: &str| {
            std::fs::write(&path, text).expect("writes");
            Selection::read(&path, &suite())
                .map_err(|error| error.to_string().replace(&path.display().to_string(), "few.json"))
        };
        let good = r#"{"schema":"apprentice.selection/1","suite":"small","rule":"one","tasks":["zoom-in"]}"#;
        let found = read(good).expect("reads");
        assert_eq!(found.chosen().len(), 1);
        let messages: Vec<String> = [
            ("zoom-in", "zoom-inn"),
            ("small", "large"),
            ("selection/1", "selection/2"),
            ("\"zoom-in\"", ""),
            ("\"rule\"", "\"role\""),
        ]
        .iter()
        .map(|(from, to)| read(&good.replace(from, to)).expect_err("is refused"))
        .collect();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        few.json: the suite has no task zoom-inn; did you mean "zoom-in"?
        few.json: selects from suite "large", not from "small"
        few.json: schema "apprentice.selection/2", expected "apprentice.selection/1"
        few.json: selects no task
        few.json: not a selection of tasks
        "#);
    }
}
