//! The single integration-test binary of the evaluator.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod arms;
mod auto_arm;
mod bundle;
mod experiment;
mod functions;
mod judging;
mod leak;
mod osworld;
mod profile;
mod prose;
mod run;
mod setup;
mod sheet;
mod starter;
mod verify;
mod verify_more;
