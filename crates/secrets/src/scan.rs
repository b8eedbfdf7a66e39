//! The scan: each way of reading a text is searched for each form and rule.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use crate::encoded;
use crate::forms::{FORMS, Proof};
use crate::values::{RULES, is_words};
use crate::view::decoded;

/// Memory for the states of the pattern of all forms: with less, they are computed again and again.
const DFA_BYTES: usize = 16 << 20;

/// How often Base64 may lie within Base64.
const BASE64_LEVELS: usize = 2;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What to remove, as it is written.
    pub place: Range<usize>,
    /// What it looks like.
    pub form: &'static str,
}

/// The compiled forms and rules, each in one pattern for all and on its own.
struct Compiled {
    any_form: Regex,
    forms: Vec<Regex>,
    /// Most texts match none, and are read once for all of them.
    any_rule: Regex,
    rules: Vec<Regex>,
}

static COMPILED: LazyLock<Option<Compiled>> = LazyLock::new(|| {
    let forms: Vec<String> = FORMS.iter().map(|form| anchored(form.pattern)).collect();
    let rules: Vec<String> = RULES.iter().map(|rule| format!("(?:{})", rule.pattern)).collect();
    let any = |all: &[String]| RegexBuilder::new(&all.join("|")).dfa_size_limit(DFA_BYTES).build().ok();
    let each = |all: &[String]| all.iter().map(|one| Regex::new(one).ok()).collect::<Option<Vec<_>>>();
    Some(Compiled {
        any_form: any(&forms)?,
        forms: each(&forms)?,
        any_rule: any(&rules)?,
        rules: each(&rules)?,
    })
});

/// The form where no letter or digit of ASCII stands before it. The others are looked at for each match.
fn anchored(form: &str) -> String {
    // A hyphen begins the form of private keys, a dollar sign that of passwords' hashes.
    if form.starts_with('-') || form.starts_with(r"\$") {
        format!("(?:{form})")
    } else {
        format!(r"(?-u:\b)(?:{form})")
    }
}

/// Whether a text holds a secret.
pub fn contains_secret(text: &str) -> bool {
    // If the forms did not compile, every text holds one, so that a mistake refuses texts. A test compiles them.
    COMPILED.is_none() || !find(text).is_empty()
}

/// Finds all secrets of a text: as it is written, with JSON's escapes and percent signs undone, and in Base64.
pub fn find(text: &str) -> Vec<Found> {
    let mut found = find_encoded(text);
    for view in decoded(text) {
        found.extend(
            find_encoded(&view.text).into_iter().map(|one| Found { place: view.place(&one.place), ..one }),
        );
    }
    found
}

/// Finds the secrets of a text in one way of reading it, and in what it holds as Base64, or as Base64 of Base64.
fn find_encoded(text: &str) -> Vec<Found> {
    find_within(text, BASE64_LEVELS)
}

fn find_within(text: &str, levels: usize) -> Vec<Found> {
    let mut found = find_plain(text);
    if levels == 0 {
        return found;
    }
    for (place, inner) in encoded::parts(text) {
        if let Some(one) = find_within(&inner, levels - 1).into_iter().next() {
            found.push(Found { place, ..one });
        }
    }
    found
}

fn find_plain(text: &str) -> Vec<Found> {
    let Some(compiled) = COMPILED.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(any) = compiled.any_form.find_at(text, at) {
        at = any.end().max(any.start() + 1);
        if !begins_word(text, any.start()) {
            continue;
        }
        // The first form that is all of it is the one that the whole pattern found.
        let whole = 0..any.len();
        let form = compiled
            .forms
            .iter()
            .zip(FORMS)
            .find(|(regex, _)| regex.find(any.as_str()).is_some_and(|one| one.range() == whole));
        let Some((_, form)) = form else { continue };
        let is_name = match form.proof {
            Proof::Form => false,
            Proof::Random => is_words(any.as_str()),
            Proof::NoHyphenedWords => !any.as_str().contains('.') && is_words(any.as_str()),
        };
        if !is_name {
            found.push(Found { place: any.range(), form: form.name });
        }
    }
    if !compiled.any_rule.is_match(text) {
        return found;
    }
    for (regex, rule) in compiled.rules.iter().zip(RULES) {
        for matched in regex.captures_iter(text) {
            let (Some(whole), Some(value)) = (matched.get(0), matched.get(1)) else { continue };
            if begins_word(text, whole.start()) && rule.kind.is_one(value.as_str()) {
                found.push(Found { place: value.range(), form: rule.name });
            }
        }
    }
    found
}

/// Whether a match does not begin within a word or behind the point of a number.
fn begins_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let first_is_digit = text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    match before.chars().next_back() {
        Some('.' | ',') if first_is_digit => {
            !before.trim_end_matches(['.', ',']).ends_with(|c: char| c.is_ascii_digit())
        }
        // Scripts without spaces between words have letters before any word.
        Some(letter) => !letter.is_alphanumeric() || is_unspaced(letter),
        None => true,
    }
}

/// Whether a letter is of a script that puts no spaces between words: kana, Chinese, Thai, Korean.
fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{e7f}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}
