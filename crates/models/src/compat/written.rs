//! A recorded conversation as a model of another profile would have had it: the same views, and each reply in the words of its
//! action format. What has no such form is refused with its reason, and never rewritten to something near it.

use apprentice_protocol::{
    Action, Button, Call, CallBody, ChatRequest, FieldValue, History, ImagePoint, Message, ModelProfile,
    NodeRef, PageReading, READ_DEPTH, RawContent, ReadFilter, TabAction, Target,
};
use serde_json::{Map, Value, json};

use super::encode::as_sent;
use super::profile::{ActionFormat, StudentProfile};
use crate::action_format::{FINISH, ModelOutput, read_computer};

/// The tool of acts.
const COMPUTER: &str = "computer";

/// Returns the messages and the declared tools of a conversation that a model with the profile `recorded` had, as a model of the
/// profile `student` would have had it.
///
/// # Errors
///
/// Returns the reason if its views would have been others, or if a reply has no form in its action format.
pub fn as_written(
    student: &StudentProfile,
    recorded: &ModelProfile,
    request: &ChatRequest,
) -> Result<(Vec<Value>, Vec<Value>), String> {
    let own = student.model_profile(&recorded.name);
    for (what, same) in [
        ("the list of elements", own.outline == recorded.outline && own.views == recorded.views),
        ("pictures", own.images == recorded.images),
        ("coordinates", own.space == recorded.space),
    ] {
        if !same {
            return Err(format!("a model of the profile {:?} is shown {what} in another form", student.name));
        }
    }
    let mut request = request.clone();
    for (number, message) in request.messages.iter_mut().enumerate() {
        if let Message::Assistant { raw, say, calls } = message {
            let reply = reply(student, say, calls).map_err(|why| format!("message {}: {why}", number + 1))?;
            *raw = RawContent { blocks: vec![reply.to_string()] };
        }
    }
    as_sent(student, &request).map_err(|error| error.message)
}

/// A reply as the server of such a model would give it.
fn reply(student: &StudentProfile, say: &[String], calls: &[Call]) -> Result<Value, String> {
    let said = say.join("\n");
    match (student.dialect, calls) {
        (ActionFormat::Tools, []) => Ok(json!({ "role": "assistant", "content": said })),
        (ActionFormat::Tools, calls) => {
            let calls: Result<Vec<Value>, String> = calls.iter().map(tool_call).collect();
            let content = if said.is_empty() { Value::Null } else { said.into() };
            Ok(json!({ "role": "assistant", "content": content, "tool_calls": calls? }))
        }
        (ActionFormat::Json, [call]) => {
            let (tool, arguments) = function(&call.body)?;
            // In the order of the schema that servers enforce.
            let [said, tool] = [&said, &tool].map(|text| Value::from(text.as_str()));
            let turn = format!("{{\"thought\": {said}, \"tool\": {tool}, \"arguments\": {arguments}}}");
            Ok(json!({ "role": "assistant", "content": turn }))
        }
        (ActionFormat::Json, calls) => {
            Err(format!("it makes {} calls, and this format takes one", calls.len()))
        }
        (
            ActionFormat::Qwen
            | ActionFormat::Boxes
            | ActionFormat::Pyautogui
            | ActionFormat::Computer13
            | ActionFormat::Named,
            _,
        ) => Err(format!(
            "replies are written in the formats tools and json, and {:?} has another",
            student.name
        )),
    }
}

fn tool_call(call: &Call) -> Result<Value, String> {
    let (name, arguments) = function(&call.body)?;
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    Ok(json!({ "id": call.id.as_str(), "type": "function", "function": function }))
}

/// A call as a function with its arguments.
fn function(body: &CallBody) -> Result<(String, Value), String> {
    match body {
        CallBody::Tool { name, arguments } => Ok((name.clone(), arguments.clone())),
        CallBody::Finish(finish) => {
            Ok((FINISH.to_owned(), serde_json::to_value(finish).map_err(|error| error.to_string())?))
        }
        CallBody::World { actions } => match actions.as_slice() {
            [action] => Ok((COMPUTER.to_owned(), arguments(action)?)),
            several => Err(format!("a call carries out {} acts, and here a call is one", several.len())),
        },
        CallBody::Unusable { .. } => Err("a call could not be read".to_owned()),
    }
}

/// The arguments of an act. Read again they are this very act.
fn arguments(action: &Action<ImagePoint>) -> Result<Value, String> {
    let refused = || format!("the tool {COMPUTER} has no act {}", json!(action));
    let (name, mut fields) = written(action).ok_or_else(refused)?;
    fields.insert("action".to_owned(), name.into());
    let arguments = Value::Object(fields);
    match read_computer(name, &arguments) {
        Ok(ModelOutput::Actions(read)) if read.as_slice() == std::slice::from_ref(action) => Ok(arguments),
        _ => Err(refused()),
    }
}

type Named = (&'static str, Map<String, Value>);

/// The name of an act and its arguments; `None` for one that this tool does not have.
fn written(action: &Action<ImagePoint>) -> Option<Named> {
    let (name, fields) = match action {
        Action::Click { at, button, count, hold } => {
            let (name, mut fields) = (click(*button, *count)?, target(at));
            fields.extend(hold.iter().map(|keys| ("text".to_owned(), json!(keys.to_string()))));
            (name, fields)
        }
        Action::Move { to } => ("mouse_move", target(to)),
        Action::Press { at, button: Button::Left } => ("left_mouse_down", optional(at.as_ref())),
        Action::Release { at, button: Button::Left } => ("left_mouse_up", optional(at.as_ref())),
        Action::Drag { path, button: Button::Left } => match path.as_slice() {
            [from, to] => (
                "left_click_drag",
                fields(json!({ "start_coordinate": point(from), "coordinate": point(to) })),
            ),
            _ => return None,
        },
        Action::Scroll { at, dx, dy } => ("scroll", scroll(at.as_ref(), *dx, *dy)?),
        Action::Type { text } => ("type", fields(json!({ "text": text }))),
        Action::Key { chord, hold_ms: None } => ("key", fields(json!({ "text": chord.to_string() }))),
        Action::Wait { ms } => ("wait", fields(json!({ "duration": f64::from(*ms) / MILLISECONDS }))),
        Action::Screenshot => ("screenshot", Map::new()),
        Action::Zoom { region: [from, to] } => {
            ("zoom", fields(json!({ "region": [from.x, from.y, to.x, to.y] })))
        }
        Action::Select { at, option } => ("select", with(target(at), "text", json!(option))),
        Action::Upload { at, files } => ("upload", with(target(at), "files", json!(files))),
        Action::Fill { at, value: FieldValue::Text(text) } => ("fill", with(target(at), "text", json!(text))),
        Action::Fill { at, value: FieldValue::Several(values) } => {
            ("fill", with(target(at), "values", json!(values)))
        }
        _ => return browsing(action),
    };
    Some((name, fields))
}

/// Milliseconds of a second.
const MILLISECONDS: f64 = 1000.0;

/// The acts on addresses, tabs, dialogs, and those that read.
fn browsing(action: &Action<ImagePoint>) -> Option<Named> {
    let (name, value) = match action {
        Action::Navigate { url } => ("navigate", json!({ "url": url })),
        Action::History { go } => {
            let name = match go {
                History::Back => "back",
                History::Forward => "forward",
                History::Reload => "reload",
            };
            (name, json!({}))
        }
        Action::Tab { tab: TabAction::Open { url } } => {
            ("open_tab", url.as_ref().map_or(json!({}), |url| json!({ "url": url })))
        }
        Action::Tab { tab: TabAction::Switch { id } } => ("switch_tab", json!({ "tab": id })),
        Action::Tab { tab: TabAction::Close { id } } => ("close_tab", json!({ "tab": id })),
        Action::Dialog { accept: true, text } => {
            ("accept_dialog", text.as_ref().map_or(json!({}), |text| json!({ "text": text })))
        }
        Action::Dialog { accept: false, text: None } => ("dismiss_dialog", json!({})),
        Action::Read { what: PageReading::Find { query } } => ("find", json!({ "text": query })),
        Action::Read { what: PageReading::Tree { filter: ReadFilter::All, depth: READ_DEPTH, part } } => {
            ("read_page", part.as_ref().map_or(json!({}), |NodeRef(part)| json!({ "ref": part })))
        }
        Action::Read { what: PageReading::Text } => ("page_text", json!({})),
        _ => return None,
    };
    Some((name, fields(value)))
}

fn click(button: Button, count: u8) -> Option<&'static str> {
    match (button, count) {
        (Button::Left, 1) => Some("left_click"),
        (Button::Left, 2) => Some("double_click"),
        (Button::Left, 3) => Some("triple_click"),
        (Button::Right, 1) => Some("right_click"),
        (Button::Middle, 1) => Some("middle_click"),
        _ => None,
    }
}

fn scroll(at: Option<&Target<ImagePoint>>, dx: i32, dy: i32) -> Option<Map<String, Value>> {
    let (direction, amount) = match (dx, dy) {
        (0, 1..) => ("down", dy),
        (0, ..=-1) => ("up", -dy),
        (1.., 0) => ("right", dx),
        (..=-1, 0) => ("left", -dx),
        _ => return None,
    };
    let turned = with(optional(at), "scroll_direction", json!(direction));
    Some(with(turned, "scroll_amount", json!(amount)))
}

fn optional(at: Option<&Target<ImagePoint>>) -> Map<String, Value> {
    at.map(target).unwrap_or_default()
}

fn target(at: &Target<ImagePoint>) -> Map<String, Value> {
    fields(match at {
        Target::Point(at) => json!({ "coordinate": point(at) }),
        Target::Ref(NodeRef(reference)) => json!({ "ref": reference }),
    })
}

fn point(at: &ImagePoint) -> Value {
    json!([at.x, at.y])
}

fn with(mut fields: Map<String, Value>, name: &str, value: Value) -> Map<String, Value> {
    fields.insert(name.to_owned(), value);
    fields
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Action, CallBody, Finish, ImagePoint};
    use serde_json::{Value, json};

    use super::{function, reply};
    use crate::compat::StudentProfile;

    fn body(actions: Value) -> CallBody {
        let actions: Vec<Action<ImagePoint>> = serde_json::from_value(actions).expect("acts");
        CallBody::World { actions }
    }

    #[test]
    fn an_act_is_written_so_that_it_is_read_as_the_same() {
        let at = json!({ "ref": "n7" });
        let there = json!({ "point": { "x": 3.0, "y": 4.0 } });
        for (act, name) in [
            (
                json!({ "do": "click", "at": at, "button": "left", "count": 2, "hold": "ctrl+shift" }),
                "double_click",
            ),
            (json!({ "do": "click", "at": there, "button": "right", "count": 1 }), "right_click"),
            (json!({ "do": "move", "to": there }), "mouse_move"),
            (json!({ "do": "press", "at": null, "button": "left" }), "left_mouse_down"),
            (
                json!({ "do": "drag", "path": [{ "x": 1.0, "y": 2.0 }, { "x": 3.0, "y": 4.0 }], "button": "left" }),
                "left_click_drag",
            ),
            (json!({ "do": "scroll", "at": at, "dx": 0, "dy": -5 }), "scroll"),
            (json!({ "do": "scroll", "at": null, "dx": 2, "dy": 0 }), "scroll"),
            (json!({ "do": "type", "text": "a\nb" }), "type"),
            (json!({ "do": "key", "chord": "ctrl+s" }), "key"),
            (json!({ "do": "wait", "ms": 1500 }), "wait"),
            (json!({ "do": "screenshot" }), "screenshot"),
            (json!({ "do": "select", "at": at, "option": "roll" }), "select"),
            (json!({ "do": "fill", "at": at, "value": "x" }), "fill"),
            (json!({ "do": "navigate", "url": "http://a.test" }), "navigate"),
            (json!({ "do": "history", "go": "back" }), "back"),
            (json!({ "do": "tab", "tab": "switch", "id": "t2" }), "switch_tab"),
            (json!({ "do": "dialog", "accept": true, "text": "yes" }), "accept_dialog"),
        ] {
            let (tool, arguments) =
                function(&body(json!([act]))).unwrap_or_else(|why| panic!("{act}: {why}"));
            assert_eq!((tool.as_str(), &arguments["action"]), ("computer", &json!(name)), "{act}");
        }
    }

    #[test]
    fn what_has_no_such_form_is_refused_with_its_reason() {
        let act = |act: Value| function(&body(json!([act]))).expect_err("is refused");
        assert!(act(json!({ "do": "cursor" })).contains("no act {\"do\":\"cursor\"}"));
        assert!(act(json!({ "do": "scroll", "at": null, "dx": 1, "dy": 1 })).contains("no act"));
        assert!(act(json!({ "do": "fill", "at": { "ref": "n1" }, "value": true })).contains("no act"));
        let key = json!({ "do": "key", "chord": "tab" });
        assert!(function(&body(json!([key, key]))).expect_err("two").contains("carries out 2 acts"));
        assert!(function(&CallBody::Unusable { problem: String::new() }).is_err());
        let profile = |name: &str| StudentProfile::load(name).expect("is shipped");
        assert!(reply(&profile("small"), &[], &[]).expect_err("another format").contains("small"));
        assert!(reply(&profile("holo1.5"), &[], &[]).expect_err("no call").contains("0 calls"));
        let (name, arguments) = function(&CallBody::Finish(Finish::Done)).expect("an end");
        assert_eq!((name.as_str(), arguments), ("finish", json!({ "finish": "done" })));
    }
}
