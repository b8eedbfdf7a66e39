//! The `Network` domain, as far as needed to tell whether a page is still loading.

use serde::Deserialize;

use super::{bare_commands, event_payload};

bare_commands! {
    /// Turns on network events.
    Enable = "Network.enable";
}

/// Event: a request is about to be sent.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestWillBeSent {
    /// The request's id.
    pub request_id: String,
    /// Resource type: `Document`, `XHR`, `Fetch`, `Script`, …
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// What is requested.
    pub request: Request,
}

/// A request.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The address.
    pub url: String,
    /// The method, for example `GET`.
    pub method: String,
}

event_payload!(RequestWillBeSent, "Network.requestWillBeSent");

/// Event: the head of a response was received.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseReceived {
    /// The request's id.
    pub request_id: String,
    /// The response.
    pub response: Response,
}

/// The head of a response.
#[derive(Clone, Debug, Deserialize)]
pub struct Response {
    /// The status code.
    pub status: i64,
}

event_payload!(ResponseReceived, "Network.responseReceived");

/// Event: a response was received completely.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadingFinished {
    /// The request's id.
    pub request_id: String,
}

event_payload!(LoadingFinished, "Network.loadingFinished");

/// Event: a request failed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadingFailed {
    /// The request's id.
    pub request_id: String,
    /// Why it failed.
    #[serde(default)]
    pub error_text: String,
}

event_payload!(LoadingFailed, "Network.loadingFailed");
