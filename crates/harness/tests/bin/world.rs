//! The program that tests start again as a cell's supervisor, and a web server inside a cell.

mod web;

use std::process::ExitCode;

use apprentice_sandbox::supervise;

/// The argument under which this program is a supervisor.
const SUPERVISOR: &str = "cell-supervisor";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == SUPERVISOR {
        return ExitCode::from(u8::try_from(supervise(arguments)).unwrap_or(1));
    }
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    let [port, folder] = words.as_slice() else { return ExitCode::FAILURE };
    let served = port.parse().map(|port| web::serve(port, folder));
    if matches!(served, Ok(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
