//! What can be known before the first trial is said before it, and what is missing gives no verdict.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Output;

use serde_json::{Value, json};

use crate::place::{Place, worlds_can_start};

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A task in OSWorld's form whose setup is this one step.
fn step(kind: &str, parameters: &Value) -> Value {
    json!({ "config": [{ "type": kind, "parameters": parameters }], "apprentice": null })
}

/// Tasks that start a program that is nowhere, each in another way.
fn without_their_program() -> Vec<(&'static str, Value)> {
    vec![
        ("plain", step("launch", &json!({ "command": ["nosuchprog", "--x"] }))),
        ("shell", step("launch", &json!({ "command": "A=1 nosuchprog --x", "shell": true }))),
        ("chain", step("execute", &json!({ "command": "cd /tmp && nosuchprog; true", "shell": true }))),
        ("pipe", step("execute", &json!({ "command": "nosuchprog | cat", "shell": true }))),
        (
            "script",
            step("launch", &json!({ "command": ["sh", "-c", "sleep 0 & nohup nosuchprog >/dev/null"] })),
        ),
        ("inner", step("execute", &json!({ "command": "bash -c 'true && nosuchprog'", "shell": true }))),
        (
            "python",
            step(
                "execute",
                &json!({ "command": ["python3", "-c", "import subprocess; subprocess.Popen(['nosuchprog'])"] }),
            ),
        ),
        (
            "system",
            step("execute", &json!({ "command": ["python3", "-c", "import os; os.system('nosuchprog')"] })),
        ),
    ]
}

#[test]
fn a_missing_program_gives_no_verdict_however_it_is_started_and_is_tried_once() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let mut tasks = without_their_program();
    tasks.push(("provided", step("execute", &json!({ "command": "nosuchprog || true", "shell": true }))));
    let suite = place.suite(&tasks);
    let output = place.output(&["run", &suite.to_string_lossy(), "--model", "baseline/noop"]);
    let told = said(&output);
    let lines = |start: &str| told.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(lines("void "), 8, "one attempt each: {told}");
    assert_eq!(lines("pass ") + lines("fail "), 1, "{told}");
    assert!(told.contains("fail provided (own) "), "{told}");
    assert_eq!(told.matches("missing program: ").count(), 8, "{told}");
    assert!(
        told.contains("6 of 9 tasks cannot run or be graded here:\n    6 lack a program: nosuchprog (6)"),
        "{told}"
    );
    assert!(!told.contains("WARN"), "a void attempt is said once: {told}");
    let again = place.output(&["resume", &place.run_folder().to_string_lossy()]);
    assert_eq!(
        said(&again).matches("missing program: ").count(),
        8,
        "it may be there by now: {}",
        said(&again)
    );
}

#[test]
fn a_dry_run_says_what_cannot_run_and_a_selection_leaves_it_out() {
    let place = Place::new();
    let mut tasks = without_their_program();
    tasks.push(("windw", step("launch", &json!({ "command": ["sh"], "windw": "Terminal" }))));
    tasks.push(("newer", step("launch", &json!({ "command": ["sh"], "timeout": 3 }))));
    let suite = place.suite(&tasks);
    let dry = |more: &[&str]| {
        let words =
            [&["run", suite.to_str().expect("text"), "--model", "baseline/noop", "--dry-run"], more].concat();
        said(&place.output(&words))
    };
    let told = dry(&[]);
    assert!(told.contains("of 10 tasks cannot run or be graded here:"), "{told}");
    assert!(
        told.contains(
            "1 has a fault: setup step \"launch\": unknown parameter \"windw\"; did you mean \"window\"?"
        ),
        "{told}"
    );
    assert!(told.contains("the package of nosuchprog is not known here"), "{told}");
    assert!(told.contains("`--runnable-here` leaves them out"), "{told}");
    assert!(told.ends_with("10 attempts, free\n") || told.starts_with("10 attempts, free\n"), "{told}");
    assert!(!told.contains("timeout"), "a later version of the format may have it: {told}");
    if worlds_can_start() {
        let left = dry(&["--runnable-here"]);
        assert!(left.contains("3 attempts, free"), "{left}");
    }
    let parts: Vec<String> = ["1/3", "2/3", "3/3"].iter().map(|part| dry(&["--partition", part])).collect();
    for (part, attempts) in parts.iter().zip(["4 attempts", "3 attempts", "3 attempts"]) {
        assert!(part.contains(attempts), "{part}");
    }
    assert!(dry(&["--domain", "own"]).contains("10 attempts"));
    assert!(dry(&["--domain", "onw"]).contains("did you mean \"own\"?"));
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place_and_a_remedy() {
    let place = Place::new();
    let suite = place.suite(&[("a-task", json!({}))]);
    let suite = suite.to_str().expect("text");
    fs::write(place.path("suite/split.toml"), "suite = 'suite'\nsalt = '1'\n[train]\na-task = ['a-task']\n")
        .expect("written");
    let run = |more: &[&str]| {
        let words = [&["run", suite, "--model", "compat/m", "--dry-run"], more].concat();
        let output = place.output(&words);
        assert_ne!(output.status.code(), Some(0), "{more:?}: {}", said(&output));
        said(&output)
    };
    for (words, told) in [
        (&["--max-steps", "0"][..], "'--max-steps <N>': expected a whole number, 1 or more"),
        (&["--seeds", "0"], "'--seeds <SEEDS>': expected a whole number, 1 or more"),
        (&["--seeds", "-2"], "expected a whole number, 1 or more"),
        (&["--working-s", "0"], "expected a whole number, 1 or more"),
        (&["--jobs", "-1"], "'--jobs <N>': expected a whole number, 0 or more"),
        (&["--max-usd", "-1"], "expected an amount in US dollars"),
        (&["--partition", "4/3"], "expected PART/PARTS, such as 3/50"),
        (&["--prefix", "zzz"], "no id of a task begins with \"zzz\""),
        (&["--prefix", "a-tsk"], "did you mean \"a-task\"?"),
        (&["--base-url", "127.0.0.1:8000/v1"], "did you mean http://127.0.0.1:8000/v1?"),
        (
            &["--split", &format!("{suite}/split.toml")],
            "is a draft of a split; lock it first: `apprentice split lock",
        ),
    ] {
        assert!(run(words).contains(told), "{words:?}: {}", run(words));
    }
    let above = place.output(&["run", ".", "--model", "baseline/noop", "--dry-run"]);
    assert!(said(&above).contains("suites lie below it: ./suite/suite.json"), "{}", said(&above));
    for words in [&["do", "x", "--app", "mousepd a.txt"][..], &["serve", "--app", "mousepd"]] {
        let output = place.output(words);
        assert!(
            said(&output).contains("there is no program \"mousepd\" on this machine"),
            "{}",
            said(&output)
        );
        assert!(said(&output).contains("did you mean \"mousepad\"?"), "{}", said(&output));
    }
    let baseline = place.output(&["do", "x", "--model", "baseline/noop"]);
    assert!(said(&baseline).contains("baselines are for `run`"), "{}", said(&baseline));
}

#[test]
fn what_a_newcomer_may_mistake_is_said_before_the_first_trial() {
    let place = Place::new();
    let suite = place.suite(&[("mail-sign", json!({})), ("mail-sort", json!({}))]);
    let suite = suite.to_str().expect("text");
    fs::write(place.path("afile"), "").expect("written");
    for folder in ["clone/evaluation/apps", "clone/tasks/one"] {
        fs::create_dir_all(place.path(folder)).expect("made");
    }
    fs::write(place.path("clone/tasks/one/task.json"), r#"{"id": "one", "app": "x", "task": "Do."}"#)
        .expect("written");
    let (clone, task) = (place.path("clone"), place.path("clone/tasks/one/task.json"));
    let (clone, task) = (clone.to_str().expect("text"), task.to_str().expect("text"));
    let is_clone = format!("`apprentice tasks add opencomputer --from {clone} --to DIR` makes a suite of it");
    let with =
        |more: &[&'static str]| [&["run", suite, "--model", "baseline/noop", "--dry-run"], more].concat();
    for (words, told) in [
        (with(&["--task", "mail-*"]), "`--prefix mail-` selects the 2 tasks whose ids begin so"),
        (with(&["--task", "mail"]), "`--prefix mail` selects the 2 tasks"),
        (with(&["--task", "quite-another"]), "prints the ids"),
        (with(&["--out", "afile"]), "afile is a file; --out names the folder"),
        (with(&["--ci", "--junit", "none/j.xml"]), "--junit: there is no folder none"),
        (with(&["--ci", "--junit", "clone"]), "--junit: clone is a folder"),
        (with(&["--api-key", "x"]), "put it into the variable"),
        (with(&["--seeds", "5"]), "no selected task varies, so that each is run once"),
        (vec!["tasks", "show", suite, "mail-sing"], "did you mean \"mail-sign\"?"),
        (vec!["run", clone, "--model", "baseline/noop"], &is_clone),
        (vec!["run", task, "--model", "baseline/noop"], &is_clone),
    ] {
        let output = place.output(&words);
        assert!(said(&output).contains(told), "{words:?}: {}", said(&output));
        assert!(!said(&output).contains("as a value, use"), "{words:?}: {}", said(&output));
    }
    let misspelt = place.command(&with(&[])).env("APPRENTICE_JOB", "2").output().expect("it starts");
    assert!(said(&misspelt).contains("did you mean APPRENTICE_JOBS?"), "{}", said(&misspelt));
}

#[cfg(not(feature = "fleet"))]
#[test]
fn commands_of_a_fleet_are_named_where_the_build_is_without() {
    let place = Place::new();
    for name in ["submit", "worker"] {
        let told = said(&place.output(&[name, "x"]));
        assert!(told.contains("--features fleet") && !told.contains("similar subcommand"), "{told}");
    }
    assert!(said(&place.output(&["runn"])).contains("similar subcommand"));
}

/// Answers `GET /v1/models` with a list, and everything else with 404, until the test ends.
fn server_of(models: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let (mut first, mut line) = (String::new(), String::new());
            let _ = reader.read_line(&mut first);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let list: Vec<Value> = models.iter().map(|id| json!({ "id": id })).collect();
            let (status, body) = match first.starts_with("GET /v1/models ") {
                true => ("200 OK", json!({ "object": "list", "data": list }).to_string()),
                false => ("404 Not Found", "{}".to_owned()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = (&stream).write_all(format!("{head}{body}").as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn a_dry_run_compares_the_models_name_with_those_that_its_server_lists() {
    let place = Place::new();
    let suite = place.suite(&[("a-task", json!({}))]);
    let address = server_of(&["small-model", "large-model"]);
    let dry = |model: &str, address: &str| {
        let words =
            ["run", suite.to_str().expect("text"), "--model", model, "--base-url", address, "--dry-run"];
        said(&place.output(&words))
    };
    let wrong = dry("compat/smal-model", &format!("{address}/v1"));
    assert!(
        wrong.contains("its server lists no model \"smal-model\"; it serves small-model, large-model; did you mean \"small-model\"?"),
        "{wrong}"
    );
    let right = dry("compat/small-model", &format!("{address}/v1"));
    assert!(!right.contains("lists no model") && right.contains("1 attempt"), "{right}");
    let above = dry("compat/small-model", &address);
    assert!(above.contains("the addresses of most servers end in /v1"), "{above}");
    let nobody = dry("compat/small-model", "http://127.0.0.1:9/v1");
    assert!(nobody.contains("no server answers at http://127.0.0.1:9/v1 yet"), "{nobody}");
}

#[test]
fn a_run_is_resumed_from_another_folder_and_writes_what_a_build_server_reads() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    place.suite(&[("a-task", json!({}))]);
    let first = place.output(&["run", "suite", "--model", "baseline/noop"]);
    assert_eq!(first.status.code(), Some(10), "{}", said(&first));
    let run = place.run_folder();
    fs::create_dir(place.path("elsewhere")).expect("a folder");
    let mut resume = place.command(&["resume", run.to_str().expect("text"), "--ci", "--fail-under", "0"]);
    let output = resume.current_dir(place.path("elsewhere")).output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let xml = fs::read_to_string(run.join("junit.xml")).expect("a file");
    assert!(xml.contains("classname=\"suite.own\"") && xml.contains("Do nothing."), "{xml}");
    fs::rename(place.path("suite"), place.path("moved")).expect("moved");
    let moved = place.path("moved");
    let words = [
        "resume",
        run.to_str().expect("text"),
        "--suite",
        moved.to_str().expect("text"),
        "--ci",
        "--fail-under",
        "0",
    ];
    let output = place.output(&words);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn a_suite_begins_with_its_first_task() {
    let place = Place::new();
    let new = |more: &[&str]| {
        let words = ["tasks", "new", "mine", "--app", "mousepad", "--instruction", "Write a line."];
        let rest = ["--check", "cat a.txt", "--expect", "a"];
        place.output(&[&words[..], &rest[..], more].concat())
    };
    let wrong = new(&["--id", "No Id"]);
    assert_ne!(wrong.status.code(), Some(0), "{}", said(&wrong));
    assert!(!place.path("mine").exists(), "nothing is written");
    let first = new(&["--id", "first"]);
    assert_eq!(first.status.code(), Some(0), "{}", said(&first));
    assert_eq!(new(&["--id", "second"]).status.code(), Some(0));
    let listed = place.output(&["tasks", "list", "mine"]);
    assert!(said(&listed).contains("first") && said(&listed).contains("second"), "{}", said(&listed));
}

#[test]
fn the_doctor_names_the_programs_that_a_suite_lacks() {
    let place = Place::new();
    let suite = place.suite(&without_their_program());
    let output = place.output(&["doctor", "--suite", &suite.to_string_lossy()]);
    let told = said(&output);
    assert_eq!(output.status.code(), Some(21), "{told}");
    assert!(told.contains("MISSING nosuchprog\n        effect: 6 tasks of the suite"), "{told}");
    assert!(told.contains("6 of 8 tasks cannot run or be graded here:"), "{told}");
    let as_json = place.output(&["doctor", "--suite", &suite.to_string_lossy(), "--json"]);
    let report: Value = serde_json::from_slice(&as_json.stdout).expect("one object");
    let lacked = report["findings"].as_array().expect("findings").iter().find(|one| one["group"] == "suite");
    assert_eq!(lacked.map(|one| (&one["name"], &one["ok"])), Some((&"nosuchprog".into(), &false.into())));
    let refused = place.output(&["doctor", "--suite", "nowhere"]);
    assert!(said(&refused).contains("nowhere: it does not exist"), "{refused:?}");
}
