//! Tests of functions: what the checks refuse, what a call asks for, and what it cannot do.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod attacks;
mod calls;
mod checks;
mod driver;
mod playwright;
