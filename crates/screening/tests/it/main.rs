//! Tests of what may reach a skillbook.
#![expect(clippy::expect_used, reason = "a helper of tests fails like the test")]

#[expect(dead_code, reason = "the tests of `learning` use all of it")]
mod clerk;
mod effects;
