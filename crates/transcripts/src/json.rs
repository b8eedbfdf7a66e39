//! Small questions about JSON values, and the forms in which programs keep content, arguments and failures.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::pictures::{Pictures, of_base64};

/// What readers ask of a JSON value, of one that copies its texts and of one that borrows them.
pub(crate) trait Json: Sized {
    /// The field with this name.
    fn field(&self, name: &str) -> Option<&Self>;
    /// The items of a list.
    fn items(&self) -> Option<&[Self]>;
    /// A text.
    fn words(&self) -> Option<&str>;
    /// A whole number that is not negative.
    fn count(&self) -> Option<u64>;
    /// True or false.
    fn flag(&self) -> Option<bool>;
    /// Returns whether it is null.
    fn is_nothing(&self) -> bool;
    /// The fields of an object, copied.
    fn fields(&self) -> Option<Map<String, Value>>;
}

impl Json for Value {
    fn field(&self, name: &str) -> Option<&Self> {
        self.get(name)
    }

    fn items(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }

    fn words(&self) -> Option<&str> {
        self.as_str()
    }

    fn count(&self) -> Option<u64> {
        self.as_u64()
    }

    fn flag(&self) -> Option<bool> {
        self.as_bool()
    }

    fn is_nothing(&self) -> bool {
        self.is_null()
    }

    fn fields(&self) -> Option<Map<String, Value>> {
        self.as_object().cloned()
    }
}

/// The value at a path of names and indexes, such as `/message/content/0`. `Value::pointer` of serde_json 1.0 does the same and
/// copies each name to look for escapes, which took a fifth of the time of reading conversations.
pub(crate) fn at<'v, V: Json>(value: &'v V, path: &str) -> Option<&'v V> {
    path.split('/').skip(1).try_fold(value, |value, name| match value.items() {
        Some(items) => items.get(name.parse::<usize>().ok()?),
        None => value.field(name),
    })
}

/// The text at a pointer.
pub(crate) fn text<'v, V: Json>(value: &'v V, pointer: &str) -> Option<&'v str> {
    at(value, pointer)?.words()
}

/// The text at a pointer, if it is not empty.
pub(crate) fn some_text<'v, V: Json>(value: &'v V, pointer: &str) -> Option<&'v str> {
    text(value, pointer).filter(|text| !text.is_empty())
}

/// The number at a pointer; 0 where there is none.
pub(crate) fn count<V: Json>(value: &V, pointer: &str) -> u64 {
    at(value, pointer).and_then(V::count).unwrap_or_default()
}

/// The list at a pointer; empty where there is none.
pub(crate) fn list<'v, V: Json>(value: &'v V, pointer: &str) -> &'v [V] {
    at(value, pointer).and_then(V::items).unwrap_or_default()
}

/// Returns whether a pointer leads to `true`.
pub(crate) fn is_true<V: Json>(value: &V, pointer: &str) -> bool {
    at(value, pointer).and_then(V::flag).unwrap_or_default()
}

/// Returns whether there is something other than null at a pointer.
pub(crate) fn has<V: Json>(value: &V, pointer: &str) -> bool {
    at(value, pointer).is_some_and(|value| !value.is_nothing())
}

/// The arguments of a call: an object, or one in a string. `None` where they cannot be read.
pub(crate) fn arguments<V: Json>(value: &V) -> Option<Map<String, Value>> {
    match value.words() {
        None if value.is_nothing() => Some(Map::new()),
        Some(text) if text.trim().is_empty() => Some(Map::new()),
        Some(text) => serde_json::from_str(text).ok(),
        None => value.fields(),
    }
}

/// The text of a message's content, and its pictures. Parts have many forms: those of Anthropic, of OpenAI's two APIs, of Inspect,
/// OpenHands, pi and ATIF.
pub(crate) fn content(value: &Value, pictures: &mut Pictures) -> String {
    borrowed_content(value, pictures).into_owned()
}

/// The same, not copied where it is one text.
pub(crate) fn borrowed_content<'v, V: Json>(value: &'v V, pictures: &mut Pictures) -> Cow<'v, str> {
    match value.items() {
        Some(parts) => content_of(parts.iter(), pictures),
        None => part_text(value, pictures),
    }
}

/// The text of parts of a message's content, and their pictures.
pub(crate) fn content_of<'v, V: Json + 'v>(
    parts: impl Iterator<Item = &'v V>,
    pictures: &mut Pictures,
) -> Cow<'v, str> {
    let mut joined = Cow::Borrowed("");
    for text in parts.map(|part| part_text(part, pictures)).filter(|text| !text.is_empty()) {
        if joined.is_empty() {
            joined = text;
        } else {
            joined.to_mut().push('\n');
            joined.to_mut().push_str(&text);
        }
    }
    joined
}

fn part_text<'v, V: Json>(part: &'v V, pictures: &mut Pictures) -> Cow<'v, str> {
    if let Some(text) = part.words() {
        return Cow::Borrowed(text);
    }
    match text(part, "/type").unwrap_or_default() {
        "image" | "image_url" | "input_image" | "computer_screenshot" => add_picture(part, pictures),
        "tool_result" => {
            return part
                .field("content")
                .map_or(Cow::Borrowed(""), |content| borrowed_content(content, pictures));
        }
        // The type is left out in Gemini's parts.
        "" | "text" | "input_text" | "output_text" | "summary_text" => {
            return Cow::Borrowed(text(part, "/text").unwrap_or_default());
        }
        _ => {}
    }
    Cow::Borrowed("")
}

fn add_picture<V: Json>(part: &V, pictures: &mut Pictures) {
    let data = ["/source/data", "/data"].iter().find_map(|place| some_text(part, place));
    if let Some(data) = data {
        return pictures.add(of_base64(data));
    }
    let urls = ["/image_url/url", "/image_url", "/image", "/source/url", "/source/path", "/url"];
    if let Some(url) = urls.iter().find_map(|place| some_text(part, place)) {
        pictures.add_url(url);
    }
    list(part, "/image_urls").iter().filter_map(V::words).for_each(|url| pictures.add_url(url));
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
