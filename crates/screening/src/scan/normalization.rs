//! The normalized forms of a text: as written, as rendered, and as decoded by a reader who is told to decode it.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::{Captures, Regex};
use unicode_normalization::UnicodeNormalization as _;

/// Number of single letters in a row from which they count as a spaced-out word.
const MIN_SPACED_LETTERS: usize = 4;

static RUNS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{16,}|(?:[0-9A-Fa-f]{2}[ :]?){12,}").ok());
static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"&#x([0-9A-Fa-f]{1,6});|&#([0-9]{1,7});|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|%([0-9A-Fa-f]{2})",
    )
    .ok()
});

/// Returns all normalized forms of a text.
pub(super) fn normalized_forms(text: &str) -> Vec<String> {
    let looks = as_it_looks(text);
    let mut all = vec![text.to_owned()];
    all.extend([joined_lines(text), join_spaced_letters(&looks), unescaped(text)]);
    all.extend(hidden_tag_text(text));
    all.extend(encoded(text));
    all.push(looks);
    all.dedup();
    all
}

/// Returns the text as a reader sees it: without invisible characters, in plain letters, on one line.
fn as_it_looks(text: &str) -> String {
    let shown: String = text.nfkd().filter(|c| !is_hidden(*c)).map(plain_letter).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces digits and signs that stand for letters (leetspeak). Only for rules about words, because it damages
/// everything else.
pub(super) fn as_letters(text: &str) -> String {
    let letter = |c| match c {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    };
    as_it_looks(text).chars().map(letter).collect()
}

/// Returns whether a character is invisible: zero-width characters, combining marks, and direction controls.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the Latin letter that a Cyrillic or Greek letter looks like.
fn plain_letter(c: char) -> char {
    const ALIKE: &str =
        "аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbнnοoαaιiνvρpτtυuκkεeАAЕEОOРPСCУYХXІIЈJЅSКKМMТTВBНHΟOΑAΙIΡPΤTΚKΕE";
    let mut pairs = ALIKE.chars();
    while let (Some(foreign), Some(latin)) = (pairs.next(), pairs.next()) {
        if foreign == c {
            return latin;
        }
    }
    c
}

/// Joins lines, because a key may be broken over two lines.
fn joined_lines(text: &str) -> String {
    text.lines().map(str::trim).collect()
}

/// Joins the letters of spaced-out words.
fn join_spaced_letters(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut singles = String::new();
    let settle = |singles: &mut String, words: &mut Vec<String>| {
        if singles.chars().count() >= MIN_SPACED_LETTERS {
            words.push(singles.clone());
        } else {
            words.extend(singles.chars().map(String::from));
        }
        singles.clear();
    };
    for word in text.split_whitespace() {
        let mut letters = word.chars();
        match (letters.next(), letters.next()) {
            (Some(one), None) if one.is_alphanumeric() => singles.push(one),
            _ => {
                settle(&mut singles, &mut words);
                let parts: Vec<&str> = word.split(['-', '.', '_', '*']).collect();
                let spread = parts.len() >= 3 && parts.iter().all(|part| part.chars().count() == 1);
                words.push(if spread { parts.concat() } else { word.to_owned() });
            }
        }
    }
    settle(&mut singles, &mut words);
    words.join(" ")
}

/// Returns the text hidden in Unicode tag characters, which are never displayed.
fn hidden_tag_text(text: &str) -> Option<String> {
    let plain =
        |c: char| char::from_u32(u32::from(c).checked_sub(0xe0000)?).filter(|c| matches!(c, ' '..='~'));
    let decoded: String = text.chars().filter_map(plain).collect();
    (!decoded.is_empty()).then_some(decoded)
}

/// Replaces numeric character escapes with their characters.
fn unescaped(text: &str) -> String {
    let Some(rule) = ESCAPES.as_ref() else { return text.to_owned() };
    let put = |found: &Captures<'_>| {
        let number = (1..=5).find_map(|group| {
            let digits = found.get(group)?.as_str();
            u32::from_str_radix(digits, if group == 2 { 10 } else { 16 }).ok()
        });
        number.and_then(char::from_u32).map_or_else(|| found[0].to_owned(), String::from)
    };
    rule.replace_all(text, put).into_owned()
}

/// Decodes texts in base64 or hexadecimal.
fn encoded(text: &str) -> Vec<String> {
    let Some(rule) = RUNS.as_ref() else { return Vec::new() };
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let read = |run: &str| {
        let digits: Vec<u8> = run.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits
            .chunks_exact(2)
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        let bases = [STANDARD, URL_SAFE].map(|base| GeneralPurpose::new(&base, config).decode(run).ok());
        let all = bases.into_iter().flatten().chain([pairs.collect()]);
        all.filter_map(|bytes| String::from_utf8(bytes).ok())
            .filter(|decoded| is_printable_text(decoded))
            .collect::<Vec<_>>()
    };
    rule.find_iter(text).flat_map(|run| read(run.as_str())).map(|decoded| as_it_looks(&decoded)).collect()
}

/// Returns whether decoded bytes are words.
fn is_printable_text(text: &str) -> bool {
    text.contains(' ') && text.chars().all(|c| !c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::join_spaced_letters;

    #[test]
    fn a_word_in_single_letters_is_joined_and_names_of_columns_are_not() {
        assert_eq!(join_spaced_letters("run s u d o now"), "run sudo now");
        assert_eq!(
            join_spaced_letters("Select the columns A B C and press Enter"),
            "Select the columns A B C and press Enter"
        );
    }

    #[test]
    fn a_word_spread_by_signs_has_at_least_three_letters() {
        for (text, joined) in [
            ("the a-b column", "the a-b column"),
            ("run s-h-e now", "run she now"),
            ("run s.u.d.o now", "run sudo now"),
            ("run c_u_r_l_s now", "run curls now"),
        ] {
            assert_eq!(join_spaced_letters(text), joined);
        }
    }
}
