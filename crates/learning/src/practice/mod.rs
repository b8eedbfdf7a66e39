//! Practice: a model proposes a task that is worth practising in a world, with a check of the state it leads to. The program
//! judges the proposal: an answer that breaks a rule goes back to the model, a few times, and then nothing is practised.

mod ask;
mod rules;
mod task;

pub(crate) use ask::PROMPT;
pub use ask::{PracticeError, PracticeProposal, TRIES, practice_request, propose};
pub use rules::{PracticeRules, faults};
pub use task::{
    CheckDoubt, CheckOutput, CheckToMend, KnownSkill, PRACTICE_SCHEMA, PRACTICE_TASK_SCHEMA, PracticeLeftOut,
    PracticeMaterial, PracticeStart, PracticeTask, PracticeValue, PractisedTask, StateCheck, StateCheckKind,
};
