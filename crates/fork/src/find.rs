//! Finds a recorded trial by its id or the beginning of it.

use std::path::{Path, PathBuf};

use super::error::ForkError;
use apprentice_evaluator::run::{TrialSpec, read_run};
use apprentice_runs::layout::{FORK_FILE, PLAN_FILE};
use apprentice_runs::{Wanted, check};

/// Folders this deep below the root are searched: a run in a replicate of an experiment in the folder of all runs.
const DEPTH: u32 = 4;

/// A recorded trial.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTrial {
    /// The folder of its run.
    pub run: PathBuf,
    /// Its entry in the run's plan.
    pub trial: TrialSpec,
}

/// Finds the one trial below `root` whose id begins with `prefix`. `root` is a run, or a folder with runs. Attempts of
/// earlier forks are not searched.
pub fn find_trial(root: &Path, prefix: &str) -> Result<FoundTrial, ForkError> {
    check(root, Wanted::Runs)?;
    let mut runs = Vec::new();
    collect_runs(root, DEPTH, &mut runs);
    runs.sort_unstable();
    let mut found = Vec::new();
    for run in runs {
        let (plan, _) = match read_run(&run) {
            Ok(read) => read,
            // A run that cannot be read is an error when it was named, not when it is one of many.
            Err(error) if run == root => return Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, run = %run.display(), "cannot read a run");
                continue;
            }
        };
        let fits = plan.trials.into_iter().filter(|trial| trial.trial.as_str().starts_with(prefix));
        found.extend(fits.map(|trial| FoundTrial { run: run.clone(), trial }));
    }
    let told = |one: &FoundTrial| {
        format!("{} ({} {} in {})", one.trial.trial, one.trial.task, one.trial.arm, one.run.display())
    };
    match found.len() {
        0 => Err(ForkError::NoTrial { root: root.to_owned(), prefix: prefix.to_owned() }),
        1 => Ok(found.remove(0)),
        _ => Err(ForkError::Ambiguous { prefix: prefix.to_owned(), found: found.iter().map(told).collect() }),
    }
}

fn collect_runs(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    if folder.join(FORK_FILE).is_file() {
        return;
    }
    if folder.join(PLAN_FILE).is_file() {
        found.push(folder.to_owned());
        return;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for below in entries.filter(|path| depth > 0 && path.is_dir()) {
        collect_runs(&below, depth - 1, found);
    }
}
