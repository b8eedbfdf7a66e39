//! The one integration-test binary of the harness.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod agent;
mod bench;
mod browser;
mod browser_forms;
mod browser_reading;
mod carets;
mod cell;
mod chaos;
mod desk;
mod desktop;
mod desktop_typing;
mod endings;
mod examples;
#[path = "../../../sandbox/tests/it/file_server.rs"]
mod file_server;
mod functions;
mod headless_shell;
mod held;
mod legibility;
mod lists;
mod model;
mod monitors;
mod network;
mod offices;
mod scene;
mod server;
mod session;
mod sight;
mod soak;
mod sources;
mod tools;
mod trees;
mod warm_pool;
