//! `apprentice tasks check` and `show`: whether each task loads, can be graded and can run here, with a reason for
//! each "no".

use apprentice_protocol::counted;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use apprentice_tasks::suite;
use apprentice_tasks::suite::requirements::MissingRequirements;
use apprentice_tasks::task::Task;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::suite::preflight::lacks;
use crate::terminal;

/// Checks whether each task loads, can be graded and can run here, with a reason for each "no".
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The suite's folder, its suite file, or one task file.
    path: PathBuf,
    /// Print one JSON object (`apprentice.tasks-check/1`).
    #[arg(long)]
    json: bool,
    /// Print a Markdown table of what each task needs, the same on every machine.
    #[arg(long, conflicts_with = "json")]
    table: bool,
    /// With `--table`: JSON objects of solutions by task; these tasks count as solved.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "table")]
    solved: Vec<PathBuf>,
}

/// Arguments of `tasks show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The suite's folder, its suite file, or the task's own file.
    path: PathBuf,
    /// The task's id; required if the path contains several tasks.
    id: Option<String>,
    /// Print one JSON object (`apprentice.task/1`).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::commands) struct Report {
    schema: &'static str,
    tasks: Vec<Row>,
    /// The number of tasks, and the number of "yes" results per column.
    totals: BTreeMap<&'static str, usize>,
    /// Whether a virtual machine was asked for its programs; never, so far.
    vm_asked: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::commands) struct Row {
    id: String,
    app: String,
    loads: bool,
    grades: bool,
    cell: bool,
    /// Whether nothing in the file speaks against a virtual machine. No machine is asked what it has.
    vm: bool,
    steps: Vec<String>,
    getters: Vec<String>,
    metrics: Vec<String>,
    /// The error if the file does not load.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Reasons by column.
    missing: MissingRequirements,
    /// Doubts about the check, which keep no task from being run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
}

/// Runs `tasks check`.
pub(crate) fn check(arguments: &Check, config: &Config) -> Result<(), Failure> {
    let path = crate::suite::found(&arguments.path)?;
    if arguments.table {
        return crate::commands::tasks::table::print(&path, &arguments.solved);
    }
    let surveyed = suite::survey(&path).kind(Kind::Config)?;
    let root = suite::root_of(&path);
    let tasks: Vec<Row> = surveyed.into_iter().map(|one| row(one, &root, config)).collect();
    let count = |holds: fn(&Row) -> bool| tasks.iter().filter(|row| holds(row)).count();
    let totals = BTreeMap::from([
        ("tasks", tasks.len()),
        ("loads", count(|row| row.loads)),
        ("grades", count(|row| row.grades)),
        ("cell", count(|row| row.cell)),
        ("vm", count(|row| row.vm)),
    ]);
    let report = Report { schema: "apprentice.tasks-check/1", tasks, totals, vm_asked: false };
    if arguments.json {
        terminal::json(&report)?;
    } else {
        table(&report);
    }
    let broken = report.tasks.iter().filter(|row| !row.loads).count();
    if broken > 0 {
        let broken = counted(broken, "task");
        return Err(Failure::say(
            Kind::Config,
            format!("{broken} cannot be loaded, or a run could not start it"),
        ));
    }
    match report.tasks.iter().filter(|row| !(row.grades && (row.cell || row.vm))).count() {
        0 => Ok(()),
        some => Err(Failure::say(
            Kind::Environment,
            format!("{} cannot be both run and graded here", counted(some, "task")),
        )),
    }
}

fn row(one: suite::SurveyedTask, root: &Path, config: &Config) -> Row {
    let task = match one.task {
        Ok(task) => task,
        Err(error) => {
            let error = Some(error.to_string());
            let (steps, getters, metrics) = (Vec::new(), Vec::new(), Vec::new());
            let missing = MissingRequirements::default();
            let (id, app) = (one.id, one.app);
            return Row {
                id,
                app,
                loads: false,
                grades: false,
                cell: false,
                vm: false,
                steps,
                getters,
                metrics,
                error,
                missing,
                doubts: Vec::new(),
            };
        }
    };
    let missing = lacks(&task, root, config);
    let known = missing.unknown.is_empty();
    let distinct = |names: &mut dyn Iterator<Item = &str>| {
        let mut list = Vec::new();
        names.for_each(|name| {
            if !list.iter().any(|known| known == name) {
                list.push(name.to_owned());
            }
        });
        list
    };
    let evaluator = &task.evaluator;
    let specs = [&evaluator.result, &evaluator.expected].into_iter().flatten().flat_map(|specs| specs.iter());
    Row {
        id: one.id,
        app: one.app,
        loads: known,
        grades: known && missing.grades.is_empty(),
        cell: known && missing.cell.is_empty(),
        vm: known && missing.vm.is_empty(),
        steps: distinct(&mut task.config.iter().chain(&evaluator.postconfig).map(|step| step.kind.as_str())),
        getters: distinct(&mut specs.filter_map(|spec| spec.get("type").and_then(Value::as_str))),
        metrics: distinct(&mut evaluator.func.iter().map(String::as_str)),
        error: None,
        doubts: suite::doubts(&task),
        missing,
    }
}

fn table(report: &Report) {
    terminal::line(format_args!("{:<16} {:<40} loads  grades  runs cell / vm", "app", "task"));
    let word = |yes: bool| if yes { "yes" } else { "no" };
    // What an image holds is not known here.
    let unseen = |possible: bool| if possible { "unseen" } else { "no" };
    for row in &report.tasks {
        let (loads, grades) = (word(row.loads), word(row.grades));
        let (cell, vm) = (word(row.cell), unseen(row.vm));
        terminal::line(format_args!("{:<16} {:<40} {loads:<6} {grades:<7} {cell} / {vm}", row.app, row.id));
        let list = |column: &str, reasons: &[String]| {
            if !reasons.is_empty() {
                terminal::line(format_args!("{:<18}{column}: {}", "", reasons.join("; ")));
            }
        };
        list("loads", row.error.as_slice());
        list("loads", &row.missing.unknown);
        list("grades", &row.missing.grades);
        list("cell", &row.missing.cell);
        list("vm", &row.missing.vm);
        list("doubt", &row.doubts);
    }
    let total = |name: &str| report.totals.get(name).copied().unwrap_or_default();
    terminal::line(format_args!(
        "{}: {} load, {} can be graded, {} can run in a cell here; nothing in {} files speaks against a virtual machine, \
         and none was asked for its programs",
        counted(total("tasks"), "task"),
        total("loads"),
        total("grades"),
        total("cell"),
        total("vm")
    ));
}

/// The output of `tasks show --json`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct ShownTask<'a> {
    schema: &'static str,
    app: &'a str,
    /// The task, in the form of its file.
    task: &'a Task,
    missing: &'a MissingRequirements,
}

/// Runs `tasks show`.
pub(crate) fn show(arguments: &Show, config: &Config) -> Result<(), Failure> {
    let suite = crate::suite::load(&arguments.path)?;
    let task = match (&arguments.id, suite.tasks.as_slice()) {
        (Some(id), _) => suite.task(id),
        (None, [only]) => Some(only),
        (None, _) => {
            return Err(Failure::say(Kind::Usage, "the suite has several tasks; give the id of one"));
        }
    };
    let Some(task) = task else {
        let id = arguments.id.as_deref().unwrap_or_default();
        let failure = Failure::say(Kind::NothingMatched, format!("the suite has no task {id:?}"));
        let list = format!("`apprentice tasks list {}` prints the ids", arguments.path.display());
        return Err(failure.hint_nearest_or(id, suite.tasks.iter().map(|task| task.id.as_str()), &list));
    };
    let missing = lacks(task, &suite.root, config);
    if arguments.json {
        let schema = "apprentice.task/1";
        return terminal::json(&ShownTask { schema, app: &task.app, task, missing: &missing });
    }
    terminal::line(format_args!(
        "{} ({}, template {})\n{}",
        task.id,
        task.app,
        task.template(),
        task.instruction
    ));
    for (name, steps) in [("setup", &task.config), ("before grading", &task.evaluator.postconfig)] {
        for step in steps {
            terminal::line(format_args!("{name}: {} {}", step.kind, Value::Object(step.parameters.clone())));
        }
    }
    terminal::json(&task.evaluator)?;
    for (column, reasons, without) in [
        ("loads", &missing.unknown, "yes"),
        ("grades", &missing.grades, "yes"),
        ("cell", &missing.cell, "yes"),
        ("vm", &missing.vm, "unseen: no machine was asked for its programs"),
    ] {
        let told = if reasons.is_empty() { without.to_owned() } else { reasons.join("; ") };
        terminal::line(format_args!("{column}: {told}"));
    }
    Ok(())
}
