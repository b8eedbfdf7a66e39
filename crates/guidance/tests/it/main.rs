//! Tests of what an agent gets of a skillbook, on real folders.
#![expect(clippy::expect_used, reason = "a helper of tests fails like the test")]

mod activation;
#[expect(dead_code, reason = "tests of other crates use the rest")]
#[path = "../../../screening/tests/it/clerk.rs"]
mod clerk;
mod delivery;
mod function_limits;
mod functions;
mod guidance;
mod script_run;
#[expect(dead_code, reason = "tests of other crates use the rest")]
#[path = "../../../skillbook/tests/it/shelf.rs"]
mod shelf;
mod shipped;
mod short_steps;
