//! From the bytes of the file to evaluations that can be carried out.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::check::read_check;
use super::environment::{self, EvalEnvironment, environment_of};
use super::files::files_of;
use super::words::kind_of;
use super::{
    EVALS_FILE, EvalCheck, EvalsError, LeftOutEval, MAX_CHECKS, MAX_EVALS, MAX_EVALS_BYTES, MAX_PROMPT_CHARS,
    SkillEval, SkillEvals, TRIGGERS_FILES,
};
use crate::package::Package;

/// Fields of the list that say nothing of what is to be done.
const ABOUT_LIST: [&str; 11] = [
    "skill_name",
    "skill",
    "skills",
    "version",
    "description",
    "$schema",
    "note",
    "notes",
    "author",
    "status",
    "name",
];
/// Names of the list of evaluations.
const LISTS: [&str; 4] = ["evals", "cases", "tests", "test_cases"];
/// Fields of an evaluation with what the person asks.
const PROMPTS: [&str; 4] = ["prompt", "query", "input", "task"];
/// Fields of an evaluation with checks.
const CHECKS: [&str; 9] = [
    "expectations",
    "assertions",
    "checks",
    "graders",
    "scorers",
    "expected_behavior",
    "expect",
    "criteria",
    "rubric",
];
/// Fields with checks that are not read. An evaluation with one is left out: without it, a wrong answer would pass. Lists of patterns
/// are among them because packages mean different things by them: the answer, a file, or the transcript.
const UNREAD_CHECKS: [&str; 10] = [
    "fail",
    "must_have",
    "must_not_have",
    "must_contain",
    "must_not_contain",
    "deterministic_assertions",
    "expected_tools",
    "expected_tool_calls",
    "trajectory",
    "verify",
];
/// Files with evaluations of other programs, and what they are. They are named where a package has nothing else.
const FOREIGN: [(&str, &str); 7] = [
    ("evals/eval.yaml", "a file of skillgrade, waza or the like"),
    ("eval.yaml", "a file of skillgrade, waza or the like"),
    ("evals/trigger_tests.yaml", "a file of waza"),
    ("trigger_tests.yaml", "a file of waza"),
    ("promptfooconfig.yaml", "a file of promptfoo"),
    ("evals/promptfooconfig.yaml", "a file of promptfoo"),
    ("eval.csv", "a table of prompts"),
];
/// Fields of an evaluation that are read, or that only name it.
const READ: [&str; 18] = [
    "id",
    "expected_output",
    "files",
    "should_trigger",
    "name",
    "eval_name",
    "title",
    "category",
    "tags",
    "difficulty",
    "description",
    "notes",
    "type",
    "kind",
    "skills",
    "rationale",
    "reason",
    "intent",
];
/// Largest length of an id, in characters.
const MAX_ID_CHARS: usize = 60;

/// Reads the evaluations of a package.
///
/// # Errors
/// The package has none, or the file is not of this form. One evaluation that cannot be carried out is no error: it stands in
/// [`SkillEvals::left_out`].
pub fn read_evals(package: &Package) -> Result<SkillEvals, EvalsError> {
    let mut named = TRIGGERS_FILES.iter().filter_map(|path| Some((*path, package.files.get(*path)?)));
    let triggers = named.next().map(|(path, bytes)| (path, read_file(bytes, "trigger-", package)));
    let Some(bytes) = package.files.get(EVALS_FILE) else {
        return triggers.map_or_else(|| Err(missing(package)), |(_, read)| read);
    };
    let mut found = read_file(bytes, "", package)?;
    match triggers {
        None => {}
        Some((_, Ok(more))) => {
            found.evals.extend(more.evals);
            found.left_out.extend(more.left_out);
            found.remarks.extend(more.remarks);
        }
        Some((path, Err(error))) => {
            let why = error.to_string().replace(EVALS_FILE, path);
            found.remarks.insert(format!("{path} is not read: {why}"));
        }
    }
    found
        .remarks
        .extend(named.map(|(path, _)| format!("{path} is not read, since another file asks the same")));
    let mut ids = BTreeSet::new();
    match found.evals.iter().find(|eval| !ids.insert(&eval.id)) {
        Some(eval) => Err(EvalsError::RepeatedId(eval.id.clone())),
        None => Ok(found),
    }
}

/// Why a package has no evaluations: it has none, or keeps them in the form of another program.
fn missing(package: &Package) -> EvalsError {
    let listed = FOREIGN.iter().find(|(path, _)| package.files.contains_key(*path));
    let listed = listed.map(|(path, program)| ((*path).to_owned(), *program));
    let written = || package.files.keys().find(|path| path.ends_with(".eval.md")).cloned();
    let foreign = listed.or_else(|| Some((written()?, "a text with a prompt and an expectation")));
    foreign.map_or(EvalsError::Missing, |(path, program)| EvalsError::Foreign { path, program })
}

/// Reads one file of evaluations; the ids of those that have none begin with `prefix`.
fn read_file(bytes: &[u8], prefix: &str, package: &Package) -> Result<SkillEvals, EvalsError> {
    if bytes.len() > MAX_EVALS_BYTES {
        return Err(EvalsError::TooLarge(bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| EvalsError::NotText(error.to_string()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| EvalsError::NotJson(error.to_string()))?;
    let mut found = SkillEvals::default();
    let list = list_of(&value, &mut found)?;
    if list.len() > MAX_EVALS {
        return Err(EvalsError::TooMany(list.len()));
    }
    let mut ids = BTreeSet::new();
    for (at, value) in list.iter().enumerate() {
        let Value::Object(fields) = value else {
            let why = format!("entry {} is {}, and no evaluation", at + 1, kind_of(value));
            return Err(EvalsError::Form(why));
        };
        let (written, id) = id_of(fields, at, prefix)?;
        if !ids.insert(id.clone()) {
            return Err(EvalsError::RepeatedId(written));
        }
        match eval_of(fields, id, package, &mut found.remarks) {
            Ok(eval) => found.evals.push(eval),
            Err(why) => found.left_out.push(LeftOutEval { id: written, why }),
        }
    }
    Ok(found)
}

/// The list of evaluations: that of an object, or the file itself.
fn list_of<'a>(value: &'a Value, found: &mut SkillEvals) -> Result<&'a [Value], EvalsError> {
    let wrong = |why: String| Err(EvalsError::Form(why));
    let list = match value {
        Value::Array(list) => list,
        Value::Object(fields) => {
            let named = LISTS.iter().find_map(|name| Some((*name, fields.get(*name)?)));
            let used = named.map_or("evals", |(name, _)| name);
            let unread = fields.keys().filter(|name| *name != used && !ABOUT_LIST.contains(&name.as_str()));
            found.remarks.extend(unread.map(|name| format!("the field {name:?} of the list is not read")));
            match named {
                Some((_, Value::Array(list))) => list,
                Some((name, other)) => return wrong(format!("{name:?} is {}, and no list", kind_of(other))),
                None => {
                    let names: Vec<&str> = fields.keys().map(String::as_str).take(8).collect();
                    return wrong(format!("there is no list \"evals\", but {}", names.join(", ")));
                }
            }
        }
        other => return wrong(format!("it is {}, and no object with a list \"evals\"", kind_of(other))),
    };
    match list.is_empty() {
        true => wrong("its list is empty".to_owned()),
        false => Ok(list),
    }
}

/// An evaluation's id as written, and as a name of a task.
fn id_of(fields: &Map<String, Value>, at: usize, prefix: &str) -> Result<(String, String), EvalsError> {
    let written = match fields.get("id") {
        None => format!("{prefix}{}", at + 1),
        Some(Value::String(text)) if !text.trim().is_empty() => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => {
            let why =
                format!("the id of entry {} is {}: a number or a text is needed", at + 1, kind_of(other));
            return Err(EvalsError::Form(why));
        }
    };
    let lower = written.to_lowercase();
    let parts: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let mut slug: String = parts.join("-").chars().take(MAX_ID_CHARS).collect();
    if slug.is_empty() {
        slug = format!("at-{}", at + 1);
    }
    Ok((written, slug))
}

fn eval_of(
    fields: &Map<String, Value>,
    id: String,
    package: &Package,
    remarks: &mut BTreeSet<String>,
) -> Result<SkillEval, String> {
    let prompt = match PROMPTS.iter().find_map(|name| fields.get(*name)) {
        Some(Value::String(text)) if !text.trim().is_empty() => text.trim().to_owned(),
        Some(other) => {
            return Err(format!("its prompt is {}, and no text that asks for something", kind_of(other)));
        }
        None => return Err("it has no prompt".to_owned()),
    };
    let length = prompt.chars().count();
    if length > MAX_PROMPT_CHARS {
        return Err(format!(
            "its prompt has {length} characters; at most {MAX_PROMPT_CHARS} are given to an agent"
        ));
    }
    let should_trigger = match fields.get("should_trigger") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(wanted)) => Some(*wanted),
        Some(other) => return Err(format!("should_trigger is {}, and not true or false", kind_of(other))),
    };
    // What must not happen decides as much as what must: without it, a wrong answer would pass.
    if let Some(name) = UNREAD_CHECKS.into_iter().find(|name| fields.contains_key(*name)) {
        return Err(format!("it is also checked by {name:?}, which is not read: state it as an expectation"));
    }
    let read = [&READ[..], &CHECKS, &PROMPTS, &environment::FIELDS].concat();
    let unread = fields.keys().filter(|name| !read.contains(&name.as_str()));
    remarks.extend(unread.map(|name| format!("the field {name:?} of an evaluation is not read")));
    let files = files_of(fields, package, remarks)?;
    let environment = environment_of(fields, &files)?;
    let checks = checks_of(fields, package, remarks)?;
    let asks_page = checks.iter().any(|check| matches!(check, EvalCheck::PageHolds { .. }));
    if asks_page && !matches!(environment, EvalEnvironment::Browser { .. }) {
        return Err("a check looks at a page, and its environment is no browser".to_owned());
    }
    if checks.is_empty() && should_trigger.is_none() {
        return Err(
            "it has neither expectations nor an expected output, so that every answer would pass".to_owned()
        );
    }
    Ok(SkillEval { id, prompt, files, environment, checks, should_trigger })
}

/// The checks of an evaluation: its expectations, or without any its expected output.
fn checks_of(
    fields: &Map<String, Value>,
    package: &Package,
    remarks: &mut BTreeSet<String>,
) -> Result<Vec<EvalCheck>, String> {
    let (mut checks, mut unread) = (Vec::new(), Vec::new());
    for name in CHECKS {
        match fields.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) => {
                for value in list {
                    checks.push(read_check(value, &mut unread)?);
                }
            }
            Some(value @ Value::String(_)) if name == "expected_behavior" => {
                checks.push(read_check(value, &mut unread)?);
            }
            Some(other) => return Err(format!("{name} is {}, and no list", kind_of(other))),
        }
    }
    remarks.extend(unread.into_iter().map(|name| format!("the field {name:?} of a check is not read")));
    if checks.is_empty() {
        match fields.get("expected_output") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.trim().is_empty() => {}
            Some(Value::String(_)) => {
                checks.push(read_check(&fields["expected_output"], &mut Vec::new())?);
            }
            Some(other) => return Err(format!("expected_output is {}, and no text", kind_of(other))),
        }
    }
    if checks.len() > MAX_CHECKS {
        return Err(format!("it has {} checks; at most {MAX_CHECKS} are made", checks.len()));
    }
    for check in &checks {
        if let EvalCheck::Script { path, .. } = check
            && !package.files.contains_key(path)
        {
            return Err(format!("its script {path} is not in the package"));
        }
    }
    Ok(checks)
}
