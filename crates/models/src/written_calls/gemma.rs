//! The objects that Gemma and FunctionGemma write: keys without quotes, texts between `<|"|>` or `<escape>`.

use serde_json::{Map, Value};

/// Marks around a text.
const QUOTES: [&str; 3] = ["<|\"|>", "<escape>", "\""];
/// Brackets within brackets.
const MAX_DEPTH: u8 = 8;

/// Reads the object with which a text begins, and returns what follows it.
pub(super) fn object(text: &str) -> Result<(Value, &str), String> {
    value(text, 0)
}

fn value(text: &str, depth: u8) -> Result<(Value, &str), String> {
    let text = text.trim_start();
    if depth > MAX_DEPTH {
        return Err("too many brackets".into());
    }
    if let Some(rest) = text.strip_prefix('{') {
        return fields(rest, depth);
    }
    if let Some(rest) = text.strip_prefix('[') {
        return items(rest, depth);
    }
    for quote in QUOTES {
        if let Some(rest) = text.strip_prefix(quote) {
            let (inside, after) = rest.split_once(quote).ok_or("a text has no end")?;
            return Ok((inside.into(), after));
        }
    }
    let end = text.find([',', '}', ']']).ok_or("an object has no end")?;
    let word = text[..end].trim();
    Ok((serde_json::from_str(word).unwrap_or_else(|_| word.into()), &text[end..]))
}

fn fields(mut rest: &str, depth: u8) -> Result<(Value, &str), String> {
    let mut fields = Map::new();
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((fields.into(), after));
        }
        let (key, after) = rest.split_once(':').ok_or("an object has no end")?;
        let key = QUOTES
            .iter()
            .fold(key.trim(), |key, quote| key.trim_matches(|c| quote.len() == 1 && quote.contains(c)));
        let key = key.trim_start_matches(QUOTES[0]).trim_end_matches(QUOTES[0]);
        let (one, after) = value(after, depth + 1)?;
        fields.insert(key.to_owned(), one);
        rest = after;
    }
}

fn items(mut rest: &str, depth: u8) -> Result<(Value, &str), String> {
    let mut items = Vec::new();
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if let Some(after) = rest.strip_prefix(']') {
            return Ok((items.into(), after));
        }
        if rest.is_empty() {
            return Err("a list has no end".into());
        }
        let (one, after) = value(rest, depth + 1)?;
        items.push(one);
        rest = after;
    }
}
