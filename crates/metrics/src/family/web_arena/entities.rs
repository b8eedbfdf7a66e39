//! Character references, resolved like `html.unescape`.

use std::sync::LazyLock;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use regex::{Captures, Regex};

static REFERENCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"&(#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\x0C <&#;]{1,32};?)").ok());

/// Returns a text without character references; what is none stays as it is.
pub(super) fn unescaped(text: &str) -> String {
    let Some(reference) = REFERENCE.as_ref().filter(|_| text.contains('&')) else { return text.to_owned() };
    reference.replace_all(text, |found: &Captures<'_>| resolved(&found[1])).into_owned()
}

fn resolved(name: &str) -> String {
    if let Some(number) = name.strip_prefix('#') {
        return of_number(number.trim_end_matches(';'));
    }
    // The longest beginning that is a name counts, but none of one character.
    let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]).skip(2).collect::<Vec<_>>();
    let whole = named(name).map(|text| (text, name.len()));
    let existing = whole.or_else(|| {
        ends.iter().rev().filter(|end| **end < name.len()).find_map(|end| Some((named(&name[..*end])?, *end)))
    });
    existing.map_or_else(|| format!("&{name}"), |(text, end)| text + &name[end..])
}

/// Returns the characters of a name, which has its semicolon where it must have one.
fn named(name: &str) -> Option<String> {
    let (first, second) = NAMED_ENTITIES.get(name)?;
    // Beginnings of names stand for no character.
    (*first != 0)
        .then(|| [*first, *second].into_iter().filter(|one| *one != 0).filter_map(char::from_u32).collect())
}

fn of_number(digits: &str) -> String {
    let number = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let replaced =
        |at: u32| usize::try_from(at).ok().and_then(|at| C1_REPLACEMENTS.get(at).copied().flatten());
    let character = match number {
        Ok(0) => Some('\u{fffd}'),
        Ok(0x0d) => Some('\r'),
        Ok(number @ 0x80..=0x9f) => replaced(number - 0x80).or_else(|| char::from_u32(number)),
        Ok(number) if is_no_character(number) => None,
        Ok(number) => Some(char::from_u32(number).unwrap_or('\u{fffd}')),
        Err(_) => Some('\u{fffd}'),
    };
    character.map(String::from).unwrap_or_default()
}

/// Returns whether a number of a reference stands for nothing at all.
fn is_no_character(number: u32) -> bool {
    let last = number <= 0x0010_ffff && matches!(number & 0xffff, 0xfffe | 0xffff);
    matches!(number, 0x1..=0x8 | 0xb | 0xe..=0x1f | 0x7f | 0xfdd0..=0xfdef) || last
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn references_are_resolved_as_python_does() {
        for (text, expected) in [
            ("a &amp; b &lt;&gt;", "a & b <>"),
            ("&notit; &notin; &not", "\u{ac}it; \u{2209} \u{ac}"),
            ("&#65;&#x42;&#x43 &#128;&#129;", "ABC \u{20ac}\u{81}"),
            ("&#0;&#1;&#xD800;&#99999999999;", "\u{fffd}\u{fffd}\u{fffd}"),
            ("&nosuch; & &; &#; &#x;", "&nosuch; & &; &#; &#x;"),
            ("&acE;", "\u{223e}\u{333}"),
            ("&ampamp;", "&amp;"),
        ] {
            assert_eq!(unescaped(text), expected, "{text}");
        }
    }
    proptest::proptest! {
        #[test]
        fn any_text_is_resolved_once_and_keeps_what_is_no_reference(text in "[&#;xXa-zA-Z0-9\u{e9}\u{1f600} ]{0,60}", plain in "[^&]{0,20}") {
            let _ = unescaped(&text);
            proptest::prop_assert_eq!(unescaped(&plain), plain);
        }
    }
}
