//! Key chords such as `ctrl+shift+t`, with one canonical spelling for all models and environments.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One key in canonical spelling: a printable character, or a name of [`Key::NAMED`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

/// Keys held together; all but the last are usually modifiers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chord(Vec<Key>);

/// An error in a key chord.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChordError {
    /// The chord contains no key.
    #[error("the key chord is empty")]
    Empty,
    /// One part is not a known key.
    #[error("unknown key {key:?} in chord {chord:?}")]
    UnknownKey {
        /// The unknown part.
        key: String,
        /// The whole chord.
        chord: String,
    },
}

impl Key {
    /// Names of keys without a printable character, and of keys whose character is a separator (`space`, `plus`).
    pub const NAMED: &'static [&'static str] = &[
        "ctrl",
        "shift",
        "alt",
        "super",
        "enter",
        "tab",
        "escape",
        "backspace",
        "delete",
        "insert",
        "space",
        "plus",
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "page_up",
        "page_down",
        "caps_lock",
        "print",
        "menu",
        "f1",
        "f2",
        "f3",
        "f4",
        "f5",
        "f6",
        "f7",
        "f8",
        "f9",
        "f10",
        "f11",
        "f12",
        "f13",
        "f14",
        "f15",
        "f16",
        "f17",
        "f18",
        "f19",
        "f20",
        "f21",
        "f22",
        "f23",
        "f24",
        "num_lock",
        "scroll_lock",
        "pause",
        "kp_0",
        "kp_1",
        "kp_2",
        "kp_3",
        "kp_4",
        "kp_5",
        "kp_6",
        "kp_7",
        "kp_8",
        "kp_9",
        "kp_add",
        "kp_subtract",
        "kp_multiply",
        "kp_divide",
        "kp_decimal",
        "kp_equal",
    ];

    /// Parses a key in any common spelling: `Return`, `ctrl`, `Control_L`, `PageDown`, `a`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut chars = text.chars();
        if let (Some(only), None) = (chars.next(), chars.next()) {
            return match only {
                ' ' => Some(Self("space".into())),
                '+' => Some(Self("plus".into())),
                '\n' | '\r' => Some(Self("enter".into())),
                '\t' => Some(Self("tab".into())),
                c if c.is_control() => None,
                c => {
                    // A letter whose lower case has several characters is not converted: a key is one character.
                    let lower: String = c.to_lowercase().collect();
                    Some(Self(if lower.chars().count() == 1 { lower } else { c.into() }))
                }
            };
        }
        let flat: String =
            text.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect();
        let name = match flat.as_str() {
            "control" | "controll" | "controlr" | "ctl" => "ctrl",
            "shiftl" | "shiftr" => "shift",
            "altl" | "altr" | "option" | "meta" | "metal" | "metar" => "alt",
            "superl" | "superr" | "win" | "windows" | "cmd" | "command" => "super",
            "return" => "enter",
            "esc" => "escape",
            "del" => "delete",
            "ins" => "insert",
            "pageup" | "pgup" | "prior" => "page_up",
            "pagedown" | "pgdn" | "pgdown" | "next" => "page_down",
            "arrowup" => "up",
            "arrowdown" => "down",
            "arrowleft" => "left",
            "arrowright" => "right",
            "capslock" => "caps_lock",
            "numlock" => "num_lock",
            "scrolllock" => "scroll_lock",
            "break" => "pause",
            "printscreen" | "prtsc" => "print",
            "contextmenu" | "apps" => "menu",
            other => match printed(other) {
                Some(character) => return Self::parse(character),
                None => keypad(other).unwrap_or(other),
            },
        };
        Self::NAMED.contains(&name).then(|| Self(name.to_owned()))
    }

    /// Returns the canonical spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is `ctrl`, `shift`, `alt` or `super`.
    pub fn is_modifier(&self) -> bool {
        matches!(self.0.as_str(), "ctrl" | "shift" | "alt" | "super")
    }
}

/// The keys that give a text of one capital letter. A letter beyond ASCII has no key of its own on a US keyboard: it stays the
/// character that it is.
fn capital(text: &str) -> Option<Vec<Key>> {
    let mut chars = text.chars();
    let (only, None) = (chars.next()?, chars.next()) else { return None };
    if only.is_ascii_uppercase() {
        return Some(vec![Key("shift".into()), Key(only.to_ascii_lowercase().into())]);
    }
    only.is_uppercase().then(|| vec![Key(only.into())])
}

/// X's and the web's names of characters, without underscores and in lower case.
const PRINTED: &[(&str, &str)] = &[
    ("exclam", "!"),
    ("quotedbl", "\""),
    ("numbersign", "#"),
    ("dollar", "$"),
    ("percent", "%"),
    ("ampersand", "&"),
    ("apostrophe", "'"),
    ("quoteright", "'"),
    ("quote", "'"),
    ("parenleft", "("),
    ("parenright", ")"),
    ("asterisk", "*"),
    ("comma", ","),
    ("minus", "-"),
    ("hyphen", "-"),
    ("period", "."),
    ("dot", "."),
    ("slash", "/"),
    ("colon", ":"),
    ("semicolon", ";"),
    ("less", "<"),
    ("equal", "="),
    ("equals", "="),
    ("greater", ">"),
    ("question", "?"),
    ("at", "@"),
    ("bracketleft", "["),
    ("backslash", "\\"),
    ("bracketright", "]"),
    ("asciicircum", "^"),
    ("underscore", "_"),
    ("grave", "`"),
    ("quoteleft", "`"),
    ("backquote", "`"),
    ("backtick", "`"),
    ("braceleft", "{"),
    ("bar", "|"),
    ("braceright", "}"),
    ("asciitilde", "~"),
    ("tilde", "~"),
];

/// The character of a key by its name: `minus`, `KeyA`, `Digit1`.
fn printed(flat: &str) -> Option<&str> {
    let named = PRINTED.iter().find(|(name, _)| *name == flat).map(|(_, character)| *character);
    let only = |rest: &&str| rest.chars().count() == 1;
    named
        .or_else(|| flat.strip_prefix("key").filter(only))
        .or_else(|| flat.strip_prefix("digit").filter(only))
}

/// The name of a key of the keypad: `KP_0`, `KP_Add`, `Numpad7`. Without a lock, it also moves.
fn keypad(flat: &str) -> Option<&'static str> {
    let rest = flat.strip_prefix("kp").or_else(|| flat.strip_prefix("numpad"))?;
    let rest = match rest {
        "enter" => "enter",
        "plus" => "add",
        "minus" => "subtract",
        "asterisk" => "multiply",
        "slash" => "divide",
        "period" | "point" | "separator" => "decimal",
        "prior" | "pageup" => "page_up",
        "next" | "pagedown" => "page_down",
        other => other,
    };
    let named = Key::NAMED.iter().copied().find(|name| name.strip_prefix("kp_") == Some(rest));
    named.or_else(|| Key::NAMED.iter().copied().find(|name| *name == rest && KEYPAD_MOVES.contains(name)))
}

/// What keys of the keypad do without a lock.
const KEYPAD_MOVES: &[&str] = &[
    "enter",
    "up",
    "down",
    "left",
    "right",
    "home",
    "end",
    "page_up",
    "page_down",
    "insert",
    "delete",
    "space",
    "tab",
];

impl Chord {
    /// Parses keys joined by `+`, in any common spelling. A capital letter alone is that letter, which a keyboard gives with
    /// Shift, as xdotool and pyautogui press it; beside other keys, its case says nothing (`Ctrl+A`).
    ///
    /// # Errors
    ///
    /// Fails if the text is empty or names an unknown key.
    pub fn parse(text: &str) -> Result<Self, ChordError> {
        if let Some(keys) = capital(text.trim()) {
            return Ok(Self(keys));
        }
        let mut keys = Vec::new();
        let mut rest = text.trim();
        while let Some(first) = rest.chars().next() {
            // A `+` at the start of the rest is the plus key itself, as in `ctrl++`.
            let first = first.len_utf8();
            let end = rest[first..].find('+').map_or(rest.len(), |at| at + first);
            let part = rest[..end].trim();
            let unknown = || ChordError::UnknownKey { key: part.to_owned(), chord: text.to_owned() };
            keys.push(Key::parse(part).ok_or_else(unknown)?);
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        if keys.is_empty() { Err(ChordError::Empty) } else { Ok(Self(keys)) }
    }

    /// Returns the keys in the order in which they are pressed.
    pub fn keys(&self) -> &[Key] {
        &self.0
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, key) in self.0.iter().enumerate() {
            let joint = if index == 0 { "" } else { "+" };
            write!(f, "{joint}{}", key.0)?;
        }
        Ok(())
    }
}

impl Serialize for Chord {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Chord {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Chord {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Chord".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "Keys joined by +, for example ctrl+shift+t." })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::Chord;

    fn check(text: &str, expected: Result<&str, &str>) {
        let read = Chord::parse(text).map(|chord| chord.to_string()).map_err(|error| error.to_string());
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{text:?}");
    }

    #[test]
    fn common_spellings_meet_in_one() {
        check("Ctrl+Shift+T", Ok("ctrl+shift+t"));
        check("Control_L+Return", Ok("ctrl+enter"));
        check("alt+PageDown", Ok("alt+page_down"));
        check("ctrl++", Ok("ctrl+plus"));
        check("+", Ok("plus"));
        check("é", Ok("é"));
        check("É", Ok("É"));
        check("H", Ok("shift+h"));
        check(" G ", Ok("shift+g"));
        check("ctrl+A", Ok("ctrl+a"));
        check("KeyH", Ok("h"));
        check("ctrl+é", Ok("ctrl+é"));
        check(" F10 ", Ok("f10"));
        for (name, character) in [("minus", "-"), ("Equal", "="), ("slash", "/"), ("bracketleft", "[")] {
            check(&format!("ctrl+{name}"), Ok(&format!("ctrl+{character}")));
        }
        check("alt+asciitilde", Ok("alt+~"));
        check("KeyA+Digit1", Ok("a+1"));
        check("F13", Ok("f13"));
        check("F24+F25", Err("unknown key \"F25\" in chord \"F24+F25\""));
        check("KP_Add+KP_0+KP_Enter", Ok("kp_add+kp_0+enter"));
        check("Numpad7+KP_Home+Num_Lock", Ok("kp_7+home+num_lock"));
        check("Meta_L+Pause", Ok("alt+pause"));
        check("", Err("the key chord is empty"));
        check("ctrl+frobnicate", Err("unknown key \"frobnicate\" in chord \"ctrl+frobnicate\""));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,20}") {
            if let Ok(chord) = Chord::parse(&text) {
                prop_assert_eq!(Chord::parse(&chord.to_string()), Ok(chord));
            }
        }
    }
}
