//! Assembles an Interactions stream into the body of the same interaction in one piece.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::http::{Assembler, DecodeError, Progress};

/// An interaction of which some events have come.
#[derive(Debug, Default)]
pub(super) struct InteractionAssembler {
    steps: BTreeMap<u64, Step>,
    /// The latest report of usage; the last event may hold none.
    usage: Value,
}

/// A step; `arguments` is the JSON text of a call's arguments.
#[derive(Debug, Default)]
struct Step {
    fields: Map<String, Value>,
    arguments: String,
}

impl Assembler for InteractionAssembler {
    fn take(&mut self, data: &str) -> Result<Progress, DecodeError> {
        let mut event: Value = serde_json::from_str(data)?;
        if !event["usage"].is_null() && event["event_type"] == "interaction.status_update" {
            self.usage = event["usage"].take();
        }
        match event["event_type"].as_str().unwrap_or_default() {
            "step.start" => {
                let index = index(&event)?;
                let Value::Object(fields) = event["step"].take() else {
                    return Err(DecodeError::form("step.start holds no step"));
                };
                if self.steps.insert(index, Step { fields, arguments: String::new() }).is_some() {
                    return Err(DecodeError::form("a step begins twice"));
                }
            }
            "step.delta" => {
                let step = self.steps.get_mut(&index(&event)?);
                let step = step.ok_or_else(|| DecodeError::form("a delta belongs to no step"))?;
                return step.take(event["delta"].take());
            }
            "interaction.completed" => return self.body(event["interaction"].take()).map(Progress::Complete),
            "error" => {
                // In one piece, the interaction would have failed with this error.
                let failed = json!({ "status": "failed", "steps": [], "errors": [event["error"]] });
                return Ok(Progress::Complete(serde_json::to_vec(&failed)?));
            }
            // Its creation, changes of its status, ends of steps, and kinds that may join them.
            _ => {}
        }
        Ok(Progress::More)
    }
}

impl InteractionAssembler {
    fn body(&mut self, interaction: Value) -> Result<Vec<u8>, DecodeError> {
        let Value::Object(mut interaction) = interaction else {
            return Err(DecodeError::form("the last event holds no interaction"));
        };
        if interaction.get("steps").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            let cut = interaction.get("status").is_some_and(|status| status == "incomplete");
            let last = self.steps.len().saturating_sub(1);
            let steps = std::mem::take(&mut self.steps).into_values().enumerate();
            let steps: Vec<Value> =
                steps.map(|(place, step)| step.whole(cut && place == last)).collect::<Result<_, _>>()?;
            interaction.insert("steps".into(), steps.into());
        }
        if interaction.get("usage").is_none_or(Value::is_null) {
            interaction.insert("usage".into(), self.usage.take());
        }
        Ok(serde_json::to_vec(&interaction)?)
    }
}

fn index(event: &Value) -> Result<u64, DecodeError> {
    event["index"].as_u64().ok_or_else(|| DecodeError::form("an event of a step has no index"))
}

impl Step {
    fn take(&mut self, mut delta: Value) -> Result<Progress, DecodeError> {
        let words = |delta: &Value, name: &str| delta[name].as_str().unwrap_or_default().to_owned();
        match delta["type"].as_str().unwrap_or_default() {
            "text" => {
                let text = words(&delta, "text");
                add_text(self.list("content")?, &text);
                return Ok(Progress::Words(text));
            }
            "text_annotation_delta" => {
                let Value::Array(more) = delta["annotations"].take() else { return Ok(Progress::More) };
                let part = self.list("content")?.iter_mut().rev().find(|part| part["type"] == "text");
                let part = part.ok_or_else(|| DecodeError::form("an annotation belongs to no text"))?;
                match part["annotations"].as_array_mut() {
                    Some(annotations) => annotations.extend(more),
                    None => part["annotations"] = more.into(),
                }
            }
            "arguments_delta" => self.arguments.push_str(&words(&delta, "arguments")),
            "thought_signature" => {
                if let Some(signature) = delta["signature"].as_str() {
                    self.fields.insert("signature".into(), signature.into());
                }
            }
            "thought_summary" => match &delta["content"] {
                Value::Null => {}
                content if content["type"] == "text" => {
                    let text = words(content, "text");
                    add_text(self.list("summary")?, &text);
                }
                other => self.list("summary")?.push(other.clone()),
            },
            // Without it the step would differ from the one that the model wrote, and is sent back later.
            other => {
                return Err(DecodeError::form(&format!(
                    "the stream has a delta of the unknown kind {other:?}; stream = false asks for the reply in one piece"
                )));
            }
        }
        Ok(Progress::More)
    }

    /// Returns the list with this name, which a step may begin without.
    fn list(&mut self, name: &str) -> Result<&mut Vec<Value>, DecodeError> {
        let place = self.fields.entry(name).or_insert(Value::Null);
        if place.is_null() {
            *place = Value::Array(Vec::new());
        }
        place.as_array_mut().ok_or_else(|| DecodeError::form(&format!("{name} of a step is not a list")))
    }

    /// `may_be_cut` says that the arguments may end in the middle; they are empty then, and such a call is not executed.
    fn whole(mut self, may_be_cut: bool) -> Result<Value, DecodeError> {
        if !self.arguments.trim().is_empty() {
            let arguments = match serde_json::from_str(&self.arguments) {
                Err(_) if may_be_cut => json!({}),
                arguments => arguments?,
            };
            self.fields.insert("arguments".into(), arguments);
        }
        Ok(self.fields.into())
    }
}

fn add_text(parts: &mut Vec<Value>, text: &str) {
    match parts.last_mut().filter(|part| part["type"] == "text") {
        Some(part) => match &mut part["text"] {
            Value::String(before) => before.push_str(text),
            missing => *missing = text.into(),
        },
        None => parts.push(json!({ "type": "text", "text": text })),
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{CallBody, ReplyStop};
    use serde_json::{Value, json};

    use super::InteractionAssembler;
    use crate::gemini::decode::reply;
    use crate::http::DecodeError;
    use crate::http::stream::Broken;
    use crate::http::stream::tests::{events, streamed};

    fn assembled(all: &[Value]) -> Result<Vec<u8>, Broken> {
        streamed(&[events(all).as_bytes()], &mut InteractionAssembler::default()).0
    }

    fn completed(status: &str) -> Value {
        json!({ "event_type": "interaction.completed", "interaction": { "id": "i", "status": status } })
    }

    fn call(partial: &str, status: &str) -> Vec<Value> {
        let step = json!({ "type": "function_call", "id": "f", "name": "click", "arguments": {} });
        vec![
            json!({ "event_type": "step.start", "index": 0, "step": step }),
            json!({ "event_type": "step.delta", "index": 0, "delta": { "type": "arguments_delta", "arguments": partial } }),
            json!({ "event_type": "interaction.status_update", "usage": { "total_output_tokens": 3 } }),
            completed(status),
        ]
    }

    #[test]
    fn usage_of_a_change_of_status_counts_when_the_last_event_has_none() {
        let body = assembled(&call(r#"{"x":1,"y":2}"#, "requires_action")).expect("complete");
        let (read, _) = reply(&body).expect("reads");
        assert_eq!(read.tokens.expect("usage").output, 3);
        assert!(matches!(&read.calls[0].body, CallBody::World { .. }));
    }

    #[test]
    fn a_cut_call_is_executed_never_and_excused_only_at_the_limit() {
        let body = assembled(&call(r#"{"x":1,"#, "incomplete")).expect("complete");
        assert!(matches!(reply(&body).expect("reads").0.calls[0].body, CallBody::Unusable { .. }));
        let broken = assembled(&call(r#"{"x":1,"#, "requires_action"));
        assert!(matches!(broken, Err(Broken::Event(DecodeError::Form(_), _))), "{broken:?}");
    }

    #[test]
    fn an_error_event_is_a_failed_interaction() {
        let error = |code: &str| json!({ "event_type": "error", "error": { "code": code, "message": "x" } });
        let read = |code: &str| reply(&assembled(&[error(code)]).expect("an end"));
        assert_eq!(read("PROHIBITED_CONTENT").expect("reads").0.stop, ReplyStop::Refusal);
        assert!(matches!(read("UNAVAILABLE"), Err(DecodeError::Error(_))));
        assert!(matches!(assembled(&call("{}", "completed")[..3]), Err(Broken::Cut)));
        let unknown = json!({ "event_type": "step.delta", "index": 0, "delta": { "type": "from_later" } });
        let stray =
            json!({ "event_type": "step.delta", "index": 7, "delta": { "type": "text", "text": "x" } });
        for wrong in [unknown, stray] {
            let all = [call("{}", "completed")[0].clone(), wrong];
            assert!(matches!(assembled(&all), Err(Broken::Event(DecodeError::Form(_), _))), "{all:?}");
        }
    }
}
