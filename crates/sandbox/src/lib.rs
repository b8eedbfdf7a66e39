//! An isolated cell on this machine: its own user, processes, network, home and buses, and optionally a display.
//!
//! The desktop and browser worlds are built on cells. A cell dies with its owner, even when the owner is killed: its
//! first process ends when our socket closes, and bubblewrap ends with the thread that started it.

#![warn(clippy::missing_errors_doc)]

mod cell;
mod cell_spec;
mod clock;
mod control_group;
mod display;
mod display_server;
pub mod elements;
mod headroom;
mod home;
mod language;
mod launch;
mod left_mounts;
mod limits;
mod machine;
mod mounts;
mod network;
mod package_settings;
mod program_search;
mod reap;
mod state;
mod supervisor;
mod supervisor_client;
mod wire;

pub use cell::{Cell, CellScreen};
pub use cell_spec::{CellIsolation, CellSpec};
pub use clock::SystemClock;
pub use control_group::cells_have_control_groups;
pub use display::{CancelToken, DisplayError, Hit, Keys, Pointer, Popup, Screen, SoleWindow, was_closed};
pub use headroom::has_headroom;
pub use home::cell_brings;
pub use launch::{need_bare_display, need_display};
pub use limits::CellLimits;
pub use machine::CellStream;
pub use network::{NetworkNotAllowed, NetworkPolicy, PROXY};
pub use reap::{Reaped, reap};
pub use state::{open as open_state_folder, state_folders};
pub use supervisor::supervise;
pub use wire::NodeFacts;
