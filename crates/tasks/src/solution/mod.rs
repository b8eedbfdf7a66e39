//! Baselines as models: a task's known-good actions, its near miss, doing nothing, and giving up. They run
//! through the same agent loop as any other model.

mod model;
mod script;

pub use model::{FixedModel, SolutionModel};
pub use script::{SOLUTION_LIMIT, Script, ScriptError};
