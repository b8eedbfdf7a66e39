//! One check of an evaluation: a statement that a model judges, or something that the answer, a file or a script decides.

use std::sync::LazyLock;

use apprentice_screening::{Finding, scan};
use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::MAX_STATEMENT_CHARS;
use super::words::{clipped, inner_path, kind_of};

/// What must hold at the end of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "check", rename_all = "snake_case", deny_unknown_fields)]
pub enum EvalCheck {
    /// A statement, of which a model judges whether it holds.
    Statement {
        /// The statement.
        text: String,
    },
    /// The answer holds this text; case does not count.
    AnswerHolds {
        /// The text.
        text: String,
    },
    /// The answer does not hold this text.
    AnswerLacks {
        /// The text.
        text: String,
    },
    /// The answer matches this regular expression.
    AnswerMatches {
        /// The expression.
        pattern: String,
    },
    /// This file is there.
    FileExists {
        /// Its path below the folder in which the agent works.
        path: String,
    },
    /// This file holds a text.
    FileHolds {
        /// Its path below the folder in which the agent works.
        path: String,
        /// The text.
        text: String,
    },
    /// The page that the browser was opened with holds this text.
    PageHolds {
        /// The text.
        text: String,
    },
    /// A script of the package ends with exit code 0. It runs in the world after the attempt.
    Script {
        /// Its path in the package.
        path: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
}

impl EvalCheck {
    /// Whether the state of the world decides, or the answer to the letter, and no model.
    pub fn is_of_state(&self) -> bool {
        !matches!(self, Self::Statement { .. })
    }
}

/// Fields that hold the text of a statement.
const TEXTS: [&str; 10] = [
    "text",
    "statement",
    "criterion",
    "criteria",
    "expectation",
    "assertion",
    "pass_if",
    "description",
    "check",
    "rubric",
];
/// Fields that hold what a mechanical check looks for.
const WANTED: [&str; 6] = ["value", "text", "pattern", "contains", "expected", "substring"];
/// Fields that hold a path.
const PATHS: [&str; 4] = ["path", "file", "filename", "target"];
/// Kinds of checks that a model judges.
const JUDGED: [&str; 12] = [
    "llm",
    "llm_judge",
    "llm_rubric",
    "judge",
    "rubric",
    "semantic",
    "quality",
    "statement",
    "expectation",
    "model_graded",
    "behavior",
    "output",
];
/// Kinds that are read, one name of each.
const KNOWN: [&str; 8] = [
    "contains",
    "not_contains",
    "regex",
    "file_exists",
    "file_contains",
    "page_contains",
    "script",
    "llm_judge",
];
/// Fields of a check that name or explain it.
const ABOUT: [&str; 9] = ["id", "name", "type", "kind", "weight", "description", "notes", "why", "dimension"];

/// Reads a check; `Err` says why the evaluation cannot be carried out. Fields that are not read go into `unread`.
pub(super) fn read_check(value: &Value, unread: &mut Vec<String>) -> Result<EvalCheck, String> {
    let check = match value {
        Value::String(text) => EvalCheck::Statement { text: text.clone() },
        Value::Object(fields) => of_object(fields, unread)?,
        other => return Err(format!("a check is {}, and neither a text nor an object", kind_of(other))),
    };
    sound(&check)?;
    Ok(check)
}

fn of_object(fields: &Map<String, Value>, unread: &mut Vec<String>) -> Result<EvalCheck, String> {
    let kind = ["type", "kind"].iter().find_map(|name| fields.get(*name)?.as_str());
    let kind = kind.map(|kind| kind.to_lowercase().replace(['-', ' '], "_")).unwrap_or_default();
    let mut used: Vec<&str> = Vec::new();
    let mut text_of = |names: &[&'static str]| -> Option<String> {
        let (name, text) =
            names.iter().find_map(|name| Some((*name, fields.get(*name)?.as_str()?.to_owned())))?;
        used.push(name);
        Some(text)
    };
    let check = match kind.as_str() {
        "contains" | "includes" | "output_contains" | "answer_contains" | "must_include" => {
            text_of(&WANTED).map(|text| EvalCheck::AnswerHolds { text })
        }
        "not_contains" | "excludes" | "output_not_contains" | "must_not_include" => {
            text_of(&WANTED).map(|text| EvalCheck::AnswerLacks { text })
        }
        "regex" | "matches" | "pattern" => {
            text_of(&["pattern", "value", "regex"]).map(|pattern| EvalCheck::AnswerMatches { pattern })
        }
        "file_exists" | "exists" => {
            text_of(&[&PATHS[..], &["value"]].concat()).map(|path| EvalCheck::FileExists { path })
        }
        "file_contains" => {
            text_of(&PATHS).and_then(|path| text_of(&WANTED).map(|text| EvalCheck::FileHolds { path, text }))
        }
        "page_contains" => text_of(&WANTED).map(|text| EvalCheck::PageHolds { text }),
        "script" | "grader" => text_of(&[&PATHS[..], &["script"]].concat())
            .map(|path| EvalCheck::Script { path, arguments: Vec::new() }),
        "" if fields.contains_key("script") => {
            text_of(&["script"]).map(|path| EvalCheck::Script { path, arguments: Vec::new() })
        }
        "" => text_of(&TEXTS).map(|text| EvalCheck::Statement { text }),
        judged if JUDGED.contains(&judged) => {
            text_of(&[&TEXTS[..], &["value"]].concat()).map(|text| EvalCheck::Statement { text })
        }
        other => {
            return Err(format!(
                "a check is of the kind {:?}, which is not known; these are: {}",
                clipped(other),
                KNOWN.join(", ")
            ));
        }
    };
    let mut check =
        check.ok_or_else(|| format!("a check of the kind {kind:?} does not say what must hold"))?;
    if let EvalCheck::Script { arguments, .. } = &mut check {
        *arguments = given_arguments(fields)?;
        used.push("arguments");
        used.push("args");
    }
    let read = |name: &str| used.contains(&name) || ABOUT.contains(&name);
    unread.extend(fields.keys().filter(|name| !read(name)).cloned());
    Ok(check)
}

fn given_arguments(fields: &Map<String, Value>) -> Result<Vec<String>, String> {
    let Some(given) = fields.get("arguments").or_else(|| fields.get("args")) else { return Ok(Vec::new()) };
    let list = given.as_array().ok_or("the arguments of a script are no list")?;
    let text = |one: &Value| one.as_str().map(str::to_owned);
    list.iter()
        .map(text)
        .collect::<Option<_>>()
        .ok_or_else(|| "an argument of a script is no text".to_owned())
}

/// Says what a check cannot be carried out for.
fn sound(check: &EvalCheck) -> Result<(), String> {
    let (texts, path): (Vec<&str>, Option<&str>) = match check {
        EvalCheck::Statement { text } => {
            if speaks_to_judge(text) {
                return Err(format!("a statement speaks to whoever judges it: {:?}", clipped(text)));
            }
            (vec![text], None)
        }
        EvalCheck::AnswerHolds { text } | EvalCheck::AnswerLacks { text } | EvalCheck::PageHolds { text } => {
            (vec![text], None)
        }
        EvalCheck::AnswerMatches { pattern } => {
            Regex::new(pattern).map_err(|_| format!("{:?} is no regular expression", clipped(pattern)))?;
            (vec![pattern], None)
        }
        EvalCheck::FileExists { path } => (Vec::new(), Some(path)),
        EvalCheck::FileHolds { path, text } => (vec![text], Some(path)),
        EvalCheck::Script { path, arguments } => (arguments.iter().map(String::as_str).collect(), Some(path)),
    };
    if let Some(path) = path {
        inner_path(path)?;
    }
    for text in texts {
        let length = text.chars().count();
        if text.trim().is_empty() && !matches!(check, EvalCheck::Script { .. }) {
            return Err("a check is an empty text".to_owned());
        }
        if length > MAX_STATEMENT_CHARS || text.contains('\0') {
            return Err(format!("a check has {length} characters; at most {MAX_STATEMENT_CHARS} are read"));
        }
    }
    Ok(())
}

/// Sentences that want something from a judge instead of saying what holds.
const TO_JUDGES: [&str; 3] = [
    r"(?i)\b(judges?|graders?|evaluators?|assessors?)\b.{0,60}\b(must|should|shall|please|always|have to|has to|need to|will)\b",
    r"(?i)(^|[.!?:;]\s*)(please\s+|always\s+|just\s+|simply\s+|you (must|should|shall)\s+)*(say|answer|respond|reply|return|output|mark|give|grade|score|rate|award|treat|consider|count)\b.{0,60}\b(correct|pass|passed|passing|full marks|full score|as (holding|true|held)|1\.0|100 ?%)",
    r#"(?i)"verdict"|answer\.(question|verdict)\.v1|</?(case|answer|files|reference)>"#,
];
static SPOKEN: LazyLock<Option<Vec<Regex>>> =
    LazyLock::new(|| TO_JUDGES.iter().map(|rule| Regex::new(rule).ok()).collect());

/// Whether a statement speaks to the model that judges it. Rules that did not compile find it everywhere.
fn speaks_to_judge(text: &str) -> bool {
    scan(text) == Some(Finding::Injection)
        || SPOKEN.as_ref().is_none_or(|rules| rules.iter().any(|rule| rule.is_match(text)))
}
