//! The rule `sheet_fuzzy`: cells of two sheets compared after normalization.

use serde_json::Value;

use super::cell::raw_value;
use super::comparison::{Difference, TableComparison};
use crate::comparison::difflib;
use crate::python;
use crate::readers::cell_ref::{self, Range};
use crate::scoring::{MetricError, quote, task_error};

/// Maximum number of cells in one range.
const CELLS: u64 = 500_000;

pub(super) fn check(books: &TableComparison<'_, '_>, rule: &Value) -> Result<Difference, MetricError> {
    let (found, wanted) = (books.sheet(rule, "sheet_idx0")?, books.sheet(rule, "sheet_idx1")?);
    let parts = rule.get("rules").and_then(Value::as_array);
    for part in parts.ok_or_else(|| task_error("sheet_fuzzy needs the list \"rules\""))? {
        let alike = TextRule::read(part)?;
        let names = part.get("range").and_then(Value::as_array);
        for name in names
            .ok_or_else(|| task_error("a rule needs the list \"range\""))?
            .iter()
            .filter_map(Value::as_str)
        {
            let range = Range::parse(name).filter(|range| range.count() <= CELLS);
            let range = range.ok_or_else(|| task_error(format!("{name:?} is not a range, or too large")))?;
            for place in range.cells() {
                let have = alike.plain(&python::str(&raw_value(found.book, &found.name, place)?));
                let want = alike.plain(&python::str(&raw_value(wanted.book, &wanted.name, place)?));
                if !alike.holds(&have, &want) {
                    let cell = cell_ref::name(place);
                    return Ok(Some(format!(
                        "cell {cell}: expected {}, found {}",
                        quote(&want),
                        quote(&have)
                    )));
                }
            }
        }
    }
    Ok(None)
}

enum MatchKind {
    Includes,
    IncludedBy,
    Fuzzy(f64),
    Exact,
}

struct TextRule<'r> {
    how: MatchKind,
    replaced: Vec<(&'r str, &'r str)>,
    leading: Option<&'r str>,
    trailing: Option<&'r str>,
    ignored: &'r str,
    ignore_case: bool,
}

impl<'r> TextRule<'r> {
    fn read(rule: &'r Value) -> Result<Self, MetricError> {
        let text = |name: &str| rule.get(name).and_then(Value::as_str);
        let how = match text("type") {
            Some("includes") => MatchKind::Includes,
            Some("included_by") => MatchKind::IncludedBy,
            Some("fuzzy_match") => {
                MatchKind::Fuzzy(rule.get("threshold").and_then(Value::as_f64).unwrap_or(85.0))
            }
            Some("exact_match") => MatchKind::Exact,
            other => return Err(task_error(format!("unknown comparison type {other:?}"))),
        };
        let pairs = rule.get("normalization").and_then(Value::as_array).into_iter().flatten();
        Ok(Self {
            how,
            replaced: pairs
                .filter_map(|pair| Some((pair.get(0)?.as_str()?, pair.get(1)?.as_str()?)))
                .collect(),
            leading: text("trim_leadings"),
            trailing: text("trim_trailings"),
            ignored: text("ignore_chars").unwrap_or_default(),
            ignore_case: rule.get("ignore_case").is_some_and(crate::scoring::is_truthy),
        })
    }

    fn plain(&self, text: &str) -> String {
        let mut text = self.replaced.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        if let Some(leading) = self.leading {
            text = text.trim_start_matches(|c| leading.contains(c)).to_owned();
        }
        if let Some(trailing) = self.trailing {
            text = text.trim_end_matches(|c| trailing.contains(c)).to_owned();
        }
        text.retain(|c| !self.ignored.contains(c));
        if self.ignore_case { text.to_lowercase() } else { text }
    }

    fn holds(&self, found: &str, wanted: &str) -> bool {
        match self.how {
            MatchKind::Includes => found.contains(wanted),
            MatchKind::IncludedBy => wanted.contains(found),
            MatchKind::Fuzzy(threshold) => difflib::edit_similarity(found, wanted) >= threshold,
            MatchKind::Exact => found == wanted,
        }
    }
}
