//! Whether the reader of a trial is shown the screen in short views. A trial's first view tells; its tools share it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use apprentice_skillbook::{ShortSteps, Skill, fitting_of};

/// The reader of one trial.
#[derive(Clone, Default)]
pub(crate) struct ShortReader(Arc<AtomicBool>);

impl ShortReader {
    /// Notes that the reader is shown short views.
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns the short steps of a skill for such a reader: of several functions the one that the instruction is nearest to.
    /// `None` for other readers, and for a skill without short steps.
    pub(crate) fn steps(&self, skill: &Skill, instruction: &str) -> Option<ShortSteps> {
        let is_short = self.0.load(Ordering::Relaxed);
        is_short.then(|| fitting_of(skill, instruction)).flatten()
    }
}
