//! What setup and checks share of a world: its commands, its browser, servers inside it, and the files that tasks download.

mod command;
mod devtools;
mod http;
mod mirror;
mod pyautogui;
mod started;

pub(crate) use command::{CommandText, argv, at_home};
pub(crate) use devtools::{DEBUG_PORTS, call_page, escaped_url, failed};
pub use http::{HttpRequest, ask};
pub use mirror::{Mirror, MirrorError};
pub use pyautogui::with_pyautogui;
pub use started::programs_of_line;
pub(crate) use started::{not_found, programs_started, provides_for, script_of};
