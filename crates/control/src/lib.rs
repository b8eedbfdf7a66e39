//! Watching and steering what a process runs.
//!
//! A command that runs trials keeps [`LiveRuns`]: which trials run, what each does, and whether a person holds one of them.
//! [`serve`] answers for it at a socket that its user alone can open; [`Peer`] asks, from another process. A [`LiveTrial`] is
//! the [`Steering`](apprentice_protocol::Steering) of one attempt: the agent loop asks it before each step of the model.

#![warn(clippy::missing_errors_doc)]

mod gate;
mod live_runs;
mod live_sink;
mod live_trial;
mod message;
mod peer;
mod person_model;
mod place;
mod server;

pub use live_runs::{LiveEntry, LiveRuns, RunProgressNote};
pub use live_sink::LiveSink;
pub use live_trial::{LiveTrial, TrialStart};
pub use message::{Answer, Ask, Held, Mode, Order, OrderKind, Phase, Picture, ProcessStatus, TrialStatus};
pub use peer::{Peer, PeerError, Watching};
pub use person_model::{PERSON, PersonActs, PersonModel};
pub use place::{ControlPlace, PlaceError};
pub use server::serve;
