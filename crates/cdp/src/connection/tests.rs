//! The debugging pipe, whose other end is played here.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::{Connection, read_envelope};
use crate::cbor::{from_slice, message};
use crate::domain::page::{CaptureScreenshot, Navigate, PictureFormat};
use crate::{CallError, EventFilter};

const DEADLINE: Duration = Duration::from_secs(5);

struct Browser(DuplexStream);

impl Browser {
    async fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        assert!(read_envelope(&mut self.0, &mut bytes).await.expect("a message"), "not at the end");
        from_slice(&bytes).expect("CBOR")
    }

    async fn send(&mut self, members: &[(&str, Value)]) {
        self.0.write_all(&message(members).expect("short")).await.expect("sent");
    }
}

fn pair() -> (Connection, Browser) {
    // Small, so that messages arrive in parts.
    let (near, far) = tokio::io::duplex(16);
    (Connection::over_pipe(near), Browser(far))
}

fn page() -> Navigate {
    Navigate { url: "a:".to_owned() }
}

#[tokio::test]
async fn calls_replies_refusals_and_events_travel_in_cbor() {
    let (connection, mut browser) = pair();
    let root = connection.browser(DEADLINE);
    let mut events = root.events(EventFilter::all(), 4);
    let answers = async {
        let call = browser.receive().await;
        assert_eq!(call, json!({"id": 1, "method": "Page.navigate", "params": {"url": "a:"}}));
        browser.send(&[("method", json!("Page.frameDetached")), ("params", json!({"frameId": "F"}))]).await;
        browser.send(&[("id", json!(1)), ("result", json!({"errorText": "ä"}))]).await;
        assert_eq!(browser.receive().await["id"], json!(2));
        let error = json!({"code": -32000, "message": "No page"});
        browser.send(&[("id", json!(2)), ("error", error)]).await;
    };
    let calls = async {
        let navigated = root.call(&page()).await.expect("a reply");
        assert_eq!(navigated.error_text.as_deref(), Some("ä"));
        let refused = root.call(&page()).await.expect_err("refused");
        assert_eq!(refused.refusal().map(|refusal| refusal.code), Some(-32000));
    };
    tokio::join!(answers, calls);
    let event = events.next().await.expect("open").expect("in time");
    let params: Value = event.params.read().expect("its parameters");
    assert_eq!((&*event.method, params), ("Page.frameDetached", json!({"frameId": "F"})));
}

#[tokio::test]
async fn a_picture_comes_as_bytes() {
    let (connection, mut browser) = pair();
    let root = connection.browser(DEADLINE);
    let answers = async {
        browser.receive().await;
        let head = [0xd8, 24, 0x5a, 0, 0, 0];
        let result = [&[0xbf, 0x64][..], b"data", &[0xd6, 0x43, 1, 2, 3, 0xff]].concat();
        let result = [&head[..], &[12], &result[..]].concat();
        let whole = [&[0xbf, 0x62][..], b"id", &[1, 0x66], b"result", &result[..], &[0xff]].concat();
        let length = u8::try_from(whole.len()).expect("short");
        browser.0.write_all(&[&head[..], &[length], &whole[..]].concat()).await.expect("sent");
    };
    let capture = CaptureScreenshot { format: PictureFormat::Png, optimize_for_speed: true };
    let (picture, ()) = tokio::join!(root.call(&capture), answers);
    assert_eq!(picture.expect("a picture").data.0, [1, 2, 3]);
}

#[tokio::test]
async fn what_is_no_message_and_the_end_of_the_pipe_end_the_connection() {
    for (sent, why) in [
        (&b"{\"id\":1}\0"[..], "begins no message"),
        (&[0xd8, 24, 0x5a, 0xff, 0xff, 0xff, 0xff], "too large"),
        (&[0xd8, 24, 0x5a, 0, 0, 0, 1, 0xff], "invalid message"),
        (&[], "the browser closed it"),
        (&[0xd8, 24], "reading failed"),
    ] {
        let (connection, mut browser) = pair();
        let root = connection.browser(DEADLINE);
        let answers = async {
            browser.receive().await;
            browser.0.write_all(sent).await.expect("sent");
            browser.0.shutdown().await.expect("closed");
            // Until the other end is closed, too.
            let _ = browser.0.read(&mut [0]).await;
        };
        let closing = async {
            let failed = root.call(&page()).await;
            drop(connection);
            failed
        };
        let (failed, ()) = tokio::join!(closing, answers);
        assert!(matches!(&failed, Err(CallError::Closed(said)) if said.contains(why)), "{why}: {failed:?}");
    }
}
