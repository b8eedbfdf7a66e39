//! Translates actions into Python one-liners with `pyautogui`, the form that OSWorld's machines execute. Pure.

use std::fmt::Write as _;

use apprentice_protocol::{Action, Button, Chord, Key, NodeRef, ScreenPoint, Size, Target};

use super::script::{BEGIN, Script, line, quoted};
use super::typing::typed;

/// Most notches of the wheel in one action.
const NOTCHES: u32 = 50;
/// Longest time that a chord may be held, in milliseconds.
const LONGEST_HOLD: u32 = 30_000;
/// Most clicks in one action.
const CLICKS: u8 = 5;
/// Returns the position of the element with this reference.
pub(super) type Find<'a> = &'a dyn Fn(&NodeRef) -> Result<ScreenPoint, String>;

/// Returns the script for an action, or the refusal for the model.
pub(super) fn script(action: &Action<ScreenPoint>, screen: Size, find: Find<'_>) -> Result<Script, String> {
    let aim = |target: &Target<ScreenPoint>| match target {
        Target::Point(point) => inside(*point, screen),
        Target::Ref(node) => find(node).and_then(|point| inside(point, screen)),
    };
    let to = |target: Option<&Target<ScreenPoint>>| match target {
        None => Ok(String::new()),
        Some(target) => aim(target).map(|point| format!("pyautogui.moveTo({}, {}); ", point.x, point.y)),
    };
    let lines = match action {
        Action::Click { at, button, count, hold } => {
            if !(1..=CLICKS).contains(count) {
                return Err(format!("a click may be repeated up to {CLICKS} times, not {count}"));
            }
            let point = aim(at)?;
            let held = hold.as_ref().map(names).transpose()?.unwrap_or_default();
            let down: String = held.iter().map(|key| format!("pyautogui.keyDown({key}); ")).collect();
            let up: String = held.iter().rev().map(|key| format!("pyautogui.keyUp({key}); ")).collect();
            let (x, y, button) = (point.x, point.y, name(*button));
            format!(
                "{down}pyautogui.click(x={x}, y={y}, clicks={count}, interval=0.05, button={button}); {up}"
            )
        }
        Action::Move { to: target } => to(Some(target))?,
        Action::Press { at, button } => {
            format!("{}pyautogui.mouseDown(button={}); ", to(at.as_ref())?, name(*button))
        }
        Action::Release { at, button } => {
            format!("{}pyautogui.mouseUp(button={}); ", to(at.as_ref())?, name(*button))
        }
        Action::Drag { path, button } => drag(path, *button, screen)?,
        Action::Scroll { at, dx, dy } => {
            if dx.unsigned_abs() > NOTCHES || dy.unsigned_abs() > NOTCHES {
                return Err(format!("scroll by at most {NOTCHES} notches at a time"));
            }
            let down = if *dy == 0 { String::new() } else { format!("pyautogui.scroll({}); ", -dy) };
            let across = if *dx == 0 { String::new() } else { format!("pyautogui.hscroll({dx}); ") };
            format!("{}{down}{across}", to(at.as_ref())?)
        }
        Action::Hold { keys, actions } => held(keys, actions, screen, find)?,
        Action::Cursor => return Err("this world does not tell where its pointer is".into()),
        Action::Type { text } => return typed(text),
        Action::Key { chord, hold_ms } => pressed(chord, *hold_ms)?,
        Action::KeyDown { keys } => strokes("keyDown", names(keys)?.iter()),
        Action::KeyUp { keys } => strokes("keyUp", names(keys)?.iter().rev()),
        other => return without_input(other),
    };
    Ok(line(&lines, String::new()))
}

/// Presses or releases keys one after another.
fn strokes<'k>(what: &str, keys: impl Iterator<Item = &'k String>) -> String {
    keys.map(|key| format!("pyautogui.{what}({key}); ")).collect()
}

/// An action that needs no input is nothing to run; others that the keyboard and the pointer cannot do are refused.
fn without_input(action: &Action<ScreenPoint>) -> Result<Script, String> {
    match action {
        Action::Screenshot | Action::Zoom { .. } | Action::Wait { .. } => Ok(Script::Nothing),
        Action::Read { what } if what.is_in_observation() => Ok(Script::Nothing),
        Action::Select { .. } => {
            Err("click the list to open it, then click its option: this world cannot choose by name".into())
        }
        _ => {
            Err("this is a desktop, not a browser page: use the keyboard and the mouse in its windows".into())
        }
    }
}

/// Returns the point if it lies on the screen.
fn inside(point: ScreenPoint, screen: Size) -> Result<ScreenPoint, String> {
    let (width, height) = (screen.width, screen.height);
    if (0..width.cast_signed()).contains(&point.x) && (0..height.cast_signed()).contains(&point.y) {
        return Ok(point);
    }
    Err(format!("point ({}, {}) is not on the screen of {width} by {height}", point.x, point.y))
}

fn drag(path: &[ScreenPoint], button: Button, screen: Size) -> Result<String, String> {
    let [start, rest @ ..] = path else { return Err("a drag needs two points".into()) };
    if rest.is_empty() {
        return Err("a drag needs two points at least".into());
    }
    let start = inside(*start, screen)?;
    let button = name(button);
    let mut lines =
        format!("pyautogui.moveTo({}, {}); pyautogui.mouseDown(button={button}); ", start.x, start.y);
    for point in rest {
        let point = inside(*point, screen)?;
        let _ = write!(lines, "pyautogui.moveTo({}, {}, duration=0.2); ", point.x, point.y);
    }
    let _ = write!(lines, "pyautogui.mouseUp(button={button}); ");
    Ok(lines)
}

fn name(button: Button) -> &'static str {
    match button {
        Button::Left => "'left'",
        Button::Middle => "'middle'",
        // X's numbers of the buttons on the side.
        Button::Back => "8",
        Button::Forward => "9",
        Button::Right => "'right'",
    }
}

fn pressed(chord: &Chord, hold: Option<u32>) -> Result<String, String> {
    if hold.is_some_and(|hold| hold > LONGEST_HOLD) {
        return Err(format!("keys may be held for up to {} s", LONGEST_HOLD / 1000));
    }
    let keys = names(chord)?;
    let Some(hold) = hold else { return Ok(format!("pyautogui.hotkey({}); ", keys.join(", "))) };
    let down: String = keys.iter().map(|key| format!("pyautogui.keyDown({key}); ")).collect();
    let up: String = keys.iter().rev().map(|key| format!("pyautogui.keyUp({key}); ")).collect();
    Ok(format!("{down}time.sleep({}.{:03}); {up}", hold / 1000, hold % 1000))
}

/// The keys of a chord by their `pyautogui` names, as Python string literals.
fn names(chord: &Chord) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for key in chord.keys() {
        match key.as_str() {
            "<" => names.extend(["'shift'".to_owned(), "','".to_owned()]),
            _ => names.push(
                key_name(key).map(quoted).ok_or_else(|| format!("the keyboard has no key for {chord}"))?,
            ),
        }
    }
    Ok(names)
}

/// The lines that use the pointer while keys are held.
fn held(
    keys: &Chord,
    actions: &[Action<ScreenPoint>],
    screen: Size,
    find: Find<'_>,
) -> Result<String, String> {
    let mut inner = Vec::new();
    for action in actions {
        if matches!(action, Action::Type { .. } | Action::Key { .. } | Action::Hold { .. }) {
            return Err("only the pointer is used while keys are held".into());
        }
        match script(action, screen, find)? {
            Script::Line { code, .. } => inner.push(code.trim_start_matches(BEGIN).to_owned()),
            Script::Nothing => {}
        }
    }
    let keys = names(keys)?;
    let down: String = keys.iter().map(|key| format!("pyautogui.keyDown({key}); ")).collect();
    let up: String = keys.iter().rev().map(|key| format!("pyautogui.keyUp({key}); ")).collect();
    Ok(format!("{down}{}; {up}", inner.join("; ")))
}

/// The keypad's keys in pyautogui.
const PYAUTOGUI_KEYPAD: &[&str] = &[
    "num0", "num1", "num2", "num3", "num4", "num5", "num6", "num7", "num8", "num9", "add", "subtract",
    "multiply", "divide", "decimal",
];

fn key_name(key: &Key) -> Option<&str> {
    Some(match key.as_str() {
        "super" => "win",
        "plus" => "+",
        "page_up" => "pageup",
        "page_down" => "pagedown",
        "caps_lock" => "capslock",
        "print" => "printscreen",
        "menu" => "apps",
        "num_lock" => "numlock",
        "scroll_lock" => "scrolllock",
        "kp_equal" => "=",
        other if other.starts_with("kp_") => {
            let name = other.trim_start_matches("kp_");
            PYAUTOGUI_KEYPAD.iter().find(|known| known.trim_start_matches("num") == name)?
        }
        other if Key::NAMED.contains(&other) => other,
        other => Some(other).filter(|other| other.len() == 1 && other.is_ascii())?,
    })
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Action, Button, Chord, NodeRef, ScreenPoint, Size, Target};

    use super::super::script::BEGIN;
    use super::{Script, script};

    fn find(node: &NodeRef) -> Result<ScreenPoint, String> {
        if node.0 == "n1" { Ok(ScreenPoint::new(7, 8)) } else { Err(format!("{node} is gone")) }
    }

    #[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
    fn check(action: Action<ScreenPoint>, expected: Result<&str, &str>) {
        let found = script(&action, Size::new(800, 600), &find);
        let found = found.map(|script| match script {
            Script::Nothing => String::new(),
            Script::Line { code, untyped, .. } => {
                let code = code.strip_prefix(BEGIN).expect("begins as all do").to_owned();
                if untyped.is_empty() { code } else { format!("{code} # {untyped}") }
            }
        });
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{action:?}");
    }

    fn point(x: i32, y: i32) -> Target<ScreenPoint> {
        Target::Point(ScreenPoint::new(x, y))
    }

    fn key(chord: &str, hold_ms: Option<u32>) -> Action<ScreenPoint> {
        Action::Key { chord: Chord::parse(chord).expect("a chord"), hold_ms }
    }

    #[test]
    fn the_pointer_acts_where_it_is_told() {
        let click = |at, count| Action::Click { at, button: Button::Left, count, hold: None };
        check(click(point(3, 4), 2), Ok("pyautogui.click(x=3, y=4, clicks=2, interval=0.05, button='left')"));
        check(
            click(Target::Ref(NodeRef("n1".into())), 1),
            Ok("pyautogui.click(x=7, y=8, clicks=1, interval=0.05, button='left')"),
        );
        check(click(Target::Ref(NodeRef("n2".into())), 1), Err("n2 is gone"));
        check(click(point(800, 4), 1), Err("point (800, 4) is not on the screen of 800 by 600"));
        let keys = || Chord::parse("ctrl+shift").expect("a chord");
        check(Action::KeyDown { keys: keys() }, Ok("pyautogui.keyDown('ctrl'); pyautogui.keyDown('shift')"));
        check(Action::KeyUp { keys: keys() }, Ok("pyautogui.keyUp('shift'); pyautogui.keyUp('ctrl')"));
        check(click(point(0, 0), 9), Err("a click may be repeated up to 5 times, not 9"));
        check(
            Action::Click {
                at: point(1, 1),
                button: Button::Right,
                count: 1,
                hold: Chord::parse("ctrl+shift").ok(),
            },
            Ok("pyautogui.keyDown('ctrl'); pyautogui.keyDown('shift'); \
                pyautogui.click(x=1, y=1, clicks=1, interval=0.05, button='right'); \
                pyautogui.keyUp('shift'); pyautogui.keyUp('ctrl')"),
        );
        check(
            Action::Drag { path: vec![ScreenPoint::new(1, 2), ScreenPoint::new(3, 4)], button: Button::Left },
            Ok(
                "pyautogui.moveTo(1, 2); pyautogui.mouseDown(button='left'); pyautogui.moveTo(3, 4, duration=0.2); \
                pyautogui.mouseUp(button='left')",
            ),
        );
        check(Action::Drag { path: vec![], button: Button::Left }, Err("a drag needs two points"));
        check(
            Action::Scroll { at: Some(point(5, 5)), dx: 0, dy: 3 },
            Ok("pyautogui.moveTo(5, 5); pyautogui.scroll(-3)"),
        );
        check(Action::Scroll { at: None, dx: -2, dy: 0 }, Ok("pyautogui.hscroll(-2)"));
        let actions = vec![Action::Scroll { at: Some(point(5, 5)), dx: 0, dy: 3 }];
        check(
            Action::Hold { keys: Chord::parse("ctrl").expect("a chord"), actions },
            Ok(
                "pyautogui.keyDown('ctrl'); pyautogui.moveTo(5, 5); pyautogui.scroll(-3); pyautogui.keyUp('ctrl')",
            ),
        );
        let actions = vec![Action::Type { text: "a".into() }];
        let held = Action::Hold { keys: Chord::parse("ctrl").expect("a chord"), actions };
        check(held, Err("only the pointer is used while keys are held"));
        check(Action::Scroll { at: None, dx: 0, dy: 99 }, Err("scroll by at most 50 notches at a time"));
        check(Action::Release { at: None, button: Button::Left }, Ok("pyautogui.mouseUp(button='left')"));
        check(Action::Wait { ms: 5 }, Ok(""));
    }

    #[test]
    fn text_and_keys_are_told_by_their_names() {
        let text = |text: &str| Action::Type { text: text.into() };
        check(
            text("it's \\ \"a\" <b>\n\t\u{7}"),
            Ok("pyautogui.write('it\\'s \\\\ \"a\" ', interval=0.01); pyautogui.hotkey('shift', ','); \
                pyautogui.write('b>', interval=0.01); pyautogui.press('enter'); pyautogui.press('tab') # \u{7}"),
        );
        check(text(""), Ok(""));
        check(text(&"x".repeat(4001)), Err("type at most 4000 characters at a time"));
        check(key("ctrl+shift+page_down", None), Ok("pyautogui.hotkey('ctrl', 'shift', 'pagedown')"));
        check(key("super+plus", None), Ok("pyautogui.hotkey('win', '+')"));
        check(key("ctrl+<", None), Ok("pyautogui.hotkey('ctrl', 'shift', ',')"));
        check(key("'", None), Ok("pyautogui.hotkey('\\'')"));
        check(
            key("alt+f4", Some(1250)),
            Ok("pyautogui.keyDown('alt'); pyautogui.keyDown('f4'); time.sleep(1.250); \
            pyautogui.keyUp('f4'); pyautogui.keyUp('alt')"),
        );
        check(key("ctrl+ß", None), Err("the keyboard has no key for ctrl+ß"));
        check(key("a", Some(40_000)), Err("keys may be held for up to 30 s"));
    }
}
