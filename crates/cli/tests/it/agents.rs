//! Another's agent (`acp:COMMAND`) through a whole suite: several trials at once, and one that is killed in the middle.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, output_of, rows};

/// An agent of a few lines, which does what its instruction says: ticks the box, or dies in the middle.
const AGENT: &str = r#"
import json, os, signal, subprocess, sys

def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

class World:
    def __init__(self, server):
        own = {one["name"]: one["value"] for one in server["env"]}
        argv = [server["command"], *server["args"]]
        self.program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **own})
        self.last = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}})
        self.tell({"method": "notifications/initialized"})

    def tell(self, message):
        self.program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.program.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.tell({"id": self.last, "method": method, "params": params})
        while True:
            message = json.loads(self.program.stdout.readline())
            if message.get("id") == self.last:
                return message["result"]

    def act(self, **arguments):
        return self.ask("tools/call", {"name": "computer", "arguments": arguments})

def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)

def update(text):
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    say({"method": "session/update", "params": {"sessionId": "s", "update": chunk}})

def permitted():
    options = [{"optionId": "no", "name": "No", "kind": "reject_once"}, {"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    say({"id": 900, "method": "session/request_permission",
         "params": {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}})
    while True:
        message = hear()
        if message.get("id") == 900:
            return message["result"]["outcome"]

def work(instruction, world):
    update("I look. ")
    assert permitted() == {"outcome": "selected", "optionId": "yes"}
    world.act(action="left_click", ref="n2")
    if "Perish" in instruction:
        update("I die.")
        os.kill(os.getpid(), signal.SIGKILL)
    update("Ticked.")
    return "end_turn"

world = None
while True:
    asked = hear()
    number, method = asked.get("id"), asked.get("method")
    if method == "initialize":
        say({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "ticker", "version": "1"}}})
    elif method == "session/new":
        world = World(asked["params"]["mcpServers"][0])
        say({"id": number, "result": {"sessionId": "s"}})
    elif method == "session/prompt":
        instruction = " ".join(part.get("text", "") for part in asked["params"]["prompt"])
        say({"id": number, "result": {"stopReason": work(instruction, world)}})
"#;

fn task(instruction: &str) -> Value {
    let page = json!({ "title": "Main", "controls": [
        { "role": "checkbox", "name": "Show grid", "bind": "ticked" }, { "role": "textbox", "name": "Note", "bind": "note" },
    ] });
    let scene =
        json!({ "start": "main", "state": { "ticked": false, "note": "" }, "pages": { "main": page } });
    let rules = json!({ "expect": [{ "key": ["values", "ticked"], "method": "eq", "ref": true }] });
    json!({
        "instruction": instruction,
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": rules },
        },
        "apprentice": { "environment": "scene", "template": "tick", "screen": { "width": 640, "height": 400 }, "scene": scene },
    })
}

/// Writes the agent, and returns the model's name.
fn agent(place: &Place) -> String {
    fs::write(place.path("agent.py"), AGENT).expect("written");
    format!("acp:exec python3 {}", place.path("agent.py").display())
}

fn verdicts(run: &Path) -> BTreeMap<String, Vec<(String, Option<String>)>> {
    let mut all: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for row in rows(run) {
        let of = (text(&row["verdict"]).unwrap_or_default(), text(&row["void_cause"]));
        all.entry(text(&row["task"]).expect("a task")).or_default().push(of);
    }
    all
}

#[test]
fn an_agent_works_through_a_suite_and_one_that_dies_is_void() {
    let place = Place::new();
    let model = agent(&place);
    let names = ["one", "two", "three", "four"];
    let tick = |name: &'static str| (name, task("Tick the box 'Show grid'."));
    let suite = place.suite(&[&names.map(tick)[..], &[("dies", task("Perish."))]].concat());
    let words =
        ["run", &suite.to_string_lossy(), "--model", &model, "--out", "out", "--yes", "--working-s", "120"];
    let done = output_of(place.command(&words).env("APPRENTICE_JOBS", "3"));
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(11), "{told}");
    let run = fs::read_dir(place.path("out")).expect("runs").next().expect("a run").expect("an entry").path();
    let verdicts = verdicts(&run);
    let pass = vec![("pass".to_owned(), None)];
    for name in names {
        assert_eq!(verdicts[name], pass, "{told}");
    }
    let void = ("void".to_owned(), Some("model_unavailable".to_owned()));
    assert!(!verdicts["dies"].is_empty() && verdicts["dies"].iter().all(|one| *one == void), "{verdicts:?}");
    assert!(told.contains("the agent has ended"), "{told}");
    let rows = rows(&run);
    let passed: Vec<&Value> = rows.iter().filter(|row| row["verdict"] == "pass").collect();
    assert!(passed.iter().all(|row| row["world_steps"] == 1 && row["cost_estimated"] == true), "{passed:?}");
}
