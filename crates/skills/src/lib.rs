//! Learning from traces: the skillbook, retrieval, reflection, curation.
//!
//! Uses only the file system below the book's folder: no network, no processes, no clock.

pub mod adherence;
mod attach_figures;
mod attempt_words;
mod author;
pub mod background;
pub mod book;
mod book_pages;
pub mod cleanup;
pub mod effect;
mod embedding;
mod external_reflection;
mod figure_source;
pub mod foreground;
pub mod guidance;
mod handle;
pub mod judge;
mod known_versions;
pub mod leak;
mod learn_trajectory;
pub mod line_diff;
mod listed_controls;
pub mod manage;
mod model_json;
pub mod package;
pub mod practice;
mod prompts;
pub mod reflect;
mod related_words;
mod scan;
mod search;
mod sentence_origins;
pub mod shipped;
mod similar_pairs;
pub mod synthesis;
pub mod verification;
mod waiting_pages;
mod word_vectors;
mod words;

pub use author::{
    SKILL_CREATE, SKILL_DELETE, SKILL_PATCH, SKILL_VALIDATE, author_tools, author_tools_with_readers,
};
pub use embedding::EmbeddingModel;
pub use external_reflection::{
    AppliedReflection, AppliedRow, ExternalReflection, ExternalReflectionError, apply, trajectory_by_name,
};
pub use figure_source::FigureSource;
pub use handle::{
    HandlerOptions, HandlerResult, LearningInput, Refusal, ReviewEffect, handle, review_effect,
};
pub use known_versions::KnownVersions;
pub use learn_trajectory::{
    LearnError, LearnOptions, LearnResult, LearnerModels, ReflectionRoute, UnreadReflection,
    clean as clean_book, learn_external_reflection, learn_trajectory, review_ahead,
};
pub use prompts::PROMPTS;
pub use scan::{Finding, scan};
pub use search::{Hit, Searched};
pub use words::domain_name;
