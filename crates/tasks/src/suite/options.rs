//! Options for running third-party suites: check compatibility, pauses and the source of files.

use crate::check::Compat;
use crate::setup::SleepMode;
use crate::world_io::Mirror;

/// Suite options that apply to a whole run.
#[derive(Clone, Debug, Default)]
pub struct SuiteOptions {
    /// Whether known bugs in upstream checks are fixed or reproduced.
    pub compat: Compat,
    /// The source of files that tasks download; downloads fail when `None`.
    pub mirror: Option<Mirror>,
    /// The password of the machine's user, for steps that need it; empty when there is none.
    pub password: String,
}

impl SuiteOptions {
    /// How `sleep` steps are performed: in full when upstream's behaviour is reproduced exactly.
    pub fn sleep_mode(&self) -> SleepMode {
        match self.compat {
            Compat::Fixed => SleepMode::Ready,
            Compat::Exact => SleepMode::Exact,
        }
    }
}
