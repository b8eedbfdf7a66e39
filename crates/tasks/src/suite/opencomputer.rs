//! Creates a suite from a clone of OpenComputer. How a program is prepared, started and saved comes from the clone's own evaluation
//! code, which runs here against a sandbox that only records; its verifiers grade in the world.

mod recorded;

use std::collections::BTreeSet;
use std::path::{Component, Path};

use apprentice_protocol::EnvironmentKind;
use serde_json::{Value, json};

use self::recorded::{PlannedStep, PlannedTask, record};
use super::conversion::{Conversion, ConversionError, LIMIT, NewSuite, io_error};
use super::requirements::executables;
use crate::check::{is_judged_by_model, is_judged_by_pictures};
use crate::world_io::programs_of_line;

/// Saves, in the world.
const SAVE: &str = include_str!("opencomputer/save.py");
/// Its place in the world. Each task writes it: a file of the suite that all tasks share would tie them together in a split.
const SAVE_PLACE: &str = "/tmp/.opencomputer/save.py";
/// Seconds that upstream waits before it runs the first verifier.
const BEFORE_CHECKS: u32 = 3;
/// What makes a folder a clone.
const CORE: &str = "evaluation";
/// Programs that every task's own steps start.
const PROGRAMS: [&str; 4] = ["bash", "python3", "xdotool", "xprop"];

/// Writes a suite of all tasks of a clone into a new folder. `has_program` says whether a cell of this machine has a program.
///
/// # Errors
///
/// Returns an error if the folder holds no clone, its code has another form, or the suite cannot be written.
pub fn add(
    from: &Path,
    to: &Path,
    has_program: &dyn Fn(&str) -> bool,
) -> Result<Conversion, ConversionError> {
    let nothing = || ConversionError::Nothing {
        path: from.to_owned(),
        what: "clone of OpenComputer: a folder with evaluation/ and tasks/",
    };
    let from = &std::fs::canonicalize(from).map_err(io_error(from))?;
    if !from.join(CORE).is_dir() || !from.join("tasks").is_dir() {
        return Err(nothing());
    }
    let plan = record(from)?;
    let mut done = Conversion::default();
    for left in plan.left_out {
        *done.left_out.entry(format!("{}: {}", left.task, left.why)).or_default() += 1;
    }
    if plan.tasks.is_empty() {
        let why: Vec<String> = done.left_out.into_keys().collect();
        return Err(ConversionError::NoTask(why.join("; ")));
    }
    let mut suite = NewSuite::begin(to)?;
    let mut copied = Copies { from, size: 0 };
    let mut verifiers = BTreeSet::new();
    for planned in &plan.tasks {
        for (local, name) in planned.files() {
            copied.copy(&suite, local, &name)?;
        }
        if verifiers.insert(&planned.verifier) {
            copied.copy(&suite, &planned.verifier, &verifier_file(planned))?;
        }
        for need in needs(planned, has_program) {
            *done.needs.entry(need).or_default() += 1;
        }
        let mut task = task(planned);
        task["apprentice"]["screen"] = json!(plan.screen);
        task["apprentice"]["limits"] = json!({"world_steps": plan.steps, "turns": plan.steps * 3 / 2});
        suite.add(&planned.app, &planned.id, &task)?;
        done.tasks += 1;
    }
    suite.finish()?;
    Ok(done)
}

/// Copies files of the clone, up to the limit of a suite.
struct Copies<'a> {
    from: &'a Path,
    size: u64,
}

impl Copies<'_> {
    fn copy(&mut self, suite: &NewSuite<'_>, local: &str, name: &str) -> Result<(), ConversionError> {
        let path = self.from.join(local);
        // What the clone's own code names may lie nowhere else, not even behind a link.
        let place = std::fs::canonicalize(&path).map_err(io_error(&path))?;
        let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !place.starts_with(self.from) || !is_plain {
            let problem = "it is outside the clone".to_owned();
            return Err(ConversionError::Content { path, problem });
        }
        let bytes = apprentice_files::read(&place).map_err(io_error(&path))?;
        self.size += bytes.len() as u64;
        if self.size > LIMIT {
            return Err(ConversionError::TooLarge(self.from.to_owned()));
        }
        suite.write(name, &bytes)
    }
}

/// The suite's copy of a task's verifier.
fn verifier_file(planned: &PlannedTask) -> String {
    format!("files/{}", planned.verifier)
}

/// Says what a task needs beyond what every machine has.
fn needs(planned: &PlannedTask, has_program: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut needs = Vec::new();
    let started = planned.steps.iter().filter_map(|step| match step {
        PlannedStep::Launch { command } => Some(programs_of_line(command)),
        _ => None,
    });
    for program in started.flatten() {
        if !executables(&program).into_iter().any(has_program) {
            needs.push(format!("the program {program:?} is not on this machine"));
        }
    }
    let checks = planned.checks.iter().map(|check| json!({"check": check}));
    if checks.clone().any(|check| is_judged_by_pictures(&check)) {
        needs.push("a model has to judge a check by pictures of the screen, which is not done: void".into());
    } else if checks.clone().any(|check| is_judged_by_model(&check)) {
        needs.push("void without a model as judge (--judge MODEL)".into());
    }
    if planned.guesses {
        let what = "its setup decides by what a command prints: it is done as if nothing were printed";
        needs.push(what.into());
    }
    needs
}

fn step(kind: &str, parameters: &Value) -> Value {
    json!({"type": kind, "parameters": parameters})
}

fn bash(line: &str) -> Value {
    json!(["bash", "-c", line])
}

/// Runs a line until it succeeds.
fn run(line: &str) -> Value {
    step("execute", &json!({"command": bash(line), "until": {"returncode": 0}}))
}

fn write(path: &str, text: &str) -> Value {
    step("write_file", &json!({"path": path, "content": text}))
}

fn upload(local: &str, path: &str) -> Value {
    step("upload_file", &json!({"files": [{"local_path": local, "path": path}]}))
}

/// A step of the script that saves.
fn save_by(of: &Value) -> Value {
    step("execute", &json!({"command": ["python3", SAVE_PLACE, of.to_string()]}))
}

/// The setup: what upstream's session did, in its order, then its ready check and its wait for the window.
fn setup(planned: &PlannedTask) -> Vec<Value> {
    let mut steps = Vec::new();
    for one in &planned.steps {
        steps.push(match one {
            PlannedStep::File { local, path } => upload(&planned.file(local), path),
            PlannedStep::Write { path, text } => write(path, text),
            PlannedStep::Run { command, may_fail: false } => run(command),
            PlannedStep::Run { command, may_fail: true } => {
                step("execute", &json!({"command": bash(command)}))
            }
            PlannedStep::Launch { command } => step("launch", &json!({"command": bash(command)})),
        });
    }
    if let Some(ready) = &planned.ready {
        let lines: Vec<String> = ready.commands.iter().map(|line| format!("{{ {line}\n}}")).collect();
        let line = lines.join(" || ");
        steps.push(step("execute", &json!({"command": bash(&line), "until": ready.until})));
    }
    let window = &planned.window;
    steps.push(step("await_window", &json!({"names": window["tokens"], "size": window["size"]})));
    steps
}

fn task(planned: &PlannedTask) -> Value {
    let programs: BTreeSet<String> = planned
        .steps
        .iter()
        .filter_map(|step| match step {
            PlannedStep::Launch { command } => Some(programs_of_line(command)),
            _ => None,
        })
        .flatten()
        .chain(PROGRAMS.map(str::to_owned))
        .collect();
    let checks = planned.checks.iter().map(|check| {
        json!({
            "type": "opencomputer_check",
            "verifier": verifier_file(planned),
            "path": planned.verifier_path,
            "check": check,
        })
    });
    let mut before_checks = Vec::new();
    if let Some(save) = &planned.save {
        before_checks.push(write(SAVE_PLACE, SAVE));
        before_checks.push(save_by(save));
    }
    before_checks.push(step("sleep", &json!({"seconds": BEFORE_CHECKS})));
    json!({
        "id": planned.id,
        "instruction": planned.instruction,
        "source": "OpenComputer",
        "config": setup(planned),
        "evaluator": {
            "func": vec!["opencomputer_check"; planned.checks.len()],
            "conj": "mean",
            "result": checks.collect::<Vec<_>>(),
            "postconfig": before_checks,
        },
        "apprentice": {
            "environment": EnvironmentKind::Desktop,
            "template": planned.id,
            "programs": programs,
            "knowledge": kinds(planned),
        },
    })
}

/// The kinds of a task: its program, and what its checks ask of it. A split has each kind in train and in test.
fn kinds(planned: &PlannedTask) -> BTreeSet<String> {
    let asked =
        planned.checks.iter().filter_map(|check| check["command"].as_str()?.split_whitespace().next());
    let kinds = asked.map(|command| format!("{}: {command}", planned.app));
    kinds.chain([planned.app.clone()]).collect()
}
