//! What is lent to a run: bounded text and tools. Empty guidance is the same code with nothing in it.

use std::sync::Arc;

use crate::{BoundedText, EventKind, Observation, StepRef, Tool};

/// Text that may be appended to the next user turn when the state changes. Nothing sent is ever edited.
pub trait Refresh: Send + Sync {
    /// The text to append after this observation, with the events to record, if any.
    fn refresh(&self, at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)>;
}

/// Help for one trial. `opening` and the tool list stay as they are for the whole trial.
#[derive(Clone, Default)]
pub struct Guidance {
    /// Put below the system's and the user's words, marked as advice.
    pub opening: BoundedText,
    /// Tools lent to the model.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Later text, if the arm wants it.
    pub refresh: Option<Arc<dyn Refresh>>,
}
