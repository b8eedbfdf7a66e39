//! Removes secrets from text before it is stored: known keys in every spelling, and what looks like a key or password.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use regex::Regex;
use serde::de::IgnoredAny as Ignored;
use serde_json::Value;

use crate::scan::find;
use crate::view::decoded;

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// Shorter texts are not treated as secrets: replacing them would break ordinary words.
const MIN_SECRET_LENGTH: usize = 6;

/// Replaces secrets. The recorder, the log layer and the panic hook share one instance.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// Matches the known secrets only; `None` when there are none.
    known: Option<Regex>,
    /// Texts whose words are no secrets, whatever they look like.
    kept: Vec<String>,
}

impl Redactor {
    /// Builds a redactor for these secrets in their plain, JSON, URL, Base64 and hexadecimal spellings, and for what looks like a
    /// secret.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Result<Self, regex::Error> {
        let long = |secret: &&str| secret.chars().count() >= MIN_SECRET_LENGTH;
        let mut secrets: Vec<&str> = secrets.into_iter().filter(long).collect();
        // The longest come first: a secret that begins with another one must not leave its tail behind.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        let known: Vec<String> = secrets.iter().flat_map(|secret| spellings(secret)).collect();
        let known = (!known.is_empty()).then(|| Regex::new(&known.join("|"))).transpose()?;
        Ok(Self { known, kept: Vec::new() })
    }

    /// Returns one that leaves what these texts say, the known secrets aside: the password that a task gives is part of the task.
    pub fn keeping<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let more = texts.into_iter().map(str::to_owned);
        Self { known: self.known.clone(), kept: self.kept.iter().cloned().chain(more).collect() }
    }

    /// Returns the text without the known secrets. A text that merely looks like a key stays: as evidence, it may be
    /// what the task is about.
    pub fn apply_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replaced(text, self.find_known(text))
    }

    /// Returns the text without known secrets and without what looks like one.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replaced(text, self.find(text))
    }

    /// How many secrets [`Redactor::apply`] would replace.
    pub fn count(&self, text: &str) -> usize {
        merged(self.find(text)).len()
    }

    /// Redacts a line of JSON and keeps it valid: a secret made of digits must not break a number.
    pub fn apply_to_json<'t>(&self, line: &'t str) -> Cow<'t, str> {
        let Cow::Owned(replaced) = self.apply(line) else { return Cow::Borrowed(line) };
        if serde_json::from_str::<Ignored>(&replaced).is_ok() {
            return Cow::Owned(replaced);
        }
        match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                self.apply_to_value(&mut value);
                Cow::Owned(value.to_string())
            }
            Err(_) => Cow::Owned(replaced),
        }
    }

    fn apply_to_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(replaced) = self.apply(text) {
                    *text = replaced;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply_to_value(item)),
            Value::Object(fields) => {
                for (name, mut field) in std::mem::take(fields) {
                    self.apply_to_value(&mut field);
                    fields.insert(self.apply(&name).into_owned(), field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = self.find_known(text);
        for found in find(text) {
            let written = text.get(found.place.clone()).unwrap_or_default();
            let written = written.trim_matches(|letter: char| letter.is_ascii_punctuation());
            if !self.kept.iter().any(|kept| kept.contains(written)) {
                places.push(found.place);
            }
        }
        places
    }

    /// Finds the known secrets as they are written, and as a reader decodes them.
    fn find_known(&self, text: &str) -> Vec<Range<usize>> {
        let Some(known) = &self.known else { return Vec::new() };
        let mut places: Vec<Range<usize>> = known.find_iter(text).map(|found| found.range()).collect();
        for view in decoded(text) {
            places.extend(known.find_iter(&view.text).map(|found| view.place(&found.range())));
        }
        places
    }
}

/// Joins places that overlap.
fn merged(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for place in places.into_iter().filter(|place| !place.is_empty()) {
        match merged.last_mut().filter(|last| place.start < last.end) {
            Some(last) => last.end = last.end.max(place.end),
            None => merged.push(place),
        }
    }
    merged
}

fn replaced(text: &str, places: Vec<Range<usize>>) -> Cow<'_, str> {
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut left, mut at) = (String::with_capacity(text.len()), 0);
    for place in merged(places) {
        left.push_str(text.get(at..place.start).unwrap_or_default());
        left.push_str(REDACTED);
        at = place.end;
    }
    left.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(left)
}

/// Returns patterns for the spellings of a secret.
fn spellings(secret: &str) -> Vec<String> {
    let plain = [in_json(&in_json(secret)), in_json(secret), secret.to_owned()];
    let mut spellings: Vec<String> = plain.iter().map(|text| regex::escape(text)).collect();
    spellings.push(in_url(secret));
    spellings.extend(in_base64(secret));
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    spellings.push(format!("(?i:{hex})"));
    spellings
}

fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Matches a text in which any character may be percent-encoded, and a space may be a plus sign.
fn in_url(text: &str) -> String {
    let any_spelling = |character: char| {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).bytes();
        let encoded: String = bytes.map(|byte| format!("%{byte:02x}")).collect();
        let plain = regex::escape(character.encode_utf8(&mut [0; 4]));
        let or_plus = if character == ' ' { r"|\+" } else { "" };
        format!("(?:{plain}|(?i:{encoded}){or_plus})")
    };
    text.chars().map(any_spelling).collect()
}

/// Returns the characters that Base64 has for a text wherever it stands in the encoded bytes: at each of the three
/// positions within a group, without the characters that depend on its neighbours.
fn in_base64(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (before, shared) in [(0, 0), (1, 2), (2, 3)] {
        let bytes: Vec<u8> = [0; 2][..before].iter().copied().chain(text.bytes()).collect();
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&bytes);
            let end = if bytes.len().is_multiple_of(3) { encoded.len() } else { encoded.len() - 1 };
            if let Some(own) = encoded.get(shared..end).filter(|own| own.len() >= MIN_SECRET_LENGTH) {
                found.push(regex::escape(own));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};
    use serde_json::Value;

    use super::Redactor;

    fn check(secrets: &[&str], text: &str, expected: &str) {
        let redactor = Redactor::new(secrets.iter().copied()).expect("builds");
        assert_eq!(redactor.apply_to_json(text), expected);
    }

    #[test]
    fn secrets_are_found_in_every_spelling() {
        check(&["hunter22"], r#"{"a":"xhunter22x"}"#, r#"{"a":"x[redacted]x"}"#);
        check(&["a\"b\\cdef"], r#"{"a":"a\"b\\cdef"}"#, r#"{"a":"[redacted]"}"#);
        check(&["a\"b\\cdef"], r#"{"a":"{\"k\":\"a\\\"b\\\\cdef\"}"}"#, r#"{"a":"{\"k\":\"[redacted]\"}"}"#);
        check(&["p@ss/word"], r#"{"u":"http://x/?k=p%40ss%2Fword"}"#, r#"{"u":"http://x/?k=[redacted]"}"#);
        check(&["secret", "secret-longer"], r#"{"a":"secret-longer"}"#, r#"{"a":"[redacted]"}"#);
        check(&["tiny"], r#"{"a":"tiny"}"#, r#"{"a":"tiny"}"#);
    }

    #[test]
    fn encoded_secrets_are_found_wherever_they_stand() {
        use base64::Engine as _;
        use base64::engine::general_purpose::{STANDARD, URL_SAFE};

        let secret = "k3y-of>the?house";
        let redactor = Redactor::new([secret]).expect("builds");
        for before in ["", "a", "ab", "abc", "Authorization: Bearer "] {
            for after in ["", "z", " and more"] {
                let text = format!("{before}{secret}{after}");
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let redacted = redactor.apply(&encoded);
                    assert!(redacted.contains("[redacted]"), "{encoded} of {text:?}");
                    // At most two bytes at each end share a character with the neighbours.
                    let left: usize = redacted.split("[redacted]").map(str::len).sum();
                    assert!(
                        left <= STANDARD.encode(&text).len() - STANDARD.encode(secret).len() + 8,
                        "{redacted}"
                    );
                }
            }
        }
        for spelt in [
            "k3y-of%3Ethe%3Fhouse",
            "k3y-of%3ethe%3fhouse",
            "%6B3y-of>the%3Fhouse",
            "6b33792d6f663e7468653f686f757365",
        ] {
            assert_eq!(redactor.apply(spelt), "[redacted]");
        }
        assert_eq!(Redactor::new(["two words"]).expect("builds").apply("q=two+words"), "q=[redacted]");
        let other = STANDARD.encode("a text that holds no secret of anybody at all");
        assert_eq!(redactor.apply(&other), other);
    }

    #[test]
    fn shapes_of_keys_are_secrets_whoever_holds_them() {
        let key = format!("sk-{}-{}", "ant-api03", "x".repeat(24));
        check(&[], &format!(r#"{{"a":"key {key}."}}"#), r#"{"a":"key [redacted]."}"#);
    }

    #[test]
    fn a_secret_of_digits_breaks_no_number() {
        check(&["123456"], r#"{"n":1234567,"s":"123456"}"#, r#"{"n":1234567,"s":"[redacted]"}"#);
    }

    proptest! {
        #[test]
        fn json_stays_json_and_no_string_keeps_the_secret(
            secret in "[ -~]{6,12}", before in "[ -~]{0,5}", number in 0u64..99_999_999,
        ) {
            let redactor = Redactor::new([secret.as_str()]).expect("builds");
            let line = serde_json::json!({ "s": format!("{before}{secret}"), "n": number }).to_string();
            let redacted: Value = serde_json::from_str(&redactor.apply_to_json(&line)).expect("JSON");
            // The replacement itself may contain a secret such as "[redac".
            if !"[redacted]".contains(&secret) && !secret.contains("redacted") {
                prop_assert!(redacted["s"].as_str().is_none_or(|text| !text.contains(&secret)));
            }
        }
    }
}
