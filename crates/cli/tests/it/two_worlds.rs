//! The same tasks in both worlds: in a cell, and on a machine behind OSWorld's own server program (`machine.rs`). The verdicts
//! are the same; how alike the screens are is told, as other frames and places of windows cover other elements. `scripts/osworld/machine` runs it, and prints the table for `docs/osworld-machine.md`.
#![expect(clippy::print_stdout, reason = "the table is printed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use image::RgbImage;
use image::imageops::crop_imm;
use regex::Regex;
use serde_json::{Value, json};

use crate::machine::{self, Machines};
use crate::offline::{self, PROGRAMS};
use crate::place::{self, Place, rows, worlds_can_start};
use crate::starter::is_installed;

/// How many tasks of each program are tried: the first by their ids that need acting and run with each change.
const TASKS: usize = 2;
/// The part of the picture around the middle of an element, where its text or its sign is.
const PATCH: [u32; 2] = [48, 16];
/// Most that two patches of the same element may differ in the mean, of 255.
const ALIKE: f64 = 12.0;

/// Tasks whose solution names what the server does not tell: a field of GIMP by its description.
const KNOWN: [&str; 1] = ["554785e9"];

/// What an attempt came to.
#[derive(Debug)]
struct Attempt {
    verdict: String,
    void_cause: Value,
    /// The first screen that was seen, and the last.
    screens: [Screen; 2],
    seconds: f64,
}

/// A picture with the middles of those elements that are the only ones with their role and name.
#[derive(Debug)]
struct Screen {
    picture: RgbImage,
    elements: BTreeMap<String, [u32; 2]>,
}

impl Screen {
    /// The screen of an observation.
    fn of(run: &Path, observed: &Value) -> Self {
        let blob = |name: &str, end: &str| {
            let hash = observed["data"][name].as_str().unwrap_or_else(|| panic!("{name} in {observed}"));
            fs::read(run.join("blobs").join(format!("{hash}.{end}"))).expect("a blob")
        };
        let picture = image::load_from_memory(&blob("screenshot", "png")).expect("a picture").into_rgb8();
        let outline = String::from_utf8(blob("outline", "txt")).expect("text");
        Self { picture, elements: elements(&outline) }
    }

    fn patch(&self, [x, y]: [u32; 2]) -> Option<RgbImage> {
        let [width, height] = PATCH;
        let (x, y) = (x.checked_sub(width / 2)?, y.checked_sub(height / 2)?);
        let is_inside = x + width <= self.picture.width() && y + height <= self.picture.height();
        is_inside.then(|| crop_imm(&self.picture, x, y, width, height).to_image())
    }

    /// How many elements are here; how many of them the other screen has too; and how many of those look alike.
    fn compared(&self, other: &Self) -> [usize; 3] {
        let mut counts = [self.elements.len(), 0, 0];
        for (name, place) in &self.elements {
            let Some(there) = other.elements.get(name) else { continue };
            let (Some(one), Some(two)) = (self.patch(*place), other.patch(*there)) else { continue };
            counts[1] += 1;
            counts[2] += usize::from(difference(&one, &two) <= ALIKE);
        }
        counts
    }
}

/// The mean difference of two pictures of one size.
fn difference(one: &RgbImage, other: &RgbImage) -> f64 {
    let pairs = one.as_raw().iter().zip(other.as_raw());
    let sum: u64 = pairs.map(|(one, other)| u64::from(one.abs_diff(*other))).sum();
    sum as f64 / one.as_raw().len() as f64
}

/// The middles of the elements of a view, by role and name, where both are given and no other has the same.
fn elements(outline: &str) -> BTreeMap<String, [u32; 2]> {
    let line = Regex::new(r#"^\s*([a-z]+ "(?:[^"\\]|\\.)+").* @(\d+),(\d+) #n\d+"#).expect("a pattern");
    let (mut places, mut twice) = (BTreeMap::new(), BTreeSet::new());
    for found in outline.lines().filter_map(|text| line.captures(text)) {
        let number = |index: usize| found[index].parse().expect("a number");
        if places.insert(found[1].to_owned(), [number(2), number(3)]).is_some() {
            twice.insert(found[1].to_owned());
        }
    }
    places.retain(|name, _| !twice.contains(name));
    places
}

/// The attempts of a run by task and model.
fn attempts(run: &Path) -> BTreeMap<(String, String), Attempt> {
    let attempt = |row: Value| {
        let text = |name: &str| row[name].as_str().expect("a text").to_owned();
        let trace = fs::read_to_string(run.join(text("trace")).join("events.jsonl")).expect("a trace");
        let events = trace.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
        let observed: Vec<Value> = events.filter(|event| event["kind"] == "observed").collect();
        let (first, last) = (observed.first().expect("a screen"), observed.last().expect("a screen"));
        let attempt = Attempt {
            verdict: text("verdict"),
            void_cause: row["void_cause"].clone(),
            screens: [Screen::of(run, first), Screen::of(run, last)],
            seconds: row["wall_s"].as_f64().expect("seconds"),
        };
        ((text("task"), text("model")), attempt)
    };
    rows(run).into_iter().map(attempt).collect()
}

/// Writes a suite of tasks of all programs that are here, and returns their ids by program.
fn suite(place: &Place, root: &Path) -> Vec<(&'static str, String)> {
    let mut listed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut tasks, chosen) = (Vec::new(), offline::chosen());
    for (app, _) in PROGRAMS.into_iter().filter(|(_, program)| is_installed(program)) {
        let solutions: BTreeMap<String, Value> = offline::data(app, "solutions.json");
        let on_demand: Vec<String> = offline::data(app, "on_demand.json");
        let needs: BTreeMap<String, Vec<String>> = offline::data(app, "needs.json");
        let tried = |id: &str, solution: &Value| {
            let mut needed =
                needs.iter().filter(|(start, _)| id.starts_with(*start)).flat_map(|(_, names)| names);
            !on_demand.iter().any(|start| id.starts_with(start))
                && solution.as_array().is_some_and(|acts| acts.iter().all(|act| act.get("give_up").is_none()))
                && needed.all(|program| is_installed(program))
        };
        for (id, solution) in
            solutions.iter().filter(|(id, solution)| tried(id.as_str(), solution)).take(TASKS)
        {
            if chosen.as_ref().is_some_and(|chosen| !id.starts_with(chosen)) {
                continue;
            }
            offline::put(place, root, app, id, solution);
            listed.entry(app).or_default().push(id.clone());
            tasks.push((app, id.clone()));
        }
    }
    fs::write(place.path("suite/suite.json"), json!(listed).to_string()).expect("written");
    tasks
}

/// Runs each task with its solution, and without doing anything, and returns the run's folder.
async fn audited(place: &Place, runs: &str, more: &[&str]) -> PathBuf {
    let (suite, mirror) = (place.path("suite"), place.path("mirror"));
    let (suite, mirror) = (suite.to_string_lossy(), mirror.to_string_lossy());
    let audit = ["tasks", "audit", &suite, "--mirror", &mirror, "--json"];
    let arguments: Vec<&str> = audit.into_iter().chain(more.iter().copied()).collect();
    let mut command = place.command(&arguments);
    command.env("APPRENTICE_RUNS", place.path(runs));
    let mut command = tokio::process::Command::from(command);
    let output = command.kill_on_drop(true).output().await.expect("it starts");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    println!("{}", place::text(&output.stderr));
    let run = report["folder"].as_str().map(PathBuf::from).expect("a run");
    // To be looked at afterwards: `apprentice view target/machine/cell`.
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/machine").join(runs);
    let _ = fs::remove_dir_all(&kept);
    place::copy(&run, &kept);
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "by scripts/osworld/machine: it starts real programs for minutes, and needs OSWorld's server program"]
async fn twenty_tasks_have_the_same_verdicts_and_screens_in_both_worlds() {
    let (Some(root), Some(folders)) = (offline::root(), machine::server()) else { return };
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    fs::create_dir_all(place.path("mirror")).expect("a folder");
    let tasks = suite(&place, &root);
    let cell = audited(&place, "cell", &[]).await;
    let machines = Machines::new(&place, &folders).await;
    let reset = machines.reset();
    fs::write(place.path("apprentice.toml"), "[vm]\nmachines = 2\n").expect("written");
    let vm = ["--world", "vm", "--vm-reset", &reset];
    let machine = tokio::select! {
        run = audited(&place, "machine", &vm) => run,
        () = machines.serve() => unreachable!("it serves until it is dropped"),
    };
    let (cell, machine) = (attempts(&cell), attempts(&machine));
    let mut table = String::from(
        "| application | task | solution | nothing | first screen | last screen | s in the cell | s on the machine |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut faults = Vec::new();
    for (app, task) in &tasks {
        let of = |model: &str| {
            let key = (task.clone(), format!("baseline/{model}"));
            [&cell, &machine].map(|run| run.get(&key).unwrap_or_else(|| panic!("{key:?} ran in both worlds")))
        };
        let verdicts = |[cell, machine]: [&Attempt; 2]| format!("{} / {}", cell.verdict, machine.verdict);
        let (solved, nothing) = (of("solution"), of("noop"));
        let alike = [0, 1].map(|at| solved[0].screens[at].compared(&solved[1].screens[at]));
        let told = alike.map(|[all, both, alike]| format!("{alike} of {both} alike, of {all}"));
        writeln!(
            table,
            "| {app} | {} | {} | {} | {} | {} | {:.0} | {:.0} |",
            &task[..8],
            verdicts(solved),
            verdicts(nothing),
            told[0],
            told[1],
            solved[0].seconds,
            solved[1].seconds,
        )
        .expect("written");
        for [one, other] in [solved, nothing] {
            let is_known = KNOWN.iter().any(|start| task.starts_with(start));
            if is_known && other.verdict == "fail" {
                continue;
            }
            if one.verdict != other.verdict || other.verdict == "void" {
                faults.push(format!("{task}: {} / {} {}", one.verdict, other.verdict, other.void_cause));
            }
        }
    }
    println!("{table}");
    assert!(faults.is_empty(), "{faults:#?}");
}
