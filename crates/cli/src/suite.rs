//! Finds and loads the suites that commands are given.

use std::path::{Path, PathBuf};

use apprentice_tasks::suite::{self, Suite};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::process_env;

/// Loads a suite, or returns an error that locates the problem.
pub(crate) fn load(path: &Path) -> Result<Suite, Failure> {
    suite::load(&found(path)?).kind(Kind::Config)
}

/// Returns the path of a file or folder. What belongs to the built-in suites (`tasks/…`) is also found beside the
/// program and above it, so that it need not be started in its checkout.
pub(crate) fn found(path: &Path) -> Result<PathBuf, Failure> {
    if path.exists() {
        return Ok(path.to_owned());
    }
    let missing = || Failure::say(Kind::Config, format!("cannot read {}: it does not exist", path.display()));
    if path.is_absolute() || !path.starts_with("tasks") {
        return Err(missing().hint("`apprentice init DIR` writes a small suite that works"));
    }
    let places = process_env::program_places();
    places.iter().map(|place| place.join(path)).find(|path| path.exists()).ok_or_else(|| {
        missing().hint(
            "the built-in suites come with the source: start the program in its checkout, or put the folder `tasks` \
             beside the program",
        )
    })
}
