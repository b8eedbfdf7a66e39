//! The command-line program: arguments, settings, dependency wiring, terminal output and exit codes.

mod access;
mod args;
mod bounded_stdin;
mod builtin_suites;
mod call_checks;
mod call_settings;
mod chat_input;
mod command_groups;
mod commands;
mod config;
mod control_socket;
mod count;
mod embeddings;
mod event_printer;
mod experiment_progress;
mod failure;
mod forecast;
mod guidance_args;
mod host;
mod interrupts;
mod key;
mod live_lines;
mod live_words;
mod log;
mod models;
mod overrides;
mod packages;
mod pick;
mod preflight;
mod process_env;
mod project_file;
mod prompts;
mod provider;
#[cfg(feature = "fleet")]
mod queue_access;
mod renamed;
mod role;
mod run_place;
mod run_progress;
mod servers;
mod settings;
mod spelling;
mod suite;
mod task_words;
mod terminal;
mod value_type;
mod wire;
mod wrap;

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
    match log::start().and_then(|()| args::dispatch(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::note(format_args!("{failure}"));
            failure.code()
        }
    }
}
