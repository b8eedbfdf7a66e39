//! A sheet as a data frame of typed columns, as pandas builds it. A column's type follows from its values, and two
//! frames are equal only if their types are.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::cell::Cell;
use super::workbook::{SheetEntry, Workbook};
use crate::python;
use crate::readers::cell_ref::{self, CellRef};

/// Texts that pandas reads as missing values.
const MISSING_VALUES: &[&str] = &[
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
    "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Maximum number of cells, including empty ones.
const CELLS: usize = 5_000_000;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int,
    Number,
    Bool,
    Date,
    Duration,
    Object,
}

struct Column {
    label: Cell,
    kind: Kind,
    cells: Vec<Cell>,
}

/// A data frame.
pub(super) struct DataFrame {
    columns: Vec<Column>,
    /// The sheet's row number of each row of values.
    rows: Vec<u32>,
}

impl DataFrame {
    /// Reads a sheet, whose first non-blank row names the columns.
    pub(super) fn read(book: &Workbook<'_>, sheet: &SheetEntry, precision: i32) -> Result<Self, String> {
        let raw =
            book.cells(&sheet.path)?.ok_or_else(|| format!("{} has no {}", book.file.name, sheet.path))?;
        let mut cells: BTreeMap<CellRef, Cell> = BTreeMap::new();
        for (place, raw) in raw.iter() {
            let cell = Cell::read(raw, book)?;
            if !matches!(&cell, Cell::Empty) && cell != Cell::Text(String::new()) {
                cells.insert(*place, cell);
            }
        }
        let last_row = cells.keys().map(|place| place.row).max().unwrap_or(0);
        let width = cells.keys().map(|place| place.column).max().unwrap_or(0);
        if usize::try_from(u64::from(last_row) * u64::from(width)).map_or(true, |count| count > CELLS) {
            return Err(format!("sheet {:?} has more than {CELLS} cells", sheet.name));
        }
        let mut take = |row: u32| -> Vec<Cell> {
            (1..=width).map(|column| cells.remove(&CellRef { row, column }).unwrap_or(Cell::Empty)).collect()
        };
        // A blank row is kept unless the sheet has a single column.
        let is_kept = |row: &Vec<Cell>| match row.as_slice() {
            [Cell::Empty] => false,
            [Cell::Text(text)] => !text.trim().is_empty(),
            _ => true,
        };
        let mut rows = (1..=last_row).map(|row| (row, take(row))).filter(|(_, row)| is_kept(row));
        let Some((_, labels)) = rows.next() else {
            return Ok(Self { columns: Vec::new(), rows: Vec::new() });
        };
        let mut values: Vec<Vec<Cell>> = labels.iter().map(|_| Vec::new()).collect();
        let mut numbers = Vec::new();
        for (number, row) in rows {
            numbers.push(number);
            for (column, cell) in values.iter_mut().zip(row) {
                column.push(cell);
            }
        }
        let labels = name_columns(labels);
        let columns =
            labels.into_iter().zip(values).map(|(label, cells)| column(label, cells, precision)).collect();
        Ok(Self { columns, rows: numbers })
    }

    /// Returns the last row of values as strings.
    pub(super) fn last_row(&self) -> Option<Vec<String>> {
        let text = |column: &Column| {
            Some(match column.cells.last()? {
                Cell::Empty | Cell::Error => "nan".to_owned(),
                Cell::Int(number) if column.kind == Kind::Number => format!("{number}.0"),
                Cell::Date(_) => python::str(&column.cells.last()?.show()).replace('T', " "),
                cell => python::str(&cell.show()),
            })
        };
        self.columns.iter().map(text).collect()
    }

    /// Describes the first differences from the expected frame; `None` if they are equal.
    pub(super) fn differs(&self, wanted: &Self) -> Option<String> {
        if self.columns.len() != wanted.columns.len() || self.rows.len() != wanted.rows.len() {
            return Some(format!(
                "found {} columns and {} rows of values, expected {} and {}",
                self.columns.len(),
                self.rows.len(),
                wanted.columns.len(),
                wanted.rows.len()
            ));
        }
        let labelled = self.columns.iter().zip(&wanted.columns).zip(1..);
        for ((found, wanted), at) in labelled {
            if !same(&found.label, &wanted.label) {
                let (found, wanted) = (found.label.show(), wanted.label.show());
                return Some(format!("column {} is named {found}, expected {wanted}", cell_ref::letters(at)));
            }
        }
        let (mut told, mut more) = (Vec::new(), 0_usize);
        for ((found, wanted), at) in self.columns.iter().zip(&wanted.columns).zip(1..) {
            for ((cell, other), row) in found.cells.iter().zip(&wanted.cells).zip(&self.rows) {
                if same(cell, other) {
                    continue;
                }
                if told.len() < 3 {
                    let (name, other, cell) =
                        (cell_ref::name(CellRef { row: *row, column: at }), other.show(), cell.show());
                    told.push(format!("cell {name}: expected {other}, found {cell}"));
                } else {
                    more += 1;
                }
            }
            if told.is_empty() && found.kind != wanted.kind {
                let name = cell_ref::letters(at);
                told.push(format!("column {name} has {:?} values, expected {:?}", found.kind, wanted.kind));
            }
        }
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// Returns whether two cells are equal. Missing values are equal, and numbers of all types compare by value.
fn same(a: &Cell, b: &Cell) -> bool {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        (Some(_), None) | (None, Some(_)) => false,
        (None, None) => a == b || matches!((a, b), (Cell::Empty | Cell::Error, Cell::Empty | Cell::Error)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "whole numbers of workbooks are floats in their files")]
fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(number) => Some(*number as f64),
        Cell::Number(number) => Some(*number),
        Cell::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Cell::Empty | Cell::Text(_) | Cell::Error | Cell::Date(_) | Cell::Time(_) | Cell::Duration(_) => None,
    }
}

/// Names blank column labels and numbers repeated ones, as pandas does.
fn name_columns(labels: Vec<Cell>) -> Vec<Cell> {
    let named: Vec<Cell> = labels
        .into_iter()
        .enumerate()
        .map(|(at, label)| match label {
            Cell::Empty => Cell::Text(format!("Unnamed: {at}")),
            label => label,
        })
        .collect();
    let key = |label: &Cell| format!("{label:?}");
    let mut counts: HashMap<String, u32> = HashMap::new();
    let all: HashSet<String> = named.iter().map(key).collect();
    let mut out = Vec::new();
    for label in named {
        let mut current = label.clone();
        let mut count = counts.get(&key(&current)).copied().unwrap_or(0);
        if count > 0 {
            let base = python::str(&label.show());
            while count > 0 {
                counts.insert(key(&label), count + 1);
                current = Cell::Text(format!("{base}.{count}"));
                count = if all.contains(&key(&current)) { count + 1 } else { 0 };
            }
        }
        *counts.entry(key(&current)).or_insert(0) += 1;
        out.push(current);
    }
    out
}

/// Infers a column's type: numbers if all values are (including numeric strings), else booleans, else dates.
fn column(label: Cell, mut cells: Vec<Cell>, precision: i32) -> Column {
    if let Some((kind, numbers)) = as_numbers(&cells) {
        let scale = 10_f64.powi(precision);
        let round = |cell: Cell| match cell {
            Cell::Number(number) => Cell::Number((number * scale).round_ties_even() / scale),
            other => other,
        };
        return Column { label, kind, cells: numbers.into_iter().map(round).collect() };
    }
    for cell in &mut cells {
        let blank = match cell {
            Cell::Text(text) => MISSING_VALUES.contains(&text.as_str()),
            Cell::Error => true,
            _ => false,
        };
        if blank {
            *cell = Cell::Empty;
        }
    }
    let flags: Option<Vec<Cell>> = cells.iter().map(as_flag).collect();
    if let Some(flags) = flags {
        return Column { label, kind: Kind::Bool, cells: flags };
    }
    let some = || cells.iter().filter(|cell| !matches!(cell, Cell::Empty));
    let kind = if some().next().is_none() {
        Kind::Object
    } else if some().all(|cell| matches!(cell, Cell::Date(_))) {
        Kind::Date
    } else if some().all(|cell| matches!(cell, Cell::Duration(_))) {
        Kind::Duration
    } else {
        Kind::Object
    };
    Column { label, kind, cells }
}

fn as_flag(cell: &Cell) -> Option<Cell> {
    match cell {
        Cell::Bool(flag) => Some(Cell::Bool(*flag)),
        Cell::Text(text) if matches!(text.as_str(), "True" | "TRUE" | "true") => Some(Cell::Bool(true)),
        Cell::Text(text) if matches!(text.as_str(), "False" | "FALSE" | "false") => Some(Cell::Bool(false)),
        _ => None,
    }
}

/// Converts a column to numbers, if every value is a number, a numeric string or missing.
fn as_numbers(cells: &[Cell]) -> Option<(Kind, Vec<Cell>)> {
    if cells.is_empty() {
        return None;
    }
    let mut kind = Kind::Bool;
    let mut numbers = Vec::with_capacity(cells.len());
    for cell in cells {
        let (cell, own) = match cell {
            Cell::Empty | Cell::Error => (Cell::Empty, Kind::Number),
            Cell::Int(number) => (Cell::Int(*number), Kind::Int),
            Cell::Number(number) => (Cell::Number(*number), Kind::Number),
            Cell::Bool(flag) => (Cell::Bool(*flag), Kind::Bool),
            Cell::Text(text) if MISSING_VALUES.contains(&text.as_str()) => (Cell::Empty, Kind::Number),
            Cell::Text(text) => match python::int(text).filter(|_| !text.contains('_')) {
                Some(number) => (Cell::Int(number), Kind::Int),
                None => (Cell::Number(python::float(text).filter(|_| !text.contains('_'))?), Kind::Number),
            },
            Cell::Date(_) | Cell::Time(_) | Cell::Duration(_) => return None,
        };
        kind = match (kind, own) {
            (Kind::Number, _) | (_, Kind::Number) => Kind::Number,
            (Kind::Int, _) | (_, Kind::Int) => Kind::Int,
            (kind, _) => kind,
        };
        numbers.push(cell);
    }
    Some((kind, numbers))
}
