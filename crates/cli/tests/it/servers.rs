//! Servers of tools: on this machine and inside a world, their tools called, and none of them left.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use apprentice_harness::tool::mcp::{HostEnvironment, McpServers, read_specs};
use apprentice_protocol::{StepId, StepRef, Tool, ToolOutcome};
use apprentice_sandbox::SystemClock;
use serde_json::{Value, json};

use crate::place::{DEADLINE, Place, await_some, below, copy, worlds_can_start};

const PROGRAM: &str = env!("CARGO_BIN_EXE_apprentice");
const KNOWN: &str = "gimp/open-the-menu-posterize";

/// A book whose folder the servers get, copied from the one of the first version.
/// What servers on this machine inherit.
fn here() -> Option<HostEnvironment> {
    Some(vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())])
}

pub(crate) fn golden(place: &Place) -> String {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../skillbook/tests/it/golden/book-1");
    let to = place.path("golden");
    copy(&from, &to);
    to.to_string_lossy().into_owned()
}

async fn call(tool: &Arc<dyn Tool>, arguments: Value) -> ToolOutcome {
    tool.call(&arguments, StepRef { step: StepId(1) }).await
}

#[tokio::test]
async fn a_server_is_started_when_asked_for_and_ends_when_left() {
    let place = Place::new();
    let book = golden(&place);
    let file = json!({ "mcpServers": {
        "notes": { "command": PROGRAM, "args": ["mcp", "--skillbook", book] },
        "nothing": { "command": "no-program-of-this-name" },
        "mute": { "command": "true" },
        "far": { "url": "http://127.0.0.1:9/mcp" },
    } });
    let specs = Arc::new(read_specs(&file.to_string()).expect("reads"));
    // Other tests start programs, too; only this one's know the book.
    let knows = |process: u32| {
        fs::read_to_string(format!("/proc/{process}/cmdline")).is_ok_and(|line| line.contains(&book))
    };
    let mine = || below(std::process::id()).into_iter().filter(|one| knows(one.id)).count();

    let servers = McpServers::new(Arc::clone(&specs), here(), Arc::new(SystemClock::default()));
    let tools = servers.tools("notes").await.expect("tools");
    let tools: BTreeMap<&str, &Arc<dyn Tool>> =
        tools.iter().map(|tool| (tool.spec().name.as_str(), tool)).collect();
    assert_eq!(tools.keys().copied().collect::<Vec<_>>(), ["skill_list", "skill_search", "skill_view"]);
    assert!(tools["skill_view"].spec().schema["properties"]["skill"].is_object());
    let seen = call(tools["skill_view"], json!({ "skill": KNOWN })).await;
    assert!(!seen.is_error && seen.content[0].as_text().expect("text").contains("## Guidance"), "{seen:?}");
    let unknown = call(tools["skill_view"], json!({ "skill": "gimp/nothing" })).await;
    assert!(unknown.is_error, "{unknown:?}");
    assert!(call(tools["skill_view"], json!("gimp")).await.is_error);
    for (name, why) in
        [("nothing", "did not start"), ("mute", "protocol"), ("far", "protocol"), ("gone", "no server")]
    {
        let error = servers.tools(name).await.err().expect("no tools").to_string();
        assert!(error.contains(why), "{name}: {error}");
    }
    assert_eq!(mine(), 1, "one server, started once");
    servers.leave().await;
    await_some("the server's end", || (mine() == 0).then_some(()));
    assert!(servers.tools("notes").await.is_err(), "what was left stays closed");
    assert!(call(tools["skill_view"], json!({ "skill": KNOWN })).await.is_error);

    let closed = McpServers::new(specs, None, Arc::new(SystemClock::default()));
    for name in ["notes", "far"] {
        let error = closed.tools(name).await.err().expect("no tools").to_string();
        assert!(error.contains("no world"), "{name}: {error}");
    }
}

/// The answers that the agent's calls got, as the trace tells: name, and whether it was an error.
fn answers(trace: &Path) -> Vec<(String, bool)> {
    let text = fs::read_to_string(trace.join("events.jsonl")).expect("a trace");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let called = lines.filter(|line| line["kind"] == "tool.called");
    called
        .map(|line| {
            let data = &line["data"];
            (data["name"].as_str().expect("a name").to_owned(), data["is_error"] == true)
        })
        .collect()
}

/// What the agent calls: a tool too early, as its skill opens, one that the skill does not name, and one too late.
fn script() -> Vec<Value> {
    let tool = |name: &str, arguments: Value| {
        let arguments = json!({ "skill": "general/keeping", "tool": name, "arguments": arguments });
        json!({ "name": "skill_tool", "arguments": arguments })
    };
    let note = json!({ "id": "crm/triage", "summary": "Sorting leads", "body": "1. Press Ctrl+Shift+T." });
    vec![
        tool("skill_view", json!({ "skill": "crm/triage" })),
        json!({ "name": "skill_activate", "arguments": { "skill": "general/keeping" } }),
        tool("skill_create", note),
        tool("skill_view", json!({ "skill": "crm/triage" })),
        tool("skill_delete", json!({ "id": "crm/triage" })),
        json!({ "name": "skill_offload", "arguments": { "skill": "general/keeping" } }),
        tool("skill_view", json!({ "skill": "crm/triage" })),
        json!({ "name": "finish", "arguments": { "finish": "done" } }),
    ]
}

/// A list of one server, which keeps notes in a folder of its world.
fn notes_server(folder: &str) -> String {
    let command = json!({ "command": "/run/supervisor", "args": ["mcp", "--write", "--skillbook", folder] });
    json!({ "mcpServers": { "notes": command } }).to_string()
}

/// A book with a skill that brings the server's tools, the list of the server, and a model that calls them; the book's
/// folder and the model's name.
fn keeping(place: &Place) -> (String, String) {
    let table = json!({ "keeping": {
        "desc": "Keeping notes", "usage": "1. Call skill_create.",
        "tool_list": { "notes": ["skill_create", "skill_view"] },
    } });
    let lines: Vec<String> = script().iter().map(|call| json!({ "calls": [call] }).to_string()).collect();
    for (name, text) in [
        ("table.json", table.to_string()),
        ("servers.json", notes_server("/home/user/kept")),
        ("script.jsonl", lines.join("\n")),
    ] {
        fs::write(place.path(name), text).expect("written");
    }
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let book = path("book");
    let import = ["skills", "--skillbook", &book, "import", "--from", "skill-configs", &path("table.json")];
    let imported = place.output(&import);
    assert!(imported.status.success(), "{imported:?}");
    (book, format!("scripted:{}", path("script.jsonl")))
}

#[test]
fn a_skill_opens_the_tools_of_a_server_inside_the_world() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let (book, script) = keeping(&place);
    let servers = place.path("servers.json").to_string_lossy().into_owned();
    let out = place.path("out");
    let done = place.output(&[
        "do",
        "Keep a note.",
        "--model",
        &script,
        "--skillbook",
        &book,
        "--mcp-servers",
        &servers,
        "--out",
        &out.to_string_lossy(),
    ]);
    assert!(done.status.success(), "{done:?}");
    let expected = [
        ("skill_tool", true),
        ("skill_activate", false),
        ("skill_tool", false),
        ("skill_tool", false),
        ("skill_tool", true),
        ("skill_offload", false),
        ("skill_tool", true),
    ];
    assert_eq!(answers(&out), expected.map(|(name, failed)| (name.to_owned(), failed)));
    assert_eq!(place.cells(), [""; 0], "the world is gone, and the server with it");
}

#[test]
fn a_bench_starts_a_books_servers_in_its_worlds_and_goes_on_with_no_others() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let (book, student) = keeping(&place);
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let out = path("out");
    let suite = place.suite(&[("keep-a-note", json!({}))]).to_string_lossy().into_owned();
    let fixed = ["bench", &suite, "--student", &student, "--skillbook", &book, "--arms", "none,pull"];
    let benched =
        place.output(&[&fixed[..], &["--mcp-servers", &path("servers.json"), "--out", &out]].concat());
    assert!(benched.status.success(), "{benched:?}");

    let runs = fs::read_dir(place.path("out/measure")).expect("runs").flatten();
    let run = runs.map(|entry| entry.path()).find(|run| run.join("run.json").is_file()).expect("a run");
    let read =
        |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON") };
    let plan = read(&run.join("run.json"));
    let lists = plan["arms"].as_array().expect("arms").iter().map(|arm| {
        (
            arm["arm"].as_str().expect("a name").to_owned(),
            arm["aids"]["mcp_servers"].as_str().map(str::to_owned),
        )
    });
    let named = read(&place.path("out/experiment.json"))["tools"]["mcp_servers"].as_str().map(str::to_owned);
    assert_eq!(named.as_ref().map(String::len), Some(64), "a hash, since the file may hold keys");
    let expected = BTreeMap::from([("none".to_owned(), None), ("pull".to_owned(), named)]);
    assert_eq!(lists.collect::<BTreeMap<_, _>>(), expected);

    let rows = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    let mut called = BTreeMap::new();
    for row in rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row")) {
        let trace = run.join(row["trace"].as_str().expect("a place"));
        called.insert(row["arm"].as_str().expect("an arm").to_owned(), answers(&trace));
    }
    let failures = [true, false, false, false, true, false, true];
    assert!(called["none"].is_empty(), "what is not provided cannot be called: {called:?}");
    assert_eq!(called["pull"].iter().map(|(_, failed)| *failed).collect::<Vec<_>>(), failures);
    assert_eq!(place.cells(), [""; 0], "the worlds are gone, and the servers with them");

    // Half of it is lost, and the file names another server by now.
    fs::write(run.join("trials.jsonl"), rows.lines().next().expect("a row").to_owned() + "\n")
        .expect("written");
    fs::write(place.path("servers.json"), notes_server("/home/user/other")).expect("written");
    let other = place.output(&["resume", &out]);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(3), "{said}");
    assert!(said.contains("contains another experiment: tools differ"), "{said}");
    fs::write(place.path("servers.json"), notes_server("/home/user/kept")).expect("written");
    let resumed = place.output(&["resume", &out]);
    assert!(resumed.status.success(), "{resumed:?}");
    let rows = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    let last: Value = serde_json::from_str(rows.lines().last().expect("a row")).expect("JSON");
    assert_ne!(last["verdict"], "void", "it went on: {rows}");
}

/// A server in a few lines, which does what servers should not.
const UNRULY: &str = r#"
import json, sys
mode, calls = sys.argv[1], 0

def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

def tools(first, count):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return [{"name": f"tool_{n}", "description": "d" * 300, "inputSchema": schema} for n in range(first, first + count)]

for line in sys.stdin:
    asked = json.loads(line)
    method, number = asked.get("method"), asked.get("id")
    if method == "initialize":
        version = asked["params"]["protocolVersion"]
        say(id=number, result={"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}},
                               "serverInfo": {"name": mode, "version": "1"}})
    elif method == "tools/list":
        first = int((asked.get("params") or {}).get("cursor") or 0)
        if mode == "flood":
            while True:
                sys.stdout.write("x" * 1000000)
        listed = {"tools": tools(first + 1000 * calls, 50 if mode in ("many", "endless") else 2)}
        if mode == "endless" or mode == "many" and first < 150:
            listed["nextCursor"] = str(first + 50)
        say(id=number, result=listed)
    elif method == "tools/call":
        calls += 1
        if mode == "crash":
            sys.exit(3)
        if mode == "changing":
            say(method="notifications/tools/list_changed")
        for _ in range(2000 if mode == "chatty" else 0):
            say(method="notifications/message", params={"level": "info", "data": "z" * 1000})
        say(id=number, result={"content": [{"type": "text", "text": "y" * 1000000}]})
    elif number is not None:
        say(id=number, error={"code": -32601, "message": "no such method"})
"#;

#[tokio::test]
async fn unruly_servers_cost_their_own_tools_and_no_more() {
    let place = Place::new();
    fs::write(place.path("unruly.py"), UNRULY).expect("written");
    let path = place.path("unruly.py").to_string_lossy().into_owned();
    let modes = ["many", "endless", "flood", "crash", "changing", "chatty"];
    let file: serde_json::Map<String, Value> = modes
        .iter()
        .map(|mode| ((*mode).to_owned(), json!({ "command": "python3", "args": [path, mode] })))
        .collect();
    let specs = read_specs(&json!({ "mcpServers": file }).to_string()).expect("reads");
    let servers = McpServers::new(Arc::new(specs), here(), Arc::new(SystemClock::default()));
    let names = |tools: &[Arc<dyn Tool>]| -> Vec<String> {
        tools.iter().map(|tool| tool.spec().name.clone()).collect()
    };
    let many = servers.tools("many").await.expect("tools");
    assert_eq!((many.len(), names(&many)[199].as_str()), (200, "tool_199"), "all pages are read");
    assert_eq!(servers.tools("endless").await.expect("tools").len(), 400, "and not for ever");
    assert!(servers.tools("flood").await.is_err(), "a message that never ends is given up");

    let crash = servers.tools("crash").await.expect("tools");
    let gone = call(&crash[0], json!({})).await;
    assert!(gone.is_error && gone.content[0].as_text().expect("text").starts_with("crash: "), "{gone:?}");
    assert_eq!(servers.tools("crash").await.expect("it is started anew").len(), 2);

    let before = servers.tools("changing").await.expect("tools");
    let told = call(&before[0], json!({ "text": "a" })).await;
    let text = told.content[0].as_text().expect("text");
    assert!(!told.is_error && text.chars().count() <= 12_000, "what a server says is bounded");
    let after = servers.tools("changing").await.expect("tools");
    assert_eq!((names(&before)[0].as_str(), names(&after)[0].as_str()), ("tool_0", "tool_1000"));

    let chatty = servers.tools("chatty").await.expect("tools");
    assert!(!call(&chatty[1], json!({})).await.is_error, "chatter is passed over");
    servers.leave().await;
}

/// An address that answers every request with the beginning of something that never ends.
fn endless(content_type: &'static str, piece: &'static [u8]) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            std::thread::spawn(move || {
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n");
                let _ = stream.read(&mut [0; 4096]);
                let mut more = stream.write_all(head.as_bytes());
                // Until the other side has heard enough.
                while more.is_ok() {
                    more = stream.write_all(&piece.repeat(65_536 / piece.len()));
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_server_that_never_comes_to_an_end_is_given_up() {
    let flood = json!({ "command": "sh", "args": ["-c", "head -c 40000000 /dev/zero; exec cat"] });
    let file = json!({ "mcpServers": {
        "object": { "url": endless("application/json", b"[1,") },
        "events": { "url": endless("text/event-stream", b"data") },
        "lines": flood,
    } });
    let specs = Arc::new(read_specs(&file.to_string()).expect("reads"));
    let servers = McpServers::new(specs, here(), Arc::new(SystemClock::default()));
    for (name, why) in [("object", "maximum size"), ("events", ""), ("lines", "")] {
        let tools = tokio::time::timeout(DEADLINE, servers.tools(name)).await;
        let error =
            tools.unwrap_or_else(|_| panic!("{name} is waited for")).err().expect("no tools").to_string();
        assert!(error.contains(why) && error.len() < 2000, "{name}: {error}");
    }
    servers.leave().await;
}
