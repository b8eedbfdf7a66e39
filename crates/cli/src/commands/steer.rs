//! `apprentice pause`, `continue`, `step` and `stop`: orders to what runs.

use apprentice_control::{Answer, Order, OrderKind};
use clap::Args;

use crate::commands::watch::find;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::control_socket;
use crate::settings::config::Config;
use crate::{terminal, wire};

/// Pauses a running trial before its next step, or all that a process runs.
#[derive(Debug, Args)]
pub(crate) struct Pause {
    #[command(flatten)]
    target: Target,
}

/// Lets a paused trial go on.
#[derive(Debug, Args)]
pub(crate) struct Continue {
    #[command(flatten)]
    target: Target,
}

/// Lets a paused trial take one step of its model.
#[derive(Debug, Args)]
pub(crate) struct Step {
    #[command(flatten)]
    target: Target,
}

/// Stops a running trial, or a whole run.
///
/// A stopped trial is void (`stopped by a person`) and is not tried again. Without a trial, the run ends as by Ctrl-C, and
/// `apprentice resume` continues it.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct Target {
    /// The trial, or the beginning of its id, or its task [default: all of the only process].
    trial: Option<String>,
}

/// Runs `pause`.
pub(crate) fn pause(arguments: &Pause, config: &Config) -> Result<(), Failure> {
    order(&arguments.target, OrderKind::Pause, config)
}

/// Runs `continue`.
pub(crate) fn go_on(arguments: &Continue, config: &Config) -> Result<(), Failure> {
    order(&arguments.target, OrderKind::Continue, config)
}

/// Runs `step`.
pub(crate) fn step(arguments: &Step, config: &Config) -> Result<(), Failure> {
    order(&arguments.target, OrderKind::Step, config)
}

/// Runs `stop`.
pub(crate) fn stop(arguments: &Stop, config: &Config) -> Result<(), Failure> {
    order(&arguments.target, OrderKind::Stop, config)
}

fn order(target: &Target, order: OrderKind, config: &Config) -> Result<(), Failure> {
    let places = control_socket::places(config)?;
    wire::runtime()?.block_on(async {
        let found = find(&places, target.trial.as_deref()).await?;
        let done = match order {
            OrderKind::Pause => "pauses before its next step",
            OrderKind::Continue => "goes on",
            OrderKind::Step => "takes one step",
            _ => "ends",
        };
        let order = Order { trial: found.trial.clone(), by: control_socket::own_name(), order };
        match found.peer.order(order).await.kind(Kind::Environment)? {
            Answer::Refused { why } => Err(Failure::say(Kind::Environment, why)),
            _ => {
                let name = found.trial.unwrap_or_else(|| format!("process {}", found.status.process));
                terminal::note(format_args!("{name} {done}"));
                Ok(())
            }
        }
    })
}
