//! Key events as a page sees them: names, codes and text of a US keyboard. Pure.

use apprentice_cdp::domain::input::{DispatchKeyEvent, KeyEventKind};
use apprentice_protocol::Key;

pub(super) const ALT: u8 = 1;
pub(super) const CTRL: u8 = 2;
pub(super) const META: u8 = 4;
pub(super) const SHIFT: u8 = 8;

/// Keys that print characters: unshifted character, shifted character, `code` and virtual key code.
const PRINTED: &[(char, char, &str, u32)] = &[
    ('1', '!', "Digit1", 49),
    ('2', '@', "Digit2", 50),
    ('3', '#', "Digit3", 51),
    ('4', '$', "Digit4", 52),
    ('5', '%', "Digit5", 53),
    ('6', '^', "Digit6", 54),
    ('7', '&', "Digit7", 55),
    ('8', '*', "Digit8", 56),
    ('9', '(', "Digit9", 57),
    ('0', ')', "Digit0", 48),
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    ('`', '~', "Backquote", 192),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
];

/// A key press in DOM terms.
struct Stroke {
    key: String,
    code: String,
    number: u32,
    text: Option<String>,
    location: u8,
}

/// The modifier's bit. 0 for other keys.
pub(super) fn modifier(key: &Key) -> u8 {
    match key.as_str() {
        "alt" => ALT,
        "ctrl" => CTRL,
        "super" => META,
        "shift" => SHIFT,
        _ => 0,
    }
}

/// The bits of all modifiers of some keys.
pub(super) fn modifiers_of(keys: &[Key]) -> u8 {
    keys.iter().fold(0, |bits, key| bits | modifier(key))
}

/// The events that press the keys one after another. `base` are the modifiers that are held already.
pub(super) fn press(keys: &[Key], base: u8) -> Vec<DispatchKeyEvent> {
    let mut held = base;
    let down = |key: &Key| {
        held |= modifier(key);
        let stroke = stroke(key, held & SHIFT != 0);
        // With Ctrl, Alt or Meta held, a key is a command and generates no text.
        let text = stroke.text.filter(|_| held & (CTRL | ALT | META) == 0);
        let kind = if text.is_some() { KeyEventKind::KeyDown } else { KeyEventKind::RawKeyDown };
        DispatchKeyEvent {
            kind,
            modifiers: held,
            key: stroke.key,
            code: stroke.code,
            windows_virtual_key_code: stroke.number,
            text,
            location: stroke.location,
        }
    };
    keys.iter().map(down).collect()
}

/// The events that release the keys, in reverse order. `base` are the modifiers that stay held.
pub(super) fn release(keys: &[Key], base: u8) -> Vec<DispatchKeyEvent> {
    let mut held = base | modifiers_of(keys);
    let up = |key: &Key| {
        let stroke = stroke(key, held & SHIFT != 0);
        held = (held & !modifier(key)) | base;
        DispatchKeyEvent {
            kind: KeyEventKind::KeyUp,
            modifiers: held,
            key: stroke.key,
            code: stroke.code,
            windows_virtual_key_code: stroke.number,
            text: None,
            location: stroke.location,
        }
    };
    keys.iter().rev().map(up).collect()
}

fn stroke(key: &Key, shifted: bool) -> Stroke {
    let name = key.as_str();
    let mut chars = name.chars();
    if let (Some(only), None) = (chars.next(), chars.next()) {
        return printed(only, shifted);
    }
    let (key, code, number) = match name {
        "space" => return with_text(" ", "Space", 32, " "),
        "plus" => return with_text("+", "Equal", 187, "+"),
        "enter" => return with_text("Enter", "Enter", 13, "\r"),
        "ctrl" => return held("Control", "ControlLeft", 17),
        "shift" => return held("Shift", "ShiftLeft", 16),
        "alt" => return held("Alt", "AltLeft", 18),
        "super" => return held("Meta", "MetaLeft", 91),
        "tab" => ("Tab", "Tab", 9),
        "escape" => ("Escape", "Escape", 27),
        "backspace" => ("Backspace", "Backspace", 8),
        "delete" => ("Delete", "Delete", 46),
        "insert" => ("Insert", "Insert", 45),
        "up" => ("ArrowUp", "ArrowUp", 38),
        "down" => ("ArrowDown", "ArrowDown", 40),
        "left" => ("ArrowLeft", "ArrowLeft", 37),
        "right" => ("ArrowRight", "ArrowRight", 39),
        "home" => ("Home", "Home", 36),
        "end" => ("End", "End", 35),
        "page_up" => ("PageUp", "PageUp", 33),
        "page_down" => ("PageDown", "PageDown", 34),
        "caps_lock" => ("CapsLock", "CapsLock", 20),
        "print" => ("PrintScreen", "PrintScreen", 44),
        "menu" => ("ContextMenu", "ContextMenu", 93),
        "num_lock" => ("NumLock", "NumLock", 144),
        "scroll_lock" => ("ScrollLock", "ScrollLock", 145),
        "pause" => ("Pause", "Pause", 19),
        "kp_multiply" => return keypad("*", "NumpadMultiply", 106),
        "kp_add" => return keypad("+", "NumpadAdd", 107),
        "kp_subtract" => return keypad("-", "NumpadSubtract", 109),
        "kp_decimal" => return keypad(".", "NumpadDecimal", 110),
        "kp_divide" => return keypad("/", "NumpadDivide", 111),
        "kp_equal" => return keypad("=", "NumpadEqual", 187),
        other => match other.strip_prefix("kp_").and_then(|digit| digit.parse::<u32>().ok()) {
            Some(digit) => return keypad(&digit.to_string(), &format!("Numpad{digit}"), 96 + digit),
            None => return function_key(other),
        },
    };
    Stroke { key: key.into(), code: code.into(), number, text: None, location: 0 }
}

fn with_text(key: &str, code: &str, number: u32, text: &str) -> Stroke {
    Stroke { key: key.into(), code: code.into(), number, text: Some(text.into()), location: 0 }
}

fn held(key: &str, code: &str, number: u32) -> Stroke {
    Stroke { key: key.into(), code: code.into(), number, text: None, location: 1 }
}

/// A key of the keypad, which is on the right of the keyboard.
fn keypad(text: &str, code: &str, number: u32) -> Stroke {
    Stroke { location: 3, ..with_text(text, code, number, text) }
}

/// A stroke of `f1` to `f24`. Other names get the key code 0.
fn function_key(name: &str) -> Stroke {
    let which = name.strip_prefix('f').and_then(|digits| digits.parse::<u32>().ok());
    let upper = name.to_uppercase();
    Stroke {
        key: upper.clone(),
        code: upper,
        number: which.map_or(0, |which| 111 + which),
        text: None,
        location: 0,
    }
}

fn printed(only: char, shifted: bool) -> Stroke {
    if only.is_ascii_alphabetic() {
        let letter = if shifted { only.to_ascii_uppercase() } else { only.to_ascii_lowercase() };
        let upper = only.to_ascii_uppercase();
        return with_text(&letter.to_string(), &format!("Key{upper}"), u32::from(upper), &letter.to_string());
    }
    if let Some((low, high, code, number)) =
        PRINTED.iter().find(|(low, high, ..)| *low == only || *high == only)
    {
        let shown = if shifted && only == *low {
            high
        } else if only == *low {
            low
        } else {
            high
        };
        return with_text(&shown.to_string(), code, *number, &shown.to_string());
    }
    let shown: String = if shifted { only.to_uppercase().collect() } else { only.into() };
    with_text(&shown, "", 0, &shown)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Chord, Key};

    use super::{press, release};

    fn check(chord: &str, expected: &[(&str, &str, u32, Option<&str>, u8)]) {
        let chord = Chord::parse(chord).expect("a chord");
        let events = press(chord.keys(), 0);
        let seen: Vec<_> = events
            .iter()
            .map(|event| {
                let text = event.text.as_deref();
                (
                    event.key.as_str(),
                    event.code.as_str(),
                    event.windows_virtual_key_code,
                    text,
                    event.modifiers,
                )
            })
            .collect();
        assert_eq!(seen, expected, "{chord}");
    }

    #[test]
    fn chords_become_strokes_of_a_us_keyboard() {
        check("a", &[("a", "KeyA", 65, Some("a"), 0)]);
        check("shift+a", &[("Shift", "ShiftLeft", 16, None, 8), ("A", "KeyA", 65, Some("A"), 8)]);
        check("ctrl+a", &[("Control", "ControlLeft", 17, None, 2), ("a", "KeyA", 65, None, 2)]);
        check("shift+1", &[("Shift", "ShiftLeft", 16, None, 8), ("!", "Digit1", 49, Some("!"), 8)]);
        check("!", &[("!", "Digit1", 49, Some("!"), 0)]);
        check("Return", &[("Enter", "Enter", 13, Some("\r"), 0)]);
        check("KP_7", &[("7", "Numpad7", 103, Some("7"), 0)]);
        check("F13", &[("F13", "F13", 124, None, 0)]);
        check("F11", &[("F11", "F11", 122, None, 0)]);
        check("é", &[("é", "", 0, Some("é"), 0)]);
    }

    #[test]
    fn every_named_key_has_a_number_and_comes_up_again() {
        for name in Key::NAMED {
            let key = Key::parse(name).expect("a key");
            let down = press(std::slice::from_ref(&key), 0);
            assert!(down[0].windows_virtual_key_code > 0, "{name}");
            let up = release(std::slice::from_ref(&key), 0);
            assert_eq!((&up[0].code, up[0].modifiers), (&down[0].code, 0), "{name}");
        }
    }
}
