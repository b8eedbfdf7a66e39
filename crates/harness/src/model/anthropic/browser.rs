//! Converts the members of Anthropic's browser toolset to our actions.

use apprentice_protocol::{
    Action, Button, ChatRequest, Chord, Content, History, ImagePoint, Message, Target,
};
use serde_json::Value;

use crate::model::action_format::{
    Arguments, Meta, ModelOutput, milliseconds, node_ref, read_arguments, region, repeated, scroll_delta,
    whole,
};

/// The first line of a view, and the line of the tab in front.
const SCREEN_HEADING: &str = "Screen now.";
const TAB_HEADING: &str = "Tab: ";
const IN_FRONT: &str = " (in front)";

/// Members that are not served. The model sees pages as pictures; tabs, dialogs and list boxes are handled by a
/// function of our own, whose results need no list of tabs.
pub(super) const NOT_SERVED: &[&str] = &[
    "close_tab",
    "file_upload",
    "find",
    "form_input",
    "get_page_text",
    "javascript_exec",
    "list_tabs",
    "new_tab",
    "read_console",
    "read_network",
    "read_page",
    "scroll_to",
    "switch_tab",
];

/// Reads one call of a member. `front` is the tab that the model sees, and points belong to it.
pub(super) fn read_browser(member: &str, input: &Value, front: Option<&str>) -> Result<ModelOutput, String> {
    read_arguments(member, input, |given| {
        let tab = given.optional_text("tab_id")?;
        if tab.is_some_and(|tab| front != Some(tab)) {
            return Err("actions go to the tab in front; bring it to the front first".into());
        }
        read_member(member, given)
    })
}

/// Returns the tab in front by the last observation in a request.
pub(super) fn front_tab(request: &ChatRequest) -> Option<&str> {
    let texts = request.messages.iter().rev().flat_map(|message| match message {
        Message::User { content } => content.iter().collect::<Vec<_>>(),
        Message::Results { results, .. } => results.iter().rev().flat_map(|result| &result.content).collect(),
        Message::Assistant { .. } => Vec::new(),
    });
    let seen = texts.filter_map(Content::as_text).find(|text| text.starts_with(SCREEN_HEADING))?;
    let front = seen.lines().find(|line| line.starts_with(TAB_HEADING) && line.ends_with(IN_FRONT))?;
    front.trim_start_matches(TAB_HEADING).split(' ').next()
}

fn read_member(member: &str, given: Arguments<'_>) -> Result<ModelOutput, String> {
    let one = |action| Ok(ModelOutput::Actions(vec![action]));
    match member {
        "navigate" => one(match given.text("url")? {
            "back" => Action::History { go: History::Back },
            "forward" => Action::History { go: History::Forward },
            "reload" => Action::History { go: History::Reload },
            url => Action::Navigate { url: whole_address(url) },
        }),
        "screenshot" => one(Action::Screenshot),
        "zoom" => one(Action::Zoom { region: region(given)? }),
        "left_click" => click(given, Button::Left, 1).and_then(one),
        "right_click" => click(given, Button::Right, 1).and_then(one),
        "middle_click" => click(given, Button::Middle, 1).and_then(one),
        "double_click" => click(given, Button::Left, 2).and_then(one),
        "triple_click" => click(given, Button::Left, 3).and_then(one),
        "hover" | "mouse_move" => one(Action::Move { to: target(given, "target")? }),
        "left_click_drag" => {
            let path = vec![spot(given, "from")?, spot(given, "target")?];
            one(Action::Drag { path, button: Button::Left })
        }
        "left_mouse_down" => one(Action::Press { at: Some(target(given, "target")?), button: Button::Left }),
        "left_mouse_up" => one(Action::Release { at: Some(target(given, "target")?), button: Button::Left }),
        "scroll" => {
            let amount = whole(given.number_or("scroll_amount", 3.0)?.abs());
            let (dx, dy) = scroll_delta(given.text("scroll_direction")?, amount)?;
            one(Action::Scroll { at: Some(target(given, "target")?), dx, dy })
        }
        "type" => one(Action::Type { text: given.text("text")?.to_owned() }),
        "key" => Ok(ModelOutput::Actions(repeated(&given.presses("text", Meta::Super)?, given)?)),
        "hold_key" => {
            let hold_ms = Some(milliseconds(given.number("duration")?)?);
            let chord = given.held_keys("text", Meta::Super)?.ok_or("text is missing")?;
            one(Action::Key { chord, hold_ms })
        }
        "wait" => one(Action::Wait { ms: milliseconds(given.number("duration")?)? }),
        other => Err(format!("there is no action {other:?}")),
    }
}

/// A URL without a scheme gets `https`.
fn whole_address(url: &str) -> String {
    let has_protocol =
        url.contains("://") || ["about:", "data:", "file:"].iter().any(|head| url.starts_with(head));
    if has_protocol { url.to_owned() } else { format!("https://{url}") }
}

fn click(given: Arguments<'_>, button: Button, count: u8) -> Result<Action<ImagePoint>, String> {
    let hold: Option<Chord> = given.held_keys("modifiers", Meta::Super)?;
    Ok(Action::Click { at: target(given, "target")?, button, count, hold })
}

fn target(given: Arguments<'_>, name: &str) -> Result<Target<ImagePoint>, String> {
    given.object(name, |inner| {
        Ok(match inner.optional_text("ref")? {
            Some(node) => Target::Ref(node_ref(node)),
            None => Target::Point(inner.point_of("x", "y")?),
        })
    })
}

fn spot(given: Arguments<'_>, name: &str) -> Result<ImagePoint, String> {
    given.object(name, |inner| inner.point_of("x", "y"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ChatRequest, Content, Message, ModelOutput, front_tab, read_browser};

    fn check(member: &str, input: &Value, expected: impl Into<Value>) {
        let read = match read_browser(member, input, Some("t2")) {
            Ok(ModelOutput::Actions(actions)) => serde_json::to_value(actions).expect("writes"),
            Ok(ModelOutput::Finish(finish)) => serde_json::to_value(finish).expect("writes"),
            Err(problem) => problem.into(),
        };
        assert_eq!(read, expected.into(), "{member} {input}");
    }

    #[test]
    fn the_tab_in_front_is_the_one_of_the_last_view() {
        let told = |text: &str| Message::User { content: vec![Content::text(text)] };
        let view = |front: &str| {
            let mark = |id: &str| if id == front { " (in front)" } else { "" };
            let line = |id: &str| format!("Tab: {id} \"A (in front)\" https://a/{}\n", mark(id));
            format!("Screen now.\nFront: \"A\"\n{}{}", line("t1"), line("t2"))
        };
        let mut request =
            ChatRequest { messages: vec![told(&view("t1")), told("Go on.")], ..ChatRequest::default() };
        assert_eq!(front_tab(&request), Some("t1"));
        request.messages.push(told(&view("t2")));
        assert_eq!(front_tab(&request), Some("t2"));
        assert_eq!(front_tab(&ChatRequest::default()), None);
    }

    #[test]
    fn members_are_read_as_actions() {
        let at = json!({ "type": "coordinate", "x": 3, "y": 4 });
        let point = json!({ "point": { "x": 3.0, "y": 4.0 } });
        check(
            "left_click",
            &json!({ "target": at, "modifiers": "ctrl" }),
            json!([{ "do": "click", "at": point, "button": "left", "count": 1, "hold": "ctrl" }]),
        );
        check(
            "double_click",
            &json!({ "target": { "type": "ref", "ref": "n7" } }),
            json!([{ "do": "click", "at": { "ref": "n7" }, "button": "left", "count": 2 }]),
        );
        check(
            "navigate",
            &json!({ "url": "example.org" }),
            json!([{ "do": "navigate", "url": "https://example.org" }]),
        );
        check("navigate", &json!({ "url": "back" }), json!([{ "do": "history", "go": "back" }]));
        check(
            "scroll",
            &json!({ "target": at, "scroll_direction": "down" }),
            json!([{ "do": "scroll", "at": point, "dx": 0, "dy": 3 }]),
        );
        check(
            "key",
            &json!({ "text": "ctrl+a Delete" }),
            json!([{ "do": "key", "chord": "ctrl+a" }, { "do": "key", "chord": "delete" }]),
        );
        check(
            "left_click_drag",
            &json!({ "from": at, "target": at }),
            json!([{ "do": "drag", "path": [{ "x": 3.0, "y": 4.0 }, { "x": 3.0, "y": 4.0 }], "button": "left" }]),
        );
        check("screenshot", &json!({ "tab_id": "t2" }), json!([{ "do": "screenshot" }]));
        let elsewhere = "actions go to the tab in front; bring it to the front first";
        check("screenshot", &json!({ "tab_id": "t1" }), elsewhere);
        check("left_click", &json!({}), "target is missing");
        check(
            "left_click",
            &json!({ "targets": at }),
            "there is no argument \"targets\" in left_click; did you mean \"target\"?",
        );
        check(
            "hover",
            &json!({ "target": { "x": 3, "y": 4, "z": 5 } }),
            "there is no argument \"z\" in target; did you mean \"x\"?",
        );
        check("find", &json!({ "query": "x" }), "there is no action \"find\"");
    }
}
