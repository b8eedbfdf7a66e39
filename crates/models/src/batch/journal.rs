//! The file that remembers which batch holds which request. It holds ids and hashes, never a text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::service::UnconfirmedBatch;

/// How long providers keep answers: 29 days (Anthropic), 30 days (OpenAI).
const KEPT: SignedDuration = SignedDuration::from_hours(28 * 24);

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// A batch is about to be sent.
    Sending { at: Timestamp, mark: String, keys: Vec<String> },
    /// A batch that was about to be sent was not.
    Unsent { mark: String },
    /// A batch was sent.
    Sent { at: Timestamp, batch: String, keys: Vec<String> },
    /// The price of an answer was booked.
    Booked { key: String },
    /// These requests are not taken up again: a later command that asks the same means to ask anew.
    Closed { keys: Vec<String> },
}

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error("cannot use the journal of batches {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A line is not one of a journal.
    #[error("line {number} of {} cannot be read ({source}); move the file aside to send open requests anew", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        number: usize,
        /// The error.
        source: serde_json::Error,
    },
}

/// A request that was sent in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenRequest {
    pub(super) batch: String,
    pub(super) at: Timestamp,
    pub(super) is_booked: bool,
}

/// The open requests of one model, kept in a file.
#[derive(Debug)]
pub struct BatchJournal {
    path: PathBuf,
    file: File,
    open: BTreeMap<String, OpenRequest>,
    /// Batches that may have been sent, by their mark: when, and their requests.
    unconfirmed: Unconfirmed,
}

type Unconfirmed = BTreeMap<String, (Timestamp, Vec<String>)>;

impl BatchJournal {
    /// Opens the journal, which is created if it does not exist. Requests whose answers nobody keeps any more are
    /// forgotten.
    pub fn open(path: &Path, now: Timestamp) -> Result<Self, JournalError> {
        let failed = |source| JournalError::File { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let text = match apprentice_files::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(failed)?,
        };
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
        // A last line without its end was being written when the process was killed.
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(failed)?;
        }
        let (mut open, mut unconfirmed) = (BTreeMap::new(), Unconfirmed::new());
        for (number, line) in (1..).zip(text[..whole].lines()) {
            let line = serde_json::from_str(line);
            let line = line.map_err(|source| JournalError::Line { path: path.to_owned(), number, source });
            fold(&mut open, &mut unconfirmed, line?);
        }
        unconfirmed.retain(|_, (at, _)| now.duration_since(*at) < KEPT);
        open.retain(|_, one: &mut OpenRequest| now.duration_since(one.at) < KEPT);
        Ok(Self { path: path.to_owned(), file, open, unconfirmed })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn get(&self, key: &str) -> Option<&OpenRequest> {
        self.open.get(key)
    }

    /// Returns the requests of a batch.
    pub(super) fn keys_of(&self, batch: &str) -> Vec<String> {
        let of_batch = self.open.iter().filter(|(_, one)| one.batch == batch);
        of_batch.map(|(key, _)| key.clone()).collect()
    }

    /// Notes that a batch is about to be sent, before it is: whoever finds the note without an id has to ask the provider.
    pub(super) fn sending(
        &mut self,
        mark: &str,
        keys: Vec<String>,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        self.add(Line::Sending { at, mark: mark.to_owned(), keys })?;
        self.file.sync_data().map_err(|source| JournalError::File { path: self.path.clone(), source })
    }

    /// Returns the ids of the batches that hold open requests.
    pub(super) fn batches(&self) -> BTreeSet<String> {
        self.open.values().map(|one| one.batch.clone()).collect()
    }

    /// Notes that a batch was not sent.
    pub(super) fn unsent(&mut self, mark: &str) -> Result<(), JournalError> {
        self.add(Line::Unsent { mark: mark.to_owned() })
    }

    /// Returns the batches that may have been sent and hold one of these requests, with the requests of each.
    pub(super) fn unconfirmed(&self, keys: &BTreeSet<&str>) -> Vec<(UnconfirmedBatch, Vec<String>)> {
        let others = self.batches();
        let holds = |of_batch: &[String]| of_batch.iter().any(|key| keys.contains(key.as_str()));
        let found = self.unconfirmed.iter().filter(|(_, (_, of_batch))| holds(of_batch));
        found
            .map(|(mark, (at, of_batch))| {
                let (mark, requests, others) = (mark.clone(), of_batch.len(), others.clone());
                (UnconfirmedBatch { mark, requests, at: *at, others }, of_batch.clone())
            })
            .collect()
    }

    pub(super) fn sent(&mut self, batch: &str, keys: Vec<String>, at: Timestamp) -> Result<(), JournalError> {
        self.add(Line::Sent { at, batch: batch.to_owned(), keys })?;
        self.file.sync_data().map_err(|source| JournalError::File { path: self.path.clone(), source })
    }

    /// Notes that an answer's price was booked; returns whether it had been before.
    pub(super) fn book(&mut self, key: &str) -> Result<bool, JournalError> {
        if self.open.get(key).is_some_and(|one| one.is_booked) {
            return Ok(true);
        }
        self.add(Line::Booked { key: key.to_owned() })?;
        Ok(false)
    }

    pub(super) fn close(&mut self, keys: Vec<String>) -> Result<(), JournalError> {
        if keys.is_empty() { Ok(()) } else { self.add(Line::Closed { keys }) }
    }

    fn add(&mut self, line: Line) -> Result<(), JournalError> {
        let failed = |source| JournalError::File { path: self.path.clone(), source };
        let text = serde_json::to_string(&line).map_err(|error| failed(error.into()))? + "\n";
        self.file.write_all(text.as_bytes()).map_err(failed)?;
        fold(&mut self.open, &mut self.unconfirmed, line);
        Ok(())
    }
}

fn fold(open: &mut BTreeMap<String, OpenRequest>, unconfirmed: &mut Unconfirmed, line: Line) {
    match line {
        Line::Sending { at, mark, keys } => {
            unconfirmed.insert(mark, (at, keys));
        }
        Line::Unsent { mark } => {
            unconfirmed.remove(&mark);
        }
        Line::Sent { at, batch, keys } => {
            unconfirmed.retain(|_, (_, of_batch)| *of_batch != keys);
            let one = OpenRequest { batch, at, is_booked: false };
            open.extend(keys.into_iter().map(|key| (key, one.clone())));
        }
        Line::Booked { key } => {
            if let Some(one) = open.get_mut(&key) {
                one.is_booked = true;
            }
        }
        Line::Closed { keys } => keys.iter().for_each(|key| {
            open.remove(key);
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use jiff::{SignedDuration, Timestamp};

    use super::{BatchJournal, JournalError, KEPT};

    #[test]
    fn what_was_sent_is_found_again_until_it_is_closed_or_too_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deeper/journal.jsonl");
        let now = Timestamp::UNIX_EPOCH;
        let open = |now| BatchJournal::open(&path, now).expect("opens");
        let mut journal = open(now);
        journal.sent("b1", vec!["k1".into(), "k2".into()], now).expect("writes");
        assert!(!journal.book("k1").expect("writes"));
        assert!(journal.book("k1").expect("writes"), "it was booked before");
        drop(journal);
        // A process was killed in the middle of a line.
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("opens");
        file.write_all(b"{\"line\":\"closed\",\"ke").expect("writes");
        let mut journal = open(now);
        assert_eq!(journal.keys_of("b1"), ["k1", "k2"]);
        assert!(journal.get("k1").expect("open").is_booked && !journal.get("k2").expect("open").is_booked);
        journal.close(vec!["k1".into()]).expect("writes");
        let journal = open(now);
        assert_eq!((journal.get("k1"), journal.keys_of("b1")), (None, vec!["k2".to_owned()]));
        assert_eq!(open(now + KEPT - SignedDuration::from_secs(1)).keys_of("b1").len(), 1);
        assert!(open(now + KEPT).keys_of("b1").is_empty());
    }

    #[test]
    fn a_line_that_is_none_is_refused_with_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.jsonl");
        std::fs::write(&path, "{\"line\":\"closed\",\"keys\":[]}\nnonsense\n").expect("writes");
        let error = BatchJournal::open(&path, Timestamp::UNIX_EPOCH).expect_err("is refused");
        assert!(matches!(error, JournalError::Line { number: 2, .. }), "{error}");
        assert!(error.to_string().contains("move the file aside"), "{error}");
    }
}
