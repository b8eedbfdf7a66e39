//! The user's own desktop, through xcap and enigo: Linux with X11, Windows, macOS.
//!
//! This world is not isolated. A caller opens it only when the user asks for it by name, and tells the user how to
//! stop: hold [`STOP_KEY`] until the run ends. Commands and files of the host are out of reach on purpose.

#![warn(clippy::missing_errors_doc)]

mod input;
mod keys;
mod machine;
mod screen;
mod world;

pub use world::{HostSource, STOP_KEY};
