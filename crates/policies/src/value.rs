//! The values of an instruction: the texts that it uses verbatim, and the marks that stand for them while its clauses
//! are parsed.

use std::fmt::Write as _;

use super::text_match::plain;

/// The syntactic category of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Text between quotation marks.
    Quoted,
    /// A file name or path.
    File,
    /// A URL.
    Address,
    Number,
}

/// A text of the instruction that is used verbatim.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    /// The text, without its quotation marks.
    pub(super) text: String,
    pub(super) kind: ValueKind,
    /// Up to five words before the value, stop words included. They indicate where the value belongs.
    pub(super) before: Vec<String>,
}

impl Value {
    /// Returns whether the value names an object or is free text, rather than a number or an address.
    pub(super) fn is_name(&self) -> bool {
        matches!(self.kind, ValueKind::Quoted | ValueKind::File)
    }
}

/// Encloses the number of a value in a masked text.
pub(super) const VALUE_MARK: char = '\u{1}';

/// Replaces the values of a text with numbered marks.
pub(super) fn mask(text: &str) -> (String, Vec<Value>) {
    let mut masked = String::new();
    let mut values = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let boundary = !masked.ends_with(char::is_alphanumeric);
        let taken = if boundary { quoted(rest).or_else(|| bare(rest)) } else { None };
        if let Some((value, kind, length)) = taken {
            let before: Vec<String> = plain(&masked).into_iter().rev().take(5).collect();
            values.push(Value { text: value, kind, before: before.into_iter().rev().collect() });
            let _ = write!(masked, "{VALUE_MARK}{}{VALUE_MARK}", values.len() - 1);
            rest = &rest[length..];
        } else {
            masked.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    (masked, values)
}

/// Parses a quotation at the start of a text: the value, its kind and its length.
pub(super) fn quoted(text: &str) -> Option<(String, ValueKind, usize)> {
    let open = text.chars().next()?;
    let close = match open {
        '"' => '"',
        '\'' => '\'',
        '`' => '`',
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    let body = &text[open.len_utf8()..];
    let end = body.char_indices().find(|(at, c)| {
        let after = body[at + c.len_utf8()..].chars().next();
        *c == close && *at > 0 && !after.is_some_and(char::is_alphanumeric)
    })?;
    let inside = &body[..end.0];
    if inside.contains('\n') && open == '\'' {
        return None;
    }
    Some((inside.to_owned(), ValueKind::Quoted, open.len_utf8() + end.0 + close.len_utf8()))
}

/// Parses an address, a number or a file name at the start of a text: the value, its kind and its length.
pub(super) fn bare(text: &str) -> Option<(String, ValueKind, usize)> {
    let token: &str = text.split(char::is_whitespace).next()?;
    let token = token.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
    if token.is_empty() {
        return None;
    }
    let kind = if token.contains("://") {
        ValueKind::Address
    } else if is_number(token) {
        ValueKind::Number
    } else if is_file(token) {
        ValueKind::File
    } else {
        return None;
    };
    Some((token.to_owned(), kind, token.len()))
}

fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
        && token.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
}

fn is_file(token: &str) -> bool {
    let name = token.rsplit('/').next().unwrap_or(token);
    let dotted = name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=5).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
            && end.chars().any(|c| c.is_ascii_lowercase())
    });
    let hidden = name.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    dotted || hidden || (token.starts_with('/') && token.len() > 2) || token.starts_with("~/")
}

/// Substitutes values back into a masked text; marks without a value become a space.
pub(super) fn unmask(masked: &str, values: &[Value]) -> String {
    masked
        .split(VALUE_MARK)
        .enumerate()
        .map(|(index, part)| {
            if index % 2 == 0 {
                part.to_owned()
            } else {
                let value = part.parse().ok().and_then(|number: usize| values.get(number));
                value.map_or_else(|| " ".to_owned(), |value| value.text.clone())
            }
        })
        .collect()
}

/// Returns the numbers of the values in a masked text, in order.
pub(super) fn marks(masked: &str) -> Vec<usize> {
    masked.split(VALUE_MARK).skip(1).step_by(2).filter_map(|part| part.parse().ok()).collect()
}
