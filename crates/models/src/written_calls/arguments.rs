//! The arguments of a call as servers hand them over: an object, its text, that text encoded again, or a list of one.

use serde_json::{Map, Value};

use super::pythonic::python_value;

/// So often an object may be wrapped before it counts as broken.
const MAX_WRAPPINGS: usize = 4;

/// Reads the arguments of the call of `name`. The error is for the model.
pub(crate) fn read_call_arguments(name: &str, arguments: &Value) -> Result<Value, String> {
    let mut value = arguments.clone();
    for _ in 0..MAX_WRAPPINGS {
        value = match value {
            Value::Object(_) => return Ok(value),
            Value::Null => return Ok(Value::Object(Map::new())),
            Value::String(text) => text_value(name, &text)?,
            Value::Array(mut items) if items.len() == 1 => items.remove(0),
            Value::Array(items) if items.is_empty() => return Ok(Value::Object(Map::new())),
            Value::Array(items) => {
                return Err(format!(
                    "the arguments of {name:?} are a list of {}: they must be one object; call once for each",
                    items.len()
                ));
            }
            Value::Bool(_) | Value::Number(_) => break,
        };
    }
    Err(format!("the arguments of {name:?} must be one JSON object, not {}", shortened(arguments)))
}

fn text_value(name: &str, text: &str) -> Result<Value, String> {
    let text = text.trim().trim_start_matches('\u{feff}');
    let text = fenced(text).unwrap_or(text);
    if text.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => {
            let rest = text.get(values.byte_offset()..).unwrap_or_default();
            match harmless(rest) {
                true => Ok(value),
                false => Err(format!(
                    "the arguments of {name:?} are no JSON: more text follows the object, from {:?}",
                    rest.trim().chars().take(20).collect::<String>()
                )),
            }
        }
        Some(Err(error)) => {
            // Models trained on Python write its literals.
            let literal = text.starts_with('{').then(|| python_value(text)).and_then(Result::ok);
            literal.ok_or_else(|| format!("the arguments of {name:?} are no JSON: {error}"))
        }
        None => Ok(Value::Object(Map::new())),
    }
}

/// Whether a text behind an object is nothing but marks of a template or brackets that are one too many.
fn harmless(rest: &str) -> bool {
    let mut rest = rest.trim();
    while let Some(after) = rest.strip_prefix("<|").and_then(|mark| mark.split_once("|>")) {
        rest = after.1.trim();
    }
    rest.chars().all(|c| matches!(c, '}' | ']') || c.is_whitespace()) || rest == "</tool_call>"
}

/// Returns the content of a fence that is the whole text.
fn fenced(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("```")?.strip_suffix("```")?;
    let (word, rest) = inside.split_once('\n')?;
    word.trim().chars().all(char::is_alphanumeric).then_some(rest.trim())
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(60).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read_call_arguments;

    #[test]
    fn an_object_is_found_in_every_wrapping() {
        let expected = json!({ "action": "key", "text": "a" });
        let text = expected.to_string();
        let twice = json!(text).to_string();
        for given in [
            expected.clone(),
            json!(text),
            json!(twice),
            json!([expected]),
            json!([text]),
            json!(format!("{text}<|im_end|>")),
            json!(format!("{text}}}")),
            json!(format!("\u{feff}{text}\n")),
            json!(format!("```json\n{text}\n```")),
            json!("{'action': 'key', 'text': 'a',}"),
        ] {
            assert_eq!(read_call_arguments("computer", &given), Ok(expected.clone()), "{given}");
        }
        for empty in [json!(null), json!(""), json!("{}"), json!([]), json!({})] {
            assert_eq!(read_call_arguments("computer", &empty), Ok(json!({})), "{empty}");
        }
    }

    #[test]
    fn what_is_no_object_is_named() {
        let check = |given: Value, expected: &str| {
            let problem = read_call_arguments("computer", &given).expect_err("is no object");
            assert!(problem.contains(expected), "{given}: {problem}");
        };
        check(json!("{\"action\":"), "no JSON: EOF");
        check(json!("{\"action\": \"key\"} and more"), "more text follows");
        check(json!([{ "action": "key" }, { "action": "key" }]), "a list of 2");
        check(json!(7), "must be one JSON object, not 7");
        check(json!("7"), "must be one JSON object");
    }
}
