//! `apprentice tasks`: what a suite holds, and what of it can run here.

use std::path::{Path, PathBuf};

use apprentice_evaluator::check::{GETTERS, METRICS};
use apprentice_evaluator::setup::STEPS;
use apprentice_evaluator::suite::task::{OneOrMany, Task};
use apprentice_evaluator::suite::{self, Suite};
use apprentice_protocol::EnvironmentKind;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::failure::{Failure, Kind, Kinded as _};
use crate::{surroundings, terminal};

/// Looks at suites and their tasks.
#[derive(Debug, Args)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists the tasks of a suite.
    List(Place),
    /// Says of each task whether it can run here, and what is missing.
    Check(Place),
    Audit(super::audit::Audit),
}

/// A suite, named by its folder or its file.
#[derive(Debug, Args)]
struct Place {
    /// The suite's folder, its suite file, or one task file.
    path: PathBuf,
    /// Print one JSON object (`apprentice.tasks/1`).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Listing<'a> {
    schema: &'static str,
    suite: &'a str,
    suite_hash: &'a str,
    tasks: Vec<Entry<'a>>,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    id: &'a str,
    app: &'a str,
    template: &'a str,
    environment: EnvironmentKind,
    varies: bool,
    knowledge: &'a [String],
    instruction: &'a str,
    /// What keeps it from running here, a reason each; empty when nothing does.
    missing: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(
    arguments: &Tasks,
    config: impl FnOnce() -> Result<Config, Failure>,
) -> Result<(), Failure> {
    match &arguments.what {
        What::List(place) => list(place),
        What::Check(place) => check(place),
        What::Audit(audit) => super::audit::run(audit, &config()?),
    }
}

/// Loads a suite, or says exactly where it is wrong.
pub(crate) fn load(path: &Path) -> Result<Suite, Failure> {
    suite::load(path).kind(Kind::Config)
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
        missing: missing(task),
    }
}

fn list(place: &Place) -> Result<(), Failure> {
    let suite = load(&place.path)?;
    let listing = listing(&suite);
    if place.json {
        return terminal::json(&listing);
    }
    for task in &listing.tasks {
        let seeds = if task.varies { "" } else { ", one world" };
        terminal::line(format_args!("{} ({}{seeds}): {}", task.id, task.app, task.instruction));
    }
    Ok(())
}

fn check(place: &Place) -> Result<(), Failure> {
    let suite = load(&place.path)?;
    let listing = listing(&suite);
    let blocked = listing.tasks.iter().filter(|task| !task.missing.is_empty()).count();
    if place.json {
        terminal::json(&listing)?;
    } else {
        for task in &listing.tasks {
            let state = if task.missing.is_empty() { "ok".into() } else { task.missing.join("; ") };
            terminal::line(format_args!("{} ({}): {state}", task.id, task.app));
        }
        terminal::line(format_args!(
            "{} of {} tasks can run here",
            listing.tasks.len() - blocked,
            listing.tasks.len()
        ));
    }
    match blocked {
        0 => Ok(()),
        _ => Err(Failure::say(Kind::Environment, format!("{blocked} tasks cannot run here as they are"))),
    }
}

/// Everything a task needs that this build or this machine does not have.
fn missing(task: &Task) -> Vec<String> {
    let mut missing = Vec::new();
    let mut need = |kind: &str, name: &str, known: &[&str]| {
        let reason = format!("{kind} {name:?} is not built");
        if !known.contains(&name) && !missing.contains(&reason) {
            missing.push(reason);
        }
    };
    for step in task.config.iter().chain(&task.evaluator.postconfig) {
        need("setup step", &step.kind, STEPS);
    }
    for metric in task.evaluator.func.iter() {
        need("metric", metric, METRICS);
    }
    for spec in
        [&task.evaluator.result, &task.evaluator.expected].into_iter().flatten().flat_map(OneOrMany::iter)
    {
        if let Some(getter) = spec.get("type").and_then(Value::as_str) {
            need("getter", getter, GETTERS);
        }
    }
    let programs = task.apprentice.as_ref().map_or(&[][..], |ours| &ours.programs);
    for program in programs {
        if surroundings::find_program(program).is_none() {
            missing.push(format!("program {program:?} is not installed"));
        }
    }
    missing
}
