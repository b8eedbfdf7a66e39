//! Loads the suites that commands are given.

use std::path::Path;

use apprentice_tasks::suite::{self, Suite};

use crate::failure::{Failure, Kind, WithKind as _};

/// Loads a suite, or returns an error that locates the problem.
pub(crate) fn load(path: &Path) -> Result<Suite, Failure> {
    suite::load(path).kind(Kind::Config)
}
