//! The one integration-test binary of the harness.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod agent;
mod bench;
mod browser;
mod browser_aim;
mod browser_faults;
mod browser_forms;
mod browser_keys;
mod browser_pictures;
mod browser_reading;
mod browser_reuse;
mod browser_seeing;
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
mod growing;
mod headless_shell;
mod held;
mod legibility;
mod lists;
mod model;
mod monitors;
mod network;
mod offices;
mod programs;
mod scene;
#[path = "../../../models/tests/it/server.rs"]
#[expect(dead_code, reason = "the tests of `models` use all of it")]
mod server;
mod session;
mod settling;
mod sight;
mod soak;
mod sources;
mod tools;
mod trees;
mod warm_pool;
mod widgets;
