//! A run or an experiment as one file, and its examination on another machine: every file as it was packed,
//! every grade repeated from its evidence, every number of the report computed again.

mod archive;
mod examine;

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::ExperimentError;
use crate::grade::{GradeError, GradeReport};
use apprentice_results::rows::RowsError;

pub use archive::pack;
pub use examine::{examine, verify};

/// The name of the list's format.
pub const BUNDLE_SCHEMA: &str = "apprentice.bundle/1";
/// The name of the examination's format.
pub const VERIFY_SCHEMA: &str = "apprentice.verify/1";

/// What a bundle may come to before it is refused. Whoever sends one is not trusted: a few kilobytes can
/// unpack to more than any disk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// All of its files together, in bytes.
    pub bytes: u64,
    /// Its files.
    pub files: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { bytes: 8 << 30, files: 500_000 }
    }
}

/// What a bundle holds; its first file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct List {
    /// [`BUNDLE_SCHEMA`].
    pub schema: String,
    /// The version of the program that packed it.
    pub program: String,
    /// SHA-256 of every file, by its path within the bundle.
    pub files: BTreeMap<String, String>,
}

/// What examining a bundle, or a folder, came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// [`VERIFY_SCHEMA`].
    pub schema: String,
    /// The version of the program that packed it; none for a folder.
    pub packed_by: Option<String>,
    /// Files whose bytes are as they were packed; none of a folder, which has no list.
    pub files: usize,
    /// Files that are missing, were changed, or are not on the list.
    pub changed: Vec<String>,
    /// Every run of it, by its path, graded again.
    pub runs: BTreeMap<String, GradeReport>,
    /// Where the stored report and the one computed again differ; none without a report.
    pub report_differs: Option<Vec<Difference>>,
    /// Whether all of it holds.
    pub holds: bool,
}

/// A number or a word of the report that does not follow from the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Where, as a JSON pointer.
    pub at: String,
    /// What the report says, shortened.
    pub stored: String,
    /// What the rows say, shortened.
    pub computed: String,
    /// Whether only the words of a sentence differ and none of its numbers, as between versions of the program.
    pub wording: bool,
}

/// Why nothing could be packed or examined.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It holds nothing that could be packed.
    #[error("{} is neither a run nor an experiment: it holds no run.json and no experiment.json", .0.display())]
    Nothing(PathBuf),
    /// A file has no name that every machine can take.
    #[error("{path:?} cannot be put into a bundle: {why}")]
    Name {
        /// Which.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It is no bundle.
    #[error("{} is no bundle of this program: {why}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It would fill the disk.
    #[error(
        "{} unpacks to more than {} bytes or {} files; raise the limit if you trust where it comes from",
        path.display(), caps.bytes, caps.files
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What would have been taken.
        caps: Caps,
    },
    /// A row names a place outside its run.
    #[error("{}: the trace {trace:?} of a row leads out of the run", run.display())]
    Astray {
        /// The run's folder.
        run: PathBuf,
        /// What the row names.
        trace: String,
    },
    /// Rows do not read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// A run cannot be graded.
    #[error(transparent)]
    Grade(#[from] GradeError),
    /// The report cannot be computed again.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BundleError + '_ {
    move |source| BundleError::Io { path: path.to_owned(), source }
}

/// Whether a path stays below where it starts.
fn stays_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_))) && path.components().next().is_some()
}
