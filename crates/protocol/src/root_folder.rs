//! A folder directly below `/` that a task may write to, in a world where nothing else there can be written.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Folders of the system. Who can write to one of them decides what the loader, the search path and Python take for theirs,
/// and with that what a check reads; the homes and the temporary folders can be written to anyway.
const SYSTEM: [&str; 22] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "nix", "opt",
    "proc", "run", "sbin", "selinux", "snap", "sys", "tmp", "usr", "var",
];

/// Why a text is no [`RootFolder`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} {why}; give the name of a folder below the root that the system has no use for, such as \"/app\""
)]
pub struct RootFolderError {
    text: String,
    why: &'static str,
}

/// A folder directly below `/`, such as `/app`, that is none of the system's. Images of containers have such folders.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct RootFolder(String);

impl RootFolder {
    /// Returns the folder's name, without the slash.
    pub fn name(&self) -> &str {
        self.0.trim_start_matches('/')
    }

    /// Returns the folder in which a path lies, if it is none of the system's.
    pub fn above(path: &str) -> Option<Self> {
        let name = path.strip_prefix('/')?.split('/').next()?;
        format!("/{name}").parse().ok()
    }
}

impl FromStr for RootFolder {
    type Err = RootFolderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why| RootFolderError { text: text.to_owned(), why };
        let name = text.strip_prefix('/').ok_or_else(|| wrong("is no absolute path"))?;
        if name.is_empty() || name.len() > 64 || name.starts_with('.') {
            return Err(wrong("names no such folder"));
        }
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            return Err(wrong("is no folder directly below the root"));
        }
        if SYSTEM.contains(&name) {
            return Err(wrong("is a folder of the system, which nothing in a cell may write to"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for RootFolder {
    type Error = RootFolderError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RootFolder> for String {
    fn from(folder: RootFolder) -> Self {
        folder.0
    }
}

#[cfg(test)]
mod tests {
    use super::RootFolder;

    #[test]
    fn no_folder_of_the_system_is_one() {
        for name in ["/app", "/logs", "/tests", "/root", "/srv", "/a.b-c_1"] {
            assert_eq!(name.parse::<RootFolder>().expect(name).name(), &name[1..]);
        }
        for name in [
            "", "/", "app", "/etc", "/run", "/usr", "/lib64", "/app/x", "/../etc", "/.x", "/a b", "/proc",
            "/var", "/ä",
        ] {
            assert!(name.parse::<RootFolder>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_path_lies_in_one() {
        let above = |path| RootFolder::above(path).map(String::from);
        assert_eq!(above("/app/src/a.txt"), Some("/app".to_owned()));
        assert_eq!(above("/data"), Some("/data".to_owned()));
        assert_eq!((above("/usr/local/bin/x"), above("a/b"), above("/")), (None, None, None));
    }
}
