//! Index of material that occurs only in sealed tasks, as salted hashes: eight-word n-grams of their wording, their
//! file names, and the names and values that fill in their placeholders. Material that also occurs in a training task
//! is excluded.

use std::collections::BTreeSet;

use apprentice_skills::leak::HeldOutIndex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::split::SplitLock;
use apprentice_results::row::Split;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::suite::task::Task;

/// Number of words in an n-gram; eight in a row do not repeat by chance.
const NGRAM_WORDS: usize = 8;
/// Maximum number of words in a name.
const NAME_WORDS: usize = 6;
/// Minimum number of characters in a name; shorter ones are too common.
const NAME_CHARS: usize = 6;

/// Leak index over the sealed tasks of a suite. Stores hashes, not text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOutTasks {
    salt: String,
    runs: BTreeSet<Hash>,
    names: BTreeSet<Hash>,
}

/// The hash of some words: enough of it that two texts do not share one by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Hash(u64);

impl Hash {
    fn of(text: &str) -> Self {
        let digest = Sha256::digest(text);
        Self(digest.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte)))
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        format!("{:016x}", hash.0)
    }
}

impl TryFrom<String> for Hash {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u64::from_str_radix(&text, 16).map(Self)
    }
}

impl HeldOutTasks {
    /// Builds the index of a locked suite. A task unknown to the lock counts as sealed.
    pub fn build(lock: &SplitLock, suite: &Suite) -> Self {
        let mut index = Self { salt: lock.salt().to_owned(), ..Self::default() };
        let is_train = |task: &Task| matches!(lock.split_of_task(&task.id), Ok(Split::Train));
        for task in suite.tasks.iter().filter(|task| !is_train(task)) {
            for text in task_texts(task) {
                index.runs.extend(index.windows(&words(&text), NGRAM_WORDS));
            }
            for name in names(task) {
                let words = words(&name);
                index.names.extend(index.windows(&words, words.len()));
            }
        }
        for task in suite.tasks.iter().filter(|task| is_train(task)) {
            for text in task_texts(task).into_iter().chain(names(task)) {
                let words = words(&text);
                for run in index.windows(&words, NGRAM_WORDS) {
                    index.runs.remove(&run);
                }
                for length in 1..=NAME_WORDS {
                    for name in index.windows(&words, length) {
                        index.names.remove(&name);
                    }
                }
            }
        }
        index
    }

    fn windows(&self, words: &[String], length: usize) -> Vec<Hash> {
        let hash = |run: &[String]| Hash::of(&format!("{}\n{}", self.salt, run.join(" ")));
        words.windows(length.max(1)).map(hash).collect()
    }
}

impl HeldOutIndex for HeldOutTasks {
    fn find(&self, text: &str) -> Option<String> {
        let words = words(text);
        if self.windows(&words, NGRAM_WORDS).iter().any(|run| self.runs.contains(run)) {
            return Some("eight words in a row of a task that is kept for the test".to_owned());
        }
        let named = |length| self.windows(&words, length).iter().any(|name| self.names.contains(name));
        (1..=NAME_WORDS).any(named).then(|| "a name or value of a task that is kept for the test".to_owned())
    }
}

pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
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
    names.filter(|name| name.chars().count() >= NAME_CHARS && words(name).len() <= NAME_WORDS).collect()
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
