//! Texts in quotes, theirs and ours.

/// Returns whether a pattern in quotes is words alone.
pub(super) fn is_plain(text: &str) -> bool {
    let inner = text.trim_matches(['"', '\'']);
    !inner.is_empty() && inner.chars().all(|c| c.is_alphanumeric() || c == ' ' || c == '-')
}

/// Returns a text with its escapes read. `None` for one that is not known.
pub(super) fn unescaped(text: &str, is_format: bool) -> Option<String> {
    let text = if is_format { text.replace("{{", "{").replace("}}", "}") } else { text.to_owned() };
    let mut read = String::new();
    let mut chars = text.chars();
    while let Some(one) = chars.next() {
        match (one, if one == '\\' { chars.next() } else { None }) {
            ('\\', Some(escaped @ ('\\' | '\'' | '"'))) => read.push(escaped),
            ('\\', Some('n')) => read.push('\n'),
            ('\\', Some('t')) => read.push('\t'),
            ('\\', Some('u')) => {
                let digits: String = chars.by_ref().take(4).collect();
                read.push(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)?);
            }
            ('\\', _) => return None,
            (plain, _) => read.push(plain),
        }
    }
    Some(read)
}

/// Returns a text in the quotes of this language.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
