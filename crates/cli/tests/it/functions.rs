//! `apprentice functions`: what a model wrote is told in JSON, also where it waits for a person; and what an admission in cells
//! takes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use apprentice_protocol::Clock as _;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::variation::drawn_values;
use serde_json::{Value, json};

use crate::ablation::{SHOW, done, prepared};
use crate::place::{Place, suite, worlds_can_start};
use crate::starter::is_installed;

/// Runs the solution of the training task in two variations, and returns the run.
fn solved(place: &Place) -> PathBuf {
    let run = ["run", "suite", "--split", "suite/split.json", "--only", "train", "--seeds", "2"];
    done(place, &[&run[..], &["--model", "baseline/solution", "--out", "solved"]].concat());
    fs::read_dir(place.path("solved")).expect("runs").flatten().next().expect("one").path()
}

/// The answer of a writer that makes the function of the book's note from the attempts of a run.
fn written(place: &Place, run: &std::path::Path) -> Value {
    let suite = apprentice_tasks::suite::load(&place.path("suite")).expect("a suite");
    let task = suite.task("tick").expect("a task");
    let rows = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    let rows = rows.lines().map(|row| serde_json::from_str::<Value>(row).expect("JSON"));
    let given = rows.map(|row| {
        let text = |name: &str| row[name].as_str().expect("a text").to_owned();
        let attempt = format!("{}/{}/{}", text("run"), text("trial"), row["attempt"]);
        let seed = row["seed"].as_u64().and_then(|seed| u32::try_from(seed).ok()).expect("a seed");
        let values = drawn_values(task, &suite.name, seed).expect("values");
        json!({ "attempt": attempt, "values": { "what": values["what"] } })
    });
    let answer = json!({ "function": SHOW, "arguments": given.collect::<Vec<_>>(), "decline": null });
    json!({ "say": answer.to_string() })
}

#[test]
fn what_a_model_wrote_is_told_in_json_also_where_it_waits_for_a_person() {
    let place = prepared();
    done(&place, &["skills", "--skillbook", "book", "sync"]);
    let run = solved(&place);
    fs::write(place.path("writer.jsonl"), written(&place, &run).to_string()).expect("written");
    let run = run.to_string_lossy();
    let learn = |more: &[&str]| {
        let asked = ["functions", "--skillbook", "book", "learn", "notes/show", &*run, "--suite", "suite"];
        let of = ["--split", "suite/split.json", "--task", "tick", "--model", "scripted:writer.jsonl"];
        done(&place, &[&asked[..], &of, more].concat())
    };
    fs::write(place.path("apprentice.toml"), "write_mode = \"propose\"\n").expect("written");
    assert!(learn(&["--dry-run", "--json"]).contains("apprentice.forecast/1"));
    let waits: Value = serde_json::from_str(&learn(&["--json"])).expect("JSON also where it waits");
    assert_eq!((&waits["function"], &waits["source"]), (&json!("show"), &json!(SHOW)), "{waits:#}");
    assert_eq!(waits["arguments"], json!({ "what": "{{what}}" }), "what admission takes: {waits:#}");
    let proposal = waits["proposal"].as_str().expect("the proposal's id");
    assert!(waits.get("version").is_none(), "nothing is written: {waits:#}");
    let listed = done(&place, &["functions", "--skillbook", "book", "list", "--json"]);
    assert!(!listed.contains("\"show\""), "{listed}");
    let proposed = done(&place, &["skills", "--skillbook", "book", "proposals", "--json"]);
    assert!(proposed.contains(&format!("\"{proposal}\"")), "{proposal}: {proposed}");

    fs::remove_file(place.path("apprentice.toml")).expect("removed");
    let stands: Value = serde_json::from_str(&learn(&["--json"])).expect("JSON");
    assert_eq!((&stands["version"], stands.get("proposal")), (&json!(1), None), "{stands:#}");

    // The other commands, whose output has its published form, too.
    fs::write(place.path("again.fn"), SHOW.replacen("/// ", "/// Again: ", 1)).expect("written");
    let shown = ["functions", "--skillbook", "book", "--json"];
    for more in [
        &["check", "again.fn"][..],
        &["add", "notes/show", "again.fn"],
        &["show", "notes/show", "show"],
        &["retire", "notes/show", "show", "--why", "it is not needed"],
    ] {
        done(&place, &[&shown[..], more].concat());
    }
}

const ALLOW: &str = "/// Allows a file of the open folder to run as a program.
/// - file (text): the file's name
/// Example: allow_to_run(\"tool.py\")
fn allow_to_run(desktop, file) {
    desktop.get_by_role(\"cell\", file).right_click();
    desktop.get_by_role(\"menuitem\", \"Properties*\").click();
    desktop.get_by_role(\"tab\", \"Permissions\").click();
    desktop.get_by_role(\"checkbox\", \"Allow this file to run as a program\").check();
}
";

/// The argument of [`ALLOW`], in the words of its task.
const SCRIPT: &str = r#"{"file": "{{script}}"}"#;

const TRASH: &str = "/// Moves a hidden file of the open folder to the trash.
/// - file (text): the file's name, with its dot
/// Example: trash_hidden(\".profile.old\")
fn trash_hidden(desktop, file) {
    desktop.window(\"*Thunar\").menu(\"View\", \"Show Hidden Files\");
    desktop.get_by_role(\"cell\", file).right_click();
    desktop.get_by_role(\"menuitem\", \"Move to Trash\").click();
}
";

const LINES: &str = "/// Gives the file that is open in the editor DOS / Windows line endings and saves it.
/// - file (text): the file's name
/// Example: windows_lines(\"notes.txt\")
fn windows_lines(desktop, file) {
    desktop.window(\"*\" + file + \" - Mousepad\").menu(\"Document\", \"Line Ending\", \"DOS / Windows (CR LF)\");
    desktop.press(\"ctrl+s\");
}
";

/// Gives a note of the book a function. The note says little else.
fn add(place: &Place, skill: &str, source: &str) {
    let page = place.path(&format!("book/{skill}.md"));
    fs::create_dir_all(page.parent().expect("a domain")).expect("a folder");
    let note = "## Situation\n\nA file is to be changed.\n\n## Guidance\n\n1. Look into the menus.\n\n## Annotations\n\nNone\n";
    fs::write(page, note).expect("written");
    done(place, &["skills", "--skillbook", "book", "sync"]);
    fs::write(place.path("source.fn"), source).expect("written");
    done(place, &["functions", "--skillbook", "book", "add", skill, "source.fn"]);
}

/// Replays a function on a task of the starter suite, and returns what is told of it.
fn admitted(place: &Place, skill: &str, function: &str, [task, arguments]: [&str; 2]) -> Value {
    let starter = suite();
    let (suite, split) = (starter.to_string_lossy(), starter.join("split.json"));
    let split = split.to_string_lossy();
    let admit = ["functions", "--skillbook", "book", "--json", "admit", skill, function];
    let of = ["--suite", &*suite, "--split", &*split, "--task", task, "--arguments", arguments];
    let told = done(place, &[&admit[..], &of].concat());
    serde_json::from_str(&told).expect("JSON")
}

/// The duration of each admission of one function in fresh cells with a file manager, beside the solution of the same task in
/// as many cells.
#[test]
#[ignore = "a measurement"]
fn what_an_admission_takes() {
    const ROUNDS: usize = 5;
    if !worlds_can_start() || !is_installed("thunar") {
        return;
    }
    let place = Place::new();
    add(&place, "thunar/run-files", ALLOW);
    let clock = SystemClock::new();
    let (mut admissions, mut solutions): (Vec<Duration>, Vec<Duration>) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = clock.mono();
        let told = admitted(&place, "thunar/run-files", "allow_to_run", ["thunar-run-script", SCRIPT]);
        admissions.push(clock.mono() - begun);
        assert_eq!(told["verified"], true, "{told:#}");
        for replay in told["replays"].as_array().expect("replays") {
            println!("{}: {} s, {} actions", replay["trial"], replay["wall_s"], replay["world_steps"]);
        }
        let begun = clock.mono();
        let starter = suite();
        let run = ["run", &*starter.to_string_lossy(), "--model", "baseline/solution", "--seeds", "3"];
        done(&place, &[&run[..], &["--task", "thunar-run-script", "--out", "solved"]].concat());
        solutions.push(clock.mono() - begun);
        println!("admission {:?}, solutions {:?}", admissions.last(), solutions.last());
    }
    admissions.sort();
    solutions.sort();
    let (admission, solution) = (admissions[ROUNDS / 2], solutions[ROUNDS / 2]);
    println!(
        "admission: {admission:.2?} ({:.2?} to {:.2?}); three solutions: {solution:.2?}; ratio {:.2}",
        admissions[0],
        admissions[ROUNDS - 1],
        admission.as_secs_f64() / solution.as_secs_f64()
    );
    assert!(admission <= Duration::from_secs(10), "an admission takes 10 s at most");
}

/// The verdict and the number of actions of each task in an arm.
fn steps(place: &Place, model: &str, arm: &str, tasks: &[&str]) -> BTreeMap<String, (String, u64)> {
    let starter = suite();
    let out = format!("{}-{arm}", model.replace('/', "-"));
    let starter = starter.to_string_lossy();
    let run = ["run", &*starter, "--model", model, "--arm", arm, "--skillbook", "book", "--seeds", "1"];
    let named = tasks.iter().flat_map(|task| ["--task", task]);
    // A failed trial ends the command with a code of its own.
    place.output(&run.into_iter().chain(named).chain(["--out", &out]).collect::<Vec<_>>());
    let run = fs::read_dir(place.path(&out)).expect("runs").flatten().next().expect("one").path();
    let rows = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    let rows = rows.lines().map(|row| serde_json::from_str::<Value>(row).expect("JSON"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    rows.map(|row| {
        (text(&row["task"]), (text(&row["verdict"]), row["world_steps"].as_u64().expect("a number")))
    })
    .collect()
}

/// Real programs, and rule-based policies that look for the way: the capable one finds it unaided, with many actions.
#[test]
fn a_verified_function_saves_three_of_five_actions_and_has_the_weak_policy_pass() {
    if !worlds_can_start() || !is_installed("thunar") {
        return;
    }
    let place = Place::new();
    let functions = [
        ("thunar/run-files", "allow_to_run", ALLOW, ["thunar-run-script", SCRIPT]),
        (
            "thunar/hidden-files",
            "trash_hidden",
            TRASH,
            ["thunar-hidden-leftover", r#"{"file": "{{hidden}}"}"#],
        ),
        ("mousepad/line-ends", "windows_lines", LINES, ["mousepad-windows-lines", r#"{"file": "{{file}}"}"#]),
    ];
    for (skill, function, source, of) in functions {
        add(&place, skill, source);
        let told = admitted(&place, skill, function, of);
        assert_eq!(told["verified"], true, "{told:#}");
    }
    let tasks = functions.map(|(_, _, _, [task, _])| task);
    let alone = steps(&place, "builtin/explorer", "none", &tasks);
    let with = steps(&place, "builtin/explorer", "code", &tasks);
    let (weak_alone, weak) =
        (steps(&place, "builtin/novice", "none", &tasks), steps(&place, "builtin/novice", "code", &tasks));
    for task in tasks {
        let ((before, many), (after, few)) = (&alone[task], &with[task]);
        assert_eq!((before.as_str(), after.as_str()), ("pass", "pass"), "{task}");
        assert!(few * 10 <= many * 4, "{task}: {few} actions instead of {many}");
        assert_eq!((weak_alone[task].0.as_str(), weak[task].0.as_str()), ("fail", "pass"), "{task}");
        println!("{task}: {few} actions instead of {many}");
    }
}
