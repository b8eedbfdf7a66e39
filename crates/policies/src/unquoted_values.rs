//! Extracts values that an instruction gives without quotation marks: text to type, and names for new objects.

use super::text_match::plain;
use super::value::{VALUE_MARK, Value, ValueKind};

/// Phrases that end a text to type and start its location.
const PLACES: &[&str] = &[
    " into ",
    " in the ",
    " in this ",
    " to the ",
    " on the ",
    " at the ",
    " as the ",
    " below ",
    " under ",
    " above ",
    " after ",
    " before ",
    " behind ",
    " to it",
    " and save",
    ", ",
];
/// Phrases before a name.
const NAMING: &[&str] = &[" called ", " named ", " by the name of ", " with the name ", " under the name "];
/// Words that start a description rather than a literal text.
const DESCRIBING: &[&str] = &[
    "the", "a", "an", "your", "my", "its", "his", "her", "their", "this", "that", "it", "all", "some",
    "another",
];
/// The largest number of words in a text without quotation marks.
const MAX_WORDS: usize = 12;

/// Returns the unquoted values of a clause: first a text to type, then a name. The text precedes the clause's other
/// values; the name follows them.
pub(super) fn spoken(masked: &str, verb: &str, values: &[Value]) -> (Option<Value>, Option<Value>) {
    let masked = with_numbers(masked, values);
    (typed(&masked, verb), called(&masked, verb))
}

/// Puts the numbers back into a masked text, because they may be part of a name.
fn with_numbers(masked: &str, values: &[Value]) -> String {
    let part = |(index, part): (usize, &str)| {
        let value = part.parse().ok().and_then(|number: usize| values.get(number));
        match value.filter(|value| index % 2 == 1 && value.kind == ValueKind::Number) {
            Some(value) => value.text.clone(),
            None if index % 2 == 1 => format!("{VALUE_MARK}{part}{VALUE_MARK}"),
            None => part.to_owned(),
        }
    };
    masked.split(VALUE_MARK).enumerate().map(part).collect()
}

fn value(text: &str, before: &str) -> Option<Value> {
    let text = text.trim().trim_end_matches(['.', ',', ';']).trim();
    let words = plain(text);
    let describes = words.first().is_none_or(|first| DESCRIBING.contains(&first.as_str()));
    let fits = !describes && !text.contains(VALUE_MARK) && words.len() <= MAX_WORDS;
    fits.then(|| Value { text: text.to_owned(), kind: ValueKind::Quoted, before: plain(before) })
}

/// Parses `Type hello world at the end`: the text between the verb and its location. After a verb with other meanings
/// the text must look like a name.
fn typed(masked: &str, verb: &str) -> Option<Value> {
    if !matches!(verb, "type" | "enter" | "put" | "add" | "write" | "insert" | "append") {
        return None;
    }
    let lower = masked.to_ascii_lowercase();
    let from = lower.find(verb)? + verb.len();
    let rest = masked.get(from..)?;
    let end = PLACES.iter().filter_map(|place| rest.find(place)).min();
    let text = match end {
        Some(end) => rest.get(..end)?,
        None if matches!(verb, "type" | "write") => rest,
        None => return None,
    };
    let name =
        text.split_whitespace().all(|word| word.starts_with(|c: char| c.is_uppercase() || c.is_numeric()));
    let text = text.trim_start();
    let text = ["the text ", "the words ", "the word ", "the line ", "the sentence "]
        .iter()
        .find_map(|lead| text.strip_prefix(lead))
        .unwrap_or(text);
    if name || matches!(verb, "type" | "write" | "append" | "insert") { value(text, verb) } else { None }
}

/// Parses `… called Plum jam` and `rename … to Songs`: the name that an object gets.
fn called(masked: &str, verb: &str) -> Option<Value> {
    let ends = |rest: &str| {
        let end = [", ", " in the ", " in this ", " and ", " so that ", " on the "]
            .iter()
            .filter_map(|end| rest.find(end))
            .min();
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().to_owned()
    };
    let joint = match verb {
        "rename" => Some(" to "),
        "call" | "name" => Some(" it "),
        _ => None,
    };
    if let Some(joint) = joint
        && let Some(at) = masked.find(joint)
    {
        return value(&ends(masked.get(at + joint.len()..)?), joint);
    }
    if !matches!(verb, "create" | "make" | "add" | "save" | "store" | "export" | "give" | "start" | "set") {
        return None;
    }
    let found = NAMING.iter().find_map(|mark| masked.find(mark).map(|at| (at + mark.len(), *mark)));
    let (at, mark) = found?;
    value(&ends(masked.get(at..)?), mark)
}

#[cfg(test)]
mod tests {
    use super::spoken;

    #[test]
    fn texts_without_marks_are_heard() {
        let typed = |text: &str, verb: &str| spoken(text, verb, &[]).0.map(|value| value.text);
        let called = |text: &str, verb: &str| spoken(text, verb, &[]).1.map(|value| value.text);
        assert_eq!(
            typed("Type hello old world at the end of the file", "type").as_deref(),
            Some("hello old world")
        );
        assert_eq!(typed("type the line good night below it", "type").as_deref(), Some("good night"));
        assert_eq!(typed("add water to the pot", "add"), None, "a thing, not a name");
        assert_eq!(typed("Type the name of your ship into the box", "type"), None);
        assert_eq!(typed("add Anna Berg to the list of guests", "add").as_deref(), Some("Anna Berg"));
        assert_eq!(
            called("Create a folder called Old pots in the shed", "create").as_deref(),
            Some("Old pots")
        );
        assert_eq!(called("Rename the folder Jars to Jugs, please", "rename").as_deref(), Some("Jugs"));
        assert_eq!(called("rename it to the right name", "rename"), None);
    }
}
