//! Another's agent as a model: what goes over the wire, when it keeps the protocol and when it does not. Each agent is a few lines
//! of shell, which read and write the protocol's lines.

use std::sync::Arc;
use std::time::Duration;

use apprentice_models::acp::{AcpAgent, AcpConfig};
use apprentice_protocol::{
    Action, CallBody, CallId, CallResult, ChatModel, ChatRequest, Clock, Content, Finish, Message,
    ModelErrorKind, ReplyStop, Size, ToolSpec, WorldTool,
};
use apprentice_sandbox::SystemClock;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Agrees on a version and opens a session, then does what follows. `$heard` takes every line that is read.
const BEGIN: &str = r#"
say() { printf '%s\n' "$1"; }
hear() { IFS= read -r line && printf '%s\n' "$line" >>"$heard"; }
hear; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"shell","version":"2"}}}'
hear; server=$line; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
hear
word() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
end() { say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"'"$1"'"}}'; }
"#;

/// A relay of a few lines of Python in place of the program's own.
const RELAY: &str = "import socket, sys, threading, os
own = socket.socket(socket.AF_UNIX); own.connect(sys.argv[1])
def there():
    while data := os.read(0, 65536): own.sendall(data)
    own.shutdown(socket.SHUT_WR)
threading.Thread(target=there, daemon=True).start()
while data := own.recv(65536): os.write(1, data)
";

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// An agent whose script is this.
    fn raw(&self, script: &str, silence: Duration) -> AcpAgent {
        let path = self.folder.path().join("agent.sh");
        let heard = self.folder.path().join("heard");
        std::fs::write(&path, format!("heard={}\n{script}", heard.display())).expect("written");
        let relay = ["python3", "-c", RELAY].map(str::to_owned).to_vec();
        let config = AcpConfig { silence, ..AcpConfig::new(format!("exec sh {}", path.display()), relay) };
        AcpAgent::new(config, Arc::new(SystemClock::default()) as Arc<dyn Clock>)
    }

    fn agent(&self, script: &str) -> AcpAgent {
        self.raw(&format!("{BEGIN}{script}"), Duration::from_secs(30))
    }

    fn heard(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("heard")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

fn request() -> ChatRequest {
    let schema = json!({ "type": "object" });
    ChatRequest {
        system: "You operate a computer.".into(),
        messages: vec![Message::User { content: vec![Content::text("Do it.")] }],
        tools: vec![ToolSpec { name: "finish".into(), description: "Ends.".into(), schema }],
        world: Some(WorldTool { browser: true, display: Size::new(800, 600) }),
        max_output_tokens: 100,
        ..ChatRequest::default()
    }
}

#[tokio::test]
async fn words_and_thoughts_come_in_order_and_the_end_is_an_answer() {
    let place = Place::new();
    let words: String = (0..40).map(|number| format!("word '{number} '\n")).collect();
    let late = "say 'this is no JSON'\nend end_turn\nword late\nhear\n";
    let agent = place.agent(&format!("{words}{late}"));
    let reply = agent.reply(&request()).await.expect("replies");
    let expected: Vec<String> = (0..40).map(|number: u32| number.to_string()).collect();
    assert_eq!(reply.say, [expected.join(" ")]);
    assert_eq!((reply.stop, reply.calls.len(), reply.raw.blocks.len()), (ReplyStop::EndTurn, 0, 40));
    assert_eq!(reply.provider_model.as_deref(), Some("shell 2"));
    let heard = place.heard();
    assert_eq!(heard[0]["params"]["protocolVersion"], 1);
    let server = &heard[1]["params"]["mcpServers"][0];
    assert_eq!((&server["name"], &server["command"]), (&json!("world"), &json!("python3")));
    let prompt = heard[2]["params"]["prompt"].as_array().expect("parts");
    assert!(prompt[0]["text"].as_str().expect("text").starts_with("You operate a computer.\n\n"));
    assert_eq!(prompt[1]["text"], "Do it.");
}

#[tokio::test]
async fn an_end_without_words_is_done_and_a_limit_of_its_own_is_told() {
    for (stop, said) in [("end_turn", 0), ("max_tokens", 1), ("max_turn_requests", 1)] {
        let place = Place::new();
        let reply = place.agent(&format!("end {stop}\nhear")).reply(&request()).await.expect("replies");
        assert_eq!(reply.say.len(), said, "{stop}");
        assert_eq!(reply.calls[0].body, CallBody::Finish(Finish::Done), "{stop}");
    }
    let refused = Place::new().agent("end refusal\nhear").reply(&request()).await.expect("replies");
    assert_eq!(refused.stop, ReplyStop::Refusal);
}

#[tokio::test]
async fn what_breaks_the_protocol_is_an_error_of_the_model() {
    use ModelErrorKind::{Protocol, Unavailable};
    let hello = |version: &str| {
        format!(
            "read line\nprintf '%s\\n' '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"protocolVersion\":{version}}}}}'\nread line\n"
        )
    };
    for (script, kind, word) in [
        (hello("7"), Protocol, "version 7"),
        (hello("\"1\""), Protocol, "version \"1\""),
        (hello("null"), Protocol, "version null"),
        ("echo oh no >&2; exit 3".to_owned(), Unavailable, "oh no"),
        (format!("{BEGIN}exit 0"), Unavailable, "has ended"),
        (format!("{BEGIN}end bored\nhear"), Protocol, "bored"),
        (format!("{BEGIN}end cancelled\nhear"), Protocol, "nobody cancelled"),
        (
            format!(
                r#"{BEGIN}say '{{"jsonrpc":"2.0","id":3,"error":{{"code":-32603,"message":"away"}}}}'; hear"#
            ),
            Unavailable,
            "away",
        ),
        (format!("{BEGIN}hear"), Unavailable, "said and did nothing"),
    ] {
        let place = Place::new();
        let agent = place.raw(&script, Duration::from_secs(2));
        let error = agent.reply(&request()).await.expect_err("fails");
        assert_eq!(error.fault, kind, "{script}: {error}");
        assert!(error.message.contains(word), "{script}: {error}");
        assert!(error.void_cause().is_some(), "{script}");
    }
}

#[tokio::test]
async fn a_permission_is_given_and_after_a_cancel_it_is_cancelled() {
    let place = Place::new();
    let question = |id: &str| {
        format!(
            r#"say '{{"jsonrpc":"2.0","id":"{id}","method":"session/request_permission","params":{{"sessionId":"s","toolCall":{{"toolCallId":"t"}},"options":[{{"optionId":"no","name":"N","kind":"reject_once"}},{{"optionId":"yes","name":"Y","kind":"allow_once"}}]}}}}'
            "#
        )
    };
    let script = format!(
        "{}hear\nsay '{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"fs/read_text_file\",\"params\":{{}}}}'\nhear\nhear\n{}hear\nend cancelled\nhear\n",
        question("p1"),
        question("p2")
    );
    let agent = place.agent(&script);
    let waited = tokio::time::timeout(Duration::from_secs(2), async { agent.reply(&request()).await }).await;
    assert!(waited.is_err(), "nothing ends the turn before it is cancelled");
    // The next request waits for the end of the cancelled turn.
    let mut next = request();
    next.messages.push(Message::User { content: vec![Content::text("Go on.")] });
    let _ = tokio::time::timeout(Duration::from_secs(5), agent.reply(&next)).await;
    let heard = place.heard();
    assert_eq!(heard[3]["result"], json!({ "outcome": { "outcome": "selected", "optionId": "yes" } }));
    assert_eq!((&heard[4]["id"], &heard[4]["error"]["code"]), (&json!(9), &json!(-32601)));
    assert_eq!(
        (&heard[5]["method"], &heard[5]["params"]["sessionId"]),
        (&json!("session/cancel"), &json!("s"))
    );
    assert_eq!(heard[6]["result"], json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(heard[7]["method"], "session/prompt");
}

#[tokio::test]
async fn a_call_of_a_tool_is_a_turn_and_its_result_goes_back() {
    let place = Place::new();
    // The agent's side of its tool server is Python's: the shell gives it the line of session/new.
    let client = r"import json, subprocess, sys
server = json.loads(sys.argv[1])['params']['mcpServers'][0]
own = subprocess.Popen([server['command'], *server['args']], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(number, method, params):
    own.stdin.write(json.dumps({'jsonrpc': '2.0', 'id': number, 'method': method, 'params': params}) + '\n'); own.stdin.flush()
    return json.loads(own.stdout.readline())
ask(1, 'initialize', {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'a', 'version': '1'}})
own.stdin.write(json.dumps({'jsonrpc': '2.0', 'method': 'notifications/initialized'}) + '\n'); own.stdin.flush()
names = [tool['name'] for tool in ask(2, 'tools/list', {})['result']['tools']]
unknown = ask(3, 'tools/call', {'name': 'fly', 'arguments': {}})['error']['code']
done = ask(4, 'tools/call', {'name': 'computer', 'arguments': {'action': 'type', 'text': 'a'}})['result']
print(*names, unknown, done['content'][0]['text'], done['content'][1]['text'], done.get('isError'))
";
    std::fs::write(place.folder.path().join("client.py"), client).expect("written");
    let script = format!(
        "word before\nword \"$(python3 {}/client.py \"$server\")\"\nend end_turn\nhear\n",
        place.folder.path().display()
    );
    let agent = place.agent(&script);
    let mut request = request();
    let reply = agent.reply(&request).await.expect("replies");
    let typed = Action::Type { text: "a".into() };
    assert_eq!(reply.calls[0].body, CallBody::World { actions: vec![typed] });
    assert_eq!((reply.say, reply.stop), (vec!["before".to_owned()], ReplyStop::Calls));
    request.messages.push(Message::Assistant { raw: reply.raw, say: Vec::new(), calls: reply.calls.clone() });
    let result = CallResult {
        id: CallId::new("call_1"),
        per_action: vec![apprentice_protocol::ActionOutcome::Done { text: None }],
        content: vec![Content::text("the screen")],
        is_error: false,
    };
    request.messages.push(Message::Results { results: vec![result], notices: Vec::new() });
    let end = agent.reply(&request).await.expect("replies");
    assert_eq!(end.say, ["computer finish -32602 Done. the screen False"]);
}

#[tokio::test]
async fn its_processes_end_with_it() {
    let place = Place::new();
    let child = place.folder.path().join("child");
    let script = format!("sleep 300 & echo $! >{}\nend end_turn\nsleep 300\n", child.display());
    let agent = place.agent(&script);
    agent.reply(&request()).await.expect("replies");
    let id = std::fs::read_to_string(&child).expect("a number");
    let status = format!("/proc/{}/status", id.trim());
    let lives = || std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("State:\tZ"));
    assert!(lives());
    drop(agent);
    let gone = async {
        while lives() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(15), gone).await.expect("all of its processes have ended");
}
