//! From the bytes of the file to evaluations that can be carried out.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::check::read_check;
use super::words::{clipped, inner_path, kind_of};
use super::{
    EVALS_FILE, EVALS_FOLDER, EvalCheck, EvalFile, EvalsError, LeftOutEval, MAX_CHECKS, MAX_EVAL_FILES,
    MAX_EVALS, MAX_EVALS_BYTES, MAX_PROMPT_CHARS, SkillEval, SkillEvals, TRIGGERS_FILE,
};
use crate::package::Package;

/// Fields of the list that say nothing of what is to be done.
const ABOUT_LIST: [&str; 8] =
    ["skill_name", "skill", "skills", "version", "description", "$schema", "notes", "author"];
/// Fields of an evaluation with checks.
const CHECKS: [&str; 7] =
    ["expectations", "assertions", "checks", "graders", "scorers", "expected_behavior", "expect"];
/// Fields of an evaluation that are read, or that only name it.
const READ: [&str; 18] = [
    "id",
    "prompt",
    "query",
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
];
/// Largest length of an id, in characters.
const MAX_ID_CHARS: usize = 60;

/// Reads the evaluations of a package.
///
/// # Errors
/// The package has none, or the file is not of this form. One evaluation that cannot be carried out is no error: it stands in
/// [`SkillEvals::left_out`].
pub fn read_evals(package: &Package) -> Result<SkillEvals, EvalsError> {
    let triggers = package.files.get(TRIGGERS_FILE).map(|bytes| read_file(bytes, "trigger-", package));
    let Some(bytes) = package.files.get(EVALS_FILE) else {
        return triggers.unwrap_or(Err(EvalsError::Missing));
    };
    let mut found = read_file(bytes, "", package)?;
    match triggers {
        None => {}
        Some(Ok(more)) => {
            found.evals.extend(more.evals);
            found.left_out.extend(more.left_out);
            found.remarks.extend(more.remarks);
        }
        Some(Err(error)) => {
            let why = error.to_string().replace(EVALS_FILE, TRIGGERS_FILE);
            found.remarks.insert(format!("{TRIGGERS_FILE} is not read: {why}"));
        }
    }
    let mut ids = BTreeSet::new();
    match found.evals.iter().find(|eval| !ids.insert(&eval.id)) {
        Some(eval) => Err(EvalsError::RepeatedId(eval.id.clone())),
        None => Ok(found),
    }
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
            let unread =
                fields.keys().filter(|name| *name != "evals" && !ABOUT_LIST.contains(&name.as_str()));
            found.remarks.extend(unread.map(|name| format!("the field {name:?} of the list is not read")));
            match fields.get("evals") {
                Some(Value::Array(list)) => list,
                Some(other) => return wrong(format!("\"evals\" is {}, and no list", kind_of(other))),
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
    let prompt = match fields.get("prompt").or_else(|| fields.get("query")) {
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
    if let Some(name) = ["fail", "must_not_have"].into_iter().find(|name| fields.contains_key(*name)) {
        return Err(format!(
            "it says in {name:?} what must not happen, which is not read: state it as an expectation"
        ));
    }
    let unread =
        fields.keys().filter(|name| !READ.contains(&name.as_str()) && !CHECKS.contains(&name.as_str()));
    remarks.extend(unread.map(|name| format!("the field {name:?} of an evaluation is not read")));
    let files = files_of(fields, package, remarks)?;
    let checks = checks_of(fields, package, remarks)?;
    if checks.is_empty() && should_trigger.is_none() {
        return Err(
            "it has neither expectations nor an expected output, so that every answer would pass".to_owned()
        );
    }
    Ok(SkillEval { id, prompt, files, checks, should_trigger })
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

/// The files that the person has. The skill's own files are not given: the agent without the skill would have it.
fn files_of(
    fields: &Map<String, Value>,
    package: &Package,
    remarks: &mut BTreeSet<String>,
) -> Result<Vec<EvalFile>, String> {
    let list = match fields.get("files") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(format!("files is {}, and no list", kind_of(other))),
    };
    if list.len() > MAX_EVAL_FILES {
        return Err(format!("it has {} files; at most {MAX_EVAL_FILES} are given", list.len()));
    }
    let mut files: Vec<EvalFile> = Vec::new();
    for value in list {
        let path =
            value.as_str().ok_or_else(|| format!("one of its files is {}, and no path", kind_of(value)))?;
        let path = inner_path(path)?;
        let (named, beside) = (path.clone(), format!("{EVALS_FOLDER}{path}"));
        let path = [named, beside].into_iter().find(|path| package.files.contains_key(path));
        let path = path.ok_or_else(|| {
            format!("its file {:?} is not in the package", clipped(value.as_str().unwrap_or_default()))
        })?;
        if path == EVALS_FILE || !path.starts_with(EVALS_FOLDER) {
            remarks.insert(format!(
                "{path} is a part of the skill, or its evaluation, and is not put into the folder of an agent: the one without the \
                 skill would have it"
            ));
            continue;
        }
        let below = path.strip_prefix(EVALS_FOLDER).unwrap_or(&path);
        let target = below.strip_prefix("files/").unwrap_or(below).to_owned();
        if files.iter().any(|file| file.target == target) {
            return Err(format!("two of its files would be {target}"));
        }
        files.push(EvalFile { path, target });
    }
    Ok(files)
}
