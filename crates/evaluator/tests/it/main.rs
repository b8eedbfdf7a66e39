//! The one integration-test binary of the evaluator.
mod osworld;
