//! The one integration-test binary of the viewer: what is asked for, by whom, and what a damaged or hostile run shows.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod documents;
mod sample;
mod serving;
