//! Secrets that no form shows: values behind a name such as "key", passwords in sentences, card numbers.

/// The kinds of values that a rule accepts as a secret.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// A long value whose characters look random.
    Key,
    /// A value that a person might type, after a word that announces it.
    Announced,
    /// The same without an announcing word. The value must look like nothing else.
    Unannounced,
    /// A card number.
    Card,
}

/// A rule, whose last group is the value.
pub(crate) struct Rule {
    pub(crate) kind: Value,
    pub(crate) name: &'static str,
    pub(crate) pattern: &'static str,
}

/// The rules. As for the forms, none begins within a word. A backslash ends a value: in JSON it may be that of a new line.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        kind: Value::Key,
        name: "named key",
        pattern: r#"(?i)(?-u:\b)[a-z0-9_.-]{0,40}(?:token|secret|passw(?:or)?d|credential|(?:api|access|private|auth|client|account)[ _-]?(?:key|id))[a-z0-9_-]{0,20}(?-u:\b)["'`]?\s*(?:=>|:=|=|:|is)\s*["'`]?([A-Za-z0-9+/_=.~-]{16,})"#,
    },
    Rule {
        kind: Value::Announced,
        name: "password",
        pattern: r#"(?i)(?:password|passwd|passphrase|passcode|pwd|secret|api[_ -]?key|access[_ -]?token|passwort|kennwort|contrasena|contraseña|mot de passe|senha|wachtwoord|haslo|hasło|пароль|密码|パスワード)["'`]?\s*(?:is|=|:|：|lautet|ist|es|est|для|是|は|é|è|to)\s*["'`“„«]?([^\s"'`”“»\\]{6,})"#,
    },
    Rule {
        kind: Value::Announced,
        name: "password in a variable",
        pattern: r#"(?-u:\b)[A-Z][A-Z0-9_]*(?:PASSWORD|PASSWD|PASS|PWD)["']?\s*[=:]\s*["']?([^\s"'`\\;]{6,})"#,
    },
    Rule {
        kind: Value::Announced,
        name: "password in a command",
        pattern: r#"sshpass\s+-p\s*["']?([^\s"'`\\]{6,})"#,
    },
    Rule {
        kind: Value::Key,
        name: "user and password",
        pattern: r#""auth"\s*:\s*"([A-Za-z0-9+/]{12,}={0,2})""#,
    },
    Rule {
        kind: Value::Key,
        name: "key in an address",
        pattern: r"(?i)(?-u:\b)(?:key|sig|signature|x-amz-signature)=([A-Za-z0-9%+/_=.~-]{24,})",
    },
    Rule {
        kind: Value::Unannounced,
        name: "password",
        pattern: r#"(?i)(?:password|passwd|passphrase|passcode|pwd|passwort|kennwort|contrasena|mot de passe|senha|пароль)\s+["'`“„«]?([^\s"'`”“»\\]{6,})"#,
    },
    Rule {
        kind: Value::Unannounced,
        name: "password",
        pattern: r#"(?i)(?-u:\b)(?:log|sign)[ -]?(?:in|on)(?-u:\b)[^.\n]{0,40}\s/\s+["'`“]?([^\s"'`”\\]{6,})"#,
    },
    Rule {
        kind: Value::Card,
        name: "card number",
        pattern: r"(?-u:\b)([3-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{3,4})(?-u:\b)",
    },
];

/// Bits per character from which a value looks random.
const RANDOM_BITS: f64 = 3.5;
/// The same for a value with a single digit. Only long values reach it.
const RANDOM_BITS_ONE_DIGIT: f64 = 4.4;
/// Length from which an announced password of letters alone counts. It is longer than ordinary words after "the
/// password is".
const LONG_WORD: usize = 15;
/// Longest text that is taken for a word, and longest number beside words: a date without strokes.
const WORD: usize = 19;
const NUMBER: usize = 8;
/// Letters that words have on average which are written as one. Of letters by chance every second is a capital.
const MEAN_WORD: usize = 4;

/// Prefixes of keyboard shortcuts, which are not secrets.
const KEYS: [&str; 6] = ["ctrl+", "alt+", "shift+", "super+", "meta+", "cmd+"];
/// Beginnings of what stands for a value that is given elsewhere.
const STAND_INS: [char; 5] = ['<', '{', '$', '%', '['];

impl Value {
    pub(crate) fn is_one(self, value: &str) -> bool {
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        let letters = value.chars().filter(|c| c.is_alphabetic()).count();
        match self {
            // Many names contain one digit, so that such a value must look more random. Names of entries contain
            // spaces or no digits.
            Self::Key => {
                let bits_wanted = if digits < 2 { RANDOM_BITS_ONE_DIGIT } else { RANDOM_BITS };
                digits > 0 && letters > 0 && bits(value) >= bits_wanted && !is_words(value)
            }
            Self::Announced => {
                let word = value.trim_end_matches(|c: char| c.is_ascii_punctuation());
                let marked = |c| matches!(c, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '*' | '?');
                let only_letters = word.chars().all(char::is_alphabetic);
                if is_place(word) || KEYS.iter().any(|key| word.to_lowercase().starts_with(key)) {
                    return false;
                }
                letters > 0 && (digits > 0 || word.contains(marked) || only_letters && letters >= LONG_WORD)
            }
            Self::Unannounced => {
                // Names of things end in a number, but have no number within a word.
                let name = value.trim_end_matches(|c: char| c.is_ascii_digit() || c.is_ascii_punctuation());
                let within = name.trim_start_matches(|c: char| c.is_ascii_digit());
                let is_path = value.contains(['/', '\\', '>', '+', '(', '=']);
                letters > 0
                    && !is_path
                    && !value.starts_with(STAND_INS)
                    && !is_words(value)
                    && within.bytes().any(|byte| byte.is_ascii_digit())
            }
            Self::Card => is_card(value),
        }
    }
}

/// Whether what follows "the password is" says where or what it is, and is none itself: a settings entry, a place of a file, an
/// address, a stand-in, a count ("8-digit").
fn is_place(word: &str) -> bool {
    let entry = word.contains('/') && word.split('/').all(|part| part.starts_with(char::is_uppercase));
    let count = word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('-') && is_words(word);
    let file = word.rsplit_once('.').is_some_and(|(name, kind)| {
        (2..=4).contains(&kind.len())
            && kind.bytes().all(|byte| byte.is_ascii_lowercase())
            && (is_words(word) || is_word(name))
    });
    entry
        || count
        || file
        || word.starts_with(STAND_INS)
        || word.contains("://")
        || word.starts_with(['/', '~'])
}

/// Whether a text is made of words and numbers with strokes, dots or slashes between them, as names of files, models and
/// documents are. Keys are not: some part of them mixes letters and digits, or is longer than words are.
pub(crate) fn is_words(text: &str) -> bool {
    let mut parts =
        text.split(['-', '_', '.', '/', '~', '=', '+', ' ', '\t']).filter(|part| !part.is_empty());
    let all = parts.clone().count() > 1;
    all && parts.all(is_word)
}

/// Whether a part is a word, a number, or one with a little of the other behind it ("v2", "report2026", "7B", "1080p").
fn is_word(part: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let letters = |text: &str| text.chars().all(char::is_alphabetic);
    let turns = part.as_bytes().windows(2);
    let turns = turns.filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase()).count();
    let number = part.trim_start_matches(|c: char| c.is_ascii_digit());
    let counted = part.len() - number.len();
    if counted > 0 {
        return counted <= NUMBER && letters(number) && number.len() <= 3;
    }
    let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
    let after = &part[word.len()..];
    let is_one = word.chars().count() <= WORD && turns <= 2;
    letters(word) && (is_one || is_camel(word)) && after.len() <= 4 && digits(after)
}

/// Whether letters are several words with a capital each: "GuideTeamFinalPhotos". Of random letters some capital soon follows
/// another.
fn is_camel(letters: &str) -> bool {
    let mut parts = vec![0_usize];
    for letter in letters.chars() {
        if letter.is_uppercase() && parts.last() != Some(&0) {
            parts.push(0);
        }
        if let Some(last) = parts.last_mut() {
            *last += 1;
        }
    }
    let long_enough = parts.iter().sum::<usize>() >= MEAN_WORD * parts.len();
    parts.len() > 1 && long_enough && parts.iter().all(|length| (2..=WORD).contains(length))
}

/// Returns whether the last digit is a valid Luhn check digit.
fn is_card(number: &str) -> bool {
    let digits: Vec<u32> = number.chars().filter_map(|c| c.to_digit(10)).collect();
    let doubled = |place: usize, digit: u32| match place % 2 {
        0 => digit,
        _ => digit * 2 - if digit > 4 { 9 } else { 0 },
    };
    let sum: u32 = digits.iter().rev().enumerate().map(|(place, digit)| doubled(place, *digit)).sum();
    (15..=16).contains(&digits.len()) && sum.is_multiple_of(10)
}

/// Returns the Shannon entropy of a text in bits per character.
fn bits(text: &str) -> f64 {
    let mut counts = [0u32; 128];
    text.bytes().filter(u8::is_ascii).for_each(|byte| counts[usize::from(byte)] += 1);
    let all = f64::from(counts.iter().sum::<u32>().max(1));
    let share = |count: u32| f64::from(count) / all;
    counts.into_iter().filter(|count| *count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::{is_card, is_words};
    use crate::contains_secret;

    #[test]
    fn a_value_with_several_digits_is_a_key_from_three_and_a_half_bits_a_character() {
        // Of sixteen characters four stand twice: exactly 3.5 bits.
        assert!(contains_secret("token: aabbccddefghij12"));
        // One stands three times and two twice: 3.45 bits.
        assert!(!contains_secret("token: aaabbccefghijk12"));
    }

    #[test]
    fn a_value_with_one_digit_is_a_key_if_its_characters_hardly_repeat() {
        // 22 different characters have 4.46 bits, 21 have 4.39.
        assert!(contains_secret("token: abcdefghijklmnopqrstu1"));
        assert!(!contains_secret("token: abcdefghijklmnopqrst1"));
        assert!(!contains_secret("token: abcdefghijklmnopqrstuvw"), "without a digit it is a name");
    }

    #[test]
    fn an_announced_password_of_letters_alone_has_fifteen_of_them() {
        assert!(!contains_secret("The password is correcthorseba"));
        assert!(contains_secret("The password is correcthorsebat"));
    }

    #[test]
    fn a_card_is_known_by_its_check_digit() {
        for card in [
            "4539 5787 6362 1486",
            "3782-8224-6310-005",
            "4111111111111111",
            "5500 0055 5555 5559",
            "6011 0009 9013 9424",
        ] {
            assert!(contains_secret(&format!("Pay with {card}.")), "{card}");
        }
        for number in
            ["4539 5787 6362 1481", "4539 5787 6362 1487", "4111 1111 1111 1116", "5500 0055 5555 5550"]
        {
            assert!(!contains_secret(&format!("Choose the row {number}.")), "{number}");
        }
        // Digits behind a point belong to a number.
        assert!(!contains_secret("0.4111111111111111 and 17.4539578763621486"));
    }

    #[test]
    fn a_card_has_fifteen_or_sixteen_digits() {
        // The check digit of each is valid.
        assert!(!is_card("41111111111114") && !is_card("41111111111111113"));
        assert!(is_card("378282246310005") && is_card("4111111111111111"));
        assert!(is_card("a378282246310005"), "a letter is no digit");
    }

    #[test]
    fn names_are_made_of_words_and_keys_are_not() {
        for name in [
            "sk-SK-translation-2026",
            "risk-report_v2.final",
            "Qwen/Qwen2.5-VL-7B-Instruct",
            "2026-03-12",
            "über-uns",
        ] {
            assert!(is_words(name), "{name}");
        }
        for key in
            ["abcdefgh12345678", "K7MDENG/bPxRfi", "550e8400-e29b-41d4-a716", "sk-xxxxxxxxxxxxxxxxxxxxxxxx"]
        {
            assert!(!is_words(key), "{key}");
        }
    }
}
