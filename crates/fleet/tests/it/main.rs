//! Tests of the queue against a real PostgreSQL, which each test starts for itself.
#![expect(clippy::expect_used, reason = "a test may panic")]
#![expect(clippy::print_stdout, reason = "the load tests print what they measure")]

mod child;
mod encryption;
mod experiments;
mod faults;
mod gate;
mod load;
mod money;
mod monitoring;
mod on_demand;
mod postgres;
mod queue;
mod s3;
mod scene;
mod tables;
mod turmoil;
mod workers;
