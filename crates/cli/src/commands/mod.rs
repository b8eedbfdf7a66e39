//! The subcommands. Each module contains the arguments of a command and the function that runs it.

pub(crate) mod acp;
pub(crate) mod audit;
pub(crate) mod bench;
mod ci;
pub(crate) mod collect;
pub(crate) mod demo;
pub(crate) mod distill;
pub(crate) mod doctor;
mod editor;
pub(crate) mod experiment_command;
pub(crate) mod explore;
#[cfg(feature = "fleet")]
pub(crate) mod fleet;
pub(crate) mod forecast;
pub(crate) mod forecast_table;
pub(crate) mod fork;
pub(crate) mod functions;
pub(crate) mod installation;
pub(crate) mod interrupts;
pub(crate) mod learn;
pub(crate) mod look;
pub(crate) mod mcp;
pub(crate) mod plan;
#[cfg(test)]
mod printed;
pub(crate) mod run;
#[cfg(test)]
mod schemas;
pub(crate) mod serve;
pub(crate) mod session;
mod signature;
pub(crate) mod skills;
pub(crate) mod steer;
pub(crate) mod tasks;
pub(crate) mod trace;
pub(crate) mod watch;
