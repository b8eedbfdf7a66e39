//! Workbooks, text documents and presentations, made from short descriptions: stand-ins for the makers' files, and what
//! a solved task should look like. Both are written by hand, and neither comes from a program or a solution's run.

use std::io::{Cursor, Write as _};

use serde::Deserialize;
use serde_json::Value;

use crate::slides::{self, Slide};

pub(crate) const LINKS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const SHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

/// What a document holds.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Description {
    Workbook {
        sheets: Vec<Sheet>,
    },
    /// Paragraphs; one that begins with `<` is written in the format's own words.
    Text {
        text: Vec<String>,
    },
    Presentation {
        slides: Vec<Slide>,
    },
}

/// A sheet: its cells are texts, numbers, or empty.
#[derive(Deserialize)]
pub(crate) struct Sheet {
    name: String,
    rows: Vec<Vec<Value>>,
    /// The numbers of rows that are not shown, from 1.
    #[serde(default)]
    hidden: Vec<usize>,
}

/// A member of a document with the members that it names, by kind and place.
pub(crate) struct Part {
    pub(crate) path: String,
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) links: Vec<Link>,
}

/// A part's name of another.
pub(crate) struct Link {
    kind: &'static str,
    target: String,
}

impl Link {
    pub(crate) fn new(kind: &'static str, target: &str) -> Self {
        Self { kind, target: target.to_owned() }
    }
}

/// Makes a document.
pub(crate) fn made(description: &Description) -> Vec<u8> {
    match description {
        Description::Workbook { sheets } => workbook(sheets),
        Description::Text { text } => document(text),
        Description::Presentation { slides } => package(&slides::parts(slides)),
    }
}

/// Writes a text that XML takes for one.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Makes a text document.
pub(crate) fn document(paragraphs: &[String]) -> Vec<u8> {
    let body: String = paragraphs
        .iter()
        .map(|text| match text.starts_with('<') {
            true => text.clone(),
            false => {
                format!("<w:p><w:r><w:t xml:space='preserve'>{}</w:t></w:r></w:p>", escaped(text))
            }
        })
        .collect();
    package(&[Part {
        path: "word/document.xml".to_owned(),
        kind: "wordprocessingml.document.main",
        text: format!("<w:document xmlns:w='{WORD}'><w:body>{body}</w:body></w:document>"),
        links: Vec::new(),
    }])
}

fn workbook(sheets: &[Sheet]) -> Vec<u8> {
    let numbered = || (1..).zip(sheets);
    let listed: String = numbered()
        .map(|(number, sheet)| format!("<sheet name='{}' sheetId='{number}' r:id='r{number}'/>", sheet.name))
        .collect();
    let main = Part {
        path: "xl/workbook.xml".to_owned(),
        kind: "spreadsheetml.sheet.main",
        text: format!("<workbook xmlns='{SHEET}' xmlns:r='{LINKS}'><sheets>{listed}</sheets></workbook>"),
        links: numbered()
            .map(|(number, _)| Link::new("worksheet", &format!("worksheets/sheet{number}.xml")))
            .collect(),
    };
    let pages = numbered().map(|(number, sheet)| Part {
        path: format!("xl/worksheets/sheet{number}.xml"),
        kind: "spreadsheetml.worksheet",
        text: format!("<worksheet xmlns='{SHEET}'><sheetData>{}</sheetData></worksheet>", rows(sheet)),
        links: Vec::new(),
    });
    package(&std::iter::once(main).chain(pages).collect::<Vec<_>>())
}

fn rows(sheet: &Sheet) -> String {
    let row = |number: usize, row: &[Value]| {
        // A program that hides one row tells of each whether it is hidden.
        let hidden = match sheet.hidden.as_slice() {
            [] => String::new(),
            hidden => format!(" hidden='{}'", u8::from(hidden.contains(&number))),
        };
        let cells = ('A'..).zip(row).map(|(column, value)| cell(&format!("{column}{number}"), value));
        format!("<row r='{number}'{hidden}>{}</row>", cells.collect::<String>())
    };
    (1..).zip(&sheet.rows).map(|(number, cells)| row(number, cells)).collect()
}

fn cell(place: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => {
            let text = escaped(text);
            format!("<c r='{place}' t='inlineStr'><is><t xml:space='preserve'>{text}</t></is></c>")
        }
        number => format!("<c r='{place}'><v>{number}</v></c>"),
    }
}

/// Packs the parts of a document, the main one first.
fn package(parts: &[Part]) -> Vec<u8> {
    let overrides: String = parts
        .iter()
        .map(|Part { path, kind, .. }| {
            let kind = format!("application/vnd.openxmlformats-officedocument.{kind}+xml");
            format!("<Override PartName='/{path}' ContentType='{kind}'/>")
        })
        .collect();
    let types = format!(
        "<Types xmlns='{PACKAGE}/content-types'><Default Extension='rels' \
         ContentType='application/vnd.openxmlformats-package.relationships+xml'/>{overrides}</Types>"
    );
    let main = parts.iter().take(1).map(|part| Link::new("officeDocument", &part.path)).collect::<Vec<_>>();
    let mut members =
        vec![("[Content_Types].xml".to_owned(), types), ("_rels/.rels".to_owned(), links(&main))];
    for Part { path, text, links: named, .. } in parts {
        members.push((path.clone(), text.clone()));
        if let Some((folder, name)) = path.rsplit_once('/').filter(|_| !named.is_empty()) {
            members.push((format!("{folder}/_rels/{name}.rels"), links(named)));
        }
    }
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in members {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).expect("begins");
        archive.write_all(text.as_bytes()).expect("is written");
    }
    archive.finish().expect("ends").into_inner()
}

fn links(named: &[Link]) -> String {
    let named: String = (1..)
        .zip(named)
        .map(|(number, Link { kind, target })| {
            format!("<Relationship Id='r{number}' Type='{LINKS}/{kind}' Target='{target}'/>")
        })
        .collect();
    format!("<Relationships xmlns='{PACKAGE}/relationships'>{named}</Relationships>")
}
