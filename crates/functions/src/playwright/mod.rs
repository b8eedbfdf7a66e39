//! Translates Playwright functions in Python, as SkillWeaver publishes them, into this language: steps over locators of the
//! accessibility tree. What the language lacks is named with its line, and nothing is guessed.

mod docs;
mod function;
mod selector;
mod syntax;
mod text;
mod values;

use self::syntax::{Broken, Parsed, ReadFile};

/// A program in Python, 3.9 or newer, that reads a Python file from standard input and prints its functions as JSON, for
/// [`translate`]. It parses the file, bounded in memory and time, and runs nothing of it.
pub const SYNTAX_PROGRAM: &str = include_str!("syntax.py");

/// A Python function that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaywrightFunction {
    /// Its name.
    pub name: String,
    /// What its comment says that it does.
    pub about: String,
    /// Its source in this language, or the reasons why it has none.
    pub translated: Result<String, Vec<Untranslated>>,
}

/// A part of a Python function that this language cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslated {
    /// The line of the Python file, from 1.
    pub line: usize,
    /// What it is, or the rule that the translation would break.
    pub reason: String,
}

/// The functions of a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PlaywrightError {
    /// Python does not take the file.
    #[error("line {line}: not Python: {reason}")]
    NotPython {
        /// The line, from 1; 0 if Python names none.
        line: usize,
        /// What its parser says.
        reason: String,
    },
    /// The parser's output is not what [`SYNTAX_PROGRAM`] prints.
    #[error("the output of Python's parser cannot be read")]
    Unreadable(#[from] serde_json::Error),
}

/// Translates the functions of a Python file, given as [`SYNTAX_PROGRAM`] prints them. One that is not Python comes last, as
/// untranslated, where the others are Python without it. `base` is the address of the site that
/// relative addresses begin with.
///
/// # Errors
///
/// Fails if `syntax` is not what the program prints, or if the file is not Python as a whole.
pub fn translate(syntax: &[u8], base: Option<&str>) -> Result<Vec<PlaywrightFunction>, PlaywrightError> {
    match serde_json::from_slice(syntax)? {
        Parsed::Read(ReadFile { functions, broken }) => {
            let translated = functions.iter().map(|one| function::translated(one, base));
            Ok(translated.chain(broken.into_iter().map(not_python)).collect())
        }
        Parsed::Refused(refused) => {
            Err(PlaywrightError::NotPython { line: refused.line, reason: refused.reason })
        }
    }
}

fn not_python(broken: Broken) -> PlaywrightFunction {
    let reason = format!("not Python: {}", broken.reason);
    let translated = Err(vec![Untranslated { line: broken.line, reason }]);
    PlaywrightFunction { name: broken.name, about: String::new(), translated }
}
