//! The styles of a workbook: which numbers are dates, and how a cell looks.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use roxmltree::{Document, Node};
use serde_json::Value;

use super::super::{Fault, raised, wrong, xml};
use super::book::is_on;

/// What upstream's library answers for a colour that is no RGB value: always the same thing, equal to itself alone.
const NO_RGB: &str = "\u{0}theme or indexed colour";
/// The colour that a fill has when it names none.
const NO_COLOUR: &str = "00000000";

/// A font.
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

/// A fill: of one colour in front of another, or a gradient.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fill {
    Pattern { front: String, back: String },
    Gradient,
}

/// How one kind of cell looks.
#[derive(Clone, Copy, Debug, Default)]
struct Format {
    font: usize,
    fill: usize,
    number: u32,
}

/// How a conditional format changes a cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    font: Option<Font>,
    fill: Option<Fill>,
    number: Option<String>,
}

/// How numbers are written.
#[derive(Clone, Debug)]
struct Number {
    code: String,
    is_date: bool,
    is_span: bool,
}

/// All styles.
#[derive(Clone, Debug, Default)]
pub(super) struct Styles {
    fonts: Vec<Font>,
    fills: Vec<Fill>,
    formats: Vec<Format>,
    numbers: BTreeMap<u32, Number>,
    pub(super) changes: Vec<Change>,
}

/// What is asked of a cell's looks.
pub(super) struct Looked<'a> {
    pub(super) style: usize,
    pub(super) has_value: bool,
    /// Whether it holds a plain number: no date, no formula.
    pub(super) is_number: bool,
    /// Whether it is covered by the first cell of a merged range.
    pub(super) merged: bool,
    pub(super) hyperlink: Option<String>,
    pub(super) change: Option<&'a Change>,
}

const BUILT_IN: &[(u32, &str)] = &[
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

/// Quoted texts and bracketed words other than counts of hours, minutes and seconds.
static ASIDES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"".*?"|\[[^\]]*\]"#).ok());
static SPANS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)\[(?:hh?|mm?|ss?)\]").ok());

impl Number {
    fn read(code: &str) -> Self {
        let first = code.split(';').next().unwrap_or(code);
        let is_span = SPANS.as_ref().is_some_and(|spans| spans.is_match(first));
        Self { code: code.to_owned(), is_date: is_date(first), is_span }
    }
}

/// Whether the first part of a format writes dates or times.
fn is_date(first: &str) -> bool {
    let Some(asides) = ASIDES.as_ref() else { return false };
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
    /// Reads a workbook's styles; what is missing has its default.
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
            // Of several with one number the first counts, and stands before the built-in one.
            numbers: BUILT_IN
                .iter()
                .map(|(id, code)| (*id, Number::read(code)))
                .chain(own.rev().map(|(id, code)| (id, Number::read(code))))
                .collect(),
            changes: list("dxfs")
                .map(|node| Change {
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

    /// Whether numbers of this style are dates or times.
    pub(super) fn is_date(&self, style: usize) -> bool {
        self.number_format(style).is_some_and(|number| number.is_date)
    }

    /// Whether dates of this style are lengths of time.
    pub(super) fn is_span(&self, style: usize) -> bool {
        self.number_format(style).is_some_and(|number| number.is_span)
    }

    /// One property of a cell's looks, by upstream's name for it.
    pub(super) fn property(&self, name: &str, cell: &Looked<'_>) -> Result<Value, Fault> {
        let format = self.formats.get(if cell.merged { 0 } else { cell.style }).copied().unwrap_or_default();
        let plain = Font::default();
        let font = || match cell.change {
            Some(change) => {
                change.font.as_ref().ok_or_else(|| raised("the conditional format changes no font"))
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
                text(Some(font()?.colour.as_ref().ok_or_else(|| raised("the font names no colour"))?))
            }
            "font_bold" => font()?.bold.into(),
            "font_italic" => font()?.italic.into(),
            "font_underline" => text(font()?.underline.as_ref()),
            "font_size" => font()?.size.map_or(Value::Null, Value::from),
            "hyperlink" => cell.hyperlink.clone().unwrap_or_default().into(),
            other => return Err(wrong(format!("cells have no property {other:?}"))),
        })
    }

    fn fill<'s>(&'s self, cell: &Looked<'s>, format: Format) -> Option<&'s Fill> {
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
        xml::child(node, name).is_some_and(|child| child.attribute("val").is_none_or(|on| is_on(Some(on))))
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

/// A colour that is an RGB value, or the mark of one that is none.
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
