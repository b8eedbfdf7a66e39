//! Mends JSON that servers write and parsers refuse: a byte order mark, and half of a surrogate pair, which a cut emoji
//! leaves behind.

use std::borrow::Cow;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The escaped digits of the character for what cannot be shown.
const REPLACEMENT: &[u8; 4] = b"fffd";

/// Returns JSON text without a byte order mark, in which each escaped half of a surrogate pair is replaced.
pub(crate) fn well_formed(mut body: Vec<u8>) -> Vec<u8> {
    if body.starts_with(BYTE_ORDER_MARK) {
        body.drain(..BYTE_ORDER_MARK.len());
    }
    let mut at = 0;
    while let Some(found) = body.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        let escape = at + found;
        at = match unit(&body, escape) {
            Some(0xd800..=0xdbff) if matches!(unit(&body, escape + 6), Some(0xdc00..=0xdfff)) => escape + 12,
            Some(0xd800..=0xdfff) => {
                body[escape + 2..escape + 6].copy_from_slice(REPLACEMENT);
                escape + 6
            }
            Some(_) => escape + 6,
            None => escape + 2,
        };
    }
    body
}

/// The same for the data of an event.
pub(crate) fn well_formed_text(data: &str) -> Cow<'_, str> {
    if !data.contains("\\u") && !data.starts_with('\u{feff}') {
        return Cow::Borrowed(data);
    }
    // Only ASCII characters were replaced, so it still is UTF-8.
    String::from_utf8(well_formed(data.as_bytes().to_vec())).map_or(Cow::Borrowed(data), Cow::Owned)
}

/// The UTF-16 unit of the escape at a place.
fn unit(body: &[u8], at: usize) -> Option<u16> {
    let digits = body.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{well_formed, well_formed_text};

    #[test]
    fn halves_are_replaced_and_pairs_stay() {
        let check = |body: &str, expected: &str| {
            let mended = well_formed(body.as_bytes().to_vec());
            assert_eq!(std::str::from_utf8(&mended), Ok(expected), "{body}");
            serde_json::from_slice::<serde_json::Value>(&mended).expect("parses");
            assert_eq!(well_formed_text(body), expected);
        };
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(r#""a \ud83d b""#, r#""a \ufffd b""#);
        check(r#""\uDE00""#, r#""\ufffd""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\ud83d\n""#, r#""\ufffd\n""#);
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check("\u{feff}{\"a\":\"\\u00e9\"}", r#"{"a":"\u00e9"}"#);
        check("\"é\"", "\"é\"");
    }
}
