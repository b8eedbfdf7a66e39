//! The ablation that ships with the starter suite, run on a small one: nothing, notes, functions, both, verified notes, a
//! recorded attempt, and true notes that do not bear on the task.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use apprentice_evaluator::split::SplitLock;
use apprentice_runs::row::Split;
use serde_json::{Value, json};

use crate::place::Place;

const NAMES: [&str; 4] = ["rulers", "margins", "guides", "grids"];
/// Templates: the first one teaches.
const TASKS: [(&str, &str); 3] = [
    ("tick", "Tick the box that shows \"{{what}}\"."),
    ("beside", "These notes lack something: have them show \"{{what}}\" beside what I write."),
    ("missing", "This page lacks something: have it show \"{{what}}\" beside what I write."),
];
pub(crate) const SHOW: &str = "/// Has something shown beside the text.
/// - what (text): what to show
/// Example: show(\"columns\")
fn show(desktop, what) {
    desktop.get_by_role(\"button\", \"Arrange\").click();
    desktop.get_by_role(\"button\", \"More\").click();
    desktop.get_by_role(\"checkbox\", \"Show \" + what).check();
}
";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
    fs::write(path, text).expect("writes");
}

fn task(id: &str, instruction: &str) -> Value {
    let boxes = NAMES.map(|name| json!({ "role": "checkbox", "name": format!("Show {name}"), "bind": name }));
    let go = |name: &str, to: &str| json!({ "role": "button", "name": name, "click": [{ "go": to }] });
    let pages = json!({
        "main": { "title": "Notes", "controls": [go("Arrange", "arrange"), go("Print", "main")] },
        "arrange": { "title": "Notes", "controls": [go("Less", "main"), go("More", "more")] },
        "more": { "title": "Notes", "controls": boxes }
    });
    json!({
        "id": id, "instruction": instruction, "config": [],
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "{{what}}"], "method": "eq", "ref": true }] } }
        },
        "related_apps": ["notes"],
        "apprentice": {
            "environment": "scene", "template": id, "screen": { "width": 640, "height": 400 },
            "scene": { "start": "main", "state": {}, "pages": pages },
            "vary": { "what": NAMES },
            "solution": [{ "click": { "name": "Arrange" } }, { "click": { "name": "More" } },
                         { "click": { "name": "Show {{what}}" } }],
            "near_miss": [{ "click": { "name": "Arrange" } }]
        }
    })
}

/// A suite with its split, a book with a note and a function, and irrelevant notes.
pub(crate) fn prepared() -> Place {
    let place = Place::new();
    for (id, instruction) in TASKS {
        let path = place.path(&format!("suite/examples/notes/{id}.json"));
        write(&path, &task(id, instruction).to_string());
    }
    let ids = TASKS.map(|(id, _)| id);
    write(&place.path("suite/suite.json"), &json!({ "notes": ids }).to_string());
    let suite = apprentice_tasks::suite::load(&place.path("suite")).expect("a suite");
    let part = |id: &str| if id == "tick" { Split::Train } else { Split::Test };
    let templates: BTreeMap<String, Split> = ids.iter().map(|id| ((*id).to_owned(), part(id))).collect();
    let lock = SplitLock::of(&suite, templates, suite.templates(), "salt").expect("locks");
    write(&place.path("suite/split.json"), &lock.to_text());
    let page = |situation: &str, guidance: &str| {
        format!("## Situation\n\n{situation}\n\n## Guidance\n\n{guidance}\n\n## Annotations\n\nNone\n")
    };
    let note = page(
        "Something is to be shown beside the text.",
        "1. Press \"Arrange\".\n2. Press \"More\".\n3. Set what the task asks for (there are: Show rulers, Show \
         margins, Show guides, Show grids).",
    );
    write(&place.path("book/notes/show.md"), &note);
    write(
        &place.path("suite/inert/notes/print.md"),
        &page("The notes are to be printed.", "Press \"Print\"."),
    );
    write(&place.path("show.fn"), SHOW);
    place
}

pub(crate) fn done(place: &Place, arguments: &[&str]) -> String {
    let output = place.output(arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Has somebody follow the note in a training task, and learns from it: the note is verified.
fn follow_the_note(place: &Place) {
    let suite = apprentice_tasks::suite::load(&place.path("suite")).expect("a suite");
    let task = suite.task("tick").expect("a task");
    let drawn = apprentice_tasks::variation::drawn_values(task, &suite.name, 0).expect("values");
    let wanted = NAMES.iter().position(|name| drawn["what"] == *name).expect("one of the names");
    let call = |name: &str, arguments: Value| json!({ "calls": [{ "name": name, "arguments": arguments }] });
    let click =
        |node: String| call("computer", json!({ "actions": [{ "do": "click", "at": { "ref": node } }] }));
    let script = [
        call("skill_view", json!({ "id": "notes/show" })),
        click("n2".into()),
        click("n6".into()),
        click(format!("n{}", 8 + wanted)),
        call("finish", json!({ "finish": "done" })),
    ];
    write(&place.path("follows.jsonl"), &script.map(|line| line.to_string()).join("\n"));
    let run =
        ["run", "suite", "--split", "suite/split.json", "--only", "train", "--arm", "pull", "--seeds", "1"];
    let with = ["--skillbook", "book", "--out", "followed", "--model", "scripted:follows.jsonl"];
    done(place, &[&run[..], &with].concat());
    let followed = fs::read_dir(place.path("followed")).expect("runs").flatten().next().expect("one").path();
    let followed = followed.to_string_lossy();
    let learn =
        ["learn", &*followed, "--suite", "suite", "--skillbook", "book", "--model", "builtin/explorer"];
    done(place, &learn);
    let shown = done(place, &["skills", "--skillbook", "book", "show", "notes/show", "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["verification"]["verified"], true, "{shown:#}");
}

#[test]
fn the_shipped_ablation_compares_notes_functions_and_recordings_in_one_experiment() {
    let place = prepared();
    done(&place, &["skills", "--skillbook", "book", "sync"]);
    done(&place, &["functions", "--skillbook", "book", "add", "notes/show", "show.fn"]);
    let admit = ["functions", "--skillbook", "book", "admit", "notes/show", "show", "--suite", "suite"];
    let of = ["--task", "tick", "--split", "suite/split.json", "--arguments", r#"{"what": "{{what}}"}"#];
    let admitted = done(&place, &[&admit[..], &of].concat());
    assert!(admitted.contains("is verified"), "{admitted}");
    let run = ["run", "suite", "--split", "suite/split.json", "--only", "train", "--model"];
    done(&place, &[&run[..], &["baseline/solution", "--seeds", "1", "--out", "shown"]].concat());
    let shown = fs::read_dir(place.path("shown")).expect("runs").flatten().next().expect("one").path();
    follow_the_note(&place);

    // The shipped file, with the names of this test's folders.
    let shipped = fs::read_to_string(crate::place::suite().join("ablation.toml")).expect("it ships");
    let own = shipped
        .replace("suite = \".\"", "suite = \"suite\"")
        .replace("../../book", "book")
        .replace("../../runs/ID", &shown.to_string_lossy());
    assert_ne!(own, shipped);
    write(&place.path("ablation.toml"), &own);
    done(&place, &["distill", "ablation.toml", "--out", "out", "--yes"]);
    let report: Value =
        serde_json::from_slice(&fs::read(place.path("out/report.json")).expect("a report")).expect("JSON");
    let arms: BTreeMap<&str, u64> = report["arms"]
        .as_array()
        .expect("arms")
        .iter()
        .map(|arm| (arm["arm"].as_str().expect("a name"), arm["passed"].as_u64().expect("a number")))
        .collect();
    let named: BTreeSet<&str> = arms.keys().copied().collect();
    let expected = ["code", "code+pull", "none", "placebo-inert", "pull", "raw-trace", "verified"];
    assert_eq!(named, expected.into_iter().collect(), "{report:#}");
    assert_eq!((arms["code"], arms["code+pull"]), (6, 6), "{arms:?}");
    assert!(arms["pull"] > 0 && arms["verified"] == arms["pull"], "the one note is verified: {arms:?}");
    assert_eq!((arms["none"], arms["raw-trace"], arms["placebo-inert"]), (0, 0, 0), "{arms:?}");
    // What functions bring beside notes is counted in actions, too.
    let rows = fs::read_dir(place.path("out/measure")).expect("runs").flatten().next().expect("one").path();
    let rows = fs::read_to_string(rows.join("trials.jsonl")).expect("rows");
    let called = rows.lines().filter(|row| row.contains("\"arm\":\"code\"")).count();
    assert_eq!(called, 6);
}

#[test]
fn functions_that_nothing_verified_are_lent_to_an_experiment_that_asks_for_them() {
    let place = prepared();
    done(&place, &["skills", "--skillbook", "book", "sync"]);
    done(&place, &["functions", "--skillbook", "book", "add", "notes/show", "show.fn"]);
    let passed = |out: &str| {
        let report = fs::read(place.path(out).join("report.json")).expect("a report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        let arms = report["arms"].as_array().expect("arms").clone();
        let code = arms.iter().find(|arm| arm["arm"] == "code").map(|arm| arm["passed"].clone());
        (code, report["notes"].to_string().contains("no replays have verified"))
    };
    let bench = |out: &str, more: &[&str]| {
        let of = ["bench", "suite", "--split", "suite/split.json", "--skillbook", "book", "--seeds", "1"];
        let what = ["--student", "builtin/novice", "--arms", "none,code", "--out", out];
        done(&place, &[&of[..], &what, more].concat());
        passed(out)
    };
    assert_eq!(bench("verified", &[]), (None, false), "there is nothing to lend");
    assert_eq!(bench("all", &["--unverified-functions"]), (Some(json!(2)), true));
    done(&place, &["resume", "all"]);
    let of = "suite = \"suite\"\nskillbook = \"book\"\nstudents = [\"builtin/novice\"]\n";
    let and =
        "arms = [\"none\", \"code\"]\nprimary = { treatment = \"code\", control = \"none\" }\nseeds = 1\n";
    write(&place.path("some.toml"), &format!("{of}{and}unverified_functions = true\n"));
    done(&place, &["distill", "some.toml", "--out", "file", "--yes"]);
    assert_eq!(passed("file"), (Some(json!(2)), true));
}

#[test]
fn a_demonstration_that_is_no_run_is_refused_with_its_place() {
    let place = prepared();
    write(
        &place.path("ablation.toml"),
        "suite = \"suite\"\nskillbook = \"book\"\nstudents = [\"builtin/novice\"]\ndemonstrations = [\"nowhere\"]\n",
    );
    let output = place.output(&["plan", "ablation.toml"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("no folder of a run"), "{told}");
    assert!(told.contains("ablation.toml:4"), "{told}");
}
