//! Scripted baseline models: a task's known-good actions, its near miss, a no-op and an unconditional give-up. They
//! run through the same agent loop as any other model.

mod keep;
mod model;
mod script;

pub use keep::{KeptSteps, kept_steps, with_placeholders};
pub use model::{FixedModel, SolutionModel};
pub use script::{SOLUTION_LIMIT, Script, ScriptError, VERBS};
