//! `pyautogui` code, as OSWorld agents write it: parsed as data, never executed.

use apprentice_protocol::{Action, Button, Chord, Finish, ImagePoint, Target};
use serde_json::Value;

use super::arguments::{chord, milliseconds, whole};
use super::computer::click_at;
use super::python_calls::{PythonCall, read_python_calls};
use super::{ModelOutput, click_here, holding};

/// State carried from one call to the next.
#[derive(Default)]
struct InputState {
    at: Option<ImagePoint>,
    held: Vec<String>,
    actions: Vec<Action<ImagePoint>>,
}

/// The keyword arguments of all functions.
const KEYWORDS: &[&str] = &[
    "x",
    "y",
    "xOffset",
    "yOffset",
    "button",
    "clicks",
    "presses",
    "keys",
    "key",
    "message",
    "seconds",
    "secs",
    "interval",
    "duration",
    "tween",
    "status",
    "logScreenshot",
    "_pause",
];

/// Reads a block of code into actions, or into the end of the attempt.
pub(crate) fn read_pyautogui(code: &str) -> Result<ModelOutput, String> {
    let word = code.trim().trim_matches('`').to_uppercase();
    match word.as_str() {
        "DONE" => return Ok(ModelOutput::Finish(Finish::Done)),
        "FAIL" => return Ok(ModelOutput::Finish(Finish::GiveUp { reason: "it cannot be done".into() })),
        "WAIT" => return Ok(ModelOutput::Actions(vec![Action::Wait { ms: 2000 }])),
        _ => {}
    }
    let mut hands = InputState::default();
    for call in read_python_calls(code)? {
        let name = call.name.rsplit('.').next().unwrap_or_default().to_owned();
        if name == "terminate" {
            let failed =
                call.get("status", 0).and_then(Value::as_str).is_some_and(|word| word.starts_with("fail"));
            // Actions before the end are executed first; the model finishes in its next turn.
            if hands.actions.is_empty() {
                let reason = || "it cannot be done".to_owned();
                let finish = if failed { Finish::GiveUp { reason: reason() } } else { Finish::Done };
                return Ok(ModelOutput::Finish(finish));
            }
            break;
        }
        call.takes_only(KEYWORDS)?;
        hands.play(&name, &call)?;
    }
    match (hands.held.is_empty(), hands.actions.is_empty()) {
        (false, _) => Err(format!("{} is never released", hands.held.join("+"))),
        (true, true) => Err("the code holds no action".into()),
        (true, false) => Ok(ModelOutput::Actions(hands.actions)),
    }
}

impl InputState {
    fn play(&mut self, name: &str, call: &PythonCall) -> Result<(), String> {
        match name {
            "click" | "leftClick" => {
                let count = call.get("clicks", 2).and_then(Value::as_f64).unwrap_or(1.0);
                self.click(call, button(call.get("button", 4))?, whole(count))
            }
            "rightClick" => self.click(call, Button::Right, 1),
            "middleClick" => self.click(call, Button::Middle, 1),
            "doubleClick" | "double_click" => self.click(call, Button::Left, 2),
            "tripleClick" | "triple_click" => self.click(call, Button::Left, 3),
            "moveTo" => self.move_to(place(call)?.ok_or("moveTo needs x and y")?),
            "move" | "moveRel" => self.move_to(self.beside(name, call)?),
            "dragTo" => {
                self.drag(place(call)?.ok_or("dragTo needs x and y")?, button(call.get("button", 9))?)
            }
            "drag" | "dragRel" => self.drag(self.beside(name, call)?, button(call.get("button", 9))?),
            "mouseDown" => {
                let at = self.reach(call)?;
                self.push_held(Action::Press { at, button: button(call.get("button", 2))? })
            }
            "mouseUp" => {
                let at = self.reach(call)?;
                self.push_held(Action::Release { at, button: button(call.get("button", 2))? })
            }
            "scroll" | "vscroll" | "hscroll" => self.scroll(name, call),
            "write" | "typewrite" => self.write(call),
            "press" => self.press(call),
            "hotkey" => {
                let keys = texts(&call.args)?;
                self.key(&keys.join("+"))
            }
            "keyDown" => {
                self.held.push(key_of(call)?);
                Ok(())
            }
            "keyUp" => {
                let key = key_of(call)?;
                self.held.retain(|held| *held != key);
                Ok(())
            }
            "sleep" | "wait" => {
                let seconds = call.get("seconds", 0).and_then(Value::as_f64).unwrap_or(2.0);
                self.push(Action::Wait { ms: milliseconds(seconds)? })
            }
            "screenshot" => self.push(Action::Screenshot),
            other => Err(format!("there is no action {other:?} in this form")),
        }
    }

    fn push(&mut self, action: Action<ImagePoint>) -> Result<(), String> {
        self.actions.push(action);
        Ok(())
    }

    /// Adds an action of the pointer, with the keys that are held down.
    fn push_held(&mut self, action: Action<ImagePoint>) -> Result<(), String> {
        let hold = self.hold()?;
        self.push(holding(hold, action))
    }

    fn hold(&self) -> Result<Option<Chord>, String> {
        if self.held.is_empty() { Ok(None) } else { chord(&self.held.join("+")).map(Some) }
    }

    fn click(&mut self, call: &PythonCall, button: Button, count: i32) -> Result<(), String> {
        let count = u8::try_from(count).ok().filter(|count| (1..=3).contains(count));
        let count = count.ok_or("a click has 1 to 3 presses")?;
        let hold = self.hold()?;
        match place(call)? {
            Some(at) => {
                self.at = Some(at);
                self.push(click_at(at, button, count, hold))
            }
            None => match self.at {
                Some(at) => self.push(click_at(at, button, count, hold)),
                None => {
                    self.actions.extend(click_here(button, count, hold));
                    Ok(())
                }
            },
        }
    }

    fn move_to(&mut self, to: ImagePoint) -> Result<(), String> {
        self.at = Some(to);
        self.push_held(Action::Move { to: Target::Point(to) })
    }

    /// The place of a button's press or release, at which the pointer is from then on.
    fn reach(&mut self, call: &PythonCall) -> Result<Option<Target<ImagePoint>>, String> {
        let at = place(call)?;
        self.at = at.or(self.at);
        Ok(at.map(Target::Point))
    }

    /// The point so far from the pointer. Where the pointer is, only earlier lines of the same code tell.
    fn beside(&self, name: &str, call: &PythonCall) -> Result<ImagePoint, String> {
        let far = |axis: &str, place: usize| match call.get(axis, place) {
            None => Ok(0.0),
            Some(value) => value.as_f64().ok_or_else(|| format!("{value} is no distance")),
        };
        let (x, y) = (far("xOffset", 0)?, far("yOffset", 1)?);
        let from = self.at.ok_or_else(|| {
            format!("{name} goes from where the pointer is: write moveTo(x, y) before it in the same code")
        })?;
        Ok(ImagePoint::new(from.x + x, from.y + y))
    }

    /// A drag starts at the last pointer position.
    fn drag(&mut self, to: ImagePoint, button: Button) -> Result<(), String> {
        match self.at.replace(to) {
            Some(from) => self.push_held(Action::Drag { path: vec![from, to], button }),
            None => {
                let keys = self.hold()?;
                let to = Target::Point(to);
                let actions = vec![
                    Action::Press { at: None, button },
                    Action::Move { to },
                    Action::Release { at: None, button },
                ];
                match keys {
                    Some(keys) => self.push(Action::Hold { keys, actions }),
                    None => {
                        self.actions.extend(actions);
                        Ok(())
                    }
                }
            }
        }
    }

    fn scroll(&mut self, name: &str, call: &PythonCall) -> Result<(), String> {
        let far = call.get("clicks", 0).and_then(Value::as_f64).ok_or("scroll needs a number")?;
        let far = if far.abs() > 20.0 { super::arguments::notches(far) } else { whole(far) };
        let at = match (call.get("x", 1), call.get("y", 2)) {
            (Some(x), Some(y)) => Some(Target::Point(point(x, y)?)),
            _ => None,
        };
        self.push_held(match name {
            "hscroll" => Action::Scroll { at, dx: far, dy: 0 },
            _ => Action::Scroll { at, dx: 0, dy: -far },
        })
    }

    fn write(&mut self, call: &PythonCall) -> Result<(), String> {
        match call.get("message", 0) {
            Some(Value::String(text)) => self.push(Action::Type { text: text.clone() }),
            Some(Value::Array(keys)) => texts(keys)?.iter().try_for_each(|key| self.key(key)),
            _ => Err("write needs a text".into()),
        }
    }

    fn press(&mut self, call: &PythonCall) -> Result<(), String> {
        let keys = match call.get("keys", 0).or_else(|| call.get("key", 0)) {
            Some(Value::String(key)) => vec![key.clone()],
            Some(Value::Array(keys)) => texts(keys)?,
            _ => return Err("press needs a key".into()),
        };
        let times = whole(call.get("presses", 1).and_then(Value::as_f64).unwrap_or(1.0));
        for _ in 0..times.max(1) {
            keys.iter().try_for_each(|key| self.key(key))?;
        }
        Ok(())
    }

    /// Adds one chord, including the keys that are held down.
    fn key(&mut self, keys: &str) -> Result<(), String> {
        let keys = if keys == "+" { "plus" } else { keys };
        let held = self.held.iter().map(String::as_str);
        let all: Vec<&str> = held.chain([keys]).collect();
        let chord = chord(&all.join("+"))?;
        self.push(Action::Key { chord, hold_ms: None })
    }
}

fn place(call: &PythonCall) -> Result<Option<ImagePoint>, String> {
    match (call.get("x", 0), call.get("y", 1)) {
        (Some(Value::Array(_)), _) => {
            let pair = call.get("x", 0).and_then(super::arguments::point);
            pair.map(Some).ok_or_else(|| "x must be a number or (x, y)".into())
        }
        (Some(x), Some(y)) => point(x, y).map(Some),
        (None, None) => Ok(None),
        _ => Err("x and y go together".into()),
    }
}

fn point(x: &Value, y: &Value) -> Result<ImagePoint, String> {
    let number = |value: &Value| value.as_f64().ok_or_else(|| format!("{value} is no coordinate"));
    Ok(ImagePoint::new(number(x)?, number(y)?))
}

fn button(value: Option<&Value>) -> Result<Button, String> {
    match value.and_then(Value::as_str) {
        None | Some("left" | "primary") => Ok(Button::Left),
        Some("right" | "secondary") => Ok(Button::Right),
        Some("middle") => Ok(Button::Middle),
        Some(other) => Err(format!("there is no button {other:?}")),
    }
}

fn key_of(call: &PythonCall) -> Result<String, String> {
    let key = call.get("key", 0).and_then(Value::as_str);
    key.map(str::to_owned).ok_or_else(|| "a key is missing".into())
}

fn texts(values: &[Value]) -> Result<Vec<String>, String> {
    let flat = values.iter().flat_map(|value| match value {
        Value::Array(items) => items.iter().collect(),
        other => vec![other],
    });
    flat.map(|value| value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is no key"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ModelOutput, read_pyautogui};

    fn check(code: &str, expected: impl Into<Value>) {
        let read = match read_pyautogui(code) {
            Ok(ModelOutput::Actions(actions)) => serde_json::to_value(actions).expect("writes"),
            Ok(ModelOutput::Finish(finish)) => serde_json::to_value(finish).expect("writes"),
            Err(problem) => problem.into(),
        };
        assert_eq!(read, expected.into(), "{code}");
    }

    #[test]
    fn code_is_read_as_actions() {
        let at = json!({ "point": { "x": 5.0, "y": 6.0 } });
        check(
            "pyautogui.click(5, 6, button='right')",
            json!([{ "do": "click", "at": at, "button": "right", "count": 1 }]),
        );
        check(
            "pyautogui.moveTo(5, 6)\npyautogui.dragTo(7, 8, duration=0.5, button='left')",
            json!([
                { "do": "move", "to": at },
                { "do": "drag", "path": [{ "x": 5.0, "y": 6.0 }, { "x": 7.0, "y": 8.0 }], "button": "left" },
            ]),
        );
        check(
            "pyautogui.keyDown('ctrl'); pyautogui.click(5, 6); pyautogui.press('a'); pyautogui.keyUp('ctrl')",
            json!([
                { "do": "click", "at": at, "button": "left", "count": 1, "hold": "ctrl" },
                { "do": "key", "chord": "ctrl+a" },
            ]),
        );
        check(
            "pyautogui.moveTo(5, 6)\npyautogui.moveRel(2, yOffset=-1)",
            json!([
                { "do": "move", "to": at }, { "do": "move", "to": { "point": { "x": 7.0, "y": 5.0 } } },
            ]),
        );
        check(
            "pyautogui.hotkey('ctrl', 'shift', 't')\ntime.sleep(0.5)\npyautogui.scroll(-3)",
            json!([
                { "do": "key", "chord": "ctrl+shift+t" }, { "do": "wait", "ms": 500 },
                { "do": "scroll", "at": null, "dx": 0, "dy": 3 },
            ]),
        );
    }

    #[test]
    fn ends_and_trouble() {
        check("computer.terminate(status='success')", json!({ "finish": "done" }));
        check("```DONE```", json!({ "finish": "done" }));
        check("pyautogui.keyDown('ctrl')", "ctrl is never released");
        check(
            "pyautogui.click(coordinates=(5, 6))",
            "there is no argument \"coordinates\" in pyautogui.click; it takes x, y, xOffset, yOffset, button, clicks, presses, keys, \
             key, message, seconds, secs, interval, duration, tween, status, logScreenshot, _pause",
        );
        check(
            "pyautogui.move(0, 100)",
            "move goes from where the pointer is: write moveTo(x, y) before it in the same code",
        );
        check("import os", "the code holds no action");
        check("os.system('rm x')", "there is no action \"system\" in this form");
    }
}
