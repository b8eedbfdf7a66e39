//! Runs of several workers by the commands, over a PostgreSQL of the test's own. Only builds with `fleet` have them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::{PROGRAM, output_of};

/// A password that must be found nowhere.
const PLANTED: &str = "planted-password-1";

/// A server with one database; it takes connections by password over a socket in its folder.
struct Server {
    folder: TempDir,
    process: Child,
}

fn programs() -> PathBuf {
    let versions =
        fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL: scripts/setup --tests installs it");
    let mut found: Vec<PathBuf> = versions.filter_map(|one| Some(one.ok()?.path().join("bin"))).collect();
    found.retain(|folder| folder.join("initdb").is_file());
    found.sort();
    found.pop().expect("PostgreSQL: scripts/setup --tests installs it")
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("apprentice-pg.").tempdir().expect("a folder");
        let mut user = None;
        if rustix::process::getuid().is_root() {
            let accounts = fs::read_to_string("/etc/passwd").expect("accounts");
            let line =
                accounts.lines().find(|line| line.starts_with("postgres:")).expect("the package's user");
            let ids: Vec<u32> =
                line.split(':').skip(2).take(2).map(|id| id.parse().expect("a number")).collect();
            chown(folder.path(), Some(ids[0]), Some(ids[1])).expect("gives the folder away");
            user = Some(ids);
        }
        let command = |program: &str| {
            let mut command = Command::new(programs().join(program));
            command.current_dir(folder.path()).env_clear().env("LC_ALL", "C").stdin(Stdio::null());
            if let Some(ids) = &user {
                command.gid(ids[1]).uid(ids[0]);
            }
            command
        };
        let password = folder.path().join("password");
        fs::write(&password, PLANTED).expect("writes");
        let made = command("initdb")
            .args([
                "--username=postgres",
                "--auth=scram-sha-256",
                "--no-sync",
                "--locale=C",
                "--encoding=UTF8",
            ])
            .arg(format!("--pwfile={}", password.display()))
            .args(["--pgdata", "data"])
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let process = command("postgres")
            .args(["-D", "data", "-c", "listen_addresses="])
            .args(["-c", &format!("unix_socket_directories={}", folder.path().display())])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("postgres starts");
        Self { folder, process }
    }

    fn address(&self) -> String {
        format!("postgres://postgres@/postgres?host={}", self.folder.path().display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::QUIT);
        let _ = self.process.wait();
    }
}

pub(crate) struct Place {
    server: Server,
    pub(crate) home: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { server: Server::start(), home: tempfile::tempdir().expect("a folder") };
        let tasks: Vec<Value> = (0..6).map(task).collect();
        let suite = place.home.path().join("suite");
        fs::create_dir_all(suite.join("examples/scene")).expect("a folder");
        let ids: Vec<&str> = tasks.iter().filter_map(|task| task["id"].as_str()).collect();
        fs::write(suite.join("suite.json"), json!({ "scene": ids }).to_string()).expect("writes");
        for (task, id) in tasks.iter().zip(&ids) {
            fs::write(suite.join(format!("examples/scene/{id}.json")), task.to_string()).expect("writes");
        }
        place
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(line.split_whitespace()).current_dir(self.home.path()).env_clear();
        command.env("HOME", self.home.path()).env("PATH", "/usr/bin:/bin");
        command.env("APPRENTICE_QUEUE", self.server.address()).env("PGPASSWORD", PLANTED);
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        output_of(&mut self.command(line))
    }

    pub(crate) fn succeeds(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    pub(crate) fn fails(&self, line: &str, code: i32) -> String {
        let output = self.run(line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        said
    }

    /// The results of a run by trial, without what differs between two runs.
    fn results(&self, run: &Path) -> BTreeMap<String, Value> {
        let rows = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
        let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
        rows.map(|mut row| {
            for field in ["run", "started_at", "wall_s", "working_s"] {
                row.as_object_mut().expect("an object").remove(field);
            }
            (row["trial"].as_str().expect("an id").to_owned(), row)
        })
        .collect()
    }
}

/// Ticks a box in a world in memory.
fn task(number: u32) -> Value {
    json!({
        "id": format!("tick-{number}"),
        "instruction": "Tick the box that shows {{what}}.",
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "ticked"], "method": "eq", "ref": true } ] } }
        },
        "apprentice": {
            "environment": "scene",
            "template": format!("tick-{number}"),
            "screen": { "width": 640, "height": 400 },
            "scene": { "start": "main", "state": { "ticked": false }, "pages": { "main": {
                "title": "Main",
                "controls": [{ "role": "checkbox", "name": "Show {{what}}", "bind": "ticked" }] } } },
            "vary": { "what": ["rulers", "margins", "guides", "grids"] },
            "solution": [{ "click": { "role": "checkbox", "name": "Show {{what}}" } }]
        }
    })
}

/// Whether a text stands in a file below a folder.
fn found_below(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).expect("a folder").flatten().any(|entry| match entry.path() {
        path if path.is_dir() => found_below(&path, text),
        path => {
            fs::read(path).is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        }
    })
}

#[test]
fn a_run_of_four_workers_equals_one_of_this_machine() {
    let place = Place::new();
    let artifacts = place.home.path().join("artifacts");
    let options = "suite --model baseline/solution --seeds 3";
    let submit = format!("submit {options} --artifacts file://{} --json", artifacts.display());
    assert!(place.succeeds(&format!("{submit} --dry-run")).contains("apprentice.forecast/1"));
    let told: Value = serde_json::from_str(&place.succeeds(&submit)).expect("json");
    let run = told["run"].as_str().expect("a run").to_owned();
    assert!(place.succeeds("queue").contains("no worker of build"), "trials wait, and it says why");
    let workers: Vec<Child> = (0..4)
        .map(|at| {
            let mut command = place.command(&format!("worker --until-done --name w{at}"));
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts")
        })
        .collect();
    for worker in workers {
        let output = worker.wait_with_output().expect("ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let status: Value = serde_json::from_str(&place.succeeds("queue --json")).expect("json");
    assert_eq!(
        (&status["runs"][0]["done"], &status["runs"][0]["waiting"]),
        (&json!(18), &json!(0)),
        "{status}"
    );

    let fetched = PathBuf::from(place.succeeds(&format!("fetch {run}")));
    let fetched = place.home.path().join(fetched);
    place.succeeds(&format!("run {options} --out local"));
    let local =
        fs::read_dir(place.home.path().join("local")).expect("runs").flatten().next().expect("a run").path();
    assert_eq!(place.results(&fetched), place.results(&local));

    let name = fetched.display();
    for line in ["report", "grade", "bundle", "resume"] {
        place.succeeds(&format!("{line} {name}"));
    }
    place.succeeds(&format!("verify {name}.tar.gz"));
    assert_eq!(
        place.succeeds(&format!("fetch {run}")),
        fetched.strip_prefix(place.home.path()).expect("below").display().to_string()
    );
    assert!(!found_below(place.home.path(), PLANTED), "the password stands in no file");
    assert!(!found_below(&fetched, "postgres://"), "no address of a queue stands in a run");
}

/// The file below a folder that holds exactly these bytes.
fn file_of(folder: &Path, content: &[u8]) -> Option<PathBuf> {
    fs::read_dir(folder).expect("a folder").flatten().find_map(|entry| match entry.path() {
        path if path.is_dir() => file_of(&path, content),
        path => fs::read(&path).is_ok_and(|bytes| bytes == content).then_some(path),
    })
}

#[test]
fn a_worker_leaves_a_run_whose_suite_was_damaged_and_another_does_it_once_it_is_restored() {
    let place = Place::new();
    let artifacts = place.home.path().join("artifacts");
    let address = format!("file://{}", artifacts.display());
    place.succeeds(&format!("submit suite --model baseline/solution --artifacts {address}"));
    let content = fs::read(place.home.path().join("suite/examples/scene/tick-3.json")).expect("a task");
    let kept = file_of(&artifacts, &content).expect("the task is stored");
    // Still a task, and no longer the one that was submitted.
    let other = String::from_utf8_lossy(&content).replace("\"ref\":true", "\"ref\":false");
    assert_ne!(other.as_bytes(), content);
    fs::write(&kept, other).expect("writes");
    let of_run = |field: &str| {
        let status: Value = serde_json::from_str(&place.succeeds("queue --json")).expect("json");
        status["runs"][0][field].as_u64().expect("a number")
    };
    let output = place.run("worker --until-done --name careful");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "nothing is left that it can do: {said}");
    assert!(said.contains("leaves a run to others") && said.contains("changed or damaged"), "{said}");
    assert_eq!((of_run("done"), of_run("running")), (0, 0), "no trial ran on another suite");
    let waiting = of_run("waiting");
    fs::write(&kept, &content).expect("restores");
    place.succeeds("worker --until-done --name later");
    assert_eq!((of_run("done"), of_run("waiting")), (waiting, 0));
}

#[test]
fn what_is_wrong_is_told_before_anything_is_queued() {
    let place = Place::new();
    let submit = "submit suite --model baseline/solution --artifacts";
    let secret = format!("postgres://postgres:{PLANTED}@db.example/postgres");
    let said = place.fails(&format!("{submit} file:///tmp --queue {secret}"), 2);
    assert!(said.contains("--queue-file") && !said.contains(PLANTED), "{said}");
    let said = place.fails(&format!("{submit} ftp://bucket"), 2);
    assert!(said.contains("file:///FOLDER"), "{said}");
    let said = place.fails("worker --queue mysql://x", 2);
    assert!(said.contains("postgres://USER@HOST"), "{said}");
    let said = place.fails("worker", 3);
    assert!(said.contains("holds no queue"), "{said}");

    place.succeeds("queue --migrate");
    let said = place.fails("fetch none", 4);
    assert!(said.contains("apprentice queue"), "{said}");
    place.fails("cancel none", 4);
    place.fails("drain none", 4);
    let said = place.fails(&format!("--max-usd 1 {submit} file://{}/a", place.home.path().display()), 2);
    assert!(said.contains("cap.trial_usd"), "{said}");
    assert!(place.run("queue").stdout.is_empty(), "nothing was queued");
}
