//! Both halves of a connection over a pipe.

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

use super::{Connection, ConnectionClosed, Inbox, Writing, connect};
use crate::{Incoming, RpcError};

struct Peer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
}

impl Peer {
    async fn say(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.expect("written");
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.expect("reads").expect("a line")).expect("JSON")
    }
}

fn open() -> (Peer, Connection, Inbox<ReadHalf<DuplexStream>>, Writing) {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (lines, input) = tokio::io::split(near);
    let (read, write) = tokio::io::split(far);
    let (connection, inbox, writing) = connect(read, write);
    (Peer { lines: BufReader::new(lines).lines(), input }, connection, inbox, writing)
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_under_null_and_ends_nothing() {
    let (mut peer, _connection, mut inbox, _writing) = open();
    for junk in [
        "this is no JSON",
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#,
        "[]",
        "7",
        r#"{"id":1,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":3}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0"}"#,
    ] {
        peer.say(junk).await;
    }
    // Answers to nothing.
    peer.say(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}"#).await;
    peer.say(r#"{"jsonrpc":"2.0","id":99,"result":null}"#).await;
    peer.say(r#"{"jsonrpc":"2.0","id":"x4","method":"good"}"#).await;
    let next = inbox.next().await;
    assert_eq!(next, Some(Incoming::Request { id: "x4".into(), method: "good".into(), params: Value::Null }));
    let mut codes = Vec::new();
    for _ in 0..9 {
        let answer = peer.hear().await;
        assert_eq!((&answer["id"], &answer["jsonrpc"]), (&Value::Null, &json!("2.0")));
        codes.push(answer["error"]["code"].as_i64().expect("a code"));
    }
    assert_eq!(codes, [-32700, -32600, -32600, -32600, -32600, -32600, -32600, -32600, -32600]);
}

#[tokio::test]
async fn messages_keep_their_order_and_answers_find_their_requests() {
    let (mut peer, connection, mut inbox, _writing) = open();
    let reading = tokio::spawn(async move { inbox.next().await });
    for number in 0..5 {
        connection.notify("n", &json!({ "number": number })).await.expect("sent");
    }
    connection.respond(&json!("a"), Ok(json!({ "end": true }))).await.expect("sent");
    for number in 0..5 {
        assert_eq!(peer.hear().await["params"]["number"], number);
    }
    assert_eq!(peer.hear().await, json!({ "jsonrpc": "2.0", "id": "a", "result": { "end": true } }));
    let mut first = connection.begin("one", &json!({})).await.expect("sent");
    let mut second = connection.begin("two", &json!({})).await.expect("sent");
    let ids = [peer.hear().await["id"].clone(), peer.hear().await["id"].clone()];
    peer.say(&json!({ "jsonrpc": "2.0", "id": ids[1], "error": { "code": 7, "message": "no" } }).to_string())
        .await;
    peer.say(&json!({ "jsonrpc": "2.0", "id": ids[0], "result": null }).to_string()).await;
    assert_eq!(first.answer().await, Ok(Ok(Value::Null)));
    assert_eq!(second.answer().await, Ok(Err(RpcError { code: 7, message: "no".into(), data: None })));
    drop(peer);
    assert_eq!(reading.await.expect("ends"), None);
}

#[tokio::test]
async fn whoever_waits_hears_that_the_other_side_is_gone() {
    let (peer, connection, mut inbox, _writing) = open();
    let mut pending = connection.begin("one", &json!({})).await.expect("sent");
    drop(peer);
    assert_eq!(inbox.next().await, None);
    drop(inbox);
    assert_eq!(pending.answer().await, Err(ConnectionClosed));
    assert_eq!(connection.request("two", &json!({})).await, Err(ConnectionClosed));
}
