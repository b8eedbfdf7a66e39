//! The one integration-test binary of the trace.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod record;
