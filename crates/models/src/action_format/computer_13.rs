//! OSWorld's `computer_13` format: one JSON object per action, `{"action_type": "CLICK", "x": …, "y": …}`.

use apprentice_protocol::{Action, Button, Finish, ImagePoint, Target};
use serde_json::Value;

use super::ModelOutput;
use super::arguments::{Arguments, chord, read_arguments, whole};
use super::computer::click_at;

/// Reads one object, or a word such as `DONE`.
pub(crate) fn read_computer_13(value: &Value) -> Result<ModelOutput, String> {
    let kind = match value {
        Value::String(word) => word.as_str(),
        _ => value["action_type"].as_str().ok_or("action_type is missing")?,
    };
    // Some agents nest an action's arguments in `parameters`.
    let inner = value.get("parameters").filter(|inner| inner.is_object()).unwrap_or(value);
    read_arguments(kind, inner, |given| read(kind, given))
}

fn read(kind: &str, given: Arguments<'_>) -> Result<ModelOutput, String> {
    let at = || match (given.get("x"), given.get("y")) {
        (None, None) => Ok(None),
        _ => given.point_of("x", "y").map(Some),
    };
    let here = || at()?.ok_or_else(|| "x and y are missing".to_owned());
    let target = || Ok::<_, String>(at()?.map(Target::Point));
    let action = match kind.to_uppercase().as_str() {
        "DONE" => return Ok(ModelOutput::Finish(Finish::Done)),
        "FAIL" => return Ok(ModelOutput::Finish(Finish::GiveUp { reason: "it cannot be done".into() })),
        "WAIT" => Action::Wait { ms: 2000 },
        "MOVE_TO" => Action::Move { to: Target::Point(here()?) },
        "CLICK" => return click(at()?, button(given)?, given.number_or("num_clicks", 1.0)?),
        "RIGHT_CLICK" => return click(at()?, Button::Right, 1.0),
        "DOUBLE_CLICK" => return click(at()?, Button::Left, 2.0),
        "MOUSE_DOWN" => Action::Press { at: target()?, button: button(given)? },
        "MOUSE_UP" => Action::Release { at: target()?, button: button(given)? },
        "DRAG_TO" => return Ok(ModelOutput::Actions(drag_here(here()?))),
        "SCROLL" => {
            let (dx, dy) = (given.number_or("dx", 0.0)?, given.number_or("dy", 0.0)?);
            // Positive is up in this format.
            Action::Scroll { at: target()?, dx: whole(dx), dy: -whole(dy) }
        }
        "TYPING" => Action::Type { text: given.text("text")?.to_owned() },
        "PRESS" => Action::Key { chord: chord(given.text("key")?)?, hold_ms: None },
        "HOTKEY" => {
            let chord = given.optional_chord("keys")?.ok_or("keys is missing")?;
            Action::Key { chord, hold_ms: None }
        }
        "KEY_DOWN" => Action::KeyDown { keys: chord(given.text("key")?)? },
        "KEY_UP" => Action::KeyUp { keys: chord(given.text("key")?)? },
        other => return Err(format!("there is no action {other:?} in this form")),
    };
    Ok(ModelOutput::Actions(vec![action]))
}

fn click(at: Option<ImagePoint>, button: Button, count: f64) -> Result<ModelOutput, String> {
    let count = u8::try_from(whole(count)).ok().filter(|count| (1..=3).contains(count));
    let count = count.ok_or("num_clicks must be 1, 2 or 3")?;
    Ok(ModelOutput::Actions(match at {
        Some(at) => vec![click_at(at, button, count, None)],
        None => (0..count)
            .flat_map(|_| [Action::Press { at: None, button }, Action::Release { at: None, button }])
            .collect(),
    }))
}

/// A drag that starts at the pointer.
fn drag_here(to: ImagePoint) -> Vec<Action<ImagePoint>> {
    let button = Button::Left;
    let to = Target::Point(to);
    vec![Action::Press { at: None, button }, Action::Move { to }, Action::Release { at: None, button }]
}

fn button(given: Arguments<'_>) -> Result<Button, String> {
    match given.optional_text("button")? {
        None | Some("left") => Ok(Button::Left),
        Some("right") => Ok(Button::Right),
        Some("middle") => Ok(Button::Middle),
        Some(other) => Err(format!("there is no button {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ModelOutput, read_computer_13};

    fn check(value: impl Into<Value>, expected: impl Into<Value>) {
        let value = value.into();
        let read = match read_computer_13(&value) {
            Ok(ModelOutput::Actions(actions)) => serde_json::to_value(actions).expect("writes"),
            Ok(ModelOutput::Finish(finish)) => serde_json::to_value(finish).expect("writes"),
            Err(problem) => problem.into(),
        };
        assert_eq!(read, expected.into(), "{value}");
    }

    #[test]
    fn objects_are_read_as_actions() {
        let click = json!([{ "do": "click", "at": { "point": { "x": 1.0, "y": 2.0 } }, "button": "left", "count": 2 }]);
        check(json!({ "action_type": "DOUBLE_CLICK", "x": 1, "y": 2 }), click.clone());
        check(json!({ "action_type": "CLICK", "parameters": { "x": 1, "y": 2, "num_clicks": 2 } }), click);
        check(
            json!({ "action_type": "HOTKEY", "keys": ["ctrl", "c"] }),
            json!([{ "do": "key", "chord": "ctrl+c" }]),
        );
        check(
            json!({ "action_type": "SCROLL", "dx": 0, "dy": -4 }),
            json!([{ "do": "scroll", "at": null, "dx": 0, "dy": 4 }]),
        );
        check(json!("DONE"), json!({ "finish": "done" }));
        check(json!({ "action_type": "CLICK", "x": 1 }), "y is missing");
        check(json!({ "action_type": "CLICK", "num_clicks": 9 }), "num_clicks must be 1, 2 or 3");
        check(json!({}), "action_type is missing");
    }
}
