//! Why a log cannot be read.

use std::io;
use std::path::{Path, PathBuf};

/// The reason a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file cannot be opened or read.
    #[error("cannot read {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// It is a log of a known program in a version or a shape that is not known.
    #[error("{path} is a log of {program}, {found}; this version reads {known}")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The program.
        program: &'static str,
        /// What it says of itself.
        found: String,
        /// What is read.
        known: &'static str,
    },
    /// It is a log of a known program, and damaged.
    #[error("{path} is a log of {program} that is damaged{}: {why}", in_line(*line))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The program.
        program: &'static str,
        /// The line, counted from 1.
        line: Option<usize>,
        /// What is wrong.
        why: String,
    },
    /// It is larger than what is read.
    #[error("{path} has {what}, more than the {most} that are read")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What there is too much of.
        what: String,
        /// The limit.
        most: String,
    },
    /// It is no log of a known program.
    #[error(
        "{path} {seems}, not a trace of a program that is read; give a session, history or log of one of: {}",
        KNOWN
    )]
    Other {
        /// The path.
        path: PathBuf,
        /// What it seems to be.
        seems: String,
    },
}

/// The programs and forms that are read, as a list for people.
pub const KNOWN: &str = "Claude Code, Codex CLI, Gemini CLI, opencode (export), pi, mini-swe-agent, browser-use, verifiers, \
     OpenHands SDK, cua-agent, Inspect, ATIF, OSWorld, OpenAI or ShareGPT conversations";

fn in_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(" in line {line}"))
}

impl ReadError {
    /// A file that cannot be opened or read.
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}
