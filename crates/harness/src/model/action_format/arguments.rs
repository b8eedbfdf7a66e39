//! Reads the arguments of a call: lenient in form, strict in meaning. Errors are texts for the model.

use apprentice_protocol::{Chord, ImagePoint, NodeRef, Target};
use serde_json::Value;

/// The arguments of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a>(pub(crate) &'a Value);

impl<'a> Arguments<'a> {
    /// Returns a field that is present and not null.
    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
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
        match self.optional_text("ref")? {
            Some(node) => Ok(Some(Target::Ref(node_ref(node)))),
            None => Ok(self.optional_point(name)?.map(Target::Point)),
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

    use super::{Arguments, notches, point_text};

    #[test]
    fn points_are_read_in_every_form_and_nothing_else() {
        let check = |value: serde_json::Value, expected: Option<(f64, f64)>| {
            let fields = json!({ "at": value });
            let read = Arguments(&fields).point("at").ok();
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
    fn chords_come_as_text_or_list() {
        let fields = json!({ "keys": ["CTRL", "+"], "text": "ctrl+Return", "none": [], "wrong": ["nokey"] });
        let read =
            |name| Arguments(&fields).optional_chord(name).map(|chord| chord.map(|chord| chord.to_string()));
        assert_eq!(read("keys"), Ok(Some("ctrl+plus".into())));
        assert_eq!(read("text"), Ok(Some("ctrl+enter".into())));
        assert_eq!(read("none"), Ok(None));
        assert!(read("wrong").is_err());
    }

    #[test]
    fn small_distances_turn_the_wheel_too() {
        assert_eq!([0.0, 5.0, -5.0, 240.0, 9e9].map(notches), [0, 1, -1, 2, 100]);
    }
}
