//! The program that tests start again as a cell's supervisor, and the owner that they kill.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == "cell-supervisor" => {
            let code = apprentice_harness::cell::supervise(arguments);
            ExitCode::from(u8::try_from(code).unwrap_or(1))
        }
        _ => ExitCode::FAILURE,
    }
}
