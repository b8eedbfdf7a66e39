//! Formats an error with all of its causes.

use std::error::Error;

/// Returns the text of an error followed by the texts of its causes, separated by colons.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
