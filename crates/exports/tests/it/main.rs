//! The one integration-test binary of the exports.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod exports;
mod lane;
mod round_trips;
mod sample;
mod sql;
