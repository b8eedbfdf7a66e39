//! `apprentice serve --sessions`: sessions over HTTP and on OpenEnv's socket, as bytes on the wire. OpenEnv's own client is tried by
//! `scripts/conformance/openenv`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::place::{Place, Running, await_some, await_within, rows};
use crate::published;

/// A form whose task is to write a number and to save it.
fn amount(faults: &Value) -> Value {
    json!({
        "instruction": "Write {{amount}} into \"Amount\" and press \"Save\".",
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "saved"], "method": "eq", "ref": "{{amount}}" }] } }
        },
        "apprentice": {
            "environment": "scene", "template": "amount", "screen": { "width": 640, "height": 400 },
            "scene": {
                "start": "form", "state": { "amount": "", "saved": "" }, "faults": faults,
                "pages": { "form": { "title": "Form", "controls": [
                    { "role": "textbox", "name": "Amount", "bind": "amount" },
                    { "role": "button", "name": "Save", "click": [{ "copy": { "saved": "amount" } }] }] } }
            },
            "vary": { "amount": ["17", "23", "31", "48", "52", "69", "74", "85", "96"] }
        }
    })
}

/// A task that has one variation.
fn lamp() -> Value {
    let mut task = amount(&json!([]));
    task["instruction"] = json!("Save nothing.");
    task["evaluator"]["expected"]["rules"]["expect"][0]["ref"] = json!("");
    task["apprentice"]["vary"] = json!({});
    task
}

fn tasks() -> [(&'static str, Value); 3] {
    let lost = json!([{ "at": "act", "after": 1, "fault": "lost" }]);
    [("amount", amount(&json!([]))), ("breaks", amount(&lost)), ("lamp", lamp())]
}

/// A server and how to ask it.
struct Served {
    running: Running,
    address: String,
}

impl Served {
    fn start(place: &Place, options: &[&str]) -> Self {
        let suite = place.suite(&tasks());
        let suite = suite.to_string_lossy().into_owned();
        let start = ["serve", "--port", "0", "--json", "--until-stdin-ends", "--suite", &suite];
        let arguments: Vec<&str> = start.into_iter().chain(options.iter().copied()).collect();
        let mut command = place.command(&arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Running::start(command);
        let mut lines = BufReader::new(running.0.stdout.take().expect("its output"));
        let mut told = String::new();
        let address = loop {
            assert_ne!(lines.read_line(&mut told).expect("read"), 0, "it ended: {told}");
            if let Ok(served) = serde_json::from_str::<Value>(&told) {
                published::check(&["serve", "--json"], told.as_bytes());
                break served["url"].as_str().expect("an address").trim_start_matches("http://").to_owned();
            }
        };
        Self { running, address }
    }

    fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{length}{body}").as_bytes()).expect("sent");
        stream
    }

    fn raw(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        answer(self.send(method, path, body))
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.raw(method, path, &body.to_string())
    }

    /// Opens a session.
    fn open(&self, body: &Value) -> String {
        let (status, opened) = self.ask("POST", "/sessions", body);
        assert_eq!(status, 201, "{opened}");
        opened["session"].as_str().expect("a session").to_owned()
    }

    fn step(&self, session: &str, body: &Value) -> Value {
        let (status, stepped) = self.ask("POST", &format!("/sessions/{session}/step"), body);
        assert_eq!(status, 200, "{stepped}");
        stepped
    }

    fn refused(&self, method: &str, path: &str, body: &Value) -> (u16, String) {
        let (status, told) = self.ask(method, path, body);
        assert_eq!(told["status"], "error", "{path}: {told}");
        assert!(told["message"].as_str().is_some_and(|message| !message.is_empty()), "{told}");
        (status, told["code"].as_str().unwrap_or_default().to_owned())
    }

    fn open_count(&self) -> u64 {
        self.ask("GET", "/sessions", &json!({})).1["open"].as_u64().expect("a number")
    }

    fn is_empty_soon(&self) {
        await_some("the end of all sessions", || (self.open_count() == 0).then_some(()));
    }
}

fn answer(mut stream: TcpStream) -> (u16, Value) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// A client of OpenEnv's socket, byte by byte.
struct Socket(TcpStream);

impl Socket {
    fn dial(served: &Served) -> Self {
        let mut stream = TcpStream::connect(&served.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
        let head = format!(
            "GET /ws HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            served.address
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a head");
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        // The example of RFC 6455.
        assert!(head.contains("101") && head.contains("s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        Self(stream)
    }

    /// Sends a text, masked by zeros.
    fn say(&mut self, text: &str) {
        let length = u16::try_from(text.len()).expect("short");
        let mut frame = vec![0x81, 0x80 | 126];
        frame.extend(length.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.0.write_all(&frame).expect("sent");
    }

    /// The next frame: a text as JSON, or null for a farewell.
    fn hear(&mut self) -> Value {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).expect("a frame");
        let mut length = u64::from(head[1]);
        if length == 126 {
            let mut long = [0; 2];
            self.0.read_exact(&mut long).expect("a length");
            length = u64::from(u16::from_be_bytes(long));
        } else if length == 127 {
            let mut long = [0; 8];
            self.0.read_exact(&mut long).expect("a length");
            length = u64::from_be_bytes(long);
        }
        let mut text = vec![0; usize::try_from(length).expect("it fits")];
        self.0.read_exact(&mut text).expect("a text");
        match head[0] & 15 {
            1 => serde_json::from_slice(&text).expect("JSON"),
            8 => Value::Null,
            other => panic!("a frame of kind {other}"),
        }
    }

    fn ask(&mut self, body: &Value) -> Value {
        self.say(&body.to_string());
        self.hear()
    }

    fn code(&mut self, text: &str) -> String {
        self.say(text);
        let told = self.hear();
        assert_eq!(told["type"], "error", "{text}: {told}");
        told["data"]["code"].as_str().expect("a code").to_owned()
    }
}

fn fill(number: &str) -> Value {
    json!({ "actions": [
        { "do": "click", "at": { "ref": "n2" } }, { "do": "type", "text": number },
        { "do": "click", "at": { "ref": "n3" } }] })
}

/// The number that an instruction asks for.
fn wanted(told: &Value) -> String {
    told["instruction"].as_str().and_then(|text| text.split(' ').nth(1)).expect("a number").to_owned()
}

#[test]
fn each_session_has_a_world_of_its_own_and_the_check_decides_the_reward() {
    let place = Place::new();
    let served = Served::start(&place, &["--sessions", "4"]);
    let (status, told) = served.ask("GET", "/tasks", &json!({}));
    assert_eq!((status, told["tasks"][0]["variations"].clone()), (200, Value::Null), "{told}");
    assert_eq!(told["tasks"][2]["variations"], 1);
    assert_eq!(told["tasks"][0]["screens"], json!([{ "width": 640, "height": 400 }]));
    let (_, group) =
        served.ask("POST", "/sessions", &json!({ "task": "amount", "seed": 3, "count": 2, "episode": "g" }));
    let (one, two) = (&group["sessions"][0], &group["sessions"][1]);
    assert_eq!(one["observation"], two["observation"], "the same seed is the same world");
    assert_eq!((&one["episode"], &two["episode"]), (&json!("g-1"), &json!("g-2")));
    let (number, first) = (wanted(one), one["session"].as_str().expect("an id"));
    let stepped = served.step(first, &fill(&number));
    assert_eq!((stepped["reward"].clone(), stepped["terminated"].clone()), (Value::Null, json!(false)));
    let (status, judged) = served.ask("POST", &format!("/sessions/{first}/judge"), &json!({}));
    assert_eq!((status, &judged["verdict"]), (200, &json!("pass")));
    let second = two["session"].as_str().expect("an id");
    let other = served.step(second, &json!({ "done": true }));
    assert_eq!((&other["reward"], &other["terminated"]), (&json!(0.0), &json!(true)), "{other}");
    let done = served.step(first, &json!({ "actions": [], "done": true }));
    assert_eq!((&done["reward"], &done["verdict"]["verdict"]), (&json!(1.0), &json!("pass")));
    assert_eq!(
        served.refused("POST", &format!("/sessions/{first}/step"), &json!({ "done": true })),
        (409, "episode_ended".to_owned())
    );
    let (_, status) = served.ask("GET", &format!("/sessions/{first}"), &json!({}));
    assert_eq!(
        (&status["done"], &status["reward"], &status["step_count"]),
        (&json!(true), &json!(1.0), &json!(2))
    );
    // A reset keeps what is not given, and begins another episode.
    let (_, again) =
        served.ask("POST", &format!("/sessions/{first}/reset"), &json!({ "max_steps": 2, "reward": "step" }));
    assert_eq!((&again["seed"], &again["session"]), (&json!(3), &json!(first)));
    assert_eq!(again["observation"], one["observation"]);
    assert_ne!(again["episode"], one["episode"]);
    let rewards: Vec<Value> =
        [fill(&number), json!({ "actions": [] })].iter().map(|step| served.step(first, step)).collect();
    assert_eq!(
        (&rewards[0]["reward"], &rewards[1]["reward"]),
        (&json!(1.0), &json!(0.0)),
        "the sum is the score"
    );
    assert_eq!((&rewards[1]["truncated"], &rewards[1]["terminated"]), (&json!(true), &json!(false)));
}

#[test]
fn what_is_not_carried_out_says_why_and_changes_nothing() {
    let place = Place::new();
    let served = Served::start(&place, &["--sessions", "2", "--queue", "0", "--idle-seconds", "2"]);
    let cases = [
        (json!({ "task": "amuont" }), 404, "unknown_task"),
        (json!({}), 400, "no_task_named"),
        (json!({ "task": "lamp", "seed": 1 }), 400, "seed_out_of_range"),
        (json!({ "task": "amount", "seed": -1 }), 400, "seed_out_of_range"),
        (json!({ "task": "amount", "seed": 4_294_967_296_u64 }), 400, "seed_out_of_range"),
        (json!({ "task": "amount", "seed": 1.5 }), 400, "seed_out_of_range"),
        (json!({ "task": "amount", "sed": 1 }), 400, "bad_request"),
        (json!({ "task": "amount", "count": 0 }), 400, "bad_request"),
        (json!({ "task": "amount", "count": 3 }), 400, "bad_request"),
        (json!({ "task": "amount", "max_steps": 0 }), 400, "bad_request"),
        (json!({ "task": "amount", "reward": "sum" }), 400, "bad_request"),
        (json!({ "task": "amount", "episode": "a\nb" }), 400, "bad_request"),
        (json!([]), 400, "bad_request"),
    ];
    for (body, status, code) in cases {
        assert_eq!(served.refused("POST", "/sessions", &body), (status, code.to_owned()), "{body}");
    }
    // A trainer may look for the model's address here.
    let given = json!({ "task": "amount", "base_url": "http://127.0.0.1:9/v1" });
    let (status, told) = served.ask("POST", "/sessions", &given);
    let words = told["message"].as_str().unwrap_or_default();
    assert!(
        status == 400 && words.starts_with("base_url: a session has no model, its client acts"),
        "{told}"
    );
    let id = served.open(&json!({ "task": "amount" }));
    let path = format!("/sessions/{id}/step");
    for body in [
        json!({}),
        json!("pyautogui.click(1, 2)"),
        json!("click('12')"),
        json!({ "action": { "do": "click" } }),
        json!({ "actions": [{ "do": "click", "at": { "ref": "n2" }, "where": 1 }] }),
        json!({ "done": true, "gave_up": true }),
    ] {
        assert_eq!(served.refused("POST", &path, &body), (400, "bad_request".to_owned()), "{body}");
    }
    let large = format!("{{\"answer\": \"{}\"}}", "x".repeat(17 << 20));
    let mut stream = TcpStream::connect(&served.address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
    let head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", served.address);
    let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", large.len());
    stream.write_all(format!("{head}{length}").as_bytes()).expect("sent");
    let (status, told) = answer(stream);
    assert_eq!((status, &told["code"]), (413, &json!("body_too_large")), "{told}");
    let (_, status) = served.ask("GET", &format!("/sessions/{id}"), &json!({}));
    assert_eq!(status["step_count"], 0, "what was refused changed nothing");
    // An element that is not there is no error of the client's program, but told to the model.
    let missed = served.step(&id, &json!({ "actions": [{ "do": "click", "at": { "ref": "n99" } }] }));
    assert_eq!(missed["reports"][0]["delivery"]["delivery"], "refused", "{missed}");
}

#[test]
fn a_session_has_one_writer_and_ends_when_it_is_idle() {
    let place = Place::new();
    let served = Served::start(&place, &["--sessions", "2", "--queue", "0", "--idle-seconds", "2"]);
    let id = served.open(&json!({ "task": "amount" }));
    let path = format!("/sessions/{id}/step");
    // Two writers of one session. On a busy machine the one may be done before the other is heard.
    let slow = json!({ "actions": [{ "do": "wait", "ms": 1500 }] }).to_string();
    let refused = await_some("two writers at once", || {
        let both = [(); 2].map(|()| served.send("POST", &path, &slow)).map(answer);
        let [first, second] = &both;
        assert!(first.0 == 200 || second.0 == 200, "{both:?}");
        both.into_iter().find(|(status, _)| *status != 200)
    });
    assert_eq!((refused.0, &refused.1["code"]), (409, &json!("busy")));
    // All places are taken, and nobody may wait.
    let other = served.open(&json!({ "task": "lamp" }));
    let (status, told) = served.ask("POST", "/sessions", &json!({ "task": "lamp" }));
    assert_eq!((status, &told["code"]), (503, &json!("capacity")));
    assert_eq!(served.ask("DELETE", &format!("/sessions/{other}"), &json!({})).0, 204);
    assert_eq!(
        served.refused("GET", &format!("/sessions/{other}"), &json!({})),
        (404, "no_session".to_owned())
    );
    let idle = await_some("the end of the idle session", || {
        // Its status is asked for by whoever watches, and keeps nothing open.
        let (status, told) = served.ask("GET", &format!("/sessions/{id}"), &json!({}));
        (status == 404).then_some(told)
    });
    assert!(idle["message"].as_str().is_some_and(|why| why.contains("idle")), "{idle}");
    for (method, path, status, code) in [
        ("POST", "/step", 404, "not_here"),
        ("POST", "/reset", 404, "not_here"),
        ("GET", "/nothing", 404, "no_path"),
        ("PUT", "/sessions", 405, "wrong_method"),
        ("GET", "/ws", 426, "no_socket"),
    ] {
        assert_eq!(served.refused(method, path, &json!({})), (status, code.to_owned()), "{path}");
    }
}

#[test]
fn a_world_that_breaks_is_void_and_never_a_reward() {
    let place = Place::new();
    let out = place.path("out");
    let served = Served::start(&place, &["--sessions", "2", "--out", &out.to_string_lossy()]);
    let id = served.open(&json!({ "task": "breaks", "episode": "broken" }));
    let click = json!({ "actions": [{ "do": "click", "at": { "ref": "n2" } }] });
    served.step(&id, &click);
    let path = format!("/sessions/{id}/step");
    let (status, told) = served.ask("POST", &path, &click);
    assert_eq!((status, &told["code"]), (500, &json!("void")), "{told}");
    assert!(told["message"].as_str().is_some_and(|why| why.starts_with("world_lost: ")), "{told}");
    assert_eq!(served.refused("POST", &path, &click), (409, "episode_ended".to_owned()));
    let (_, status) = served.ask("GET", &format!("/sessions/{id}"), &json!({}));
    assert_eq!((&status["reward"], &status["verdict"]), (&Value::Null, &Value::Null), "{status}");
    let mut socket = Socket::dial(&served);
    socket.ask(&json!({ "type": "reset", "data": { "task": "breaks" } }));
    socket.ask(&json!({ "type": "step", "data": click }));
    let told = socket.ask(&json!({ "type": "step", "data": click }));
    assert_eq!(told["data"]["code"], "EXECUTION_ERROR");
    assert!(
        told["data"]["message"].as_str().is_some_and(|why| why.starts_with("void: world_lost")),
        "{told}"
    );
    let told = socket
        .ask(&json!({ "type": "reset", "data": { "task": "amount", "seed": 2, "episode_id": "solved" } }));
    let number = wanted(&told["data"]["observation"]);
    socket.ask(&json!({ "type": "step", "data": fill(&number) }));
    let told = socket.ask(&json!({ "type": "step", "data": { "done": true } }));
    assert_eq!((&told["data"]["done"], &told["data"]["reward"]), (&json!(true), &json!(1.0)), "{told}");
    assert_eq!(told["data"]["metadata"]["verdict"]["verdict"], "pass");
    served.is_soon(&out, 3);
    let found: Vec<Value> = runs(&out).iter().flat_map(|run| rows(run)).collect();
    let of = |episode: &str| found.iter().find(|row| row["episode"] == episode).expect("a row").clone();
    assert_eq!(
        (of("broken")["verdict"].clone(), of("broken")["void_cause"].clone()),
        (json!("void"), json!("world_lost"))
    );
    assert_eq!((of("solved")["verdict"].clone(), of("solved")["score"].clone()), (json!("pass"), json!(1.0)));
    assert_eq!(
        (of("solved")["model"].clone(), of("solved")["seed"].clone()),
        (json!("served/client"), json!(2))
    );
    for run in runs(&out) {
        crate::place::check_traces(&run);
        let plan: Value =
            serde_json::from_str(&std::fs::read_to_string(run.join("run.json")).expect("a plan"))
                .expect("JSON");
        assert!(plan["served"].is_string(), "{plan}");
        let graded = place.output(&["grade", &run.to_string_lossy()]);
        assert!(graded.status.success(), "{graded:?}");
    }
}

impl Served {
    /// Waits for so many rows.
    fn is_soon(&self, out: &Path, count: usize) {
        await_some("the rows", || {
            assert!(self.running.id() > 0);
            (runs(out).iter().map(|run| rows(run).len()).sum::<usize>() == count).then_some(())
        });
    }
}

/// The runs below a folder.
fn runs(out: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(out).expect("a folder").flatten().map(|entry| entry.path());
    entries.filter(|path| path.join("run.json").exists()).collect()
}

#[test]
fn a_fork_repeats_the_steps_in_a_fresh_world() {
    let place = Place::new();
    let served = Served::start(&place, &["--sessions", "2", "--task", "amount"]);
    let id = served.open(&json!({ "seed": 5 }));
    let path = format!("/sessions/{id}/fork");
    let before = served.step(&id, &fill("4"));
    served.step(&id, &fill("2"));
    let (status, forked) = served.ask("POST", &path, &json!({ "step": 1 }));
    assert_eq!(status, 201, "{forked}");
    assert_eq!(
        forked["forked_from"],
        json!({ "session": id, "step": 1, "same_screen": true, "differences": [] })
    );
    assert_eq!(forked["observation"], before["observation"]);
    let other = forked["session"].as_str().expect("an id");
    assert_eq!(served.step(other, &json!({ "actions": [] }))["step_count"], 2);
    assert_eq!(served.ask("DELETE", &format!("/sessions/{other}"), &json!({})).0, 204);
    assert_eq!(served.refused("POST", &path, &json!({ "step": 3 })), (400, "no_such_step".to_owned()));
    assert_eq!(
        served.refused("POST", &path, &json!({ "step": 1, "seed": 2 })),
        (400, "bad_request".to_owned())
    );
}

#[test]
fn openenvs_socket_holds_one_world_and_frees_it_at_once() {
    let place = Place::new();
    let served = Served::start(&place, &["--sessions", "1", "--task", "amount"]);
    let mut socket = Socket::dial(&served);
    let step = json!({ "type": "step", "data": { "actions": [] } });
    assert_eq!(socket.code(&step.to_string()), "EXECUTION_ERROR", "a step before the first reset");
    assert_eq!(
        socket.ask(&json!({ "type": "state" }))["data"],
        json!({ "episode_id": null, "step_count": 0, "task": null, "seed": null })
    );
    let first = socket.ask(&json!({ "type": "reset", "data": { "seed": 3, "episode_id": "one" } }));
    assert_eq!(
        (&first["type"], &first["data"]["done"], &first["data"]["reward"]),
        (&json!("observation"), &json!(false), &Value::Null)
    );
    assert_eq!(socket.ask(&step)["type"], "observation");
    let state = json!({ "type": "state", "data": { "episode_id": "one", "step_count": 1, "task": "amount", "seed": 3 } });
    for (text, code) in [
        ("no JSON", "INVALID_JSON"),
        ("{\"type\": \"dance\"}", "UNKNOWN_TYPE"),
        ("{\"type\": \"step\"}", "VALIDATION_ERROR"),
        ("{\"type\": \"step\", \"data\": {}}", "VALIDATION_ERROR"),
        ("{\"type\": \"reset\", \"seed\": 1}", "VALIDATION_ERROR"),
        ("{\"type\": \"reset\", \"data\": {\"sed\": 1}}", "VALIDATION_ERROR"),
        ("{\"type\": \"reset\", \"data\": {\"task\": \"none\"}}", "VALIDATION_ERROR"),
        ("{\"type\": \"reset\", \"data\": {\"task\": \"lamp\", \"seed\": 1}}", "VALIDATION_ERROR"),
    ] {
        assert_eq!(socket.code(text), code, "{text}");
        assert_eq!(socket.ask(&json!({ "type": "state" })), state, "after {text}");
    }
    // One more is told, and closed, though it has asked for something already.
    let mut more = Socket::dial(&served);
    more.say(&json!({ "type": "reset", "data": {} }).to_string());
    let told = more.hear();
    assert_eq!(
        (&told["data"]["code"], &told["data"]["max_sessions"]),
        (&json!("CAPACITY_REACHED"), &json!(1)),
        "{told}"
    );
    assert_eq!(more.hear(), Value::Null);
    // A client that vanishes in the middle of a step.
    socket
        .say(&json!({ "type": "step", "data": { "actions": [{ "do": "wait", "ms": 60000 }] } }).to_string());
    socket.0.shutdown(Shutdown::Both).expect("cut");
    await_within(Duration::from_secs(5), "the place of the socket", || {
        (served.open_count() == 0).then_some(())
    });
    let mut again = Socket::dial(&served);
    let told = again.ask(&json!({ "type": "reset", "data": { "seed": 3 } }));
    assert_eq!(told["data"]["observation"], first["data"]["observation"]);
    assert_eq!(again.ask(&json!({ "type": "close" })), Value::Null, "a farewell without a frame before it");
}

#[test]
fn hundreds_of_sessions_ended_in_every_way_leave_nothing_and_the_server_ends_with_its_starter() {
    let place = Place::new();
    let mut served = Served::start(&place, &["--sessions", "8", "--task", "amount", "--idle-seconds", "1"]);
    let files = |served: &Served| {
        std::fs::read_dir(format!("/proc/{}/fd", served.running.id())).expect("files").count()
    };
    for round in 0..40 {
        let id = served.open(&json!({ "seed": round }));
        served.step(&id, &json!({ "actions": [] }));
        assert_eq!(served.ask("DELETE", &format!("/sessions/{id}"), &json!({})).0, 204);
        // A client that goes while its session is opened, and one in the middle of a step.
        drop(served.send("POST", "/sessions", "{}"));
        let id = served.open(&json!({ "seed": round }));
        let wait = json!({ "actions": [{ "do": "wait", "ms": 5 }] }).to_string();
        drop(served.send("POST", &format!("/sessions/{id}/step"), &wait));
        let mut socket = Socket::dial(&served);
        socket.say(&json!({ "type": "reset", "data": {} }).to_string());
        drop(socket);
        if round % 8 == 7 {
            served.is_empty_soon();
        }
    }
    served.is_empty_soon();
    let before = files(&served);
    await_some("the files of connections", || (files(&served) <= before).then_some(()));
    assert!(before < 40, "{before} files are open");
    assert!(crate::place::below(served.running.id()).is_empty());
    // A session is open when the process that started the server goes.
    served.open(&json!({}));
    drop(served.running.0.stdin.take());
    assert_eq!(served.running.ended().code(), Some(0));
}
