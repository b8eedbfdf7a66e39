//! Reads the fenced `json` block in which a request passes structured material.

use apprentice_protocol::{ChatRequest, Content, Message};
use serde::de::DeserializeOwned;

/// Returns the first fenced block in the user messages that deserializes as `T`.
pub(super) fn block<T: DeserializeOwned>(request: &ChatRequest) -> Option<T> {
    request.messages.iter().find_map(|message| {
        let Message::User { content } = message else { return None };
        content.iter().filter_map(Content::as_text).find_map(fenced)
    })
}

/// Returns the first fenced block of a text if it deserializes as `T`.
pub(super) fn fenced<T: DeserializeOwned>(text: &str) -> Option<T> {
    let inside = text.split("```json").nth(1)?;
    serde_json::from_str(inside.rsplit_once("```").map_or(inside, |(body, _)| body)).ok()
}
