//! Metrics of workbooks. Rules run in order, and the first one that fails decides.

mod appearance;
mod cell;
mod chart;
mod comparison;
mod data_frame;
mod formula;
mod fuzzy;
mod pivot;
mod sheet_property;
mod style;
mod workbook;

use serde_json::Value;

use self::cell::Cell;
use self::comparison::{Difference, TableComparison};
use self::data_frame::DataFrame;
use self::workbook::Workbook;
use crate::evidence::{EvidenceValue, FileRef};
use crate::readers::cell_ref::CellRef;
use crate::scoring::{Compat, CompatProbe, MetricError, MetricInput, Score, task_error, upstream_error};

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
        if let Some(told) = check(&books, kind, rule)? {
            return Ok(Score::none(format!("rule {} ({kind}): {told}", at + 1)));
        }
    }
    Ok(Score::full(format!("all {} rules hold", rules.len())))
}

/// Checks one rule.
fn check(books: &TableComparison<'_, '_>, kind: &str, rule: &Value) -> Result<Difference, MetricError> {
    match kind {
        "sheet_name" => Ok(books.sheet_names()),
        "sheet_data" => books.sheet_data(rule),
        "sheet_print" => books.sheet_print(rule),
        "sheet_fuzzy" => fuzzy::check(books, rule),
        "check_cell" => appearance::check_cell(books, rule),
        "style" => {
            books.compared(rule, |sheet| appearance::styles(sheet, rule, books.case.reproduces_bugs()))
        }
        "chart" => books.compared(rule, |sheet| chart::charts(sheet, rule)),
        "pivot_table" => books.compared(rule, |sheet| pivot::pivots(sheet, rule)),
        "row_props" => books.compared(rule, |sheet| sheet_property::rows(sheet, rule)),
        "col_props" => books.compared(rule, |sheet| sheet_property::columns(sheet, rule)),
        "filter" => books.compared(rule, sheet_property::filter),
        "sparkline" => books.compared(rule, sheet_property::sparklines),
        "freeze" => sheet_property::freeze(books, rule),
        "zoom" => sheet_property::zoom(books, rule),
        "data_validation" => sheet_property::validation(books, rule),
        other => Err(task_error(format!("unknown rule type {other:?}"))),
    }
}

/// Returns the last row of a workbook's first sheet as strings; blank cells are `nan`.
///
/// # Errors
///
/// Fails if the workbook cannot be read.
pub fn last_row(file: &FileRef) -> Result<Vec<String>, String> {
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
        let cell = match cells.get(&CellRef { row: at + 2, column: 3 }) {
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

#[cfg(test)]
mod tests;
