//! Every action of the vendors' browser sets: from a reply of a strict server through the adapter, the loop and a real
//! Chromium, with its effect read from the page's own events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use apprentice_harness::env::browser::PageScripts;
use apprentice_protocol::{EnvironmentKind, Outline, StopReason};
use serde_json::{Value, json};

use super::adapters::Adapter;
use super::matrix::attempt_in;
use super::strict::{collect_pictures, strictly};
use super::within;
use crate::desk::{Desk, HOME, SCREEN};

/// The members of Anthropic's browser toolset.
const MEMBERS: [&str; 31] = [
    "close_tab",
    "double_click",
    "file_upload",
    "find",
    "form_input",
    "get_page_text",
    "hold_key",
    "hover",
    "javascript_exec",
    "key",
    "left_click",
    "left_click_drag",
    "left_mouse_down",
    "left_mouse_up",
    "list_tabs",
    "middle_click",
    "mouse_move",
    "navigate",
    "new_tab",
    "read_console",
    "read_network",
    "read_page",
    "right_click",
    "screenshot",
    "scroll",
    "scroll_to",
    "switch_tab",
    "triple_click",
    "type",
    "wait",
    "zoom",
];

/// The functions of Gemini's browser set.
const FUNCTIONS: [&str; 20] = [
    "click",
    "double_click",
    "drag_and_drop",
    "go_back",
    "go_forward",
    "hotkey",
    "key_down",
    "key_up",
    "middle_click",
    "mouse_down",
    "mouse_up",
    "move",
    "navigate",
    "press_key",
    "right_click",
    "scroll",
    "take_screenshot",
    "triple_click",
    "type",
    "wait",
];

/// The actions of the function `page`, which joins the native tools that lack them.
const PAGE_ACTIONS: [&str; 15] = [
    "accept_dialog",
    "back",
    "close_tab",
    "dismiss_dialog",
    "fill",
    "find",
    "forward",
    "navigate",
    "open_tab",
    "page_text",
    "read_page",
    "reload",
    "select",
    "switch_tab",
    "upload",
];

const BODY: &str = "<style>body{margin:0;height:3000px} body>*{position:absolute;width:100px;height:40px}</style>
    <button id=one style='left:100px;top:100px'>One</button> <input id=field aria-label=Field style='left:300px;top:100px'>
    <input type=file id=file aria-label=File style='left:600px;top:100px;width:250px'>
    <div id=item draggable=true style='left:100px;top:300px'>Carry</div> <div id=goal style='left:400px;top:300px'>Goal</div>
    <select id=size aria-label=Size style='left:700px;top:300px'><option>Small<option>Large</select>
    <button id=ask style='left:900px;top:300px' onclick='document.title=`answer `+prompt(`who?`)'>Ask</button>
    <p id=far style='top:2500px'>Far below</p>
    <script>
        let told = [];
        const tell = (...words) => { told = [...told, words.join(' ')].slice(-5); document.title = told.join(' | '); };
        const name = (e) => e.target.id || 'page';
        for (const kind of ['mousedown', 'mouseup', 'dblclick', 'contextmenu', 'auxclick', 'mouseover'])
            addEventListener(kind, (e) => tell(kind, name(e)), true);
        addEventListener('click', (e) => tell('click' + e.detail, name(e)), true);
        for (const kind of ['keydown', 'keyup']) addEventListener(kind, (e) => tell(kind, e.key));
        for (const kind of ['input', 'change']) addEventListener(kind, (e) => { if (e.target !== file) tell(kind, name(e), e.target.value); });
        file.onchange = () => { const reader = new FileReader();
            reader.onload = () => tell('file', file.files[0].name, reader.result); reader.readAsText(file.files[0]); };
        goal.ondragover = (e) => e.preventDefault(); goal.ondrop = () => tell('dropped');
        addEventListener('scroll', () => tell('scrolled')); console.log('hello');
    </script>";

/// What a case must show in the request after it.
#[derive(Clone, Copy)]
enum Expect {
    /// The page's title holds this.
    Title(&'static str),
    /// A result holds this.
    Says(&'static str),
    /// So many pictures came.
    Pictures(usize),
    /// A result was cut at its limit and says this at its end.
    Cut(&'static str),
}

type Calls = Vec<(&'static str, Value)>;

struct Case {
    calls: Calls,
    expect: Expect,
}

fn case(calls: Calls, expect: Expect) -> Case {
    Case { calls, expect }
}

/// What came with a request that was not in the one before.
#[derive(Default)]
struct Fresh {
    title: String,
    texts: Vec<String>,
    pictures: usize,
}

/// What the server knows while it answers.
#[derive(Default)]
struct Talk {
    known: usize,
    refs: BTreeMap<String, String>,
    fresh: Vec<Fresh>,
}

fn collect_texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let state = fields.get("type").is_some_and(|kind| kind == "browser_state");
            found.extend(state.then(|| value.to_string()));
            fields
                .iter()
                .filter(|(name, _)| *name != "data")
                .for_each(|(_, inner)| collect_texts(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| collect_texts(inner, found)),
        Value::String(text) => found.push(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Talk {
    fn hear(&mut self, body: &Value) {
        let all = body["messages"].as_array().or(body["input"].as_array()).expect("a conversation");
        let new = Value::Array(all[self.known..].to_vec());
        self.known = all.len();
        let mut fresh = Fresh::default();
        collect_texts(&new, &mut fresh.texts);
        let mut pictures = Vec::new();
        collect_pictures(&new, &mut pictures);
        fresh.pictures = pictures.len();
        for text in &fresh.texts {
            let nodes = Outline::parse(text).nodes.into_iter();
            self.refs.extend(nodes.map(|node| (node.name, node.id.0)));
            let title = text.lines().find_map(|line| line.strip_prefix("Front: "));
            fresh.title = title.map_or(std::mem::take(&mut fresh.title), str::to_owned);
        }
        self.fresh.push(fresh);
    }

    /// Puts references in the place of names: `#One`.
    fn filled_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text.starts_with('#') => {
                let id = self.refs.get(&text[1..]);
                Value::from(id.unwrap_or_else(|| panic!("{text} in {:?}", self.refs)).clone())
            }
            Value::Object(fields) => {
                fields.iter().map(|(name, inner)| (name.clone(), self.filled_in(inner))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.filled_in(item)).collect(),
            other => other.clone(),
        }
    }
}

fn reply(adapter: Adapter, number: usize, calls: &[(&str, Value)]) -> Value {
    let blocks = calls.iter().enumerate().map(|(at, (name, input))| {
        let (id, function) = (format!("c{number}_{at}"), matches!(*name, "page" | "finish"));
        match adapter {
            Adapter::Anthropic if function => json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
            Adapter::Anthropic => {
                json!({ "type": "tool_use", "id": id, "toolset_name": "browser", "name": name, "input": input })
            }
            _ => json!({ "type": "function_call", "id": id, "name": name, "arguments": input }),
        }
    });
    let blocks: Vec<Value> = blocks.collect();
    match adapter {
        Adapter::Anthropic => json!({ "content": blocks, "stop_reason": "tool_use", "usage": {} }),
        _ => json!({ "status": "requires_action", "steps": blocks, "usage": {} }),
    }
}

/// Opens the page anew before each case, reads its elements, does the case, and compares what the page says.
async fn live(adapter: Adapter, cases: Vec<Case>) {
    let mut desk = Desk::open_with(PageScripts::On).await;
    desk.machine.write(&format!("{HOME}/a.txt"), b"alpha").await.expect("written");
    desk.show("other", "other").await;
    desk.show("big", &"<p><a href=x>Link of a page that is long</a> and words beside it</p>".repeat(2000))
        .await;
    desk.show("set", BODY).await;
    let page = format!("file://{HOME}/set.html");
    let read = match adapter {
        Adapter::Anthropic => ("read_page", json!({})),
        _ => ("page", json!({ "action": "read_page" })),
    };
    let begin = vec![("navigate", json!({ "url": page })), read];
    let talk = Arc::new(Mutex::new(Talk::default()));
    let turns: Vec<Calls> = cases.iter().flat_map(|case| [begin.clone(), case.calls.clone()]).collect();
    let heard = Arc::clone(&talk);
    let server = crate::server::Server::start(move |request, number| {
        strictly(adapter, request, |body| {
            let mut talk = heard.lock().expect("is sound");
            talk.hear(body);
            let last = vec![("finish", json!({ "finish": "done" }))];
            let calls = turns.get(number).unwrap_or(&last);
            let calls: Vec<(&str, Value)> =
                calls.iter().map(|(name, input)| (*name, talk.filled_in(input))).collect();
            reply(adapter, number, &calls)
        })
    });
    let server = server.await;
    let patient = std::time::Duration::from_secs(30);
    let deadlines = apprentice_models::http::Timeouts {
        connect: patient,
        first_byte: patient,
        idle: patient,
        whole: patient,
    };
    let model = adapter.model(&server.base, within(deadlines), None);
    let ended = attempt_in(&*model, desk.environment.as_mut(), EnvironmentKind::Browser, SCREEN).await;
    assert_eq!(ended.stop, Ok(StopReason::Done), "{ended:?}");
    let heard = std::mem::take(&mut talk.lock().expect("is sound").fresh);
    for (number, case) in cases.iter().enumerate() {
        let Fresh { title, texts, pictures } = &heard[2 * number + 2];
        let told = format!("{:?}: {title}\n{texts:#?}", case.calls);
        match case.expect {
            Expect::Title(part) => assert!(title.contains(part), "{part} {told}"),
            Expect::Says(part) => assert!(texts.iter().any(|text| text.contains(part)), "{part} {told}"),
            Expect::Pictures(count) => assert_eq!(*pictures, count, "{told}"),
            Expect::Cut(part) => {
                let cut: Vec<&String> = texts.iter().filter(|text| text.contains(part)).collect();
                assert_eq!(cut.len(), 1, "{part} {told}");
                assert!((15_000..=20_000).contains(&cut[0].chars().count()), "{} {told}", cut[0].len());
            }
        }
    }
    desk.close().await;
}

fn covers(cases: &[Case], all: &[&str], name: impl Fn(&'static str, &Value) -> Option<String>) {
    let mut used: Vec<String> =
        cases.iter().flat_map(|case| &case.calls).filter_map(|(call, input)| name(call, input)).collect();
    used.sort();
    used.dedup();
    assert_eq!(used, all, "every action of the set");
}

fn point(x: i32, y: i32) -> Value {
    json!({ "type": "coordinate", "x": x, "y": y })
}

fn node(name: &str) -> Value {
    json!({ "type": "ref", "ref": name })
}

fn pointer_members() -> Vec<Case> {
    use Expect::{Pictures, Says, Title};
    let one = || json!({ "target": point(150, 120) });
    vec![
        case(vec![("left_click", json!({ "target": node("#One") }))], Title("click1 one")),
        case(
            vec![("left_click", json!({ "target": point(150, 120), "modifiers": "shift" }))],
            Title("keyup Shift"),
        ),
        case(vec![("right_click", one())], Title("contextmenu one")),
        case(vec![("middle_click", one())], Title("auxclick one")),
        case(vec![("double_click", one())], Title("dblclick one")),
        case(vec![("triple_click", one())], Title("click3 one")),
        case(vec![("hover", json!({ "target": node("#One") }))], Title("mouseover one")),
        case(vec![("mouse_move", json!({ "target": point(450, 320) }))], Title("mouseover goal")),
        case(
            vec![("left_mouse_down", one()), ("left_mouse_up", json!({ "target": point(450, 320) }))],
            Title("mousedown one | mouseover goal | mouseup goal"),
        ),
        case(
            vec![("left_click_drag", json!({ "from": point(150, 320), "target": point(450, 320) }))],
            Title("dropped"),
        ),
        case(
            vec![(
                "scroll",
                json!({ "target": point(600, 600), "scroll_direction": "down", "scroll_amount": 2 }),
            )],
            Title("scrolled"),
        ),
        case(vec![("scroll_to", json!({ "target": node("#Far below") }))], Title("scrolled")),
        case(vec![("screenshot", json!({}))], Pictures(1)),
        case(vec![("zoom", json!({ "region": [100, 100, 300, 200] }))], Pictures(2)),
        case(vec![("wait", json!({ "duration": 1 }))], Says("Done.")),
    ]
}

fn page_members() -> Vec<Case> {
    use Expect::{Cut, Says, Title};
    let big = || ("navigate", json!({ "url": format!("file://{HOME}/big.html") }));
    let field = ("left_click", json!({ "target": node("#Field") }));
    vec![
        case(vec![field.clone(), ("type", json!({ "text": "abc" }))], Title("input field abc")),
        case(
            vec![field.clone(), ("key", json!({ "text": "x y" }))],
            Title("keydown y | input field xy | keyup y"),
        ),
        case(vec![("hold_key", json!({ "text": "q", "duration": 0.1 }))], Title("keydown q | keyup q")),
        case(
            vec![("form_input", json!({ "target": node("#Field"), "value": 7 }))],
            Title("input field 7 | change field 7"),
        ),
        case(
            vec![("form_input", json!({ "target": node("#Size"), "value": "Large" }))],
            Title("input size Large | change size Large"),
        ),
        case(
            vec![("file_upload", json!({ "target": node("#File"), "paths": ["a.txt"] }))],
            Title("file a.txt alpha"),
        ),
        case(
            vec![("read_page", json!({ "filter": "interactive" }))],
            Says("Elements of the page:\nbutton \"One\""),
        ),
        case(
            vec![("find", json!({ "query": "ask button" }))],
            Says("1 element holds these words:\nbutton \"Ask\""),
        ),
        case(vec![("get_page_text", json!({}))], Says("Far below")),
        case(vec![big(), ("get_page_text", json!({}))], Cut(" more characters]")),
        case(
            vec![big(), ("read_page", json!({}))],
            Cut(" more elements do not fit]\n[read a part by its reference"),
        ),
        case(vec![("read_console", json!({}))], Says("Console of the page:\nlog: hello")),
        case(vec![("read_network", json!({}))], Says("/set.html: 200")),
        case(vec![("javascript_exec", json!({ "text": "document.title = 'scripted'" }))], Title("scripted")),
    ]
}

fn tab_members() -> Vec<Case> {
    use Expect::{Says, Title};
    vec![
        case(vec![("navigate", json!({ "url": format!("file://{HOME}/other.html") }))], Title("other")),
        case(
            vec![
                ("navigate", json!({ "url": format!("file://{HOME}/other.html") })),
                ("navigate", json!({ "url": "back" })),
            ],
            Title("\"set\""),
        ),
        case(vec![("list_tabs", json!({}))], Says("\"tab_id\":\"t1\"")),
        case(
            vec![("new_tab", json!({}))],
            Says("{\"state_changes\":[{\"tab_id\":\"t2\",\"type\":\"tab_opened\"}]"),
        ),
        // What follows in the same reply may name the tab.
        case(
            vec![
                ("switch_tab", json!({ "tab_id": "t1" })),
                ("left_click", json!({ "target": point(150, 120), "tab_id": "t1" })),
            ],
            Title("click1 one"),
        ),
        case(vec![("close_tab", json!({ "tab_id": "t2" }))], Says("\"tab_id\":\"t1\"")),
        // The first that fails stops the rest, in the words that the server wants; a dialog is answered by a function.
        case(
            vec![
                ("find", json!({ "query": "!" })),
                ("list_tabs", json!({})),
                ("left_click", json!({ "target": node("#One") })),
            ],
            Says("Not executed: an earlier action in this turn failed."),
        ),
        case(
            vec![
                ("left_click", json!({ "target": node("#Ask") })),
                ("page", json!({ "action": "accept_dialog", "text": "me" })),
            ],
            Title("answer me"),
        ),
    ]
}

fn members() -> Vec<Case> {
    pointer_members().into_iter().chain(page_members()).chain(tab_members()).collect()
}

/// What the page of the guide says of a set, one row for each case.
fn rows(cases: &[Case]) -> String {
    let row = |case: &Case| {
        let calls: Vec<String> = case.calls.iter().map(|(name, input)| format!("`{name} {input}`")).collect();
        let effect = match case.expect {
            Expect::Title(part) => format!("the page says `{part}`"),
            Expect::Says(part) => format!("the answer says `{part}`"),
            Expect::Pictures(1) => "one picture comes back".to_owned(),
            Expect::Pictures(count) => format!("{count} pictures come back"),
            Expect::Cut(part) => format!("the answer is cut at its limit and says `{part}`"),
        };
        let cell = |text: String| text.replace('|', "\\|").replace('\n', " ");
        format!("| {} | {} |\n", cell(calls.join("<br>")), cell(effect))
    };
    cases.iter().map(row).collect()
}

/// The page of the guide about actions says of each set what these cases show.
#[test]
fn the_page_of_actions_is_what_these_tests_show() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/actions.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let missing: Vec<String> = [members(), functions(), page_actions()]
        .iter()
        .map(|cases| rows(cases))
        .filter(|rows| !page.contains(rows))
        .collect();
    assert!(missing.is_empty(), "docs/actions.md lacks these rows:\n{}", missing.join("\n"));
}

#[tokio::test]
async fn anthropics_browser_set_works_on_a_page() {
    let cases = members();
    covers(&cases, &MEMBERS, |name, _| (name != "page").then(|| name.to_owned()));
    live(Adapter::Anthropic, cases).await;
}

/// A point of the page in thousandths.
fn at(x: i32, y: i32) -> (i32, i32) {
    (x * 1000 / 1280, y * 1000 / 800)
}

fn spot(x: i32, y: i32) -> Value {
    let (x, y) = at(x, y);
    json!({ "x": x, "y": y })
}

fn functions() -> Vec<Case> {
    use Expect::{Pictures, Says, Title};
    let other = || ("navigate", json!({ "url": format!("file://{HOME}/other.html") }));
    let ((x0, y0), (x1, y1)) = (at(150, 320), at(450, 320));
    let (x, y) = at(600, 600);
    vec![
        case(vec![("click", spot(150, 120))], Title("click1 one")),
        case(vec![("double_click", spot(150, 120))], Title("dblclick one")),
        case(vec![("triple_click", spot(150, 120))], Title("click3 one")),
        case(vec![("right_click", spot(150, 120))], Title("contextmenu one")),
        case(vec![("middle_click", spot(150, 120))], Title("auxclick one")),
        case(vec![("move", spot(150, 120))], Title("mouseover one")),
        case(
            vec![("mouse_down", spot(150, 120)), ("mouse_up", spot(450, 320))],
            Title("mousedown one | mouseover goal | mouseup goal"),
        ),
        case(
            vec![("drag_and_drop", json!({ "start_x": x0, "start_y": y0, "end_x": x1, "end_y": y1 }))],
            Title("dropped"),
        ),
        case(
            vec![("click", spot(350, 120)), ("type", json!({ "text": "abc", "press_enter": true }))],
            Title("keydown Enter"),
        ),
        case(vec![("press_key", json!({ "key": "q" }))], Title("keydown q | keyup q")),
        case(vec![("hotkey", json!({ "keys": ["Shift", "q"] }))], Title("keydown Q | keyup Q | keyup Shift")),
        case(
            vec![
                ("key_down", json!({ "key": "Shift" })),
                ("press_key", json!({ "key": "q" })),
                ("key_up", json!({ "key": "Shift" })),
            ],
            Title("keydown Shift | keydown Q | keyup Q | keyup Shift"),
        ),
        case(vec![("scroll", json!({ "x": x, "y": y, "direction": "down" }))], Title("scrolled")),
        case(vec![other()], Title("other")),
        case(vec![other(), ("go_back", json!({}))], Title("\"set\"")),
        case(vec![other(), ("go_back", json!({})), ("go_forward", json!({}))], Title("other")),
        case(vec![("take_screenshot", json!({}))], Pictures(1)),
        case(vec![("wait", json!({ "seconds": 1 }))], Says("Done.")),
    ]
}

fn page_actions() -> Vec<Case> {
    use Expect::{Says, Title};
    let page = |input: Value| ("page", input);
    let (x, y) = at(750, 320);
    let url = format!("file://{HOME}/other.html");
    let go = || page(json!({ "action": "navigate", "url": url }));
    vec![
        case(
            vec![page(json!({ "action": "fill", "ref": "#Field", "text": "abc" }))],
            Title("input field abc | change field abc"),
        ),
        case(
            vec![page(json!({ "action": "select", "coordinate": [x, y], "text": "Large" }))],
            Title("change size Large"),
        ),
        case(
            vec![page(json!({ "action": "upload", "ref": "#File", "files": ["a.txt"] }))],
            Title("file a.txt alpha"),
        ),
        case(
            vec![page(json!({ "action": "find", "text": "ask" }))],
            Says("1 element holds these words:\nbutton \"Ask\""),
        ),
        case(
            vec![page(json!({ "action": "read_page", "ref": "#One" }))],
            Says("Elements of the page:\nbutton \"One\""),
        ),
        case(vec![page(json!({ "action": "page_text" }))], Says("Text of the page:")),
        case(vec![go()], Title("other")),
        case(vec![go(), page(json!({ "action": "back" }))], Title("\"set\"")),
        case(
            vec![go(), page(json!({ "action": "back" })), page(json!({ "action": "forward" }))],
            Title("other"),
        ),
        case(vec![("click", spot(150, 120)), page(json!({ "action": "reload" }))], Title("\"set\"")),
        case(vec![page(json!({ "action": "open_tab", "url": url }))], Says("Tab: t2 \"other\"")),
        case(vec![page(json!({ "action": "switch_tab", "tab": "t1" }))], Title("\"set\"")),
        case(vec![page(json!({ "action": "close_tab", "tab": "t2" }))], Title("\"set\"")),
        case(
            vec![("click", spot(950, 320)), page(json!({ "action": "accept_dialog", "text": "me" }))],
            Title("answer me"),
        ),
        case(
            vec![("click", spot(950, 320)), page(json!({ "action": "dismiss_dialog" }))],
            Title("answer null"),
        ),
    ]
}

#[tokio::test]
async fn geminis_browser_set_and_the_page_function_work_on_a_page() {
    covers(&functions(), &FUNCTIONS, |name, _| Some(name.to_owned()));
    let action =
        |name: &str, input: &Value| input["action"].as_str().filter(|_| name == "page").map(str::to_owned);
    covers(&page_actions(), &PAGE_ACTIONS, action);
    live(Adapter::Gemini, functions().into_iter().chain(page_actions()).collect()).await;
}
