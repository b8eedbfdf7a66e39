//! The single integration-test binary of `apprentice-measure`.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod page_check;
