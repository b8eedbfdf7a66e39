//! The styles of a workbook: number formats, fonts and fills.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use roxmltree::{Document, Node};
use serde_json::Value;

use crate::readers::xml;
use crate::scoring::{MetricError, task_error, upstream_error};

/// The value of a theme or indexed colour. openpyxl returns the same object for each, which equals only itself.
const NO_RGB: &str = "\u{0}theme or indexed colour";
/// The default colour of a fill.
const NO_COLOUR: &str = "00000000";

/// A font definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Font {
    name: Option<String>,
    family: Option<f64>,
    colour: Option<String>,
    bold: bool,
    italic: bool,
    underline: Option<String>,
    size: Option<f64>,
}

/// A fill: a pattern with foreground and background colours, or a gradient.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fill {
    Pattern { front: String, back: String },
    Gradient,
}

/// A cell format (`xf`): indices of its font and fill, and its number format id.
#[derive(Clone, Copy, Debug, Default)]
struct Format {
    font: usize,
    fill: usize,
    number: u32,
}

/// A differential style (`dxf`), by which a conditional format changes a cell.
#[derive(Clone, Debug, Default)]
pub(super) struct DifferentialStyle {
    font: Option<Font>,
    fill: Option<Fill>,
    number: Option<String>,
}

/// A number format.
#[derive(Clone, Debug)]
struct Number {
    code: String,
    is_date: bool,
    is_span: bool,
}

/// All styles of a workbook.
#[derive(Clone, Debug, Default)]
pub(super) struct Styles {
    fonts: Vec<Font>,
    fills: Vec<Fill>,
    formats: Vec<Format>,
    numbers: BTreeMap<u32, Number>,
    pub(super) changes: Vec<DifferentialStyle>,
}

/// The properties of a cell that determine its appearance.
pub(super) struct CellAppearance<'a> {
    pub(super) style: usize,
    pub(super) has_value: bool,
    /// Whether it holds a plain number, neither a date nor a formula.
    pub(super) is_number: bool,
    /// Whether a merged cell covers it.
    pub(super) merged: bool,
    pub(super) hyperlink: Option<String>,
    pub(super) change: Option<&'a DifferentialStyle>,
}

const BUILTIN_FORMATS: &[(u32, &str)] = &[
    (0, "General"),
    (1, "0"),
    (2, "0.00"),
    (3, "#,##0"),
    (4, "#,##0.00"),
    (5, "\"$\"#,##0_);(\"$\"#,##0)"),
    (6, "\"$\"#,##0_);[Red](\"$\"#,##0)"),
    (7, "\"$\"#,##0.00_);(\"$\"#,##0.00)"),
    (8, "\"$\"#,##0.00_);[Red](\"$\"#,##0.00)"),
    (9, "0%"),
    (10, "0.00%"),
    (11, "0.00E+00"),
    (12, "# ?/?"),
    (13, "# ??/??"),
    (14, "mm-dd-yy"),
    (15, "d-mmm-yy"),
    (16, "d-mmm"),
    (17, "mmm-yy"),
    (18, "h:mm AM/PM"),
    (19, "h:mm:ss AM/PM"),
    (20, "h:mm"),
    (21, "h:mm:ss"),
    (22, "m/d/yy h:mm"),
    (37, "#,##0_);(#,##0)"),
    (38, "#,##0_);[Red](#,##0)"),
    (39, "#,##0.00_);(#,##0.00)"),
    (40, "#,##0.00_);[Red](#,##0.00)"),
    (41, "_(* #,##0_);_(* \\(#,##0\\);_(* \"-\"_);_(@_)"),
    (42, "_(\"$\"* #,##0_);_(\"$\"* \\(#,##0\\);_(\"$\"* \"-\"_);_(@_)"),
    (43, "_(* #,##0.00_);_(* \\(#,##0.00\\);_(* \"-\"??_);_(@_)"),
    (44, "_(\"$\"* #,##0.00_)_(\"$\"* \\(#,##0.00\\)_(\"$\"* \"-\"??_)_(@_)"),
    (45, "mm:ss"),
    (46, "[h]:mm:ss"),
    (47, "mmss.0"),
    (48, "##0.0E+0"),
    (49, "@"),
];

/// Matches quoted texts and bracketed sections of a format code.
static QUOTED_OR_BRACKETED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"".*?"|\[[^\]]*\]"#).ok());
static SPANS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)\[(?:hh?|mm?|ss?)\]").ok());

impl Number {
    fn read(code: &str) -> Self {
        let first = code.split(';').next().unwrap_or(code);
        let is_span = SPANS.as_ref().is_some_and(|spans| spans.is_match(first));
        Self { code: code.to_owned(), is_date: is_date(first), is_span }
    }
}

/// Returns whether the first section of a format code is a date or time format.
fn is_date(first: &str) -> bool {
    let Some(asides) = QUOTED_OR_BRACKETED.as_ref() else { return false };
    let bare = asides.replace_all(first, |found: &regex::Captures<'_>| {
        let text = &found[0];
        if SPANS.as_ref().is_some_and(|spans| spans.is_match(text) && text.starts_with('[')) {
            text.to_owned()
        } else {
            String::new()
        }
    });
    let mut before = ' ';
    bare.chars().any(|c| {
        let escaped = matches!(before, '_' | '\\');
        before = c;
        !escaped && matches!(c.to_ascii_lowercase(), 'd' | 'm' | 'h' | 'y' | 's')
    })
}

impl Styles {
    /// Reads a workbook's styles, with defaults for missing entries.
    pub(super) fn read(document: &Document<'_>) -> Self {
        let root = document.root_element();
        let list = |name: &str| {
            xml::child(root, name).into_iter().flat_map(|list| list.children().filter(Node::is_element))
        };
        let attribute =
            |node: Node<'_, '_>, name: &str| node.attribute(name).and_then(|text| text.parse().ok());
        let index = |node: Node<'_, '_>, name: &str| {
            node.attribute(name).and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        let own = list("numFmts").collect::<Vec<_>>().into_iter();
        let own = own.filter_map(|node| Some((attribute(node, "numFmtId")?, node.attribute("formatCode")?)));
        Self {
            fonts: list("fonts").map(read_font).collect(),
            fills: list("fills").map(read_fill).collect(),
            formats: list("cellXfs")
                .map(|node| Format {
                    font: index(node, "fontId"),
                    fill: index(node, "fillId"),
                    number: attribute(node, "numFmtId").unwrap_or(0),
                })
                .collect(),
            // Among formats with the same id, the first one counts, and it overrides a built-in one.
            numbers: BUILTIN_FORMATS
                .iter()
                .map(|(id, code)| (*id, Number::read(code)))
                .chain(own.rev().map(|(id, code)| (id, Number::read(code))))
                .collect(),
            changes: list("dxfs")
                .map(|node| DifferentialStyle {
                    font: xml::child(node, "font").map(read_font),
                    fill: xml::child(node, "fill").map(read_fill),
                    number: xml::child(node, "numFmt")
                        .and_then(|one| one.attribute("formatCode"))
                        .map(str::to_owned),
                })
                .collect(),
        }
    }

    fn number_format(&self, style: usize) -> Option<&Number> {
        self.numbers.get(&self.formats.get(style).map_or(0, |format| format.number))
    }

    /// Returns whether numbers of this style are dates or times.
    pub(super) fn is_date(&self, style: usize) -> bool {
        self.number_format(style).is_some_and(|number| number.is_date)
    }

    /// Returns whether numbers of this style are durations.
    pub(super) fn is_duration(&self, style: usize) -> bool {
        self.number_format(style).is_some_and(|number| number.is_span)
    }

    /// Returns a property of a cell's appearance, by upstream's name.
    pub(super) fn property(&self, name: &str, cell: &CellAppearance<'_>) -> Result<Value, MetricError> {
        let format = self.formats.get(if cell.merged { 0 } else { cell.style }).copied().unwrap_or_default();
        let plain = Font::default();
        let font = || match cell.change {
            Some(change) => {
                change.font.as_ref().ok_or_else(|| upstream_error("the conditional format sets no font"))
            }
            None => Ok(self.fonts.get(format.font).unwrap_or(&plain)),
        };
        let text = |text: Option<&String>| text.map_or(Value::Null, |text| text.as_str().into());
        Ok(match name {
            "merge" => cell.merged.into(),
            "fill_type" => match self.fill(cell, format) {
                Some(Fill::Pattern { .. }) => "patternFill".into(),
                Some(Fill::Gradient) => "gradientFill".into(),
                None => Value::Null,
            },
            "bgcolor" | "fgcolor" => match (self.fill(cell, format), cell.change) {
                (Some(Fill::Pattern { back, .. }), Some(_)) => back.as_str().into(),
                (Some(Fill::Pattern { front, .. }), None) => front.as_str().into(),
                (Some(Fill::Gradient) | None, _) => Value::Null,
            },
            "number_format" if cell.is_number => match cell.change {
                Some(change) => text(change.number.as_ref()),
                None => {
                    self.number_format(cell.style).map_or("General", |number| number.code.as_str()).into()
                }
            },
            "number_format" | "font_name" | "font_family" | "font_color" | "font_bold" | "font_italic"
            | "font_underline" | "font_size" | "hyperlink"
                if !cell.has_value || name == "number_format" =>
            {
                Value::Null
            }
            "font_name" => text(font()?.name.as_ref()),
            "font_family" => font()?.family.map_or(Value::Null, Value::from),
            "font_color" => {
                text(Some(font()?.colour.as_ref().ok_or_else(|| upstream_error("the font has no colour"))?))
            }
            "font_bold" => font()?.bold.into(),
            "font_italic" => font()?.italic.into(),
            "font_underline" => text(font()?.underline.as_ref()),
            "font_size" => font()?.size.map_or(Value::Null, Value::from),
            "hyperlink" => cell.hyperlink.clone().unwrap_or_default().into(),
            other => return Err(task_error(format!("cells have no property {other:?}"))),
        })
    }

    fn fill<'s>(&'s self, cell: &CellAppearance<'s>, format: Format) -> Option<&'s Fill> {
        match cell.change {
            Some(change) => change.fill.as_ref(),
            None => self.fills.get(format.fill),
        }
    }
}

fn value<'d>(node: Node<'d, '_>, name: &str) -> Option<&'d str> {
    xml::child(node, name).and_then(|child| child.attribute("val"))
}

fn read_font(node: Node<'_, '_>) -> Font {
    let flag = |name: &str| {
        xml::child(node, name)
            .is_some_and(|child| child.attribute("val").is_none_or(|on| xml::is_on(Some(on))))
    };
    let number = |name: &str| value(node, name).and_then(|text| text.parse().ok());
    Font {
        name: value(node, "name").map(str::to_owned),
        family: number("family"),
        colour: xml::child(node, "color").map(colour),
        bold: flag("b"),
        italic: flag("i"),
        underline: xml::child(node, "u").map(|child| child.attribute("val").unwrap_or("single").to_owned()),
        size: number("sz"),
    }
}

/// Returns a colour's RGB value, or [`NO_RGB`] for a theme or indexed one.
fn colour(node: Node<'_, '_>) -> String {
    if ["indexed", "theme", "auto"].iter().any(|kind| node.has_attribute(*kind)) {
        return NO_RGB.to_owned();
    }
    match node.attribute("rgb") {
        Some(rgb) if rgb.len() == 6 => format!("00{rgb}"),
        Some(rgb) => rgb.to_owned(),
        None => NO_COLOUR.to_owned(),
    }
}

fn read_fill(node: Node<'_, '_>) -> Fill {
    match xml::child(node, "patternFill") {
        None if xml::child(node, "gradientFill").is_some() => Fill::Gradient,
        pattern => {
            let of = |name: &str| {
                pattern
                    .and_then(|pattern| xml::child(pattern, name))
                    .map_or_else(|| NO_COLOUR.to_owned(), colour)
            };
            Fill::Pattern { front: of("fgColor"), back: of("bgColor") }
        }
    }
}
