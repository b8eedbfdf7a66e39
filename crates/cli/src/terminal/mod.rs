//! Terminal input and output; no other module prints.
//!
//! Much of what is printed was written by models, pages and other people's files. So each text is shown without the keys
//! that this process knows, and control characters, which a terminal would obey, are shown as escapes.

pub(crate) mod bounded_stdin;
pub(crate) mod chat_input;
pub(crate) mod event_printer;
pub(crate) mod live_lines;
pub(crate) mod live_words;
pub(crate) mod log;
pub(crate) mod wrap;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{BufWriter, IsTerminal as _, Stdout, Write as _};
use std::os::fd::AsFd;
use std::sync::{LazyLock, PoisonError, RwLock};

use apprentice_trace::Redactor;
use indicatif::MultiProgress;
use serde::Serialize;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::process_env;

/// The secrets that no text shows.
static HIDDEN: LazyLock<RwLock<Hidden>> = LazyLock::new(|| RwLock::new(Hidden::new(process_env::secrets())));

struct Hidden {
    secrets: Vec<String>,
    /// `None` if texts cannot be searched for these secrets.
    redactor: Option<Redactor>,
}

impl Hidden {
    fn new(secrets: Vec<String>) -> Self {
        let redactor = Redactor::new(secrets.iter().map(String::as_str)).ok();
        Self { secrets, redactor }
    }
}

/// Hides a key from now on. Keys in the environment are always hidden.
pub(crate) fn hide(key: &str) {
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    let mut secrets = std::mem::take(&mut hidden.secrets);
    secrets.push(key.to_owned());
    *hidden = Hidden::new(secrets);
}

/// Returns a text without secrets.
pub(crate) fn redacted(text: &str) -> String {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    match &hidden.redactor {
        Some(redactor) => redactor.apply_to_json(text).into_owned(),
        None => "[this text is not shown: it cannot be searched for keys]".into(),
    }
}

/// Shows what a terminal would obey instead of printing: control characters but line breaks and tabs, and the marks that
/// reorder text. All of them have four hexadecimal digits, so that JSON keeps its meaning.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        // A string takes every letter.
        let _ = match obeyed(c) {
            true => write!(shown, r"\u{:04x}", u32::from(c)),
            false => shown.write_char(c),
        };
    }
    Cow::Owned(shown)
}

/// Returns the name under which files hold a value, as words: `gave up`, not `GaveUp`.
pub(crate) fn words(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name.replace('_', " "),
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// Returns a text as the terminal may show it.
pub(crate) fn shown(text: fmt::Arguments<'_>) -> String {
    escaped(&redacted(&text.to_string())).into_owned()
}

/// The lines that are drawn anew while something runs. Nothing is drawn where standard error is no terminal.
static LINES: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Returns the lines that are drawn anew; whatever is printed stands above them.
pub(crate) fn lines() -> &'static MultiProgress {
    &LINES
}

/// Prints one line of results on standard output, broken between words where a terminal is narrower. A closed pipe is not an
/// error: the results are stored anyway.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let text = shown(text);
    let text = wrapped(&text, std::io::stdout());
    let _ = LINES.suspend(|| writeln!(std::io::stdout(), "{text}"));
}

/// Prints a text in a form of its own, such as JSON, code or a diff, on standard output.
pub(crate) fn verbatim(text: &str) {
    let text = shown(format_args!("{text}"));
    let _ = LINES.suspend(|| writeln!(std::io::stdout(), "{text}"));
}

fn wrapped(text: &str, terminal: impl AsFd) -> Cow<'_, str> {
    match wrap::width(terminal) {
        Some(width) => wrap::wrapped(text, width),
        None => Cow::Borrowed(text),
    }
}

/// Buffered lines of results on standard output, in a form of their own.
pub(crate) struct Lines(BufWriter<Stdout>);

impl Lines {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(std::io::stdout()))
    }

    pub(crate) fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{}", shown(text));
    }

    pub(crate) fn flush(&mut self) {
        let _ = self.0.flush();
    }
}

/// Prints one line of progress or diagnostics on standard error.
pub(crate) fn note(text: fmt::Arguments<'_>) {
    let text = shown(text);
    let text = wrapped(&text, std::io::stderr());
    let _ = LINES.suspend(|| writeln!(std::io::stderr(), "{text}"));
}

/// Whether a text can be shown piece by piece: on a terminal, unless a key holds what pieces end with.
pub(crate) fn shows_pieces() -> bool {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    let is_whole = |secret: &String| !secret.trim().contains(ends_words);
    std::io::stderr().is_terminal() && hidden.secrets.iter().all(is_whole)
}

/// Whether no key goes on beyond this letter: keys hold neither white space nor letters beyond ASCII.
pub(crate) fn ends_words(letter: char) -> bool {
    letter.is_whitespace() || !letter.is_ascii()
}

/// Prints a piece of a text on standard error.
pub(crate) fn part(text: &str) {
    let mut to = std::io::stderr();
    let _ = write!(to, "{}", shown(format_args!("{text}"))).and_then(|()| to.flush());
}

/// Asks for a line, where a person sits at the terminal.
pub(crate) fn prompt() {
    if std::io::stdin().is_terminal() {
        let mut to = std::io::stderr();
        let _ = write!(to, "> ").and_then(|()| to.flush());
    }
}

/// Prints one JSON document on standard output.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).kind(Kind::Bug)?;
    verbatim(&text);
    Ok(())
}

/// Prints one JSON document on one line of standard output.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).kind(Kind::Bug)?;
    verbatim(&text);
    Ok(())
}

/// Reads one line from standard input; `None` at its end.
pub(crate) fn answer() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::{escaped, hide, shown};

    #[test]
    fn a_terminal_obeys_no_text() {
        // Clears the screen, sets the title, goes back to overwrite the line, and the same in eight-bit controls.
        let hostile = "a\u{1b}[2Jb\u{1b}]0;title\u{7}c\rd\u{9b}31me\u{8}";
        let safe = r"a\u001b[2Jb\u001b]0;title\u0007c\u000dd\u009b31me\u0008";
        assert_eq!(escaped(hostile), safe);
        assert_eq!(escaped("pay \u{202e}001 to"), r"pay \u202e001 to");
        let told = serde_json::json!({ "title": hostile, "cost": "\u{61c}1\u{85}" });
        let read: serde_json::Value =
            serde_json::from_str(&escaped(&told.to_string())).expect("JSON stays JSON");
        assert_eq!(read, told, "and says the same");
        let plain = "Zeile 1\n\tZeile 2 – ✓ 東京 👩‍🔬";
        assert_eq!(escaped(plain), plain);
    }

    #[test]
    fn no_text_shows_a_key_that_was_read() {
        hide("the-key-of-a-provider");
        assert_eq!(shown(format_args!("the model says the-key-of-a-provider")), "the model says [redacted]");
        assert_eq!(shown(format_args!("in Base64: dGhlLWtleS1vZi1hLXByb3ZpZGVy")), "in Base64: [redacted]");
    }
}
