//! Every action of the vendors' desktop sets and of OSWorld's two action spaces: from a reply of a strict server through the
//! adapter, the loop and a real desktop, with its effect read from the X events of a window.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use apprentice_models::compat::{ActionFormat, Compat, CompatConfig, StudentProfile};
use apprentice_models::http::{Endpoint, Timeouts};
use apprentice_models::options::CallOptions;
use apprentice_protocol::{
    ChatModel, Command, CoordinateSpace, EnvironmentKind, Size, StopReason, Want, World,
};
use serde_json::{Value, json};

use super::adapters::Adapter;
use super::matrix::attempt_in;
use super::strict::{collect_pictures, strictly};
use super::within;
use crate::cell::state;
use crate::desktop::{close, open, pause, until_within};
use crate::server::Server;

const SCREEN: Size = Size::new(1280, 800);
/// The key that separates the events of two cases.
const MARK: &str = "key F12";

/// A set of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActionSet {
    Anthropic,
    OpenAi,
    Gemini,
    Computer13,
    Pyautogui,
}

/// What a case shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// The window's events hold these, in this order.
    Events(&'static [&'static str]),
    /// The next request holds this text.
    Says(&'static str),
    /// The next request holds so many pictures.
    Pictures(usize),
}

/// An action of a set, in calls of its form, and what it does.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) calls: Vec<Value>,
    pub(super) effect: Effect,
}

impl ActionSet {
    fn adapter(self) -> Adapter {
        match self {
            Self::Anthropic => Adapter::Anthropic,
            Self::OpenAi => Adapter::OpenAi,
            Self::Gemini => Adapter::Gemini,
            Self::Computer13 | Self::Pyautogui => Adapter::Compat,
        }
    }

    fn model(self, base: &str) -> Box<dyn ChatModel> {
        let patient = Duration::from_secs(60);
        let deadlines = Timeouts { connect: patient, first_byte: patient, idle: patient, whole: patient };
        let dialect = match self {
            Self::Computer13 => ActionFormat::Computer13,
            Self::Pyautogui => ActionFormat::Pyautogui,
            Self::Anthropic | Self::OpenAi | Self::Gemini => {
                return self.adapter().model(base, within(deadlines), None);
            }
        };
        let student = StudentProfile::load("generic").expect("is sound");
        let student = StudentProfile { dialect, space: CoordinateSpace::ImagePixels, ..student };
        let config = CompatConfig {
            model: "m".into(),
            endpoint: Endpoint::new(base, None),
            student,
            tariff: None,
            effort: None,
            calls: CallOptions::default(),
            adaptation: std::sync::Arc::default(),
        };
        Box::new(Compat::new(config, within(deadlines)))
    }

    /// A call that presses the key between two cases.
    fn mark(self) -> Value {
        match self {
            Self::Anthropic => json!(["key", { "text": "F12" }]),
            Self::OpenAi => json!({ "type": "keypress", "keys": ["F12"] }),
            Self::Gemini => json!(["press_key", { "key": "F12" }]),
            Self::Computer13 => json!({ "action_type": "PRESS", "key": "f12" }),
            Self::Pyautogui => json!("pyautogui.press('f12')"),
        }
    }

    /// A reply with these calls; the end of the attempt without any.
    fn reply(self, number: usize, calls: &[Value]) -> Value {
        let id = |at: usize| format!("c{number}_{at}");
        let words = |text: &str| {
            let message = json!({ "role": "assistant", "content": text, "refusal": null });
            let choice = json!({ "index": 0, "finish_reason": "stop", "message": message });
            json!({ "id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                "usage": { "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14 } })
        };
        let finish = json!({ "finish": "done" });
        match self {
            Self::Anthropic => {
                let call = |(at, call): (usize, &Value)| {
                    json!({ "type": "tool_use", "id": id(at), "toolset_name": "computer", "name": call[0],
                        "input": call[1] })
                };
                let mut blocks: Vec<Value> = calls.iter().enumerate().map(call).collect();
                if calls.is_empty() {
                    blocks =
                        vec![json!({ "type": "tool_use", "id": id(0), "name": "finish", "input": finish })];
                }
                json!({ "content": blocks, "stop_reason": "tool_use", "usage": {} })
            }
            Self::OpenAi if calls.is_empty() => {
                json!({ "status": "completed", "usage": {}, "output": [{ "type": "function_call", "id": "fc_1",
                    "call_id": id(0), "name": "finish", "status": "completed", "arguments": finish.to_string() }] })
            }
            Self::OpenAi => json!({ "status": "completed", "usage": {}, "output": [{ "type": "computer_call",
                "id": format!("cu_{number}"), "call_id": id(0), "status": "completed",
                "pending_safety_checks": [], "actions": calls }] }),
            Self::Gemini => {
                let step = |(at, call): (usize, &Value)| json!({ "type": "function_call", "id": id(at), "name": call[0], "arguments": call[1] });
                let mut steps: Vec<Value> = calls.iter().enumerate().map(step).collect();
                if calls.is_empty() {
                    steps.push(json!({ "type": "function_call", "id": id(0), "name": "finish", "arguments": finish }));
                }
                json!({ "status": "requires_action", "steps": steps, "usage": {} })
            }
            Self::Computer13 | Self::Pyautogui if calls.is_empty() => words("```\nDONE\n```"),
            Self::Computer13 => words(&calls[0].to_string()),
            Self::Pyautogui => {
                let lines: Vec<&str> = calls.iter().filter_map(Value::as_str).collect();
                words(&format!("```python\n{}\n```", lines.join("\n")))
            }
        }
    }

    /// The turns of a case: OSWorld's objects come one a turn, the others in one batch.
    fn turns(self, case: &Case) -> Vec<Vec<Value>> {
        let all: Vec<Value> = case.calls.iter().cloned().chain([self.mark()]).collect();
        if self == Self::Computer13 { all.into_iter().map(|call| vec![call]).collect() } else { vec![all] }
    }
}

/// What came with a request that was not in the one before.
#[derive(Default)]
struct Fresh {
    texts: String,
    pictures: usize,
}

fn fresh(body: &Value, known: &mut usize) -> Fresh {
    let all = body["messages"].as_array().or(body["input"].as_array()).expect("a conversation");
    let new = Value::Array(all[(*known).min(all.len())..].to_vec());
    *known = all.len();
    let mut pictures = Vec::new();
    collect_pictures(&new, &mut pictures);
    Fresh { texts: new.to_string(), pictures: pictures.len() }
}

/// What a window that prints its X events was told, a line each: presses and releases of keys and buttons, and motion.
async fn events(world: &World) -> Vec<String> {
    let text = world.machine.read("events.txt").await.expect("events");
    let mut found = Vec::new();
    for event in String::from_utf8_lossy(&text).split("\n\n") {
        let after = |name: &str| event.split_once(name).map(|(_, rest)| rest);
        let field = |name: &str| after(name)?.split([',', '\n']).next().map(str::trim);
        let state = field("state ").unwrap_or_default();
        let place = after("root:(").and_then(|rest| rest.split(')').next()).unwrap_or_default();
        let button = field("button ").unwrap_or_default();
        let key = after("(keysym ").and_then(|rest| rest.split([',', ')']).nth(1)).unwrap_or_default().trim();
        let kind = ["ButtonPress", "ButtonRelease", "KeyPress", "KeyRelease", "MotionNotify"]
            .into_iter()
            .find(|kind| event.contains(&format!("{kind} event")));
        found.push(match kind {
            Some("ButtonPress") => format!("{state} press {button} at {place}"),
            Some("ButtonRelease") => format!("{state} release {button} at {place}"),
            Some("KeyPress") => format!("{state} key {key}"),
            Some("KeyRelease") => format!("{state} up {key}"),
            Some("MotionNotify") => format!("{state} move {place}"),
            _ => continue,
        });
    }
    found
}

/// Whether these lines hold the others in their order. A line without a state is one at which nothing is held.
fn holds(lines: &[String], expected: &[&str]) -> bool {
    let mut lines = lines.iter();
    expected.iter().all(|expected| {
        let whole =
            if expected.starts_with("0x") { (*expected).to_owned() } else { format!("0x0 {expected}") };
        lines.any(|line| *line == whole)
    })
}

/// Opens a desktop with a window that tells its events.
async fn tester(folder: &std::path::Path) -> World {
    let mut world = open(folder).await;
    let command = ["sh", "-c", "cd; exec xev -geometry 1000x700+100+60 > events.txt 2>&1"];
    // A program that starts faster than the window manager would not be listed.
    world.environment.observe(Want { screenshot: true, tree: None }).await.expect("seen");
    world.machine.launch(&Command::new(command)).await.expect("launched");
    let budget = apprentice_protocol::TreeBudget::default();
    until_within(&mut world, budget, "the window", |seen| {
        seen.windows.iter().any(|window| window.title == "Event Tester")
    })
    .await;
    world
}

/// Does each case on a desktop, and compares what its window was told.
async fn live(set: ActionSet, cases: &[Case]) {
    let state = state();
    let mut world = tester(state.path()).await;
    let heard: Arc<Mutex<Vec<Fresh>>> = Arc::default();
    let turns: Vec<Vec<Value>> = cases.iter().flat_map(|case| set.turns(case)).collect();
    let (told, known) = (heard.clone(), Mutex::new(0));
    let server = Server::start(move |request, number| {
        strictly(set.adapter(), request, |body| {
            let new = fresh(body, &mut known.lock().expect("is sound"));
            told.lock().expect("is sound").push(new);
            set.reply(number, turns.get(number).map(Vec::as_slice).unwrap_or_default())
        })
    })
    .await;
    let model = set.model(&server.base);
    let ended = attempt_in(&*model, world.environment.as_mut(), EnvironmentKind::Desktop, SCREEN).await;
    assert_eq!(ended.stop, Ok(StopReason::Done), "{ended:?}");
    let is_mark = |line: &String| line.ends_with(MARK);
    let mut seen = Vec::new();
    for _ in 0..100 {
        seen = events(&world).await;
        if seen.iter().filter(|line| is_mark(line)).count() >= cases.len() {
            break;
        }
        pause(100).await;
    }
    let parts: Vec<&[String]> = seen.split(is_mark).collect();
    assert_eq!(parts.len(), cases.len() + 1, "{set:?}: {seen:#?}");
    let heard = std::mem::take(&mut *heard.lock().expect("is sound"));
    let mut request = 0;
    for (case, part) in cases.iter().zip(parts) {
        let first = request + 1;
        request += set.turns(case).len();
        let answers = &heard[first..=request];
        let told: Vec<&str> = answers.iter().map(|fresh| fresh.texts.as_str()).collect();
        let what = format!("{set:?} {}: {:?}", case.name, case.calls);
        match case.effect {
            Effect::Events(expected) => {
                assert!(holds(part, expected), "{what}: {expected:?} in {part:#?} {told:?}");
            }
            Effect::Says(words) => assert!(told.iter().any(|told| told.contains(words)), "{what}: {told:?}"),
            Effect::Pictures(count) => {
                assert_eq!(
                    answers.iter().map(|fresh| fresh.pictures).sum::<usize>(),
                    count,
                    "{what}: {told:?}"
                );
            }
        }
    }
    close(world).await;
}

fn case(name: &'static str, calls: Vec<Value>, effect: Effect) -> Case {
    Case { name, calls, effect }
}

const LEFT: Effect = Effect::Events(&["press 1 at 320,400", "0x100 release 1 at 320,400"]);
const MIDDLE: Effect = Effect::Events(&["press 2 at 320,400", "0x200 release 2 at 320,400"]);
const RIGHT: Effect = Effect::Events(&["press 3 at 320,400", "0x400 release 3 at 320,400"]);
const TWICE: Effect = Effect::Events(&["press 1 at 320,400", "press 1 at 320,400"]);
const THRICE: Effect = Effect::Events(&["press 1 at 320,400", "press 1 at 320,400", "press 1 at 320,400"]);
const MOVED: Effect = Effect::Events(&["move 640,480"]);
const DRAGGED: Effect =
    Effect::Events(&["press 1 at 320,400", "0x100 move 640,480", "0x100 release 1 at 640,480"]);
const DOWN: Effect = Effect::Events(&["press 5 at 320,400", "press 5 at 320,400"]);
const UP: Effect = Effect::Events(&["press 4 at 320,400", "press 4 at 320,400"]);
const RIGHTWARDS: Effect = Effect::Events(&["press 7 at 320,400", "press 7 at 320,400"]);
const LEFTWARDS: Effect = Effect::Events(&["press 6 at 320,400", "press 6 at 320,400"]);
const TYPED: Effect = Effect::Events(&["key a", "key eacute", "key Tab", "key Return"]);
const PRESSED: Effect = Effect::Events(&["key q", "up q"]);
const CHORD: Effect = Effect::Events(&["key Control_L", "0x4 key q", "0x4 up q", "0x4 up Control_L"]);
const HELD: Effect = Effect::Events(&["key Shift_L", "0x1 key Q", "0x1 up Shift_L"]);

fn anthropic_pointer() -> Vec<Case> {
    let at = || json!({ "coordinate": [320, 400] });
    let with = |more: Value| {
        let mut all = at();
        more.as_object().expect("fields").iter().for_each(|(name, value)| all[name] = value.clone());
        all
    };
    let scroll = |direction: &str| {
        vec![json!(["scroll", with(json!({ "scroll_direction": direction, "scroll_amount": 2 }))])]
    };
    let to = json!({ "coordinate": [640, 480] });
    vec![
        case("left_click", vec![json!(["left_click", at()])], LEFT),
        case(
            "left_click with keys",
            vec![json!(["left_click", with(json!({ "text": "ctrl+shift" }))])],
            Effect::Events(&["0x5 press 1 at 320,400", "0x105 release 1 at 320,400"]),
        ),
        case("right_click", vec![json!(["right_click", at()])], RIGHT),
        case("middle_click", vec![json!(["middle_click", at()])], MIDDLE),
        case("double_click", vec![json!(["double_click", at()])], TWICE),
        case("triple_click", vec![json!(["triple_click", at()])], THRICE),
        case("mouse_move", vec![json!(["mouse_move", to])], MOVED),
        case(
            "left_click_drag",
            vec![json!(["left_click_drag", { "start_coordinate": [320, 400], "coordinate": [640, 480] }])],
            DRAGGED,
        ),
        case(
            "left_mouse_down, left_mouse_up",
            vec![
                json!(["mouse_move", at()]),
                json!(["left_mouse_down", {}]),
                json!(["mouse_move", to]),
                json!(["left_mouse_up", {}]),
            ],
            DRAGGED,
        ),
        case("scroll down", scroll("down"), DOWN),
        case("scroll up", scroll("up"), UP),
        case("scroll right", scroll("right"), RIGHTWARDS),
        case("scroll left", scroll("left"), LEFTWARDS),
        case(
            "scroll with keys",
            vec![json!([
                "scroll",
                with(json!({ "scroll_direction": "down", "scroll_amount": 1, "text": "ctrl" }))
            ])],
            Effect::Events(&["0x4 press 5 at 320,400"]),
        ),
    ]
}

fn anthropic_keys() -> Vec<Case> {
    let to = json!({ "coordinate": [640, 480] });
    vec![
        case("type", vec![json!(["type", { "text": "aé\t\n" }])], TYPED),
        case("key", vec![json!(["key", { "text": "ctrl+q" }])], CHORD),
        case(
            "hold_key",
            vec![json!(["hold_key", { "text": "shift", "duration": 0.2 }])],
            Effect::Events(&["key Shift_L", "0x1 up Shift_L"]),
        ),
        case(
            "cursor_position",
            vec![json!(["mouse_move", to]), json!(["cursor_position", {}])],
            Effect::Says("640"),
        ),
        case("screenshot", vec![json!(["screenshot", {}])], Effect::Pictures(1)),
        case("zoom", vec![json!(["zoom", { "region": [300, 300, 700, 500] }])], Effect::Pictures(2)),
        case("wait", vec![json!(["wait", { "duration": 1 }])], Effect::Says("Done.")),
    ]
}

/// Anthropic's computer toolset.
fn anthropic() -> Vec<Case> {
    anthropic_pointer().into_iter().chain(anthropic_keys()).collect()
}

/// OpenAI's computer tool.
fn openai() -> Vec<Case> {
    let click = |button: &str| vec![json!({ "type": "click", "button": button, "x": 320, "y": 400 })];
    let scroll =
        |x: i32, y: i32| vec![json!({ "type": "scroll", "x": 320, "y": 400, "scroll_x": x, "scroll_y": y })];
    let path = json!([{ "x": 320, "y": 400 }, { "x": 640, "y": 480 }]);
    vec![
        case("click left", click("left"), LEFT),
        case("click right", click("right"), RIGHT),
        case("click wheel", click("wheel"), MIDDLE),
        case("click back", click("back"), Effect::Events(&["press 8 at 320,400"])),
        case("click forward", click("forward"), Effect::Events(&["press 9 at 320,400"])),
        case(
            "click with keys",
            vec![json!({ "type": "click", "button": "left", "x": 320, "y": 400, "keys": ["CTRL"] })],
            Effect::Events(&["0x4 press 1 at 320,400", "0x104 release 1 at 320,400"]),
        ),
        case("double_click", vec![json!({ "type": "double_click", "x": 320, "y": 400 })], TWICE),
        case("drag", vec![json!({ "type": "drag", "path": path })], DRAGGED),
        case(
            "drag with keys",
            vec![json!({ "type": "drag", "path": path, "keys": ["SHIFT"] })],
            Effect::Events(&["0x1 press 1 at 320,400", "0x101 move 640,480", "0x101 release 1 at 640,480"]),
        ),
        case("move", vec![json!({ "type": "move", "x": 640, "y": 480 })], MOVED),
        case("scroll down", scroll(0, 200), DOWN),
        case("scroll up", scroll(0, -200), UP),
        case("scroll right", scroll(200, 0), RIGHTWARDS),
        case("scroll left", scroll(-200, 0), LEFTWARDS),
        case("type", vec![json!({ "type": "type", "text": "aé\t\n" })], TYPED),
        case("keypress", vec![json!({ "type": "keypress", "keys": ["CTRL", "Q"] })], CHORD),
        case("screenshot", vec![json!({ "type": "screenshot" })], Effect::Pictures(1)),
        case("wait", vec![json!({ "type": "wait" })], Effect::Pictures(1)),
    ]
}

/// Gemini's desktop set.
fn gemini() -> Vec<Case> {
    let at = || json!({ "x": 250, "y": 500 });
    let to = || json!({ "x": 500, "y": 600 });
    let key = |name: &str, key: &str| json!([name, { "key": key }]);
    let scroll = |direction: &str| {
        vec![json!(["scroll", { "x": 250, "y": 500, "direction": direction, "magnitude_in_pixels": 200 }])]
    };
    vec![
        case("click", vec![json!(["click", at()])], LEFT),
        case("double_click", vec![json!(["double_click", at()])], TWICE),
        case("triple_click", vec![json!(["triple_click", at()])], THRICE),
        case("right_click", vec![json!(["right_click", at()])], RIGHT),
        case("middle_click", vec![json!(["middle_click", at()])], MIDDLE),
        case("move", vec![json!(["move", to()])], MOVED),
        case(
            "mouse_down, mouse_up",
            vec![json!(["mouse_down", at()]), json!(["move", to()]), json!(["mouse_up", to()])],
            DRAGGED,
        ),
        case(
            "drag_and_drop",
            vec![json!(["drag_and_drop", { "start_x": 250, "start_y": 500, "end_x": 500, "end_y": 600 }])],
            DRAGGED,
        ),
        case("type", vec![json!(["type", { "text": "aé\t", "press_enter": true }])], TYPED),
        case("press_key", vec![key("press_key", "q")], PRESSED),
        case("hotkey", vec![json!(["hotkey", { "keys": ["control", "q"] }])], CHORD),
        case(
            "key_down, key_up",
            vec![key("key_down", "shift"), key("press_key", "q"), key("key_up", "shift")],
            HELD,
        ),
        case("scroll down", scroll("down"), DOWN),
        case("scroll up", scroll("up"), UP),
        case("scroll right", scroll("right"), RIGHTWARDS),
        case("scroll left", scroll("left"), LEFTWARDS),
        case("take_screenshot", vec![json!(["take_screenshot", {}])], Effect::Pictures(1)),
        case("wait", vec![json!(["wait", { "seconds": 1 }])], Effect::Says("Done.")),
    ]
}

/// OSWorld's `computer_13`.
fn computer_13() -> Vec<Case> {
    let one = |kind: &str, fields: Value| {
        let mut object = json!({ "action_type": kind });
        fields.as_object().expect("fields").iter().for_each(|(name, value)| object[name] = value.clone());
        object
    };
    let at = |kind: &str| one(kind, json!({ "x": 320, "y": 400 }));
    let to = |kind: &str| one(kind, json!({ "x": 640, "y": 480 }));
    let bare = |kind: &str| one(kind, json!({}));
    let scroll = |dx: i32, dy: i32| vec![at("MOVE_TO"), one("SCROLL", json!({ "dx": dx, "dy": dy }))];
    vec![
        case("MOVE_TO", vec![to("MOVE_TO")], MOVED),
        case("CLICK", vec![at("CLICK")], LEFT),
        case(
            "CLICK here",
            vec![at("MOVE_TO"), one("CLICK", json!({ "button": "right", "num_clicks": 1 }))],
            RIGHT,
        ),
        case("RIGHT_CLICK", vec![at("RIGHT_CLICK")], RIGHT),
        case("DOUBLE_CLICK", vec![at("DOUBLE_CLICK")], TWICE),
        case(
            "MOUSE_DOWN, MOUSE_UP",
            vec![at("MOVE_TO"), bare("MOUSE_DOWN"), to("MOVE_TO"), bare("MOUSE_UP")],
            DRAGGED,
        ),
        case("DRAG_TO", vec![at("MOVE_TO"), to("DRAG_TO")], DRAGGED),
        case("SCROLL down", scroll(0, -2), DOWN),
        case("SCROLL up", scroll(0, 2), UP),
        case("SCROLL right", scroll(2, 0), RIGHTWARDS),
        case("SCROLL left", scroll(-2, 0), LEFTWARDS),
        case("TYPING", vec![one("TYPING", json!({ "text": "aé\t\n" }))], TYPED),
        case("PRESS", vec![one("PRESS", json!({ "key": "q" }))], PRESSED),
        case("HOTKEY", vec![one("HOTKEY", json!({ "keys": ["ctrl", "q"] }))], CHORD),
        case(
            "KEY_DOWN, KEY_UP",
            vec![
                one("KEY_DOWN", json!({ "key": "shift" })),
                one("PRESS", json!({ "key": "q" })),
                one("KEY_UP", json!({ "key": "shift" })),
            ],
            HELD,
        ),
        case("WAIT", vec![bare("WAIT")], Effect::Pictures(2)),
    ]
}

/// `pyautogui` code, and what stands beside it in agents' replies.
fn pyautogui() -> Vec<Case> {
    let code = |lines: &[&str]| -> Vec<Value> { lines.iter().map(|line| Value::from(*line)).collect() };
    vec![
        case("click", code(&["pyautogui.click(x=320, y=400)"]), LEFT),
        case("click here", code(&["pyautogui.moveTo(320, 400)", "pyautogui.click()"]), LEFT),
        case("click with a button", code(&["pyautogui.click(320, 400, button='middle')"]), MIDDLE),
        case("click several times", code(&["pyautogui.click(320, 400, clicks=3)"]), THRICE),
        case("rightClick", code(&["pyautogui.rightClick(320, 400)"]), RIGHT),
        case("middleClick", code(&["pyautogui.middleClick(320, 400)"]), MIDDLE),
        case("doubleClick", code(&["pyautogui.doubleClick(320, 400)"]), TWICE),
        case("tripleClick", code(&["pyautogui.tripleClick(320, 400)"]), THRICE),
        case("moveTo", code(&["pyautogui.moveTo(640, 480, duration=0.5)"]), MOVED),
        case(
            "move, moveRel",
            code(&["pyautogui.moveTo(320, 400)", "pyautogui.move(300, 100)", "pyautogui.moveRel(20, -20)"]),
            MOVED,
        ),
        case(
            "dragTo",
            code(&["pyautogui.moveTo(320, 400)", "pyautogui.dragTo(640, 480, button='left')"]),
            DRAGGED,
        ),
        case("drag, dragRel", code(&["pyautogui.moveTo(320, 400)", "pyautogui.dragRel(320, 80)"]), DRAGGED),
        case(
            "mouseDown, mouseUp",
            code(&["pyautogui.mouseDown(320, 400)", "pyautogui.moveTo(640, 480)", "pyautogui.mouseUp()"]),
            DRAGGED,
        ),
        case("scroll, vscroll down", code(&["pyautogui.scroll(-2, x=320, y=400)"]), DOWN),
        case("scroll, vscroll up", code(&["pyautogui.vscroll(2, x=320, y=400)"]), UP),
        case("hscroll", code(&["pyautogui.hscroll(2, x=320, y=400)"]), RIGHTWARDS),
        case("write, typewrite", code(&["pyautogui.typewrite('aé\\t\\n', interval=0.05)"]), TYPED),
        case("write with key names", code(&["pyautogui.write(['q'])"]), PRESSED),
        case("press", code(&["pyautogui.press('q', presses=1)"]), PRESSED),
        case("hotkey", code(&["pyautogui.hotkey('ctrl', 'q')"]), CHORD),
        case(
            "keyDown, keyUp",
            code(&["pyautogui.keyDown('ctrl')", "pyautogui.click(320, 400)", "pyautogui.keyUp('ctrl')"]),
            Effect::Events(&["0x4 press 1 at 320,400", "0x104 release 1 at 320,400"]),
        ),
        case("time.sleep", code(&["time.sleep(0.5)"]), Effect::Pictures(1)),
    ]
}

/// Names of a set's actions, of which each has a case: a case may show several, and one in several ways.
fn covers(set: &str, cases: &[Case], all: &[&str]) {
    for name in all {
        let named = |case: &Case| {
            let head = case.name.split(" with ").next().unwrap_or_default();
            head.split([',', ' ']).any(|part| part == *name)
        };
        assert!(cases.iter().any(named), "{set} has no case of {name}");
    }
}

/// What a page of the guide says of a set, one row for each case.
fn rows(cases: &[Case]) -> String {
    let written = |call: &Value| match call {
        Value::String(code) => code.clone(),
        Value::Array(parts) => format!("{} {}", parts[0].as_str().unwrap_or_default(), parts[1]),
        other => other.to_string(),
    };
    let row = |case: &Case| {
        let calls: Vec<String> = case.calls.iter().map(|call| format!("`{}`", written(call))).collect();
        let effect = match case.effect {
            Effect::Events(events) => {
                events.iter().map(|event| format!("`{event}`")).collect::<Vec<_>>().join(" · ")
            }
            Effect::Says(words) => format!("the answer says `{words}`"),
            Effect::Pictures(1) => "one picture comes back".to_owned(),
            Effect::Pictures(count) => format!("{count} pictures come back"),
        };
        format!("| {} | {} | {effect} |\n", case.name, calls.join("<br>"))
    };
    cases.iter().map(row).collect()
}

/// The page of the guide about actions says of each set what these cases show.
#[test]
fn the_page_of_actions_is_what_these_tests_show() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/actions.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let mut missing = String::new();
    for cases in [anthropic(), openai(), gemini(), computer_13(), pyautogui()] {
        let rows = rows(&cases);
        if !page.contains(&rows) {
            missing.push_str(&rows);
            missing.push('\n');
        }
    }
    assert!(missing.is_empty(), "docs/actions.md lacks these rows:\n{missing}");
}

#[tokio::test]
async fn anthropics_computer_set_works_on_a_desktop() {
    let all = [
        "key",
        "type",
        "mouse_move",
        "left_click",
        "left_click_drag",
        "right_click",
        "middle_click",
        "double_click",
        "triple_click",
        "screenshot",
        "cursor_position",
        "left_mouse_down",
        "left_mouse_up",
        "scroll",
        "hold_key",
        "wait",
        "zoom",
    ];
    covers("Anthropic", &anthropic(), &all);
    live(ActionSet::Anthropic, &anthropic()).await;
}

#[tokio::test]
async fn openais_computer_tool_works_on_a_desktop() {
    let all = ["click", "double_click", "drag", "keypress", "move", "screenshot", "scroll", "type", "wait"];
    covers("OpenAI", &openai(), &all);
    live(ActionSet::OpenAi, &openai()).await;
}

#[tokio::test]
async fn geminis_desktop_set_works_on_a_desktop() {
    let all = [
        "click",
        "double_click",
        "triple_click",
        "right_click",
        "middle_click",
        "move",
        "mouse_down",
        "mouse_up",
        "drag_and_drop",
        "type",
        "press_key",
        "hotkey",
        "key_down",
        "key_up",
        "scroll",
        "take_screenshot",
        "wait",
    ];
    covers("Gemini", &gemini(), &all);
    live(ActionSet::Gemini, &gemini()).await;
}

#[tokio::test]
async fn osworlds_computer_13_works_on_a_desktop() {
    // DONE ends the attempt, and FAIL is read by `computer_13::objects_are_read_as_actions`.
    let all = [
        "MOVE_TO",
        "CLICK",
        "MOUSE_DOWN",
        "MOUSE_UP",
        "RIGHT_CLICK",
        "DOUBLE_CLICK",
        "DRAG_TO",
        "SCROLL",
        "TYPING",
        "PRESS",
        "KEY_DOWN",
        "KEY_UP",
        "HOTKEY",
        "WAIT",
    ];
    covers("computer_13", &computer_13(), &all);
    live(ActionSet::Computer13, &computer_13()).await;
}

#[tokio::test]
async fn osworlds_pyautogui_code_works_on_a_desktop() {
    let all = [
        "click",
        "rightClick",
        "middleClick",
        "doubleClick",
        "tripleClick",
        "moveTo",
        "move",
        "moveRel",
        "dragTo",
        "drag",
        "dragRel",
        "mouseDown",
        "mouseUp",
        "scroll",
        "vscroll",
        "hscroll",
        "write",
        "typewrite",
        "press",
        "hotkey",
        "keyDown",
        "keyUp",
        "time.sleep",
    ];
    covers("pyautogui", &pyautogui(), &all);
    live(ActionSet::Pyautogui, &pyautogui()).await;
}
