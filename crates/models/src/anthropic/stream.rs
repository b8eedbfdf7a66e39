//! Assembles a Messages stream into the body of the same reply in one piece.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::http::{Assembler, DecodeError, Progress, error_in_success};

/// The stop reasons with which the last call may have been cut in the middle of its input.
const CUT_SHORT: [&str; 3] = ["max_tokens", "refusal", "model_context_window_exceeded"];

/// A reply of which some events have come.
#[derive(Debug, Default)]
pub(super) struct MessageAssembler {
    message: Option<Map<String, Value>>,
    blocks: Vec<Block>,
}

/// A content block; `input` is the JSON text of a call's input.
#[derive(Debug)]
struct Block {
    fields: Map<String, Value>,
    input: String,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    message: &'a Map<String, Value>,
    content: Vec<Box<RawValue>>,
}

impl Assembler for MessageAssembler {
    fn take(&mut self, data: &str) -> Result<Progress, DecodeError> {
        let mut event: Value = serde_json::from_str(data)?;
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                let Value::Object(message) = event["message"].take() else {
                    return Err(DecodeError::form("message_start holds no message"));
                };
                self.message = Some(message);
            }
            "content_block_start" => {
                let Value::Object(fields) = event["content_block"].take() else {
                    return Err(DecodeError::form("content_block_start holds no block"));
                };
                if event["index"].as_u64() != u64::try_from(self.blocks.len()).ok() {
                    return Err(DecodeError::form("content blocks are out of order"));
                }
                self.blocks.push(Block { fields, input: String::new() });
            }
            "content_block_delta" => return self.delta(&event),
            "message_delta" => self.finish(event)?,
            "message_stop" => return self.body().map(Progress::Complete),
            "error" => {
                let error = error_in_success(&event);
                return Err(error.map_or_else(
                    || DecodeError::form("an error event without an error"),
                    DecodeError::Error,
                ));
            }
            // `ping`, `content_block_stop`, and kinds that may join them.
            _ => {}
        }
        Ok(Progress::More)
    }
}

impl MessageAssembler {
    fn delta(&mut self, event: &Value) -> Result<Progress, DecodeError> {
        let index = event["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        let block = index.and_then(|index| self.blocks.get_mut(index));
        let block = block.ok_or_else(|| DecodeError::form("a delta belongs to no block"))?;
        let delta = &event["delta"];
        let kind = delta["type"].as_str().unwrap_or_default();
        let text = |name: &str| {
            delta[name].as_str().ok_or_else(|| DecodeError::form(&format!("a {kind} lacks its {name}")))
        };
        match kind {
            "text_delta" => {
                append(&mut block.fields, "text", text("text")?);
                return Ok(Progress::Words(text("text")?.to_owned()));
            }
            "thinking_delta" => append(&mut block.fields, "thinking", text("thinking")?),
            "signature_delta" => drop(block.fields.insert("signature".into(), text("signature")?.into())),
            "input_json_delta" => block.input.push_str(text("partial_json")?),
            "citations_delta" => match block.fields.get_mut("citations") {
                Some(Value::Array(citations)) => citations.push(delta["citation"].clone()),
                _ => drop(block.fields.insert("citations".into(), vec![delta["citation"].clone()].into())),
            },
            // Without it the block would differ from the one that the model wrote, and is sent back later.
            other => {
                return Err(DecodeError::form(&format!(
                    "the stream has a delta of the unknown kind {other:?}; stream = false asks for the reply in one piece"
                )));
            }
        }
        Ok(Progress::More)
    }

    /// Takes the end of the message. Counts of usage are totals; what is absent keeps its first value.
    fn finish(&mut self, mut event: Value) -> Result<(), DecodeError> {
        let message = self.message.as_mut().ok_or_else(|| DecodeError::form("message_delta comes first"))?;
        let known = ["type", "delta", "usage"];
        let beside: Vec<(String, Value)> = match &event {
            Value::Object(fields) => {
                fields.clone().into_iter().filter(|(name, _)| !known.contains(&name.as_str())).collect()
            }
            _ => Vec::new(),
        };
        merge(message, beside);
        if let Value::Object(delta) = event["delta"].take() {
            merge(message, delta);
        }
        if let Value::Object(counts) = event["usage"].take() {
            match message.get_mut("usage") {
                Some(Value::Object(usage)) => merge(usage, counts),
                _ => drop(message.insert("usage".into(), counts.into())),
            }
        }
        Ok(())
    }

    fn body(&mut self) -> Result<Vec<u8>, DecodeError> {
        let mut message =
            self.message.take().ok_or_else(|| DecodeError::form("the stream holds no message"))?;
        message.remove("content");
        let cut =
            message.get("stop_reason").and_then(Value::as_str).is_some_and(|why| CUT_SHORT.contains(&why));
        let last = self.blocks.len().saturating_sub(1);
        let blocks = std::mem::take(&mut self.blocks).into_iter().enumerate();
        let content =
            blocks.map(|(index, block)| block.raw(cut && index == last)).collect::<Result<_, _>>()?;
        Ok(serde_json::to_vec(&Body { message: &message, content })?)
    }
}

impl Block {
    /// Returns the block's JSON. `may_be_cut` says that its input may end in the middle; the input is empty then, and
    /// such a call is not executed.
    fn raw(self, may_be_cut: bool) -> Result<Box<RawValue>, DecodeError> {
        let mut fields = BTreeMap::new();
        for (name, value) in self.fields {
            fields.insert(name, to_raw_value(&value)?);
        }
        if !self.input.trim().is_empty() {
            let input = match RawValue::from_string(self.input) {
                Err(_) if may_be_cut => to_raw_value(&Map::new())?,
                input => input?,
            };
            fields.insert("input".into(), input);
        }
        Ok(to_raw_value(&fields)?)
    }
}

fn append(fields: &mut Map<String, Value>, name: &str, more: &str) {
    match fields.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => drop(fields.insert(name.to_owned(), more.into())),
    }
}

fn merge(into: &mut Map<String, Value>, from: impl IntoIterator<Item = (String, Value)>) {
    into.extend(from.into_iter().filter(|(_, value)| !value.is_null()));
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ModelErrorKind, ReplyStop};
    use serde_json::{Value, json};

    use super::MessageAssembler;
    use crate::anthropic::decode::reply;
    use crate::http::DecodeError;
    use crate::http::stream::Broken;
    use crate::http::stream::tests::{events, streamed};

    fn assembled(all: &[Value]) -> Result<Vec<u8>, Broken> {
        streamed(&[events(all).as_bytes()], &mut MessageAssembler::default()).0
    }

    fn start() -> Value {
        json!({ "type": "message_start", "message": { "id": "m", "type": "message", "content": [], "stop_reason": null,
            "usage": { "input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1 } } })
    }

    fn call(partial: &str, stop: &str) -> Vec<Value> {
        let block = json!({ "type": "tool_use", "id": "t", "name": "left_click", "toolset_name": "computer", "input": {} });
        vec![
            start(),
            json!({ "type": "content_block_start", "index": 0, "content_block": block }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": partial } }),
            json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 7 } }),
            json!({ "type": "message_stop" }),
        ]
    }

    #[test]
    fn totals_replace_the_first_counts_and_the_rest_stays() {
        let body = assembled(&call("", "tool_use")).expect("complete");
        let tokens = reply(&body, None).expect("reads").tokens.expect("usage");
        assert_eq!((tokens.fresh, tokens.cache_read, tokens.output), (10, 90, 7));
    }

    #[test]
    fn a_cut_call_is_executed_never_and_excused_only_at_the_limit() {
        let body = assembled(&call(r#"{"coordinate":[1,"#, "max_tokens")).expect("complete");
        let read = reply(&body, None).expect("reads");
        assert!(matches!(read.calls[0].body, apprentice_protocol::CallBody::Unusable { .. }));
        let sent_back: Value = serde_json::from_str(&read.raw.blocks[0]).expect("JSON");
        assert_eq!(sent_back["input"], json!({}));
        let refused = assembled(&call(r#"{"coordinate":[1,"#, "refusal")).expect("complete");
        assert_eq!(reply(&refused, None).expect("reads").stop, ReplyStop::Refusal);
        let broken = assembled(&call(r#"{"coordinate":[1,"#, "tool_use")).expect_err("is no input");
        assert!(matches!(broken, Broken::Event(DecodeError::Form(_), _)), "{broken:?}");
    }

    #[test]
    fn an_overload_in_the_middle_may_pass_and_an_unknown_delta_is_refused() {
        let overload =
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
        let broken = assembled(&[start(), overload]).expect_err("fails");
        let Broken::Event(DecodeError::Error(error), _) = broken else { panic!("{broken:?}") };
        assert_eq!(
            (error.fault, error.retry),
            (ModelErrorKind::Unavailable, apprentice_protocol::Retry::Now)
        );
        let block = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } });
        let delta =
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "from_later_delta" } });
        let stray = json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "x" } });
        for wrong in [
            vec![start(), block.clone(), delta],
            vec![start(), block, stray],
            vec![json!({ "type": "message_stop" })],
        ] {
            assert!(matches!(assembled(&wrong), Err(Broken::Event(DecodeError::Form(_), _))), "{wrong:?}");
        }
        assert!(matches!(assembled(&call("{}", "tool_use")[..4]), Err(Broken::Cut)));
    }
}
