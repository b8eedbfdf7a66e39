//! Reads a task's file.
//!
//! Unknown fields are kept in OSWorld's part of a task and rejected in the `apprentice` object. Every error names
//! the file, line, column and nearest valid name.

use std::collections::BTreeMap;
use std::path::Path;

use apprentice_protocol::{did_you_mean, nearest};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::known_names::check_names;
use super::source_pos::{SourcePos, offset};
use super::suite_error::SuiteError;
use crate::task::{CheckSpec, OneOrMany, SetupStep, Task};

/// Parses one task file's text.
///
/// # Errors
///
/// Fails with the line and key that is wrong.
pub fn read_task(path: &Path, text: &str) -> Result<Task, SuiteError> {
    let mut fields = fields(path, text, text)?;
    let wrong =
        |spot: SourcePos, problem: String| SuiteError::Invalid { path: path.to_owned(), spot, problem };
    let present: Vec<String> = fields.keys().cloned().collect();
    let need = |name: &str| {
        let like = nearest(name, present.iter().map(String::as_str));
        let hint = like.map_or(String::new(), |like| format!("; is {like:?} a typo of it?"));
        let spot = like.map_or(SourcePos { line: 1, column: 1 }, |like| SourcePos::of_name(text, text, like));
        wrong(spot, format!("field {name:?} is missing{hint}"))
    };
    let id = fields.remove("id").ok_or_else(|| need("id"))?;
    let instruction = fields.remove("instruction").ok_or_else(|| need("instruction"))?;
    let evaluator = fields.remove("evaluator").ok_or_else(|| need("evaluator"))?;
    let config: Vec<SetupStep> = match fields.remove("config") {
        Some(raw) => part(path, text, raw)?,
        None => Vec::new(),
    };
    let apprentice = fields.remove("apprentice");
    let task = Task {
        id: part(path, text, id)?,
        instruction: part(path, text, instruction)?,
        evaluator: read_check(path, text, evaluator)?,
        apprentice: apprentice.map(|raw| part(path, text, raw)).transpose()?,
        config,
        extra: fields
            .into_iter()
            .map(|(name, raw)| Ok((name, part(path, text, raw)?)))
            .collect::<Result<_, _>>()?,
        app: String::new(),
        group: None,
        wordings: Vec::new(),
    };
    if task.apprentice.is_some() {
        check_names(&task)
            .map_err(|(name, problem)| wrong(SourcePos::of_name(text, text, &name), problem))?;
    }
    Ok(task)
}

fn read_check(path: &Path, text: &str, raw: &RawValue) -> Result<CheckSpec, SuiteError> {
    let check: CheckSpec = part(path, text, raw)?;
    let funcs = check.func.len();
    if let OneOrMany::Many(_) = check.func {
        for (name, given) in
            [("result", &check.result), ("expected", &check.expected), ("options", &check.options)]
        {
            let Some(OneOrMany::Many(list)) = given else { continue };
            if list.len() != funcs {
                let spot = SourcePos::of_name(text, raw.get(), name);
                let problem = format!("{name:?} lists {} entries for {funcs} metrics", list.len());
                return Err(SuiteError::Invalid { path: path.to_owned(), spot, problem });
            }
        }
    }
    Ok(check)
}

fn fields<'a>(path: &Path, text: &str, part: &'a str) -> Result<BTreeMap<String, &'a RawValue>, SuiteError> {
    parse(path, text, offset(text, part), part)
}

fn part<T: DeserializeOwned>(path: &Path, text: &str, raw: &RawValue) -> Result<T, SuiteError> {
    parse(path, text, offset(text, raw.get()), raw.get())
}

/// Parses a part of a file's text; errors give the position in the whole file.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(
    path: &Path,
    text: &str,
    start: usize,
    part: &'a str,
) -> Result<T, SuiteError> {
    let mut reader = serde_json::Deserializer::from_str(part);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let inner = SourcePos { line: error.inner().line().max(1), column: error.inner().column().max(1) };
        let place = error.path().to_string();
        let message = plain(&error.inner().to_string());
        let problem =
            if matches!(place.as_str(), "." | "?") { message } else { format!("{message} (at {place})") };
        SuiteError::Invalid { path: path.to_owned(), spot: SourcePos::translate(text, start, inner), problem }
    })?;
    reader.end().map_err(|error| {
        let inner = SourcePos { line: error.line().max(1), column: error.column().max(1) };
        let spot = SourcePos::translate(text, start, inner);
        SuiteError::Invalid {
            path: path.to_owned(),
            spot,
            problem: "unexpected text after the end of the value".into(),
        }
    })?;
    Ok(value)
}

/// Returns a parser's message without its position, and with the nearest valid name instead of the full list.
fn plain(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let Some((problem, listed)) = message.split_once(", expected ") else { return message.to_owned() };
    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let (wrong, valid) = (quoted(problem), quoted(listed));
    let hint = wrong.first().map(|wrong| did_you_mean(wrong, valid.iter().map(String::as_str)));
    match hint.filter(|hint| !hint.is_empty()) {
        Some(hint) => format!("{problem}{hint}"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use super::read_task;

    pub(in crate::suite) const GOOD: &str = r#"{"id":"t","instruction":"Do it.","config":[{"type":"launch","parameters":{"command":"x"}}],
 "evaluator":{"func":"exact_match","result":{"type":"rule","rules":1},"expected":{"type":"rule","rules":{"expected":1}}},
 "apprentice":{"environment":"desktop","template":"t"}}"#;

    #[test]
    fn a_wrong_file_is_refused_with_place_and_nearest_name() {
        assert_eq!(read_task(Path::new("t.json"), GOOD).map(|task| task.config.len()).ok(), Some(1));
        let messages: Vec<String> = [
            ("\"launch\"", "\"lauch\""),
            ("exact_match", "exact_mach"),
            ("\"exact_match\"", "\"compare_csv\",\"options\":{\"ignore_cse\":true}"),
            ("\"exact_match\"", "\"exact_match\",\"options\":{\"strict\":true}"),
            ("\"rule\"", "\"rulle\""),
            ("\"template\"", "\"templte\""),
            ("\"instruction\"", "\"instrction\""),
            ("\"desktop\"", "\"dekstop\""),
            ("\"Do it.\",", "\"Do it.\""),
        ]
        .iter()
        .map(|(from, to)| {
            let read = read_task(Path::new("t.json"), &GOOD.replacen(from, to, 1));
            read.err().map_or_else(|| format!("{to} was taken"), |error| error.to_string())
        })
        .collect();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        t.json:1:52: unknown setup step "lauch"; did you mean "launch"?
        t.json:2:22: unknown metric "exact_mach"; did you mean "exact_match"?
        t.json:2:47: unknown option of compare_csv "ignore_cse"; did you mean "ignore_case"?
        t.json:2:47: unknown option of exact_match "strict"
        t.json:2:53: unknown getter "rulle"; did you mean "rule"?
        t.json:3:48: unknown field `templte`; did you mean "template"? (at templte)
        t.json:1:11: field "instruction" is missing; is "instrction" a typo of it?
        t.json:3:38: unknown variant `dekstop`; did you mean "desktop"? (at environment)
        t.json:1:33: expected `,` or `}`
        "#);
    }

    #[test]
    fn options_that_upstream_ignores_may_stay_in_a_task_of_osworld() {
        let read = |from: &str, to: &str| read_task(Path::new("t.json"), &GOOD.replacen(from, to, 1)).is_ok();
        let noted = r#""compare_csv","options":{"_note":"why"}"#;
        assert!(read(r#""exact_match""#, noted), "a note is no option");
        assert!(!read(r#""exact_match""#, r#""exact_match","options":{"_note":"why"}"#), "upstream raises");
        let ignored = |snapshot: &str| {
            let text =
                GOOD.replacen("\"exact_match\"", r#""compare_csv","options":{"content_only":true}"#, 1);
            read_task(Path::new("t.json"), &text.replacen('{', snapshot, 1)).is_ok()
        };
        assert!(ignored(r#"{"snapshot":"calc","#));
        assert!(!ignored("{"), "in a task of our own it is a mistake");
    }

    #[test]
    fn osworld_tasks_keep_what_we_do_not_know() {
        let text = r#"{"id":"x","instruction":"i","snapshot":"chrome","config":[{"type":"googledrive","parameters":{"a":1}}],
            "evaluator":{"func":"no_such_metric","_config_note":"n"}}"#;
        let task = read_task(Path::new("x.json"), text).expect("loads");
        assert_eq!(task.extra["snapshot"], "chrome");
        assert_eq!(task.evaluator.extra["_config_note"], "n");
        assert_eq!(task.config[0].kind, "googledrive");
    }
}
