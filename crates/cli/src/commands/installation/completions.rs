//! `apprentice completions`: what a shell completes the command line with.

use clap::Args;
use clap_complete::Shell;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Prints what a shell completes the command line with, for the shell's folder of completions.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(arguments: &Completions, mut command: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "apprentice", &mut script);
    let mut lines = terminal::Lines::new();
    for line in String::from_utf8(script).kind(Kind::Bug)?.lines() {
        lines.line(format_args!("{line}"));
    }
    lines.flush();
    Ok(())
}
