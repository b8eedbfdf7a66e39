//! The one integration-test binary of the command line.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod authoring;
mod behind;
mod builtin_words;
mod calls;
mod command;
mod dependencies;
mod differences;
mod experiment;
mod faults;
mod first_suite;
mod forks;
mod golden;
mod guide;
mod hostile;
mod imports;
mod interrupts;
mod learning;
mod models;
mod offline;
mod osworld;
mod own_attempts;
mod place;
mod prompts;
mod proofs;
mod proposals;
mod reviews;
mod reword;
mod servers;
mod signatures;
mod skillbook;
mod space;
mod spending;
mod starter;
mod tidy;
mod vm;
