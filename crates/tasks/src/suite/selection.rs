//! A selection: some tasks of a suite, named in a file beside it, so that a part of the suite can be run again
//! by name. It says how its tasks were chosen; the suite's hash does not depend on it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_protocol::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Suite, nearest};

/// The name of the file's format.
pub const SELECTION_SCHEMA: &str = "apprentice.selection/1";

/// Some tasks of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// [`SELECTION_SCHEMA`].
    pub schema: String,
    /// The suite's name.
    pub suite: String,
    /// By which rule the tasks were chosen, in words.
    pub rule: String,
    /// The tasks.
    pub tasks: Vec<TaskId>,
}

/// Why a selection cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// The file cannot be read.
    #[error("{}: the selection cannot be read", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is no selection.
    #[error("{}: not a selection of tasks", path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The format is of another version.
    #[error("{}: schema {found:?}, expected {SELECTION_SCHEMA:?}", path.display())]
    Schema {
        /// Which.
        path: PathBuf,
        /// What it says.
        found: String,
    },
    /// It is of another suite.
    #[error("{}: selects from suite {named:?}, not from {suite:?}", path.display())]
    OtherSuite {
        /// Which.
        path: PathBuf,
        /// The suite that it names.
        named: String,
        /// The suite that was loaded.
        suite: String,
    },
    /// It names a task that the suite does not have.
    #[error("{}: the suite has no task {task}{hint}", path.display())]
    NoTask {
        /// Which.
        path: PathBuf,
        /// The task.
        task: TaskId,
        /// The nearest name, as the end of a sentence.
        hint: String,
    },
    /// It selects nothing.
    #[error("{}: selects no task", path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
}

impl Selection {
    /// Reads a selection and checks that it fits the suite.
    pub fn read(path: &Path, suite: &Suite) -> Result<Self, SelectionError> {
        let path = path.to_owned();
        let text = match fs::read_to_string(&path) {
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
            return Err(SelectionError::OtherSuite {
                path,
                named: selection.suite,
                suite: suite.name.clone(),
            });
        }
        if let Some(task) = selection.tasks.iter().find(|task| suite.task(task.as_str()).is_none()) {
            let known = suite.tasks.iter().map(|task| task.id.as_str());
            let like = nearest(task.as_str(), known);
            let hint = like.map_or_else(String::new, |like| format!("; did you mean {like:?}?"));
            return Err(SelectionError::NoTask { path, task: task.clone(), hint });
        }
        if selection.tasks.is_empty() {
            return Err(SelectionError::Empty { path });
        }
        Ok(selection)
    }

    /// The tasks, each once.
    pub fn chosen(&self) -> BTreeSet<TaskId> {
        self.tasks.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Selection, Suite};
    use crate::suite::task::Task;

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
        let said: Vec<String> = [
            ("zoom-in", "zoom-inn"),
            ("small", "large"),
            ("selection/1", "selection/2"),
            ("\"zoom-in\"", ""),
            ("\"rule\"", "\"role\""),
        ]
        .iter()
        .map(|(from, to)| read(&good.replace(from, to)).expect_err("is refused"))
        .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        few.json: the suite has no task zoom-inn; did you mean "zoom-in"?
        few.json: selects from suite "large", not from "small"
        few.json: schema "apprentice.selection/2", expected "apprentice.selection/1"
        few.json: selects no task
        few.json: not a selection of tasks
        "#);
    }
}
