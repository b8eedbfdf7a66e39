//! The one integration-test binary of the harness.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod agent;
mod bench;
mod browser;
mod browser_forms;
mod browser_reading;
mod cell;
mod chaos;
mod desk;
mod desktop;
mod endings;
mod examples;
mod functions;
mod legibility;
mod lists;
mod model;
mod network;
mod scene;
mod server;
mod session;
mod tools;
mod trees;
mod warm_pool;
