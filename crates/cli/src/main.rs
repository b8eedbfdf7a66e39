//! The command-line program: arguments, settings, dependency wiring, terminal output and exit codes.

mod args;
mod command_groups;
mod commands;
mod container;
mod failure;
mod host;
mod models;
mod options;
mod process_env;
mod renamed;
mod runs;
mod settings;
mod suite;
mod terminal;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == wire::CELL) {
        return ExitCode::from(u8::try_from(apprentice_sandbox::supervise(words)).unwrap_or(1));
    }
    let arguments = args::parse();
    for hint in renamed::hints(std::env::args_os().skip(1).collect::<Vec<_>>().iter().map(AsRef::as_ref)) {
        terminal::note(format_args!("{hint}"));
    }
    match terminal::log::start().and_then(|()| args::dispatch(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::note(format_args!("{failure}"));
            failure.code()
        }
    }
}
