//! `apprentice mcp --act`, held against the client of the official Rust SDK: acting, observing, and having an instruction
//! carried out, in one real world.

use std::process::Stdio;

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ServiceError, ServiceExt as _};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::place::{Place, worlds_can_start};
use crate::starter::is_installed;

/// A client and the server that it talks to.
struct Talk {
    client: RunningService<RoleClient, ()>,
    server: Child,
}

impl Talk {
    async fn with(place: &Place, arguments: &[&str]) -> Self {
        let command = place.command(&[&["mcp", "--act"], arguments].concat());
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut server = command.spawn().expect("it starts");
        let streams = (server.stdout.take().expect("its output"), server.stdin.take().expect("its input"));
        let client = ().serve(streams).await.expect("a session");
        Self { client, server }
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let request = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        self.client.call_tool(request).await
    }

    async fn done(&self, name: &str, arguments: Value) -> CallToolResult {
        let result = self.call(name, arguments).await.expect("an answer");
        assert_ne!(result.is_error, Some(true), "{result:?}");
        result
    }

    /// Ends the session and waits for the server.
    async fn end(mut self) -> std::process::ExitStatus {
        self.client.cancel().await.expect("ends");
        self.server.wait().await.expect("ends")
    }
}

fn texts(result: &CallToolResult) -> Vec<String> {
    result.content.iter().filter_map(|part| part.as_text()).map(|text| text.text.clone()).collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime")
}

/// The reference at the end of the first line of an outline that names an element.
fn reference(outline: &str, name: &str) -> String {
    let line = outline.lines().find(|line| line.contains(&format!("\"{name}\""))).expect("an element");
    line.rsplit('#').next().expect("a reference").trim().to_owned()
}

/// What is wrong is said, and nothing of it is done.
async fn refuses_what_is_wrong(talk: &Talk) {
    for (name, arguments, words) in [
        ("act", json!({ "actions": [{ "do": "click", "at": { "point": { "x": 1, "z": 2 } } }] }), "action 0"),
        ("act", json!({ "action": [] }), "unknown field"),
        ("do", json!({ "instruction": " " }), "empty"),
        ("fly", json!({}), "there is no tool"),
    ] {
        let error = talk.call(name, arguments).await.expect_err("refused").to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
    let gone = talk.call("act", json!({ "actions": [{ "do": "click", "at": { "ref": "n99999" } }] })).await;
    let gone = texts(&gone.expect("an answer"));
    assert!(gone[0].contains("refused") || gone[0].contains("problem"), "{gone:?}");
}

#[test]
fn a_client_acts_observes_and_has_an_instruction_carried_out_in_one_world() {
    if !worlds_can_start() || !is_installed("mousepad") {
        return;
    }
    let place = Place::new();
    std::fs::write(place.path("notes.txt"), "Notes\n").expect("written");
    let script = [
        json!({ "calls": [{ "name": "computer", "arguments": { "actions": [
            { "do": "type", "text": " and the model's" }, { "do": "key", "chord": "ctrl+s" }] } }] }),
        json!({ "calls": [{ "name": "finish", "arguments": { "finish": "answer", "text": "It is kept." } }] }),
    ];
    std::fs::write(place.path("actor"), script.map(|line| line.to_string()).join("\n")).expect("written");
    let (notes, out) = (place.path("notes.txt"), place.path("out"));
    let model = format!("scripted:{}", place.path("actor").display());
    runtime().block_on(async {
        let app = "mousepad /home/user/notes.txt";
        let (notes, out) = (notes.to_string_lossy(), out.to_string_lossy());
        let talk =
            Talk::with(&place, &["--app", app, "--file", &notes, "--model", &model, "--out", &out]).await;
        let tools = talk.client.list_all_tools().await.expect("tools");
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["observe", "act", "do"]);
        let act = Value::Object(tools[1].input_schema.as_ref().clone());
        assert!(act.to_string().contains("\"double_click\"") || act.to_string().contains("click"), "{act}");

        let seen = talk.done("observe", json!({})).await;
        let [facts, outline] = texts(&seen).try_into().expect("facts and an outline");
        assert!(facts.contains("notes.txt"), "{facts}");
        let picture = seen.content.iter().find_map(|part| part.as_image()).expect("a picture");
        assert!(picture.mime_type == "image/png" && picture.data.len() > 1000);

        // By a reference of the outline, then by keys.
        let menu = reference(&outline, "File");
        let opened = talk
            .done(
                "act",
                json!({ "actions": [{ "do": "click", "at": { "ref": menu } }], "screenshot": false }),
            )
            .await;
        assert!(texts(&opened)[1].contains("Save As"), "{:?}", texts(&opened));
        assert!(opened.content.iter().all(|part| part.as_image().is_none()), "no picture was asked for");
        let typed =
            json!({ "actions": [{ "do": "key", "chord": "escape" }, { "do": "type", "text": "Mine" }] });
        let typed = talk.done("act", typed).await;
        assert!(texts(&typed)[1].contains("Mine"), "{:?}", texts(&typed));

        let told = talk.done("do", json!({ "instruction": "Add the model's words and save." })).await;
        let told: Value = serde_json::from_str(&texts(&told)[0]).expect("JSON");
        assert_eq!((&told["turn"], &told["finish"]["text"]), (&json!(1), &json!("It is kept.")), "{told}");
        let after = talk.done("observe", json!({ "screenshot": false })).await;
        assert!(texts(&after)[1].contains("Mine and the model's"), "{:?}", texts(&after));

        refuses_what_is_wrong(&talk).await;
        assert!(talk.end().await.success());
    });
    let trace = std::fs::read_to_string(place.path("out/events.jsonl")).expect("a trace");
    let count = |kind: &str| trace.lines().filter(|line| line.contains(&format!("\"{kind}\""))).count();
    assert_eq!((count("turn.started"), count("turn.ended"), count("stopped")), (1, 1, 1));
    // The client's own actions stand there in order, with their origin; the model's keep their own kind.
    let events = trace.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let acts: Vec<Value> = events.filter(|event| event["kind"] == "person").collect();
    let done: Vec<&str> = acts.iter().filter_map(|act| act["data"]["sent"]["do"].as_str()).collect();
    assert_eq!(done[..3], ["click", "key", "type"], "{acts:?}");
    assert!(acts.iter().all(|act| act["data"]["origin"] == "client"), "{acts:?}");
    assert!(acts[0]["data"]["by"].as_str().is_some_and(|name| !name.is_empty()), "{acts:?}");
    assert!(acts.iter().any(|act| act["data"]["outcome"]["outcome"] == "failed"), "refusals, too: {acts:?}");
    assert_eq!(place.cells(), [""; 0], "the world is gone with the client");
}

#[test]
fn without_a_model_a_client_acts_alone_on_a_page() {
    if !worlds_can_start() || !is_installed("chromium") {
        return;
    }
    let place = Place::new();
    runtime().block_on(async {
        let talk = Talk::with(&place, &["--url", "data:text/html,<button>Press me</button>"]).await;
        let tools = talk.client.list_all_tools().await.expect("tools");
        assert_eq!(tools.len(), 2, "nobody carries out instructions");
        let seen = talk.done("observe", json!({ "screenshot": false })).await;
        let outline = texts(&seen)[1].clone();
        let button = reference(&outline, "Press me");
        talk.done("act", json!({ "actions": [{ "do": "click", "at": { "ref": button } }] })).await;
        let refused = talk.call("do", json!({ "instruction": "Press it." })).await.expect_err("no model");
        assert!(refused.to_string().contains("--model"), "{refused}");
        assert!(talk.end().await.success());
    });
    assert_eq!(place.cells(), [""; 0]);
}
