//! Faults through the real program: killed owners, killed parts of a world, interrupts, bad input.
//!
//! Nothing here waits for a length of time: files and `/proc` are polled up to a deadline.
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use apprentice_harness::clock::SystemClock;
use apprentice_protocol::Clock as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::starter::{NEEDED, is_installed};

const PROGRAM: &str = env!("CARGO_BIN_EXE_apprentice");
const DEADLINE: Duration = Duration::from_secs(90);
const POLL_FLOOR: Duration = Duration::from_millis(5);
/// Tasks that their solutions pass within seconds.
const QUICK: [&str; 3] = ["mousepad-add-line", "mousepad-windows-lines", "mousepad-total"];

/// Polls until something is there.
fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = SystemClock::new();
    let began = clock.mono();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock.mono() - began < DEADLINE, "{what}: not within {DEADLINE:?}");
        std::thread::park_timeout(POLL_FLOOR);
    }
}

/// Whether the programs are there that desktop trials of the quick tasks need; says so if not.
fn worlds_can_start() -> bool {
    let needed = NEEDED.iter().copied().chain(["mousepad"]);
    let missing: Vec<&str> = needed.filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() {
        println!("skipped: not installed: {missing:?}");
    }
    missing.is_empty()
}

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tasks/starter").canonicalize().expect("the suite")
}

/// A folder of one test's own: home, state, runs.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Cells that root starts run as another user, who has to reach their state.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.0.path())
            .env("APPRENTICE_STATE", self.path("state"))
            .env("APPRENTICE_RUNS", self.path("runs"))
            .env("APPRENTICE_JOBS", "2")
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    /// Starts a run of tasks of the starter suite, with its output in files.
    fn run(&self, model: &str, tasks: &[&str], seeds: &str) -> Command {
        let suite = suite();
        let mut command =
            self.command(&["run", &suite.to_string_lossy(), "--model", model, "--seeds", seeds]);
        for task in tasks {
            command.args(["--task", task]);
        }
        let file = |name: &str| fs::File::create(self.path(name)).expect("a file");
        command.stdout(file("stdout")).stderr(file("stderr"));
        command
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The one run's folder, as soon as it is there.
    fn run_folder(&self) -> PathBuf {
        await_some("the run's folder", || {
            let mut runs = fs::read_dir(self.path("runs")).ok()?.flatten();
            runs.next().map(|entry| entry.path()).filter(|folder| folder.join("run.json").exists())
        })
    }

    fn cells(&self) -> Vec<String> {
        let names = fs::read_dir(self.path("state")).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("cell-")).collect()
    }
}

/// The started program; it does not outlive its test.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Self {
        Self(command.spawn().expect("it starts"))
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn signal(&self, signal: Signal) {
        send(self.id(), signal);
    }

    fn ended(&mut self) -> ExitStatus {
        await_some("the end of the program", || self.0.try_wait().expect("asked"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn send(process: u32, signal: Signal) {
    let process = Pid::from_raw(process.cast_signed()).expect("a process id");
    kill_process(process, signal).expect("signalled");
}

/// One process as `/proc` tells it. Together with its start the id is never used again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    id: u32,
    began: String,
    name: String,
    parent: u32,
    /// Its namespace of process ids, where that may be read.
    space: Option<PathBuf>,
}

/// Every process that is not a zombie.
fn processes() -> Vec<Process> {
    let folders = fs::read_dir("/proc").expect("processes").flatten();
    folders
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (name, rest) = stat.rsplit_once(") ")?;
            let fields: Vec<&str> = rest.split(' ').collect();
            let name = name.split_once('(')?.1.to_owned();
            let began = (*fields.get(19)?).to_owned();
            let parent = fields.get(1)?.parse().ok()?;
            let space = fs::read_link(entry.path().join("ns/pid")).ok();
            (fields.first() != Some(&"Z")).then_some(Process { id, began, name, parent, space })
        })
        .collect()
}

/// Every process below one.
fn below(root: u32) -> Vec<Process> {
    let all = processes();
    let parents: BTreeMap<u32, u32> = all.iter().map(|process| (process.id, process.parent)).collect();
    let descends = |process: &&Process| {
        let mut up = process.parent;
        while up != root {
            match parents.get(&up) {
                Some(parent) => up = *parent,
                None => return false,
            }
        }
        true
    };
    all.iter().filter(descends).cloned().collect()
}

/// Waits until neither these processes live nor any other in a process namespace of theirs.
fn await_ends(gone: &[Process]) {
    let own = fs::read_link("/proc/self/ns/pid").ok();
    let known: BTreeSet<(u32, &str)> =
        gone.iter().map(|process| (process.id, process.began.as_str())).collect();
    let spaces: BTreeSet<&PathBuf> = gone
        .iter()
        .filter_map(|process| process.space.as_ref())
        .filter(|space| Some(*space) != own.as_ref())
        .collect();
    await_some("the end of everything the program had started", || {
        let left = processes().into_iter().find(|process| {
            known.contains(&(process.id, process.began.as_str()))
                || process.space.as_ref().is_some_and(|space| spaces.contains(space))
        });
        left.is_none().then_some(())
    });
}

/// The whole lines of a run's rows. What follows the last line break is not a row.
fn lines(run: &Path) -> Vec<String> {
    let text = fs::read_to_string(run.join("trials.jsonl")).unwrap_or_default();
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
}

fn rows(run: &Path) -> Vec<Value> {
    lines(run).iter().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// Checks that a run is whole: each of its trials has one judged row, which is its last, and it is a pass.
fn check_each_passed_once(run: &Path, trials: usize) {
    let mut judged: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows(run) {
        if row["verdict"] == "void" {
            assert_eq!(row["void_cause"], "interrupted", "{row}");
        } else {
            assert_eq!(row["verdict"], "pass", "{row}");
            *judged.entry(row["trial"].as_str().expect("a trial").to_owned()).or_default() += 1;
        }
    }
    assert_eq!(judged.len(), trials, "{judged:?}");
    assert!(judged.values().all(|times| *times == 1), "no trial ran twice: {judged:?}");
}

fn resumed(place: &Place, run: &Path) -> Value {
    let output = place.output(&["resume", &run.to_string_lossy(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a summary")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_killed_run_leaves_nothing_running_and_is_resumed_without_loss() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let mut running = Running::start(place.run("baseline/solution", &QUICK, "2"));
    let run = place.run_folder();
    let descendants = await_some("a finished trial, and a world of another", || {
        let descendants = below(running.id());
        let stands = descendants.iter().any(|process| process.name == "openbox");
        (stands && !lines(&run).is_empty()).then_some(descendants)
    });
    running.signal(Signal::KILL);
    let finished = lines(&run);
    running.ended();
    for part in ["bwrap", "Xvfb", "dbus-daemon"] {
        assert!(descendants.iter().any(|process| process.name == part), "{part} is not in {descendants:?}");
    }
    await_ends(&descendants);

    let summary = resumed(&place, &run);
    assert_eq!(
        (&summary["planned"], &summary["passed"], &summary["not_run"]),
        (&6.into(), &6.into(), &0.into())
    );
    assert_eq!(lines(&run)[..finished.len()], finished, "finished trials stand as they stood");
    check_each_passed_once(&run, 6);
    let interrupted = rows(&run).iter().filter(|row| row["verdict"] == "void").count();
    assert!(interrupted >= 1, "the attempt that was killed is told");
    assert_eq!(place.cells(), [""; 0], "the next start has cleared the dead owner's cells");
    assert_eq!(resumed(&place, &run)["passed"], 6, "there is nothing left to do");
    check_each_passed_once(&run, 6);
}

#[test]
fn one_interrupt_stops_a_run_that_can_go_on() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let mut running = Running::start(place.run("baseline/solution", &QUICK, "2"));
    let run = place.run_folder();
    let descendants = await_some("a finished trial, and a world of another", || {
        let descendants = below(running.id());
        let stands = descendants.iter().any(|process| process.name == "openbox");
        (stands && !lines(&run).is_empty()).then_some(descendants)
    });
    running.signal(Signal::INT);
    assert_eq!(running.ended().code(), Some(130));
    let told = place.text("stderr");
    assert!(told.contains("stopping; once more to end at once"), "{told}");
    assert!(told.contains(&format!("hint: apprentice resume {}", run.display())), "{told}");
    assert!(fs::read_to_string(run.join("trials.jsonl")).expect("rows").ends_with('\n'));
    let done = rows(&run).iter().filter(|row| row["verdict"] == "pass").count();
    assert!((1..6).contains(&done), "{done} trials were finished");
    await_ends(&descendants);
    assert_eq!(place.cells(), [""; 0]);
    assert_eq!(resumed(&place, &run)["passed"], 6);
    check_each_passed_once(&run, 6);
}

/// Runs one hanging trial whose world loses a part in the first attempt, and beside it one that loses nothing.
fn check_lost_part(part: &str, cause: &str, tasks: &[&str; 2]) {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let script = [
        r#"{"calls":[{"name":"computer","arguments":{"actions":[{"do":"wait","ms":4000}]}}]}"#,
        r#"{"calls":[{"name":"finish","arguments":{"finish":"give_up","reason":"the script ends"}}]}"#,
    ];
    fs::write(place.path("script.jsonl"), script.join("\n")).expect("written");
    let mut command = place.run("scripted:script.jsonl", tasks, "1");
    command.env("APPRENTICE_JOBS", "1");
    let mut running = Running::start(command);
    let run = place.run_folder();
    await_some("the first attempt's turn", || {
        let mut attempts = fs::read_dir(run.join("trials")).ok()?.flatten();
        let events = fs::read_to_string(attempts.next()?.path().join("attempt-01/events.jsonl")).ok()?;
        events.contains("model.replied").then_some(())
    });
    let found = below(running.id()).into_iter().find(|process| process.name == part);
    send(found.unwrap_or_else(|| panic!("{part} runs")).id, Signal::KILL);
    // Both trials end as the script has it: the run has lost an attempt and nothing else.
    assert_eq!(running.ended().code(), Some(10), "{}", place.text("stderr"));
    let rows = rows(&run);
    let told: Vec<(&str, u64, &str)> = rows
        .iter()
        .map(|row| {
            let verdict = row["void_cause"].as_str().or(row["verdict"].as_str()).expect("a verdict");
            (row["trial"].as_str().expect("a trial"), row["attempt"].as_u64().expect("a number"), verdict)
        })
        .collect();
    let (first, second) =
        (rows[0]["trial"].as_str().expect("a trial"), rows[2]["trial"].as_str().expect("a trial"));
    assert_ne!(first, second);
    assert_eq!(told, [(first, 1, cause), (first, 2, "fail"), (second, 1, "fail")]);
    let trace = rows[0]["trace"].as_str().expect("a trace");
    let events = fs::read_to_string(run.join(trace).join("events.jsonl")).expect("events");
    let stopped: Vec<&str> = events.lines().filter(|line| line.contains("\"stopped\"")).collect();
    assert_eq!(stopped.len(), 1, "{stopped:?}");
    assert!(stopped[0].contains(part), "the trace names {part}: {stopped:?}");
    assert!(
        place.text("stdout").starts_with("0 of 2 passed, 2 failed, 0 void, 0 not run"),
        "{}",
        place.text("stdout")
    );
    let voided = place.text("stderr").lines().find(|line| line.starts_with("void ")).map(str::to_owned);
    assert!(voided.as_ref().is_some_and(|line| line.contains(part)), "the terminal names {part}: {voided:?}");
}

#[test]
fn a_lost_display_voids_the_attempt_alone() {
    check_lost_part("Xvfb", "world_lost", &[QUICK[0], QUICK[1]]);
}

#[test]
fn a_lost_window_manager_voids_the_attempt_alone() {
    check_lost_part("openbox", "input_lost", &[QUICK[0], QUICK[1]]);
}

#[test]
fn a_killed_program_voids_the_attempt_alone() {
    check_lost_part("mousepad", "world_lost", &[QUICK[0], QUICK[1]]);
    if is_installed("chromium") {
        check_lost_part("chromium", "world_lost", &["chromium-do-not-track", "chromium-allow-cookies"]);
    }
}

#[test]
fn a_missing_part_is_told_with_what_to_install() {
    if !worlds_can_start() || !rustix::process::geteuid().is_root() {
        println!("skipped: hiding a program needs root");
        return;
    }
    let place = Place::new();
    let suite = suite();
    let line =
        "mount --bind /dev/null /usr/bin/bwrap && exec \"$0\" run \"$1\" --model baseline/noop --task \"$2\"";
    let mut hidden = Command::new("unshare");
    hidden.args(["--mount", "sh", "-c", line, PROGRAM]).arg(&suite).arg(QUICK[0]);
    hidden.env("APPRENTICE_STATE", place.path("state")).env("APPRENTICE_RUNS", place.path("runs"));
    let output = hidden.output().expect("it starts");
    assert_eq!(output.status.code(), Some(11), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("apt-get install -y bubblewrap"), "{}", text(&output.stderr));
}

#[test]
fn weaker_isolation_is_recorded_in_every_row() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let mut running = place.run("baseline/solution", &QUICK[..1], "1");
    let status = running.env("APPRENTICE_ISOLATION", "plain").status().expect("it runs");
    assert_eq!(status.code(), Some(0), "{}", place.text("stderr"));
    let isolations: Vec<Value> =
        rows(&place.run_folder()).into_iter().map(|row| row["isolation"].clone()).collect();
    assert_eq!(isolations, ["plain"]);
}

#[test]
fn a_typo_in_a_task_is_told_with_its_place_and_the_nearest_name() {
    let place = Place::new();
    let task = suite().join("examples/mousepad/mousepad-add-line.json");
    let task = fs::read_to_string(task).expect("a task");
    for (right, wrong, story) in [
        ("\"template\"", "\"tmplate\"", ":13: unknown field `tmplate`; nearest is `template`"),
        (
            "\"exact_match\"",
            "\"exact_mach\"",
            ":13: unknown metric \"exact_mach\"; nearest is \"exact_match\"",
        ),
    ] {
        let line = task.lines().position(|line| line.contains(right)).expect("it is there") + 1;
        fs::write(place.path("typo.json"), task.replacen(right, wrong, 1)).expect("written");
        let output = place.output(&["run", "typo.json", "--model", "baseline/noop"]);
        assert_eq!(output.status.code(), Some(3));
        let told = text(&output.stderr);
        assert!(told.contains(&format!("typo.json:{line}{story}")), "{told}");
    }
    assert!(!place.path("runs").exists(), "nothing was begun");
}

#[test]
fn wrong_names_are_told_with_the_nearest_or_with_all() {
    let place = Place::new();
    let suite = suite().to_string_lossy().into_owned();
    let check = |arguments: &[&str], code: i32, parts: &[&str]| {
        let output = place.output(&[&["run"], arguments].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        for part in parts {
            assert!(told.contains(part), "{arguments:?}: {told}");
        }
    };
    let noop = "baseline/noop";
    check(
        &[&suite, "--model", "builtin/explorr"],
        20,
        &["\"builtin/explorr\"", "nearest name is \"builtin/explorer\""],
    );
    check(&[&suite, "--model", "baseline/solutoin"], 20, &["nearest name is \"baseline/solution\""]);
    check(&[&suite, "--model", noop, "--arm", "puul"], 2, &["no arm \"puul\"", "pull"]);
    check(&["no/such/suite", "--model", noop], 3, &["cannot read no/such/suite"]);
    check(
        &[&suite, "--model", noop, "--task", "mousepad-ad-line"],
        4,
        &["nearest id is \"mousepad-add-line\""],
    );
    check(
        &[&suite, "--model", noop, "--skillbook", "nowhere", "--arm", "pull"],
        3,
        &["no skillbook at nowhere"],
    );
    assert!(!place.path("runs").exists(), "nothing was begun");
}
