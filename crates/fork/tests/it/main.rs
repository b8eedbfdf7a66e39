//! The single integration-test binary of `apprentice-fork`.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod fork;
