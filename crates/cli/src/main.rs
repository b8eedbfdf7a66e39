//! The command line: arguments, configuration, wiring, terminal, exit codes.

mod args;
mod commands;
mod config;
mod failure;
mod surroundings;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = args::Apprentice::parse();
    match args::dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::note(format_args!("{failure}"));
            failure.code()
        }
    }
}
