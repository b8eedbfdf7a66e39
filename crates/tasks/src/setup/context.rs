//! The environment of setup steps: the world, the suite's files, and how the steps are performed.

use std::path::Path;

use apprentice_protocol::{Clock, Machine, Size};

use crate::world_io::Mirror;

/// How a task's `sleep` steps are performed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SleepMode {
    /// As an upper bound: the sleep ends early when the window just launched appears.
    #[default]
    Ready,
    /// In full, as upstream does.
    Exact,
}

/// The phase in which steps are performed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetupPhase {
    /// Before the attempt: a failed step is a fault of the world.
    #[default]
    Start,
    /// Before grading: a missing window was closed by the model, which is for the checks to judge.
    Grade,
}

/// The environment that setup steps work on.
#[derive(Clone, Copy)]
pub struct SetupContext<'a> {
    /// The world's machine.
    pub machine: &'a dyn Machine,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The suite's folder, the base of relative local files.
    pub suite_root: &'a Path,
    /// The screen size, for placeholders.
    pub screen: Size,
    /// Where output needed by the checks is kept; one folder per attempt.
    pub cache_dir: &'a Path,
    /// The source of downloaded files.
    pub mirror: Option<&'a Mirror>,
    /// How `sleep` steps are performed.
    pub sleep_mode: SleepMode,
    /// The phase in which the steps run.
    pub phase: SetupPhase,
    /// The password of the world's user, for the `{CLIENT_PASSWORD}` placeholder.
    pub password: &'a str,
}
