//! The one integration-test binary of the command line.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod builtin_words;
mod command;
mod faults;
mod skillbook;
mod starter;
mod tidy;
