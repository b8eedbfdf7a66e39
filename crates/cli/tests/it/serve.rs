//! `apprentice serve`, as far as it refuses to start, and who it answers. Its clients are tried by `scripts/conformance/serve-clients`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, Running, suite, worlds_can_start};
use crate::published;

#[test]
fn it_refuses_what_it_cannot_serve() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let starter = suite().to_string_lossy().into_owned();
    let many = ["800x600"; 17].join("+");
    for (options, code, reason) in [
        (&["--listen", "0.0.0.0"][..], 2, "APPRENTICE_TOKEN"),
        (&["--screen", "1280"], 2, "WIDTHxHEIGHT"),
        (&["--screen", "10x10"], 2, "64 to 16384"),
        (&["--screen", "200x200+0x0"], 2, "monitor 2 is \"0x0\": expected WIDTHxHEIGHT, from 128 to 16384"),
        (&["--screen", "1x1+800x600"], 2, "monitor 1 is \"1x1\""),
        (&["--screen", "800x600++800x600"], 2, "monitor 2 is \"\""),
        (&["--screen", &many], 2, "17 monitors are too many: a screen has at most 16"),
        (&["--screen", "16384x600+16384x600"], 2, "at most 30000 wide"),
        (&["--screen", "800x600+800x600", "--url", "about:blank"], 2, "only a desktop world has them"),
        (&["--forward", "0"], 2, "from 1 to 65535"),
        (&["--forward", "9222:x"], 2, "is no port"),
        (&["--suite", &starter], 2, "--task"),
        (&["--suite", &starter, "--task", "mousepad-sing"], 4, "mousepad-sign"),
        (&["--app", "mousepad", "--url", "about:blank"], 2, "cannot be used with"),
        (&["--suite", &starter, "--task", "mousepad-sign", "--screen", "800x600"], 2, "cannot be used with"),
        (&["--url", "about:blank", "--file", "a.txt"], 2, "cannot be used with"),
        (&["--file", "missing.txt"], 2, "missing.txt cannot be read"),
        (&["--port", &port], 21, "--port"),
    ] {
        let arguments: Vec<&str> = ["serve"].into_iter().chain(options.iter().copied()).collect();
        let output = place.output(&arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{options:?}: {told}");
        assert!(told.contains(reason), "{options:?}: {told}");
    }
    let mut short = place.command(&["serve", "--listen", "0.0.0.0"]);
    let output = short.env("APPRENTICE_TOKEN", "short").output().expect("it starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

/// Sends one request and returns the status line and the body.
fn ask(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

/// Starts a server that tells its address as JSON.
fn serving(mut command: Command) -> (Running, String) {
    command.stdout(Stdio::piped());
    let mut running = Running::start(command);
    let mut told = String::new();
    let mut lines = BufReader::new(running.0.stdout.take().expect("its output"));
    let served: Value = loop {
        assert_ne!(lines.read_line(&mut told).expect("read"), 0, "it ended: {told}");
        if let Ok(served) = serde_json::from_str(&told) {
            published::check(&["serve", "--json"], told.as_bytes());
            break served;
        }
    };
    let address = served["url"].as_str().expect("an address").trim_start_matches("http://").to_owned();
    (running, address)
}

#[test]
fn files_are_kept_and_restored_into_a_fresh_world_and_no_process_is() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    std::fs::write(place.path("brought.txt"), "from here\n").expect("written");
    let command =
        place.command(&["serve", "--port", "0", "--screen", "640x480", "--file", "brought.txt", "--json"]);
    let (mut running, address) = serving(command);
    let post = |path: &str, body: &Value| -> (u16, Value) {
        let body = body.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        let (status, answer) = ask(&address, &format!("{head}{length}{body}"));
        let code = status.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a code");
        (code, serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}")))
    };
    let shell = |line: &str| {
        let (code, answer) = post("/execute", &json!({ "command": line, "shell": true }));
        assert_eq!((code, &answer["returncode"]), (200, &json!(0)), "{answer}");
        answer["output"].as_str().unwrap_or_default().trim_end().to_owned()
    };
    assert_eq!(shell("cat ~/brought.txt"), "from here");
    shell(
        "mkdir -p ~/Documents/deep && echo one > ~/Documents/deep/a.txt && chmod 741 ~/Documents/deep/a.txt \
           && ln -s a.txt ~/Documents/deep/link && printf 'x' > \"$HOME/odd \n name\"",
    );
    let state =
        "cd && find . -printf '%p %m %s %T@ %l\\n' | grep -v -e '^./.cache' -e '^[.] ' | sort | sha256sum";
    let before = shell(state);
    let (code, taken) = post("/checkpoint", &json!({ "name": "begin" }));
    assert_eq!(code, 200, "{taken}");
    assert_eq!(taken["programs_not_kept"], json!([]));
    assert!(taken["bytes"].as_u64().is_some_and(|bytes| bytes > 10_000), "{taken}");
    shell("echo two > ~/Documents/deep/a.txt; rm ~/Documents/deep/link; echo new > ~/new.txt");
    assert_ne!(shell(state), before);
    let (code, refused) = post("/checkpoint", &json!({ "name": "all", "processes": true }));
    assert_eq!(code, 400, "{refused}");
    assert!(
        refused["message"].as_str().is_some_and(|why| why.contains("no state of processes")),
        "{refused}"
    );
    let (code, unknown) = post("/restore", &json!({ "name": "end" }));
    assert_eq!(code, 404, "{unknown}");
    assert_eq!(shell("cat ~/new.txt"), "new", "what was refused changed nothing");
    for _ in 0..2 {
        let (code, restored) = post("/restore", &json!({ "name": "begin" }));
        assert_eq!(code, 200, "{restored}");
        assert_eq!(shell(state), before);
        assert_eq!(shell("cat ~/Documents/deep/link"), "one");
        shell("rm -r ~/Documents");
    }
    assert_eq!(place.cells().len(), 1);
    running.signal(Signal::INT);
    assert_eq!(running.ended().code(), Some(0));
}

#[test]
fn several_monitors_are_served_as_one_screen() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let screen = ["--screen", "640x480+800x333"];
    let (mut running, address) =
        serving(place.command(&["serve", "--port", "0", screen[0], screen[1], "--json"]));
    let post = |path: &str, body: &Value| -> Value {
        let body = body.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        serde_json::from_str(&ask(&address, &format!("{head}{length}{body}")).1).expect("JSON")
    };
    assert_eq!(post("/screen_size", &json!({})), json!({ "width": 1440, "height": 480 }));
    let at = |x: i32, y: i32| json!({ "do": "move", "to": { "point": { "x": x, "y": y } } });
    let step =
        |actions: Value| post("/step", &json!({ "actions": actions, "screenshot": false, "outline": false }));
    let stepped = step(json!([at(1439, 332), { "do": "cursor" }, at(1000, 400)]));
    assert_eq!(stepped["reports"][1]["pointer"], json!({ "x": 1439, "y": 332 }), "{stepped}");
    assert_eq!(
        stepped["reports"][2]["delivery"]["problem"],
        "point (1000, 400) is on no monitor: monitor 2 above it ends at y 332, and nothing is shown below"
    );
    assert_eq!(stepped["monitors"][1], json!({ "x": 640, "y": 0, "width": 800, "height": 333 }));
    running.signal(Signal::INT);
    assert_eq!(running.ended().code(), Some(0));
}

#[test]
fn with_a_token_it_answers_its_holders_only_and_ends_with_its_world() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let mut command = place.command(&["serve", "--port", "0", "--screen", "640x480", "--json"]);
    command.env("APPRENTICE_TOKEN", "0123456789abcdef");
    let (mut running, address) = serving(command);
    let request = |headers: &str| {
        format!(
            "POST /screen_size HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n{headers}\r\n"
        )
    };
    let (status, _) = ask(&address, &request("Authorization: Bearer 0123456789abcdef\r\n"));
    assert_eq!(status, "HTTP/1.1 200 OK");
    for headers in ["", "Authorization: Bearer 0123456789abcdeX\r\n"] {
        let (status, body) = ask(&address, &request(headers));
        assert_eq!(status, "HTTP/1.1 401 Unauthorized", "{body}");
        assert!(!body.contains("0123456789abcdef"), "{body}");
    }
    assert_eq!(place.cells().len(), 1);
    running.signal(Signal::INT);
    assert_eq!(running.ended().code(), Some(0));
    assert!(place.cells().is_empty(), "{:?}", place.cells());
}
