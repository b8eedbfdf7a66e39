//! Machines behind OSWorld's server protocol: a stand-in for one, in a cell with a display and real programs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Clock as _, Command, PortForward, Size, Why};
use apprentice_sandbox::SystemClock;
use apprentice_sandbox::{Cell, CellIsolation, CellLimits, CellSpec};
use serde_json::{Value, json};

use crate::place::{PROGRAM, Place, rows, suite, worlds_can_start};
use crate::published;
use crate::starter::is_installed;

const SERVER: &str = include_str!("../machine/server.py");
const RESET: &str = include_str!("../machine/reset.py");
/// What images of OSWorld have as a package.
const PYAUTOGUI: &str = include_str!("../../../tasks/src/world_io/pyautogui.py");
const PORT: u16 = 5000;
const SOON: Duration = Duration::from_secs(30);
const FLOOR: Duration = Duration::from_millis(100);

/// A machine that stands as long as this value.
struct Stand {
    cell: Cell,
    way: PortForward,
    reset: String,
}

impl Stand {
    async fn start(place: &Place) -> Self {
        let spec = CellSpec {
            bare: false,
            network: Vec::new(),
            folders: Vec::new(),
            screen: Some(Size::new(1280, 800).into()),
            isolation: CellIsolation::Bubblewrap,
            program: PROGRAM.into(),
            argument: "cell-supervisor".into(),
            state: place.path("machine"),
            golden: None,
            limits: CellLimits::default(),
        };
        let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
        let machine = cell.machine();
        for (path, text) in [("server.py", SERVER), ("lib/pyautogui.py", PYAUTOGUI)] {
            machine.write(&format!("/home/user/.machine/{path}"), text.as_bytes()).await.expect("writes");
        }
        let line = format!("exec python3 .machine/server.py {PORT} >.machine/log 2>&1");
        let mut command = Command::shell(line);
        command.env.push(("PYTHONPATH".into(), "/home/user/.machine/lib".into()));
        machine.launch(&command).await.expect("launches");
        let answers =
            format!("import urllib.request as r; r.urlopen('http://127.0.0.1:{PORT}/platform', timeout=5)");
        let clock = SystemClock::new();
        while machine.run(&Command::new(["python3", "-c", &answers])).await.expect("runs").code != 0 {
            assert!(clock.mono() < SOON, "the server does not answer");
            clock.pause(FLOOR, Why::PollFloor).await;
        }
        let way = machine.dial(PORT).await.expect("a way");
        std::fs::write(place.path("reset.py"), RESET).expect("written");
        let reset = format!("python3 {}", place.path("reset.py").display());
        Self { cell, way, reset }
    }

    fn url(&self) -> String {
        format!("http://{}", self.way.address)
    }

    /// What the server was asked so far.
    async fn asked(&self) -> String {
        let log = self.cell.machine().read("/home/user/.machine/log").await.unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    async fn end(self) {
        self.cell.close(SOON).await.expect("ends");
    }
}

/// Runs the program to its end beside what the machine needs of this thread.
async fn apprentice(place: &Place, arguments: &[&str]) -> (Option<i32>, Value, String) {
    let mut command = tokio::process::Command::from(place.command(arguments));
    let output = command.kill_on_drop(true).output().await.expect("it starts");
    published::check(arguments, &output.stdout);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), json, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn can_start() -> bool {
    worlds_can_start() && is_installed("python3") && is_installed("xprop")
}

/// The machine itself told which versions its programs have.
fn check_versions(trace: &Path) {
    let text = std::fs::read_to_string(trace.join("events.jsonl")).expect("a trace");
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let told = events.filter(|event| event["kind"] == "versions.seen").collect::<Vec<_>>();
    assert!(!told.is_empty(), "nobody asked: {text}");
    let versions = &told[0]["data"]["versions"];
    assert!(versions["os"].is_string() && versions.get("mousepad").is_some(), "{versions}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_set_up_acted_and_graded_on_a_machine_as_in_a_cell() {
    if !can_start() || !Path::new("/usr/lib/python3/dist-packages/gi").exists() {
        return;
    }
    let place = Place::new();
    let stand = Stand::start(&place).await;
    let (url, suite) = (stand.url(), suite().to_string_lossy().into_owned());
    let tasks = ["--task", "mousepad-add-line", "--task", "mousepad-windows-lines"];
    let machine = ["--world", "vm", "--vm-url", &url, "--vm-reset", &stand.reset];
    let audit = ["tasks", "audit", &suite, "--json"];
    // Solution, near miss and doing nothing come out as they must, which is how they do in a cell.
    let arguments: Vec<&str> = audit.into_iter().chain(tasks).chain(machine).collect();
    let (code, report, story) = apprentice(&place, &arguments).await;
    let asked = stand.asked().await;
    let done: Vec<String> = crate::place::events(&place.run_folder())
        .into_iter()
        .filter(|event| ["\"action\"", "\"judged\"", "\"stopped\""].iter().any(|kind| event.contains(kind)))
        .collect();
    let told = format!("{story}\n{}", done.join("\n"));
    assert_eq!((code, &report["findings"]), (Some(0), &json!([])), "{told}");
    assert_eq!(report["trials"], 6);
    for row in rows(&place.run_folder()) {
        assert_eq!(row["isolation"], "machine", "{row}");
        check_versions(&place.run_folder().join(row["trace"].as_str().expect("a place")));
    }
    for path in
        ["GET /screenshot", "GET /accessibility", "POST /execute", "POST /setup/upload", "POST /setup/launch"]
    {
        assert!(asked.contains(path), "{path} is never asked");
    }
    assert!(!asked.contains("recording"), "nothing is recorded there");
    stand.end().await;
}

/// A task that looks at a machine with each getter that needs a word of the protocol of its own.
fn looking() -> Value {
    let rule = |value: Value| json!({"type": "rule", "rules": {"expected": value}});
    let shell = |line: &str| json!({"type": "vm_command_line", "command": line, "shell": true});
    let selector = "application[name=mousepad] frame[st|active=true] text";
    json!({
        "apprentice": null,
        "config": [
            {"type": "write_file", "parameters": {"path": "~/box/a/one.txt", "content": "one"}},
            {"type": "upload_file", "parameters": {"files": [{"local_path": "two.bin", "path": "/home/user/box/two.bin"}]}},
            {"type": "execute", "parameters": {"command": ["sh", "-c", "printf three > \"$0\"", "/home/user/box/three"]}},
            {"type": "launch", "parameters": {"command": ["mousepad", "~/box/a/one.txt"], "window": "one.txt"}},
            {"type": "activate_window", "parameters": {"window_name": "one.txt"}},
        ],
        "evaluator": {
            "func": ["exact_match", "exact_match", "exact_match", "exact_match", "exact_match", "check_accessibility_tree", "compare_text_file"],
            "result": [
                {"type": "vm_screen_size"}, {"type": "list_directory", "path": "/home/user/box"},
                shell("cat ~/box/three; echo; false"), {"type": "vm_window_size", "app_class_name": "none"},
                shell("wc -c < /home/user/box/two.bin"), {"type": "accessibility_tree"},
                {"type": "vm_file", "path": "/home/user/box/a/one.txt", "dest": "one.txt"},
            ],
            "expected": [
                rule(json!({"width": 1280, "height": 800})),
                rule(json!({"type": "directory", "name": "box", "children": [
                    {"type": "directory", "name": "a", "children": [{"type": "file", "name": "one.txt"}]},
                    {"type": "file", "name": "three"}, {"type": "file", "name": "two.bin"}]})),
                rule(json!("three\n")), rule(Value::Null), rule(json!("70000\n")),
                {"type": "rule", "rules": [{"selectors": [selector], "text": "one", "exact": true}]},
                {"type": "vm_file", "path": "/home/user/box/a/one.txt", "dest": "gold.txt"},
            ],
        },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn getters_find_on_a_machine_what_is_there_and_faults_are_void() {
    if !can_start() || !Path::new("/usr/lib/python3/dist-packages/gi").exists() {
        return;
    }
    let place = Place::new();
    let stand = Stand::start(&place).await;
    let own = place.suite(&[("looking", looking())]);
    std::fs::write(own.join("two.bin"), vec![0xff; 70_000]).expect("written");
    let own = own.to_string_lossy().into_owned();
    let run = |url: String| {
        let own = own.clone();
        let place = &place;
        async move {
            let arguments =
                ["run", &own, "--model", "baseline/noop", "--world", "vm", "--vm-url", &url, "--json"];
            apprentice(place, &arguments).await
        }
    };
    let (code, _, story) = run(stand.url()).await;
    let row = rows(&place.run_folder()).pop().expect("a row");
    assert_eq!((code, &row["verdict"]), (Some(0), &json!("pass")), "{row} {story}\n{}", stand.asked().await);
    let plan = std::fs::read_to_string(place.run_folder().join("run.json")).expect("a plan");
    let plan: Value = serde_json::from_str(&plan).expect("json");
    let told = ["world: vm", "vm.reset: none, attempts follow each other on one machine"];
    assert_eq!(plan["concessions"], json!(told));
    // The server ends, and the machine with it: what follows is nobody's failure but the machine's.
    let output = stand.cell.machine().run(&Command::new(["pkill", "-f", "server.py"])).await.expect("runs");
    assert_eq!(output.code, 0);
    std::fs::rename(place.path("runs"), place.path("before")).expect("moved");
    std::fs::write(place.path("apprentice.toml"), "attempts = 1\n[vm]\nready_s = 1\n").expect("written");
    let began = SystemClock::new();
    let (code, _, story) = run(stand.url()).await;
    let row = rows(&place.run_folder()).pop().expect("a row");
    assert_eq!((code, &row["void_cause"]), (Some(11), &json!("world_start")), "{row} {story}");
    assert!(began.mono() < SOON, "it is known at once");
    stand.end().await;
}

/// What is typed: characters of the keyboard and others, of which one can be typed by no key.
const TYPED: &str = "Grüße, 東京 – naïve 😀\u{7} <ok>";
/// More different characters than any keyboard has spare keys for.
fn many() -> String {
    ('а'..='я').chain('ぁ'..='ゖ').chain('α'..='ω').chain('Ā'..='ſ').collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_beyond_ascii_arrives_and_what_does_not_is_named() {
    if !can_start() || !is_installed("mousepad") {
        return;
    }
    let place = Place::new();
    let stand = Stand::start(&place).await;
    let all = format!("{TYPED}\n{}\n", many());
    let wanted = all.replace('\u{7}', "");
    let own = place.suite(&[(
        "typing",
        json!({
            "config": [
                {"type": "write_file", "parameters": {"path": "/home/user/words.txt", "content": ""}},
                {"type": "launch", "parameters": {"command": ["mousepad", "/home/user/words.txt"], "window": "words.txt"}},
                {"type": "activate_window", "parameters": {"window_name": "words.txt"}},
            ],
            "evaluator": {
                "func": "exact_match",
                "result": {"type": "vm_command_line", "command": ["cat", "/home/user/words.txt"]},
                "expected": {"type": "rule", "rules": {"expected": wanted}},
            },
        }),
    )]);
    let acts =
        |acts: Value| json!({"calls": [{"name": "computer", "arguments": {"actions": acts}}]}).to_string();
    let script = [
        acts(json!([{"do": "type", "text": TYPED}])),
        acts(json!([{"do": "type", "text": format!("\n{}\n", many())}, {"do": "key", "chord": "ctrl+s"}])),
        acts(json!([{"do": "wait", "ms": 500}])),
        json!({"calls": [{"name": "finish", "arguments": {"finish": "done"}}]}).to_string(),
    ];
    std::fs::write(place.path("script.jsonl"), script.join("\n")).expect("written");
    let (own, url) = (own.to_string_lossy().into_owned(), stand.url());
    let model = format!("scripted:{}", place.path("script.jsonl").display());
    let run = ["run", &own, "--model", &model, "--world", "vm", "--vm-url", &url, "--json"];
    let (code, _, story) = apprentice(&place, &run).await;
    let row = rows(&place.run_folder()).pop().expect("a row");
    let events = crate::place::events(&place.run_folder()).join("\n");
    assert_eq!((code, &row["verdict"]), (Some(0), &json!("pass")), "{row} {story}\n{events}");
    let told = |line: &&str| line.contains("characters that no key types were left out");
    let actions = events.lines().filter(|line| line.contains("\"kind\":\"action\""));
    let answers: Vec<&str> = actions.filter(told).collect();
    assert!(matches!(answers[..], [one] if one.contains("\\u{7}")), "the bell alone is named: {answers:?}");
    stand.end().await;
}

#[tokio::test]
async fn a_reset_that_fails_or_a_place_that_is_none_is_said() {
    let place = Place::new();
    let own = place.suite(&[("one", json!({}))]).to_string_lossy().into_owned();
    let run = ["run", &own, "--model", "baseline/noop", "--world", "vm"];
    for (more, code, words) in
        [(&[][..], 3, "no VM is configured"), (&["--vm-url", "not a place"][..], 3, "names no machine")]
    {
        let arguments: Vec<&str> = run.iter().copied().chain(more.iter().copied()).collect();
        let (found, _, story) = apprentice(&place, &arguments).await;
        assert_eq!(found, Some(code), "{story}");
        assert!(story.contains(words), "{story}");
    }
    std::fs::write(place.path("apprentice.toml"), "attempts = 1\n").expect("written");
    let reset = ["--vm-reset", "echo the image is gone >&2; exit 4"];
    let arguments: Vec<&str> = run.iter().copied().chain(reset).collect();
    let (code, _, story) = apprentice(&place, &arguments).await;
    assert_eq!(code, Some(11), "{story}");
    let events = crate::place::events(&place.run_folder()).join("\n");
    assert!(events.contains("the image is gone"), "{events}");
}
