//! `apprentice submit`, `worker`, `queue`, `fetch`, `cancel` and `drain`: runs of more than one machine, by a queue in
//! PostgreSQL. Only builds with the feature `fleet` have them.

mod experiment;
mod leader;
mod metered_models;
mod metrics;
mod plan;
mod queue;
mod submit;
mod submitted;
mod worker;

use clap::Subcommand;

use super::run::ParseCommand;
use crate::failure::Failure;
use crate::settings::overrides::{self, Overrides};

pub(crate) use plan::{FleetPlan, print as print_plan};
pub(crate) use submit::Submit;
#[cfg(test)]
pub(in crate::commands) use submitted::Submitted;

/// The commands of a fleet.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    Submit(Box<Submit>),
    Worker(worker::WorkerCommand),
    Queue(queue::QueueCommand),
    Fetch(queue::Fetch),
    Cancel(queue::Cancel),
    Drain(queue::Drain),
}

/// Runs the chosen command. `parse` reads the command line that a run records.
pub(crate) fn run(command: &FleetCommand, flags: &Overrides, parse: ParseCommand) -> Result<(), Failure> {
    let config = || overrides::settings(&[flags])?.config();
    match command {
        FleetCommand::Submit(submit) if submit.kind() == "run" => submit::run(submit, &config()?, parse),
        FleetCommand::Submit(submit) => experiment::submit(submit, flags, parse),
        FleetCommand::Worker(arguments) => worker::run(arguments, flags, &config()?, parse),
        FleetCommand::Queue(arguments) => queue::run(arguments),
        FleetCommand::Fetch(arguments) => queue::fetch(arguments, &config()?),
        FleetCommand::Cancel(arguments) => queue::cancel(arguments),
        FleetCommand::Drain(arguments) => queue::drain(arguments),
    }
}
