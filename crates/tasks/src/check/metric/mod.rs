//! Metrics under OSWorld's names, with upstream's semantics: each turns what was found into a mark.
//!
//! Where upstream raises instead of scoring, a metric answers [`Fault::Raised`]; the reading of the suite's
//! faults ([`Compat`]) decides whether that is a score of nothing or no score at all.

mod archive;
mod attributes;
mod browser;
mod dialect;
mod difflib;
mod epub;
mod html;
mod image;
mod json;
mod list;
mod media;
mod office;
mod python;
mod registry;
mod selector;
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
mod zipped;

use std::cell::Cell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use json::read as read_json;
pub use registry::{Family, METRICS, Metric, Takes, named};
pub(super) use table::last_row;
pub(crate) use url::same as same_address;

use super::evidence::{FileRef, Found};

/// How upstream's known faults are read; they are listed in `docs/osworld.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    /// Mended: what the check means to say.
    #[default]
    Fixed,
    /// As they are, fault for fault.
    Exact,
}

impl Compat {
    /// The other reading.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Fixed => Self::Exact,
            Self::Exact => Self::Fixed,
        }
    }
}

/// A reading of the faults that tells whether anybody asked for it: a metric that did not has no other one.
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

    /// The other reading, if that could lead elsewhere.
    pub(super) fn other(&self) -> Option<Self> {
        self.asked.get().then(|| Self::new(self.compat.other()))
    }
}

/// What a metric is given.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) result: &'a Found,
    pub(super) expected: Option<&'a Found>,
    pub(super) options: &'a Map<String, Value>,
    pub(super) reading: &'a Reading,
    /// Files that lie in the same folder upstream, for metrics that look beside their arguments.
    pub(super) beside: &'a [&'a FileRef],
}

/// A score with what differed, in words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) score: f64,
    pub(super) explanation: String,
}

/// Why a metric has no score.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// A wrong task file, something not built, or a budget that was used up: never the model's failure.
    Task(String),
    /// The evidence is such that upstream raises an error: the result is broken.
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

    /// A pass, unless there are complaints.
    fn unless(complaints: &[String], praise: &str) -> Self {
        match complaints {
            [] => Self::full(praise),
            complaints => Self::none(complaints.join("; ")),
        }
    }
}

impl Fault {
    /// In words.
    pub(super) fn story(&self) -> &str {
        match self {
            Self::Task(story) | Self::Raised(story) => story,
        }
    }
}

/// Computes the metric of this name.
pub(super) fn mark(name: &str, case: &Case<'_>) -> Result<Mark, Fault> {
    let metric = named(name).ok_or_else(|| Fault::Task(format!("metric {name:?} is not known")))?;
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

    /// The rules of the expected side.
    fn rules(&self) -> Result<&'a Value, Fault> {
        match self.expected {
            Some(Found::Value { value }) => Ok(value),
            Some(Found::Files { .. } | Found::Absent { .. }) | None => {
                Err(wrong("`expected` must be a rule or another value"))
            }
        }
    }

    /// One entry of the rules.
    fn rule(&self, name: &str) -> Result<&'a Value, Fault> {
        self.rules()?.get(name).ok_or_else(|| wrong(format!("`expected` has no rule {name:?}")))
    }

    /// One entry of the rules that is a text.
    fn rule_text(&self, name: &str) -> Result<&'a str, Fault> {
        self.rule(name)?.as_str().ok_or_else(|| wrong(format!("rule {name:?} must be text")))
    }

    /// An option that counts as true.
    fn option(&self, name: &str, default: bool) -> bool {
        self.options.get(name).map_or(default, crate::setup::is_true)
    }

    /// The result as a value; upstream's `None` is `null`.
    fn found(&self) -> Result<&'a Value, Fault> {
        match self.result {
            Found::Value { value } => Ok(value),
            Found::Absent { .. } => Ok(&Value::Null),
            Found::Files { .. } => Err(wrong("the result is a file where a value is needed")),
        }
    }

    /// The result as a value, or the mark for an absent one.
    fn value(&self) -> Result<Result<&'a Value, Mark>, Fault> {
        match (self.found()?, self.result) {
            (Value::Null, Found::Absent { why }) => Ok(Err(Mark::none(why.clone()))),
            (Value::Null, _) => Ok(Err(Mark::none("there is no result"))),
            (value, _) => Ok(Ok(value)),
        }
    }

    /// The result as a value, where upstream raises for an absent one.
    fn need_value(&self) -> Result<&'a Value, Fault> {
        self.value()?.map_err(|mark| raised(mark.explanation))
    }

    /// The result as text, where upstream raises for anything else.
    fn need_text(&self) -> Result<&'a str, Fault> {
        self.need_value()?.as_str().ok_or_else(|| raised("the result is no text"))
    }

    /// The result as one file, or the mark for an absent one.
    fn file(&self) -> Result<Result<&'a FileRef, Mark>, Fault> {
        file(self.result)
    }

    /// The result as one file, where upstream raises for an absent one.
    fn need_file(&self) -> Result<&'a FileRef, Fault> {
        self.file()?.map_err(|mark| raised(mark.explanation))
    }

    /// The expected side as one file.
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
            many => Err(wrong(format!("one file is needed, {} are given", many.len()))),
        },
        Found::Absent { why } => Ok(Err(Mark::none(why.clone()))),
        Found::Value { value: Value::Null } => Ok(Err(Mark::none("there is no file"))),
        Found::Value { .. } => Err(wrong("a value is given where a file is needed")),
    }
}

/// A finding shown to people, cut to one line.
fn show(value: &Value) -> String {
    cut(&value.to_string())
}

/// A text shown to people, quoted and cut to one line.
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

/// A list out of the rules; one that is not there is empty, and one that is no list is a fault of the task.
fn entries<'a>(rules: &'a Value, name: &str) -> Result<&'a [Value], Fault> {
    let rules = rules.as_object().ok_or_else(|| wrong("`expected` must be an object of rules"))?;
    match rules.get(name) {
        None => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(wrong(format!("rule {name:?} must be a list"))),
    }
}

/// The entries of a list that must be there and hold texts alone: nothing passes for want of a rule.
fn texts<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, Fault> {
    if rules.get(name).is_none() {
        return Err(wrong(format!("`expected` has no rule {name:?}")));
    }
    texts_if_any(rules, name)
}

/// The entries of a list of texts; one that is not there is empty.
fn texts_if_any<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, Fault> {
    let bad = || wrong(format!("rule {name:?} must be a list of texts"));
    entries(rules, name)?.iter().map(|item| item.as_str().ok_or_else(bad)).collect()
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
