//! Leak checks: whether a text repeats sealed material of a held-out task. The evaluator builds the indexes; a book that is
//! locked to a suite keeps that suite's index beside its log, as salted hashes, and every writer of the book reads it. This
//! crate never sees a held-out task.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The folder of the indexes, in a book.
pub const HELD_OUT_FOLDER: &str = ".meta/held-out";
/// Number of words in a run; so many in a row do not repeat by chance.
const RUN_WORDS: usize = 8;
/// Largest number of words in a name.
pub const MAX_NAME_WORDS: usize = 6;

/// Finds sealed material in a text.
pub trait HeldOutIndex: Send + Sync {
    /// Returns the kind of sealed material that the text repeats, described without the material itself.
    fn find(&self, text: &str) -> Option<String>;
}

/// An empty index, for books without held-out tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHeldOutTasks;

impl HeldOutIndex for NoHeldOutTasks {
    fn find(&self, _text: &str) -> Option<String> {
        None
    }
}

/// The held-out tasks of one suite, as salted hashes of eight words in a row and of names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOutHashes {
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

impl HeldOutHashes {
    /// Returns an empty index.
    pub fn with_salt(salt: &str) -> Self {
        Self { salt: salt.to_owned(), ..Self::default() }
    }

    /// Adds a text of a held-out task.
    pub fn add_text(&mut self, text: &str) {
        let runs = self.windows(&words(text), RUN_WORDS);
        self.runs.extend(runs);
    }

    /// Adds a name or value of a held-out task.
    pub fn add_name(&mut self, name: &str) {
        let words = words(name);
        let names = self.windows(&words, words.len());
        self.names.extend(names);
    }

    /// Removes what a task that may be learned from says as well.
    pub fn remove_text(&mut self, text: &str) {
        let words = words(text);
        for run in self.windows(&words, RUN_WORDS) {
            self.runs.remove(&run);
        }
        for length in 1..=MAX_NAME_WORDS {
            for name in self.windows(&words, length) {
                self.names.remove(&name);
            }
        }
    }

    fn windows(&self, words: &[String], length: usize) -> Vec<Hash> {
        let hash = |run: &[String]| Hash::of(&format!("{}\n{}", self.salt, run.join(" ")));
        words.windows(length.max(1)).map(hash).collect()
    }
}

impl HeldOutIndex for HeldOutHashes {
    fn find(&self, text: &str) -> Option<String> {
        let words = words(text);
        if self.windows(&words, RUN_WORDS).iter().any(|run| self.runs.contains(run)) {
            return Some("eight words in a row of a task that is kept for the test".to_owned());
        }
        let named = |length| self.windows(&words, length).iter().any(|name| self.names.contains(name));
        (1..=MAX_NAME_WORDS)
            .any(named)
            .then(|| "a name or value of a task that is kept for the test".to_owned())
    }
}

/// Returns the words of a text, in lower case.
pub fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The reason the indexes of a book cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HeldOutError {
    /// A file cannot be read or written.
    #[error("{path}: the index of held-out tasks cannot be read or written")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A file is no index.
    #[error("{path}: not an index of held-out tasks; learn from the suite again to write it anew")]
    Form {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: serde_json::Error,
    },
}

/// Reads the indexes of the suites that a book is locked to. A book without any is locked to none.
///
/// # Errors
///
/// An index cannot be read. Nothing may be written without it.
pub fn indexes_of_book(book: &Path) -> Result<Vec<HeldOutHashes>, HeldOutError> {
    let folder = book.join(HELD_OUT_FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(HeldOutError::Io { path: folder, source }),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| HeldOutError::Io { path: folder.clone(), source })?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Result<HeldOutHashes, HeldOutError> {
    let text = apprentice_files::read_to_string(&path)
        .map_err(|source| HeldOutError::Io { path: path.clone(), source })?;
    serde_json::from_str(&text).map_err(|source| HeldOutError::Form { path, source })
}

#[cfg(test)]
mod tests {
    use super::{HeldOutHashes, HeldOutIndex as _};

    /// A text of numbered words.
    fn text(words: std::ops::RangeInclusive<u32>) -> String {
        words.map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn eight_words_in_a_row_repeat_a_task_and_seven_do_not() {
        let mut index = HeldOutHashes::with_salt("salt");
        index.add_text(&text(1..=20));
        let found = |text: &str| index.find(&format!("Before it. {text}, and after.")).is_some();
        assert!(found(&text(1..=8)) && found(&text(5..=12)) && found(&text(13..=20)));
        assert!(!found(&text(1..=7)) && !found(&text(13..=19)));
        assert!(!found(&format!("{} w9", text(1..=7))), "with a gap");
    }

    #[test]
    fn what_a_task_to_learn_from_says_as_well_is_removed_in_runs_of_eight_words() {
        let mut index = HeldOutHashes::with_salt("salt");
        index.add_text(&text(1..=9));
        index.remove_text(&text(1..=7));
        assert!(index.find(&text(1..=8)).is_some());
        index.remove_text(&text(1..=8));
        assert!(index.find(&text(1..=8)).is_none() && index.find(&text(2..=9)).is_some());
    }

    #[test]
    fn a_name_has_up_to_six_words() {
        for (length, is_found) in [(1, true), (6, true), (7, false)] {
            let mut index = HeldOutHashes::with_salt("salt");
            index.add_name(&text(1..=length));
            assert_eq!(index.find(&format!("Open {}.", text(1..=length))).is_some(), is_found, "{length}");
        }
    }

    #[test]
    fn a_name_of_up_to_six_words_that_a_task_to_learn_from_says_is_removed() {
        for length in [1, 6] {
            let mut index = HeldOutHashes::with_salt("salt");
            index.add_name(&text(1..=length));
            index.remove_text(&format!("Open {}.", text(1..=length)));
            assert_eq!(index, HeldOutHashes::with_salt("salt"), "{length}");
        }
    }

    #[test]
    fn an_index_that_lies_in_a_book_finds_the_same_later() {
        // The first eight bytes of the SHA-256 of the salt, a line break and the words.
        let stored = r#"{"salt":"salt","runs":["2096a11af5b8f6c8"],"names":["11660e0ae5de06a0"]}"#;
        let index: HeldOutHashes = serde_json::from_str(stored).expect("an index");
        let found = |text: &str| index.find(text);
        assert!(
            found("One two three four five six seven eight.").is_some_and(|what| what.starts_with("eight"))
        );
        assert!(found("Open the Quarterly-Ledger.").is_some_and(|what| what.starts_with("a name")));
        let mut made = HeldOutHashes::with_salt("salt");
        made.add_text("one two three four five six seven eight");
        made.add_name("quarterly ledger");
        assert_eq!(serde_json::to_string(&made).expect("json"), stored);
    }
}
