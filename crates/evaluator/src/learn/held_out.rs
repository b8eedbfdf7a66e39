//! Index of material that occurs only in sealed tasks, as salted hashes: eight-word n-grams of their wording, their
//! file names, and the names and values that fill in their placeholders. Material that also occurs in a training task
//! is excluded.

use apprentice_screening::leak::{HeldOutHashes, HeldOutIndex, MAX_NAME_WORDS};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::split::SplitLock;
use apprentice_runs::row::Split;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;

pub(crate) use apprentice_screening::leak::words;

/// Minimum number of characters in a name; shorter ones are too common.
const NAME_CHARS: usize = 6;

/// Leak index over the sealed tasks of a suite. Stores hashes, not text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HeldOutTasks(HeldOutHashes);

impl HeldOutTasks {
    /// Builds the index of a locked suite. A task unknown to the lock counts as sealed.
    pub fn build(lock: &SplitLock, suite: &Suite) -> Self {
        let mut index = HeldOutHashes::with_salt(lock.salt());
        let is_train = |task: &Task| matches!(lock.split_of_task(&task.id), Ok(Split::Train));
        for task in suite.tasks.iter().filter(|task| !is_train(task)) {
            task_texts(task).iter().for_each(|text| index.add_text(text));
            names(task).iter().for_each(|name| index.add_name(name));
        }
        for task in suite.tasks.iter().filter(|task| is_train(task)) {
            task_texts(task).iter().chain(&names(task)).for_each(|text| index.remove_text(text));
        }
        Self(index)
    }
}

impl From<HeldOutHashes> for HeldOutTasks {
    fn from(index: HeldOutHashes) -> Self {
        Self(index)
    }
}

impl HeldOutIndex for HeldOutTasks {
    fn find(&self, text: &str) -> Option<String> {
        self.0.find(text)
    }
}

/// All strings of a task: its instruction, also in its other wordings, and the strings of its setup and check.
pub(crate) fn task_texts(task: &Task) -> Vec<String> {
    let mut found = vec![task.instruction.clone()];
    found.extend(task.wordings.iter().cloned());
    let parts = serde_json::to_value((&task.config, &task.evaluator)).unwrap_or_default();
    collect(&parts, &mut found);
    found
}

/// File names in a task, and the values that fill in its placeholders.
fn names(task: &Task) -> Vec<String> {
    let mut values = Vec::new();
    for value in task.apprentice.iter().flat_map(|ours| ours.vary.values()) {
        collect(value, &mut values);
    }
    let files = task_texts(task).into_iter().flat_map(|text| {
        let words = text.split(|c: char| c.is_whitespace() || "\"'`()/<>,;:=".contains(c));
        words.filter(|word| is_file(word)).map(str::to_owned).collect::<Vec<_>>()
    });
    let names = files.chain(values);
    names.filter(|name| name.chars().count() >= NAME_CHARS && words(name).len() <= MAX_NAME_WORDS).collect()
}

/// Whether a word looks like a file name: a stem and a short extension, such as `report.csv`.
fn is_file(word: &str) -> bool {
    let ending = word.trim_end_matches('.').rsplit_once('.').map(|(stem, ending)| (stem.len(), ending));
    ending.is_some_and(|(stem, ending)| {
        stem > 1
            && (2..=5).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending.chars().any(|c| c.is_ascii_alphabetic())
    })
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
        Value::Object(map) => map.values().for_each(|value| collect(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
