//! Changes to the text of suite and task files that leave everything else as its author wrote it.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::source_pos::offset;

/// The reason a file cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text is not the JSON that is expected.
    #[error("not a JSON object")]
    Form(#[from] serde_json::Error),
    /// The task has no object of ours.
    #[error("the task has no object \"apprentice\": add one with environment and template")]
    NoExtension,
}

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Returns a task file's text with this solution in place of the present one.
///
/// # Errors
///
/// Fails if the text is no JSON object, or if the task has no object `apprentice`.
pub fn with_solution(text: &str, steps: &[Value]) -> Result<String, EditError> {
    let task: Fields<'_> = serde_json::from_str(text)?;
    let ours = task.get("apprentice").ok_or(EditError::NoExtension)?;
    let fields: Fields<'_> = serde_json::from_str(ours.get())?;
    let lines: Vec<String> = steps.iter().map(|step| format!("      {step}")).collect();
    let list = format!("[\n{}\n    ]", lines.join(",\n"));
    if let Some(old) = fields.get("solution") {
        let at = offset(text, old.get());
        return Ok([&text[..at], &list, &text[at + old.get().len()..]].concat());
    }
    let at = offset(text, ours.get()) + 1;
    let comma = if fields.is_empty() { "" } else { "," };
    Ok(format!("{}\n    \"solution\": {list}{comma}{}", &text[..at], &text[at..]))
}

/// Returns a suite file's text that also lists this task.
///
/// # Errors
///
/// Fails if the text is no JSON object of lists.
pub fn with_task(text: &str, app: &str, id: &str) -> Result<String, EditError> {
    let apps: Fields<'_> = serde_json::from_str(text)?;
    let id = Value::from(id).to_string();
    if let Some(listed) = apps.get(app) {
        let ids: Vec<&RawValue> = serde_json::from_str(listed.get())?;
        let start = offset(text, listed.get());
        let (at, before) = match ids.last() {
            Some(last) => (offset(text, last.get()) + last.get().len(), ",\n    "),
            None => (start + 1, "\n    "),
        };
        let after = if ids.is_empty() { "\n  " } else { "" };
        return Ok(format!("{}{before}{id}{after}{}", &text[..at], &text[at..]));
    }
    let app = Value::from(app).to_string();
    let list = format!("{app}: [\n    {id}\n  ]");
    let at = text.rfind('}').unwrap_or(text.len());
    let head = text[..at].trim_end();
    let comma = if apps.is_empty() { "" } else { "," };
    Ok(format!("{head}{comma}\n  {list}\n{}", &text[at..]))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{with_solution, with_task};

    #[test]
    fn a_solution_is_put_in_and_the_rest_stays() {
        let steps = [json!({ "key": "ctrl+s" }), json!({ "type": "a" })];
        for text in [
            r#"{"z": 1, "apprentice": {"solution": [ {"key": "a"} ], "template": "t"}, "a": [2]}"#,
            r#"{"z": 1, "apprentice": {"template": "t"}, "a": [2]}"#,
            r#"{"z": 1, "apprentice": {}, "a": [2]}"#,
        ] {
            let changed = with_solution(text, &steps).expect("changes");
            let json: Value = serde_json::from_str(&changed).expect("is JSON");
            assert_eq!(json["apprentice"]["solution"], json!(steps), "{changed}");
            assert!(changed.starts_with("{\"z\": 1") && changed.ends_with("\"a\": [2]}"), "{changed}");
        }
        assert!(with_solution("{}", &steps).is_err());
    }

    #[test]
    fn a_task_is_listed_under_its_program_in_order() {
        let listed = |text: &str, app: &str| -> String {
            let changed = with_task(text, app, "new").expect("changes");
            let json: Value = serde_json::from_str(&changed).expect("is JSON");
            assert!(json[app].as_array().expect("a list").contains(&json!("new")), "{changed}");
            changed
        };
        assert!(listed("{\"b\": [\"x\"], \"a\": []}", "b").starts_with("{\"b\": [\"x\",\n    \"new\"]"));
        assert!(listed("{\"b\": [\"x\"], \"a\": []}", "a").starts_with("{\"b\": [\"x\"], \"a\": ["));
        assert!(listed("{\"b\": [\"x\"]}\n", "c").starts_with("{\"b\": [\"x\"],\n  \"c\""));
        listed("{}\n", "c");
    }
}
