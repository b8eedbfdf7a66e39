//! `do`, and the sessions that other programs open: instructions carried out one after the other in one world.

pub(in crate::commands) mod chat;
pub(in crate::commands) mod client;
pub(in crate::commands) mod client_session;
mod guidance;
pub(in crate::commands) mod learning;
mod live;
pub(in crate::commands) mod setup;
pub(crate) mod task;
