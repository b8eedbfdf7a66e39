//! Proposals as a person meets them: changes that wait, are looked at, accepted or refused, by one process after another
//! and side by side.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::output_of;

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
        command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.path());
        command.current_dir(self.path());
        command
    }

    fn skills(&self, arguments: &[&str]) -> Output {
        let all = [&["skills", "--skillbook", "book"], arguments].concat();
        output_of(&mut self.command(&all))
    }

    fn told(&self, arguments: &[&str]) -> Value {
        let output = self.skills(&[&["--json"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("json")
    }

    /// Has a written manager make a skill of what an attempt taught.
    fn learn(&self, attempt: &str, name: &str, mode: &[&str]) -> Value {
        let guidance = format!("1. Open Colors > {name}.");
        let situation = format!("A colour must become {name}.");
        let reflection = json!({ "trajectory_id": attempt, "consumer": "teacher", "verdict": "pass",
            "versions": { "os": "debian-12" },
            "new_learnings": [{ "type": "friction", "scope": "os", "situation": situation, "guidance": guidance,
                "confidence": "high", "steps_wasted": 5 }] });
        let create = json!({ "domain": "os", "skill_name": name, "description": format!("Making a colour {name}"),
            "situation": situation, "guidance": guidance });
        let turns = [
            json!([{ "name": "fetch_similar_skills", "arguments": { "situation": name } }]),
            json!([{ "name": "create_skill", "arguments": create }]),
        ];
        let script = turns.map(|calls| json!({ "calls": calls }).to_string()).join("\n");
        fs::write(self.path().join("script.jsonl"), script).expect("written");
        fs::write(self.path().join("reflection.json"), reflection.to_string()).expect("written");
        let apply = [&["apply", "reflection.json", "--model", "scripted:script.jsonl"], mode].concat();
        assert_eq!(self.told(&[&apply[..], &["--dry-run"]].concat())["schema"], "apprentice.forecast/1");
        self.told(&apply)
    }
}

fn decision(applied: &Value) -> &Value {
    &applied["trajectories"][0]["decisions"][0]
}

fn ids(told: &Value) -> Vec<&str> {
    told["proposals"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect()
}

#[test]
fn what_models_propose_a_person_accepts_or_refuses() {
    let desk = Desk::new();
    let propose = ["--write-mode", "propose"];
    let applied = desk.learn("r/t/1", "clear", &propose);
    assert_eq!(decision(&applied)["outcome"], "proposed", "{applied}");
    desk.learn("r/t/2", "opaque", &propose);
    assert_eq!(desk.told(&["list"])["skills"], json!([]), "nothing shows");
    assert_eq!(desk.told(&["list"])["waiting"], 2);
    let waiting = desk.told(&["proposals"]);
    assert_eq!(waiting["schema"], "apprentice.skills.proposals/1");
    let [first, second] = ids(&waiting)[..] else { panic!("two wait: {waiting}") };
    let diff = waiting["proposals"][0]["skills"][0]["diff"].as_str().expect("a diff");
    assert!(diff.contains("+1. Open Colors > clear."), "{diff}");

    let accepted = desk.told(&["accept", first]);
    assert!(accepted["proposals"][0]["operation"].is_string(), "{accepted}");
    let shown = desk.told(&["show", "os/clear"]);
    assert_eq!(shown["provenance"]["trajectories"], json!(["r/t/1"]));
    assert_eq!(shown["seen_on"][0]["app_version"], "debian-12", "it was written where its attempt was");
    desk.told(&["reject", second, "--why", "everybody knows"]);
    let again = desk.learn("r/t/3", "opaque", &[]);
    assert_eq!(decision(&again)["refusals"][0]["code"], "refused_before", "{again}");
    assert_eq!(desk.told(&["proposals"])["proposals"], json!([]));
    let history = desk.skills(&["history"]);
    assert!(String::from_utf8_lossy(&history.stdout).contains("everybody knows"), "{history:?}");

    for (arguments, code) in [
        (&["accept", "o999"][..], 4),
        (&["reject", first], 4),
        (&["proposals", "o999"], 4),
        (&["accept", "twelve"], 2),
        (&["accept"], 2),
        (&["accept", "o2", "--all"], 2),
        (&["clean", "--write-mode", "maybe"], 2),
    ] {
        assert_eq!(desk.skills(arguments).status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_setting_says_how_models_write_and_a_flag_says_otherwise() {
    let desk = Desk::new();
    fs::write(desk.path().join("apprentice.toml"), "write_mode = \"approve\"\n").expect("written");
    // Nobody sits at a terminal here: then it waits like a proposal.
    assert_eq!(decision(&desk.learn("r/t/1", "clear", &[]))["outcome"], "proposed");
    assert_eq!(decision(&desk.learn("r/t/2", "opaque", &["--write-mode", "auto"]))["outcome"], "wrote");
    let output = desk.skills(&["apply", "reflection.json", "--model", "scripted:script.jsonl"]);
    let heard = String::from_utf8_lossy(&output.stderr);
    assert!(heard.contains("1 change waits for review"), "{heard}");
    fs::write(desk.path().join("apprentice.toml"), "write_mode = \"ask\"\n").expect("written");
    assert_eq!(desk.skills(&["list"]).status.code(), Some(3));
}

/// A word in one line for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[test]
fn a_person_at_the_terminal_is_asked_about_each_change() {
    let desk = Desk::new();
    for shade in ["clear", "opaque", "matt"] {
        desk.learn(&format!("r/t/{shade}"), shade, &["--write-mode", "propose"]);
    }
    desk.learn("r/t/last", "gloss", &["--write-mode", "propose"]);
    // The last attempt is known; what waits is asked about all the same.
    let command = ["skills", "--skillbook", "book", "apply", "reflection.json"];
    let command = [&command[..], &["--model", "scripted:script.jsonl", "--write-mode", "approve"]].concat();
    let line: Vec<String> =
        [env!("CARGO_BIN_EXE_apprentice")].iter().chain(&command).map(|word| quoted(word)).collect();
    // `script` puts a terminal around a command.
    let mut asked = Command::new("script");
    asked.args(["-qec", &line.join(" "), "/dev/null"]).env_clear().env("PATH", "/usr/bin:/bin");
    asked.env("HOME", desk.path()).current_dir(desk.path());
    let piped = std::process::Stdio::piped;
    let mut child = asked.stdin(piped()).stdout(piped()).spawn().expect("a terminal");
    let mut typed = child.stdin.take().expect("a keyboard");
    typed.write_all(b"yes\nno\nperhaps\n").expect("typed");
    drop(typed);
    let output = child.wait_with_output().expect("ends");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("+1. Open Colors > matt."), "what would change is shown: {shown}");
    assert_eq!(shown.matches("Type yes or no").count(), 4, "{shown}");
    let skills = desk.told(&["list"]);
    assert_eq!((&skills["skills"][0]["id"], &skills["skills"][1]), (&json!("os/clear"), &Value::Null));
    assert_eq!(skills["waiting"], 2, "nothing was said of the third, and nobody was there for the last");
    let history = desk.skills(&["history"]);
    let history = String::from_utf8_lossy(&history.stdout);
    assert!(history.contains("proposal.refused"), "{history}");
}

#[test]
fn two_processes_decide_on_each_once() {
    let desk = Desk::new();
    for number in 0..6 {
        desk.learn(&format!("r/t/{number}"), &format!("shade-{number}"), &["--write-mode", "propose"]);
    }
    let decide = |word| {
        let arguments = ["skills", "--skillbook", "book", "--json", word, "--all"];
        desk.command(&arguments).stdout(std::process::Stdio::piped()).spawn().expect("it starts")
    };
    let both = [decide("accept"), decide("reject")];
    let told = both.map(|child| {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).expect("json")
    });
    let counts = told.map(|one| one["proposals"].as_array().map(Vec::len));
    // Whoever came second waited for the first and found nothing left.
    assert!(matches!(counts, [Some(6), Some(0)] | [Some(0), Some(6)]), "{counts:?}");
    let skills = desk.told(&["list"])["skills"].as_array().map(Vec::len);
    assert_eq!(skills, counts[0]);
    assert_eq!(desk.told(&["validate"])["valid"], true);
}

#[test]
fn a_book_to_which_nothing_happened_is_told_in_a_sentence() {
    let desk = Desk::new();
    let commands = [
        &["history"][..],
        &["diff"],
        &["events"],
        &["proposals"],
        &["learning"],
        &["list"],
        &["accept", "--all"],
        &["clean"],
    ];
    for arguments in commands {
        let output = desk.skills(arguments);
        let heard = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(heard.contains("there is no skillbook at book"), "{arguments:?}: {heard}");
    }
    fs::create_dir(desk.path().join("book")).expect("a folder");
    for arguments in commands {
        let output = desk.skills(arguments);
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert!(told.split_whitespace().count() >= 3, "{arguments:?}: {told}");
    }
}
