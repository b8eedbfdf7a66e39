//! What tests of the real program share: a place of their own, the started program, processes, rows.
//!
//! Nothing here waits for a length of time: files and `/proc` are polled up to a deadline.
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use apprentice_protocol::Clock as _;
use apprentice_sandbox::SystemClock;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::published;
use crate::starter::{NEEDED, is_installed};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_apprentice");
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);
pub(crate) const POLL_FLOOR: Duration = Duration::from_millis(5);
/// Tasks that their solutions pass within seconds.
pub(crate) const QUICK: [&str; 3] = ["mousepad-add-line", "mousepad-windows-lines", "mousepad-total"];

/// Polls until something is there.
pub(crate) fn await_some<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    await_within(DEADLINE, what, look)
}

/// Polls for this long until something is there.
pub(crate) fn await_within<T>(deadline: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = SystemClock::new();
    let began = clock.mono();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock.mono() - began < deadline, "{what}: not within {deadline:?}");
        std::thread::park_timeout(POLL_FLOOR);
    }
}

/// Whether the programs are there that desktop trials of the quick tasks need; says so if not.
pub(crate) fn worlds_can_start() -> bool {
    let needed = NEEDED.iter().copied().chain(["mousepad"]);
    let missing: Vec<&str> = needed.filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() {
        println!("skipped: not installed: {missing:?}");
    }
    missing.is_empty()
}

pub(crate) fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tasks/starter").canonicalize().expect("the suite")
}

/// Copies a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let place = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).expect("copied");
        }
    }
}

/// A folder of one test's own: home, state, runs.
pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Cells that root starts run as another user, who has to reach their state.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
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

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        output_of(&mut self.command(arguments))
    }

    /// Writes a suite of tasks that differ from an empty one in what is given, and lack what is null; their checks
    /// fail.
    pub(crate) fn suite(&self, tasks: &[(&str, Value)]) -> PathBuf {
        let folder = self.path("suite");
        fs::create_dir_all(folder.join("examples/own")).expect("a folder");
        let names: Vec<&str> = tasks.iter().map(|(name, _)| *name).collect();
        fs::write(folder.join("suite.json"), json!({ "own": names }).to_string()).expect("written");
        for (name, parts) in tasks {
            let mut task = json!({
                "id": name,
                "instruction": "Do nothing.",
                "config": [],
                "evaluator": {
                    "func": "exact_match",
                    "result": { "type": "vm_command_line", "command": ["echo", "found"] },
                    "expected": { "type": "rule", "rules": { "expected": "wanted\n" } },
                },
                "apprentice": { "environment": "desktop", "template": name },
            });
            for (key, part) in parts.as_object().expect("an object") {
                match part {
                    Value::Null => drop(task.as_object_mut().and_then(|task| task.remove(key))),
                    part => task[key] = part.clone(),
                }
            }
            fs::write(folder.join(format!("examples/own/{name}.json")), task.to_string()).expect("written");
        }
        folder
    }

    /// Starts a run of tasks of the starter suite, with its output in files.
    pub(crate) fn run(&self, model: &str, tasks: &[&str], seeds: &str) -> Command {
        let mut command = self.run_of(&suite(), model);
        command.args(["--seeds", seeds]);
        for task in tasks {
            command.args(["--task", task]);
        }
        command
    }

    /// Starts a run of a suite, with its output in files.
    pub(crate) fn run_of(&self, suite: &Path, model: &str) -> Command {
        let mut command = self.command(&["run", &suite.to_string_lossy(), "--model", model]);
        let file = |name: &str| fs::File::create(self.path(name)).expect("a file");
        command.stdout(file("stdout")).stderr(file("stderr"));
        command
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The one run's folder, as soon as it is there.
    pub(crate) fn run_folder(&self) -> PathBuf {
        await_some("the run's folder", || {
            let mut runs = fs::read_dir(self.path("runs")).ok()?.flatten();
            runs.next().map(|entry| entry.path()).filter(|folder| folder.join("run.json").exists())
        })
    }

    pub(crate) fn cells(&self) -> Vec<String> {
        let names = fs::read_dir(self.path("state")).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("cell-")).collect()
    }
}

/// Runs the program to its end. What it prints with `--json` has the form that is published for its command.
pub(crate) fn output_of(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    let arguments: Vec<&str> = command.get_args().filter_map(OsStr::to_str).collect();
    published::check(&arguments, &output.stdout);
    output
}

/// The started program; it does not outlive its test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(command.spawn().expect("it starts"))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.id(), signal);
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        await_some("the end of the program", || self.0.try_wait().expect("asked"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn send(process: u32, signal: Signal) {
    let process = Pid::from_raw(process.cast_signed()).expect("a process id");
    kill_process(process, signal).expect("signalled");
}

/// One process as `/proc` tells it. Together with its start the id is never used again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) began: String,
    pub(crate) name: String,
    pub(crate) parent: u32,
    /// Its namespace of process ids, where that may be read.
    pub(crate) space: Option<PathBuf>,
}

/// Every process that is not a zombie.
pub(crate) fn processes() -> Vec<Process> {
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
pub(crate) fn below(root: u32) -> Vec<Process> {
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
pub(crate) fn await_ends(gone: &[Process]) {
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

/// The lines of all traces of a run so far.
pub(crate) fn events(run: &Path) -> Vec<String> {
    let trials = fs::read_dir(run.join("trials")).into_iter().flatten().flatten();
    let attempts = trials.flat_map(|trial| fs::read_dir(trial.path()).into_iter().flatten().flatten());
    let texts = attempts.filter_map(|attempt| fs::read_to_string(attempt.path().join("events.jsonl")).ok());
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Checks that every attempt which has a row has left a whole trace, with one end.
pub(crate) fn check_traces(run: &Path) {
    for row in rows(run) {
        let trace = run.join(row["trace"].as_str().expect("a trace")).join("events.jsonl");
        let text = fs::read_to_string(trace).expect("a trace");
        let kinds: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("an event")["kind"].clone())
            .collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "stopped").count(), 1, "{kinds:?}");
        let closed = kinds.iter().filter(|kind| **kind == "world.closed").count();
        let opened = kinds.iter().filter(|kind| **kind == "world.opened").count();
        assert_eq!(opened, closed, "{kinds:?}");
    }
}

/// The whole lines of a run's rows. What follows the last line break is not a row.
pub(crate) fn lines(run: &Path) -> Vec<String> {
    let text = fs::read_to_string(run.join("trials.jsonl")).unwrap_or_default();
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
}

pub(crate) fn rows(run: &Path) -> Vec<Value> {
    lines(run).iter().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// Checks that a run is whole: each of its trials has one judged row, which is its last, and it is a pass.
pub(crate) fn check_each_passed_once(run: &Path, trials: usize) {
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

pub(crate) fn resumed(place: &Place, run: &Path) -> Value {
    let output = place.output(&["resume", &run.to_string_lossy(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a summary")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
