//! UI-TARS's grammar: `click(start_box='(x,y)')`, several calls in one reply.

use apprentice_protocol::{Action, Button, Finish, ImagePoint, Target};
use serde_json::Value;

use super::ModelOutput;
use super::arguments::{chord, point_text};
use super::computer::{click_at, scroll_delta};
use super::python_calls::{PythonCall, read_python_calls};

/// The keyword arguments of all functions.
const KEYWORDS: &[&str] =
    &["start_box", "end_box", "start_point", "end_point", "point", "key", "content", "direction"];
/// All functions.
const FUNCTIONS: [&str; 14] = [
    "click",
    "left_single",
    "left_double",
    "right_single",
    "hover",
    "drag",
    "select",
    "hotkey",
    "press",
    "type",
    "scroll",
    "wait",
    "finished",
    "call_user",
];
/// Wheel notches of one `scroll`.
const NOTCHES: i32 = 5;
/// Duration of `wait()`, in milliseconds.
const WAIT_MS: u32 = 5000;

/// Reads the calls after `Action:`.
pub(crate) fn read_ui_tars(text: &str) -> Result<ModelOutput, String> {
    let mut actions = Vec::new();
    for call in read_python_calls(text)? {
        match call.name.as_str() {
            // Actions before the end are executed first; the model finishes in its next turn.
            "finished" | "call_user" if !actions.is_empty() => break,
            "finished" => {
                let text = call.get("content", 0).and_then(Value::as_str).unwrap_or_default().trim();
                return Ok(ModelOutput::Finish(match text.is_empty() {
                    true => Finish::Done,
                    false => Finish::Answer { text: text.to_owned() },
                }));
            }
            "call_user" => {
                return Ok(ModelOutput::Finish(Finish::GiveUp { reason: "it needs a person".into() }));
            }
            _ => actions.extend(act(&call)?),
        }
    }
    if actions.is_empty() {
        Err("the reply holds no action".into())
    } else {
        Ok(ModelOutput::Actions(actions))
    }
}

/// Returns the part of a text from the first line on that begins with one of the functions.
pub(crate) fn ui_tars_calls(text: &str) -> Option<&str> {
    let begins = |line: &str| {
        FUNCTIONS.iter().any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + line.len() - line.trim_start().len();
        if begins(line.trim_start()) {
            return Some(&text[start..]);
        }
        at += line.len();
    }
    None
}

fn act(call: &PythonCall) -> Result<Vec<Action<ImagePoint>>, String> {
    call.takes_only(KEYWORDS)?;
    let one = |action| Ok(vec![action]);
    match call.name.as_str() {
        "click" | "left_single" => one(click_at(place(call, "start_box", 0)?, Button::Left, 1, None)),
        "left_double" => one(click_at(place(call, "start_box", 0)?, Button::Left, 2, None)),
        "right_single" => one(click_at(place(call, "start_box", 0)?, Button::Right, 1, None)),
        "hover" => one(Action::Move { to: Target::Point(place(call, "start_box", 0)?) }),
        "drag" | "select" => {
            let path = vec![place(call, "start_box", 0)?, place(call, "end_box", 1)?];
            one(Action::Drag { path, button: Button::Left })
        }
        "hotkey" | "press" => {
            let keys = call.get("key", 0).and_then(Value::as_str).ok_or("key is missing")?;
            let keys = keys.split_whitespace().collect::<Vec<_>>().join("+");
            one(Action::Key { chord: chord(&keys)?, hold_ms: None })
        }
        "type" => {
            let text = call.get("content", 0).and_then(Value::as_str).ok_or("content is missing")?;
            one(Action::Type { text: text.to_owned() })
        }
        "scroll" => {
            let at = call.get("start_box", 0).map(|_| place(call, "start_box", 0)).transpose()?;
            let direction = call.get("direction", 1).and_then(Value::as_str).ok_or("direction is missing")?;
            let (dx, dy) = scroll_delta(direction, NOTCHES)?;
            one(Action::Scroll { at: at.map(Target::Point), dx, dy })
        }
        "wait" => one(Action::Wait { ms: WAIT_MS }),
        other => Err(format!("there is no action {other:?} in this form")),
    }
}

fn place(call: &PythonCall, name: &str, index: usize) -> Result<ImagePoint, String> {
    let spellings = [name, &name.replace("box", "point"), "point"];
    let named = spellings.iter().find_map(|spelling| call.named.get(*spelling));
    let value = named.or_else(|| call.args.get(index)).ok_or_else(|| format!("{name} is missing"))?;
    let read = match value {
        Value::String(text) => point_text(text),
        other => super::arguments::point(other),
    };
    read.ok_or_else(|| format!("{name} must be '(x,y)', not {value}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ModelOutput, read_ui_tars};

    fn check(text: &str, expected: impl Into<Value>) {
        let read = match read_ui_tars(text) {
            Ok(ModelOutput::Actions(actions)) => serde_json::to_value(actions).expect("writes"),
            Ok(ModelOutput::Finish(finish)) => serde_json::to_value(finish).expect("writes"),
            Err(problem) => problem.into(),
        };
        assert_eq!(read, expected.into(), "{text}");
    }

    #[test]
    fn calls_are_read_in_both_spellings_of_a_point() {
        let click = json!({ "do": "click", "at": { "point": { "x": 12.0, "y": 34.0 } }, "button": "left", "count": 1 });
        check("click(start_box='(12,34)')", json!([click]));
        check("click(start_box='<|box_start|>(12,34)<|box_end|>')", json!([click]));
        check("click(point='<point>12 34</point>')\n\nwait()", json!([click, { "do": "wait", "ms": 5000 }]));
        check("hotkey(key='ctrl c')", json!([{ "do": "key", "chord": "ctrl+c" }]));
        check("type(content='a\\n')", json!([{ "do": "type", "text": "a\n" }]));
        check(
            "scroll(start_box='(1,2)', direction='up')",
            json!([{ "do": "scroll", "at": { "point": { "x": 1.0, "y": 2.0 } }, "dx": 0, "dy": -5 }]),
        );
        check("finished(content='42')", json!({ "finish": "answer", "text": "42" }));
        check("finished()", json!({ "finish": "done" }));
        check("click(start_box='x')", "start_box must be '(x,y)', not \"x\"");
        check(
            "click(start_box='(1,2)', start_bx='(3,4)')",
            "there is no argument \"start_bx\" in click; did you mean \"start_box\"?",
        );
        check("fly()", "there is no action \"fly\" in this form");
    }
}
