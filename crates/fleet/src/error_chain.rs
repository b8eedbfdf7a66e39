//! Formats an error with its causes, as a message alone often names a place and no reason.

use std::error::Error;

/// Returns the text of an error followed by those of its causes, separated by colons. A cause whose text stands there already is
/// left out.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
