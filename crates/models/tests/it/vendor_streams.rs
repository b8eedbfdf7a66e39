//! How each vendor streams a reply: the events that its own client puts together to the same reply. The conformance
//! check holds them against the vendors' SDKs.

use serde_json::{Value, json};

use super::adapters::Adapter;

/// The events of a reply, as text. `cut` says where texts and arguments are cut, in characters.
pub(super) fn text(adapter: Adapter, reply: &Value, cut: usize) -> String {
    let named = |event: &Value| {
        let name = event["type"].as_str().or(event["event_type"].as_str());
        let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
        format!("{name}data: {event}\n\n")
    };
    let mut text: String = events(adapter, reply, cut).iter().map(named).collect();
    if matches!(adapter, Adapter::Gemini | Adapter::Compat) {
        text.push_str("data: [DONE]\n\n");
    }
    text
}

/// The events of a reply.
pub(super) fn events(adapter: Adapter, reply: &Value, cut: usize) -> Vec<Value> {
    match adapter {
        Adapter::Anthropic => messages(reply, cut),
        Adapter::OpenAi => responses(reply, cut),
        Adapter::Gemini => interactions(reply, cut),
        Adapter::Compat => chunks(reply, cut),
    }
}

fn pieces(text: &str, cut: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(cut.max(1)).map(|piece| piece.iter().collect()).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn messages(reply: &Value, cut: usize) -> Vec<Value> {
    let mut start = reply.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = 1.into();
    let mut all = vec![json!({ "type": "message_start", "message": start }), json!({ "type": "ping" })];
    for (index, block) in list(&reply["content"]).iter().enumerate() {
        let mut begun = block.clone();
        let mut deltas = Vec::new();
        let mut streamed = |field: &str, kind: &str, name: &str, empty: Value| {
            let whole = match &block[field] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            begun[field] = empty;
            let pieces = pieces(&whole, cut).into_iter();
            deltas.extend(pieces.map(|piece| json!({ "type": kind, name: piece })));
        };
        match block["type"].as_str() {
            Some("text") => streamed("text", "text_delta", "text", "".into()),
            Some("thinking") => {
                streamed("thinking", "thinking_delta", "thinking", "".into());
                begun["signature"] = "".into();
                deltas.push(json!({ "type": "signature_delta", "signature": block["signature"] }));
            }
            Some("tool_use") => streamed("input", "input_json_delta", "partial_json", json!({})),
            _ => {}
        }
        all.push(json!({ "type": "content_block_start", "index": index, "content_block": begun }));
        let deltas = deltas.into_iter();
        all.extend(
            deltas.map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
        );
        all.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": reply["stop_reason"], "stop_sequence": null });
    let usage = json!({ "output_tokens": reply["usage"]["output_tokens"] });
    all.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    all.push(json!({ "type": "message_stop" }));
    all
}

fn responses(reply: &Value, cut: usize) -> Vec<Value> {
    let mut begun = reply.clone();
    begun["output"] = json!([]);
    begun["status"] = "in_progress".into();
    begun["usage"] = Value::Null;
    let mut all = vec![json!({ "type": "response.created", "response": begun })];
    for (index, item) in list(&reply["output"]).iter().enumerate() {
        all.push(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
        let id = item["id"].clone();
        for (place, part) in list(&item["content"]).iter().enumerate() {
            let said = pieces(part["text"].as_str().unwrap_or_default(), cut).into_iter();
            all.extend(said.map(|piece| {
                json!({ "type": "response.output_text.delta", "item_id": id, "output_index": index,
                    "content_index": place, "delta": piece, "logprobs": [] })
            }));
        }
        let given = pieces(item["arguments"].as_str().unwrap_or_default(), cut).into_iter();
        all.extend(given.map(|piece| {
            json!({ "type": "response.function_call_arguments.delta", "item_id": id, "output_index": index, "delta": piece })
        }));
        all.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    let last = reply["status"].as_str().expect("a status");
    all.push(json!({ "type": format!("response.{last}"), "response": reply }));
    for (number, event) in all.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    all
}

fn interactions(reply: &Value, cut: usize) -> Vec<Value> {
    let mut begun = reply.clone();
    begun["status"] = "in_progress".into();
    let fields = begun.as_object_mut().expect("an object");
    fields.remove("steps");
    fields.remove("usage");
    let mut all = vec![json!({ "event_type": "interaction.created", "interaction": begun })];
    for (index, step) in list(&reply["steps"]).iter().enumerate() {
        let mut begun = step.clone();
        let mut deltas = Vec::new();
        match step["type"].as_str() {
            Some("model_output") => {
                begun.as_object_mut().expect("an object").remove("content");
                for part in list(&step["content"]) {
                    let said = pieces(part["text"].as_str().unwrap_or_default(), cut).into_iter();
                    deltas.extend(said.map(|piece| json!({ "type": "text", "text": piece })));
                }
            }
            Some("function_call") => {
                begun["arguments"] = json!({});
                let given = pieces(&step["arguments"].to_string(), cut).into_iter();
                deltas.extend(given.map(|piece| json!({ "type": "arguments_delta", "arguments": piece })));
            }
            Some("thought") => {
                begun = json!({ "type": "thought" });
                for part in list(&step["summary"]) {
                    let said = pieces(part["text"].as_str().unwrap_or_default(), cut).into_iter();
                    let content = |piece| json!({ "type": "text", "text": piece });
                    deltas.extend(
                        said.map(|piece| json!({ "type": "thought_summary", "content": content(piece) })),
                    );
                }
                deltas.push(json!({ "type": "thought_signature", "signature": step["signature"] }));
            }
            _ => {}
        }
        all.push(json!({ "event_type": "step.start", "index": index, "step": begun }));
        let deltas = deltas.into_iter();
        all.extend(deltas.map(|delta| json!({ "event_type": "step.delta", "index": index, "delta": delta })));
        all.push(json!({ "event_type": "step.stop", "index": index }));
    }
    let mut done = reply.clone();
    done.as_object_mut().expect("an object").remove("steps");
    all.push(json!({ "event_type": "interaction.completed", "interaction": done }));
    all
}

fn chunks(reply: &Value, cut: usize) -> Vec<Value> {
    let choice = &reply["choices"][0];
    let chunk = |delta: Value, finish: Value| {
        let mut chunk = reply.clone();
        chunk["object"] = "chat.completion.chunk".into();
        chunk["usage"] = Value::Null;
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        chunk
    };
    let mut all = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    if choice["message"]["content"].is_null() {
        all[0]["choices"][0]["delta"]["content"] = Value::Null;
    }
    let said = pieces(choice["message"]["content"].as_str().unwrap_or_default(), cut).into_iter();
    all.extend(said.map(|piece| chunk(json!({ "content": piece }), Value::Null)));
    for (index, call) in list(&choice["message"]["tool_calls"]).iter().enumerate() {
        let mut begun = call.clone();
        begun["index"] = index.into();
        begun["function"]["arguments"] = "".into();
        all.push(chunk(json!({ "tool_calls": [begun] }), Value::Null));
        let given = pieces(call["function"]["arguments"].as_str().unwrap_or_default(), cut).into_iter();
        all.extend(given.map(|piece| {
            chunk(
                json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }),
                Value::Null,
            )
        }));
    }
    all.push(chunk(json!({}), choice["finish_reason"].clone()));
    let mut usage = chunk(Value::Null, Value::Null);
    usage["choices"] = json!([]);
    usage["usage"] = reply["usage"].clone();
    all.push(usage);
    all
}
