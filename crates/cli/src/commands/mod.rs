//! The subcommands. Each module contains the arguments of a command and the function that runs it.

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod bundle;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod distill;
mod do_learning;
pub(crate) mod do_task;
pub(crate) mod doctor;
pub(crate) mod experiment_command;
pub(crate) mod grade;
pub(crate) mod learn;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod plan;
pub(crate) mod prompts;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod selftest;
pub(crate) mod skills;
pub(crate) mod tasks;
mod tasks_add;
mod tasks_check;
mod tasks_metric;
pub(crate) mod trace;
pub(crate) mod view;
