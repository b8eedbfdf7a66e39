//! Faults through the real program: killed owners, killed parts of a world, bad input.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{
    PROGRAM, Place, QUICK, Running, await_ends, await_some, below, check_each_passed_once, lines, resumed,
    rows, send, suite, text, worlds_can_start,
};
use crate::starter::is_installed;

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

/// Runs one hanging trial whose world loses a part in the first attempt, and beside it one that loses nothing.
fn check_lost_part(part: &str, cause: &str, tasks: &[&str; 2]) {
    if worlds_can_start() {
        let place = Place::new();
        let command = place.run("scripted:script.jsonl", tasks, "1");
        check_loss(&place, command, part, cause);
    }
}

fn check_loss(place: &Place, mut command: Command, part: &str, cause: &str) {
    let script = [
        r#"{"calls":[{"name":"computer","arguments":{"actions":[{"do":"wait","ms":4000}]}}]}"#,
        r#"{"calls":[{"name":"finish","arguments":{"finish":"give_up","reason":"the script ends"}}]}"#,
    ];
    fs::write(place.path("script.jsonl"), script.join("\n")).expect("written");
    command.env("APPRENTICE_JOBS", "1");
    let mut running = Running::start(command);
    let run = place.run_folder();
    await_some("the first attempt's turn", || {
        let mut attempts = fs::read_dir(run.join("trials")).ok()?.flatten();
        let events = fs::read_to_string(attempts.next()?.path().join("attempt-01/events.jsonl")).ok()?;
        events.contains("model.replied").then_some(())
    });
    // The oldest one: worlds of later trials may be prepared already, and numbers of processes begin anew.
    let found = below(running.id()).into_iter().filter(|process| process.name == part);
    let found = found.min_by_key(|process| process.began.parse::<u64>().expect("ticks since the start"));
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
fn a_killed_browser_voids_the_attempt_alone() {
    if !worlds_can_start() || !is_installed("chromium") {
        return;
    }
    let place = Place::new();
    let world = |name: &str| json!({ "apprentice": { "environment": "browser", "template": name } });
    let suite = place.suite(&[("one", world("one")), ("other", world("other"))]);
    let command = place.run_of(&suite, "scripted:script.jsonl");
    check_loss(&place, command, "chromium", "world_lost");
}

#[test]
fn a_program_that_the_attempt_kills_itself_voids_nothing() {
    if !worlds_can_start() || !is_installed("xfce4-terminal") {
        return;
    }
    let place = Place::new();
    let launch = |argv: &[&str], window: &str| json!({ "type": "launch", "parameters": { "command": argv, "window": window } });
    let config =
        json!({ "config": [launch(&["mousepad"], "Mousepad"), launch(&["xfce4-terminal"], "Terminal")] });
    let suite = place.suite(&[("one", config)]);
    let script = [
        r#"{"calls":[{"name":"computer","arguments":{"actions":[{"do":"type","text":"pkill -9 mousepad; echo $?\n"},{"do":"wait","ms":700}]}}]}"#,
        r#"{"calls":[{"name":"finish","arguments":{"finish":"give_up","reason":"the script ends"}}]}"#,
    ];
    fs::write(place.path("script.jsonl"), script.join("\n")).expect("written");
    let mut running = Running::start(place.run_of(&suite, "scripted:script.jsonl"));
    assert_eq!(running.ended().code(), Some(10), "{}", place.text("stderr"));
    let run = place.run_folder();
    let verdicts: Vec<Value> = rows(&run).into_iter().map(|row| row["verdict"].clone()).collect();
    assert_eq!(verdicts, ["fail"], "{}", place.text("stderr"));
    let seen = fs::read_dir(run.join("blobs")).expect("blobs").flatten();
    let seen = seen.filter_map(|blob| fs::read_to_string(blob.path()).ok());
    let outlines: Vec<String> = seen.filter(|text| text.contains("Terminal")).collect();
    let ended = outlines.iter().any(|outline| !outline.contains("Mousepad"));
    assert!(ended, "the program was killed: {outlines:?}");
}

#[test]
fn what_was_given_up_of_separation_and_what_changes_views_stand_in_the_plan() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let mut running = place.run("baseline/noop", &QUICK[..1], "1");
    running.env("APPRENTICE_ISOLATION", "plain").env("APPRENTICE_BROWSER_SANDBOX", "off");
    running.env("APPRENTICE_PAGE_SCRIPTS", "on").env("APPRENTICE_POINTER", "off");
    running.env("APPRENTICE_BROWSER_PICTURES", "protocol");
    assert_eq!(running.status().expect("it runs").code(), Some(10), "{}", place.text("stderr"));
    let plan = fs::read_to_string(place.run_folder().join("run.json")).expect("a plan");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    let said = [
        "isolation: plain",
        "browser_sandbox: off",
        "browser_pictures: protocol",
        "page_scripts: on",
        "pointer: off",
    ];
    assert_eq!(plan["concessions"], json!(said));
}

#[test]
fn episodes_in_one_browser_need_isolated_worlds_and_stand_in_the_plan() {
    if !worlds_can_start() {
        return;
    }
    let run = |isolation: &str| {
        let place = Place::new();
        let mut running = place.run("baseline/noop", &QUICK[..1], "1");
        running.env("APPRENTICE_BROWSER_REUSE", "context").env("APPRENTICE_ISOLATION", isolation);
        let code = running.status().expect("it runs").code();
        (place, code)
    };
    let (place, code) = run("cell");
    assert_eq!(code, Some(10), "{}", place.text("stderr"));
    let plan = fs::read_to_string(place.run_folder().join("run.json")).expect("a plan");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    assert_eq!(plan["concessions"], json!(["browser_reuse: context"]));
    let (place, code) = run("plain");
    assert_eq!(code, Some(3), "{}", place.text("stderr"));
    assert!(place.text("stderr").contains("needs isolated worlds"), "{}", place.text("stderr"));
}

#[test]
fn a_key_of_ours_stands_nowhere_in_a_run() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let planted = "planted-key-5f1c9b7e";
    let show = json!({ "type": "vm_command_line", "command": ["echo", format!("it is {planted}")] });
    let parts = json!({
        "instruction": format!("Write {planted} down."),
        "evaluator": {
            "func": "exact_match",
            "result": show,
            "expected": { "type": "rule", "rules": { "expected": "it is [redacted]\n" } },
        },
    });
    let suite = place.suite(&[("one", parts)]);
    let mut running = place.run_of(&suite, "baseline/noop");
    running.env("SOME_PROVIDER_API_KEY", planted);
    assert_eq!(running.status().expect("it runs").code(), Some(0), "{}", place.text("stderr"));
    let run = place.run_folder();
    let trial = run.join(rows(&run)[0]["trace"].as_str().expect("a trace"));
    for part in ["events.jsonl", "evidence/evidence.json"] {
        let text = fs::read_to_string(trial.join(part)).expect(part);
        assert!(text.contains("[redacted]") && !text.contains(planted), "{part}: {text}");
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
fn a_container_without_user_namespaces_is_the_boundary_and_every_row_says_so() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    // As in Docker's default profile: the program's user is root, and nothing in it makes a user namespace.
    let line = "echo 0 > /proc/sys/user/max_user_namespaces && ! unshare --user true 2> /dev/null && \
                exec \"$0\" run \"$1\" --model baseline/solution --task \"$2\" --isolation container";
    let mut inside = Command::new("unshare");
    inside.args(["--user", "--map-root-user", "sh", "-c", line, PROGRAM]).arg(suite()).arg(QUICK[0]);
    inside.env("container", "lxc");
    inside.env("APPRENTICE_STATE", place.path("state")).env("APPRENTICE_RUNS", place.path("runs"));
    let output = inside.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plan = fs::read_to_string(place.run_folder().join("run.json")).expect("a plan");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    assert_eq!(plan["concessions"], json!(["isolation: container (lxc)"]));
    let isolations: Vec<Value> =
        rows(&place.run_folder()).into_iter().map(|row| row["isolation"].clone()).collect();
    assert_eq!(isolations, ["container"]);
}

#[test]
fn a_typo_in_a_task_is_told_with_its_place_and_the_nearest_name() {
    let place = Place::new();
    let task = suite().join("examples/mousepad/mousepad-add-line.json");
    let task = fs::read_to_string(task).expect("a task");
    for (right, wrong, story) in [
        ("\"template\"", "\"tmplate\"", ":13: unknown field `tmplate`; did you mean \"template\"?"),
        (
            "\"exact_match\"",
            "\"exact_mach\"",
            ":13: unknown metric \"exact_mach\"; did you mean \"exact_match\"?",
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
        &["\"builtin/explorr\"", "did you mean \"builtin/explorer\"?"],
    );
    check(&[&suite, "--model", "baseline/solutoin"], 20, &["did you mean \"baseline/solution\"?"]);
    check(&[&suite, "--model", noop, "--arm", "puul"], 2, &["no arm \"puul\"", "pull"]);
    check(&["no/such/suite", "--model", noop], 3, &["cannot read no/such/suite"]);
    check(
        &[&suite, "--model", noop, "--task", "mousepad-ad-line"],
        4,
        &["did you mean \"mousepad-add-line\"?"],
    );
    check(
        &[&suite, "--model", noop, "--skillbook", "nowhere", "--arm", "pull"],
        3,
        &["no skillbook at nowhere"],
    );
    assert!(!place.path("runs").exists(), "nothing was begun");
}
