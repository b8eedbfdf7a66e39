//! Learns from traces: reviews of attempts, the manager that curates the book, learning while and after an agent works,
//! practice, and functions that a model writes.
//!
//! Uses only the file system below the book's folder: no network, no processes, no clock.

pub mod adherence;
mod apply_reviews;
mod author;
pub mod background;
pub mod cleanup;
mod figure_source;
pub mod foreground;
pub mod judge;
mod learn;
pub mod manage;
pub mod practice;
mod prompts;
pub mod reflect;
mod sentence_origins;
mod short_steps;
pub mod synthesis;
mod waiting_pages;

pub use apply_reviews::{
    HandlerOptions, HandlerResult, LearningInput, Refusal, ReviewEffect, apply_reviews, review_effect,
};
pub use author::{
    SKILL_CREATE, SKILL_DELETE, SKILL_PATCH, SKILL_VALIDATE, author_tools, author_tools_with_readers,
};
pub use figure_source::FigureSource;
pub use learn::external_reflection::{
    AppliedReflection, AppliedRow, ExternalReflection, ExternalReflectionError, apply, trajectory_by_name,
};
pub use learn::learn_trajectory::{
    LearnError, LearnOptions, LearnResult, LearnerModels, ReflectionRoute, UnreadReflection,
    clean as clean_book, learn_external_reflection, learn_trajectory, review_ahead,
};
pub use learn::note_trial::note_trial;
pub use prompts::PROMPTS;
