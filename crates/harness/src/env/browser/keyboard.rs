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

/// The events that press the keys one after another. `base` are the modifiers that are held already. A character above another
/// on its key is given with Shift, as a keyboard gives it.
pub(super) fn press(keys: &[Key], base: u8) -> Vec<DispatchKeyEvent> {
    let mut held = base;
    let mut events = Vec::new();
    for key in keys {
        if needs_shift(key) && held & SHIFT == 0 {
            held |= SHIFT;
            events.push(event(KeyEventKind::RawKeyDown, &shift(), held));
        }
        held |= modifier(key);
        events.push(down(&stroke(key, held & SHIFT != 0), held));
    }
    events
}

/// The events that release the keys, in reverse order. `base` are the modifiers that stay held.
pub(super) fn release(keys: &[Key], base: u8) -> Vec<DispatchKeyEvent> {
    let shifts =
        base & SHIFT == 0 && keys.iter().any(needs_shift) && !keys.iter().any(|key| modifier(key) == SHIFT);
    let mut held = base | modifiers_of(keys) | if shifts { SHIFT } else { 0 };
    let mut events = Vec::new();
    for key in keys.iter().rev() {
        let stroke = stroke(key, held & SHIFT != 0);
        held = (held & !modifier(key)) | base;
        events.push(event(KeyEventKind::KeyUp, &stroke, held));
    }
    if shifts {
        events.push(event(KeyEventKind::KeyUp, &shift(), base));
    }
    events
}

/// Whether a US keyboard gives this key's character with Shift.
fn needs_shift(key: &Key) -> bool {
    let mut chars = key.as_str().chars();
    match (chars.next(), chars.next()) {
        (Some(only), None) => is_shifted(only),
        _ => key.as_str() == "plus",
    }
}

/// Whether a character stands above another on its key of a US keyboard.
fn is_shifted(only: char) -> bool {
    only.is_ascii_uppercase() || PRINTED.iter().any(|(_, high, ..)| *high == only)
}

fn shift() -> Stroke {
    held("Shift", "ShiftLeft", 16)
}

/// The event that releases Shift. `base` are the modifiers that stay held.
pub(super) fn release_shift(base: u8) -> DispatchKeyEvent {
    event(KeyEventKind::KeyUp, &shift(), base)
}

fn down(stroke: &Stroke, modifiers: u8) -> DispatchKeyEvent {
    // With Ctrl, Alt or Meta held, a key is a command and generates no text.
    let text = stroke.text.clone().filter(|_| modifiers & (CTRL | ALT | META) == 0);
    let kind = if text.is_some() { KeyEventKind::KeyDown } else { KeyEventKind::RawKeyDown };
    DispatchKeyEvent { text, ..event(kind, stroke, modifiers) }
}

fn event(kind: KeyEventKind, stroke: &Stroke, modifiers: u8) -> DispatchKeyEvent {
    DispatchKeyEvent {
        kind,
        modifiers,
        key: stroke.key.clone(),
        code: stroke.code.clone(),
        windows_virtual_key_code: stroke.number,
        text: None,
        location: stroke.location,
    }
}

/// One piece of a text that is typed.
#[derive(Clone, Debug)]
pub(super) enum Typed {
    /// Key events.
    Keys(Vec<DispatchKeyEvent>),
    /// Characters that no key gives.
    Text(String),
}

/// The strokes of a text, each with the events of its key. Shift is pressed once for neighbours that need it. `base` are the
/// modifiers that are held already.
pub(super) fn typed(text: &str, base: u8) -> Vec<Typed> {
    let mut pieces: Vec<Typed> = Vec::new();
    let mut shifted = false;
    let mut chars = text.chars().peekable();
    while let Some(only) = chars.next() {
        if !has_key(only) {
            match pieces.last_mut() {
                Some(Typed::Text(text)) => text.push(only),
                _ => pieces.push(Typed::Text(only.into())),
            }
            continue;
        }
        let mut events = Vec::new();
        if is_shifted(only) && !shifted && base & SHIFT == 0 {
            shifted = true;
            events.push(event(KeyEventKind::RawKeyDown, &shift(), base | SHIFT));
        }
        let modifiers = base | if shifted { SHIFT } else { 0 };
        let stroke = character(only);
        let up = event(KeyEventKind::KeyUp, &stroke, modifiers);
        events.push(down(&stroke, modifiers));
        events.push(up);
        if shifted && !chars.peek().is_some_and(|next| is_shifted(*next)) {
            shifted = false;
            events.push(event(KeyEventKind::KeyUp, &shift(), base));
        }
        pieces.push(Typed::Keys(events));
    }
    pieces
}

/// Whether some keyboard has a key for a character: those of Latin, Greek, Cyrillic, Armenian, Hebrew and Arabic letters do.
/// Others are composed by an input method, which pages see as inserted text.
fn has_key(only: char) -> bool {
    let letters = ['\u{a1}'..='\u{24f}', '\u{370}'..='\u{6ff}'];
    matches!(only, ' '..='~' | '\n' | '\r' | '\t' | '€') || letters.iter().any(|range| range.contains(&only))
}

/// The stroke that gives a character.
fn character(only: char) -> Stroke {
    match only {
        '\n' | '\r' => with_text("Enter", "Enter", 13, "\r"),
        '\t' => Stroke { key: "Tab".into(), code: "Tab".into(), number: 9, text: None, location: 0 },
        ' ' => with_text(" ", "Space", 32, " "),
        // Letters beyond ASCII keep their case: which key gives them depends on the keyboard.
        other => printed(other, other.is_ascii_uppercase()),
    }
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
    use apprentice_cdp::domain::input::KeyEventKind;
    use apprentice_protocol::{Chord, Key};

    use super::{Typed, press, release, typed};

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
        let shift = ("Shift", "ShiftLeft", 16, None, 8);
        check("!", &[shift, ("!", "Digit1", 49, Some("!"), 8)]);
        check("H", &[shift, ("H", "KeyH", 72, Some("H"), 8)]);
        check("plus", &[shift, ("+", "Equal", 187, Some("+"), 8)]);
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
            let up = release(std::slice::from_ref(&key), 0);
            let (first, last) = (down.last().expect("a key"), up.first().expect("a key"));
            assert!(first.windows_virtual_key_code > 0, "{name}");
            assert_eq!(last.code, first.code, "{name}");
            assert_eq!(up.last().map(|event| event.modifiers), Some(0), "{name}");
        }
    }

    #[test]
    fn a_text_is_typed_by_the_keys_that_give_it_and_inserted_where_none_does() {
        let told = |piece: &Typed| match piece {
            Typed::Text(text) => format!("<{text}>"),
            Typed::Keys(events) => events
                .iter()
                .map(|event| {
                    format!("{}{}", if event.kind == KeyEventKind::KeyUp { '-' } else { '+' }, event.key)
                })
                .collect(),
        };
        let pieces: Vec<String> = typed("aB!c\n中é😀", 0).iter().map(told).collect();
        assert_eq!(
            pieces,
            ["+a-a", "+Shift+B-B", "+!-!-Shift", "+c-c", "+Enter-Enter", "<中>", "+é-é", "<😀>"]
        );
        let shifted = &typed("B", 0)[0];
        let Typed::Keys(events) = shifted else { panic!("{shifted:?}") };
        let modifiers: Vec<u8> = events.iter().map(|event| event.modifiers).collect();
        assert_eq!(modifiers, [8, 8, 8, 0], "as on a keyboard");
        assert_eq!(events[1].text.as_deref(), Some("B"));
    }
}
