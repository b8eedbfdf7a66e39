//! `apprentice acp` as an editor sees it: what the protocol promises, line by line.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::place::{PROGRAM, Place, await_some, below, worlds_can_start};
use crate::servers::golden;

const PATIENCE: Duration = Duration::from_secs(60);

/// The editor's side.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Editor {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command(&[&["acp"], arguments].concat());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).expect("nothing but JSON"));
            }
        });
        Self { child, input, lines }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("an input"), "{line}").expect("written");
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.say(&message.to_string());
    }

    fn hear(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("a message")
    }

    /// All up to the answer with this id.
    fn until(&self, id: u64) -> (Vec<Value>, Value) {
        let mut before = Vec::new();
        loop {
            let message = self.hear();
            if message["id"] == id && message.get("method").is_none() {
                return (before, message);
            }
            before.push(message);
        }
    }

    /// Ends the input, and so the program. Returns what it still said.
    fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        assert!(self.child.wait().expect("ends").success());
        self.lines.iter().collect()
    }
}

#[test]
fn what_fits_nothing_is_refused_and_ends_nothing() {
    let place = Place::new();
    let mut editor = Editor::start(&place, &[]);
    for (version, code) in [(json!(99), None), (json!("1"), Some(-32602)), (json!(70000), Some(-32602))] {
        editor.ask(1, "initialize", &json!({ "protocolVersion": version }));
        let answer = editor.hear();
        match code {
            None => assert_eq!(answer["result"]["protocolVersion"], 1),
            Some(code) => assert_eq!(answer["error"]["code"], code, "{answer}"),
        }
    }
    editor.say("[]");
    editor.say("no JSON");
    editor.say(r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}"#);
    editor.ask(2, "session/prompt", &json!({ "sessionId": "none", "prompt": [] }));
    editor.ask(3, "session/new", &json!({ "cwd": "/", "mcpServers": [{ "name": "files" }] }));
    editor.ask(4, "session/dance", &json!({}));
    let heard: Vec<(Value, Value)> = (0..5)
        .map(|_| editor.hear())
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
        .collect();
    let expected = [(None, -32600), (None, -32700), (Some(2), -32602), (Some(3), -32602), (Some(4), -32601)];
    assert_eq!(heard, expected.map(|(id, code)| (json!(id), json!(code))));
    assert_eq!(editor.end(), Vec::<Value>::new());
}

/// A page with the focus in a field, and a model that types there, one act a turn.
fn page_and_model(place: &Place) -> Vec<String> {
    fs::write(place.path("note.html"), "<title>Note</title><input id=n><script>n.focus()</script>")
        .expect("written");
    let act = |text: &str| json!({ "do": "type", "text": text });
    let call = |text: &str| {
        json!({ "say": format!("I type {text}."),
                "calls": [{ "name": "computer", "arguments": { "actions": [act(text)] } }] })
    };
    let end = json!({ "calls": [{ "name": "finish", "arguments": { "finish": "answer", "text": "both" } }] });
    let script = [call("a"), call("b"), end].map(|line| line.to_string()).join("\n");
    fs::write(place.path("model.jsonl"), script).expect("written");
    let model = format!("scripted:{}", place.path("model.jsonl").display());
    let file = place.path("note.html").display().to_string();
    let out = place.path("traces").display().to_string();
    let all = ["--model", &model, "--url", "file:///home/user/note.html", "--file", &file, "--out", &out];
    all.map(str::to_owned).to_vec()
}

fn opened(editor: &mut Editor, id: u64) -> String {
    editor.ask(id, "session/new", &json!({ "cwd": "/", "mcpServers": [] }));
    editor.until(id).1["result"]["sessionId"].as_str().expect("a session").to_owned()
}

fn prompt(session: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Type." }] })
}

#[test]
fn a_turn_is_told_in_order_before_its_answer() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let arguments = page_and_model(&place);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut editor = Editor::start(&place, &arguments);
    let session = opened(&mut editor, 1);
    editor.ask(2, "session/prompt", &prompt(&session));
    let (told, answer) = editor.until(2);
    assert_eq!(answer["result"], json!({ "stopReason": "end_turn" }));
    let told: Vec<String> = told
        .iter()
        .map(|message| {
            assert_eq!(
                (&message["method"], &message["params"]["sessionId"]),
                (&json!("session/update"), &json!(session))
            );
            let update = &message["params"]["update"];
            let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let picture = update["content"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|part| part["content"]["type"] == "image");
            [
                word(&update["sessionUpdate"]),
                word(&update["toolCallId"]),
                word(&update["status"]),
                word(&update["content"]["text"]),
                if picture { "picture".to_owned() } else { String::new() },
            ]
            .join(" ")
        })
        .collect();
    let expected = [
        "agent_message_chunk - - I type a. ",
        "tool_call call_1 pending - ",
        "tool_call_update call_1 completed - ",
        "tool_call_update call_1 completed - picture",
        "agent_message_chunk - - I type b. ",
        "tool_call call_2 pending - ",
        "tool_call_update call_2 completed - ",
        "tool_call_update call_2 completed - picture",
        "tool_call call_3 pending - ",
        "tool_call_update call_3 completed - ",
        "agent_message_chunk - - both ",
    ];
    assert_eq!(told, expected);
    assert_eq!(editor.end(), Vec::<Value>::new());
    assert_eq!(fs::read_dir(place.path("traces")).expect("traces").count(), 1);
    assert!(place.cells().is_empty(), "{:?}", place.cells());
}

#[test]
fn a_cancelled_turn_is_answered_whatever_is_open_and_the_session_lives() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let arguments = page_and_model(&place);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--ask"]).collect();
    let mut editor = Editor::start(&place, &arguments);
    let (one, other) = (opened(&mut editor, 1), opened(&mut editor, 2));
    editor.ask(3, "session/prompt", &prompt(&one));
    let question = loop {
        let message = editor.hear();
        if message["method"] == "session/request_permission" {
            break message;
        }
    };
    let kinds: Vec<&Value> = question["params"]["options"]
        .as_array()
        .expect("options")
        .iter()
        .map(|option| &option["kind"])
        .collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
    // Never answered.
    editor.say(
        &json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": one } }).to_string(),
    );
    let (told, answer) = editor.until(3);
    assert_eq!(answer["result"], json!({ "stopReason": "cancelled" }));
    assert_eq!(told.last().expect("an update")["params"]["update"]["status"], "failed");
    // The other session is as it was: its calls are rejected, which its model hears.
    editor.ask(4, "session/prompt", &prompt(&other));
    let mut rejected = 0;
    let answer = loop {
        let message = editor.hear();
        if message["method"] == "session/request_permission" {
            rejected += 1;
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "reject_once" } });
            editor.say(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome }).to_string());
        } else if message["id"] == 4 {
            break message;
        }
    };
    assert_eq!((rejected, &answer["result"]["stopReason"]), (2, &json!("end_turn")));
    editor.ask(5, "session/close", &json!({ "sessionId": other }));
    assert_eq!(editor.until(5).1["result"], json!({}));
    editor.ask(6, "session/prompt", &prompt(&one));
    loop {
        let message = editor.hear();
        if message["method"] == "session/request_permission" {
            break;
        }
    }
    let rest = editor.end();
    assert_eq!(rest.last().expect("an answer")["result"]["stopReason"], "cancelled");
    assert!(place.cells().is_empty(), "{:?}", place.cells());
}

#[test]
fn an_editors_tool_servers_are_started_called_and_ended() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    fs::write(place.path("page.html"), "<title>Note</title>").expect("written");
    let list = json!({ "name": "notes_skill_list", "arguments": { "domain": "gimp" } });
    let end = json!({ "name": "finish", "arguments": { "finish": "done" } });
    let script = [list, end].map(|call| json!({ "calls": [call] }).to_string()).join("\n");
    fs::write(place.path("model.jsonl"), script).expect("written");
    let model = format!("scripted:{}", place.path("model.jsonl").display());
    let (file, out) =
        (place.path("page.html").display().to_string(), place.path("traces").display().to_string());
    let mut editor = Editor::start(
        &place,
        &["--model", &model, "--url", "file:///home/user/page.html", "--file", &file, "--out", &out],
    );
    let book = golden(&place);
    let notes =
        json!({ "name": "notes", "command": PROGRAM, "args": ["mcp", "--skillbook", book], "env": [] });
    let with = |servers: Value| json!({ "cwd": place.0.path(), "mcpServers": servers });
    let far = json!({ "type": "http", "name": "far", "url": "http://127.0.0.1:9/mcp", "headers": [] });
    let gone = json!({ "name": "gone", "command": "/no/program", "args": [], "env": [] });
    for (id, server, code, words) in [
        (1, far, -32602, "\"far\" is not taken: its type is http"),
        (2, gone, -32603, "the tool server \"gone\": "),
    ] {
        editor.ask(id, "session/new", &with(json!([server])));
        let error = &editor.until(id).1["error"];
        assert_eq!(error["code"], code, "{error}");
        let told = error["message"].as_str().unwrap_or_default();
        assert!(told.contains(words), "{error}");
    }
    editor.ask(3, "session/new", &with(json!([notes])));
    let session = editor.until(3).1["result"]["sessionId"].as_str().expect("a session").to_owned();
    let knows = |process: u32| {
        fs::read_to_string(format!("/proc/{process}/cmdline")).is_ok_and(|line| line.contains(&book))
    };
    let mine = || below(std::process::id()).into_iter().filter(|one| knows(one.id)).count();
    assert_eq!(mine(), 1, "one server");
    editor.ask(4, "session/prompt", &prompt(&session));
    let (told, answer) = editor.until(4);
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{told:?}");
    let of_call = |message: &&Value| message["params"]["update"]["toolCallId"] == "call_1";
    let last = told.iter().rfind(of_call).expect("an update of the call");
    assert_eq!(last["params"]["update"]["status"], "completed", "{last}");
    assert!(last.to_string().contains("gimp"), "what the server answered is told: {last}");
    editor.ask(5, "session/close", &json!({ "sessionId": session }));
    assert_eq!(editor.until(5).1["result"], json!({}));
    await_some("the end of the session's server", || (mine() == 0).then_some(()));
    assert_eq!(editor.end(), Vec::<Value>::new());
}
