//! Measures skills: draws a suite from the evaluations of a package, and makes one page of what an experiment showed of it.
//!
//! Nothing here runs a trial. An experiment with the arms of an [`Offer`] does, as for any other book.

pub mod certificate;
mod drawn_suite;
mod eval_world;
mod evidence;
mod given_suite;
mod offer;
mod page;
pub mod page_check;
mod page_text;
mod schema;

pub use drawn_suite::{DrawError, Drawing, WORLD_STEPS, task_id};
pub use given_suite::lend_suite;
pub use offer::Offer;
pub use page::{PageSource, SkillPageError, skill_page};
pub use page_text::{markdown, summary_line};
pub use schema::{
    ArmLine, Conclusion, Effect, MEASURED_SKILL_SCHEMA, MeasuredSkill, Reading, SKILL_PAGE_SCHEMA,
    ScreeningResult, SkillPage, Triggers,
};
