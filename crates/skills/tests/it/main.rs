//! Behaviour of the skillbook and of what learns from traces, on real folders.
#![expect(clippy::expect_used, reason = "a helper of tests fails like the test")]

mod book;
mod lend;
mod shelf;
mod store;
