//! The one place that prints.

use std::fmt;
use std::io::{BufWriter, Stdout, Write as _};

use serde::Serialize;

use crate::failure::{Failure, Kind, Kinded as _};

/// Prints one line of results on standard output. A closed pipe ends nothing: what was run stays run.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Many lines of results, printed when told.
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

/// Prints one line about what is going on, on standard error.
pub(crate) fn note(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints one JSON document on standard output.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).kind(Kind::Bug)?;
    line(format_args!("{text}"));
    Ok(())
}

/// One line that a person types; none at the end of the input.
pub(crate) fn answer() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}
