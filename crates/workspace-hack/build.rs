//! Does nothing: Cargo counts build dependencies only where a build script is.

fn main() {}
