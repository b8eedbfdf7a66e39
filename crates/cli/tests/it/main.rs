//! The one integration-test binary of the command line.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod builtin_words;
mod command;
mod experiment;
mod faults;
mod interrupts;
mod osworld;
mod place;
mod proofs;
mod reword;
mod skillbook;
mod space;
mod starter;
mod tidy;
