//! The single integration-test binary of the evaluator.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod arms;
mod auto_arm;
mod bundle;
mod experiment;
mod explore;
mod explored_book;
mod fork;
mod functions;
mod judging;
mod leak;
mod osworld;
mod page_check;
mod profile;
mod prose;
mod run;
mod schemas;
mod setup;
mod sheet;
mod starter;
mod verify;
mod verify_more;
