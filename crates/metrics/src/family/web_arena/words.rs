//! Words of an answer, as `nltk.word_tokenize` finds them, as far as words of one character depend on it.

use std::sync::LazyLock;

use fancy_regex::Regex;

use crate::python::is_space;
use crate::scoring::{MetricError, task_error};

/// Marks that close a sentence after its full stop.
const CLOSING: &[char] = &[')', ']', '}', '>', '"', '\'', '»', '”', '’', '\u{2018}', '\u{201c}', '«'];
/// The words in lower case that, by the tokenizer's training, may begin a sentence after a number.
const SENTENCE_STARTS: &[&str] = &["administrators", "b-week", "r-revised", "z-holiday"];

/// The substitutions of NLTK's tokenizer in their order, but for contractions without a word of one character.
const SUBSTITUTIONS: &[(&str, &str)] = &[
    ("([«“‘„]|[`]+)", " $1 "),
    (r#"^""#, "``"),
    (r"(``)", " $1 "),
    (r#"([ (\[{<])("|'{2})"#, "$1 `` "),
    (r"(?i)(?<!\w)(')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", "$1 "),
    (r#"([^.])(\.)([\])}>"'»”’ ]*)\s*$"#, "$1 $2 $3 "),
    (r"([:,])([^\d])", " $1 $2"),
    (r"([:,])$", " $1 "),
    (r"\.{2,}", " $0 "),
    (r"[;@#$%&]", " $0 "),
    (r"[\u{2012}-\u{2015}]", " $0 "),
    (r#"([^.])(\.)([\])}>"']*)\s*$"#, "$1 $2$3 "),
    (r"[?!]", " $0 "),
    (r"([^'])' ", "$1 ' "),
    (r"[*]", " $0 "),
    (r"[\]\[(){}<>]", " $0 "),
    (r"--", " -- "),
    // Blanks at both ends make the next ones simpler.
    (r"\A", " "),
    (r"\z", " "),
    ("([»”’])", " $1 "),
    (r"''", " '' "),
    (r#"""#, " '' "),
    (r"\s+", " "),
    (r"([^' ])('[sS]|'[mM]|'[dD]|') ", "$1 $2 "),
    (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", "$1 $2 "),
    (r"(?i)\b(d)('ye)\b", " $1 $2 "),
    (r"(?i)\b(more)('n)\b", " $1 $2 "),
    (r"(?i) ('t)(is)\b", " $1 $2 "),
    (r"(?i) ('t)(was)\b", " $1 $2 "),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    SUBSTITUTIONS.iter().filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, *by))).collect()
});

/// Returns whether a text in lower case has a word of this one character.
pub(super) fn has_word(text: &str, word: char) -> Result<bool, MetricError> {
    if !text.contains(word) {
        return Ok(false);
    }
    let found = |sentences: &[&str]| -> Result<bool, MetricError> {
        for sentence in sentences {
            if words(sentence)?.split(is_space).any(|one| one.chars().eq([word])) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let stops = full_stops(text, word);
    let sure = found(&divided(text, stops.iter().filter(|stop| stop.ends == Some(true))))?;
    if stops.iter().any(|stop| stop.ends.is_none())
        && found(&divided(text, stops.iter().filter(|stop| stop.ends != Some(false))))? != sure
    {
        let why = "stands alone depends on where sentences end, which is not known here";
        return Err(task_error(format!("whether {word:?} {why}")));
    }
    Ok(sure)
}

/// Divides a text after these places.
fn divided<'a>(text: &'a str, stops: impl Iterator<Item = &'a FullStop>) -> Vec<&'a str> {
    let mut begun = 0;
    let mut parts = Vec::new();
    for stop in stops {
        parts.push(text[begun..stop.at].trim_matches(is_space));
        begun = stop.at;
    }
    parts.push(text[begun..].trim_matches(is_space));
    parts
}

/// A place behind a full stop.
struct FullStop {
    at: usize,
    /// Whether a sentence ends there; `None` if that is not known here.
    ends: Option<bool>,
}

/// Returns the places at which a sentence's end could make the character a word: after a full stop that follows it.
fn full_stops(text: &str, word: char) -> Vec<FullStop> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('.') {
        let before = text[..at].trim_end_matches('\'');
        let after = &text[at + 1..];
        let end = text.len() - after.trim_start_matches(CLOSING).len();
        let next = text[end..].trim_start_matches(is_space);
        let gap = &text[end..text.len() - next.len()];
        if !before.ends_with(word) || gap.is_empty() || next.is_empty() {
            continue;
        }
        // The tokenizer takes a mark inside of a word for an end, and so the whole word for the end of a sentence.
        let own = before.rsplit(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
        let is_marked = before.len() < at || end > at + 1 || own.contains(['!', '?']);
        let ends = if !gap.is_ascii() {
            // By other blanks the tokenizer divides only in part.
            None
        } else if is_marked {
            Some(true)
        } else {
            word.is_ascii_digit().then(|| !continues(next))
        };
        found.push(FullStop { at: end, ends });
    }
    found
}

/// Returns whether a sentence goes on after a number with a full stop: before a word in lower case, and before punctuation.
fn continues(next: &str) -> bool {
    let word = next.split(|c: char| is_space(c) || ".,;:!?)".contains(c)).next().unwrap_or_default();
    let is_lower = next.starts_with(char::is_lowercase) && !SENTENCE_STARTS.contains(&word);
    is_lower || next.starts_with([';', ':', ',', '.', '!', '?'])
}

fn words(sentence: &str) -> Result<String, MetricError> {
    let mut text = sentence.to_owned();
    if PATTERNS.len() != SUBSTITUTIONS.len() {
        return Err(task_error("the patterns of words cannot be read"));
    }
    for (pattern, by) in PATTERNS.iter() {
        let replaced = pattern.try_replacen(&text, 0, *by);
        let replaced = replaced
            .map_err(|error| task_error(format!("the answer cannot be divided into words: {error}")))?;
        text = replaced.into_owned();
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{PATTERNS, SUBSTITUTIONS, has_word};

    #[test]
    fn a_character_alone_is_a_word() {
        assert_eq!(PATTERNS.len(), SUBSTITUTIONS.len());
        for (text, word, expected) in [
            ("there are 2.", '2', true),
            ("there are 2 of them", '2', true),
            ("2", '2', true),
            ("20", '2', false),
            ("1,2", '2', false),
            ("1, 2", '2', true),
            ("2%", '2', true),
            ("(2)", '2', true),
            ("\"2\"", '2', true),
            ("2/5", '2', false),
            ("2. the rest", '2', false),
            ("2. 5 more", '2', true),
            ("\"2.\" said", '2', true),
            ("so!2. and", '2', true),
            ("'2'. and", '2', true),
        ] {
            assert_eq!(has_word(text, word), Ok(expected), "{text:?}");
        }
        assert!(has_word("plan b. then", 'b').is_err());
        assert!(has_word("2.\u{a0}5", '2').is_err());
    }
    proptest::proptest! {
        #[test]
        fn any_text_has_the_word_or_not(text in "\\PC{0,80}", word in proptest::char::any()) {
            let _ = has_word(&text, word);
        }

        #[test]
        fn any_text_has_a_number_between_blanks(before in "[a-z0-9'\".,:;!?() -]{0,30}", after in "[a-z0-9'\".,:;!?() -]{0,30}") {
            proptest::prop_assert_eq!(has_word(&format!("{before} 2 {after}"), '2'), Ok(true));
        }
    }
}
