//! Terminal input and output; no other module prints.

use std::fmt;
use std::io::{BufWriter, Stdout, Write as _};

use serde::Serialize;

use crate::failure::{Failure, Kind, WithKind as _};

/// Prints one line of results on standard output. A closed pipe is not an error: the results are stored anyway.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Buffered lines of results on standard output.
pub(crate) struct Lines(BufWriter<Stdout>);

impl Lines {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(std::io::stdout()))
    }

    pub(crate) fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{text}");
    }

    pub(crate) fn flush(&mut self) {
        let _ = self.0.flush();
    }
}

/// Prints one line of progress or diagnostics on standard error.
pub(crate) fn note(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints one JSON document on standard output.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).kind(Kind::Bug)?;
    line(format_args!("{text}"));
    Ok(())
}

/// Reads one line from standard input; `None` at its end.
pub(crate) fn answer() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}
