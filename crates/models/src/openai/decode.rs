//! Parses Responses replies.

use apprentice_protocol::{
    Action, Button, Call, CallBody, CallId, ImagePoint, ModelError, ModelErrorKind, RawContent, ReplyStop,
    Retry, Target,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::action_format::{
    Arguments, Meta, ModelOutput, PAGE_TOOL, holding, notches, read_arguments, read_page,
};
use crate::http::{DecodeError, ParsedReply, cut_last_call, error_in_success, read_body, value_of};
use crate::price::Tokens;

/// Duration of `wait`, in milliseconds.
const WAIT_MS: u32 = 1500;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    output: Vec<&'a RawValue>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    incomplete_details: Value,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    model: Option<String>,
}

/// Parses a response body. Also returns the pending safety checks.
pub(super) fn reply(body: &[u8]) -> Result<(ParsedReply, Vec<String>), DecodeError> {
    let body: Body<'_> = read_body(body)?;
    let refused = failure(&body)?;
    let (mut say, mut thoughts, mut calls, mut concerns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut spoken_refusal, mut final_words) = (refused, false);
    for raw in &body.output {
        let item = value_of(raw)?;
        match item["type"].as_str() {
            Some("message") => {
                for part in item["content"].as_array().into_iter().flatten() {
                    spoken_refusal |= part["type"] == "refusal";
                    let text = part["text"].as_str().unwrap_or_default();
                    say.extend((!text.trim().is_empty()).then(|| text.to_owned()));
                }
                final_words |= item["phase"] != "commentary";
            }
            Some("reasoning") => {
                let parts = ["summary", "content"].iter().flat_map(|field| item[*field].as_array()).flatten();
                thoughts.extend(parts.filter_map(|part| part["text"].as_str()).map(str::to_owned));
            }
            Some("computer_call") => {
                let checks = item["pending_safety_checks"].as_array().into_iter().flatten();
                concerns.extend(checks.map(concern));
                calls.push(Call { id: id_of(&item)?, body: computer(&item) });
            }
            Some("function_call") => calls.push(Call { id: id_of(&item)?, body: function(&item) }),
            Some(_) | None => {}
        }
    }
    let cut = body.status.as_deref() == Some("incomplete");
    let tokens = tokens(&body.usage);
    if cut {
        cut_last_call(&mut calls, tokens.map(|tokens| tokens.output));
    }
    let filtered = body.incomplete_details["reason"] == "content_filter";
    let stop = match () {
        () if spoken_refusal || filtered => ReplyStop::Refusal,
        () if !calls.is_empty() => ReplyStop::Calls,
        () if cut || !final_words => ReplyStop::MaxTokens,
        () => ReplyStop::EndTurn,
    };
    let decoded = ParsedReply {
        raw: RawContent { blocks: body.output.iter().map(|raw| raw.get().to_owned()).collect() },
        say,
        thoughts,
        calls,
        stop,
        tokens,
        cost_usd: None,
        provider_model: body.model,
    };
    Ok((decoded, concerns))
}

/// Classifies a response that failed or never ended. Returns true when a policy refused it.
fn failure(body: &Body<'_>) -> Result<bool, DecodeError> {
    match body.status.as_deref() {
        None | Some("completed" | "incomplete") => Ok(false),
        Some("failed") => {
            let code = body.error["code"].as_str().unwrap_or_default();
            if code.ends_with("_policy") || code.ends_with("policy_violation") {
                return Ok(true);
            }
            let told = error_in_success(&serde_json::json!({ "error": body.error }));
            Err(DecodeError::Error(told.unwrap_or_else(|| ModelError {
                fault: ModelErrorKind::Unavailable,
                retry: Retry::Now,
                message: "the response failed without a reason".into(),
            })))
        }
        Some(other) => Err(DecodeError::form(&format!("the status of a finished response is {other:?}"))),
    }
}

fn id_of(item: &Value) -> Result<CallId, DecodeError> {
    let id = item["call_id"].as_str().filter(|id| !id.is_empty());
    id.map(CallId::new).ok_or_else(|| DecodeError::form("a call has no call_id"))
}

fn concern(check: &Value) -> String {
    let word = |name: &str| check[name].as_str().unwrap_or_default();
    [word("code"), word("message")]
        .iter()
        .filter(|text| !text.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(": ")
}

fn function(item: &Value) -> CallBody {
    let name = item["name"].as_str().unwrap_or_default();
    match serde_json::from_str::<Value>(item["arguments"].as_str().unwrap_or("{}")) {
        Ok(arguments) if name == PAGE_TOOL => ModelOutput::body(read_page(&arguments)),
        Ok(arguments) => CallBody::Tool { name: name.to_owned(), arguments },
        Err(error) => {
            CallBody::Unusable { problem: format!("the arguments of {name:?} are no JSON: {error}") }
        }
    }
}

/// Reads a batch; the preview's single action is a batch of one. A batch with one unreadable action is rejected whole.
fn computer(item: &Value) -> CallBody {
    if item["status"].as_str().is_some_and(|status| status != "completed") {
        return CallBody::Unusable { problem: "the call was not written to its end".into() };
    }
    let single = item.get("action").filter(|action| !action.is_null());
    let batch = item["actions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let actions = match (batch, single) {
        ([], Some(action)) => read_action(action).map(|read| vec![read]),
        (batch, _) => batch.iter().map(read_action).collect(),
    };
    let actions = actions.map(|actions: Vec<Vec<_>>| actions.concat());
    ModelOutput::body(actions.map(ModelOutput::Actions))
}

fn read_action(action: &Value) -> Result<Vec<Action<ImagePoint>>, String> {
    let kind = action["type"].as_str().ok_or("type is missing")?;
    read_arguments(kind, action, |given| match kind {
        "keypress" => {
            let presses = given.presses("keys", Meta::Super)?;
            Ok(presses.into_iter().map(|chord| Action::Key { chord, hold_ms: None }).collect())
        }
        _ => Ok(vec![read_fields(kind, given)?]),
    })
}

fn read_fields(kind: &str, given: Arguments<'_>) -> Result<Action<ImagePoint>, String> {
    let hold = given.held_keys("keys", Meta::Super);
    let at = || given.point_of("x", "y").map(Target::Point);
    Ok(match kind {
        "click" => {
            let button = match given.optional_text("button")?.unwrap_or("left") {
                "left" => Button::Left,
                "right" => Button::Right,
                "wheel" => Button::Middle,
                "back" => Button::Back,
                "forward" => Button::Forward,
                other => return Err(format!("there is no button {other:?}")),
            };
            Action::Click { at: at()?, button, count: 1, hold: hold? }
        }
        "double_click" => Action::Click { at: at()?, button: Button::Left, count: 2, hold: hold? },
        "move" => holding(hold?, Action::Move { to: at()? }),
        "drag" => {
            let hold = hold?;
            let path = given.get("path").and_then(Value::as_array).ok_or("path is missing")?;
            let path: Vec<ImagePoint> = path.iter().map(spot).collect::<Result<_, _>>()?;
            if path.len() < 2 {
                return Err("a drag needs two points at least".into());
            }
            holding(hold, Action::Drag { path, button: Button::Left })
        }
        "scroll" => {
            let hold = hold?;
            let far = |name: &str| given.number_or(name, 0.0).map(notches);
            holding(hold, Action::Scroll { at: Some(at()?), dx: far("scroll_x")?, dy: far("scroll_y")? })
        }
        "type" => Action::Type { text: given.text("text")?.to_owned() },
        "wait" => Action::Wait { ms: WAIT_MS },
        "screenshot" => Action::Screenshot,
        other => return Err(format!("there is no action {other:?}")),
    })
}

fn spot(point: &Value) -> Result<ImagePoint, String> {
    read_arguments("path", point, |given| given.point_of("x", "y"))
}

/// Input includes tokens read from and written to a cache; output includes reasoning.
fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let details = &usage["input_tokens_details"];
    let input = count(&usage["input_tokens"]);
    let read = count(&details["cached_tokens"]).min(input);
    let write = count(&details["cache_write_tokens"]).min(input - read);
    let tokens = Tokens {
        fresh: input - read - write,
        cache_read: read,
        cache_write: write,
        cache_write_long: 0,
        output: count(&usage["output_tokens"]),
    };
    // None at all is no number.
    (tokens.input() + tokens.output > 0).then_some(tokens)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{CallBody, ReplyStop};
    use serde_json::{Value, json};

    use super::{DecodeError, read_action, reply};

    fn check(action: &Value, expected: impl Into<Value>) {
        let read = match read_action(action) {
            Ok(actions) if actions.len() == 1 => serde_json::to_value(&actions[0]).expect("writes"),
            Ok(actions) => serde_json::to_value(actions).expect("writes"),
            Err(problem) => problem.into(),
        };
        assert_eq!(read, expected.into(), "{action}");
    }

    #[test]
    fn every_action_is_read() {
        let at = json!({ "point": { "x": 3.0, "y": 4.0 } });
        check(
            &json!({ "type": "click", "button": "wheel", "x": 3, "y": 4, "keys": ["CTRL"] }),
            json!({ "do": "click", "at": at, "button": "middle", "count": 1, "hold": "ctrl" }),
        );
        check(
            &json!({ "type": "click", "button": "back", "x": 3, "y": 4 }),
            json!({ "do": "click", "at": at, "button": "back", "count": 1 }),
        );
        check(
            &json!({ "type": "double_click", "x": 3, "y": 4, "keys": null }),
            json!({ "do": "click", "at": at, "button": "left", "count": 2 }),
        );
        check(
            &json!({ "type": "scroll", "x": 3, "y": 4, "scroll_x": 0, "scroll_y": -250 }),
            json!({ "do": "scroll", "at": at, "dx": 0, "dy": -3 }),
        );
        check(
            &json!({ "type": "keypress", "keys": ["CTRL", "ARROWLEFT"] }),
            json!({ "do": "key", "chord": "ctrl+left" }),
        );
        let tab = json!({ "do": "key", "chord": "tab" });
        check(&json!({ "type": "keypress", "keys": ["TAB", "TAB", "TAB"] }), json!([tab, tab, tab]));
        check(
            &json!({ "type": "keypress", "keys": ["META", "L"] }),
            json!({ "do": "key", "chord": "super+l" }),
        );
        check(&json!({ "type": "drag", "path": [{ "x": 3, "y": 4 }] }), "a drag needs two points at least");
        check(
            &json!({ "type": "move", "x": 3, "y": 4, "keys": ["SHIFT"] }),
            json!({ "do": "hold", "keys": "shift", "actions": [{ "do": "move", "to": at }] }),
        );
        check(&json!({ "type": "wait" }), json!({ "do": "wait", "ms": 1500 }));
        check(
            &json!({ "type": "click", "button": "left", "x": 3, "y": 4, "key": ["CTRL"] }),
            "there is no argument \"key\" in click; did you mean \"keys\"?",
        );
        check(&json!({ "type": "fly" }), "there is no action \"fly\"");
        check(&json!({ "type": "type" }), "text is missing");
    }

    #[test]
    fn items_are_kept_and_concerns_are_told() {
        let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x\u003d"}"#;
        let call = r#"{"type":"computer_call","id":"cu_1","call_id":"c1","status":"completed","pending_safety_checks":[{"id":"s1","code":"malicious_instructions","message":"Look."}],"actions":[{"type":"screenshot"},{"type":"wait"}]}"#;
        let body = format!(
            r#"{{"status":"completed","error":null,"output":[{reasoning},{call}],"model":"gpt-x","usage":{{"input_tokens":100,"input_tokens_details":{{"cached_tokens":80}},"output_tokens":9}}}}"#
        );
        let (read, concerns) = reply(body.as_bytes()).expect("reads");
        assert_eq!(read.raw.blocks, [reasoning, call]);
        assert_eq!(concerns, ["malicious_instructions: Look."]);
        assert!(matches!(&read.calls[0].body, CallBody::World { actions } if actions.len() == 2));
        let tokens = read.tokens.expect("usage");
        assert_eq!((tokens.fresh, tokens.cache_read), (20, 80));
    }

    #[test]
    fn every_ending_has_its_meaning() {
        let words = |phase: &str| json!([{ "type": "message", "phase": phase, "content": [{ "type": "output_text", "text": "x" }] }]);
        let stop = |body: Value| reply(body.to_string().as_bytes()).map(|(read, _)| read.stop);
        let ends = |body: Value, expected: ReplyStop| assert_eq!(stop(body).expect("reads"), expected);
        ends(json!({ "status": "completed", "output": words("final_answer") }), ReplyStop::EndTurn);
        ends(json!({ "status": "completed", "output": words("commentary") }), ReplyStop::MaxTokens);
        ends(json!({ "status": "incomplete", "output": words("final_answer") }), ReplyStop::MaxTokens);
        ends(
            json!({ "status": "incomplete", "incomplete_details": { "reason": "content_filter" }, "output": [] }),
            ReplyStop::Refusal,
        );
        ends(
            json!({ "status": "failed", "error": { "code": "bio_policy" }, "output": [] }),
            ReplyStop::Refusal,
        );
        ends(
            json!({ "status": "completed", "output": [{ "type": "message", "content": [{ "type": "refusal", "refusal": "no" }] }] }),
            ReplyStop::Refusal,
        );
        ends(json!({ "status": "completed", "output": [{ "type": "from_later" }] }), ReplyStop::MaxTokens);
        let failed = stop(json!({ "status": "failed", "error": { "code": "server_error" }, "output": [] }));
        assert!(matches!(failed, Err(DecodeError::Error(_))));
        assert!(matches!(stop(json!({ "status": "queued", "output": [] })), Err(DecodeError::Form(_))));
    }
}
