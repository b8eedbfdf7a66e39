//! Agent Skills packages: folders with a `SKILL.md`. Exports a book as packages and imports packages into a book. The
//! original files of an imported package are kept byte for byte beside its skill.
//!
//! This module touches no disk outside the book: callers pass and receive files as bytes.

pub mod agents_md;
mod check;
pub mod evals;
mod export;
mod frontmatter;
mod function_files;
mod import;
mod parse;
pub mod plugin;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub use check::check;
pub use export::{export, to_edit};
pub use frontmatter::{Field, Frontmatter};
pub use import::{ImportOptions, Imported, import, import_configs, read_and_import, read_and_import_configs};
pub use parse::parse_package;

/// The file that makes a folder a package.
pub const SKILL_FILE: &str = "SKILL.md";
/// Largest length of a package's name, in characters. The format sets it.
const NAME_CAP: usize = 64;
/// Largest length of a package's description, in characters. The format sets it.
const DESCRIPTION_CAP: usize = 1024;
/// File in an exported package that contains the data for which the format has no place.
pub(crate) const PROVENANCE_FILE: &str = "assets/provenance.json";
/// Schema name of that file.
pub(crate) const PROVENANCE_SCHEMA: &str = "apprentice.skill-package/1";

/// A package: the name of its folder, and its files by path with `/` as separator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// Name of the folder.
    pub name: String,
    /// Content of the files, by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Package {
    /// Returns path and content of the skill file. Also accepts a lower-case file name.
    pub(crate) fn skill_file(&self) -> Option<(&str, &[u8])> {
        let exact = self.files.get_key_value(SKILL_FILE);
        let found = exact.or_else(|| self.files.get_key_value("skill.md"));
        found.map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The format forbids it.
    Error,
    /// The format allows it, but it is unwise.
    Warning,
}

/// A finding about a package, for its author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PackageFinding {
    /// Severity.
    pub level: Level,
    /// A code for programs.
    pub code: &'static str,
    /// Description, with the remedy.
    pub what: String,
    /// Path of the file.
    pub path: String,
    /// Line number from 1, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl PackageFinding {
    pub(crate) fn error(code: &'static str, what: impl Into<String>) -> Self {
        Self { level: Level::Error, code, what: what.into(), path: SKILL_FILE.to_owned(), line: None }
    }

    pub(crate) fn warning(code: &'static str, what: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(code, what) }
    }

    pub(crate) fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}
