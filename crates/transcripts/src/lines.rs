//! Reads a file line by line, whatever its size; a line may be long, as pictures stand in lines.

use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::ReadError;
use crate::unpacked;

/// Maximum number of bytes of a line.
const MAX_LINE_BYTES: usize = 64 << 20;
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;
/// Bytes that a line's memory keeps for the next one.
const MAX_KEPT_LINE_BYTES: usize = 8 << 20;

/// The lines of a file.
pub(crate) struct Lines {
    path: PathBuf,
    file: BufReader<Box<dyn Read>>,
    line: Vec<u8>,
    /// Bytes of the line that stand in the file's buffer; 0 if `line` holds it.
    taken: usize,
    number: usize,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let file = unpacked::open(path).map_err(|error| ReadError::file(path, error))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self { path: path.to_owned(), file, line: Vec::new(), taken: 0, number: 0 })
    }

    /// The next line that is not empty, with its number and whether it ends: a program may just be writing it.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, ReadError> {
        loop {
            if self.line.capacity() > MAX_KEPT_LINE_BYTES {
                self.line = Vec::new();
            }
            self.line.clear();
            self.file.consume(std::mem::take(&mut self.taken));
            let bytes = self.read_line().map_err(|error| ReadError::file(&self.path, error))?;
            if bytes == 0 {
                return Ok(None);
            }
            self.number += 1;
            if bytes > MAX_LINE_BYTES {
                let (what, most) =
                    (format!("a long line {}", self.number), format!("{MAX_LINE_BYTES} bytes"));
                return Err(ReadError::TooLarge { path: self.path.clone(), what, most });
            }
            if !self.read().trim_ascii().is_empty() {
                break;
            }
        }
        let read = self.read();
        let ends = read.last() == Some(&b'\n');
        Ok(Some(Line { bytes: read.trim_ascii(), number: self.number, ends }))
    }

    /// The line that was read.
    fn read(&self) -> &[u8] {
        if self.taken > 0 { &self.file.buffer()[..self.taken] } else { &self.line }
    }

    /// Reads up to the end of a line, or a little more than what a line may have, and returns how much that is. A line within
    /// what was read of the file stays there; others are put together. `memchr` finds ends several times as fast as
    /// `BufRead::read_until` does.
    fn read_line(&mut self) -> io::Result<usize> {
        while self.line.len() <= MAX_LINE_BYTES {
            let read = self.file.fill_buf()?;
            if read.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', read);
            if let (true, Some(end)) = (self.line.is_empty(), end) {
                self.taken = end + 1;
                return Ok(self.taken);
            }
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

#[cfg(test)]
mod tests {
    use super::{BUFFER_BYTES, Lines};

    #[test]
    fn lines_are_whole_wherever_the_buffer_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("lines");
        let long = "x".repeat(BUFFER_BYTES + 7);
        let rows =
            ["first", "", "  ", &long, "b", &"y".repeat(BUFFER_BYTES - 40), "over the end", &long, "last"];
        for last in ["", "\n", "\r\n"] {
            std::fs::write(&file, rows.join("\n") + last).expect("written");
            let mut lines = Lines::open(&file).expect("open");
            let mut read = Vec::new();
            while let Some(line) = lines.next().expect("a line") {
                read.push((line.number, String::from_utf8(line.bytes.to_vec()).expect("text"), line.ends));
            }
            let wanted = rows.iter().enumerate().filter(|(_, row)| !row.trim().is_empty());
            let wanted: Vec<_> = wanted
                .map(|(at, row)| (at + 1, (*row).to_owned(), at + 1 < rows.len() || !last.is_empty()))
                .collect();
            assert!(read == wanted, "{last:?}");
        }
    }
}
