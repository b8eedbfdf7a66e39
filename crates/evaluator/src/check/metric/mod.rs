//! Metrics under OSWorld's names, with upstream's semantics: each turns what was found into a mark.

mod browser;
mod image;
mod list;
mod structure;
mod text;
mod value;

use serde_json::{Map, Value};

use super::evidence::{FileRef, Found};

/// Names of the metrics that are supported.
pub const METRICS: &[&str] = &[
    "check_csv",
    "check_direct_json_object",
    "check_font_size",
    "check_image_file_size",
    "check_image_size",
    "check_include_exclude",
    "check_json",
    "check_json_keybindings",
    "check_json_settings",
    "check_line_number",
    "check_list",
    "check_moved_jpgs",
    "compare_config",
    "compare_csv",
    "compare_text_file",
    "exact_match",
    "file_contains",
    "infeasible",
    "is_expected_bookmarks",
    "is_expected_url_pattern_match",
    "is_extension_installed",
    "is_in_list",
    "is_in_vm_clickboard",
    "is_shortcut_on_desktop",
    "is_utc_0",
    "literal_match",
    "match_in_list",
];

/// What a metric is given.
pub(super) struct Case<'a> {
    pub(super) result: &'a Found,
    pub(super) expected: Option<&'a Found>,
    pub(super) options: &'a Map<String, Value>,
}

/// A score with what differed, in words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) score: f64,
    pub(super) explanation: String,
}

/// Why a metric could not be computed: a wrong task file or evidence of the wrong kind, never a failure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault(pub(super) String);

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

/// Computes the metric of this name.
pub(super) fn mark(name: &str, case: &Case<'_>) -> Result<Mark, Fault> {
    match name {
        "exact_match" => text::exact_match(case),
        "literal_match" => text::literal_match(case),
        "match_in_list" => text::match_in_list(case),
        "is_in_list" => text::is_in_list(case),
        "check_include_exclude" => text::include_exclude(case),
        "compare_text_file" => text::compare_text_file(case),
        "file_contains" => text::file_contains(case),
        "check_line_number" => text::line_number(case),
        "is_extension_installed" => text::is_extension_installed(case),
        "is_in_vm_clickboard" => text::is_in_clipboard(case),
        "is_utc_0" => text::is_utc_0(case),
        "check_list" => list::check_list(case),
        "check_csv" => list::check_csv(case),
        "compare_csv" => list::compare_csv(case),
        "check_moved_jpgs" => list::moved_files(case),
        "check_direct_json_object" => structure::direct_json_object(case),
        "check_json" => structure::check_json(case),
        "check_json_settings" => structure::json_settings(case),
        "check_json_keybindings" => structure::json_keybindings(case),
        "compare_config" => structure::compare_config(case),
        "check_font_size" => browser::font_size(case),
        "is_expected_bookmarks" => browser::bookmarks(case),
        "is_expected_url_pattern_match" => browser::url_pattern(case),
        "is_shortcut_on_desktop" => browser::shortcut(case),
        "check_image_size" => image::size(case),
        "check_image_file_size" => image::file_size(case),
        other => Err(Fault(format!("metric {other:?} is not supported"))),
    }
}

impl<'a> Case<'a> {
    /// The rules of the expected side.
    fn rules(&self) -> Result<&'a Value, Fault> {
        match self.expected {
            Some(Found::Value { value }) => Ok(value),
            Some(Found::Files { .. } | Found::Absent { .. }) | None => {
                Err(Fault("`expected` must be a rule or another value".into()))
            }
        }
    }

    /// One entry of the rules.
    fn rule(&self, name: &str) -> Result<&'a Value, Fault> {
        self.rules()?.get(name).ok_or_else(|| Fault(format!("`expected` has no rule {name:?}")))
    }

    /// An option that counts as true.
    fn option(&self, name: &str, default: bool) -> bool {
        self.options.get(name).map_or(default, crate::setup::is_true)
    }

    /// The result as a value, or the mark for an absent one.
    fn value(&self) -> Result<Result<&'a Value, Mark>, Fault> {
        match self.result {
            Found::Value { value: Value::Null } => Ok(Err(Mark::none("there is no result"))),
            Found::Value { value } => Ok(Ok(value)),
            Found::Absent { why } => Ok(Err(Mark::none(why.clone()))),
            Found::Files { .. } => Err(Fault("the result is a file where a value is needed".into())),
        }
    }

    /// The result as one file, or the mark for an absent one.
    fn file(&self) -> Result<Result<&'a FileRef, Mark>, Fault> {
        file(self.result)
    }

    /// The expected side as one file.
    fn expected_file(&self) -> Result<&'a FileRef, Fault> {
        let missing = || Fault("`expected` must be a file".into());
        file(self.expected.ok_or_else(missing)?)?.map_err(|_| missing())
    }
}

fn file(found: &Found) -> Result<Result<&FileRef, Mark>, Fault> {
    match found {
        Found::Files { files } => match files.as_slice() {
            [Some(file)] => Ok(Ok(file)),
            [None] => Ok(Err(Mark::none("the file does not exist"))),
            many => Err(Fault(format!("one file is needed, {} are given", many.len()))),
        },
        Found::Absent { why } => Ok(Err(Mark::none(why.clone()))),
        Found::Value { .. } => Err(Fault("a value is given where a file is needed".into())),
    }
}

/// A finding shown to people, cut to one line.
fn show(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 160 { text } else { text.chars().take(159).chain(['…']).collect() }
}

/// A list of texts out of a rule; a missing list is empty.
fn texts<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, Fault> {
    let wrong = || Fault(format!("rule {name:?} must be a list of texts"));
    match rules.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(|item| item.as_str().ok_or_else(wrong)).collect(),
        Some(_) => Err(wrong()),
    }
}

/// A regular expression of a task file.
fn pattern(text: &str) -> Result<regex::Regex, Fault> {
    regex::Regex::new(text).map_err(|error| Fault(format!("pattern {text:?} cannot be used: {error}")))
}

#[cfg(test)]
mod tests;
