//! Other wordings of the instructions of a suite's tasks: the same task as other people would ask for it. They show
//! whether a result hangs on how an instruction is worded.

use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

use crate::task::Task;

impl Task {
    /// Returns the task in another of its wordings; numbers past the last begin again with the first. `None` if the
    /// task has no other wording.
    pub fn reworded(&self, number: u32) -> Option<Self> {
        let count = u32::try_from(self.wordings.len()).ok().filter(|count| *count > 0)?;
        let instruction = self.wordings.get(usize::try_from(number % count).ok()?)?.clone();
        Some(Self { instruction, ..self.clone() })
    }
}

/// SHA-256 over the other wordings of tasks.
pub fn wordings_hash<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> String {
    let mut hash = Sha256::new();
    for task in tasks {
        for text in std::iter::once(task.id.as_str()).chain(task.wordings.iter().map(String::as_str)) {
            hash.update(text.len().to_le_bytes());
            hash.update(text.as_bytes());
        }
        hash.update([0xff; 8]);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::wordings_hash;
    use crate::suite::{Suite, SuiteError, WORDINGS_FILE, load};

    fn suite(wordings: &str) -> Result<Suite, SuiteError> {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).expect("made");
            fs::write(path, text).expect("written");
        };
        let task = |id: &str| {
            format!(
                "{{\"id\": \"{id}\", \"instruction\": \"Do it.\", \"evaluator\": {{\"func\": \"infeasible\"}}}}"
            )
        };
        write("suite.json", r#"{"os": ["sort", "rename"]}"#);
        write("examples/os/sort.json", &task("sort"));
        write("examples/os/rename.json", &task("rename"));
        if !wordings.is_empty() {
            write(WORDINGS_FILE, wordings);
        }
        load(folder.path())
    }

    #[test]
    fn a_task_is_asked_for_in_its_other_wordings_in_turn() {
        let found = suite(r#"{"sort": ["Put it in order.", "Bring it into order."]}"#).expect("loads");
        let sort = found.task("sort").expect("known");
        let asked = |number| sort.reworded(number).map(|task| task.instruction);
        assert_eq!(asked(0).as_deref(), Some("Put it in order."));
        assert_eq!(asked(1).as_deref(), Some("Bring it into order."));
        assert_eq!(asked(2), asked(0), "begins again");
        assert_eq!(found.task("rename").and_then(|task| task.reworded(0)), None, "has no other wording");
        assert_eq!(suite("").expect("loads").task("sort").and_then(|task| task.reworded(0)), None);
    }

    #[test]
    fn the_hash_covers_every_wording_and_whose_it_is() {
        let hash = |text| wordings_hash(&suite(text).expect("loads").tasks);
        let first = hash(r#"{"sort": ["one", "two"]}"#);
        for other in
            [r#"{"sort": ["two", "one"]}"#, r#"{"sort": ["onetwo"]}"#, r#"{"rename": ["one", "two"]}"#, ""]
        {
            assert_ne!(first, hash(other), "{other}");
        }
    }

    #[test]
    fn wordings_of_an_unknown_task_are_refused_with_the_nearest_name() {
        let error = suite("{\n \"sorts\": [\"Put it in order.\"]}").expect_err("refused").to_string();
        assert!(
            error.contains(":2:2: the suite has no task \"sorts\"") && error.contains("\"sort\"?"),
            "{error}"
        );
    }
}
