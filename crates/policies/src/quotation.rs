//! Quotation marks in English sentences: the texts between them, and the characters outside them.

/// Returns the mark that closes a quotation.
fn closer(open: char) -> Option<char> {
    match open {
        '"' => Some('"'),
        '`' => Some('`'),
        '“' => Some('”'),
        '‘' => Some('’'),
        '\'' => Some('\''),
        '«' => Some('»'),
        _ => None,
    }
}

/// Iterates over the characters outside quotations, each with its byte offset. A quotation mark inside a word does not
/// open a quotation.
pub(super) fn unquoted(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut before, mut closing) = (' ', None);
    text.char_indices().filter(move |(_, c)| {
        if closing == Some(*c) {
            closing = None;
        } else if closing.is_none() && !before.is_alphanumeric() {
            closing = closer(*c);
        }
        before = *c;
        closing.is_none()
    })
}

/// Returns the texts between quotation marks or double asterisks.
pub(super) fn quotations(text: &str) -> Vec<String> {
    let text = text.replace("**", "\"");
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match open {
            Some((from, close)) if c == close => {
                let after = text[at + c.len_utf8()..].chars().next();
                if close != '\'' && close != '’' || !after.is_some_and(char::is_alphanumeric) {
                    found.push(text[from..at].trim().to_owned());
                    open = None;
                }
            }
            Some(_) => {}
            None if !before.is_alphanumeric() => open = closer(c).map(|close| (at + c.len_utf8(), close)),
            None => {}
        }
        before = c;
    }
    found.retain(|label| !label.is_empty());
    found
}
