//! Python semantics on which verdicts of OSWorld's checks depend.

pub(crate) mod pattern;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};

use fancy_regex::RegexBuilder as Backtracking;
use regex::RegexBuilder;
use serde_json::Value;

use self::pattern::{Flags, translate};
use crate::evidence::FileRef;
use crate::scoring::{MetricError, task_error, upstream_error};

/// Maximum number of steps of a backtracking match.
const BACKTRACK_LIMIT: usize = 200_000;
/// Maximum size in bytes and maximum number of lines of a text file.
const TEXT_LIMIT: usize = 32 << 20;
const LINES: usize = 2_000_000;
/// Maximum size of a compiled pattern in bytes.
const PATTERN_LIMIT: usize = 4 << 20;

/// Capacity of the pattern cache, which is cleared when full.
const CACHE_SIZE: usize = 16;

/// A Python regular expression, run by a linear-time engine if that supports the pattern, else by a backtracking
/// engine with a step limit.
#[derive(Clone)]
pub(crate) enum Pattern {
    Linear(regex::Regex),
    Bounded(fancy_regex::Regex),
}

static COMPILED: LazyLock<Mutex<HashMap<(String, Flags), Pattern>>> = LazyLock::new(Mutex::default);

impl Pattern {
    pub(crate) fn new(source: &str) -> Result<Self, MetricError> {
        Self::with(source, Flags::default())
    }

    /// Compiles a pattern or takes it from the cache. The tasks of a suite repeat patterns, and compiling takes far
    /// longer than matching.
    pub(crate) fn with(source: &str, flags: Flags) -> Result<Self, MetricError> {
        let key = (source.to_owned(), flags);
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(&key) {
            return Ok(known.clone());
        }
        let pattern = Self::compile(source, flags)?;
        if compiled.len() >= CACHE_SIZE {
            compiled.clear();
        }
        compiled.insert(key, pattern.clone());
        Ok(pattern)
    }

    fn compile(source: &str, flags: Flags) -> Result<Self, MetricError> {
        let unusable = |why: String| task_error(format!("invalid pattern {source:?}: {why}"));
        let translated = translate(source, flags).map_err(unusable)?;
        let linear = RegexBuilder::new(&translated)
            .size_limit(PATTERN_LIMIT)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all)
            .ignore_whitespace(flags.verbose)
            .build();
        if let Ok(linear) = linear {
            return Ok(Self::Linear(linear));
        }
        Backtracking::new(&translated)
            .backtrack_limit(BACKTRACK_LIMIT)
            .delegate_size_limit(PATTERN_LIMIT)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all)
            .ignore_whitespace(flags.verbose)
            .build()
            .map(Self::Bounded)
            .map_err(|error| unusable(error.to_string()))
    }

    /// Returns whether the pattern matches anywhere in a text.
    pub(crate) fn is_in(&self, text: &str) -> Result<bool, MetricError> {
        match self {
            Self::Linear(pattern) => Ok(pattern.is_match(text)),
            Self::Bounded(pattern) => pattern.is_match(text).map_err(|error| {
                task_error(format!("pattern {:?} takes too long: {error}", pattern.as_str()))
            }),
        }
    }
}

/// Decodes a file as UTF-8 with normalized line ends. Upstream raises for invalid bytes.
pub(crate) fn text(file: &FileRef) -> Result<String, MetricError> {
    bounded(file)?;
    let text = std::str::from_utf8(&file.bytes)
        .map_err(|error| upstream_error(format!("{} is not valid UTF-8: {error}", file.name)))?;
    Ok(normalize_line_ends(text))
}

/// Rejects a file that is too large for a text file.
pub(crate) fn bounded(file: &FileRef) -> Result<(), MetricError> {
    let (name, size) = (&file.name, file.bytes.len());
    if size > TEXT_LIMIT {
        return Err(upstream_error(format!("{name} has {size} bytes, more than the limit of {TEXT_LIMIT}")));
    }
    // This is an upper bound: some of these bytes are parts of other characters.
    let ends = |byte: &&u8| matches!(byte, b'\n'..=b'\r' | 0x1c..=0x1e | 0x85 | 0xa8 | 0xa9);
    if size > LINES && file.bytes.iter().filter(ends).count() > LINES {
        return Err(upstream_error(format!("{name} has more than {LINES} lines")));
    }
    Ok(())
}

/// Converts all line ends to `\n`, as Python does for text files.
pub(crate) fn normalize_line_ends(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}

/// Splits a text like `str.splitlines()`: at every kind of line boundary, which is dropped.
pub(crate) fn split_lines(text: &str) -> Vec<&str> {
    let boundary = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(boundary) {
        lines.push(&rest[..at]);
        let end = &rest[at..];
        let long = if end.starts_with("\r\n") { 2 } else { end.chars().next().map_or(1, char::len_utf8) };
        rest = &end[long..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// Splits a text like iteration over a Python file: each line keeps its end.
pub(crate) fn file_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

/// Returns whether Python takes a character for white space: also the separators of files, groups, records and units.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Strips white space like `str.strip()`.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Writes the decimal digits of other scripts as `0` to `9`, as `int()` and `float()` read them.
fn plain_digits(text: &str) -> Cow<'_, str> {
    static DIGIT: LazyLock<Option<regex::Regex>> = LazyLock::new(|| regex::Regex::new(r"^\p{Nd}$").ok());
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_digit = |c: char| {
        let mut space = [0; 4];
        DIGIT.as_ref().is_some_and(|digit| digit.is_match(c.encode_utf8(&mut space)))
    };
    let plain = |c: char| {
        if c.is_ascii() || !is_digit(c) {
            return c;
        }
        // Each script's digits are ten in a row, from zero to nine.
        let before =
            (1..u32::from(c)).take_while(|back| char::from_u32(u32::from(c) - back).is_some_and(is_digit));
        u32::try_from(before.count() % 10).ok().and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
    };
    Cow::Owned(text.chars().map(plain).collect())
}

/// Parses a number like `float()`.
pub(crate) fn float(text: &str) -> Option<f64> {
    let text = &*plain_digits(strip(text));
    let plain = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if matches!(plain.as_str(), "inf" | "infinity" | "nan") {
        return text.to_ascii_lowercase().parse().ok();
    }
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    without_underscores(text)?.parse().ok()
}

/// Parses an integer like `int()`.
pub(crate) fn int(text: &str) -> Option<i64> {
    without_underscores(&plain_digits(strip(text)))?.parse().ok()
}

/// Removes single underscores between digits; `None` if any other underscore exists.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let stray =
        |(at, byte): (usize, &u8)| *byte == b'_' && !(digit(at.checked_sub(1)) && digit(Some(at + 1)));
    (!bytes.iter().enumerate().any(stray)).then(|| text.replace('_', ""))
}

/// Formats a value like `str()`.
pub(crate) fn str(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

/// Formats a value like `repr()`.
pub(crate) fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => float_repr(number),
            None => number.to_string(),
        },
        Value::String(text) => quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", quoted(key), repr(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Formats a float like `repr()`: with the shortest digits, and with an exponent from 1e16 and below 1e-4.
pub(crate) fn float_repr(number: f64) -> String {
    let size = number.abs();
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf".into() } else { "-inf".into() };
    }
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let text = number.to_string();
    if text.contains('.') { text } else { format!("{text}.0") }
}

fn quoted(text: &str) -> String {
    let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(mark);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == mark => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push(mark);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MetricError, Pattern, float, int, repr, split_lines};
    use crate::python::pattern::{Flags, translate};

    #[test]
    fn patterns_mean_what_they_mean_upstream() {
        for (pattern, text, expected) in [
            ("a$", "xa\n", true),
            ("a$", "xa\nb", false),
            (r"a\Z", "xa\n", false),
            ("{\"k\": 1}", "{\"k\": 1}", true),
            ("x{2,3}$", "xx", true),
            ("[[]a", "[a", true),
            ("[]a]+$", "]a", true),
            ("[^]]", "]", false),
            ("(?=.*b)a", "ab", true),
            ("(?P<q>['\"])x(?P=q)", "'x'", true),
            ("(?i)ABC", "abc", true),
            ("(?i)(?s)a.b", "A\nB", true),
            (r"\<a\>", "<a>", true),
            (r"\<a\>", "a", false),
            (r"\0[\1]\101", "\u{0}\u{1}A", true),
            (r"[\b]\ \é", "\u{8} é", true),
            (r"^\w+$", "e\u{301}", false),
            (r"\s[\s]", "\u{1c}\u{1d}", true),
            (r"[--0]+$", "-./0", true),
            ("a{,}b", "aab", true),
            (r"(a)\1+?b", "aab", true),
            ("a++b", "aab", true),
        ] {
            let found = Pattern::new(pattern).and_then(|compiled| compiled.is_in(text));
            assert_eq!(
                found,
                Ok(expected),
                "{pattern} in {text:?} as {}",
                translate(pattern, Flags::default()).unwrap_or_default()
            );
        }
    }

    #[test]
    fn what_upstream_cannot_read_is_no_pattern_here_either() {
        for source in [
            r"a\z",
            r"\Ka",
            r"\p{L}",
            r"[\Z]",
            r"\x4",
            "(?<n>a)",
            "a(?i)b",
            "(?-i)a",
            "(?U)a",
            "(?R)",
            "(?P<1>a)",
            "(?P<a>a)(?P<a>b)",
            "a**",
            "a{2}{3}",
            "a{2,1}",
            "[a--b]",
            "[^]",
            "a\\",
        ] {
            assert!(matches!(Pattern::new(source), Err(MetricError::Task(_))), "{source}");
        }
    }

    #[test]
    fn a_pattern_that_explodes_comes_to_an_end() {
        for source in [r"^(a+)+$", r"^(?=(a+)+b)(a|aa)+$", r"^(\w+\s?)*\1b$", r"(?!x)((a*)*)*b\2"] {
            let found = Pattern::new(source).expect("compiles").is_in(&format!("{}!", "a".repeat(40)));
            assert_ne!(found, Ok(true), "{source}");
        }
    }

    #[test]
    fn values_are_written_as_upstream_writes_them() {
        let value = json!({"a": [1, 1.0, 1e16, 1e-5, true, null, "it's", "say \"it's\"\n"]});
        let expected = r#"{'a': [1, 1.0, 1e+16, 1e-05, True, None, "it's", 'say "it\'s"\n']}"#;
        assert_eq!(repr(&value), expected);
        assert_eq!((float(" 1_0.5 "), float("ten"), float("")), (Some(10.5), None, None));
        let digits = ["\u{661}\u{662}.\u{665}", "\u{ff11}\u{1d7d9}", "\u{1f}7\u{1c}", "\u{b2}", "\u{2160}"];
        assert_eq!(digits.map(float), [Some(12.5), Some(11.0), Some(7.0), None, None]);
        assert_eq!((int(" \u{967}\u{966} "), int("1.")), (Some(10), None));
        assert_eq!(split_lines("a\r\nb\u{2028}c\n\n"), ["a", "b", "c", ""]);
    }
}
