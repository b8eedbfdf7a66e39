//! Behaviour of calls and subscriptions for good, bad and missing messages of the other end.

use std::collections::VecDeque;
use std::time::Duration;

use apprentice_cdp::domain::page::{JavascriptDialogOpening, Navigate, Navigated};
use apprentice_cdp::domain::target::GetTargets;
use apprentice_cdp::{CallError, Connection, EventFilter, Lagged, OpenError, Session, discover};
use futures_util::{SinkExt as _, StreamExt as _};
use proptest::prelude::{any, proptest};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

const DEADLINE: Duration = Duration::from_secs(5);

/// The browser's end of the stream.
struct Peer(WebSocketStream<DuplexStream>);

impl Peer {
    async fn receive(&mut self) -> Value {
        let message = self.0.next().await.expect("a message").expect("a good one");
        serde_json::from_str(message.to_text().expect("text")).expect("json")
    }

    async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    async fn send_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.expect("sent");
    }
}

async fn pair() -> (Connection, Peer) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (connection, peer) = tokio::join!(
        Connection::open(near, "/devtools/browser/x", DEADLINE),
        tokio_tungstenite::accept_async(far)
    );
    (connection.expect("open"), Peer(peer.expect("accepted")))
}

async fn call(session: &Session, url: &str) -> Result<Navigated, CallError> {
    session.call(&Navigate { url: url.to_owned() }).await
}

async fn go(session: &Session, url: &str) -> Option<String> {
    call(session, url).await.expect("a reply").error_text
}

#[tokio::test]
async fn replies_find_their_callers_in_any_order() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(DEADLINE);
    let calls = async { tokio::join!(go(&browser, "a:"), go(&browser, "b:"), go(&browser, "c:")) };
    let answers = async {
        let mut asked = Vec::new();
        for _ in 0..3 {
            asked.push(peer.receive().await);
        }
        asked.reverse();
        for call in asked {
            assert_eq!(call["method"], "Page.navigate");
            assert_eq!(call.get("sessionId"), None);
            peer.send(json!({"id": call["id"], "result": {"errorText": call["params"]["url"]}})).await;
        }
    };
    let ((a, b, c), ()) = tokio::join!(calls, answers);
    assert_eq!([a.as_deref(), b.as_deref(), c.as_deref()], [Some("a:"), Some("b:"), Some("c:")]);
}

#[tokio::test]
async fn so_many_calls_are_made_ahead_of_their_replies_and_a_refusal_ends_them() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(DEADLINE);
    let addresses: Vec<Navigate> =
        ["a:", "b:", "c:", "d:", "e:"].map(|url| Navigate { url: url.into() }).into();
    let answers = async {
        let mut waiting: VecDeque<Value> = VecDeque::new();
        for expected in ["a:", "b:", "c:", "d:"] {
            let call = peer.receive().await;
            assert_eq!(call["params"]["url"], expected);
            waiting.push_back(call["id"].clone());
            if waiting.len() == 2 {
                let first = waiting.pop_front().expect("two wait");
                let reply = match expected {
                    "d:" => json!({"id": first, "error": {"code": -32000, "message": "no"}}),
                    _ => json!({"id": first, "result": {}}),
                };
                peer.send(reply).await;
            }
        }
        waiting.len()
    };
    let (done, waiting) = tokio::join!(browser.call_ahead(&addresses, 2), answers);
    assert!(matches!(done, Err(CallError::Refused { .. })), "{done:?}");
    assert_eq!(waiting, 1, "the last one was not made");
}

#[tokio::test]
async fn a_session_names_itself_in_its_calls() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(DEADLINE);
    let calls = async {
        let page = browser.attach("T1").await.expect("attached");
        page.raw("Page.enable", &json!({})).await.expect("enabled")
    };
    let answers = async {
        let attach = peer.receive().await;
        assert_eq!(attach["params"], json!({"targetId": "T1", "flatten": true}));
        peer.send(json!({"id": attach["id"], "result": {"sessionId": "S1"}})).await;
        let enable = peer.receive().await;
        assert_eq!(enable["sessionId"], "S1");
        peer.send(json!({"id": enable["id"], "sessionId": "S1", "result": {}})).await;
    };
    let (enabled, ()) = tokio::join!(calls, answers);
    assert_eq!(enabled, json!({}));
}

#[tokio::test]
async fn a_refusal_reaches_its_caller_alone() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(DEADLINE);
    let answers = async {
        for reply in [json!({"error": {"code": -32000, "message": "No target"}}), json!({"result": {}})] {
            let mut reply = reply;
            reply["id"] = peer.receive().await["id"].clone();
            peer.send(reply).await;
        }
    };
    let calls = async {
        let refused = call(&browser, "a:").await.expect_err("refused");
        assert_eq!(refused.refusal().map(|refusal| refusal.code), Some(-32000));
        assert_eq!(refused.to_string(), "Page.navigate was refused");
        call(&browser, "b:").await.expect("the next call works");
    };
    tokio::join!(calls, answers);
}

#[tokio::test]
async fn a_reply_of_another_form_fails_one_call_and_not_the_connection() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(DEADLINE);
    let answers = async {
        for result in [json!({"targetInfos": 7}), json!({"targetInfos": []})] {
            let id = peer.receive().await["id"].clone();
            peer.send(json!({"id": id, "result": result})).await;
        }
    };
    let calls = async {
        let wrong = browser.call(&GetTargets {}).await;
        assert!(matches!(wrong, Err(CallError::Malformed { .. })), "{wrong:?}");
        browser.call(&GetTargets {}).await.expect("the next call works");
    };
    tokio::join!(calls, answers);
}

#[tokio::test]
async fn what_is_no_message_ends_the_connection_and_every_waiting_call() {
    for broken in ["{\"id\":1,", "[]", "{}", "{\"id\":1}", "not json"] {
        let (connection, mut peer) = pair().await;
        let browser = connection.browser(DEADLINE);
        let answers = async {
            peer.receive().await;
            peer.send_text(broken).await;
        };
        let (failed, ()) = tokio::join!(call(&browser, "a:"), answers);
        assert!(matches!(failed, Err(CallError::Closed(_))), "{broken}: {failed:?}");
        let later = call(&browser, "b:").await;
        assert!(matches!(later, Err(CallError::Closed(_))), "{broken}: {later:?}");
    }
}

#[tokio::test]
async fn a_browser_that_goes_away_fails_waiting_and_later_calls_at_once() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(DEADLINE);
    let mut events = browser.events(EventFilter::all(), 8);
    let going = async {
        peer.receive().await;
        drop(peer);
    };
    let (failed, ()) = tokio::join!(call(&browser, "a:"), going);
    assert!(matches!(failed, Err(CallError::Closed(_))), "{failed:?}");
    assert!(events.next().await.is_none(), "subscriptions end with the connection");
    assert!(browser.events(EventFilter::all(), 8).next().await.is_none(), "so do later ones");
    assert!(!browser.closed().await.is_empty());
}

#[tokio::test]
async fn dropping_the_connection_fails_its_handles() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(DEADLINE);
    let waiting = tokio::spawn(async move { call(&browser, "a:").await });
    peer.receive().await;
    drop(connection);
    let failed = waiting.await.expect("no panic");
    assert!(matches!(failed, Err(CallError::Closed(_))), "{failed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_late_reply_is_forgotten_and_the_next_call_is_not_confused() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(Duration::from_millis(100));
    let late = call(&browser, "a:").await;
    assert!(
        matches!(late, Err(CallError::TimedOut { ref method, .. }) if method == "Page.navigate"),
        "{late:?}"
    );
    let answers = async {
        let first = peer.receive().await;
        let second = peer.receive().await;
        assert_ne!(first["id"], second["id"]);
        peer.send(json!({"id": first["id"], "result": {"errorText": "late"}})).await;
        peer.send(json!({"id": second["id"], "result": {}})).await;
    };
    let (reply, ()) = tokio::join!(call(&browser, "b:"), answers);
    assert_eq!(reply.expect("a reply").error_text, None);
}

#[tokio::test]
async fn events_are_filtered_read_and_bounded() {
    let (connection, mut peer) = pair().await;
    let browser = connection.browser(DEADLINE);
    let mut dialogs = browser.events(EventFilter::named(["Page.javascriptDialogOpening"]), 2);
    let mut all = browser.events(EventFilter::all(), 64);
    peer.send(json!({"method": "Page.loadEventFired", "params": {}, "sessionId": "S1"})).await;
    for count in 0..5 {
        let params = json!({"type": "alert", "message": format!("{count}"), "url": "", "new": true});
        peer.send(json!({"method": "Page.javascriptDialogOpening", "params": params, "sessionId": "S1"}))
            .await;
    }
    for _ in 0..6 {
        let event = all.next().await.expect("open").expect("in time");
        assert_eq!(event.session.as_ref().map(apprentice_cdp::SessionId::as_str), Some("S1"));
    }
    // Two fit, three were dropped; the event in hand when the gap is noticed counts as dropped too.
    let gap = dialogs.next().await;
    assert!(matches!(gap, Some(Err(Lagged(4)))), "{gap:?}");
    let kept = dialogs.next().await.expect("open").expect("no gap");
    let dialog = kept.read::<JavascriptDialogOpening>().expect("this event").expect("of this form");
    assert_eq!((dialog.kind.as_str(), dialog.message.as_str()), ("alert", "1"));
    assert!(dialogs.try_next().is_none());
}

#[tokio::test]
async fn a_server_that_does_not_shake_hands_is_an_error_with_its_path() {
    let (near, mut far) = tokio::io::duplex(1 << 12);
    let refuse = async {
        let mut request = [0; 1024];
        let count = far.read(&mut request).await.expect("a request");
        assert!(request[..count].starts_with(b"GET /devtools/browser/x HTTP/1.1\r\n"));
        far.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").await.expect("sent");
    };
    let (opened, ()) = tokio::join!(Connection::open(near, "/devtools/browser/x", DEADLINE), refuse);
    let error = opened.expect_err("refused");
    assert!(error.to_string().contains("/devtools/browser/x"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn silence_meets_a_deadline() {
    let (near, _far) = tokio::io::duplex(1 << 12);
    let opened = Connection::open(near, "/x", Duration::from_secs(1)).await;
    assert!(matches!(opened, Err(OpenError::TimedOut(_))), "{opened:?}");
    let (near, _far) = tokio::io::duplex(1 << 12);
    assert!(discover(near, Duration::from_secs(1)).await.is_err());
}

proptest! {
    #[test]
    fn no_message_whatever_panics_or_hangs(text in ".{0,200}", key in any::<u8>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (connection, mut peer) = pair().await;
            let browser = connection.browser(DEADLINE);
            let answers = async {
                let id = peer.receive().await["id"].clone();
                let field = ["result", "error", "method", "params"][usize::from(key) % 4];
                peer.send_text(&format!("{{\"{field}\":{}}}", json!(text))).await;
                let _ = peer.0.send(Message::text(json!({"id": id, "result": {}}).to_string())).await;
            };
            let (reply, ()) = tokio::join!(call(&browser, "a:"), answers);
            assert!(matches!(reply, Ok(_) | Err(CallError::Closed(_))), "{reply:?}");
        });
    }
}
