//! `apprentice config show`: the effective settings.

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal;

/// Shows settings.
#[derive(Debug, Args)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Prints all effective settings.
    Show {
        /// Also print the origin of each value.
        #[arg(long)]
        origin: bool,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &ConfigCommand, settings: &Settings) -> Result<(), Failure> {
    let What::Show { origin } = &arguments.what;
    for (key, value, place) in settings.rows() {
        if *origin {
            terminal::verbatim(&format!("{key} = {value}  # {place}"));
        } else {
            terminal::verbatim(&format!("{key} = {value}"));
        }
    }
    Ok(())
}
