//! Packs a run or an experiment into one file and verifies it on another machine: file hashes, regrading from evidence,
//! and recomputation of every number of the report.

mod archive;
mod verify;

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::ExperimentError;
use crate::grade::{GradeError, GradeReport};
use apprentice_results::rows::RowsError;

pub use archive::{pack, unpack};
pub use verify::{verify, verify_folder};

/// Schema name of the bundle manifest.
pub const BUNDLE_SCHEMA: &str = "apprentice.bundle/1";
/// Schema name of the verification result.
pub const VERIFY_SCHEMA: &str = "apprentice.verify/1";

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
}

/// The result of verifying a bundle or a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// [`VERIFY_SCHEMA`].
    pub schema: String,
    /// The version of the program that packed the bundle; `None` for a folder.
    pub packed_by: Option<String>,
    /// Number of files whose hash matches the manifest; 0 for a folder, which has no manifest.
    pub files: usize,
    /// Files that are missing, changed, or absent from the manifest.
    pub changed: Vec<String>,
    /// The regraded runs, keyed by path.
    pub runs: BTreeMap<String, GradeReport>,
    /// Differences between the stored and the recomputed report; `None` without a report.
    pub report_differs: Option<Vec<Difference>>,
    /// Whether every check passed.
    pub holds: bool,
}

/// A value of the report that does not follow from the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The value's location, as a JSON pointer.
    pub at: String,
    /// The value in the stored report, shortened.
    pub stored: String,
    /// The recomputed value, shortened.
    pub computed: String,
    /// Whether only the wording of a sentence differs and its numbers agree, as between program versions.
    pub wording: bool,
}

/// The reason a bundle could not be packed or verified.
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
    #[error("{} is neither a run nor an experiment: it contains no run.json and no experiment.json", .0.display())]
    Nothing(PathBuf),
    /// A file name is not portable.
    #[error("{path:?} cannot be put into a bundle: {why}")]
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
    /// A row refers to a path outside its run.
    #[error("{}: a row's trace {trace:?} is outside the run", run.display())]
    OutsideRun {
        /// The run's folder.
        run: PathBuf,
        /// The row's trace path.
        trace: String,
    },
    /// Rows cannot be read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// A run cannot be regraded.
    #[error(transparent)]
    Grade(#[from] GradeError),
    /// The report cannot be recomputed.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BundleError + '_ {
    move |source| BundleError::Io { path: path.to_owned(), source }
}

/// Whether a relative path stays below its base folder.
fn stays_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_))) && path.components().next().is_some()
}
