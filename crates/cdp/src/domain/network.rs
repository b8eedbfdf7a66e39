//! Requests, as far as they tell whether a page is still busy.

use serde::Deserialize;

use super::{bare_commands, happening};

bare_commands! {
    /// Turns on the events of requests.
    Enable = "Network.enable";
}

/// A request is about to go out.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestWillBeSent {
    /// Its id.
    pub request_id: String,
    /// What it is for: `Document`, `XHR`, `Fetch`, `Script`, …
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
}

happening!(RequestWillBeSent, "Network.requestWillBeSent");

/// A request has been answered in full.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadingFinished {
    /// Its id.
    pub request_id: String,
}

happening!(LoadingFinished, "Network.loadingFinished");

/// A request failed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadingFailed {
    /// Its id.
    pub request_id: String,
}

happening!(LoadingFailed, "Network.loadingFailed");
