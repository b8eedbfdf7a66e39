//! Reads a Responses stream up to the event that holds the whole response.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::http::{Assembler, DecodeError, Progress, error_in_success};

/// A response of which some events have come.
#[derive(Debug, Default)]
pub(super) struct ResponseAssembler {
    /// Finished output items by their place. Some servers leave them out of the last event.
    items: BTreeMap<u64, Box<RawValue>>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(default)]
    delta: Value,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    response: &'a Map<String, Value>,
    output: Vec<&'a RawValue>,
}

impl Assembler for ResponseAssembler {
    fn take(&mut self, data: &str) -> Result<Progress, DecodeError> {
        let event: Event<'_> = serde_json::from_str(data)?;
        match event.kind.as_str() {
            "response.output_text.delta" => {
                let words = event.delta.as_str().unwrap_or_default();
                return Ok(Progress::Words(words.to_owned()));
            }
            "response.output_item.done" => {
                let item = event.item.ok_or_else(|| DecodeError::form("a finished item is missing"))?;
                let place = event.output_index.unwrap_or(self.items.len() as u64);
                self.items.insert(place, item.to_owned());
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let response =
                    event.response.ok_or_else(|| DecodeError::form("the last event holds no response"))?;
                return self.body(response).map(Progress::Complete);
            }
            "error" => return Err(failure(data)),
            _ => {}
        }
        Ok(Progress::More)
    }
}

impl ResponseAssembler {
    fn body(&self, response: &RawValue) -> Result<Vec<u8>, DecodeError> {
        let mut fields: Map<String, Value> = serde_json::from_str(response.get())?;
        let told = fields.remove("output");
        let empty = told.as_ref().is_none_or(|output| output.as_array().is_none_or(Vec::is_empty));
        if !empty || self.items.is_empty() {
            return Ok(response.get().as_bytes().to_vec());
        }
        let output = self.items.values().map(AsRef::as_ref).collect();
        Ok(serde_json::to_vec(&Body { response: &fields, output })?)
    }
}

/// Reads an error event, whose fields stand in it or in an `error` of its own.
fn failure(data: &str) -> DecodeError {
    let event: Value = serde_json::from_str(data).unwrap_or_default();
    let inner = if event["error"].is_object() { event["error"].clone() } else { event };
    let error = error_in_success(&serde_json::json!({ "error": inner }));
    error.map_or_else(|| DecodeError::form("an error event without an error"), DecodeError::Error)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ModelErrorKind, ReplyStop, Retry};
    use serde_json::{Value, json};

    use super::ResponseAssembler;
    use crate::http::DecodeError;
    use crate::http::stream::Broken;
    use crate::http::stream::tests::{events, streamed};
    use crate::openai::decode::reply;

    fn assembled(all: &[Value]) -> Result<Vec<u8>, Broken> {
        streamed(&[events(all).as_bytes()], &mut ResponseAssembler::default()).0
    }

    fn last(kind: &str, response: &Value) -> Value {
        json!({ "type": format!("response.{kind}"), "response": response })
    }

    #[test]
    fn the_last_event_is_the_response_byte_for_byte() {
        let response = r#"{ "status":"completed", "output":[{"type":"reasoning","encrypted_content":"x\u003d"}],"n":1.50 }"#;
        let text = format!("data: {{\"type\":\"response.completed\",\"response\":{response}}}\n\n");
        let (body, _) = streamed(&[text.as_bytes()], &mut ResponseAssembler::default());
        assert_eq!(String::from_utf8(body.expect("complete")).expect("UTF-8"), response);
    }

    #[test]
    fn items_that_the_last_event_leaves_out_are_taken_from_their_own() {
        let item = |index: u64, name: &str| {
            json!({ "type": "response.output_item.done", "output_index": index,
            "item": { "type": "function_call", "call_id": name, "name": name, "arguments": "{}" } })
        };
        let done = last("completed", &json!({ "status": "completed", "output": [], "model": "m" }));
        let read =
            reply(&assembled(&[item(1, "b"), item(0, "a"), done]).expect("complete")).expect("reads").0;
        let ids: Vec<&str> = read.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!((ids, read.provider_model.as_deref()), (vec!["a", "b"], Some("m")));
    }

    #[test]
    fn every_end_of_a_stream_has_its_meaning() {
        let stop = |kind: &str, response: &Value| {
            reply(&assembled(&[last(kind, response)]).expect("complete")).map(|(read, _)| read.stop)
        };
        let incomplete = |reason: &str| json!({ "status": "incomplete", "incomplete_details": { "reason": reason }, "output": [] });
        assert_eq!(
            stop("incomplete", &incomplete("max_output_tokens")).expect("reads"),
            ReplyStop::MaxTokens
        );
        assert_eq!(stop("incomplete", &incomplete("content_filter")).expect("reads"), ReplyStop::Refusal);
        let failed =
            stop("failed", &json!({ "status": "failed", "error": { "code": "server_error" }, "output": [] }));
        let Err(DecodeError::Error(error)) = failed else { panic!("{failed:?}") };
        assert_eq!((error.fault, error.retry), (ModelErrorKind::Unavailable, Retry::Now));
        for event in [
            json!({ "type": "error", "code": "rate_limit_exceeded", "message": "slow down" }),
            json!({ "type": "error", "error": { "type": "server_error", "message": "oops" } }),
        ] {
            let broken = assembled(&[event]).expect_err("fails");
            let Broken::Event(DecodeError::Error(error), _) = broken else { panic!("{broken:?}") };
            assert_eq!((error.fault, error.retry), (ModelErrorKind::Unavailable, Retry::Now), "{error}");
        }
        assert!(matches!(assembled(&[json!({ "type": "response.created" })]), Err(Broken::Cut)));
    }
}
