//! Servers that refuse what the vendors' servers are known to refuse, beyond the form of a request: the order of blocks,
//! answers to calls, what a thought is bound to, and caps of pictures and bytes.

use std::collections::BTreeSet;

use apprentice_trace::hex;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::adapters::Adapter;
use crate::server::{Heard, Speak};

const NOT_EXECUTED_IN_BROWSER: &str = "Not executed: an earlier action in this turn failed.";
const NOT_EXECUTED: &str = "Not executed: an earlier computer action in this turn failed.";

/// Caps of one request: pictures, bytes of one picture, bytes of the body.
struct Caps {
    pictures: usize,
    picture_bytes: usize,
    body_bytes: usize,
}

fn caps(adapter: Adapter) -> Caps {
    let of = |pictures, picture_bytes, body_bytes| Caps { pictures, picture_bytes, body_bytes };
    match adapter {
        Adapter::Anthropic => of(100, 5 << 20, 32_000_000),
        Adapter::OpenAi => of(500, 50 << 20, 50_000_000),
        Adapter::Gemini => of(3000, 20 << 20, 20_000_000),
        // Bedrock's are the smallest of the servers that speak this dialect.
        Adapter::Compat => of(20, 3_750_000, 20_000_000),
    }
}

/// Answers by `reply`, which gets the request's number, unless the request is refused.
pub(super) fn strictly(adapter: Adapter, heard: &Heard, reply: impl FnOnce(&Value) -> Value) -> Speak {
    let body = heard.json();
    match refusal(adapter, &body, heard.body.len()) {
        Ok(()) => Speak::ok(reply(&body)),
        Err(why) => {
            let error =
                json!({ "type": "error", "error": { "type": "invalid_request_error", "message": why } });
            Speak::Answer(400, Vec::new(), error.to_string())
        }
    }
}

fn refusal(adapter: Adapter, body: &Value, bytes: usize) -> Result<(), String> {
    let caps = caps(adapter);
    holds(bytes <= caps.body_bytes, || format!("{bytes} bytes of request"))?;
    let mut pictures = Vec::new();
    collect_pictures(body, &mut pictures);
    holds(pictures.len() <= caps.pictures, || format!("{} pictures", pictures.len()))?;
    for (media, data) in pictures {
        let raw = STANDARD.decode(data).map_err(|_| "a picture is not base64")?;
        holds(raw.len() <= caps.picture_bytes, || format!("a picture of {} bytes", raw.len()))?;
        let is = if raw.starts_with(b"\x89PNG") { "image/png" } else { "image/jpeg" };
        holds(media == is, || format!("a picture is {is}, not {media}"))?;
    }
    match adapter {
        Adapter::Anthropic => messages(body),
        Adapter::OpenAi => items(body),
        Adapter::Gemini => steps(body),
        Adapter::Compat => chat(body),
    }
}

fn holds(is: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if is { Ok(()) } else { Err(otherwise()) }
}

/// Every picture of a body, wherever it stands: its declared type and its base64.
pub(super) fn collect_pictures<'v>(value: &'v Value, found: &mut Vec<(&'v str, &'v str)>) {
    match value {
        Value::Object(fields) => {
            let media = fields.get("media_type").or_else(|| fields.get("mime_type")).and_then(Value::as_str);
            match (media, fields.get("data").and_then(Value::as_str)) {
                (Some(media), Some(data)) => found.push((media, data)),
                _ => fields.values().for_each(|inner| collect_pictures(inner, found)),
            }
        }
        Value::Array(items) => items.iter().for_each(|inner| collect_pictures(inner, found)),
        Value::String(text) => {
            let url = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
            found.extend(url);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The signatures of thoughts before each message and after the last one: a thought is bound to the system prompt, the
/// tools, and all messages before it.
pub(super) fn signatures(body: &Value) -> Vec<String> {
    let mut hash = Sha256::new_with_prefix(json!([body["system"], body["tools"]]).to_string());
    let mut found = vec![hex(&hash.clone().finalize())];
    for message in list(&body["messages"]) {
        hash.update(message.to_string());
        found.push(hex(&hash.clone().finalize()));
    }
    found
}

fn messages(body: &Value) -> Result<(), String> {
    let (all, signatures) = (list(&body["messages"]), signatures(body));
    holds(all.last().is_some_and(|last| last["role"] == "user"), || "no assistant prefill".into())?;
    for (at, message) in all.iter().enumerate() {
        let blocks = list(&message["content"]);
        holds(!blocks.is_empty(), || format!("messages.{at}: content is empty"))?;
        for block in blocks {
            let text = block["text"].as_str().unwrap_or("x");
            holds(!text.trim().is_empty(), || format!("messages.{at}: text must be non-whitespace"))?;
            if block["type"] == "thinking" {
                let bound = block["signature"] == signatures[at];
                holds(bound, || format!("messages.{at}: thinking is bound to a different conversation"))?;
            }
        }
        if message["role"] == "assistant" {
            let last = &blocks[blocks.len() - 1]["type"];
            holds(last != "thinking" && last != "redacted_thinking", || {
                format!("messages.{at}: The final block in an assistant message cannot be `thinking`.")
            })?;
            let calls: Vec<&Value> = blocks.iter().filter(|block| block["type"] == "tool_use").collect();
            results(&calls, &all[at + 1], at)?;
        }
    }
    Ok(())
}

fn results(calls: &[&Value], next: &Value, at: usize) -> Result<(), String> {
    let blocks = list(&next["content"]);
    let mut failed = BTreeSet::new();
    for (place, call) in calls.iter().enumerate() {
        let result = blocks.get(place).filter(|block| block["tool_use_id"] == call["id"]);
        let result =
            result.ok_or_else(|| format!("messages.{at}: {} has no result in its place", call["id"]))?;
        holds(result["toolset_name"] == call["toolset_name"], || format!("messages.{at}: toolset_name"))?;
        let Some(family) = call["toolset_name"].as_str() else { continue };
        let is_error = result["is_error"] == true;
        let words = if family == "browser" { NOT_EXECUTED_IN_BROWSER } else { NOT_EXECUTED };
        let skipped = is_error && result["content"] == words;
        holds(skipped || !failed.contains(family), || {
            format!("messages.{at}: a result after a failed one must be {words:?}: {result}")
        })?;
        if family == "browser" {
            tabs(call, result, is_error).map_err(|why| format!("messages.{at}: {why}: {result}"))?;
        }
        if is_error {
            failed.insert(family.to_owned());
        }
    }
    let rest = blocks.iter().skip(calls.len());
    holds(rest.clone().all(|block| block["type"] != "tool_result"), || {
        format!("messages.{at}: a result without a call")
    })
}

/// The result of a member about tabs is one `browser_state` block; another result may hold one, and an error none.
fn tabs(call: &Value, result: &Value, is_error: bool) -> Result<(), String> {
    let states: Vec<&Value> =
        list(&result["content"]).iter().filter(|block| block["type"] == "browser_state").collect();
    holds(!is_error || states.is_empty(), || "a state in an error".into())?;
    holds(states.len() <= 1, || "several states".into())?;
    let about_tabs = call["name"].as_str().is_some_and(|name| name.ends_with("_tab") || name == "list_tabs");
    if about_tabs && !is_error {
        holds(states.len() == 1 && list(&result["content"]).len() == 1, || {
            "one state and nothing else".into()
        })?;
    }
    for state in states {
        let all = list(&state["tabs"]);
        let active: Vec<&Value> = all.iter().filter(|tab| tab["active"] == true).collect();
        holds(state.get("tabs").is_none() || (1..=100).contains(&all.len()), || "the number of tabs".into())?;
        holds(all.is_empty() || active.len() == 1, || "one tab is active".into())?;
        let opened: Vec<&Value> =
            list(&state["state_changes"]).iter().filter(|change| change["type"] == "tab_opened").collect();
        let right = opened.len() == 1 && opened[0]["tab_id"] == active[0]["tab_id"];
        holds(call["name"] != "new_tab" || right, || "new_tab opens the active tab".into())?;
    }
    Ok(())
}

fn items(body: &Value) -> Result<(), String> {
    let all = list(&body["input"]);
    let (mut open, mut thought) = (BTreeSet::new(), false);
    for item in all {
        let kind = item["type"].as_str().unwrap_or("message");
        let own = matches!(kind, "function_call" | "computer_call") || item["role"] == "assistant";
        holds(!thought || own || kind == "reasoning", || {
            "Item of type 'reasoning' was provided without its required following item.".into()
        })?;
        thought = kind == "reasoning";
        match kind {
            "function_call" | "computer_call" => _ = open.insert(item["call_id"].to_string()),
            "function_call_output" => {
                holds(open.remove(&item["call_id"].to_string()), || "an output without a call".into())?;
            }
            "computer_call_output" => {
                holds(open.remove(&item["call_id"].to_string()), || "an output without a call".into())?;
                let url = item["output"]["image_url"].as_str().unwrap_or_default();
                holds(url.starts_with("data:image/"), || "a computer call needs a picture".into())?;
            }
            "message" => holds(!list(&item["content"]).is_empty(), || "an empty message".into())?,
            _ => {}
        }
    }
    holds(!thought, || "Item of type 'reasoning' was provided without its required following item.".into())?;
    holds(open.is_empty(), || format!("No tool output found for {open:?}"))
}

fn steps(body: &Value) -> Result<(), String> {
    let (mut open, mut thought) = (Vec::new(), false);
    for step in list(&body["input"]) {
        let kind = step["type"].as_str().unwrap_or_default();
        let own = matches!(kind, "thought" | "model_output" | "function_call");
        holds(!thought || own, || "a turn of the model holds thoughts alone".into())?;
        thought = kind == "thought" || (thought && !own);
        match kind {
            "function_call" => open.push(step["id"].clone()),
            "function_result" => {
                let place = open.iter().position(|id| *id == step["call_id"]);
                drop(open.remove(place.ok_or("a result without a call")?));
                holds(!list(&step["result"]).is_empty(), || "an empty result".into())?;
            }
            _ if kind != "thought" => {
                holds(!list(&step["content"]).is_empty(), || format!("a {kind} without content"))?;
                holds(open.is_empty(), || "a call without a result".into())?;
            }
            _ => {}
        }
    }
    holds(!thought && open.is_empty(), || "a turn of the model has no end".into())
}

fn chat(body: &Value) -> Result<(), String> {
    let mut open = Vec::new();
    for message in list(&body["messages"]) {
        let calls = list(&message["tool_calls"]);
        match message["role"].as_str() {
            Some("tool") => {
                let place = open.iter().position(|id| *id == message["tool_call_id"]);
                drop(open.remove(place.ok_or("a tool message without a call")?));
            }
            Some("assistant") => {
                let empty = message["content"].as_str().is_none_or(str::is_empty);
                holds(!empty || !calls.is_empty(), || {
                    "Assistant message must have either content or tool_calls, but not none.".into()
                })?;
                open.extend(calls.iter().map(|call| call["id"].clone()));
            }
            _ => holds(open.is_empty(), || "a call without its tool message".into())?,
        }
    }
    Ok(())
}
