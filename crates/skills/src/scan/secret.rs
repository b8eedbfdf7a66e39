//! Detects secrets: key formats of services, values after a name such as "key", and passwords in sentences.

use std::sync::LazyLock;

use regex::Regex;

/// Known key formats.
pub(super) const FORMS: &[&str] = &[
    r"\b(AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,}\b",
    r"\bgithub_pat_[A-Za-z0-9_]{40,}\b",
    r"\bsk-[A-Za-z0-9_-]{20,}\b",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}\b",
    r"\bAIza[0-9A-Za-z_-]{35}\b",
    r"\bGOCSPX-[A-Za-z0-9_-]{20,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}\b",
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\b(gsk|r8|figd|nfp|dckr_pat|sntry[su]|glsa|glc|lin_api|ntn|pscale_(tkn|pw|oauth))_[A-Za-z0-9_+/=-]{20,}",
    r"\b(sbp_|dapi|rubygems_|pul-|key-)[a-f0-9]{32,}\b",
    r"\b(xai|pplx|PMAK|NRAK|NRJS)-[A-Za-z0-9-]{24,}",
    r"\bhv[sb]\.[A-Za-z0-9_-]{24,}",
    r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
    r"\bdp\.(pt|st|ct|sa)\.[A-Za-z0-9._-]{40,}",
    r"\bATATT3[A-Za-z0-9_=-]{60,}",
    r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b",
    r"\bsq0(atp|csp|idp)-[A-Za-z0-9_-]{22,}",
    r"\bLTAI[A-Za-z0-9]{17,21}\b",
    r"\bops_eyJ[A-Za-z0-9_-]{40,}",
    r"\b[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}",
    r"\b[a-f0-9]{32}-us\d{1,2}\b",
    r"\bhooks\.slack\.com/(services|workflows)/[A-Za-z0-9/_-]{20,}",
    r"\bdiscord(app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{30,}",
    r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    r"\bgl(pat|ptt|dt|rt|soat)-[A-Za-z0-9_-]{20,}",
    r"\bnpm_[A-Za-z0-9]{36}\b",
    r"\bpypi-[A-Za-z0-9_-]{60,}",
    r"\bhf_[A-Za-z0-9]{30,}\b",
    r"\b(sk|rk|pk)_(live|test)_[A-Za-z0-9]{16,}\b",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"\bSK[0-9a-f]{32}\b",
    r"\bshp(at|ca|pa|ss)_[A-Fa-f0-9]{32}\b",
    r"\bdo[opr]_v1_[a-f0-9]{64}\b",
    r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}",
    r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}\b",
    r"(?i)\b(AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,}",
    r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{20,}",
    r"(?i)\bauthorization:\s*basic\s+[A-Za-z0-9+/]{8,}",
    r"(?i)\bcookie:\s*[^\s=;]+=[^\s;]{16,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----",
    r"(?i)\b[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s:@]+@",
    r"(?i)\bcurl\b.{0,40}\s(-u|--user)\s+[^\s:]+:\S{4,}",
    r"\bPIN( code)?\s*(is|:|=)?\s*\d{4,8}\b",
    r"(?i)\b(recovery|backup|one-time) codes?\s*(is|are|:)\s*[a-z0-9]{3,}\d[a-z0-9-]*",
];

/// The kinds of values that a rule accepts as a secret.
#[derive(Clone, Copy)]
enum Value {
    /// A long value whose characters look random.
    Key,
    /// A value that a person might type, after a word that announces it.
    Announced,
    /// The same without an announcing word. The value must look like nothing else.
    Unannounced,
    /// A card number.
    Card,
}

/// Rules whose last group is the value.
const VALUES: &[(Value, &str)] = &[
    (
        Value::Key,
        r#"(?i)\b[a-z0-9_.-]{0,40}(?:token|secret|passw(?:or)?d|credential|(?:api|access|private|auth|client)[ _-]?(?:key|id))[a-z0-9_-]{0,20}\b["'`]?\s*(?:=>|:=|=|:|is)\s*["'`]?([A-Za-z0-9+/_=.~-]{16,})"#,
    ),
    (
        Value::Announced,
        r#"(?i)\b(?:password|passwd|passphrase|passcode|pwd|secret|api[_ -]?key|access[_ -]?token|passwort|kennwort|contrasena|contraseña|mot de passe|senha|wachtwoord|haslo|hasło|пароль|密码|パスワード)\s*(?:is|=|:|：|lautet|ist|es|est|для|是|は|é|to)\s*["'`“„«]?([^\s"'`”“»]{6,})"#,
    ),
    (
        Value::Unannounced,
        r#"(?i)\b(?:password|passwd|passphrase|passcode|pwd|passwort|kennwort|contrasena|mot de passe|senha|пароль)\s+["'`“„«]?([^\s"'`”“»]{6,})"#,
    ),
    (Value::Unannounced, r#"(?i)\b(?:log|sign)[ -]?(?:in|on)\b[^.\n]{0,40}\s/\s+["'`“]?([^\s"'`”]{6,})"#),
    (Value::Card, r"\b([3-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{3,4})\b"),
];

/// Bits per character from which a value looks random.
const RANDOM_BITS: f64 = 3.5;
/// The same for a value with a single digit. Only long values reach it.
const RANDOM_BITS_ONE_DIGIT: f64 = 4.4;
/// Length from which an announced password of letters alone counts. It is longer than ordinary words after "the
/// password is".
const LONG_WORD: usize = 15;

/// Prefixes of keyboard shortcuts, which are not secrets.
const KEYS: [&str; 6] = ["ctrl+", "alt+", "shift+", "super+", "meta+", "cmd+"];

static RULES: LazyLock<Option<Vec<(Value, Regex)>>> =
    LazyLock::new(|| VALUES.iter().map(|(kind, rule)| Some((*kind, Regex::new(rule).ok()?))).collect());

/// Returns whether a text contains a secret that no known format matches.
pub(super) fn contains_secret(text: &str) -> bool {
    // If the rules did not compile, every text matches, so that a mistake refuses texts. A test compiles the rules.
    let Some(rules) = RULES.as_ref() else { return true };
    let told = |(kind, rule): &(Value, Regex)| {
        rule.captures_iter(text).filter_map(|found| found.get(1)).any(|value| kind.is_one(value.as_str()))
    };
    rules.iter().any(told)
}

impl Value {
    fn is_one(self, value: &str) -> bool {
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        let letters = value.chars().filter(|c| c.is_alphabetic()).count();
        match self {
            // Many names contain one digit, so that such a value must look more random. Names of entries contain
            // spaces or no digits.
            Self::Key => {
                let bits_wanted = if digits < 2 { RANDOM_BITS_ONE_DIGIT } else { RANDOM_BITS };
                digits > 0 && letters > 0 && bits(value) >= bits_wanted
            }
            Self::Announced => {
                let word = value.trim_end_matches(|c: char| c.is_ascii_punctuation());
                let marked = |c| matches!(c, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '*' | '?');
                let only_letters = word.chars().all(char::is_alphabetic);
                // Settings entries and shortcuts also follow such words.
                let entry =
                    word.contains("/") && word.split('/').all(|part| part.starts_with(char::is_uppercase));
                if entry || KEYS.iter().any(|key| word.to_lowercase().starts_with(key)) {
                    return false;
                }
                letters > 0 && (digits > 0 || word.contains(marked) || only_letters && letters >= LONG_WORD)
            }
            Self::Unannounced => {
                // Names of things end in a number, but have no number within a word.
                let name = value.trim_end_matches(|c: char| c.is_ascii_digit() || c.is_ascii_punctuation());
                let within = name.trim_start_matches(|c: char| c.is_ascii_digit());
                let is_path = value.contains(['/', '\\', '>', '+', '(', '=']);
                letters > 0 && !is_path && within.bytes().any(|byte| byte.is_ascii_digit())
            }
            Self::Card => is_card(value),
        }
    }
}

/// Returns whether the last digit is a valid Luhn check digit.
fn is_card(number: &str) -> bool {
    let digits: Vec<u32> = number.chars().filter_map(|c| c.to_digit(10)).collect();
    let doubled = |(place, digit): (usize, &u32)| match place % 2 {
        0 => *digit,
        _ => digit * 2 - if *digit > 4 { 9 } else { 0 },
    };
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
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
    use super::{contains_secret, is_card};

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
    }

    #[test]
    fn a_card_has_fifteen_or_sixteen_digits() {
        // The check digit of each is valid.
        assert!(!is_card("41111111111114") && !is_card("41111111111111113"));
        assert!(is_card("378282246310005") && is_card("4111111111111111"));
        assert!(is_card("a378282246310005"), "a letter is no digit");
    }
}
