//! Small logs in the forms of each program, with invented content, and what is read of them.
#![expect(clippy::expect_used, reason = "a test may panic")]
#![expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]

mod browsers;
mod coding_agents;
mod evaluations;
mod place;
mod wrong_files;
