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
            "altl" | "altr" | "option" | "meta" => "alt",
            "superl" | "superr" | "win" | "windows" | "cmd" | "command" => "super",
            "return" | "kpenter" => "enter",
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
            "printscreen" | "prtsc" => "print",
            "contextmenu" | "apps" => "menu",
            other => other,
        };
        Self::NAMED.contains(&name).then(|| Self(name.to_owned()))
    }

    /// Returns the canonical spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `ctrl`, `shift`, `alt` or `super`.
    pub fn is_modifier(&self) -> bool {
        matches!(self.0.as_str(), "ctrl" | "shift" | "alt" | "super")
    }
}

impl Chord {
    /// Parses keys joined by `+`, in any common spelling.
    pub fn parse(text: &str) -> Result<Self, ChordError> {
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
        check("ctrl+é", Ok("ctrl+é"));
        check(" F10 ", Ok("f10"));
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
