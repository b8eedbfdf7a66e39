//! Metrics under OSWorld's names, with upstream's semantics. Each metric computes a score from evidence.
//!
//! Where upstream raises an exception instead of scoring, a metric returns [`Fault::Raised`]. [`Compat`] decides
//! whether that counts as a score of zero or as no score.

mod app_settings;
mod archive;
mod attribute_limit;
mod browser;
mod difflib;
mod epub;
mod html;
mod image;
mod json;
mod list;
mod python;
mod python_regex;
mod registry;
mod selector;
mod sqlite_and_id3;
mod structure;
mod table;
mod text;
mod thunderbird;
mod tree;
mod url;
mod value;
mod vlc;
mod xml;
mod yaml;
mod zip_reader;

use std::cell::Cell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use json::read as read_json;
pub use registry::{Family, METRICS, Metric, Takes, named};
pub(super) use table::last_row;
pub(crate) use url::same as same_address;

use super::evidence::{FileRef, Found};

/// Handling of upstream's known bugs, which `docs/osworld.md` lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    /// Fixes them, so that the check tests what its task means.
    #[default]
    Fixed,
    /// Reproduces them exactly.
    Exact,
}

impl Compat {
    /// Returns the other mode.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Fixed => Self::Exact,
            Self::Exact => Self::Fixed,
        }
    }
}

/// A compatibility mode that records whether a metric consulted it. If not, the other mode gives the same score.
pub(super) struct Reading {
    compat: Compat,
    asked: Cell<bool>,
}

impl Reading {
    pub(super) fn new(compat: Compat) -> Self {
        Self { compat, asked: Cell::new(false) }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.asked.set(true);
        self.compat == Compat::Exact
    }

    /// Returns the other mode, if it could lead to another score.
    pub(super) fn other(&self) -> Option<Self> {
        self.asked.get().then(|| Self::new(self.compat.other()))
    }
}

/// The input of a metric.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) result: &'a Found,
    pub(super) expected: Option<&'a Found>,
    pub(super) options: &'a Map<String, Value>,
    pub(super) reading: &'a Reading,
    /// All files of the check, for metrics that look up companions of their arguments. Upstream keeps them in one
    /// folder.
    pub(super) beside: &'a [&'a FileRef],
}

/// A score and its explanation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) score: f64,
    pub(super) explanation: String,
}

/// The reason why a metric has no score.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// An invalid task file, an unimplemented feature, or an exhausted budget: never the model's failure.
    Task(String),
    /// The result is malformed, so that upstream raises an exception.
    Raised(String),
}

impl Mark {
    pub(super) fn of(passed: bool, explanation: impl Into<String>) -> Self {
        Self { score: f64::from(u8::from(passed)), explanation: explanation.into() }
    }

    fn none(explanation: impl Into<String>) -> Self {
        Self::of(false, explanation)
    }

    fn full(explanation: impl Into<String>) -> Self {
        Self::of(true, explanation)
    }

    /// Returns a full score if there are no complaints, else zero.
    fn unless(complaints: &[String], praise: &str) -> Self {
        match complaints {
            [] => Self::full(praise),
            complaints => Self::none(complaints.join("; ")),
        }
    }
}

impl Fault {
    /// Returns the reason as text.
    pub(super) fn story(&self) -> &str {
        match self {
            Self::Task(story) | Self::Raised(story) => story,
        }
    }
}

/// Computes the metric of this name.
pub(super) fn mark(name: &str, case: &Case<'_>) -> Result<Mark, Fault> {
    let metric = named(name).ok_or_else(|| Fault::Task(format!("unknown metric {name:?}")))?;
    match metric.run(case) {
        Err(Fault::Raised(why)) if !case.is_exact() => Ok(Mark::none(why)),
        marked => marked,
    }
}

fn raised(why: impl Into<String>) -> Fault {
    Fault::Raised(why.into())
}

fn wrong(why: impl Into<String>) -> Fault {
    Fault::Task(why.into())
}

impl<'a> Case<'a> {
    fn is_exact(&self) -> bool {
        self.reading.is_exact()
    }

    /// Returns the expected side as a value.
    fn rules(&self) -> Result<&'a Value, Fault> {
        match self.expected {
            Some(Found::Value { value }) => Ok(value),
            Some(Found::Files { .. } | Found::Absent { .. }) | None => {
                Err(wrong("`expected` must be a rule or another value"))
            }
        }
    }

    /// Returns one entry of the rules.
    fn rule(&self, name: &str) -> Result<&'a Value, Fault> {
        self.rules()?.get(name).ok_or_else(|| wrong(format!("`expected` has no rule {name:?}")))
    }

    /// Returns one entry of the rules as a string.
    fn rule_text(&self, name: &str) -> Result<&'a str, Fault> {
        self.rule(name)?.as_str().ok_or_else(|| wrong(format!("rule {name:?} must be a string")))
    }

    /// Returns whether an option is truthy in Python's sense.
    fn option(&self, name: &str, default: bool) -> bool {
        self.options.get(name).map_or(default, crate::setup::is_true)
    }

    /// Returns the result as a value; upstream's `None` is `null`.
    fn found(&self) -> Result<&'a Value, Fault> {
        match self.result {
            Found::Value { value } => Ok(value),
            Found::Absent { .. } => Ok(&Value::Null),
            Found::Files { .. } => Err(wrong("the metric takes a value, but the result is a file")),
        }
    }

    /// Returns the result as a value, or the score of an absent one.
    fn value(&self) -> Result<Result<&'a Value, Mark>, Fault> {
        match (self.found()?, self.result) {
            (Value::Null, Found::Absent { why }) => Ok(Err(Mark::none(why.clone()))),
            (Value::Null, _) => Ok(Err(Mark::none("there is no result"))),
            (value, _) => Ok(Ok(value)),
        }
    }

    /// Returns the result as a value, where upstream raises for an absent one.
    fn need_value(&self) -> Result<&'a Value, Fault> {
        self.value()?.map_err(|mark| raised(mark.explanation))
    }

    /// Returns the result as a string, where upstream raises for anything else.
    fn need_text(&self) -> Result<&'a str, Fault> {
        self.need_value()?.as_str().ok_or_else(|| raised("the result is not a string"))
    }

    /// Returns the result as one file, or the score of an absent one.
    fn file(&self) -> Result<Result<&'a FileRef, Mark>, Fault> {
        file(self.result)
    }

    /// Returns the result as one file, where upstream raises for an absent one.
    fn need_file(&self) -> Result<&'a FileRef, Fault> {
        self.file()?.map_err(|mark| raised(mark.explanation))
    }

    /// Returns the expected side as one file.
    fn expected_file(&self) -> Result<&'a FileRef, Fault> {
        let missing = || wrong("`expected` must be a file");
        file(self.expected.ok_or_else(missing)?)?.map_err(|_| missing())
    }
}

fn file(found: &Found) -> Result<Result<&FileRef, Mark>, Fault> {
    match found {
        Found::Files { files, .. } => match files.as_slice() {
            [Some(file)] => Ok(Ok(file)),
            [None] => Ok(Err(Mark::none("the file does not exist"))),
            many => Err(wrong(format!("the metric takes one file, but got {}", many.len()))),
        },
        Found::Absent { why } => Ok(Err(Mark::none(why.clone()))),
        Found::Value { value: Value::Null } => Ok(Err(Mark::none("there is no file"))),
        Found::Value { .. } => Err(wrong("the metric takes a file, but got a value")),
    }
}

/// Formats a value for an explanation, truncated to 160 characters.
fn show(value: &Value) -> String {
    cut(&value.to_string())
}

/// Quotes a text for an explanation, truncated to 160 characters.
fn quote(text: &str) -> String {
    cut(&format!("{text:?}"))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= 160 {
        text.to_owned()
    } else {
        text.chars().take(159).chain(['…']).collect()
    }
}

/// Returns a list from the rules. A missing one is empty; a value of another type is an error of the task.
fn entries<'a>(rules: &'a Value, name: &str) -> Result<&'a [Value], Fault> {
    let rules = rules.as_object().ok_or_else(|| wrong("`expected` must be an object of rules"))?;
    match rules.get(name) {
        None => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(wrong(format!("rule {name:?} must be a list"))),
    }
}

/// Returns the entries of a required list of strings, so that no check passes because its rule is missing.
fn texts<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, Fault> {
    if rules.get(name).is_none() {
        return Err(wrong(format!("`expected` has no rule {name:?}")));
    }
    texts_if_any(rules, name)
}

/// Returns the entries of a list of strings; a missing list is empty.
fn texts_if_any<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, Fault> {
    let bad = || wrong(format!("rule {name:?} must be a list of strings"));
    entries(rules, name)?.iter().map(|item| item.as_str().ok_or_else(bad)).collect()
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
