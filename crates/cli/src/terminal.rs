//! The one place that prints.

use std::fmt;
use std::io::Write as _;

use serde::Serialize;

use crate::failure::{Failure, Kind, Kinded as _};

/// Prints one line of results on standard output. A closed pipe ends nothing: what was run stays run.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
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
