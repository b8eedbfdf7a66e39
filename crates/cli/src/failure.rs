//! How a command ends when it does not succeed: a kind that picks the exit code, a cause, and hints.

use std::fmt;
use std::process::ExitCode;

/// What went wrong, from the user's side. The numbers are documented in ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Our bug.
    Bug = 1,
    /// Wrong arguments.
    Usage = 2,
    /// A wrong file: configuration, task, book, run.
    Config = 3,
    /// Nothing matched what was asked for.
    NothingMatched = 4,
    /// The command ran, and tasks failed.
    TasksFailed = 10,
    /// The command ran, and trials stayed void.
    TrialsVoid = 11,
    /// A model could not be used.
    Model = 20,
    /// A world could not be used.
    Environment = 21,
    /// Interrupted by the user.
    Interrupted = 130,
}

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Picks the exit code.
    pub(crate) kind: Kind,
    /// The story, innermost cause last.
    pub(crate) source: anyhow::Error,
    /// What the user may do about it.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// A failure of this kind with its story.
    pub(crate) fn new(kind: Kind, source: impl Into<anyhow::Error>) -> Self {
        Self { kind, source: source.into(), hints: Vec::new() }
    }

    /// A failure told in one sentence.
    pub(crate) fn say(kind: Kind, message: impl fmt::Display) -> Self {
        Self::new(kind, anyhow::anyhow!("{message}"))
    }

    /// Adds what the user may do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The process's exit code.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.source)?;
        for cause in self.source.chain().skip(1) {
            write!(f, "\n  because {cause}")?;
        }
        for hint in &self.hints {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// Gives a foreign error its kind.
pub(crate) trait Kinded<T> {
    /// The value, or a failure of this kind.
    fn kind(self, kind: Kind) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> Kinded<T> for Result<T, E> {
    fn kind(self, kind: Kind) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(kind, error))
    }
}
