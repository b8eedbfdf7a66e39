//! Cell values, in the two ways in which upstream reads them: with openpyxl, and with its own XML reader.

use serde_json::{Value, json};

use super::workbook::{RawCell, Workbook};
use crate::python;
use crate::readers::cell_ref::{self, CellRef};
use crate::scoring::{MetricError, upstream_error};

/// Milliseconds per day.
const DAY: f64 = 86_400_000.0;
/// Years 1 to 9999, in milliseconds since the 1900 epoch.
const YEARS: std::ops::Range<i64> = -59_926_435_200_000..255_611_462_400_000;
/// Days between the 1900 and the 1904 epoch.
const LATER_EPOCH: f64 = 1462.0;

/// A value as openpyxl has it. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Empty,
    Int(i64),
    Number(f64),
    Bool(bool),
    Text(String),
    Error,
    /// A date, in milliseconds since the 1900 epoch.
    Date(i64),
    /// A time of day.
    Time(i64),
    /// A duration.
    Duration(i64),
}

impl Cell {
    /// Reads a stored cell. A formula has its cached value.
    pub(super) fn read(raw: &RawCell, book: &Workbook<'_>) -> Result<Self, String> {
        let kind = raw.kind.as_deref().unwrap_or("n");
        if kind == "inlineStr" {
            return Ok(raw.inline.clone().map_or(Self::Empty, Self::Text));
        }
        let Some(text) = raw.value.as_deref().filter(|text| !text.is_empty()) else { return Ok(Self::Empty) };
        let bad = || format!("a cell of type {kind:?} holds {text:?}");
        Ok(match kind {
            "n" => Self::number(text, raw.style, book).ok_or_else(bad)?,
            "s" => {
                let at: usize = text.trim().parse().map_err(|_| bad())?;
                let text = book.shared.get(at).ok_or_else(bad)?;
                book.copies(text)?;
                Self::Text(text.clone())
            }
            "b" => Self::Bool(python::int(text).ok_or_else(bad)? != 0),
            "e" => Self::Error,
            _ => Self::Text(text.to_owned()),
        })
    }

    fn number(text: &str, style: usize, book: &Workbook<'_>) -> Option<Self> {
        let whole = !text.contains(['.', 'E', 'e']);
        let number = python::float(text)?;
        if !book.styles.is_date(style) {
            let exact = number.fract() == 0.0 && number.abs() < 9e18;
            #[expect(clippy::cast_possible_truncation, reason = "whole and in range, as just asked")]
            return Some(match (whole, exact) {
                (true, _) => python::int(text).map_or(Self::Number(number), Self::Int),
                (false, true) => Self::Int(number as i64),
                (false, false) => Self::Number(number),
            });
        }
        if !(-1e7..1e7).contains(&number) {
            return Some(Self::Error);
        }
        #[expect(clippy::cast_possible_truncation, reason = "ten million days are few milliseconds")]
        let round = |time: f64| time.round_ties_even() as i64;
        if book.styles.is_duration(style) {
            return Some(Self::Duration(round(number * DAY)));
        }
        let (day, part) = (number.floor(), round((number - number.floor()) * DAY));
        if (0.0..1.0).contains(&number) && part < round(DAY) {
            return Some(Self::Time(part));
        }
        let shift = if book.uses_1904_epoch {
            LATER_EPOCH
        } else if 0.0 < number && number < 60.0 {
            1.0
        } else {
            0.0
        };
        let since = round((day + shift) * DAY) + part;
        // Outside of these years, openpyxl has no date.
        Some(if YEARS.contains(&since) { Self::Date(since) } else { Self::Error })
    }

    /// Returns the value as JSON, for rules and explanations.
    pub(super) fn show(&self) -> Value {
        let time = |ms: &i64| format!("{:02}:{:02}:{:02}", ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        match self {
            Self::Empty => Value::Null,
            Self::Int(number) => (*number).into(),
            Self::Number(number) => (*number).into(),
            Self::Bool(flag) => (*flag).into(),
            Self::Text(text) => text.as_str().into(),
            Self::Error => "an error".into(),
            Self::Date(ms) => {
                let start = jiff::civil::date(1899, 12, 30).at(0, 0, 0, 0);
                let date = start.checked_add(jiff::SignedDuration::from_millis(*ms));
                date.map_or(Value::Null, |date| date.to_string().into())
            }
            Self::Time(ms) | Self::Duration(ms) => time(ms).into(),
        }
    }
}

/// Returns the value by upstream's own reader, which derives the file from `sheetId` and supports only strings and
/// numbers. It raises if a value cannot be resolved.
pub(super) fn raw_value(book: &Workbook<'_>, sheet: &str, at: CellRef) -> Result<Value, MetricError> {
    let Some(listed) = book.sheet(sheet) else { return Ok(Value::Null) };
    let path = format!("xl/worksheets/sheet{}.xml", listed.id);
    let Ok(Some(cells)) = book.cells(&path) else { return Ok(Value::Null) };
    let Some(cell) = cells.get(&at) else { return Ok(Value::Null) };
    let bad = || upstream_error(format!("the value of cell {} cannot be read", cell_ref::name(at)));
    let Some(text) = cell
        .value
        .as_deref()
        .map(str::trim)
        .or(Some("").filter(|_| cell.kind.as_deref() == Some("inlineStr")))
    else {
        return Ok(Value::Null);
    };
    Ok(match cell.kind.as_deref() {
        None | Some("n") if text.is_empty() => return Err(bad()),
        None | Some("n") => python::float(text).map_or(Value::Null, Value::from),
        Some("s") => {
            let Some(at) = python::int(text).and_then(|at| usize::try_from(at).ok()) else {
                return Ok(Value::Null);
            };
            let text = book.raw_shared.get(at).ok_or_else(bad)?;
            book.copies(text).map_err(upstream_error)?;
            text.as_str().into()
        }
        Some("str" | "e") if text.is_empty() => Value::Null,
        Some("str" | "e") => text.into(),
        Some("inlineStr") => match &cell.plain {
            None => Value::Null,
            Some((text, _)) if text.is_empty() => Value::Null,
            // Upstream's reader returns the element with its attribute, which never equals a string.
            Some((text, true)) if book.reading.reproduces_bugs() => {
                json!({"space": "preserve", "text": text.trim()})
            }
            Some((text, true)) => text.as_str().into(),
            Some((text, false)) => text.trim().into(),
        },
        Some(_) => Value::Null,
    })
}
