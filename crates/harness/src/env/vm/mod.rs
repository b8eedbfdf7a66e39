//! Worlds on machines behind OSWorld's server protocol: screenshots, input, files and commands over HTTP.
//!
//! The machine is not ours: the user's own command resets it, and a machine that does not answer is an infrastructure
//! fault, never the model's failure. Nothing is recorded on the machine, and waits end on a condition, not after a
//! fixed time.

mod address;
mod config;
mod document;
mod machine;
mod picture;
mod pool;
mod pyautogui;
mod reset;
mod script;
mod server;
mod silent_menus;
mod source;
mod tree;
mod typing;
mod windows;
mod world;

pub use address::{MachineAddress, MachineAddressError};
pub use config::VmConfig;
pub use source::VmSource;
