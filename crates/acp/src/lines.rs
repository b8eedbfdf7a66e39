//! Lines of a stream, with a limit on their length.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The longest message that is accepted, in bytes. A picture of a large screen in base 64 has some 10 MB.
pub const MAX_MESSAGE_BYTES: usize = 32 << 20;
const BUFFER_BYTES: usize = 64 << 10;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Vec<u8>),
    /// A line of more bytes than the limit, which was skipped.
    TooLong,
}

/// Reads lines, of which the longest has `limit` bytes.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER_BYTES, input),
            limit,
            line: Vec::new(),
            too_long: false,
        }
    }

    /// Returns the next line that is not blank; `None` at the end of the input. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            let ended = available.is_empty();
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            if self.line.len() + taken > self.limit {
                self.too_long = true;
                self.line = Vec::new();
            } else if !self.too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            if end.is_some() || ended {
                let line = std::mem::take(&mut self.line);
                if std::mem::take(&mut self.too_long) {
                    return Ok(Some(Line::TooLong));
                }
                if !line.iter().all(u8::is_ascii_whitespace) {
                    return Ok(Some(Line::Whole(line)));
                }
            }
            if ended {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Lines};

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_alone() {
        let mut lines = Lines::new(&b"one\n\n0123456789\ntwo\nrest"[..], 8);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.expect("reads") {
            read.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(read, [whole("one\n"), Line::TooLong, whole("two\n"), whole("rest")]);
    }
}
