//! Reads JSON that a model wrote. Models that answer by a strict schema write `null` for whatever they leave out, so a
//! member that is `null` reads as absent.

mod conversation;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use conversation::append_user_message;

/// Reads an answer's text.
pub fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let error = match serde_json::from_str(text) {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    match serde_json::from_str(text) {
        Ok(value) => second_try(value, error),
        Err(_) => Err(error),
    }
}

/// Reads the arguments of a call.
pub fn from_arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(arguments.clone()).or_else(|error| second_try(arguments.clone(), error))
}

/// Reads a value without its nulls. Without any, the first error stands, which may name a line and a column.
fn second_try<T: DeserializeOwned>(
    mut value: Value,
    error: serde_json::Error,
) -> Result<T, serde_json::Error> {
    if remove_nulls(&mut value) { serde_json::from_value(value) } else { Err(error) }
}

/// Removes every member that is `null`, at every depth. Returns whether there was one.
pub fn remove_nulls(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) => {
            let before = fields.len();
            fields.retain(|_, member| !member.is_null());
            let own = fields.len() < before;
            any_removed(fields.values_mut()) || own
        }
        Value::Array(items) => any_removed(items.iter_mut()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Removes the nulls of every value, also after one was found.
fn any_removed<'a>(values: impl Iterator<Item = &'a mut Value>) -> bool {
    values.map(remove_nulls).filter(|removed| *removed).count() > 0
}

/// Returns the outermost JSON object in a text, ignoring any surrounding text.
pub fn json_of(text: &str) -> Option<&str> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    text.get(start..=end)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::{from_arguments, from_text};

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Answer {
        name: String,
        #[serde(default)]
        list: Vec<Self>,
        #[serde(default)]
        flag: bool,
    }

    #[test]
    fn a_null_reads_as_absent_at_every_depth() {
        let wanted = |list| Answer { name: "a".to_owned(), list, flag: false };
        let inner = json!({"name": "a", "list": null, "flag": null});
        for (given, expected) in [
            (inner.clone(), wanted(vec![])),
            (json!({"name": "a", "list": [inner], "flag": null}), wanted(vec![wanted(vec![])])),
        ] {
            assert_eq!(from_arguments::<Answer>(&given).expect("reads"), expected);
            assert_eq!(from_text::<Answer>(&given.to_string()).expect("reads"), expected);
        }
    }

    #[test]
    fn what_is_missing_unknown_or_malformed_stays_an_error() {
        let error = |given: &str| from_text::<Answer>(given).expect_err("refused").to_string();
        assert!(error(r#"{"name": null}"#).contains("missing field `name`"));
        assert!(error(r#"{"name": "a", "flag": null, "list": [null]}"#).contains("null"));
        assert!(error(r#"{"name": "a", "flag": null, "more": 1}"#).contains("unknown field `more`"));
        assert!(error(r#"{"name": "a", "flag": 1}"#).contains("line 1 column"));
        assert!(error(r#"{"name": "a","#).contains("line 1 column"));
    }
}
