//! The reflector: a conversation that turns a trajectory into reviews and learnings, and the checks of its answer
//! before anything is counted.

mod budget;
mod check;
mod conversation;
mod in_context;
mod material;
mod parts;
mod pictures;

pub use budget::{MaterialBudget, ReflectOptions, ReviewerLimits};
pub(crate) use check::missing_parts;
pub use check::{EvidenceRule, check};
pub(crate) use conversation::PROMPT;
pub use conversation::{
    ReflectError, Reflected, reflect, reflect_with_book, reflection_request, reflection_schema,
};
pub(crate) use in_context::PROMPT as PROMPT_HERE;
pub use in_context::{
    Conversation, OUTCOME_SCHEMA, OutcomeBlock, SkillRef, StepSummary, continued_request, outcome,
    reflect_in_context,
};
pub(crate) use material::bounded_step;
pub use material::{
    AttemptFacts, BookPage, BudgetUse, Gap, MATERIAL_SCHEMA, Material, PartOfAttempt, ReceivedSkillText,
    ResourceUse, ReviewedAttempt, material,
};
pub use pictures::{Moment, StepPicture};
