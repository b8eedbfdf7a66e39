//! Reads the arguments of a call: lenient in form, strict in meaning. Errors are texts for the model.

use std::cell::RefCell;

use apprentice_protocol::{Chord, ImagePoint, Key, NodeRef, Target};
use apprentice_protocol::{did_you_mean, nearest};
use serde_json::Value;

/// Names of arguments that any action may have, because they name the action or say why it is done.
const REMARKS: &[&str] = &[
    "action",
    "action_type",
    "type",
    "intent",
    "thought",
    "reason",
    "reasoning",
    "explanation",
    "description",
    "safety_decision",
];

/// The arguments of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    value: &'a Value,
    /// The names that the reader asked for, which are the names that the action takes.
    asked: &'a RefCell<Vec<String>>,
}

/// Reads the arguments of an action, and refuses those that it does not take: a misspelt point must not become a click
/// where the pointer happens to be.
pub(crate) fn read_arguments<T>(
    action: &str,
    value: &Value,
    read: impl FnOnce(Arguments<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let asked = RefCell::default();
    let done = read(Arguments { value, asked: &asked });
    let asked = asked.into_inner();
    let given: Vec<&str> = value.as_object().map(|fields| stated(fields).collect()).unwrap_or_default();
    let taken: Vec<&str> = asked.iter().map(String::as_str).filter(|name| !REMARKS.contains(name)).collect();
    let unknown = given.iter().copied().find(|name| !asked.iter().any(|one| one == name));
    let missing = |name: &&str| !given.contains(name);
    match (done, unknown) {
        (Ok(done), None) => Ok(done),
        (Ok(_), Some(name)) => Err(unknown_argument(action, name, &taken)),
        // A reader that fails has not asked for everything, so only a likely misspelling counts.
        (Err(problem), Some(name)) => match nearest(name, taken.iter().copied().filter(missing)) {
            Some(_) => Err(unknown_argument(action, name, &taken)),
            None => Err(problem),
        },
        (Err(problem), None) => Err(problem),
    }
}

/// The names of the arguments that say something. Models fill unused ones with nothing.
fn stated(fields: &serde_json::Map<String, Value>) -> impl Iterator<Item = &str> {
    let empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    };
    let said = fields.iter().filter(move |(name, value)| !REMARKS.contains(&name.as_str()) && !empty(value));
    said.map(|(name, _)| name.as_str())
}

/// The words for an argument that an action does not take.
pub(super) fn unknown_argument(action: &str, name: &str, taken: &[&str]) -> String {
    let near = did_you_mean(name, taken.iter().copied());
    match (near.is_empty(), taken) {
        (false, _) => format!("there is no argument {name:?} in {action}{near}"),
        (true, []) => format!("there is no argument {name:?}: {action} takes none"),
        (true, taken) => format!("there is no argument {name:?} in {action}; it takes {}", taken.join(", ")),
    }
}

impl<'a> Arguments<'a> {
    /// Returns a field that is present and not null.
    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        let mut asked = self.asked.borrow_mut();
        if !asked.iter().any(|one| one == name) {
            asked.push(name.to_owned());
        }
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// Reads a required field that holds an object, whose own fields are known, too.
    pub(crate) fn object<T>(
        self,
        name: &str,
        read: impl FnOnce(Arguments<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let value = self.get(name).ok_or_else(|| format!("{name} is missing"))?;
        read_arguments(name, value, read)
    }

    /// Returns a required text.
    pub(crate) fn text(self, name: &str) -> Result<&'a str, String> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(format!("{name} must be a text, not {other}")),
            None => Err(format!("{name} is missing")),
        }
    }

    /// Returns an optional text.
    pub(crate) fn optional_text(self, name: &str) -> Result<Option<&'a str>, String> {
        self.get(name).map(|_| self.text(name)).transpose()
    }

    /// Returns an optional list of texts.
    pub(crate) fn optional_texts(self, name: &str) -> Result<Option<Vec<String>>, String> {
        let wrong = |value: &Value| format!("{name} must be a list of texts, not {value}");
        let Some(value) = self.get(name) else { return Ok(None) };
        let items = value.as_array().ok_or_else(|| wrong(value))?;
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong(value)));
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        Ok((!texts.is_empty()).then_some(texts))
    }

    /// Returns a required number; a number in quotes is accepted.
    pub(crate) fn number(self, name: &str) -> Result<f64, String> {
        let value = self.get(name).ok_or_else(|| format!("{name} is missing"))?;
        number(value).ok_or_else(|| format!("{name} must be a number, not {value}"))
    }

    /// Returns an optional number, or `absent`.
    pub(crate) fn number_or(self, name: &str, absent: f64) -> Result<f64, String> {
        self.get(name).map_or(Ok(absent), |_| self.number(name))
    }

    /// Returns a required point, written as `[x, y]`, `{"x": …, "y": …}` or `"x, y"`.
    pub(crate) fn point(self, name: &str) -> Result<ImagePoint, String> {
        let value = self.get(name).ok_or_else(|| format!("{name} is missing"))?;
        point(value).ok_or_else(|| format!("{name} must be [x, y], not {value}"))
    }

    /// Returns an optional point.
    pub(crate) fn optional_point(self, name: &str) -> Result<Option<ImagePoint>, String> {
        self.get(name).map(|_| self.point(name)).transpose()
    }

    /// Returns the point made of two fields.
    pub(crate) fn point_of(self, x: &str, y: &str) -> Result<ImagePoint, String> {
        Ok(ImagePoint::new(self.number(x)?, self.number(y)?))
    }

    /// Returns the element named by `ref`, else the point in the field `name`, else `None`.
    pub(crate) fn target(self, name: &str) -> Result<Option<Target<ImagePoint>>, String> {
        match (self.optional_text("ref")?, self.get(name)) {
            (Some(node), _) => Ok(Some(Target::Ref(node_ref(node)))),
            (None, _) => Ok(self.optional_point(name)?.map(Target::Point)),
        }
    }

    /// Returns an optional chord, written as a text with `+` or as a list of keys.
    pub(crate) fn optional_chord(self, name: &str) -> Result<Option<Chord>, String> {
        let keys = match self.get(name) {
            None => return Ok(None),
            Some(Value::Array(items)) if items.is_empty() => return Ok(None),
            Some(Value::Array(items)) => items.iter().map(key_text).collect::<Result<Vec<_>, _>>()?.join("+"),
            Some(Value::String(text)) if text.is_empty() => return Ok(None),
            Some(Value::String(text)) => text.clone(),
            Some(other) => return Err(format!("{name} must name keys, not {other}")),
        };
        chord(&keys).map(Some)
    }

    /// Returns the presses that a field names: a list, in which a key that comes again begins the next press, or a text,
    /// in which blanks separate presses.
    pub(crate) fn presses(self, name: &str, meta: Meta) -> Result<Vec<Chord>, String> {
        let value = self.get(name).ok_or_else(|| format!("{name} is missing"))?;
        let presses = match value {
            Value::Array(items) => in_sequence(&items.iter().map(key_text).collect::<Result<Vec<_>, _>>()?),
            Value::String(text) => match chord(text) {
                Ok(_) => vec![text.clone()],
                Err(_) => text.split_whitespace().map(str::to_owned).collect(),
            },
            other => return Err(format!("{name} must name keys, not {other}")),
        };
        if presses.is_empty() {
            return Err(format!("{name} names no key"));
        }
        presses.iter().map(|keys| chord(&meta.in_words(keys))).collect()
    }

    /// Returns the keys that a field says to hold.
    pub(crate) fn held_keys(self, name: &str, meta: Meta) -> Result<Option<Chord>, String> {
        let chord = self.optional_chord(name)?;
        let in_words = chord.map(|chord| (self.get(name), chord));
        in_words
            .map(|(value, given)| match value {
                Some(Value::String(text)) => super::arguments::chord(&meta.in_words(text)),
                Some(Value::Array(items)) => {
                    let keys = items.iter().map(key_text).collect::<Result<Vec<_>, _>>()?;
                    super::arguments::chord(&meta.in_words(&keys.join("+")))
                }
                _ => Ok(given),
            })
            .transpose()
    }
}

/// What a vendor means by the key Meta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meta {
    /// Alt, as on X keyboards.
    Alt,
    /// The key with a logo, as on web pages.
    Super,
}

impl Meta {
    fn in_words(self, keys: &str) -> String {
        let is_meta = |key: &&str| key.trim().to_lowercase().starts_with("meta");
        let word = |key| if self == Self::Super && is_meta(&key) { "super" } else { key };
        keys.split('+').map(word).collect::<Vec<_>>().join("+")
    }
}

/// Splits a list of keys into presses. A chord holds each key once, so a key that comes again begins the next press;
/// modifiers stay for it, unless they come again themselves.
fn in_sequence(keys: &[String]) -> Vec<String> {
    let mut presses: Vec<Vec<&str>> = Vec::new();
    for key in keys {
        match presses.last_mut() {
            Some(press) if !press.contains(&key.as_str()) => press.push(key),
            Some(press) => {
                let modifier = |key: &str| Key::parse(key).is_some_and(|key| key.is_modifier());
                let held: Vec<&str> = match modifier(key) {
                    true => Vec::new(),
                    false => press.iter().copied().filter(|key| modifier(key)).collect(),
                };
                presses.push(held.into_iter().chain([key.as_str()]).collect());
            }
            None => presses.push(vec![key]),
        }
    }
    presses.iter().map(|press| press.join("+")).collect()
}

fn key_text(value: &Value) -> Result<String, String> {
    value
        .as_str()
        .map(|key| if key == "+" { "plus".into() } else { key.to_owned() })
        .ok_or_else(|| format!("{value} is no key"))
}

/// Reads an element reference as outlines write it, with or without its mark.
pub(crate) fn node_ref(text: &str) -> NodeRef {
    NodeRef(text.trim().trim_start_matches('#').to_owned())
}

/// Reads a chord in any common spelling.
pub(crate) fn chord(text: &str) -> Result<Chord, String> {
    Chord::parse(text).map_err(|error| error.to_string())
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Reads a point in any of the forms that models use.
pub(crate) fn point(value: &Value) -> Option<ImagePoint> {
    match value {
        Value::Array(items) => match items.as_slice() {
            [x, y] => Some(ImagePoint::new(number(x)?, number(y)?)),
            // A box stands for its centre.
            [x0, y0, x1, y1] => Some(ImagePoint::new(
                f64::midpoint(number(x0)?, number(x1)?),
                f64::midpoint(number(y0)?, number(y1)?),
            )),
            _ => None,
        },
        Value::Object(fields) => Some(ImagePoint::new(number(fields.get("x")?)?, number(fields.get("y")?)?)),
        Value::String(text) => point_text(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Reads a point, or the centre of a box, from a text: `(12, 34)`, `<point>12 34</point>`, `[1,2,3,4]`.
pub(crate) fn point_text(text: &str) -> Option<ImagePoint> {
    let numbers: Option<Vec<Value>> = text
        .split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-')))
        .filter(|part| part.chars().any(|c| c.is_ascii_digit()))
        .map(|part| part.trim_end_matches('.').parse::<f64>().ok().map(Value::from))
        .collect();
    point(&Value::Array(numbers?))
}

/// Converts seconds to whole milliseconds, within the range of an action.
pub(crate) fn milliseconds(seconds: f64) -> Result<u32, String> {
    let time = std::time::Duration::try_from_secs_f64(seconds);
    let time = time.map_err(|_| format!("{seconds} is no time to wait"))?;
    Ok(u32::try_from(time.as_millis()).unwrap_or(u32::MAX))
}

/// Rounds a number of notches or presses, clamped to a sane range.
pub(crate) fn whole(number: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "clamped to a hundred")]
    let whole = number.clamp(-100.0, 100.0).round() as i32;
    whole
}

/// Converts a distance in pixels to wheel notches: about a hundred pixels per notch, at least one notch.
pub(crate) fn notches(pixels: f64) -> i32 {
    let turned = whole(pixels / 100.0);
    if turned == 0 && pixels != 0.0 { whole(pixels.signum()) } else { turned }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::ImagePoint;
    use serde_json::json;

    use super::{Meta, notches, point_text, read_arguments};

    #[test]
    fn points_are_read_in_every_form_and_nothing_else() {
        let check = |value: serde_json::Value, expected: Option<(f64, f64)>| {
            let fields = json!({ "at": value });
            let read = read_arguments("move", &fields, |given| given.point("at")).ok();
            assert_eq!(read, expected.map(|(x, y)| ImagePoint::new(x, y)), "{fields}");
        };
        check(json!([3, 4.5]), Some((3.0, 4.5)));
        check(json!({ "x": "3", "y": 4 }), Some((3.0, 4.0)));
        check(json!("(3, 4)"), Some((3.0, 4.0)));
        check(json!([0, 0, 10, 20]), Some((5.0, 10.0)));
        check(json!([3]), None);
        check(json!("here"), None);
        check(json!(null), None);
        assert_eq!(point_text("<point>12 34</point>"), Some(ImagePoint::new(12.0, 34.0)));
        assert_eq!(point_text("<|box_start|>(-1.5,7)<|box_end|>"), Some(ImagePoint::new(-1.5, 7.0)));
    }

    #[test]
    fn what_an_action_does_not_take_is_refused_with_the_nearest_name() {
        let check = |value: serde_json::Value, expected: Result<bool, &str>| {
            let read = read_arguments("left_click", &value, |given| {
                given.get("text");
                Ok(given.target("coordinate")?.is_some())
            });
            assert_eq!(
                read.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|text| *text),
                "{value}"
            );
        };
        check(json!({ "coordinate": [3, 4] }), Ok(true));
        check(
            json!({ "action": "left_click", "thought": "x", "bbox": null, "keys": [], "repeat": 0 }),
            Ok(false),
        );
        let near = "there is no argument \"coordinates\" in left_click; did you mean \"coordinate\"?";
        check(json!({ "coordinates": [3, 4] }), Err(near));
        let far = |name: &str| {
            format!("there is no argument {name:?} in left_click; it takes text, ref, coordinate")
        };
        check(json!({ "x": 3, "y": 4 }), Err(&far("x")));
        check(json!({ "bbox_2d": [3, 4, 5, 6] }), Err(&far("bbox_2d")));
        check(json!({ "coordinate": "here" }), Err("coordinate must be [x, y], not \"here\""));
    }

    #[test]
    fn chords_come_as_text_or_list() {
        let fields = json!({ "keys": ["CTRL", "+"], "text": "ctrl+Return", "none": [], "wrong": ["nokey"] });
        let asked = std::cell::RefCell::default();
        let given = super::Arguments { value: &fields, asked: &asked };
        let read = |name| given.optional_chord(name).map(|chord| chord.map(|chord| chord.to_string()));
        assert_eq!(read("keys"), Ok(Some("ctrl+plus".into())));
        assert_eq!(read("text"), Ok(Some("ctrl+enter".into())));
        assert_eq!(read("none"), Ok(None));
        assert!(read("wrong").is_err());
    }

    #[test]
    fn lists_and_texts_of_keys_are_pressed_in_turn() {
        let check = |keys: serde_json::Value, meta: Meta, expected: &[&str]| {
            let fields = json!({ "keys": keys });
            let read = read_arguments("keypress", &fields, |given| given.presses("keys", meta));
            let read: Vec<String> = read.expect("reads").iter().map(ToString::to_string).collect();
            assert_eq!(read, expected, "{fields}");
        };
        check(json!(["CTRL", "A"]), Meta::Alt, &["ctrl+a"]);
        check(json!(["TAB", "TAB", "TAB"]), Meta::Alt, &["tab", "tab", "tab"]);
        check(json!(["SHIFT", "TAB", "TAB"]), Meta::Alt, &["shift+tab", "shift+tab"]);
        check(json!(["CTRL", "K", "CTRL", "S"]), Meta::Alt, &["ctrl+k", "ctrl+s"]);
        check(json!("ctrl+a Delete"), Meta::Alt, &["ctrl+a", "delete"]);
        check(json!("Page Down"), Meta::Alt, &["page_down"]);
        check(json!(["META", "L"]), Meta::Super, &["super+l"]);
        check(json!("meta+l"), Meta::Alt, &["alt+l"]);
    }

    #[test]
    fn small_distances_turn_the_wheel_too() {
        assert_eq!([0.0, 5.0, -5.0, 240.0, 9e9].map(notches), [0, 1, -1, 2, 100]);
    }
}
