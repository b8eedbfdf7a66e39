//! The one integration-test binary of the policies.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod builtin;
mod lent_notes;
