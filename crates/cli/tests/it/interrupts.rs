//! Interrupts of the real program: in every phase of a trial, under load, and twice. Whatever it is doing, it
//! stops soon, says how to go on, and leaves nothing behind; and what is killed instead loses no result.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use apprentice_protocol::Clock as _;
use apprentice_sandbox::SystemClock;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{
    Place, QUICK, Running, await_ends, await_some, below, check_each_passed_once, check_traces, events,
    lines, resumed, rows, worlds_can_start,
};

/// How long a stopped run may take to end: an attempt that is being judged is given some seconds to be.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long a program that was interrupted twice may take.
const AT_ONCE: Duration = Duration::from_secs(5);

fn command_that_hangs() -> Value {
    json!(["sleep", "300"])
}

/// A task that hangs in one phase of its trial.
fn hanging(phase: &str) -> Value {
    let hangs = command_that_hangs();
    let check = |result: Value, postconfig: Value| {
        json!({ "evaluator": {
            "func": "exact_match",
            "postconfig": postconfig,
            "result": result,
            "expected": { "type": "rule", "rules": { "expected": "wanted" } },
        } })
    };
    let nothing = json!({ "type": "vm_command_line", "command": ["true"] });
    let step = json!([{ "type": "execute", "parameters": { "command": hangs } }]);
    match phase {
        "setup" => json!({ "config": step }),
        "postconfig" => check(nothing, step),
        "collect" => check(json!({ "type": "vm_command_line", "command": hangs }), json!([])),
        _ => json!({}),
    }
}

/// Starts a run of one task that hangs in this phase, and waits until it does.
fn hang(place: &Place, phase: &str) -> Running {
    let suite = place.suite(&[("hanging", hanging(phase))]);
    let wait = json!({ "calls": [
        { "name": "computer", "arguments": { "actions": [{ "do": "wait", "ms": 60_000 }] } },
    ] });
    fs::write(place.path("wait.jsonl"), wait.to_string()).expect("written");
    let model = if phase == "agent" { "scripted:wait.jsonl" } else { "baseline/noop" };
    let running = Running::start(place.run_of(&suite, model));
    let run = place.run_folder();
    await_some(&format!("the phase {phase}"), || {
        let told = |kind: &str| events(&run).iter().any(|line| line.contains(&format!("\"{kind}\"")));
        let reached = match phase {
            "start" => !place.cells().is_empty(),
            "agent" => told("model.replied"),
            _ => below(running.id()).iter().any(|process| process.name == "sleep"),
        };
        reached.then_some(())
    });
    running
}

/// Checks that a program which was interrupted ends in time, as interrupted, and leaves nothing.
fn check_stops(place: &Place, mut running: Running, patience: Duration) {
    let clock = SystemClock::new();
    let (began, descendants) = (clock.mono(), below(running.id()));
    running.signal(Signal::INT);
    assert_eq!(running.ended().code(), Some(130), "{}", place.text("stderr"));
    let took = clock.mono() - began;
    assert!(took < patience, "it took {took:?}");
    await_ends(&descendants);
}

/// Checks what an interrupted run has written.
fn check_record(place: &Place, run: &Path) {
    let told = place.text("stderr");
    assert!(told.contains("stopping; interrupt again to exit at once"), "{told}");
    assert!(told.contains(&format!("hint: apprentice resume {}", run.display())), "{told}");
    let text = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    check_traces(run);
    assert_eq!(place.cells(), [""; 0], "no cell is left");
}

#[test]
fn a_run_is_interrupted_in_every_phase_of_a_trial() {
    if !worlds_can_start() {
        return;
    }
    for phase in ["start", "setup", "agent", "postconfig", "collect"] {
        let place = Place::new();
        let running = hang(&place, phase);
        check_stops(&place, running, PATIENCE);
        let run = place.run_folder();
        check_record(&place, &run);
        let causes: Vec<Value> = rows(&run).into_iter().map(|row| row["void_cause"].clone()).collect();
        assert!(causes.iter().all(|cause| cause == "interrupted"), "{phase}: {causes:?}");
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let running = hang(&place, "collect");
    let descendants = below(running.id());
    running.signal(Signal::INT);
    await_some("the first interrupt to be heard", || {
        place.text("stderr").contains("interrupt again to exit at once").then_some(())
    });
    check_stops(&place, running, AT_ONCE);
    await_ends(&descendants);
    let run = place.run_folder();
    assert_eq!(rows(&run).len(), 0, "nothing was finished");
    // The next start clears what stands on the disk; its task does not hang.
    place.suite(&[("hanging", json!({}))]);
    let cleared = place.output(&["resume", &run.to_string_lossy(), "--accept-drift", "--json"]);
    assert_eq!(place.cells(), [""; 0], "{cleared:?}");
}

/// Starts a run of the quick tasks, and waits until all its traces together have so many lines.
fn running_until(place: &Place, tasks: &[&str], moment: usize) -> (Running, PathBuf) {
    let running = Running::start(place.run("baseline/solution", tasks, "2"));
    let run = place.run_folder();
    await_some("the moment", || (events(&run).len() >= moment).then_some(()));
    (running, run)
}

#[test]
fn interrupts_at_many_moments_of_busy_runs_leave_nothing() {
    if !worlds_can_start() {
        return;
    }
    std::thread::scope(|tests| {
        for moments in [[1, 7], [2, 12], [4, 19]] {
            tests.spawn(move || {
                for moment in moments {
                    let place = Place::new();
                    let (running, run) = running_until(&place, &QUICK, moment);
                    check_stops(&place, running, PATIENCE);
                    check_record(&place, &run);
                }
            });
        }
    });
}

#[test]
fn killed_at_any_moment_a_run_loses_no_result_and_is_resumed() {
    if !worlds_can_start() {
        return;
    }
    std::thread::scope(|tests| {
        for moment in [1, 3, 9, 15] {
            tests.spawn(move || {
                let place = Place::new();
                let (mut running, run) = running_until(&place, &QUICK[..1], moment);
                let descendants = below(running.id());
                running.signal(Signal::KILL);
                running.ended();
                let finished = lines(&run);
                await_ends(&descendants);
                assert_eq!(resumed(&place, &run)["passed"], 2);
                assert_eq!(lines(&run)[..finished.len()], finished, "finished trials stand as they stood");
                check_each_passed_once(&run, 2);
                assert_eq!(place.cells(), [""; 0], "the next start has cleared the dead owner's cells");
            });
        }
    });
}

#[test]
fn what_does_not_run_trials_is_interrupted_too() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let hangs = json!({ "calls": [
        { "name": "computer", "arguments": { "actions": [{ "do": "wait", "ms": 60_000 }] } },
    ] });
    fs::write(place.path("wait.jsonl"), hangs.to_string()).expect("written");
    let out = place.path("out");
    let arguments = ["do", "Wait.", "--model", "scripted:wait.jsonl", "--out", &out.to_string_lossy()];
    // With an app that shows no window, it hangs before its agent is asked.
    for app in [None, Some("sleep 300")] {
        let mut command = place.command(&arguments);
        command.args(app.iter().flat_map(|app| ["--app", app]));
        command.stdout(std::process::Stdio::null());
        command.stderr(fs::File::create(place.path("stderr")).expect("a file"));
        let running = Running::start(command);
        await_some("the hang", || {
            let text = fs::read_to_string(out.join("events.jsonl")).ok()?;
            let hangs = below(running.id()).iter().any(|process| process.name == "sleep");
            (text.contains("model.replied") || hangs).then_some(())
        });
        check_stops(&place, running, PATIENCE);
        let text = fs::read_to_string(out.join("events.jsonl")).expect("a trace");
        let stopped: Vec<&str> = text.lines().filter(|line| line.contains("\"stopped\"")).collect();
        assert_eq!(stopped.len(), 1, "{text}");
        assert!(stopped[0].contains("\"interrupted\""), "{text}");
        assert_eq!(place.cells(), [""; 0]);
        fs::remove_dir_all(&out).expect("removed");
    }
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
    assert!(told.contains("stopping; interrupt again to exit at once"), "{told}");
    assert!(told.contains(&format!("hint: apprentice resume {}", run.display())), "{told}");
    assert!(fs::read_to_string(run.join("trials.jsonl")).expect("rows").ends_with('\n'));
    let done = rows(&run).iter().filter(|row| row["verdict"] == "pass").count();
    assert!((1..6).contains(&done), "{done} trials were finished");
    await_ends(&descendants);
    assert_eq!(place.cells(), [""; 0]);
    assert_eq!(resumed(&place, &run)["passed"], 6);
    check_each_passed_once(&run, 6);
}
