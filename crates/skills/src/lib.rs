//! Learning from traces: the skillbook, retrieval, reflection, curation.
//!
//! Uses only the file system below the book's folder: no network, no processes, no clock.

mod author;
pub mod book;
pub mod clean;
mod digest;
pub mod follow;
pub mod foreground;
mod given;
mod handle;
pub mod leak;
pub mod lend;
pub mod manage;
mod meaning;
pub mod package;
mod prompts;
pub mod prove;
pub mod reflect;
mod related;
mod scan;
mod search;
pub mod shipped;
mod words;

pub use author::{SKILL_CREATE, SKILL_DELETE, SKILL_PATCH, SKILL_VALIDATE, author_tools};
pub use digest::{Digest, DigestError, LearnOptions, Staff, Way, clean as clean_book, digest, digest_given};
pub use given::{AppliedReflection, AppliedRow, Given, GivenError, apply, no_trajectory};
pub use handle::{Handled, HandlerOptions, Lesson, Refusal, Row, handle, row};
pub use meaning::Meaning;
pub use prompts::PROMPTS;
pub use scan::{Finding, scan};
pub use search::{Hit, Searched};
pub use words::domain_name;
