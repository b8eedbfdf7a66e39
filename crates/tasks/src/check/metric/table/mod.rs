//! Metrics of workbooks. Rules run in order, and the first one that fails decides.

mod appearance;
mod cell;
pub(super) mod cell_ref;
mod chart;
mod data_frame;
mod formula;
mod fuzzy;
mod pivot;
mod sheet_property;
mod style;
mod workbook;

use serde_json::Value;

use self::cell::{Cell, raw_value};
use self::data_frame::DataFrame;
use self::workbook::{SheetEntry, Workbook};
use super::compat::{Compat, CompatProbe};
use super::input::{MetricInput, texts};
use super::score::{MetricError, Score, show, task_error, upstream_error};
use super::{list, python, value};
use crate::check::evidence::{EvidenceValue, FileRef};

/// The workbooks of one comparison.
struct TableComparison<'a, 'b> {
    case: &'b MetricInput<'a>,
    found: Workbook<'a>,
    wanted: Option<Workbook<'a>>,
}

/// A rule's reference to a sheet: the workbook, and a sheet name that may not exist in it.
struct SheetRef<'x, 'a> {
    book: &'x Workbook<'a>,
    name: String,
}

/// A rule's result: `None` if it holds, else the difference.
type Difference = Option<String>;

pub(super) fn compare_table(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.options.get("rules").and_then(Value::as_array);
    let rules = rules.ok_or_else(|| task_error("compare_table needs the option \"rules\" (a list)"))?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let found = match Workbook::open(file, case.reading) {
        Ok(found) => found,
        Err(why) => return Ok(Score::none(format!("the workbook cannot be opened: {why}"))),
    };
    let wanted = match case.expected {
        None | Some(EvidenceValue::Absent { .. } | EvidenceValue::Value { value: Value::Null }) => None,
        Some(_) => Some(Workbook::open(case.expected_file()?, case.reading).map_err(task_error)?),
    };
    let books = TableComparison { case, found, wanted };
    for (at, rule) in rules.iter().enumerate() {
        let kind = rule.get("type").and_then(Value::as_str).unwrap_or_default();
        if let Some(told) = books.check(kind, rule)? {
            return Ok(Score::none(format!("rule {} ({kind}): {told}", at + 1)));
        }
    }
    Ok(Score::full(format!("all {} rules hold", rules.len())))
}

impl<'a> TableComparison<'a, '_> {
    fn check(&self, kind: &str, rule: &Value) -> Result<Difference, MetricError> {
        match kind {
            "sheet_name" => Ok(self.sheet_names()),
            "sheet_data" => self.sheet_data(rule),
            "sheet_print" => self.sheet_print(rule),
            "sheet_fuzzy" => fuzzy::check(self, rule),
            "check_cell" => appearance::check_cell(self, rule),
            "style" => {
                self.compared(rule, |sheet| appearance::styles(sheet, rule, self.case.reproduces_bugs()))
            }
            "chart" => self.compared(rule, |sheet| chart::charts(sheet, rule)),
            "pivot_table" => self.compared(rule, |sheet| pivot::pivots(sheet, rule)),
            "row_props" => self.compared(rule, |sheet| sheet_property::rows(sheet, rule)),
            "col_props" => self.compared(rule, |sheet| sheet_property::columns(sheet, rule)),
            "filter" => self.compared(rule, sheet_property::filter),
            "sparkline" => self.compared(rule, sheet_property::sparklines),
            "freeze" => sheet_property::freeze(self, rule),
            "zoom" => sheet_property::zoom(self, rule),
            "data_validation" => sheet_property::validation(self, rule),
            other => Err(task_error(format!("unknown rule type {other:?}"))),
        }
    }

    /// Resolves the sheet reference in a field of a rule.
    fn sheet(&self, rule: &Value, field: &str) -> Result<SheetRef<'_, 'a>, MetricError> {
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
    fn compared<F>(&self, rule: &Value, read: F) -> Result<Difference, MetricError>
    where
        F: Fn(&SheetRef<'_, 'a>) -> Result<Value, MetricError>,
    {
        let (found, wanted) =
            (read(&self.sheet(rule, "sheet_idx0")?)?, read(&self.sheet(rule, "sheet_idx1")?)?);
        Ok(differences(&found, &wanted))
    }

    fn sheet_names(&self) -> Difference {
        let wanted = self.wanted.as_ref().map(Workbook::names).unwrap_or_default();
        let found = self.found.names();
        (found != wanted || self.wanted.is_none())
            .then(|| format!("found sheets {found:?}, expected {wanted:?}"))
    }

    fn sheet_data(&self, rule: &Value) -> Result<Difference, MetricError> {
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
    fn sheet_print(&self, rule: &Value) -> Result<Difference, MetricError> {
        let fold = |line: &String| {
            if rule.get("ignore_case").is_some_and(crate::setup::is_truthy) {
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
    fn listed(&self) -> Option<&'x SheetEntry> {
        self.book.sheet(&self.name)
    }

    fn missing(&self) -> String {
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
    let mut told = Vec::new();
    for (key, wanted) in want {
        match have.get(key) {
            None => told.push(format!("{key} is absent, expected {}", show(wanted))),
            Some(found) if !value::equal(found, wanted) => {
                told.push(format!("{key} is {}, expected {}", show(found), show(wanted)));
            }
            Some(_) => {}
        }
    }
    told.extend(
        have.iter()
            .filter(|(key, _)| !want.contains_key(*key))
            .map(|(key, _)| format!("{key} is unexpected")),
    );
    let more = told.len().saturating_sub(3);
    told.truncate(3);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    Some(told.join("; "))
}

/// Returns the last row of a workbook's first sheet as strings; blank cells are `nan`.
pub(in crate::check) fn last_row(file: &FileRef) -> Result<Vec<String>, String> {
    let reading = CompatProbe::new(Compat::default());
    let book = Workbook::open(file, &reading)?;
    let sheet = book.sheets.first().ok_or_else(|| format!("{} has no sheet", file.name))?;
    DataFrame::read(&book, sheet, i32::from(i8::MAX))?
        .last_row()
        .ok_or_else(|| format!("{} has no rows", file.name))
}

/// Passes if each of the cells C2 to C22 of the active sheet contains one of its expected names. The fixed mode ignores
/// accents, letter case and punctuation.
pub(super) fn cities_in_order(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted =
        case.rule("expected")?.as_array().ok_or_else(|| task_error("rule \"expected\" must be a list"))?;
    let file = case.require_file()?;
    let book = Workbook::open(file, case.reading).map_err(upstream_error)?;
    let sheet =
        book.sheets.get(book.active).ok_or_else(|| upstream_error("the workbook has no active sheet"))?;
    let cells = book.cells(&sheet.path).map_err(upstream_error)?.unwrap_or_default();
    for at in 0..21_u32 {
        let cell = match cells.get(&(at + 2, 3)) {
            Some(raw) => Cell::read(raw, &book).map_err(upstream_error)?,
            None => Cell::Empty,
        };
        let options = match wanted.get(at as usize) {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => return Ok(Score::none(format!("no name is expected in cell C{}", at + 2))),
        };
        let fits = |text: &str| {
            options.iter().any(|option| {
                text.contains(option) || !case.reproduces_bugs() && folded(text).contains(&folded(option))
            })
        };
        if !matches!(&cell, Cell::Text(text) if fits(text)) {
            return Ok(Score::none(format!(
                "cell C{}: expected one of {options:?}, found {}",
                at + 2,
                cell.show()
            )));
        }
    }
    Ok(Score::full("all cities are as expected"))
}

/// Removes accents, punctuation and letter case.
fn folded(text: &str) -> String {
    use unicode_normalization::UnicodeNormalization as _;
    text.nfkd().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the property names that a rule asks for.
fn names<'r>(rule: &'r Value, field: &str) -> Result<Vec<&'r str>, MetricError> {
    texts(rule, field)
}

#[cfg(test)]
mod tests;
