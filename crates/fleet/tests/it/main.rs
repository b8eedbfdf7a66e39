//! Tests of the queue against a real PostgreSQL, which each test starts for itself.
#![expect(clippy::expect_used, reason = "a test may panic")]
#![expect(clippy::print_stdout, reason = "the load tests print what they measure")]

mod child;
mod faults;
mod load;
mod postgres;
mod queue;
mod scene;
mod tables;
