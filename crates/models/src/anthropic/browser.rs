//! Converts the members of Anthropic's browser toolset to our actions.

use apprentice_protocol::{
    Action, Button, ChatRequest, Chord, Content, FieldValue, History, ImagePoint, Message, PageReading,
    READ_DEPTH, ReadFilter, Tab, TabAction, Target,
};
use serde_json::{Map, Value, json};

use crate::action_format::{
    Arguments, Meta, ModelOutput, milliseconds, node_ref, read_arguments, region, repeated, scroll_delta,
    whole,
};

/// The first line of a view.
const SCREEN_HEADING: &str = "Screen now.";

/// Most tabs in one block, and the deepest tree that may be asked for.
const MAX_TABS: usize = 100;
const MAX_DEPTH: u32 = 60;

/// Members that the vendor leaves off unless a request turns them on.
const OFF_BY_DEFAULT: [&str; 3] = ["file_upload", "read_console", "read_network"];

/// The toolset's definition. All members are served; scripts only where the settings allow them.
pub(super) fn browser_toolset(scripts: bool) -> Value {
    let mut configs: Map<String, Value> =
        OFF_BY_DEFAULT.iter().map(|member| ((*member).to_owned(), json!({ "enabled": true }))).collect();
    configs.insert("javascript_exec".into(), json!({ "enabled": scripts }));
    json!({ "type": "browser_toolset_20260801", "configs": configs })
}

/// Whether the result of a member is the list of tabs and nothing else.
pub(super) fn answers_with_tabs(member: &str) -> bool {
    matches!(member, "list_tabs" | "new_tab" | "switch_tab" | "close_tab")
}

/// Converts the list of tabs in a result's texts to the block that the toolset wants. The tab that `new_tab` opened is
/// in front. `None` if no text is such a list.
pub(super) fn browser_state<'t>(texts: impl IntoIterator<Item = &'t str>, member: &str) -> Option<Value> {
    let list = texts.into_iter().find(|text| text.lines().next() == Some(PageReading::Tabs.heading()))?;
    let tabs: Vec<Tab> = list.lines().filter_map(Tab::parse).take(MAX_TABS).collect();
    let front = tabs.iter().find(|tab| tab.active)?;
    let block =
        |tab: &Tab| json!({ "tab_id": tab.id, "title": tab.title, "url": tab.url, "active": tab.active });
    let all: Vec<Value> = tabs.iter().map(block).collect();
    let mut state = json!({ "type": "browser_state", "tabs": all });
    if member == "new_tab" {
        state["state_changes"] = json!([{ "type": "tab_opened", "tab_id": front.id }]);
    }
    Some(state)
}

/// Reads one call of a member. `front` is the tab that the model sees, and points belong to it.
pub(super) fn read_browser(member: &str, input: &Value, front: Option<&str>) -> Result<ModelOutput, String> {
    read_arguments(member, input, |given| {
        if let Some(tab) = read_tabs(member, given)? {
            let list = Action::Read { what: PageReading::Tabs };
            return Ok(ModelOutput::Actions(tab.into_iter().chain([list]).collect()));
        }
        let tab = given.optional_text("tab_id")?;
        if tab.is_some_and(|tab| front != Some(tab)) {
            return Err("actions go to the tab in front; bring it to the front first".into());
        }
        read_member(member, given)
    })
}

/// Returns the tab in front by the last observation in a request.
pub(super) fn front_tab(request: &ChatRequest) -> Option<String> {
    let texts = request.messages.iter().rev().flat_map(|message| match message {
        Message::User { content } => content.iter().collect::<Vec<_>>(),
        Message::Results { results, .. } => results.iter().rev().flat_map(|result| &result.content).collect(),
        Message::Assistant { .. } => Vec::new(),
    });
    let seen = texts.filter_map(Content::as_text).find(|text| text.starts_with(SCREEN_HEADING))?;
    seen.lines().filter_map(Tab::parse).find(|tab| tab.active).map(|tab| tab.id)
}

/// Reads a member that is about tabs: the change of the tabs, if there is one. `None` for any other member.
fn read_tabs(member: &str, given: Arguments<'_>) -> Result<Option<Option<Action<ImagePoint>>>, String> {
    let id = || given.text("tab_id").map(str::to_owned);
    let tab = match member {
        "list_tabs" => return Ok(Some(None)),
        "new_tab" => TabAction::Open { url: None },
        "switch_tab" => TabAction::Switch { id: id()? },
        "close_tab" => TabAction::Close { id: id()? },
        _ => return Ok(None),
    };
    Ok(Some(Some(Action::Tab { tab })))
}

/// Reads a member that reads the page or fills in its forms; `None` for any other member.
fn read_form_member(member: &str, given: Arguments<'_>) -> Result<Option<Action<ImagePoint>>, String> {
    let read = |what| Action::Read { what };
    Ok(Some(match member {
        "read_page" => read(PageReading::Tree {
            filter: match given.optional_text("filter")? {
                None | Some("all") => ReadFilter::All,
                Some("interactive") => ReadFilter::Interactive,
                Some(other) => {
                    return Err(format!("filter must be \"all\" or \"interactive\", not {other:?}"));
                }
            },
            depth: depth(given.number_or("depth", f64::from(READ_DEPTH))?)?,
            part: given.optional_text("ref")?.map(node_ref),
        }),
        "get_page_text" => read(PageReading::Text),
        "find" => read(PageReading::Find { query: given.text("query")?.to_owned() }),
        "read_console" => read(PageReading::Console),
        "read_network" => read(PageReading::Network),
        "scroll_to" => Action::ScrollTo { at: target(given, "target")? },
        "form_input" => Action::Fill { at: target(given, "target")?, value: value(given)? },
        "file_upload" => {
            let at = target(given, "target")?;
            if given.optional_texts("document_ids")?.is_some() {
                return Err("there are no documents here: give the paths of files in the home folder".into());
            }
            Action::Upload { at, files: given.optional_texts("paths")?.ok_or("paths is missing")? }
        }
        "javascript_exec" => Action::Script { source: given.text("text")?.to_owned() },
        _ => return Ok(None),
    }))
}

fn depth(levels: f64) -> Result<u32, String> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    let whole = levels as u32;
    if levels.fract() == 0.0 && (0.0..=f64::from(MAX_DEPTH)).contains(&levels) {
        return Ok(whole);
    }
    Err(format!("depth must be a whole number from 0 to {MAX_DEPTH}"))
}

fn value(given: Arguments<'_>) -> Result<FieldValue, String> {
    Ok(match given.get("value") {
        Some(Value::Bool(on)) => FieldValue::Checked(*on),
        Some(Value::String(text)) => FieldValue::Text(text.clone()),
        Some(Value::Number(number)) => FieldValue::Text(number.to_string()),
        Some(Value::Array(_)) => FieldValue::Several(given.optional_texts("value")?.unwrap_or_default()),
        Some(other) => return Err(format!("value must be a text, a number, true or false, not {other}")),
        None => return Err("value is missing".into()),
    })
}

fn read_member(member: &str, given: Arguments<'_>) -> Result<ModelOutput, String> {
    let one = |action| Ok(ModelOutput::Actions(vec![action]));
    if let Some(action) = read_form_member(member, given)? {
        return one(action);
    }
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

    use super::{ChatRequest, Content, Message, ModelOutput, browser_state, front_tab, read_browser};

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
        assert_eq!(front_tab(&request).as_deref(), Some("t1"));
        request.messages.push(told(&view("t2")));
        assert_eq!(front_tab(&request).as_deref(), Some("t2"));
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
        check("fly", &json!({ "query": "x" }), "there is no action \"fly\"");
    }

    #[test]
    fn members_that_read_and_fill_are_read_as_actions() {
        let node = json!({ "type": "ref", "ref": "n7" });
        let tree = |fields: Value| {
            let mut read = json!({ "do": "read", "read": "tree", "filter": "all", "depth": 15 });
            read.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
            json!([read])
        };
        check("read_page", &json!({}), tree(json!({})));
        let part = json!({ "filter": "interactive", "depth": 3, "ref": "#n4" });
        check("read_page", &part, tree(json!({ "filter": "interactive", "depth": 3, "part": "n4" })));
        check(
            "read_page",
            &json!({ "filter": "some" }),
            "filter must be \"all\" or \"interactive\", not \"some\"",
        );
        check("read_page", &json!({ "depth": 1.5 }), "depth must be a whole number from 0 to 60");
        check(
            "find",
            &json!({ "query": "save" }),
            json!([{ "do": "read", "read": "find", "query": "save" }]),
        );
        check("get_page_text", &json!({ "tab_id": "t2" }), json!([{ "do": "read", "read": "text" }]));
        let fill = |value: Value| json!([{ "do": "fill", "at": { "ref": "n7" }, "value": value }]);
        for (given, read) in [
            (json!(true), json!(true)),
            (json!(3), json!("3")),
            (json!("x"), json!("x")),
            (json!(["a"]), json!(["a"])),
        ] {
            check("form_input", &json!({ "target": node, "value": given }), fill(read));
        }
        check("form_input", &json!({ "target": node }), "value is missing");
        check(
            "file_upload",
            &json!({ "target": node, "paths": ["a.txt"] }),
            json!([{ "do": "upload", "at": { "ref": "n7" }, "files": ["a.txt"] }]),
        );
        let documents = json!({ "target": node, "document_ids": ["d1"] });
        check(
            "file_upload",
            &documents,
            "there are no documents here: give the paths of files in the home folder",
        );
        check("scroll_to", &json!({ "target": node }), json!([{ "do": "scroll_to", "at": { "ref": "n7" } }]));
        check("javascript_exec", &json!({ "text": "1+1" }), json!([{ "do": "script", "source": "1+1" }]));
    }

    #[test]
    fn members_about_tabs_end_with_the_list_of_tabs() {
        let list = json!({ "do": "read", "read": "tabs" });
        check("list_tabs", &json!({}), json!([list]));
        check("new_tab", &json!({}), json!([{ "do": "tab", "tab": "open", "url": null }, list]));
        check(
            "switch_tab",
            &json!({ "tab_id": "t9" }),
            json!([{ "do": "tab", "tab": "switch", "id": "t9" }, list]),
        );
        check("close_tab", &json!({}), "tab_id is missing");
        check("new_tab", &json!({ "url": "x" }), "there is no argument \"url\": new_tab takes none");
        let texts = ["Screen now.", "Tabs:\nTab: t1 \"A\" http://a/\nTab: t2 \"\" about:blank (in front)\n"];
        let state = browser_state(texts, "new_tab").expect("a list");
        assert_eq!(
            state,
            json!({ "type": "browser_state", "tabs": [
                { "tab_id": "t1", "title": "A", "url": "http://a/", "active": false },
                { "tab_id": "t2", "title": "", "url": "about:blank", "active": true },
            ], "state_changes": [{ "type": "tab_opened", "tab_id": "t2" }] })
        );
        assert_eq!(browser_state(["Tabs of another kind"], "list_tabs"), None);
    }
}
