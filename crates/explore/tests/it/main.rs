//! The single integration-test binary of `apprentice-explore`.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod explore;
mod explored_book;
