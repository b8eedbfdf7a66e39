//! OpenEnv's socket `/ws`: one world for each connection, spoken as `openenv` 0.10.0's client and server do.

mod conversation;
mod frames;
mod upgrade;

pub(crate) use upgrade::upgrade;
