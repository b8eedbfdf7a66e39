//! How a suite that others wrote is read: its faults, its pauses, and where its files come from.

use crate::check::Compat;
use crate::setup::{Mirror, Pace};

/// Choices that hold for a whole run.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// How the known faults of its checks are read.
    pub compat: Compat,
    /// Where files that tasks fetch come from; none are fetched without.
    pub mirror: Option<Mirror>,
    /// The password of the machines' user, for steps that name it; empty where there is none to give.
    pub password: String,
}

impl Reading {
    /// How `sleep` steps are taken: in full where faults are kept, too.
    pub fn pace(&self) -> Pace {
        match self.compat {
            Compat::Fixed => Pace::Ready,
            Compat::Exact => Pace::Exact,
        }
    }
}
