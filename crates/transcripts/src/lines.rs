//! Reads a file line by line, whatever its size; a line may be long, as pictures stand in lines.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use crate::error::ReadError;

/// Maximum number of bytes of a line.
const MAX_LINE_BYTES: usize = 64 << 20;
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;
/// Bytes that a line's memory keeps for the next one.
const MAX_KEPT_LINE_BYTES: usize = 8 << 20;

/// The lines of a file.
pub(crate) struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    line: Vec<u8>,
    number: usize,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let file = apprentice_files::open(path).map_err(|error| ReadError::file(path, error))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self { path: path.to_owned(), file, line: Vec::new(), number: 0 })
    }

    /// The next line that is not empty, with its number and whether it ends: a program may just be writing it.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, ReadError> {
        loop {
            if self.line.capacity() > MAX_KEPT_LINE_BYTES {
                self.line = Vec::new();
            }
            self.line.clear();
            if self.read_line().map_err(|error| ReadError::file(&self.path, error))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.line.len() > MAX_LINE_BYTES {
                let (what, most) =
                    (format!("a long line {}", self.number), format!("{MAX_LINE_BYTES} bytes"));
                return Err(ReadError::TooLarge { path: self.path.clone(), what, most });
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        let ends = self.line.last() == Some(&b'\n');
        Ok(Some(Line { bytes: self.line.trim_ascii(), number: self.number, ends }))
    }

    /// Reads up to the end of a line, or a little more than what a line may have. `memchr` finds ends several times as fast as
    /// `BufRead::read_until` does.
    fn read_line(&mut self) -> io::Result<usize> {
        while self.line.len() <= MAX_LINE_BYTES {
            let read = self.file.fill_buf()?;
            if read.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', read);
            let taken = end.map_or(read.len(), |end| end + 1);
            self.line.extend_from_slice(&read[..taken]);
            self.file.consume(taken);
            if end.is_some() {
                break;
            }
        }
        Ok(self.line.len())
    }
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) number: usize,
    pub(crate) ends: bool,
}

impl Line<'_> {
    /// The error of a line that is no JSON: of one that a program did not write to its end, a note.
    pub(crate) fn broken(
        &self,
        path: &Path,
        program: &'static str,
        error: &serde_json::Error,
    ) -> Result<String, ReadError> {
        match self.ends {
            false => Ok(format!("line {} is cut off and left out: {error}", self.number)),
            true => Err(ReadError::Damaged {
                path: path.to_owned(),
                program,
                line: Some(self.number),
                why: error.to_string(),
            }),
        }
    }
}
