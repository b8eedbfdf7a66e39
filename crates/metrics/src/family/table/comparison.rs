//! The comparison of two workbooks: the sheets that a rule names, and the differences between them.

use serde_json::Value;

use super::super::list;
use super::data_frame::DataFrame;
use super::workbook::{SheetEntry, Workbook};
use crate::comparison::value;
use crate::evidence::FileRef;
use crate::python;
use crate::scoring::{MetricError, MetricInput, show, task_error, texts, upstream_error};

/// The workbooks of one comparison.
pub(super) struct TableComparison<'a, 'b> {
    pub(super) case: &'b MetricInput<'a>,
    pub(super) found: Workbook<'a>,
    pub(super) wanted: Option<Workbook<'a>>,
}

/// A rule's reference to a sheet: the workbook, and a sheet name that may not exist in it.
pub(super) struct SheetRef<'x, 'a> {
    pub(super) book: &'x Workbook<'a>,
    pub(super) name: String,
}

/// A rule's result: `None` if it holds, else the difference.
pub(super) type Difference = Option<String>;

impl<'a> TableComparison<'a, '_> {
    /// Resolves the sheet reference in a field of a rule.
    pub(super) fn sheet(&self, rule: &Value, field: &str) -> Result<SheetRef<'_, 'a>, MetricError> {
        let bad = || task_error(format!("{field:?} must be a number or begin with RI, RN, EI or EN"));
        let of = rule.get(field).ok_or_else(bad)?;
        if let Some(index) = of.as_i64() {
            return Ok(SheetRef { book: &self.found, name: nth(&self.found, index) });
        }
        let text = of.as_str().filter(|text| text.is_char_boundary(2)).ok_or_else(bad)?;
        let (kind, rest) = text.split_at(2);
        let wanted = || self.wanted.as_ref().ok_or_else(|| task_error("the rule needs an expected workbook"));
        let index = || rest.trim().parse().unwrap_or(i64::MAX);
        Ok(match kind {
            "RI" => SheetRef { book: &self.found, name: nth(&self.found, index()) },
            "RN" => SheetRef { book: &self.found, name: rest.to_owned() },
            "EI" => wanted().map(|book| SheetRef { book, name: nth(book, index()) })?,
            "EN" => wanted().map(|book| SheetRef { book, name: rest.to_owned() })?,
            _ => return Err(bad()),
        })
    }

    /// Reads the same data from both sheets and compares it.
    pub(super) fn compared<F>(&self, rule: &Value, read: F) -> Result<Difference, MetricError>
    where
        F: Fn(&SheetRef<'_, 'a>) -> Result<Value, MetricError>,
    {
        let (found, wanted) =
            (read(&self.sheet(rule, "sheet_idx0")?)?, read(&self.sheet(rule, "sheet_idx1")?)?);
        Ok(differences(&found, &wanted))
    }

    pub(super) fn sheet_names(&self) -> Difference {
        let wanted = self.wanted.as_ref().map(Workbook::names).unwrap_or_default();
        let found = self.found.names();
        (found != wanted || self.wanted.is_none())
            .then(|| format!("found sheets {found:?}, expected {wanted:?}"))
    }

    pub(super) fn sheet_data(&self, rule: &Value) -> Result<Difference, MetricError> {
        let precision = rule.get("precision").and_then(Value::as_i64).unwrap_or(4);
        let precision = i32::try_from(precision).map_err(|_| task_error("\"precision\" is out of range"))?;
        let found = self.sheet(rule, "sheet_idx0")?;
        let Some(listed) = found.listed() else { return Ok(Some(found.missing())) };
        let frame = DataFrame::read(found.book, listed, precision);
        let frame = match frame {
            Ok(frame) => frame,
            Err(why) => return Ok(Some(why)),
        };
        let wanted = self.sheet(rule, "sheet_idx1")?;
        let listed = wanted.listed().ok_or_else(|| upstream_error(wanted.missing()))?;
        Ok(frame.differs(&DataFrame::read(wanted.book, listed, precision).map_err(upstream_error)?))
    }

    /// Compares the CSV exports of the sheets, which lie next to the workbooks.
    pub(super) fn sheet_print(&self, rule: &Value) -> Result<Difference, MetricError> {
        let fold = |line: &String| {
            if rule.get("ignore_case").is_some_and(crate::scoring::is_truthy) {
                line.to_lowercase()
            } else {
                line.clone()
            }
        };
        let found = match self.printed(&self.sheet(rule, "sheet_idx0")?) {
            Ok(lines) => lines.iter().map(fold).collect::<Vec<_>>(),
            Err(why) => return Ok(Some(why)),
        };
        let wanted = self.printed(&self.sheet(rule, "sheet_idx1")?).map_err(upstream_error)?;
        let wanted: Vec<String> = wanted.iter().map(fold).collect();
        let differs = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        Ok(match differs {
            Some(at) => Some(format!("line {}: found {:?}, expected {:?}", at + 1, found[at], wanted[at])),
            None if found.len() != wanted.len() => {
                Some(format!("found {} lines, expected {}", found.len(), wanted.len()))
            }
            None => None,
        })
    }

    fn printed(&self, sheet: &SheetRef<'_, '_>) -> Result<Vec<String>, String> {
        let name = &sheet.book.file.name;
        let base = name.rsplit('/').next().unwrap_or(name);
        let stem = base.rsplit_once('.').map_or(base, |(stem, _)| stem);
        let wanted = format!("{stem}-{}.csv", sheet.name);
        let is_it = |file: &&&FileRef| file.name.rsplit('/').next() == Some(wanted.as_str());
        let file = self
            .case
            .beside
            .iter()
            .find(is_it)
            .ok_or_else(|| format!("{wanted} does not exist next to {name}"))?;
        let text = list::decoded(file).map_err(|fault| fault.message().to_owned())?;
        let mut lines: Vec<String> =
            python::split_lines(&text).into_iter().map(|line| line.trim().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Ok(lines)
    }
}

impl<'x> SheetRef<'x, '_> {
    pub(super) fn listed(&self) -> Option<&'x SheetEntry> {
        self.book.sheet(&self.name)
    }

    pub(super) fn missing(&self) -> String {
        let (file, name, names) = (&self.book.file.name, &self.name, self.book.names());
        format!("{file} has no sheet {name:?}, only {names:?}")
    }
}

/// Returns the name of the sheet at an index, from the end if negative; empty if there is none.
fn nth(book: &Workbook<'_>, index: i64) -> String {
    let count = i64::try_from(book.sheets.len()).unwrap_or(i64::MAX);
    let at = if index < 0 { index.checked_add(count) } else { Some(index) };
    let listed = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| book.sheets.get(at));
    listed.map(|listed| listed.name.clone()).unwrap_or_default()
}

/// Describes up to three differences between two values by their keys.
fn differences(found: &Value, wanted: &Value) -> Difference {
    if value::equal(found, wanted) {
        return None;
    }
    let (Some(have), Some(want)) = (found.as_object(), wanted.as_object()) else {
        return Some(format!("found {}, expected {}", show(found), show(wanted)));
    };
    let mut messages = Vec::new();
    for (key, wanted) in want {
        match have.get(key) {
            None => messages.push(format!("{key} is absent, expected {}", show(wanted))),
            Some(found) if !value::equal(found, wanted) => {
                messages.push(format!("{key} is {}, expected {}", show(found), show(wanted)));
            }
            Some(_) => {}
        }
    }
    messages.extend(
        have.iter()
            .filter(|(key, _)| !want.contains_key(*key))
            .map(|(key, _)| format!("{key} is unexpected")),
    );
    let more = messages.len().saturating_sub(3);
    messages.truncate(3);
    if more > 0 {
        messages.push(format!("and {more} more"));
    }
    Some(messages.join("; "))
}

/// Returns the property names that a rule asks for.
pub(super) fn names<'r>(rule: &'r Value, field: &str) -> Result<Vec<&'r str>, MetricError> {
    texts(rule, field)
}
