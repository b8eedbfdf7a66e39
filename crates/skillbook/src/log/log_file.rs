//! The log on disk: one operation per line, appended and synced. A torn last line was never committed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::change::Change;
use super::operation::Operation;
use crate::skill::model::OpId;
use crate::{BookError, Problem};

const FILE: &str = ".meta/ops.jsonl";

/// A parsed log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Committed operations, in order.
    pub(crate) operations: Vec<Operation>,
    /// The committed bytes of the file.
    pub(crate) bytes: Vec<u8>,
    /// Bytes after the last line break: an interrupted write.
    pub(crate) torn: Vec<u8>,
    /// Lines that could not be parsed.
    pub(crate) problems: Vec<Problem>,
}

pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join(".meta").join("ops.jsonl")
}

impl Log {
    /// Reads a book's log, up to `upto` if given. A book without a log file has an empty log.
    pub(crate) fn read(folder: &Path, upto: Option<OpId>) -> Result<Self, BookError> {
        let path = path(folder);
        let mut bytes = match apprentice_files::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(BookError::Io { path, source }),
        };
        let (log, length) = parse(&bytes, upto);
        bytes.truncate(length);
        Ok(Self { bytes, ..log })
    }

    /// Returns whether the log on disk has not grown since it was read completely.
    pub(crate) fn is_current(&self, folder: &Path) -> bool {
        let length = fs::metadata(path(folder)).map_or(0, |meta| meta.len());
        u64::try_from(self.bytes.len() + self.torn.len()).is_ok_and(|read| read == length)
    }

    fn problem(&mut self, line: usize, what: &str) {
        self.problems.push(Problem { path: FILE.to_owned(), what: format!("line {line}: {what}") });
    }

    /// Adds the operation of a line. An exact duplicate counts once. A different operation with the same id is applied,
    /// so that no data is lost silently, and reported as a problem.
    fn take(&mut self, operation: Operation, line: usize) {
        let id = operation.id;
        let ordered = self.operations.last().is_none_or(|last| last.id < id);
        if !ordered && let Some(earlier) = self.operations.iter().find(|earlier| earlier.id == id) {
            if *earlier == operation {
                return self.problem(line, &format!("{id} is repeated; it counts once"));
            }
            self.problem(line, &format!("{id} is the id of two operations; both are applied"));
        }
        if let Change::Unknown { op, .. } = &operation.change {
            let what = format!("{op:?} is an operation of a later version; it is kept and has no effect");
            self.problem(line, &what);
        }
        self.operations.push(operation);
    }
}

/// Returns the operations of committed lines.
pub(crate) fn operations(bytes: &[u8]) -> Vec<Operation> {
    parse(bytes, None).0.operations
}

/// Parses the committed lines of a log, up to `upto` if given, and returns their length in bytes.
fn parse(bytes: &[u8], upto: Option<OpId>) -> (Log, usize) {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut log = Log { torn: bytes[end..].to_vec(), ..Log::default() };
    let mut read = 0;
    for (index, line) in bytes[..end].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = std::str::from_utf8(line).map(str::trim_end);
        let text = text.map_err(|error| error.to_string());
        match text.and_then(|text| Operation::from_line(text).map_err(|error| error.to_string())) {
            Ok(operation) if upto.is_some_and(|upto| operation.id > upto) => break,
            Ok(operation) => log.take(operation, index + 1),
            Err(why) => log.problem(index + 1, &format!("not an operation: {why}")),
        }
        read += line.len();
    }
    (log, read)
}

/// Opens the log for appending. Moves a torn last line to another file and returns that file's path.
pub(crate) fn open(folder: &Path, log: &Log) -> Result<(File, Option<String>), BookError> {
    let path = path(folder);
    let failed = |source| BookError::Io { path: path.clone(), source };
    let file = apprentice_files::open_append(&path).map_err(failed)?;
    let mut saved_as = None;
    if !log.torn.is_empty() {
        let aside = format!(".meta/ops.torn-{}", log.bytes.len());
        fs::write(folder.join(&aside), &log.torn).map_err(failed)?;
        saved_as = Some(aside);
        let length = u64::try_from(log.bytes.len()).unwrap_or(u64::MAX);
        file.set_len(length).map_err(failed)?;
        file.sync_data().map_err(failed)?;
    }
    Ok((file, saved_as))
}

/// Appends one line with one write and a sync.
pub(crate) fn append(file: &mut File, line: &str) -> io::Result<()> {
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}
