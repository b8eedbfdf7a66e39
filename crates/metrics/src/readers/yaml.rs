//! YAML 1.1 parsing (`yes` is true, `010` is eight) with limits on size and depth.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use crate::python;

/// Maximum number of values in a document, with aliases expanded.
const VALUES: usize = 200_000;
const DEPTH: usize = 100;
/// Maximum number of bytes copied for anchors and aliases.
const COPIED: usize = 48 << 20;
/// A prefix of values that JSON cannot represent, so that they never equal a rule's value.
const OTHER: char = '\u{0}';

#[derive(Default)]
struct Builder {
    /// Open collections, outermost first.
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    done: Option<Value>,
    values: usize,
    /// Bytes copied for anchors and aliases so far.
    copied: usize,
    problem: Option<String>,
}

enum Open {
    List(usize, Vec<Value>),
    Map { anchor: usize, map: Map<String, Value>, key: Option<String>, merged: Vec<Value> },
}

/// Parses one document.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, _) = event.map_err(|error| error.to_string())?;
        builder.take(event);
        if let Some(problem) = builder.problem {
            return Err(problem);
        }
    }
    Ok(builder.done.unwrap_or(Value::Null))
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let value = if plain { resolve(&text) } else { Value::String(text.into_owned()) };
                self.put(anchor, value);
            }
            Event::SequenceStart(anchor, _) => self.open.push(Open::List(anchor, Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.open.push(Open::Map { anchor, map: Map::new(), key: None, merged: Vec::new() });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(value) => {
                    let (count, size) = weight(value);
                    self.values += count;
                    self.copied += size;
                    if self.copied <= COPIED {
                        let value = value.clone();
                        self.put(0, value);
                    }
                }
                None => self.problem = Some("an alias precedes its anchor".into()),
            },
            Event::DocumentStart(_) if self.done.is_some() => {
                self.problem = Some("it contains several documents".into());
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
        if self.values > VALUES || self.open.len() > DEPTH {
            self.problem = Some(format!("it has more than {VALUES} values or {DEPTH} levels"));
        }
        if self.copied > COPIED {
            self.problem = Some(format!("its aliases expand to more than {COPIED} bytes"));
        }
    }

    fn put(&mut self, anchor: usize, value: Value) {
        self.values += 1;
        if anchor != 0 {
            self.copied += weight(&value).1;
            if self.copied <= COPIED {
                self.anchors.insert(anchor, value.clone());
            }
        }
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(Open::List(_, list)) => list.push(value),
            Some(Open::Map { map, key, merged, .. }) => match key.take() {
                None => *key = Some(key_of(&value)),
                Some(name) if name == "<<" => {
                    let list = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
                    if !list.iter().all(Value::is_object) {
                        self.problem = Some("a merged value is not a mapping".into());
                    }
                    merged.push(value);
                }
                Some(name) => {
                    map.insert(name, value);
                }
            },
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::List(anchor, list)) => self.put(anchor, Value::Array(list)),
            Some(Open::Map { anchor, mut map, merged, .. }) => {
                let lists = merged.into_iter().flat_map(|value| match value {
                    Value::Array(list) => list,
                    one => vec![one],
                });
                for (key, value) in lists.filter_map(|one| one.as_object().cloned()).flatten() {
                    map.entry(key).or_insert(value);
                }
                self.put(anchor, Value::Object(map));
            }
            None => {}
        }
    }
}

/// Returns the number of values and an upper bound of their memory in bytes.
fn weight(value: &Value) -> (usize, usize) {
    const ONE: usize = 2 * size_of::<Value>();
    let add = |one: (usize, usize), other: (usize, usize)| (one.0 + other.0, one.1 + other.1);
    match value {
        Value::Array(list) => list.iter().map(weight).fold((1, ONE), add),
        Value::Object(map) => {
            map.iter().map(|(name, value)| add(weight(value), (0, name.len() + ONE))).fold((1, ONE), add)
        }
        Value::String(text) => (1, ONE + text.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => (1, ONE),
    }
}

fn key_of(value: &Value) -> String {
    value.as_str().map_or_else(|| format!("{OTHER}{value}"), str::to_owned)
}

/// Resolves a plain scalar.
fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return true.into(),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return false.into(),
        _ => {}
    }
    if let Some(whole) = whole(text) {
        return whole.into();
    }
    if let Some(number) = fraction(text) {
        return Number::from_f64(number).map_or_else(|| format!("{OTHER}{text}").into(), Value::Number);
    }
    if is_date(text) { format!("{OTHER}{text}").into() } else { text.into() }
}

fn whole(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let plain = digits.replace('_', "");
    if plain.contains(['+', '-']) {
        return None;
    }
    let value = if let Some(bits) = plain.strip_prefix("0b") {
        i64::from_str_radix(bits, 2).ok()?
    } else if let Some(hex) = plain.strip_prefix("0x") {
        i64::from_str_radix(hex, 16).ok()?
    } else if plain.len() > 1 && plain.starts_with('0') {
        i64::from_str_radix(&plain, 8).ok()?
    } else if plain.contains(':') {
        plain.split(':').try_fold(0_i64, |sum, part| sum.checked_mul(60)?.checked_add(part.parse().ok()?))?
    } else {
        plain.parse().ok()?
    };
    Some(sign * value)
}

fn fraction(text: &str) -> Option<f64> {
    let bare = text.trim_start_matches(['+', '-']);
    match bare {
        ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let (mantissa, exponent) = bare.split_once(['e', 'E']).unwrap_or((bare, "+0"));
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit() || c == '_');
    let (before, after) = mantissa.split_once('.')?;
    let signed =
        exponent.strip_prefix(['+', '-']).is_some_and(|digits_| !digits_.is_empty() && digits(digits_));
    let starts = before.is_empty() && after.starts_with(|c: char| c.is_ascii_digit())
        || before.starts_with(|c: char| c.is_ascii_digit());
    (signed && starts && digits(before) && digits(after)).then(|| python::float(&text.replace('_', "")))?
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(3, '-').collect();
    let number = |part: &str, long: usize| part.len() == long && part.chars().all(|c| c.is_ascii_digit());
    matches!(parts.as_slice(), [year, month, day]
        if number(year, 4) && number(month, 2) && day.get(..2).is_some_and(|day| number(day, 2)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    #[test]
    fn scalars_mean_what_version_1_1_says() {
        let text = "a: yes\nb: 'yes'\nc: 010\nd: 1.50\ne: 1e3\nf: ~\ng: [1, 0x1F, 1_000]\nh: &x {i: off}\nj: *x\nk:\n  <<: *x\n  l: 1:30\n";
        let expected = json!({
            "a": true, "b": "yes", "c": 8, "d": 1.5, "e": "1e3", "f": null, "g": [1, 31, 1000],
            "h": {"i": false}, "j": {"i": false}, "k": {"i": false, "l": 90},
        });
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn edges_are_read_as_upstream_reads_them() {
        assert_eq!(read("\u{feff}a: b\n"), Ok(json!({"a": "b"})));
        assert_eq!(read("a: |\nb: >\n"), Ok(json!({"a": "", "b": ""})));
        assert_eq!(read("? k\n: !!str 1\n"), Ok(json!({"k": "1"})));
        assert_eq!(read(""), Ok(json!(null)));
        for refused in ["a: \0\n", "a: 1\n---\nb: 2\n", "a: *nope\n", "a: @x\n"] {
            assert!(read(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn a_document_that_grows_without_end_is_refused() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for at in 1..9 {
            let list = vec![format!("*a{}", at - 1); 9].join(", ");
            text = format!("{text}a{at}: &a{at} [{list}]\n");
        }
        assert!(read(&text).is_err());
        assert!(read("a: [").is_err());
        assert!(read(&"[".repeat(5000)).is_err());
    }
}
