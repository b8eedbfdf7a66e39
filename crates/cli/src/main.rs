//! The command line: arguments, configuration, wiring, terminal, exit codes.

fn main() {}
