//! Finds and loads the suites that commands are given.

pub(crate) mod builtin;
pub(crate) mod packages;
pub(crate) mod pick;
pub(crate) mod preflight;
pub(crate) mod task_words;

use std::path::{Path, PathBuf};

use apprentice_tasks::suite::{self, Suite};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::{process_env, settings::project_file, terminal};

/// Loads a suite, or returns an error that locates the problem.
pub(crate) fn load(path: &Path) -> Result<Suite, Failure> {
    let path = found(path)?;
    // Settings name commands to run, so that a suite does not bring its own: they hold where the user stands.
    if let Ok(current) = process_env::current_folder()
        && let Some(file) = project_file::beside(&path, &current)
    {
        let (file, folder) = (file.display(), file.parent().unwrap_or(&file).display());
        terminal::note(format_args!(
            "{file} is not read: its settings hold for commands that start below {folder}"
        ));
    }
    suite::load(&path).kind(Kind::Config).map_err(|failure| match clone_above(&path) {
        Some(clone) => failure.hint(format!(
            "this is a clone of OpenComputer: `apprentice tasks add opencomputer --from {} --to DIR` makes a suite of it",
            clone.display()
        )),
        None => failure,
    })
}

/// The clone of OpenComputer that a path is, or lies in.
fn clone_above(path: &Path) -> Option<&Path> {
    let is_clone = |folder: &&Path| folder.join("evaluation/apps").is_dir() && folder.join("tasks").is_dir();
    path.ancestors().find(is_clone)
}

/// Returns the path of a file or folder. What belongs to the built-in suites (`tasks/…`) is also found beside the
/// program and above it, and at last among the suites that the program carries: it need not be started in its checkout.
pub(crate) fn found(path: &Path) -> Result<PathBuf, Failure> {
    if path.exists() {
        return Ok(path.to_owned());
    }
    let missing = || Failure::say(Kind::Config, format!("cannot read {}: it does not exist", path.display()));
    if path.is_absolute() || !path.starts_with("tasks") {
        return Err(missing().hint("`apprentice init DIR` writes a small suite that works"));
    }
    let places = process_env::program_places();
    if let Some(beside) = places.iter().map(|place| place.join(path)).find(|path| path.exists()) {
        return Ok(beside);
    }
    let state = process_env::lasting_state().kind(Kind::Environment)?;
    let carried = builtin::unpacked(&state).map_err(|error| {
        let problem = format!("cannot unpack the built-in suites below {}: {error}", state.display());
        Failure::say(Kind::Environment, problem).hint("name the folder of a suite on this machine")
    })?;
    let path = carried.join(path);
    path.exists().then_some(path).ok_or_else(|| {
        missing().hint("the built-in suites are tasks/starter, tasks/office and tasks/everyday")
    })
}
