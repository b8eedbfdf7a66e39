//! Words of an answer, as `nltk.word_tokenize` finds them, as far as words of one character depend on it.

use std::sync::LazyLock;

use fancy_regex::Regex;

use crate::check::metric::python::is_space;
use crate::check::metric::score::{MetricError, task_error};

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

/// Whether a text in lower case has a word of this one character.
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
    let whole = found(&[text])?;
    let (sure, possible) = sentences(text, word);
    let divided = found(&sure)?;
    if whole != divided || sure.len() != possible.len() {
        // Only a full stop right after the character makes a difference, and only numbers are decided here.
        if !word.is_ascii_digit() && found(&possible)? != whole {
            let why = format!(
                "whether {word:?} stands alone depends on where sentences end, which is not known here"
            );
            return Err(task_error(why));
        }
    }
    Ok(whole || divided)
}

/// Divides a text after full stops that follow the character: where a number ends a sentence, and at each place where
/// one could end.
fn sentences(text: &str, word: char) -> (Vec<&str>, Vec<&str>) {
    let (mut sure, mut possible) = (Vec::new(), Vec::new());
    let (mut begun, mut begun_possible) = (0, 0);
    let mut before = None;
    for (at, character) in text.char_indices() {
        let after = &text[at + character.len_utf8()..];
        let end = text.len() - after.trim_start_matches(CLOSING).len();
        let next = text[end..].trim_start_matches(is_space);
        let follows = next.len() < text[end..].len() && !next.is_empty();
        if character == '.' && before == Some(word) && follows {
            possible.push(&text[begun_possible..end]);
            begun_possible = end;
            if ends_sentence(next, end > at + 1) {
                sure.push(&text[begun..end]);
                begun = end;
            }
        }
        before = Some(character);
    }
    sure.push(&text[begun..]);
    possible.push(&text[begun_possible..]);
    for part in sure.iter_mut().chain(&mut possible) {
        *part = part.trim_matches(is_space);
    }
    (sure, possible)
}

/// Whether a sentence ends after a number with a full stop, by what follows: not before a word in lower case, nor before
/// punctuation.
fn ends_sentence(next: &str, is_closed: bool) -> bool {
    let word = next.split(|c: char| is_space(c) || ".,;:!?)".contains(c)).next().unwrap_or_default();
    let is_lower = next.starts_with(char::is_lowercase) && !SENTENCE_STARTS.contains(&word);
    is_closed || !(is_lower || next.starts_with([';', ':', ',', '.', '!', '?']))
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
        ] {
            assert_eq!(has_word(text, word), Ok(expected), "{text:?}");
        }
    }
}
