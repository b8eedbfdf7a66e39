//! The one integration-test binary of the command line.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod ablation;
mod acting;
mod authoring;
mod batches;
mod behind;
mod builtin_words;
mod calls;
mod command;
mod dependencies;
mod differences;
mod documents;
mod experiment;
mod exploring;
mod exporting;
mod faults;
mod first_suite;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "fleet")]
mod fleet_experiment;
#[cfg(feature = "fleet")]
mod fleet_reading;
mod forks;
mod forms;
mod functions;
mod golden;
mod guide;
mod hostile;
mod imports;
mod interrupts;
mod judging;
mod learning;
mod miniwob;
mod models;
mod offline;
mod osworld;
mod other_suites;
mod own_attempts;
mod place;
mod poisoned;
mod poisoned_pages;
mod prompts;
mod proofs;
mod proposals;
mod published;
mod readings;
mod recording;
mod reviews;
mod reword;
mod serve;
mod servers;
mod sessions;
mod signatures;
mod skillbook;
mod skillweaver;
mod slides;
mod space;
mod spending;
mod stand_ins;
mod starter;
mod tidy;
mod viewing;
mod vm;
mod watching;
