//! The capable model on pages of a browser: it reads a page with the words around its controls, gives each
//! label the value that the instruction has for it, searches what is not in sight, and looks again before
//! it calls anything done.

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
