//! The action format `{"action": …, "coordinate": [x, y], …}`: Anthropic's computer tools, Qwen's `computer_use`, and
//! our own function tool for models without a native one.

use apprentice_protocol::{
    Action, Button, Chord, FieldValue, Finish, History, ImagePoint, PageReading, Prompt, READ_DEPTH,
    ReadFilter, TabAction, Target, ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use super::arguments::{Arguments, Meta, chord, milliseconds, node_ref, notches, read_arguments, whole};
use super::{ModelOutput, click_here, holding};

pub(crate) const COMPUTER_PROMPT: Prompt =
    Prompt::new("tool/computer", include_str!("prompts/computer.md"), &[]);
/// The maximum number of repeats of one key.
const MAX_REPEATS: f64 = 100.0;
/// Distances up to this are wheel notches, longer ones pixels: Qwen's agents write both.
const MAX_NOTCHES: f64 = 20.0;

/// The longest text of one call, in characters. Not more: llama.cpp b10434 cannot parse its own grammar of a text of 2,000
/// ("number of repetitions exceeds sane defaults").
const MAX_TEXT_CHARS: u32 = 1000;

/// What the argument `text` is, and what else it is in a browser. A dialog of a desktop is a window like others.
const TEXT: &str = "What to type, where a line break is Enter; the keys of `key`, such as ctrl+s, or several with spaces between; keys held during a click, a drag or a scroll; the option of `select`.";
const TEXT_IN_BROWSER: &str = "The value of `fill`; the words of `find`; what `accept_dialog` enters in a page's dialog that asks for a text.";

/// The actions that read a page and fill in its forms.
pub(super) const READING_AND_FILLING: [&str; 5] = ["fill", "upload", "find", "read_page", "page_text"];

/// The function tool for models without a native computer tool.
pub(crate) fn computer_tool(world: WorldTool) -> ToolSpec {
    let mut actions = vec![
        "left_click",
        "double_click",
        "triple_click",
        "right_click",
        "middle_click",
        "mouse_move",
        "left_click_drag",
        "left_mouse_down",
        "left_mouse_up",
        "scroll",
        "type",
        "key",
        "wait",
        "screenshot",
        "zoom",
        "select",
    ];
    if world.browser {
        actions.extend([
            "navigate",
            "back",
            "forward",
            "reload",
            "open_tab",
            "switch_tab",
            "close_tab",
            "accept_dialog",
            "dismiss_dialog",
        ]);
        actions.extend(READING_AND_FILLING);
    }
    let numbers = |count: u32, says: &str| json!({ "type": "array", "items": { "type": "number" }, "minItems": count, "maxItems": count, "description": says });
    let mut schema = json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": actions },
            "coordinate": numbers(2, "[x, y]"),
            "start_coordinate": numbers(2, "[x, y] where a drag begins"),
            "region": numbers(4, "[x0, y0, x1, y1] of `zoom`"),
            "ref": { "type": "string", "maxLength": 24, "description": "An element's reference, in place of `coordinate`." },
            "text": { "type": "string", "maxLength": MAX_TEXT_CHARS, "description": TEXT },
            "scroll_direction": { "type": "string", "enum": ["up", "down", "left", "right"] },
            "scroll_amount": { "type": "integer", "description": "Notches of the wheel." },
            "duration": { "type": "number", "description": "Seconds of `wait`." },
        },
        "required": ["action"],
        "additionalProperties": false,
    });
    if world.browser {
        schema["properties"]["url"] =
            json!({ "type": "string", "description": "The address of `navigate` or `open_tab`." });
        schema["properties"]["tab"] = json!({ "type": "string", "description": "The tab's id." });
        describe_filling(&mut schema);
        schema["properties"]["text"]["description"] = json!(format!("{TEXT} {TEXT_IN_BROWSER}"));
    }
    ToolSpec { name: "computer".into(), description: COMPUTER_PROMPT.text().trim_end().into(), schema }
}

/// The same for a model that gets no pictures, and so has nothing to enlarge.
pub(crate) fn computer_tool_without_pictures(world: WorldTool) -> ToolSpec {
    let mut tool = computer_tool(world);
    if let Some(actions) = tool.schema["properties"]["action"]["enum"].as_array_mut() {
        actions.retain(|action| action != "zoom");
    }
    if let Some(arguments) = tool.schema["properties"].as_object_mut() {
        arguments.remove("region");
    }
    tool
}

/// Adds the arguments of [`READING_AND_FILLING`] to a tool's schema.
pub(super) fn describe_filling(schema: &mut Value) {
    let list = |says: &str| json!({ "type": "array", "items": { "type": "string" }, "description": says });
    schema["properties"]["files"] = list("Paths in the home folder, for `upload`.");
    schema["properties"]["values"] = list("The options of a list box that takes several, for `fill`.");
}

/// Reads one call. `member` is the action's name, from wherever the provider puts it.
pub(crate) fn read_computer(member: &str, input: &Value) -> Result<ModelOutput, String> {
    read_arguments(member, input, |given| read_action(member, given))
}

fn read_action(member: &str, given: Arguments<'_>) -> Result<ModelOutput, String> {
    if let Some(finish) = finish(member, given)? {
        return Ok(ModelOutput::Finish(finish));
    }
    let one = |action| Ok(ModelOutput::Actions(vec![action]));
    match member {
        "left_click" | "click" => click(given, Button::Left, 1),
        "right_click" => click(given, Button::Right, 1),
        "middle_click" => click(given, Button::Middle, 1),
        "double_click" => click(given, Button::Left, 2),
        "triple_click" => click(given, Button::Left, 3),
        "mouse_move" | "move" | "hover" => {
            one(Action::Move { to: given.target("coordinate")?.ok_or("coordinate is missing")? })
        }
        "left_click_drag" | "drag" => drag(given).and_then(one),
        "left_mouse_down" => one(Action::Press { at: given.target("coordinate")?, button: Button::Left }),
        "left_mouse_up" => one(Action::Release { at: given.target("coordinate")?, button: Button::Left }),
        "scroll" | "hscroll" => scroll(member, given).and_then(one),
        "type" => one(Action::Type { text: given.text("text")?.to_owned() }),
        "key" => keys(given),
        "hold_key" => {
            let hold_ms = Some(milliseconds(given.number("duration")?)?);
            one(Action::Key { chord: chord(given.text("text")?)?, hold_ms })
        }
        "wait" => {
            let seconds = given.number_or("duration", given.number_or("time", 1.0)?)?;
            one(Action::Wait { ms: milliseconds(seconds)? })
        }
        "cursor_position" => one(Action::Cursor),
        "screenshot" | "take_screenshot" => one(Action::Screenshot),
        "zoom" => one(Action::Zoom { region: region(given)? }),
        "select" => {
            let at = given.target("coordinate")?.ok_or("coordinate or ref is missing")?;
            one(Action::Select { at, option: given.text("text")?.to_owned() })
        }
        _ => one(read_browsing(member, given)?),
    }
}

/// Reads an action that only browsers support.
pub(super) fn read_browsing(member: &str, given: Arguments<'_>) -> Result<Action<ImagePoint>, String> {
    Ok(match member {
        "navigate" => Action::Navigate { url: given.text("url")?.to_owned() },
        "back" | "go_back" => Action::History { go: History::Back },
        "forward" | "go_forward" => Action::History { go: History::Forward },
        "reload" => Action::History { go: History::Reload },
        "open_tab" => {
            Action::Tab { tab: TabAction::Open { url: given.optional_text("url")?.map(str::to_owned) } }
        }
        "switch_tab" => Action::Tab { tab: TabAction::Switch { id: given.text("tab")?.to_owned() } },
        "close_tab" => Action::Tab { tab: TabAction::Close { id: given.text("tab")?.to_owned() } },
        "accept_dialog" => {
            Action::Dialog { accept: true, text: given.optional_text("text")?.map(str::to_owned) }
        }
        "dismiss_dialog" => Action::Dialog { accept: false, text: None },
        "fill" => {
            let at = given.target("coordinate")?.ok_or("coordinate or ref is missing")?;
            let value = match given.optional_texts("values")? {
                Some(values) => FieldValue::Several(values),
                None => FieldValue::Text(given.text("text")?.to_owned()),
            };
            Action::Fill { at, value }
        }
        "upload" => {
            let at = given.target("coordinate")?.ok_or("coordinate or ref is missing")?;
            Action::Upload { at, files: given.optional_texts("files")?.ok_or("files is missing")? }
        }
        "find" => Action::Read { what: PageReading::Find { query: given.text("text")?.to_owned() } },
        "read_page" => {
            let part = given.optional_text("ref")?.map(node_ref);
            Action::Read { what: PageReading::Tree { filter: ReadFilter::All, depth: READ_DEPTH, part } }
        }
        "page_text" => Action::Read { what: PageReading::Text },
        other => return Err(format!("there is no action {other:?}")),
    })
}

fn finish(member: &str, given: Arguments<'_>) -> Result<Option<Finish>, String> {
    Ok(match member {
        "terminate" => match given.optional_text("status")? {
            Some("failure" | "fail" | "infeasible") => Some(Finish::GiveUp {
                reason: given.optional_text("text")?.unwrap_or("it failed").to_owned(),
            }),
            Some(_) | None => Some(Finish::Done),
        },
        "answer" => Some(Finish::Answer { text: given.text("text")?.to_owned() }),
        _ => None,
    })
}

/// Without a target, the click happens at the pointer.
fn click(given: Arguments<'_>, button: Button, count: u8) -> Result<ModelOutput, String> {
    let hold = match given.get("text") {
        Some(_) => given.optional_chord("text")?,
        None => given.optional_chord("keys")?,
    };
    Ok(ModelOutput::Actions(match given.target("coordinate")? {
        Some(at) => vec![Action::Click { at, button, count, hold }],
        None => click_here(button, count, hold),
    }))
}

fn drag(given: Arguments<'_>) -> Result<Action<ImagePoint>, String> {
    let hold = given.optional_chord("text")?;
    let to = given.point("coordinate")?;
    let path = vec![given.point("start_coordinate")?, to];
    Ok(holding(hold, Action::Drag { path, button: Button::Left }))
}

fn scroll(member: &str, given: Arguments<'_>) -> Result<Action<ImagePoint>, String> {
    let hold = given.optional_chord("text")?;
    let at = given.target("coordinate")?;
    let Some(direction) = given.optional_text("scroll_direction")? else {
        // Qwen's format: positive is up, or right.
        let far = given.number("pixels")?;
        let turned = if far.abs() <= MAX_NOTCHES { whole(far) } else { notches(far) };
        let action = match member {
            "hscroll" => Action::Scroll { at, dx: turned, dy: 0 },
            _ => Action::Scroll { at, dx: 0, dy: -turned },
        };
        return Ok(holding(hold, action));
    };
    let amount = whole(given.number_or("scroll_amount", 3.0)?.abs());
    let (dx, dy) = scroll_delta(direction, amount)?;
    Ok(holding(hold, Action::Scroll { at, dx, dy }))
}

/// Converts a direction to notches, horizontal and vertical.
pub(crate) fn scroll_delta(direction: &str, amount: i32) -> Result<(i32, i32), String> {
    Ok(match direction {
        "up" => (0, -amount),
        "down" => (0, amount),
        "left" => (-amount, 0),
        "right" => (amount, 0),
        other => return Err(format!("there is no direction {other:?}")),
    })
}

fn keys(given: Arguments<'_>) -> Result<ModelOutput, String> {
    let name = if given.get("text").is_some() { "text" } else { "keys" };
    Ok(ModelOutput::Actions(repeated(&given.presses(name, Meta::Alt)?, given)?))
}

/// Repeats the presses as often as `repeat` says.
pub(crate) fn repeated(presses: &[Chord], given: Arguments<'_>) -> Result<Vec<Action<ImagePoint>>, String> {
    let times = given.number_or("repeat", 1.0)?;
    if !(1.0..=MAX_REPEATS).contains(&times) {
        return Err(format!("repeat must be from 1 to {MAX_REPEATS}"));
    }
    let all = (0..whole(times)).flat_map(|_| presses);
    Ok(all.map(|chord| Action::Key { chord: chord.clone(), hold_ms: None }).collect())
}

/// Reads two corners from `[x0, y0, x1, y1]`.
pub(crate) fn region(given: Arguments<'_>) -> Result<[ImagePoint; 2], String> {
    let numbers: Vec<f64> = given
        .get("region")
        .and_then(Value::as_array)
        .map(|items| items.iter().filter_map(Value::as_f64).collect())
        .unwrap_or_default();
    match numbers.as_slice() {
        [x0, y0, x1, y1] => Ok([ImagePoint::new(*x0, *y0), ImagePoint::new(*x1, *y1)]),
        _ => Err("region must be [x0, y0, x1, y1]".into()),
    }
}

/// Builds a click at a point, which several formats write alike.
pub(super) fn click_at(
    point: ImagePoint,
    button: Button,
    count: u8,
    hold: Option<Chord>,
) -> Action<ImagePoint> {
    Action::Click { at: Target::Point(point), button, count, hold }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Size, WorldTool};
    use serde_json::{Value, json};

    use super::{ModelOutput, computer_tool, read_computer};

    fn check(member: &str, input: impl Into<Value>, expected: impl Into<Value>) {
        let input = input.into();
        let read = match read_computer(member, &input) {
            Ok(ModelOutput::Actions(actions)) => serde_json::to_value(actions).expect("writes"),
            Ok(ModelOutput::Finish(finish)) => serde_json::to_value(finish).expect("writes"),
            Err(problem) => problem.into(),
        };
        assert_eq!(read, expected.into(), "{member} {input}");
    }

    fn at(x: f64, y: f64) -> Value {
        json!({ "point": { "x": x, "y": y } })
    }

    #[test]
    fn the_pointer_in_all_its_actions() {
        check(
            "left_click",
            json!({ "coordinate": [3, 4], "text": "ctrl+shift" }),
            json!([{ "do": "click", "at": at(3.0, 4.0), "button": "left", "count": 1, "hold": "ctrl+shift" }]),
        );
        check(
            "double_click",
            json!({ "ref": "#n7" }),
            json!([{ "do": "click", "at": { "ref": "n7" }, "button": "left", "count": 2 }]),
        );
        check(
            "right_click",
            json!({}),
            json!([{ "do": "press", "at": null, "button": "right" }, { "do": "release", "at": null, "button": "right" }]),
        );
        check(
            "left_click",
            json!({ "text": "ctrl" }),
            json!([{ "do": "hold", "keys": "ctrl", "actions": [
                { "do": "press", "at": null, "button": "left" }, { "do": "release", "at": null, "button": "left" },
            ] }]),
        );
        check("cursor_position", json!({}), json!([{ "do": "cursor" }]));
        check(
            "scroll",
            json!({ "coordinate": [1, 2], "scroll_direction": "up", "scroll_amount": 1, "text": "ctrl" }),
            json!([{ "do": "hold", "keys": "ctrl", "actions": [
                { "do": "scroll", "at": at(1.0, 2.0), "dx": 0, "dy": -1 },
            ] }]),
        );
        check("left_click", json!({ "coordinate": "there" }), "coordinate must be [x, y], not \"there\"");
        check(
            "left_click_drag",
            json!({ "start_coordinate": [1, 2], "coordinate": [3, 4] }),
            json!([{ "do": "drag", "path": [{ "x": 1.0, "y": 2.0 }, { "x": 3.0, "y": 4.0 }], "button": "left" }]),
        );
        check(
            "scroll",
            json!({ "coordinate": [1, 2], "scroll_direction": "left", "scroll_amount": 4 }),
            json!([{ "do": "scroll", "at": at(1.0, 2.0), "dx": -4, "dy": 0 }]),
        );
        check("scroll", json!({ "pixels": -300 }), json!([{ "do": "scroll", "at": null, "dx": 0, "dy": 3 }]));
        check("zoom", json!({ "region": [1, 2, 3] }), "region must be [x0, y0, x1, y1]");
    }

    #[test]
    fn keys_waits_and_ends() {
        check("key", json!({ "text": "ctrl+s" }), json!([{ "do": "key", "chord": "ctrl+s" }]));
        check("key", json!({ "keys": ["ctrl", "s"] }), json!([{ "do": "key", "chord": "ctrl+s" }]));
        check(
            "key",
            json!({ "text": "Tab", "repeat": 2 }),
            json!([{ "do": "key", "chord": "tab" }, { "do": "key", "chord": "tab" }]),
        );
        check("key", json!({ "text": "Tab", "repeat": 999 }), "repeat must be from 1 to 100");
        check(
            "hold_key",
            json!({ "text": "shift", "duration": 2 }),
            json!([{ "do": "key", "chord": "shift", "hold_ms": 2000 }]),
        );
        check("wait", json!({ "time": 0.5 }), json!([{ "do": "wait", "ms": 500 }]));
        check("wait", json!({ "duration": -1 }), "-1 is no time to wait");
        check("terminate", json!({ "status": "success" }), json!({ "finish": "done" }));
        check("answer", json!({ "text": "42" }), json!({ "finish": "answer", "text": "42" }));
        check("fly", json!({}), "there is no action \"fly\"");
    }

    #[test]
    fn every_action_of_the_tool_is_read() {
        let tool = computer_tool(WorldTool { browser: true, display: Size::new(8, 8) });
        let values = json!({
            "coordinate": [1, 2], "start_coordinate": [0, 0], "region": [0, 0, 1, 1], "text": "a",
            "scroll_direction": "up", "scroll_amount": 2, "duration": 1, "url": "http://x/", "tab": "t1",
            "files": ["a.txt"],
        });
        for action in tool.schema["properties"]["action"]["enum"].as_array().expect("a list") {
            let action = action.as_str().expect("a name");
            let takes: &[&str] = match action {
                "left_click_drag" => &["start_coordinate", "coordinate"],
                "mouse_move" | "left_mouse_down" | "left_mouse_up" => &["coordinate"],
                "scroll" => &["coordinate", "scroll_direction", "scroll_amount"],
                "type" | "key" | "accept_dialog" | "find" => &["text"],
                "upload" => &["coordinate", "files"],
                "wait" => &["duration"],
                "zoom" => &["region"],
                "navigate" | "open_tab" => &["url"],
                "switch_tab" | "close_tab" => &["tab"],
                "screenshot" | "back" | "forward" | "reload" | "dismiss_dialog" | "read_page"
                | "page_text" => &[],
                _ => &["coordinate", "text"],
            };
            let input: Value = takes.iter().map(|name| ((*name).to_owned(), values[*name].clone())).collect();
            assert!(read_computer(action, &input).is_ok(), "{action} {input}");
            let mut wrong = input;
            wrong["coordinates"] = json!([5, 6]);
            assert!(
                read_computer(action, &wrong).is_err_and(|problem| problem.contains("coordinates")),
                "{action}"
            );
        }
    }
}
