//! `apprentice tasks`: lists, checks, audits and imports tasks.

pub(super) mod add;
pub(super) mod check;
pub(super) mod keep;
pub(super) mod metric;
pub(super) mod new;
pub(super) mod record;
pub(super) mod table;

use std::path::PathBuf;

use apprentice_protocol::EnvironmentKind;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::settings::config::Config;
use crate::suite::pick::Pick;
use crate::{suite, terminal};

/// Lists, checks, audits and imports tasks of suites.
#[derive(Debug, Args)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists the tasks of a suite.
    List(List),
    /// Shows one task: the content of its file, and what is missing to grade and run it.
    Show(check::Show),
    Check(check::Check),
    Metric(metric::Metric),
    Audit(crate::commands::audit::Audit),
    Add(add::Add),
    New(new::New),
    KeepSolution(keep::KeepSolution),
    Record(record::Record),
}

/// Arguments of `tasks list`.
#[derive(Debug, Args)]
struct List {
    /// The suite's folder, its suite file, or one task file.
    path: PathBuf,
    #[command(flatten)]
    pick: Pick,
    /// Print one JSON object (`apprentice.tasks/1`).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listing<'a> {
    schema: &'static str,
    suite: &'a str,
    suite_hash: &'a str,
    tasks: Vec<Entry<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry<'a> {
    id: &'a str,
    app: &'a str,
    template: &'a str,
    environment: EnvironmentKind,
    varies: bool,
    knowledge: &'a [String],
    instruction: &'a str,
}

/// Runs the command.
pub(crate) fn run(
    arguments: &Tasks,
    config: impl FnOnce() -> Result<Config, Failure>,
) -> Result<(), Failure> {
    match &arguments.what {
        What::List(arguments) => list(arguments, &config()?),
        What::Show(show) => check::show(show, &config()?),
        What::Check(check) => check::check(check, &config()?),
        What::Metric(metric) => metric::run(metric, &config()?),
        What::Add(add) => add::run(add),
        What::New(new) => new::run(new),
        What::KeepSolution(keep) => keep::run(keep),
        What::Record(record) => record::run(record, &config()?),
        What::Audit(audit) => crate::commands::audit::run(audit, &config()?),
    }
}

fn listing(suite: &Suite) -> Listing<'_> {
    let tasks = suite.tasks.iter().map(entry).collect();
    Listing { schema: "apprentice.tasks/1", suite: &suite.name, suite_hash: &suite.hash, tasks }
}

fn entry(task: &Task) -> Entry<'_> {
    Entry {
        id: task.id.as_str(),
        app: &task.app,
        template: task.template(),
        environment: task.environment(),
        varies: task.varies(),
        knowledge: task.apprentice.as_ref().map_or(&[], |ours| &ours.knowledge),
        instruction: &task.instruction,
    }
}

fn list(arguments: &List, config: &Config) -> Result<(), Failure> {
    let mut suite = suite::load(&arguments.path)?;
    if let Some(left) = arguments.pick.narrow(&suite, config, None)? {
        suite.tasks.retain(|task| left.contains(&task.id));
    }
    let listing = listing(&suite);
    if arguments.json {
        return terminal::json(&listing);
    }
    for task in &listing.tasks {
        let seeds = if task.varies { "" } else { ", one world" };
        terminal::line(format_args!("{} ({}{seeds}): {}", task.id, task.app, task.instruction));
    }
    Ok(())
}
