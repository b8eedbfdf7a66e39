//! The subcommands. Each module contains the arguments of a command and the function that runs it.

pub(crate) mod acp;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod bundle;
mod ci;
mod client_session;
pub(crate) mod collect;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod distill;
mod do_chat;
mod do_client;
mod do_guidance;
mod do_learning;
mod do_live;
mod do_setup;
pub(crate) mod do_task;
pub(crate) mod doctor;
mod editor;
pub(crate) mod experiment_command;
pub(crate) mod explore;
pub(crate) mod export;
#[cfg(feature = "fleet")]
pub(crate) mod fleet;
pub(crate) mod forecast;
pub(crate) mod forecast_table;
pub(crate) mod fork;
pub(crate) mod functions;
pub(crate) mod grade;
pub(crate) mod init;
pub(crate) mod interrupts;
pub(crate) mod learn;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod plan;
#[cfg(test)]
mod printed;
pub(crate) mod prompts;
pub(crate) mod report;
pub(crate) mod run;
#[cfg(test)]
mod schemas;
pub(crate) mod selftest;
pub(crate) mod serve;
mod signature;
pub(crate) mod skills;
pub(crate) mod split;
pub(crate) mod sql;
pub(crate) mod steer;
pub(crate) mod tasks;
pub(crate) mod trace;
pub(crate) mod view;
pub(crate) mod watch;
