//! The error type of commands: a kind that decides the exit code, a chain of causes, and hints.

use apprentice_protocol::nearest;
use std::fmt;
use std::process::ExitCode;

/// The kind of a failure, as the user sees it. The value is the exit code; ARCHITECTURE.md documents the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A bug in this program.
    Bug = 1,
    /// Invalid arguments.
    Usage = 2,
    /// An invalid file: configuration, task, skillbook or run.
    Config = 3,
    /// The selection matched no item.
    NothingMatched = 4,
    /// The command ran, and at least one task failed, or something that it looked at does not hold.
    TasksFailed = 10,
    /// The command ran, and at least one trial stayed void.
    TrialsVoid = 11,
    /// A model is unavailable or misconfigured.
    Model = 20,
    /// A world is unavailable, or a file could not be written.
    Environment = 21,
    /// The user interrupted the command.
    Interrupted = 130,
}

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Decides the exit code.
    pub(crate) kind: Kind,
    /// The error with its causes, innermost last.
    pub(crate) source: anyhow::Error,
    /// Remedies, printed one per line.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// Creates a failure from an error.
    pub(crate) fn new(kind: Kind, source: impl Into<anyhow::Error>) -> Self {
        Self { kind, source: source.into(), hints: Vec::new() }
    }

    /// Creates a failure from a message.
    pub(crate) fn say(kind: Kind, message: impl fmt::Display) -> Self {
        Self::new(kind, anyhow::anyhow!("{message}"))
    }

    /// Adds a remedy.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds the valid name most similar to `name` as a remedy, if one is similar enough.
    #[must_use]
    pub(crate) fn hint_nearest<'a>(self, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(name, valid) {
            Some(nearest) => self.hint(format!("did you mean {nearest:?}?")),
            None => self,
        }
    }

    /// Adds the valid name most similar to `name` as a remedy, or `otherwise` if none is similar enough.
    #[must_use]
    pub(crate) fn hint_nearest_or<'a>(
        self,
        name: &str,
        valid: impl IntoIterator<Item = &'a str>,
        otherwise: &str,
    ) -> Self {
        let before = self.hints.len();
        let failure = self.hint_nearest(name, valid);
        if failure.hints.len() > before { failure } else { failure.hint(otherwise) }
    }

    /// Returns the exit code of the process.
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

/// Attaches a [`Kind`] to an error of another type.
pub(crate) trait WithKind<T> {
    /// Returns the value, or a failure of this kind.
    fn kind(self, kind: Kind) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> WithKind<T> for Result<T, E> {
    fn kind(self, kind: Kind) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(kind, error))
    }
}
