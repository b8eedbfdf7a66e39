//! Time limits of requests: each is told by its cause and its number, and the request is sent again.

use std::time::Duration;

use apprentice_models::http::Timeouts;
use apprentice_protocol::{ChatRequest, Clock as _, ModelErrorKind, Retry, VoidCause};
use apprentice_sandbox::SystemClock;

use super::adapters::{ALL, Adapter};
use super::within;
use crate::server::{Server, Speak, StreamEnd};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);

fn limits() -> Timeouts {
    Timeouts { connect: LONG, first_byte: LONG, idle: LONG, whole: LONG }
}

async fn check(speak: Speak, limits: Timeouts, secure: bool, words: &str) {
    for adapter in ALL {
        let said = speak.clone();
        let server = Server::start(move |_, _| said.clone()).await;
        let base = if secure { server.base.replace("http:", "https:") } else { server.base.clone() };
        let clock = SystemClock::default();
        let model = adapter.model(&base, within(limits), None);
        let error = model.reply(&ChatRequest::default()).await.expect_err("is late");
        assert_eq!(error.message, format!("timeout: {words} (tried 3 times)"), "{adapter:?}");
        assert_eq!((error.fault, error.retry), (ModelErrorKind::Unavailable, Retry::Never), "{adapter:?}");
        assert_eq!(error.void_cause(), Some(VoidCause::ModelUnavailable), "never the model's failure");
        assert!(clock.mono() < Duration::from_secs(15), "{adapter:?}: {:?}", clock.mono());
    }
}

#[tokio::test]
async fn every_limit_is_told_by_its_cause_and_tried_again() {
    let hanging = Speak::Stream(vec![b": hello\n\n".to_vec()], StreamEnd::Stalled);
    tokio::join!(
        check(Speak::Silent, Timeouts { first_byte: SHORT, ..limits() }, false, "no first byte within 0.3 s"),
        check(hanging.clone(), Timeouts { idle: SHORT, ..limits() }, false, "no byte for 0.3 s"),
        check(
            Speak::Stalled(99, "{".into()),
            Timeouts { idle: SHORT, ..limits() },
            false,
            "no byte for 0.3 s"
        ),
        check(hanging, Timeouts { whole: SHORT, ..limits() }, false, "no complete response within 0.3 s"),
        // The server accepts the connection, and never speaks the encryption.
        check(Speak::Silent, Timeouts { connect: SHORT, ..limits() }, true, "no connection within 0.3 s"),
    );
}

#[tokio::test]
async fn bytes_that_keep_coming_are_no_hang() {
    let text = super::vendor_streams::text(Adapter::Compat, &super::streams::full(Adapter::Compat), 2);
    let pieces = text.as_bytes().chunks(40).map(<[u8]>::to_vec).collect();
    let speak = Speak::Slow(pieces, Duration::from_millis(20));
    let server = Server::start(move |_, _| speak.clone()).await;
    // All pieces together take longer than the limit between two of them.
    let model = Adapter::Compat.model(&server.base, within(Timeouts { idle: SHORT, ..limits() }), None);
    let clock = SystemClock::default();
    model.reply(&ChatRequest::default()).await.expect("answers");
    assert!(clock.mono() > SHORT, "{:?}", clock.mono());
}
