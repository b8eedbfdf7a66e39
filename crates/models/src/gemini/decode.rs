//! Parses Interactions replies.

use apprentice_protocol::{
    Action, Button, Call, CallBody, CallId, Chord, History, ImagePoint, ModelError, ModelErrorKind,
    RawContent, ReplyStop, Retry, Target,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::action_format::{
    Arguments, Meta, ModelOutput, PAGE_TOOL, chord, milliseconds, notches, read_arguments, read_page,
    scroll_delta, whole,
};
use crate::http::{DecodeError, ParsedReply, cut_last_call, error_in_success, read_body, value_of};
use crate::price::Tokens;

/// The page that `search` opens, as Google's own program does.
const SEARCH_PAGE: &str = "https://www.google.com";
/// The distance of a `scroll` without one, in pixels.
const DEFAULT_SCROLL_PIXELS: f64 = 300.0;

#[derive(Deserialize)]
struct Body<'a> {
    status: String,
    #[serde(borrow, default)]
    steps: Vec<&'a RawValue>,
    #[serde(default)]
    errors: Value,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    model: Option<String>,
}

/// Parses a response body. Also returns the pending safety checks.
pub(super) fn reply(body: &[u8]) -> Result<(ParsedReply, Vec<String>), DecodeError> {
    let body: Body<'_> = read_body(body)?;
    let blocked = failure(&body)?;
    let (mut say, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    let (mut concerns, mut kept) = (Vec::new(), Vec::new());
    for raw in &body.steps {
        let step = value_of(raw)?;
        match step["type"].as_str() {
            // Some servers echo the steps of the request.
            Some("user_input" | "function_result") => continue,
            Some("model_output") => {
                for part in step["content"].as_array().into_iter().flatten() {
                    let text = part["text"].as_str().unwrap_or_default();
                    say.extend((!text.trim().is_empty()).then(|| text.to_owned()));
                }
            }
            Some("thought") => {
                let parts = step["summary"].as_array().into_iter().flatten();
                thoughts.extend(parts.filter_map(|part| part["text"].as_str()).map(str::to_owned));
            }
            Some("function_call") => {
                concerns.extend(concern(&step["arguments"]["safety_decision"]));
                calls.push(call(&step)?);
            }
            Some(_) | None => {}
        }
        kept.push(raw.get().to_owned());
    }
    let cut = body.status == "incomplete";
    let tokens = tokens(&body.usage);
    if cut {
        cut_last_call(&mut calls, tokens.map(|tokens| tokens.output));
    }
    let stop = match () {
        () if blocked => ReplyStop::Refusal,
        () if !calls.is_empty() => ReplyStop::Calls,
        () if cut => ReplyStop::MaxTokens,
        () => ReplyStop::EndTurn,
    };
    let raw = RawContent { blocks: kept };
    Ok((
        ParsedReply { raw, say, thoughts, calls, stop, tokens, cost_usd: None, provider_model: body.model },
        concerns,
    ))
}

/// Classifies an interaction that failed or never ended. Returns true when a policy blocked it.
fn failure(body: &Body<'_>) -> Result<bool, DecodeError> {
    match body.status.as_str() {
        "completed" | "requires_action" | "incomplete" => Ok(false),
        "failed" | "cancelled" | "budget_exceeded" => {
            let error = body.errors.get(0).cloned().unwrap_or_else(|| json!({ "message": body.status }));
            let code = error["code"].as_str().unwrap_or_default().to_lowercase();
            if ["safety", "blocked", "prohibited"].iter().any(|part| code.contains(part)) {
                return Ok(true);
            }
            let told = error_in_success(&json!({ "error": error }));
            Err(DecodeError::Error(told.unwrap_or_else(|| ModelError {
                fault: ModelErrorKind::Unavailable,
                retry: Retry::Now,
                message: "the interaction failed without a reason".into(),
            })))
        }
        other => Err(DecodeError::form(&format!("the status of a finished interaction is {other:?}"))),
    }
}

fn concern(decision: &Value) -> Option<String> {
    let word = decision["decision"].as_str()?;
    let why = decision["explanation"].as_str().unwrap_or_default();
    (word != "regular" && word != "allowed").then(|| format!("{word}: {why}"))
}

fn call(step: &Value) -> Result<Call, DecodeError> {
    let id = step["id"].as_str().filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| DecodeError::form("a function_call step has no id"))?;
    let name = step["name"].as_str().unwrap_or_default();
    let arguments = &step["arguments"];
    let body = match name {
        PAGE_TOOL => ModelOutput::body(read_page(arguments)),
        _ => match read_predefined(name, arguments) {
            Some(read) => ModelOutput::body(read.map(ModelOutput::Actions)),
            None => CallBody::Tool { name: name.to_owned(), arguments: arguments.clone() },
        },
    };
    Ok(Call { id: CallId::new(id), body })
}

/// Reads a predefined function; `None` for any other function.
fn read_predefined(name: &str, arguments: &Value) -> Option<Result<Vec<Action<ImagePoint>>, String>> {
    let mut known = true;
    let read = read_arguments(name, arguments, |given| {
        read_function(name, given).unwrap_or_else(|| {
            known = false;
            Ok(Vec::new())
        })
    });
    known.then_some(read)
}

/// Reads a predefined function under its current or first-preview name; `None` for any other function.
fn read_function(name: &str, given: Arguments<'_>) -> Option<Result<Vec<Action<ImagePoint>>, String>> {
    Some(match name {
        "click" | "click_at" => click(given, Button::Left, 1),
        "double_click" => click(given, Button::Left, 2),
        "triple_click" => click(given, Button::Left, 3),
        "right_click" => click(given, Button::Right, 1),
        "middle_click" => click(given, Button::Middle, 1),
        "move" | "hover_at" => at(given).map(|to| vec![Action::Move { to }]),
        "mouse_down" => at(given).map(|at| vec![Action::Press { at: Some(at), button: Button::Left }]),
        "mouse_up" => at(given).map(|at| vec![Action::Release { at: Some(at), button: Button::Left }]),
        "drag_and_drop" => drag(given),
        "type" => type_text(given, None),
        "type_text_at" => at(given).and_then(|at| type_text(given, Some(at))),
        "press_key" => keys(given, "key"),
        "hotkey" | "key_combination" => keys(given, "keys"),
        "scroll" | "scroll_at" | "scroll_document" => scroll(given),
        "wait" => given.number_or("seconds", 1.0).and_then(milliseconds).map(|ms| vec![Action::Wait { ms }]),
        "wait_5_seconds" => Ok(vec![Action::Wait { ms: 5000 }]),
        "take_screenshot" | "open_web_browser" => Ok(vec![Action::Screenshot]),
        "navigate" => given.text("url").map(|url| vec![Action::Navigate { url: url.to_owned() }]),
        // The preview's function opens a search engine's start page.
        "search" => Ok(vec![Action::Navigate { url: SEARCH_PAGE.into() }]),
        "go_back" => Ok(vec![Action::History { go: History::Back }]),
        "go_forward" => Ok(vec![Action::History { go: History::Forward }]),
        "key_down" => held(given).map(|keys| vec![Action::KeyDown { keys }]),
        "key_up" => held(given).map(|keys| vec![Action::KeyUp { keys }]),
        _ => return None,
    })
}

fn at(given: Arguments<'_>) -> Result<Target<ImagePoint>, String> {
    given.point_of("x", "y").map(Target::Point)
}

fn click(given: Arguments<'_>, button: Button, count: u8) -> Result<Vec<Action<ImagePoint>>, String> {
    Ok(vec![Action::Click { at: at(given)?, button, count, hold: None }])
}

fn drag(given: Arguments<'_>) -> Result<Vec<Action<ImagePoint>>, String> {
    let path = match given.get("x") {
        None => vec![given.point_of("start_x", "start_y")?, given.point_of("end_x", "end_y")?],
        Some(_) => vec![given.point_of("x", "y")?, given.point_of("destination_x", "destination_y")?],
    };
    Ok(vec![Action::Drag { path, button: Button::Left }])
}

/// The current `type` types at the focus; the preview's clicked, cleared and pressed Enter by default.
fn type_text(
    given: Arguments<'_>,
    at: Option<Target<ImagePoint>>,
) -> Result<Vec<Action<ImagePoint>>, String> {
    let flag = |name: &str, absent: bool| given.get(name).and_then(Value::as_bool).unwrap_or(absent);
    let key = |keys: &str| Ok::<_, String>(Action::Key { chord: chord(keys)?, hold_ms: None });
    let mut actions = Vec::new();
    let preview = at.is_some();
    if let Some(at) = at {
        actions.push(Action::Click { at, button: Button::Left, count: 1, hold: None });
        if flag("clear_before_typing", true) {
            actions.extend([key("ctrl+a")?, key("delete")?]);
        }
    }
    actions.push(Action::Type { text: given.text("text")?.to_owned() });
    if flag("press_enter", preview) {
        actions.push(key("enter")?);
    }
    Ok(actions)
}

fn keys(given: Arguments<'_>, name: &str) -> Result<Vec<Action<ImagePoint>>, String> {
    let presses = given.presses(name, Meta::Super)?;
    Ok(presses.into_iter().map(|chord| Action::Key { chord, hold_ms: None }).collect())
}

/// The keys of `key_down` or `key_up`.
fn held(given: Arguments<'_>) -> Result<Chord, String> {
    given.held_keys("key", Meta::Super)?.ok_or_else(|| "key is missing".into())
}

/// The distance is in pixels, or in wheel notches.
fn scroll(given: Arguments<'_>) -> Result<Vec<Action<ImagePoint>>, String> {
    let amount = match given.get("magnitude_in_wheel_clicks") {
        Some(_) => whole(given.number("magnitude_in_wheel_clicks")?.abs()),
        None => {
            let absent = given.number_or("magnitude", DEFAULT_SCROLL_PIXELS)?;
            notches(given.number_or("magnitude_in_pixels", absent)?.abs())
        }
    };
    let (dx, dy) = scroll_delta(given.text("direction")?, amount)?;
    let at = given.get("x").map(|_| at(given)).transpose()?;
    Ok(vec![Action::Scroll { at, dx, dy }])
}

/// Input includes cached tokens; reasoning is counted apart from the output.
fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |name: &str| usage[name].as_u64().unwrap_or(0);
    let input = count("total_input_tokens");
    let read = count("total_cached_tokens").min(input);
    let tokens = Tokens {
        fresh: input - read + count("total_tool_use_tokens"),
        cache_read: read,
        cache_write: 0,
        cache_write_long: 0,
        output: count("total_output_tokens") + count("total_thought_tokens"),
    };
    // None at all is no number.
    (tokens.input() + tokens.output > 0).then_some(tokens)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{CallBody, ReplyStop};
    use serde_json::{Value, json};

    use super::{DecodeError, read_predefined, reply};

    fn check(name: &str, input: &Value, expected: impl Into<Value>) {
        let read = match read_predefined(name, input) {
            Some(Ok(actions)) => serde_json::to_value(actions).expect("writes"),
            Some(Err(problem)) => problem.into(),
            None => Value::Null,
        };
        assert_eq!(read, expected.into(), "{name} {input}");
    }

    #[test]
    fn functions_of_both_generations_are_read() {
        let at = json!({ "point": { "x": 3.0, "y": 4.0 } });
        let click = json!({ "do": "click", "at": at, "button": "left", "count": 1 });
        check("click", &json!({ "x": 3, "y": 4, "intent": "Open." }), json!([click]));
        check("click_at", &json!({ "x": 3, "y": 4 }), json!([click]));
        check("type", &json!({ "text": "a" }), json!([{ "do": "type", "text": "a" }]));
        check(
            "type_text_at",
            &json!({ "x": 3, "y": 4, "text": "a", "press_enter": false }),
            json!([
                click, { "do": "key", "chord": "ctrl+a" }, { "do": "key", "chord": "delete" }, { "do": "type", "text": "a" },
            ]),
        );
        check("hotkey", &json!({ "keys": ["Control", "s"] }), json!([{ "do": "key", "chord": "ctrl+s" }]));
        check(
            "key_combination",
            &json!({ "keys": "Control+A" }),
            json!([{ "do": "key", "chord": "ctrl+a" }]),
        );
        check(
            "scroll",
            &json!({ "x": 3, "y": 4, "direction": "down", "magnitude_in_wheel_clicks": 2 }),
            json!([{ "do": "scroll", "at": at, "dx": 0, "dy": 2 }]),
        );
        check(
            "scroll_document",
            &json!({ "direction": "up" }),
            json!([{ "do": "scroll", "at": null, "dx": 0, "dy": -3 }]),
        );
        check(
            "click",
            &json!({ "x": 3, "y": 4, "clicks": 2 }),
            "there is no argument \"clicks\" in click; it takes x, y",
        );
        check("key_down", &json!({ "key": "Shift" }), json!([{ "do": "key_down", "keys": "shift" }]));
        check("key_up", &json!({ "key": "Shift" }), json!([{ "do": "key_up", "keys": "shift" }]));
        check("key_up", &json!({}), "key is missing");
        check("drag_and_drop", &json!({ "start_x": 3, "start_y": 4, "end_x": 5 }), "end_y is missing");
        check("finish", &json!({}), Value::Null);
    }

    #[test]
    fn steps_are_kept_and_concerns_are_told() {
        let thought = r#"{"type":"thought","signature":"c2ln\u003d"}"#;
        let call = r#"{"type":"function_call","id":"f1","name":"click","arguments":{"x":1,"y":2,"safety_decision":{"decision":"require_confirmation","explanation":"Pay?"}}}"#;
        let body = format!(
            r#"{{"status":"requires_action","steps":[{{"type":"user_input"}},{thought},{call}],"usage":{{"total_input_tokens":50,"total_cached_tokens":20,"total_output_tokens":4,"total_thought_tokens":6}}}}"#
        );
        let (read, concerns) = reply(body.as_bytes()).expect("reads");
        assert_eq!(read.raw.blocks, [thought, call]);
        assert_eq!(concerns, ["require_confirmation: Pay?"]);
        assert!(matches!(&read.calls[0].body, CallBody::World { .. }));
        let tokens = read.tokens.expect("usage");
        assert_eq!((tokens.fresh, tokens.cache_read, tokens.output), (30, 20, 10));
    }

    #[test]
    fn every_ending_has_its_meaning() {
        let words = json!([{ "type": "model_output", "content": [{ "type": "text", "text": "x" }] }]);
        let stop = |status: &str, errors: Value| {
            let body = json!({ "status": status, "steps": words, "errors": errors });
            reply(body.to_string().as_bytes()).map(|(read, _)| read.stop)
        };
        assert_eq!(stop("completed", json!([])).expect("reads"), ReplyStop::EndTurn);
        assert_eq!(stop("incomplete", json!([])).expect("reads"), ReplyStop::MaxTokens);
        assert_eq!(stop("failed", json!([{ "code": "SAFETY_BLOCKED" }])).expect("reads"), ReplyStop::Refusal);
        assert!(matches!(stop("failed", json!([{ "code": "INTERNAL" }])), Err(DecodeError::Error(_))));
        assert!(matches!(stop("in_progress", json!([])), Err(DecodeError::Form(_))));
        assert!(matches!(reply(b"{}"), Err(DecodeError::Form(_))));
    }
}
