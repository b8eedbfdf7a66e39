//! Texts as a reader decodes them: JSON's escapes and percent signs undone, with the place of each character in what is written.

/// How often one encoding may lie within another: a text in JSON within a text in JSON, sent in an address.
const LEVELS: usize = 3;
/// The longest text that is decoded, so that places fit into 32 bits.
const LONGEST: usize = u32::MAX as usize;

/// A decoded text.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) text: String,
    /// For each byte of the text, where what it was decoded from begins; and the end.
    at: Vec<u32>,
}

impl View {
    fn begin(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity), at: Vec::with_capacity(capacity + 1) }
    }

    /// Adds a character that was written from this place on.
    fn push(&mut self, letter: char, from: usize) {
        self.text.push(letter);
        #[expect(clippy::cast_possible_truncation, reason = "no longer text is decoded")]
        self.at.resize(self.text.len(), from as u32);
    }

    fn end(mut self, length: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "no longer text is decoded")]
        self.at.push(length as u32);
        self
    }

    /// Where a part of the decoded text stands in what is written.
    pub(crate) fn place(&self, part: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let at = |index: usize| self.at.get(index).map_or(0, |at| *at as usize);
        at(part.start)..at(part.end)
    }

    /// The same text, with places in what another view was decoded from.
    fn within(mut self, outer: &Self) -> Self {
        for place in &mut self.at {
            *place = outer.at.get(*place as usize).copied().unwrap_or_default();
        }
        self
    }
}

/// Returns the text in each way of decoding it, without the text as it is written.
pub(crate) fn decoded(text: &str) -> Vec<View> {
    if text.len() > LONGEST {
        return Vec::new();
    }
    let mut views: Vec<View> = [unescape(text), unquote(text)].into_iter().flatten().collect();
    let mut first = 0;
    for _ in 1..LEVELS {
        let last = views.len();
        for index in first..last {
            let inner = [unescape(&views[index].text), unquote(&views[index].text)];
            let inner: Vec<View> =
                inner.into_iter().flatten().map(|view| view.within(&views[index])).collect();
            views.extend(inner);
        }
        first = last;
    }
    views
}

/// Undoes the escapes of JSON strings. `None` if there are none.
fn unescape(text: &str) -> Option<View> {
    if !text.contains('\\') {
        return None;
    }
    let mut view = View::begin(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let from = text.len() - rest.len();
        let (letter, length) = escape(rest).unwrap_or((letter, letter.len_utf8()));
        view.push(letter, from);
        rest = rest.get(length..).unwrap_or_default();
    }
    Some(view.end(text.len()))
}

/// The character that a text begins with an escape of, and the escape's length.
fn escape(text: &str) -> Option<(char, usize)> {
    let after = text.strip_prefix('\\')?;
    let simple = |letter| Some((letter, 2));
    match after.bytes().next()? {
        b'n' => simple('\n'),
        b't' => simple('\t'),
        b'r' => simple('\r'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        mark @ (b'"' | b'\'' | b'\\' | b'/') => simple(char::from(mark)),
        b'x' => Some((char::from_u32(hexadecimal(after.get(1..3)?)?)?, 4)),
        b'u' => {
            let first = hexadecimal(after.get(1..5)?)?;
            if let Some(letter) = char::from_u32(first) {
                return Some((letter, 6));
            }
            // Letters beyond 16 bits are written as two.
            let second = hexadecimal(after.get(5..)?.strip_prefix("\\u")?.get(..4)?)?;
            Some((
                char::decode_utf16([u16::try_from(first).ok()?, u16::try_from(second).ok()?]).next()?.ok()?,
                12,
            ))
        }
        _ => None,
    }
}

fn hexadecimal(digits: &str) -> Option<u32> {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Undoes the percent signs of addresses. `None` if there are none.
fn unquote(text: &str) -> Option<View> {
    if !text.as_bytes().windows(3).any(|three| quoted(three).is_some()) {
        return None;
    }
    let mut view = View::begin(text.len());
    let (bytes, mut at) = (text.as_bytes(), 0);
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        // The bytes of one character, each behind a percent sign.
        let mut run = Vec::new();
        while let Some(byte) = bytes.get(at + 3 * run.len()..).and_then(quoted).filter(|_| run.len() < 4) {
            run.push(byte);
            if std::str::from_utf8(&run).is_ok() {
                break;
            }
        }
        let decoded = std::str::from_utf8(&run).ok().and_then(|text| text.chars().next());
        view.push(decoded.unwrap_or(letter), at);
        at += decoded.map_or(letter.len_utf8(), |_| 3 * run.len());
    }
    Some(view.end(text.len()))
}

fn quoted(bytes: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(bytes.strip_prefix(b"%")?.get(..2)?).ok()?;
    u8::try_from(hexadecimal(digits)?).ok()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn each_way_of_decoding_knows_where_its_characters_stand() {
        let text = r#"a\u00e4\ud83d\ude00\/b%C3%A4%2Fc\\u0041 100% \q"#;
        let views = decoded(text);
        let texts: Vec<&str> = views.iter().map(|view| view.text.as_str()).collect();
        assert!(texts.contains(&r#"aä😀/b%C3%A4%2Fc\u0041 100% \q"#), "{texts:?}");
        assert!(texts.contains(&r#"aä😀/bä/cA 100% \q"#), "{texts:?}");
        for view in &views {
            assert_eq!(view.place(&(0..view.text.len())), 0..text.len());
            let end = view.text.find("100").expect("there");
            assert_eq!(&text[view.place(&(end..end + 3))], "100", "{}", view.text);
            if let Some(at) = view.text.find('😀') {
                assert_eq!(&text[view.place(&(at..at + 4))], r"\ud83d\ude00");
            }
            if let Some(at) = view.text.find('A').filter(|at| view.text[at + 1..].starts_with(' ')) {
                assert_eq!(&text[view.place(&(at..at + 1))], r"\\u0041");
            }
        }
        assert!(decoded("plain text, 100% of it").is_empty());
    }
}
