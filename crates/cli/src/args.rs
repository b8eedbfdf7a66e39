//! The tree of commands.

use clap::{Parser, Subcommand};

use crate::commands::{compare, config, doctor, skills, tasks};
use crate::config::{Settings, Sources};
use crate::failure::Failure;

/// A capable model works on real desktops and in browsers; what it learns the hard way becomes a skillbook;
/// a small model works with that book; and the difference is measured.
#[derive(Debug, Parser)]
#[command(name = "apprentice", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 our bug, 2 usage, 3 configuration, 4 nothing matched, 10 tasks failed, \
                        11 trials void, 20 model, 21 environment, 130 interrupted."
)]
pub(crate) struct Apprentice {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Doctor(doctor::Doctor),
    Tasks(tasks::Tasks),
    Skills(skills::Skills),
    Compare(compare::Compare),
    Config(config::ConfigCommand),
}

/// Runs what was asked.
pub(crate) fn dispatch(arguments: &Apprentice) -> Result<(), Failure> {
    let settings = || Settings::layer(&Sources::read()?);
    match &arguments.command {
        Command::Doctor(doctor) => doctor::run(doctor),
        Command::Tasks(tasks) => tasks::run(tasks),
        Command::Skills(skills) => skills::run(skills, &settings()?.config()?),
        Command::Compare(compare) => compare::run(compare),
        Command::Config(config) => config::run(config, &settings()?),
    }
}
