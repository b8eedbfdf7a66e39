//! A bundle: the folder of a run or an experiment as one file, with a list of its files and their hashes.

mod archive;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wanted::WrongPlace;

pub use archive::{files, hash_of, manifest, pack, pack_with, unpack};

/// Schema name of the bundle manifest.
pub const BUNDLE_SCHEMA: &str = "apprentice.bundle/1";

/// Upper limits for unpacking a bundle. Bundles are untrusted: a few kilobytes can unpack to more than any disk can
/// hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpackLimits {
    /// Maximum total size of its files, in bytes.
    pub bytes: u64,
    /// Maximum number of files.
    pub files: usize,
}

impl Default for UnpackLimits {
    fn default() -> Self {
        Self { bytes: 8 << 30, files: 500_000 }
    }
}

/// The manifest of a bundle, stored as its first file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// [`BUNDLE_SCHEMA`].
    pub schema: String,
    /// The version of the program that packed the bundle.
    pub program: String,
    /// SHA-256 of every file, keyed by its path within the bundle.
    pub files: BTreeMap<String, String>,
    /// Paths of pictures of screens that were left out. Traces name them; no grade and no number needs one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub pictures_left_out: BTreeSet<String>,
}

/// Whether a bundle holds the pictures of screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    /// It holds them.
    #[default]
    Kept,
    /// It names them, and is some ten times smaller.
    LeftOut,
}

/// The reason a bundle could not be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The folder is neither a run nor an experiment.
    #[error(transparent)]
    Other(#[from] WrongPlace),
    /// A file name is not portable.
    #[error("{path:?} cannot be in a bundle: {why}")]
    Name {
        /// The file's path.
        path: String,
        /// The problem.
        why: &'static str,
    },
    /// The file is not a valid bundle.
    #[error("{} is not a valid bundle: {why}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// The bundle exceeds the caps.
    #[error(
        "{} unpacks to more than {} bytes or {} files; raise the limit if you trust its source",
        path.display(), caps.bytes, caps.files
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The caps that it exceeds.
        caps: UnpackLimits,
    },
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BundleError + '_ {
    move |source| BundleError::Io { path: path.to_owned(), source }
}

/// Returns whether a relative path stays below its base folder.
pub fn stays_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_))) && path.components().next().is_some()
}
