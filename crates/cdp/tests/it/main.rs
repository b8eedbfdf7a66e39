//! The client against a scripted server at the other end of an in-memory stream.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod connection;
