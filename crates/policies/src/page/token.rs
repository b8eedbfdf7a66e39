//! Tokenizes an instruction into words, values and punctuation.

use super::super::value::{ValueKind, bare, quoted};
use super::date::date;

/// The type of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word.
    Word,
    /// A literal text.
    Value,
    /// A literal number.
    Number,
    /// A comma or other punctuation inside a sentence.
    Comma,
    /// The end of a sentence.
    End,
}

/// A word, a value or a punctuation mark.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    /// The text as written, without surrounding punctuation.
    pub(super) text: String,
    /// The text in lower case.
    pub(super) word: String,
    pub(super) sort: TokenKind,
}

/// The type of value that a field accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldType {
    /// Any text.
    Text,
    /// Numbers only.
    Number,
    /// A date.
    Date,
}

/// Returns the tokens of an instruction, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text;
    let mark = |sort: TokenKind| Token { text: String::new(), word: String::new(), sort };
    while let Some(first) = rest.chars().next() {
        if first == '\n' {
            found.push(mark(TokenKind::End));
        }
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if let Some((value, _, length)) = quoted(rest) {
            found.push(Token { word: value.to_lowercase(), text: value, sort: TokenKind::Value });
            rest = &rest[length..];
            continue;
        }
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(length);
        rest = after;
        let body = piece
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'', '”', '’'])
            .trim_start_matches(['(', '"', '\'', '“', '‘']);
        if !body.is_empty() {
            found.push(Token { text: body.to_owned(), word: body.to_lowercase(), sort: sort_of(body) });
        }
        match piece.chars().last() {
            Some('.' | '!' | '?' | ';') => found.push(mark(TokenKind::End)),
            Some(',' | ':' | ')') => found.push(mark(TokenKind::Comma)),
            _ if body.is_empty() => found.push(mark(TokenKind::Comma)),
            _ => {}
        }
    }
    found
}

fn sort_of(body: &str) -> TokenKind {
    let digits = body.chars().any(|c| c.is_ascii_digit());
    match bare(body) {
        Some((_, ValueKind::Number, _)) => TokenKind::Number,
        Some(_) => TokenKind::Value,
        None if digits || body.contains('@') => TokenKind::Value,
        None => TokenKind::Word,
    }
}

impl Token {
    /// Returns whether it is a literal text or number.
    pub(super) fn is_value(&self) -> bool {
        matches!(self.sort, TokenKind::Value | TokenKind::Number)
    }

    /// Returns whether it is a capitalized word.
    pub(super) fn is_capital(&self) -> bool {
        self.sort == TokenKind::Word && self.text.starts_with(char::is_uppercase)
    }

    /// Returns whether it is one of these words.
    pub(super) fn is_one_of(&self, words: &[&str]) -> bool {
        self.sort == TokenKind::Word && words.contains(&self.word.as_str())
    }

    /// Returns whether a field that accepts `holds` can take it.
    pub(super) fn holds(&self, holds: FieldType) -> bool {
        match holds {
            FieldType::Text => true,
            FieldType::Number => self.text.parse::<f64>().is_ok(),
            FieldType::Date => date(&self.text).is_some(),
        }
    }
}
