//! The form of a script: one line of Python, with the string literals in it.

use std::fmt::Write as _;

/// The prefix of each action, the same as in OSWorld's own harness.
pub(super) const BEGIN: &str = "import pyautogui; import time; pyautogui.FAILSAFE = False; ";

/// The script for an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// No script: the action only observes, or the agent loop does the waiting.
    Nothing,
    /// A script to run, and details for the report.
    Line {
        /// The Python code.
        code: String,
        /// Characters that get temporary key bindings. The code's last line of output names those that were not typed.
        remapped: String,
        /// Characters that no key types.
        untyped: String,
    },
}

/// A script without characters that need a temporary key binding.
pub(super) fn line(lines: &str, untyped: String) -> Script {
    if lines.is_empty() && untyped.is_empty() {
        return Script::Nothing;
    }
    Script::Line {
        code: format!("{BEGIN}{}", lines.trim_end_matches("; ")),
        remapped: String::new(),
        untyped,
    }
}

/// A Python string literal in ASCII, so that the locale of the machine's server does not matter.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        let _ = match c {
            '\\' | '\'' => write!(quoted, "\\{c}"),
            ' '..='~' => write!(quoted, "{c}"),
            c => write!(quoted, "\\U{:08x}", u32::from(c)),
        };
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_literal_is_ascii_and_escapes_what_would_end_it() {
        assert_eq!(quoted("a'\\"), "'a\\'\\\\'");
        assert_eq!(quoted("ü\n"), "'\\U000000fc\\U0000000a'");
    }
}
