//! An in-memory world of pages and controls, defined as JSON: a real environment for tests, demos and
//! learning at full speed, without a screen or a browser.

mod definition;
mod layout;
mod machine;
mod paint;
mod source;
mod state;

pub use definition::{Control, Effect, Fault, FaultPlace, Page, Scene};
pub use source::{STATE_FILE, SceneSource};
