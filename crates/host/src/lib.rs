//! The desktop that the user sits at, through xcap and enigo: Linux with X11, Windows, macOS.
//!
//! Nothing is isolated here, so a caller opens it only when the user named it, and shows how to stop it:
//! hold [`STOP_KEY`] until the run ends. Commands and files of the host are out of reach on purpose.

mod input;
mod keys;
mod machine;
mod screen;
mod world;

pub use world::{HostSource, STOP_KEY};
