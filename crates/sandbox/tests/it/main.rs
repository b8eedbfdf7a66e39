//! The one integration-test binary of the sandbox.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod attack;
mod cell;
mod file_server;
mod monitors;
mod network;
mod owner;
mod written_places;
