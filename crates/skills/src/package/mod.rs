//! Agent Skills packages: folders with a `SKILL.md`. A book is written out as such packages and takes them in; a
//! package of others is kept byte for byte beside the skill that is made of it.
//!
//! Nothing here touches a disk outside the book: callers bring and take files as bytes.

mod check;
mod export;
mod frontmatter;
mod import;

use std::collections::BTreeMap;

use serde::Serialize;

pub use check::check;
pub use export::export;
pub(crate) use export::to_edit;
pub use frontmatter::{Field, Frontmatter};
pub(crate) use import::described;
pub use import::{ImportOptions, Imported, import, import_configs};

/// The file that makes a folder a package.
pub const SKILL_FILE: &str = "SKILL.md";
/// Where a package of ours keeps what the format has no place for.
pub(crate) const PROVENANCE_FILE: &str = "assets/provenance.json";
/// The schema of that file.
pub(crate) const PROVENANCE_SCHEMA: &str = "apprentice.skill-package/1";

/// A package: the name of its folder, and its files by path with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// The folder's name.
    pub name: String,
    /// The files.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Package {
    /// The path and the text of its skill file; a name in lower case is taken, too.
    pub(crate) fn skill_file(&self) -> Option<(&str, &[u8])> {
        let exact = self.files.get_key_value(SKILL_FILE);
        let found = exact.or_else(|| self.files.get_key_value("skill.md"));
        found.map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The format forbids it.
    Error,
    /// It is allowed and unwise.
    Warning,
}

/// Something about a package that its author should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackageFinding {
    /// Its weight.
    pub level: Level,
    /// A word for programs.
    pub code: &'static str,
    /// In words, with the remedy.
    pub what: String,
    /// The file.
    pub path: String,
    /// The line, from 1, where one is known.
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
