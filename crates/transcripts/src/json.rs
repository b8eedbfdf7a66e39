//! Small questions about JSON values, and the forms in which programs keep content, arguments and failures.

use serde_json::{Map, Value};

use crate::pictures::{Pictures, of_base64};

/// The value at a path of names and indexes, such as `/message/content/0`. `Value::pointer` of serde_json 1.0 does the same and
/// copies each name to look for escapes, which took a fifth of the time of reading conversations.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('/').skip(1).try_fold(value, |value, name| match value {
        Value::Object(fields) => fields.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// The text at a pointer.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    at(value, pointer)?.as_str()
}

/// The text at a pointer, if it is not empty.
pub(crate) fn some_text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    text(value, pointer).filter(|text| !text.is_empty())
}

/// The number at a pointer; 0 where there is none.
pub(crate) fn count(value: &Value, pointer: &str) -> u64 {
    at(value, pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// The list at a pointer; empty where there is none.
pub(crate) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    at(value, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns whether a pointer leads to `true`.
pub(crate) fn is_true(value: &Value, pointer: &str) -> bool {
    at(value, pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns whether there is something other than null at a pointer.
pub(crate) fn has(value: &Value, pointer: &str) -> bool {
    at(value, pointer).is_some_and(|value| !value.is_null())
}

/// The arguments of a call: an object, or one in a string. `None` where they cannot be read.
pub(crate) fn arguments(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields.clone()),
        Value::String(text) if text.trim().is_empty() => Some(Map::new()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Null => Some(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// The text of a message's content, and its pictures. Parts have many forms: those of Anthropic, of OpenAI's two APIs, of Inspect,
/// OpenHands, pi and ATIF.
pub(crate) fn content(value: &Value, pictures: &mut Pictures) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| part_text(part, pictures)).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(_) => part_text(value, pictures),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn part_text(part: &Value, pictures: &mut Pictures) -> String {
    if let Value::String(text) = part {
        return text.clone();
    }
    match text(part, "/type").unwrap_or_default() {
        "image" | "image_url" | "input_image" | "computer_screenshot" => add_picture(part, pictures),
        "tool_result" => return content(&part["content"], pictures),
        // The type is left out in Gemini's parts.
        "" | "text" | "input_text" | "output_text" | "summary_text" => {
            return text(part, "/text").unwrap_or_default().to_owned();
        }
        _ => {}
    }
    String::new()
}

fn add_picture(part: &Value, pictures: &mut Pictures) {
    let data = ["/source/data", "/data"].iter().find_map(|place| some_text(part, place));
    if let Some(data) = data {
        return pictures.add(of_base64(data));
    }
    let urls = ["/image_url/url", "/image_url", "/image", "/source/url", "/source/path", "/url"];
    if let Some(url) = urls.iter().find_map(|place| some_text(part, place)) {
        pictures.add_url(url);
    }
    list(part, "/image_urls").iter().filter_map(Value::as_str).for_each(|url| pictures.add_url(url));
}

/// Words with which the text of a failed result begins, where a program has no field for failure.
const FAILURES: [&str; 11] = [
    "error",
    "failed",
    "failure",
    "exception",
    "traceback",
    "cannot ",
    "could not ",
    "unable to ",
    "invalid ",
    "tool error",
    "❌",
];

/// Returns whether a result says in words that it is a failure.
pub(crate) fn tells_failure(text: &str) -> bool {
    let start = crate::texts::start(text.trim_start(), 200).to_lowercase();
    FAILURES.iter().any(|word| start.starts_with(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{arguments, content, tells_failure};
    use crate::pictures::Pictures;

    #[test]
    fn the_same_picture_in_every_form_is_one() {
        let mut pictures = Pictures::default();
        let parts = json!([
            { "type": "text", "text": "one" },
            { "type": "image", "source": { "type": "base64", "data": "AAAA", "media_type": "image/png" } },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
            { "type": "input_image", "image_url": "data:image/png;base64,AAAA" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "image", "image_urls": ["data:image/png;base64,AAAA"] },
            { "type": "input_image", "image_url": "[omitted]" },
            { "type": "image_url", "image_url": { "url": "pictures/1.png" } },
            { "type": "output_text", "text": "two" },
        ]);
        assert_eq!(content(&parts, &mut pictures), "one\ntwo");
        assert_eq!((pictures.inside(), pictures.paths()), (1, 1));
    }

    #[test]
    fn arguments_are_objects_or_lost() {
        assert_eq!(arguments(&json!("{\"a\": 1}")), json!({ "a": 1 }).as_object().cloned());
        assert_eq!(arguments(&json!("")), Some(serde_json::Map::new()));
        assert_eq!(arguments(&json!("{\"a\": ")), None);
        assert_eq!(arguments(&json!("[1]")), None);
    }

    #[test]
    fn failures_are_told_by_the_first_words() {
        assert!(tells_failure("Error executing tool read: no such file"));
        assert!(!tells_failure("no error was found"));
    }
}
