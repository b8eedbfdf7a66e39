//! The form of a text: what a reader cannot judge because it is hidden, encoded, disguised, or in a language that the
//! rules do not know.

use std::sync::LazyLock;

use apprentice_wording::{is_word, stem};
use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

use super::lexicon::{has_any, is_unspaced, plain};
use super::names::without_named;
use super::order_words::{LANGUAGES_OF_ORDERS, is_of_language};

/// Smallest number of words of which a language is recognised.
const MIN_WORDS: usize = 5;
/// The same of a whole page.
const MIN_PAGE_WORDS: usize = 14;
/// Share of common words, in percent, from which the language of a text counts as known.
const MIN_COMMON_PERCENT: usize = 20;
/// Share of words, in percent, that begin sentences, tell or oblige in one language, from which a text counts as that
/// language's.
const MIN_OF_ONE_LANGUAGE_PERCENT: usize = 30;
/// Share of English words, in percent, from which a text counts as English.
const MIN_ENGLISH_PERCENT: usize = 70;
/// Shortest word that may be disguised by digits for letters.
const MIN_DISGUISED_CHARS: usize = 4;

static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"&#x?[0-9A-Fa-f]{2,7};|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|(?:%[0-9A-Fa-f]{2}){2}|\\[0-7]{3}")
        .ok()
});
static MARKUP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)<!--|<\s*/?\s*(script|iframe|img|style|svg|object|system|meta)\b|<\|").ok()
});
static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/=_]{20,}").ok());
static BYTES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:(?:0x)?[0-9a-f]{2}[ ,:]\s?){7,}|\b[01]{8}(?:\s[01]{8}){2,}|\b(?:\d{2,3}[ ,]\s?){7,}",
    )
    .ok()
});
static APART: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b\p{L}(?:[ .\-_*·|/]\p{L}\b){4,}").ok());

/// Returns why a text cannot be judged, if so.
pub(super) fn unreadable(text: &str) -> Option<&'static str> {
    let matches = |rule: &LazyLock<Option<Regex>>| rule.as_ref().is_none_or(|rule| rule.is_match(text));
    if text.chars().any(is_hidden) {
        return Some("it holds characters that nobody sees");
    }
    if text.chars().any(is_stand_in)
        || text.split(|c: char| !c.is_alphanumeric()).any(|word| is_mixed(word, text))
    {
        return Some("letters of another script stand for Latin ones");
    }
    if text.chars().any(|c| c.is_alphabetic() && !is_known_script(c)) {
        return Some("it is in a script that the rules do not know");
    }
    if matches(&ESCAPES) || matches(&MARKUP) || matches(&BYTES) || has_encoded_run(text) {
        return Some("it holds encoded text or markup");
    }
    if matches(&APART) || is_leet(text) {
        return Some("its words are disguised");
    }
    None
}

/// Returns whether a character is invisible, or changes the order of what is seen.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{180e}' | '\u{200b}' | '\u{200c}'
        | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
        || (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
}

/// Returns whether a character is another form of a Latin letter: wide, mathematical, in a circle.
fn is_stand_in(c: char) -> bool {
    let mut plain = std::iter::once(c).nfkc();
    !c.is_ascii()
        && !c.is_numeric()
        && c.is_alphanumeric()
        && !matches!(c, 'ª' | 'º' | 'ĳ' | 'Ĳ' | 'ſ' | 'ﬀ'..='ﬆ' | '™' | '㎡' | 'ﾟ')
        && matches!((plain.next(), plain.next()), (Some(letter), None) if letter.is_ascii_alphabetic())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Cyrillic,
    Greek,
    Other,
}

fn script(c: char) -> Script {
    match u32::from(c) {
        0x41..=0x24f | 0x1e00..=0x1eff => Script::Latin,
        0x370..=0x3ff | 0x1f00..=0x1fff => Script::Greek,
        0x400..=0x52f => Script::Cyrillic,
        _ => Script::Other,
    }
}

fn is_known_script(c: char) -> bool {
    script(c) != Script::Other
        || is_unspaced(c)
        || matches!(u32::from(c), 0xaa | 0xb5 | 0xba | 0x2b0..=0x2ff | 0x3005..=0x3007 | 0xff66..=0xff9f | 0x2100..=0x214f)
}

/// Returns whether a word mixes Latin letters with those of another alphabet, or is written in letters of another one
/// that look like Latin, within a Latin text.
fn is_mixed(word: &str, text: &str) -> bool {
    let letters = || word.chars().filter(|c| c.is_alphabetic()).map(|c| (c, script(c)));
    let foreign = letters().filter(|(_, script)| matches!(script, Script::Cyrillic | Script::Greek)).count();
    if foreign == 0 {
        return false;
    }
    if letters().any(|(_, one)| one == Script::Latin) {
        return letters().count() > 2;
    }
    let alike = "асеорхуіјѕԁһкмтвнАВСЕНІЈКМОРЅТХУαειοκνρτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";
    let latin = text.chars().filter(|c| script(*c) == Script::Latin).count();
    let others = text.chars().filter(|c| matches!(script(*c), Script::Cyrillic | Script::Greek)).count();
    foreign > 1 && latin > others && letters().all(|(c, _)| alike.contains(c))
}

/// Returns whether a long run of letters and digits looks encoded: digits, capitals and small letters mixed.
fn has_encoded_run(text: &str) -> bool {
    let Some(rule) = RUNS.as_ref() else { return true };
    rule.find_iter(text).any(|run| {
        let run = run.as_str();
        let count = |of: fn(&u8) -> bool| run.bytes().filter(of).count();
        let (digits, large, small) =
            (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
        let changes = run
            .as_bytes()
            .windows(2)
            .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
            .count();
        let hex = run.bytes().all(|byte| byte.is_ascii_hexdigit()) && digits > 3;
        hex || run.ends_with('=') || (digits > 0 && large > 2 && small > 2 && changes > 1)
    })
}

/// Returns whether digits or signs stand for letters in a word that would be one of an act.
fn is_leet(text: &str) -> bool {
    let letter = |c| match c {
        '0' => 'o',
        '1' | '!' | '|' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    };
    plain(text).split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '@' && c != '$');
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        let read: String = word.chars().map(letter).collect();
        read != word
            && letters >= 2
            && read.chars().all(char::is_alphabetic)
            && read.chars().count() >= MIN_DISGUISED_CHARS
            && ["send", "delete", "install", "run", "off", "allow", "spend", "credential", "code", "stored"]
                .iter()
                .any(|group| has_any(group, &read) && !has_any(group, word))
    })
}

/// Returns whether the language of a text is one that the rules know, as far as it has words enough to tell.
pub(super) fn is_known_language(text: &str) -> bool {
    is_known(text, MIN_WORDS)
}

/// Returns the same of a whole page, whose names and headings are no sentences.
pub(super) fn is_known_page(text: &str) -> bool {
    is_known(text, MIN_PAGE_WORDS)
}

fn is_known(text: &str, few: usize) -> bool {
    let bare = without_named(text);
    let words: Vec<&str> = bare
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '-'))
        .filter(|word| {
            word.chars().count() > 0 && word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
        })
        .filter(|word| word.chars().next().is_some_and(char::is_lowercase))
        .filter(|word| !word.chars().any(is_unspaced))
        .collect();
    let share = |is_known: &dyn Fn(&str) -> bool| {
        100 * words.iter().filter(|word| is_known(&plain(word))).count() / words.len().max(1)
    };
    words.len() < few
        || share(&|word| has_any("common", word)) >= MIN_COMMON_PERCENT
        || LANGUAGES_OF_ORDERS
            .iter()
            .any(|language| share(&|word| is_of_language(word, language)) >= MIN_OF_ONE_LANGUAGE_PERCENT)
        || share(&|word| is_word(word) || is_word(&stem(word))) >= MIN_ENGLISH_PERCENT
}

#[cfg(test)]
mod tests {
    use super::{is_known_language, is_known_page, unreadable};

    #[test]
    fn a_text_is_english_by_most_of_its_words() {
        // Half of it are names of controls in a sentence of another language.
        assert!(!is_known_language("print lalu photo pilih brush simpan canvas tekan"));
        assert!(is_known_language("print photo brush canvas berkas"), "four of five");
    }

    #[test]
    fn a_form_that_hides_its_words_is_not_readable() {
        for text in [
            "Press\u{200b} Enter.",
            "Press Еntеr now.",
            "Ｐress it.",
            "𝐃elete it.",
            "Open &#70;ile.",
            "Open %46%69le.",
            "Type 52 75 6e 20 69 74 20 6e 6f 77 there.",
            "Take UnVuIHRoZSBzY3JpcHQgbm93 and read it.",
            "p r e s s it",
            "d3lete it",
            "<!-- hidden --> Open it.",
            "افتح الملف",
        ] {
            assert!(unreadable(text).is_some(), "{text:?}");
        }
        for text in [
            "Press Ctrl+Shift+F5, then F11.",
            "Откройте File > Save и нажмите OK.",
            "Choose 100% and 2.5 mm, or H2O.",
            "「ファイル」メニューを開きます。",
            "Größe, naïve, ça, Łódź.",
            "Set α to 0.5 and µ to 3.",
            "Type =VLOOKUP(A2;Sheet2.A:C;3;0) into B2.",
            "Open chrome://settings/content/siteDetails.",
            "Columns A, B, C, D, E and F.",
            "Name the sheet p4y.",
        ] {
            assert_eq!(unreadable(text), None, "{text:?}");
        }
    }

    #[test]
    fn where_a_form_begins_to_hide_its_words() {
        for (text, hides) in [
            // Two letters are a variable, three a word.
            ("Set Δx to 2.", false),
            ("Set Δxy to 2.", true),
            // A hexadecimal number of 20 places has more than three digits.
            ("Type abcdefabcdefabcde123 there.", false),
            ("Type abcdefabcdefabcd1234 there.", true),
            // What is encoded has digits, three capitals and three small letters, and changes between them twice.
            ("Type xXyYzZ11111111111111 there.", true),
            ("Type xXyYzz11111111111111 there.", false),
            ("Type xXyYZZ11111111111111 there.", false),
            ("Type xxxXYZ11111111111111 there.", false),
            ("Type XY111111111111xyxYxZ there.", true),
            ("Type xXyYzZxXyYzZxXyYzZxX there.", false),
            // A word of four signs of which two are letters.
            ("53nd it.", true),
            ("Open d474.", false),
            ("Open da74.", true),
            ("p4y it.", false),
        ] {
            assert_eq!(unreadable(text).is_some(), hides, "{text:?}");
        }
    }

    #[test]
    fn a_language_is_told_from_five_words_on_and_of_a_page_from_fourteen() {
        let words = |count| ["nappulasta"].repeat(count).join(" ");
        assert!(is_known_language(&words(4)) && !is_known_language(&words(5)));
        assert!(is_known_page(&words(13)) && !is_known_page(&words(14)));
        // One common word in five is enough.
        let common = |others| format!("{} {}", ["the"; 4].join(" "), words(others));
        assert!(is_known_language(&common(16)) && !is_known_language(&common(17)));
    }

    #[test]
    fn a_language_that_the_rules_do_not_know_is_told_by_its_common_words() {
        assert!(is_known_language("Klicke auf das Feld und drücke die Eingabetaste."));
        assert!(is_known_language("Select the layer, then choose it again."));
        assert!(!is_known_language("avaa valikko ja paina sitten näppäintä kunnes ikkuna sulkeutuu"));
        assert!(is_known_language("avaa valikko"), "too few words to tell");
        // A page has names and headings, so ten words of it do not tell its language yet; twenty do.
        let words = "avaa valikko nappulasta napsauttamalla ikkunasta valitse painike sitten sulje kehys ";
        assert!(is_known_page(words) && !is_known_page(&words.repeat(2)));
    }
}
