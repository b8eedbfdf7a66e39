//! The appearance of cells: their own styles, and conditional formats whose conditions hold.

use std::collections::{BTreeMap, HashSet};

use roxmltree::Node;
use serde_json::{Map, Value, json};

use super::cell::raw_value;
use super::comparison::{Difference, SheetRef, TableComparison, names};
use super::formula::{self, Formula};
use super::style::{CellAppearance, DifferentialStyle};
use super::workbook::{Cells, RawCell, Workbook};
use crate::comparison::value;
use crate::readers::cell_ref::{self, CellRef, Range, Ranges};
use crate::readers::xml;
use crate::scoring::{MetricError, show, task_error, upstream_error};

/// Maximum number of cells that a style rule covers.
const CELLS: u64 = 300_000;
/// Number of blank cells after which a condition is no longer tested.
const BLANKS: u32 = 50;
/// Maximum number of cells that a sheet's conditions test or take as arguments.
const TESTS: u64 = 5_000_000;
/// Maximum total bytes of strings in the properties of all cells.
const LOOKS: usize = 64 << 20;

/// Sheet-level data that affects the appearance of cells.
struct Sheet {
    merged: Vec<Range>,
    links: BTreeMap<CellRef, String>,
}

impl Sheet {
    fn read(root: Node<'_, '_>) -> Self {
        let list = |list: &'static str, entry: &'static str| {
            xml::child(root, list).into_iter().flat_map(move |list| xml::children(list, entry))
        };
        let merged = list("mergeCells", "mergeCell");
        let link = |node: Node<'_, '_>| {
            let place = cell_ref::place(node.attribute("ref")?.split(':').next()?)?;
            Some((
                place,
                node.attribute("location")
                    .or_else(|| node.attribute("display"))
                    .unwrap_or_default()
                    .to_owned(),
            ))
        };
        Self {
            merged: merged.filter_map(|node| Range::parse(node.attribute("ref")?)).collect(),
            links: list("hyperlinks", "hyperlink").filter_map(link).collect(),
        }
    }

    /// Returns the cells up to `last` that a merged cell covers. Merged ranges of a valid workbook do not overlap.
    fn covered(&self, last: CellRef) -> Result<HashSet<CellRef>, MetricError> {
        let (mut found, mut left) = (HashSet::new(), 4 * CELLS);
        let begins = |range: &&Range| range.from.row <= last.row && range.from.column <= last.column;
        for range in self.merged.iter().filter(begins) {
            let to = CellRef { row: range.to.row.min(last.row), column: range.to.column.min(last.column) };
            let inside = Range { from: range.from, to };
            left =
                left.checked_sub(inside.count()).ok_or_else(|| upstream_error("its merged cells overlap"))?;
            found.extend(inside.cells().filter(|place| *place != range.from));
        }
        Ok(found)
    }

    /// Returns whether a merged cell covers the cell.
    fn covers(&self, place: CellRef) -> bool {
        self.merged.iter().any(|range| range.has(place) && range.from != place)
    }

    /// Returns the appearance of a cell by its own style. `merged` tells whether a merged cell covers it.
    fn appearance(
        &self,
        book: &Workbook<'_>,
        place: CellRef,
        raw: Option<&RawCell>,
        merged: bool,
    ) -> CellAppearance<'static> {
        let raw = raw.filter(|_| !merged);
        let filled = |raw: &RawCell| {
            raw.has_formula
                || raw.inline.is_some()
                || raw.value.as_deref().is_some_and(|text| !text.is_empty())
        };
        let has_value = raw.is_some_and(filled);
        let style = raw.map_or(0, |raw| raw.style);
        let plain =
            raw.is_some_and(|raw| !raw.has_formula && matches!(raw.kind.as_deref(), None | Some("n")));
        CellAppearance {
            style,
            has_value,
            is_number: has_value && plain && !book.styles.is_date(style),
            merged,
            hyperlink: self.links.get(&place).cloned(),
            change: None,
        }
    }
}

pub(super) fn check_cell(books: &TableComparison<'_, '_>, rule: &Value) -> Result<Difference, MetricError> {
    let sheet = books.sheet(rule, "sheet_idx")?;
    let Some(listed) = sheet.listed() else { return Ok(Some(sheet.missing())) };
    let coordinate = rule.get("coordinate").and_then(Value::as_str).unwrap_or_default();
    let place =
        cell_ref::place(coordinate).ok_or_else(|| task_error(format!("{coordinate:?} is not a cell")))?;
    let properties = rule.get("props").and_then(Value::as_object);
    let properties = properties.ok_or_else(|| task_error("check_cell needs the object \"props\""))?;
    let text = sheet.book.sheet_text(listed).map_err(upstream_error)?;
    let document = xml::read(&text).map_err(upstream_error)?;
    let cells = sheet.book.cells(&listed.path).map_err(upstream_error)?.unwrap_or_default();
    let about = Sheet::read(document.root_element());
    let looked = about.appearance(sheet.book, place, cells.get(&place), about.covers(place));
    for (name, rule) in properties {
        let read = match name.as_str() {
            "value" => raw_value(sheet.book, &sheet.name, place),
            name => sheet.book.styles.property(name, &looked),
        };
        let found = match read {
            Err(MetricError::Raised(_)) => Value::Null,
            read => read?,
        };
        let fits = match value::fits(&found, rule) {
            // An impossible comparison fails the rule upstream.
            Err(MetricError::Raised(_)) => false,
            fits => fits?,
        };
        if !fits {
            let name = if name == "value" { String::new() } else { format!(" ({name})") };
            let wanted = match rule.get("method").and_then(Value::as_str) {
                Some("eq") => show(&rule["ref"]),
                method => format!("{} {}", method.unwrap_or_default(), show(&rule["ref"])),
            };
            return Ok(Some(format!("cell {coordinate}{name}: expected {wanted}, found {}", show(&found))));
        }
    }
    Ok(None)
}

/// Returns the requested properties of every cell up to the last one, keyed by cell name.
pub(super) fn styles(sheet: &SheetRef<'_, '_>, rule: &Value, exact: bool) -> Result<Value, MetricError> {
    let wanted = names(rule, "props")?;
    let Some(listed) = sheet.listed() else { return Ok(json!({})) };
    let text = sheet.book.sheet_text(listed).map_err(upstream_error)?;
    let document = xml::read(&text).map_err(upstream_error)?;
    let cells = sheet.book.cells(&listed.path).map_err(upstream_error)?.unwrap_or_default();
    let about = Sheet::read(document.root_element());
    let last = |side: fn(&CellRef) -> u32| cells.keys().map(side).max().unwrap_or(1);
    let first = CellRef { row: 1, column: 1 };
    let last = CellRef { row: last(|place| place.row), column: last(|place| place.column) };
    let whole = Range { from: first, to: last };
    if whole.count() > CELLS {
        return Err(task_error(format!("sheet {:?} has more than {CELLS} cells", sheet.name)));
    }
    let covered = about.covered(last)?;
    let mut left = LOOKS;
    let mut read = |place: CellRef, change: Option<&DifferentialStyle>| -> Result<Value, MetricError> {
        let merged = covered.contains(&place);
        let looked =
            CellAppearance { change, ..about.appearance(sheet.book, place, cells.get(&place), merged) };
        let property = |name: &&str| match sheet.book.styles.property(name, &looked) {
            // A font without a colour aborts the whole check upstream.
            Err(MetricError::Raised(_)) if !exact => Ok(Value::Null),
            read => read,
        };
        let read = wanted.iter().map(property).collect::<Result<Vec<_>, _>>()?;
        let long: usize = read.iter().filter_map(Value::as_str).map(str::len).sum();
        left = left
            .checked_sub(long)
            .ok_or_else(|| upstream_error("its cell properties expand to far more text than it contains"))?;
        Ok(read.into())
    };
    let mut tests = TESTS;
    let mut found = Map::new();
    if !cells.is_empty() {
        for place in whole.cells() {
            found.insert(cell_ref::name(place), read(place, None)?);
        }
    }
    for format in xml::children(document.root_element(), "conditionalFormatting") {
        let ranges = format.attribute("sqref").and_then(Ranges::parse).unwrap_or_default();
        for node in xml::children(format, "cfRule") {
            let change = node
                .attribute("dxfId")
                .and_then(|id| sheet.book.styles.changes.get(id.parse::<usize>().ok()?));
            for place in active(sheet, node, &ranges, &cells, &mut tests)? {
                found.insert(cell_ref::name(place), read(place, change)?);
            }
        }
    }
    Ok(Value::Object(found))
}

/// Returns the cells for which a condition holds.
fn active(
    sheet: &SheetRef<'_, '_>,
    node: Node<'_, '_>,
    ranges: &Ranges,
    cells: &Cells,
    tests: &mut u64,
) -> Result<Vec<CellRef>, MetricError> {
    let sources: Vec<&str> =
        xml::children(node, "formula").map(|formula| formula.text().unwrap_or_default()).collect();
    let formulas = sources
        .iter()
        .map(|source| formula::parse(source))
        .collect::<Result<Vec<_>, _>>()
        .map_err(task_error)?;
    let kind = node.attribute("type").unwrap_or_default();
    let condition = match (kind, formulas.first()) {
        (
            "expression" | "containsText" | "notContainsText" | "endsWith" | "beginsWith" | "containsErrors"
            | "notContainsErrors",
            Some(first),
        ) => Condition::Holds(first, arguments(sheet, sources[0], tests)?),
        ("cellIs", _) => match formulas.iter().map(Formula::constant).collect::<Option<Vec<_>>>() {
            Some(references) => Condition::Is(node.attribute("operator").unwrap_or_default(), references),
            None => return Ok(Vec::new()),
        },
        _ => return Ok(Vec::new()),
    };
    let (mut found, mut blanks) = (Vec::new(), 0);
    for range in &ranges.0 {
        // Cells beyond the last stored one are blank.
        for place in range.cells().take(usize::try_from(CELLS).unwrap_or(usize::MAX)) {
            spend(tests, 1)?;
            let value = if cells.contains_key(&place) {
                raw_value(sheet.book, &sheet.name, place)?
            } else {
                Value::Null
            };
            if value.is_null() {
                blanks += 1;
                if blanks > BLANKS {
                    break;
                }
            } else if condition.holds(&value) {
                found.push(place);
            }
        }
    }
    Ok(found)
}

/// Returns the values of a formula's absolute references, in order.
fn arguments(sheet: &SheetRef<'_, '_>, source: &str, tests: &mut u64) -> Result<Vec<Value>, MetricError> {
    let mut found = Vec::new();
    for range in formula::absolute_ranges(source) {
        if range.count() > CELLS {
            return Err(task_error("a condition references too many cells"));
        }
        spend(tests, range.count())?;
        let values = range
            .cells()
            .map(|place| raw_value(sheet.book, &sheet.name, place))
            .collect::<Result<Vec<_>, _>>()?;
        found.push(match <[Value; 1]>::try_from(values) {
            Ok([one]) => one,
            Err(many) => many.into(),
        });
    }
    Ok(found)
}

fn spend(left: &mut u64, tests: u64) -> Result<(), MetricError> {
    *left = left
        .checked_sub(tests)
        .ok_or_else(|| upstream_error("its conditional formats test too many cells"))?;
    Ok(())
}

enum Condition<'f> {
    Holds(&'f Formula, Vec<Value>),
    Is(&'f str, Vec<Value>),
}

impl Condition<'_> {
    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Holds(formula, arguments) => formula.holds(value, arguments),
            Self::Is(operator, references) => formula::compare(operator, value, references),
        }
    }
}
