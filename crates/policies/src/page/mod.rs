//! The `explorer` policy on web pages: it reads a page with the text around its controls, assigns each label the value
//! that the instruction gives it, searches for controls that are not visible, and verifies results before it counts
//! them as done.

mod button;
mod control_action;
mod date;
mod explore;
mod instruction;
mod list_order;
mod matching;
mod page_agent;
mod page_learning;
mod page_view;
mod token;
mod unassigned;

pub(super) use matching::{cell_for, choice_for, field_for};
pub(super) use page_agent::PageAgent;
pub(super) use page_learning::{PageLearning, is_of_pages, lesson};
pub(super) use page_view::is_of_browser;
