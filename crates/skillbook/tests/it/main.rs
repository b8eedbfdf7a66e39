//! Tests of the skillbook, on real folders.
#![expect(clippy::expect_used, reason = "a helper of tests fails like the test")]

mod book;
#[expect(dead_code, reason = "the tests of `learning` use all of it")]
#[path = "../../../screening/tests/it/clerk.rs"]
mod clerk;
mod deeds;
mod fitting;
mod golden;
mod package;
mod poison;
mod proposal;
mod recall;
mod shelf;
mod store;
