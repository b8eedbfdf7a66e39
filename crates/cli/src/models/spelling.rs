//! Classifies a model's name as known, plausibly new, or probably mistyped.

/// The result of a comparison with the known names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// The name equals a known name, or starts with one that ends in `*`.
    Known,
    /// The name is unknown but plausible: a newer version or another model.
    New,
    /// The name is probably a typo of one of these.
    Mistyped(Vec<String>),
}

/// Number of similar names to suggest.
const TOLD: usize = 3;
/// Names with fewer letters are too short for a check of typos.
const FEW_LETTERS: usize = 5;

/// Compares a name with the known ones. A name that differs only in digits is plausibly a new version; a name that
/// differs in a letter or two is probably a typo.
pub(crate) fn spelling<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Spelling {
    let own = letters(name);
    let (mut near, mut new) = (Vec::new(), false);
    for one in known {
        match one.strip_suffix('*') {
            Some(head) if name.starts_with(head) => return Spelling::Known,
            None if name == one => return Spelling::Known,
            Some(_) | None => {}
        }
        let one = one.trim_end_matches('*');
        let theirs = letters(one);
        let apart = strsim::damerau_levenshtein(&own, &theirs);
        new |= apart == 0;
        if own.len() >= FEW_LETTERS && apart > 0 && apart <= 1 + own.len() / 12 {
            near.push((strsim::damerau_levenshtein(name, one), one.to_owned()));
        }
    }
    near.sort_unstable();
    near.truncate(TOLD);
    match new || near.is_empty() {
        true => Spelling::New,
        false => Spelling::Mistyped(near.into_iter().map(|(_, name)| name).collect()),
    }
}

/// Returns the letters of a name in lower case, without digits and punctuation, which change between versions.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphabetic);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Spelling, spelling};

    const KNOWN: [&str; 6] = [
        "claude-sonnet-5-5*",
        "claude-opus-5-5*",
        "gpt-6.1-sol",
        "gpt-6-luna",
        "gemini-3.8-flash",
        "gemini-4-argon",
    ];

    fn check(name: &str, expected: &Spelling) {
        assert_eq!(&spelling(name, KNOWN.into_iter()), expected, "{name}");
    }

    #[test]
    fn slips_are_told_from_new_versions() {
        for name in ["claude-sonnet-5-5", "claude-sonnet-5-5-20261001", "gpt-6.1-sol"] {
            check(name, &Spelling::Known);
        }
        for name in
            ["claude-sonnet-6", "gpt-7-sol", "gemini-3.9-flash", "o7", "gpt-7-astra", "computer-use-preview"]
        {
            check(name, &Spelling::New);
        }
        for (name, nearest) in [
            ("claude-sonet-5-5", "claude-sonnet-5-5"),
            ("cluade-opus-5-5", "claude-opus-5-5"),
            ("gpt-6.1-soll", "gpt-6.1-sol"),
            ("gemini-3.8-falsh", "gemini-3.8-flash"),
        ] {
            check(name, &Spelling::Mistyped(vec![nearest.to_owned()]));
        }
    }
}
