//! What a command reads, and the one error of a path that holds something else.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::layout::MEASURE_FOLDER;
use crate::place::{Place, latest_run};

/// What a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A run.
    Run,
    /// A run, or rows from any program.
    RunOrRows,
    /// A run or an experiment.
    RunOrExperiment,
    /// A run, an experiment, or rows from any program.
    Reported,
    /// A run, an experiment or a bundle.
    Verified,
    /// A run, an experiment, a bundle, or a folder of runs.
    Viewed,
    /// A run, an experiment, or a folder of runs.
    Runs,
    /// A run, or an attempt of `apprentice do`.
    Attempts,
}

impl Wanted {
    fn takes(self, place: &Place) -> bool {
        let run = matches!(place, Place::Run);
        let experiment = matches!(place, Place::Experiment);
        let holds_runs = matches!(place, Place::Runs(..) | Place::Fork | Place::Exploration);
        let rows = matches!(place, Place::RowsFile | Place::RowsFolder);
        match self {
            Self::Run => run,
            Self::RunOrRows => run || rows,
            Self::RunOrExperiment => run || experiment,
            Self::Reported => run || experiment || rows,
            Self::Verified => run || experiment || matches!(place, Place::Bundle),
            Self::Runs => run || experiment || holds_runs,
            Self::Viewed => run || experiment || holds_runs || matches!(place, Place::Bundle),
            Self::Attempts => run || matches!(place, Place::Attempt(None)),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "a run",
            Self::RunOrRows => "a run or a file of rows",
            Self::RunOrExperiment => "a run or an experiment",
            Self::Reported => "a run, an experiment or a file of rows",
            Self::Verified => "a run, an experiment or a bundle",
            Self::Viewed => "a run, an experiment, a bundle or a folder of runs",
            Self::Runs => "a run, an experiment or a folder of runs",
            Self::Attempts => "a run or an attempt of `apprentice do`",
        })
    }
}

/// A path holds something else than a command reads: what it is, what is wanted, and what to give.
#[derive(Debug, thiserror::Error)]
#[error("{} {found}{}", path.display(), remedy(path, found, *wanted))]
pub struct WrongPlace {
    /// The path.
    pub path: PathBuf,
    /// What it holds.
    pub found: Place,
    /// What the command reads.
    pub wanted: Wanted,
}

/// Checks that a path is what a command reads. A bundle is none: only [`crate::open()`] unpacks it.
///
/// # Errors
/// The path holds something else.
pub fn check(path: &Path, wanted: Wanted) -> Result<Place, WrongPlace> {
    let found = Place::of(path);
    if wanted.takes(&found) { Ok(found) } else { Err(WrongPlace { path: path.to_owned(), found, wanted }) }
}

/// The end of the error: what the path is not, and what to give instead.
fn remedy(path: &Path, found: &Place, wanted: Wanted) -> String {
    let give = match found {
        Place::Missing | Place::Unreadable(_) => return format!("; give {wanted}"),
        Place::Experiment => match latest_run(&path.join(MEASURE_FOLDER)) {
            Some(run) => format!("give one of its runs, such as {}", run.display()),
            None => "it has no measuring run yet".to_owned(),
        },
        Place::Runs(1, run) => format!("give {}", run.display()),
        Place::Runs(_, run) => format!("give one of them, such as {}", run.display()),
        Place::Attempt(Some(run)) => format!("give its run, {}", run.display()),
        Place::Bundle => format!("unpack it into a folder first: tar -xzf {}", path.display()),
        Place::BundleOf(inside) => match **inside {
            Place::Experiment => format!("unpack it, and give one of its runs: tar -xzf {}", path.display()),
            _ => format!("give {wanted}"),
        },
        Place::Suite => format!("`apprentice run {}` makes a run of it", path.display()),
        Place::RowsFolder | Place::RowsFile => {
            "`apprentice report` and `apprentice compare` read rows".to_owned()
        }
        Place::Fork => "give one of the runs in it".to_owned(),
        Place::Run => format!("give {wanted}"),
        Place::Special
        | Place::Attempt(None)
        | Place::Exploration
        | Place::Skillbook
        | Place::Empty
        | Place::Folder
        | Place::File => "give the folder that `apprentice run` or `apprentice bench` printed".to_owned(),
    };
    format!(", not {wanted}; {give}")
}
