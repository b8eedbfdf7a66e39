//! Works one attempt into the book: from its review to the manager's decisions and the cleanup.

mod attach_figures;
mod book_pages;
pub(crate) mod external_reflection;
pub(crate) mod learn_trajectory;
pub(crate) mod note_trial;
