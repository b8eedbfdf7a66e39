//! The `explorer` policy on web pages: it reads a page with the text around its controls, assigns each label the value
//! that the instruction gives it, searches for controls that are not visible, and verifies results before it counts
//! them as done.

mod date;
mod deed;
mod glance;
mod list;
mod rest;
mod roam;
mod sheet;
mod surfer;
mod token;
mod told;
mod trail;

pub(super) use glance::{cell_for, choice_for, field_for};
pub(super) use sheet::is_of_browser;
pub(super) use surfer::Surfer;
pub(super) use trail::{Trail, is_of_pages, lesson};
