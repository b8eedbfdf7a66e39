//! Opens what a user names as a run, an experiment or a bundle; what is none is refused with what it is and what to give.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::bundle::{BundleError, UnpackLimits, unpack};
use crate::layout::{PLAN_FILE, ROWS_FILE};
use crate::place::Place;
use crate::rows::{self, Rows, RowsError};
use crate::wanted::{Wanted, WrongPlace, check};

/// The schema of a run's plan.
pub const RUN_SCHEMA: &str = "apprentice.run/1";

/// The reason a path cannot be opened as what a command reads.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path holds something else.
    #[error(transparent)]
    Other(#[from] WrongPlace),
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The plan is no plan.
    #[error("{} is not a run plan", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of the program wrote the plan.
    #[error("{} has the form {found:?}, and this version reads {RUN_SCHEMA:?}; use the version that wrote it", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The form that it names.
        found: String,
    },
    /// The bundle cannot be unpacked.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// What a user named, open for reading. An unpacked bundle goes with this value.
#[derive(Debug)]
pub struct Opened {
    folder: PathBuf,
    _scratch: Option<TempDir>,
}

impl Opened {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Opens a path for reading. A bundle of what is wanted is unpacked into a temporary folder.
///
/// # Errors
/// The path holds something else, or the bundle is damaged.
pub fn open(path: &Path, wanted: Wanted) -> Result<Opened, OpenError> {
    if !matches!(Place::of(path), Place::Bundle) {
        check(path, wanted)?;
        return Ok(Opened { folder: path.to_owned(), _scratch: None });
    }
    let scratch = tempfile::tempdir().map_err(|source| OpenError::Read { path: path.to_owned(), source })?;
    unpack(path, scratch.path(), UnpackLimits::default())?;
    // The error names the bundle: the unpacked folder goes with this function.
    check(scratch.path(), wanted).map_err(|inside| WrongPlace {
        path: path.to_owned(),
        found: Place::BundleOf(Box::new(inside.found)),
        wanted,
    })?;
    Ok(Opened { folder: scratch.path().to_owned(), _scratch: Some(scratch) })
}

/// Reads the plan of a run, as much of it as `T` has.
///
/// # Errors
/// The folder holds no run, or its plan cannot be read.
pub fn read_plan<T: DeserializeOwned>(folder: &Path) -> Result<T, OpenError> {
    #[derive(Deserialize)]
    struct Form {
        schema: String,
    }
    let path = folder.join(PLAN_FILE);
    if !path.is_file() {
        return Err(OpenError::Other(WrongPlace {
            path: folder.to_owned(),
            found: Place::of(folder),
            wanted: Wanted::Run,
        }));
    }
    let text =
        apprentice_files::read(&path).map_err(|source| OpenError::Read { path: path.clone(), source })?;
    // Of a text that names no form, reading it says what it lacks.
    if let Ok(Form { schema }) = serde_json::from_slice(&text)
        && schema != RUN_SCHEMA
    {
        return Err(OpenError::Form { path, found: schema });
    }
    serde_json::from_slice(&text).map_err(|source| OpenError::Plan { path, source })
}

/// Reads the rows of a run. A run that has just begun has none.
///
/// # Errors
/// The rows cannot be read, or one of them is none.
pub fn read_rows(folder: &Path) -> Result<Rows, RowsError> {
    let file = folder.join(ROWS_FILE);
    if file.exists() { rows::read(&file) } else { Ok(Rows::default()) }
}
