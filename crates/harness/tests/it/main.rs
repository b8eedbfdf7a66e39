//! The one integration-test binary of the harness.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod agent;
mod bench;
mod endings;
mod record;
mod scene;
