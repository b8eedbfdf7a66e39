//! Assembles a stream of chat completion chunks into the body of the same completion in one piece.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::decode::REASONING;
use super::repetition::Repetition;
use crate::http::{Assembler, DecodeError, Progress, error_in_success};

/// A field of ours in the choice of a reply that repeated itself and was not waited for.
pub(super) const REPEATED: &str = "apprentice_repeated";

/// A completion of which some chunks have come.
#[derive(Debug, Default)]
pub(super) struct ChatAssembler {
    /// Fields of the chunks beside their choices; later ones replace earlier ones.
    beside: Map<String, Value>,
    content: Option<String>,
    refusal: Option<String>,
    reasoning: BTreeMap<&'static str, Value>,
    calls: Vec<StreamedCall>,
    finish: Value,
    begun: bool,
    repetition: Repetition,
    repeats: bool,
}

#[derive(Debug, Default)]
struct StreamedCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
    /// Fields of the server's own.
    beside: Map<String, Value>,
}

impl Assembler for ChatAssembler {
    fn take(&mut self, data: &str) -> Result<Progress, DecodeError> {
        let chunk: Value = serde_json::from_str(data)?;
        if let Some(error) = error_in_success(&chunk) {
            return Err(DecodeError::Error(error));
        }
        let Value::Object(mut fields) = chunk else {
            return Err(DecodeError::form("a chunk is not an object"));
        };
        let choices = match fields.remove("choices") {
            Some(Value::Array(choices)) => choices,
            // Signs of life, and usage, come as chunks of their own.
            None | Some(Value::Null) => Vec::new(),
            Some(_) => return Err(DecodeError::form("the choices of a chunk are no list")),
        };
        self.beside.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        let mut words = String::new();
        // Only one choice is asked for.
        if let Some(choice) = choices.into_iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            self.begun = true;
            words = self.delta(&choice["delta"])?;
            if !choice["finish_reason"].is_null() {
                self.finish = choice["finish_reason"].clone();
            }
        }
        if self.repeats {
            self.finish = "length".into();
            return Ok(Progress::Enough(self.whole()?));
        }
        Ok(if words.is_empty() { Progress::More } else { Progress::Words(words) })
    }

    /// Some servers mark the end and name no finish reason.
    fn done(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        self.begun.then(|| self.whole()).transpose()
    }

    /// The stream may end after its finish reason without a mark of the end.
    fn end(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        (self.begun && !self.finish.is_null()).then(|| self.whole()).transpose()
    }
}

impl ChatAssembler {
    /// Returns the completion in one piece.
    fn whole(&mut self) -> Result<Vec<u8>, DecodeError> {
        let mut message = json!({ "role": "assistant", "content": self.content });
        if let Some(refusal) = &self.refusal {
            message["refusal"] = refusal.as_str().into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] =
                std::mem::take(&mut self.calls).into_iter().map(StreamedCall::whole).collect();
        }
        for (name, text) in std::mem::take(&mut self.reasoning) {
            message[name] = text;
        }
        let mut body = std::mem::take(&mut self.beside);
        body.insert("object".into(), "chat.completion".into());
        let mut choice = json!({ "index": 0, "message": message, "finish_reason": self.finish });
        if self.repeats {
            choice[REPEATED] = true.into();
        }
        body.insert("choices".into(), vec![choice].into());
        Ok(serde_json::to_vec(&body)?)
    }

    /// Takes a choice's delta, and returns its words.
    fn delta(&mut self, delta: &Value) -> Result<String, DecodeError> {
        let words = match &delta["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            _ => String::new(),
        };
        if !delta["content"].is_null() {
            self.content.get_or_insert_default().push_str(&words);
            self.repeats |= self.repetition.take(&words);
        }
        for name in REASONING {
            self.think(name, &delta[name]);
        }
        if let Some(text) = delta["refusal"].as_str() {
            self.refusal.get_or_insert_default().push_str(text);
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let Value::Object(piece) = piece else {
                return Err(DecodeError::form("a tool call is not an object"));
            };
            self.call(piece.clone());
        }
        Ok(words)
    }

    /// Takes a piece of a field of reasoning: a text goes on, and a list grows.
    fn think(&mut self, name: &'static str, piece: &Value) {
        if piece.is_null() {
            return;
        }
        if let Some(text) = piece.as_str() {
            self.repeats |= self.repetition.take(text);
        }
        match (self.reasoning.get_mut(name), piece) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (Some(Value::Array(parts)), Value::Array(more)) => add_parts(parts, more),
            _ => {
                self.reasoning.insert(name, piece.clone());
            }
        }
    }

    /// Takes a piece of a call. It belongs to the call with its index, unless its id is another one: some servers send
    /// whole calls, all under the same index or under none.
    fn call(&mut self, mut piece: Map<String, Value>) {
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let id = text(piece.remove("id"));
        let given = piece.remove("index").and_then(|index| index.as_u64());
        let index = given.unwrap_or_else(|| {
            let last = self.calls.last();
            let begins = last.is_none_or(|last| !id.is_empty() && last.id != id);
            last.map_or(0, |last| last.index + u64::from(begins))
        });
        let place = self.calls.iter().rposition(|call| call.index == index);
        let place = place
            .filter(|place| id.is_empty() || self.calls[*place].id.is_empty() || self.calls[*place].id == id);
        let place = place.unwrap_or_else(|| {
            self.calls.push(StreamedCall { index, ..StreamedCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            call.id = id;
        }
        if let Some(Value::Object(mut function)) = piece.remove("function") {
            let name = text(function.remove("name"));
            if call.name.is_empty() {
                call.name = name;
            }
            match function.remove("arguments") {
                Some(Value::String(more)) => {
                    call.arguments.push_str(&more);
                    self.repeats |= self.repetition.take(&more);
                }
                Some(Value::Null) | None => {}
                // Some servers send an object, and send it whole.
                Some(whole) => call.arguments = whole.to_string(),
            }
        }
        call.beside.extend(piece.into_iter().filter(|(_, value)| !value.is_null()));
    }
}

/// Adds parts of reasoning: a part whose text goes on has the index and the type of the last one.
fn add_parts(parts: &mut Vec<Value>, more: &[Value]) {
    for part in more {
        let same = |last: &&mut Value| last["index"] == part["index"] && last["type"] == part["type"];
        match parts.last_mut().filter(|last| part["index"].is_u64() && same(last)) {
            Some(Value::Object(last)) => {
                for (name, value) in part.as_object().into_iter().flatten() {
                    match (last.get_mut(name), value) {
                        (Some(Value::String(text)), Value::String(next))
                            if ["text", "summary", "data"].contains(&name.as_str()) =>
                        {
                            text.push_str(next);
                        }
                        (_, Value::Null) => {}
                        _ => {
                            last.insert(name.clone(), value.clone());
                        }
                    }
                }
            }
            _ => parts.push(part.clone()),
        }
    }
}

impl StreamedCall {
    fn whole(self) -> Value {
        let mut fields = self.beside;
        if !self.id.is_empty() {
            fields.insert("id".into(), self.id.into());
        }
        fields.insert("type".into(), "function".into());
        fields.insert("function".into(), json!({ "name": self.name, "arguments": self.arguments }));
        fields.into()
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ModelErrorKind, Retry};
    use serde_json::{Value, json};

    use super::ChatAssembler;
    use crate::http::DecodeError;
    use crate::http::stream::Broken;
    use crate::http::stream::tests::{events, streamed};

    fn chunk(delta: &Value, finish: &Value) -> Value {
        json!({ "id": "c", "object": "chat.completion.chunk", "model": "m", "usage": null,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
    }

    fn assembled(all: &[Value]) -> Result<Value, Broken> {
        let (body, _) = streamed(&[events(all).as_bytes()], &mut ChatAssembler::default());
        body.map(|body| serde_json::from_slice(&body).expect("JSON"))
    }

    fn calls(pieces: &[Value]) -> Value {
        let mut all: Vec<Value> =
            pieces.iter().map(|piece| chunk(&json!({ "tool_calls": [piece] }), &Value::Null)).collect();
        all.push(chunk(&json!({}), &"tool_calls".into()));
        let body = assembled(&all).expect("complete");
        let calls = body["choices"][0]["message"]["tool_calls"].as_array().expect("calls").iter();
        calls
            .map(|call| json!([call["id"], call["function"]["name"], call["function"]["arguments"]]))
            .collect()
    }

    #[test]
    fn what_repeats_itself_is_not_waited_for() {
        for field in ["content", "reasoning_content"] {
            let begin = json!({ field: "Let me see: [" });
            let more = std::iter::repeat_n(json!({ field: "[1, 2], " }), 2000);
            let all: Vec<Value> =
                std::iter::once(begin).chain(more).map(|delta| chunk(&delta, &Value::Null)).collect();
            // The stream has no end: a client that waits for it calls it torn.
            let body = assembled(&all).expect("stopped");
            let choice = &body["choices"][0];
            assert_eq!(
                (&choice["finish_reason"], &choice["apprentice_repeated"]),
                (&json!("length"), &json!(true))
            );
            let text = choice["message"][field].as_str().expect("a text");
            assert!(text.len() < 5000, "{}", text.len());
        }
        let piece = |more: &str| json!({ "index": 0, "function": { "arguments": more } });
        let mut pieces = vec![
            json!({ "index": 0, "id": "a", "function": { "name": "type", "arguments": "{\"text\": \"" } }),
        ];
        pieces.extend(std::iter::repeat_n(piece("ha"), 4000));
        let all: Vec<Value> =
            pieces.iter().map(|piece| chunk(&json!({ "tool_calls": [piece] }), &Value::Null)).collect();
        assert_eq!(assembled(&all).expect("stopped")["choices"][0]["finish_reason"], "length");
    }

    #[test]
    fn usage_comes_after_the_last_choice() {
        let usage =
            json!({ "id": "c", "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 2 } });
        let body = assembled(&[
            chunk(&json!({ "role": "assistant", "content": "4" }), &Value::Null),
            chunk(&json!({ "content": "2" }), &"stop".into()),
            usage,
        ])
        .expect("complete");
        assert_eq!(body["choices"][0]["message"]["content"], "42");
        assert_eq!((&body["usage"]["prompt_tokens"], &body["model"]), (&json!(5), &json!("m")));
    }

    #[test]
    fn reasoning_and_chunks_without_choices_are_put_together() {
        let none = Value::Null;
        let detail = |text: &str| json!({ "reasoning_details": [{ "type": "reasoning.text", "index": 0, "text": text }] });
        let body = assembled(&[
            json!({ "type": "ping" }),
            chunk(&json!({ "reasoning_content": "It is" }), &none),
            chunk(&json!({ "reasoning_content": " n2", "content": null }), &none),
            chunk(&detail("It"), &none),
            chunk(&detail(" is"), &none),
            chunk(&json!({ "content": "5" }), &"stop".into()),
            json!({ "id": "c", "usage": { "prompt_tokens": 5 } }),
        ])
        .expect("complete");
        let message = &body["choices"][0]["message"];
        assert_eq!((&message["reasoning_content"], &message["content"]), (&json!("It is n2"), &json!("5")));
        assert_eq!(
            message["reasoning_details"],
            json!([{ "type": "reasoning.text", "index": 0, "text": "It is" }])
        );
        assert_eq!(body["usage"]["prompt_tokens"], 5);
    }

    #[test]
    fn calls_are_told_apart_however_a_server_counts_them() {
        let piece = |index: Value, id: Value, name: Value, arguments: &str| json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } });
        let none = Value::Null;
        let expected = json!([["a", "f", "{\"x\":1}"], ["b", "g", "{}"]]);
        for pieces in [
            // In pieces, interleaved.
            vec![
                piece(json!(0), json!("a"), json!("f"), "{\"x\""),
                piece(json!(1), json!("b"), json!("g"), "{"),
                piece(json!(0), none.clone(), none.clone(), ":1}"),
                piece(json!(1), none.clone(), none.clone(), "}"),
            ],
            // Whole, all under one index.
            vec![
                piece(json!(0), json!("a"), json!("f"), "{\"x\":1}"),
                piece(json!(0), json!("b"), json!("g"), "{}"),
            ],
            // Whole, without an index.
            vec![
                piece(none.clone(), json!("a"), json!("f"), "{\"x\":1}"),
                piece(none.clone(), json!("b"), json!("g"), "{}"),
            ],
            // Id and name in every piece.
            vec![
                piece(json!(0), json!("a"), json!("f"), "{\"x\""),
                piece(json!(0), json!("a"), json!("f"), ":1}"),
                piece(json!(1), json!("b"), json!("g"), "{}"),
            ],
        ] {
            assert_eq!(calls(&pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_stream_without_an_end_of_its_own_is_cut() {
        let said = chunk(&json!({ "content": "4" }), &Value::Null);
        assert!(matches!(assembled(std::slice::from_ref(&said)), Err(Broken::Cut)));
        let marked = |events: String| streamed(&[events.as_bytes()], &mut ChatAssembler::default()).0;
        assert!(marked(events(&[said]) + "data: [DONE]\n\n").is_ok(), "the mark is an end");
        let ping = json!({ "type": "ping" });
        assert!(matches!(marked(events(&[ping]) + "data: [DONE]\n\n"), Err(Broken::Cut)), "nothing was said");
        let broken =
            assembled(&[json!({ "error": { "code": "server_error", "message": "x" } })]).expect_err("fails");
        let Broken::Event(DecodeError::Error(error), _) = broken else { panic!("{broken:?}") };
        assert_eq!((error.fault, error.retry), (ModelErrorKind::Unavailable, Retry::Now));
        for wrong in [json!([1]), json!({ "choices": 1 })] {
            assert!(matches!(assembled(&[wrong]), Err(Broken::Event(DecodeError::Form(_), _))));
        }
    }
}
