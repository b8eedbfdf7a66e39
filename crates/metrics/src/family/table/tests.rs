//! Tests of rules on small generated workbooks.

use std::io::{Cursor, Write as _};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::evidence::{EvidenceValue, FileRef};
use crate::family::compute;
use crate::scoring::{Compat, CompatProbe, MetricError, MetricInput, Score};

const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fn packed(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).expect("begins");
        writer.write_all(bytes).expect("writes");
    }
    writer.finish().expect("ends").into_inner()
}

/// Builds a workbook of one sheet with these rows of XML.
fn book(rows: &str) -> Vec<u8> {
    let workbook = format!(
        "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><sheets><sheet name=\"One\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
    );
    let relations = format!(
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"r1\" Type=\"{RELATIONS}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
    );
    let sheet = format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>");
    packed(&[
        ("xl/workbook.xml", workbook.as_bytes()),
        ("xl/_rels/workbook.xml.rels", relations.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ])
}

fn rows(price: &str) -> String {
    format!(
        "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>Name</t></is></c><c r=\"B1\" t=\"inlineStr\"><is><t>Price</t></is></c></row>\
         <row r=\"6\"><c r=\"A6\" t=\"inlineStr\"><is><t>Ann</t></is></c><c r=\"B6\"><v>{price}</v></c></row>"
    )
}

#[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
fn graded(found: Vec<u8>, wanted: Vec<u8>, rule: Value) -> Result<Score, MetricError> {
    let side = |name: &str, bytes| EvidenceValue::files_of(vec![Some(FileRef::new(name, bytes))]);
    let (found, wanted) = (side("found.xlsx", found), side("wanted.xlsx", wanted));
    let options: Map<String, Value> = json!({"rules": [rule]}).as_object().cloned().expect("an object");
    let case = MetricInput {
        result: &found,
        expected: Some(&wanted),
        options: &options,
        reading: &CompatProbe::new(Compat::Fixed),
        beside: &[],
        readings: &[],
        judgements: &[],
    };
    compute("compare_table", &case)
}

fn compare(found: Vec<u8>, wanted: Vec<u8>, rule: Value) -> Score {
    graded(found, wanted, rule).expect("is graded")
}

#[test]
fn a_difference_is_told_by_its_cell() {
    let rule = || json!({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"});
    assert_eq!(compare(book(&rows("59.95")), book(&rows("59.95")), rule()).score, 1.0);
    let mark = compare(book(&rows("59.9")), book(&rows("59.95")), rule());
    assert_eq!(
        mark,
        Score { score: 0.0, explanation: "rule 1 (sheet_data): cell B6: expected 59.95, found 59.9".into() }
    );
    let rule = json!({"type": "check_cell", "sheet_idx": "RNOne", "coordinate": "B6", "props": {"value": {"method": "eq", "ref": 59.95}}});
    let mark = compare(book(&rows("59.9")), book(&rows("1")), rule);
    assert_eq!(mark.explanation, "rule 1 (check_cell): cell B6: expected 59.95, found 59.9");
}

#[test]
fn broken_workbooks_and_bombs_are_refused_with_a_reason() {
    let rule = || json!({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"});
    let gold = || book(&rows("1"));
    let bomb = packed(&[("xl/workbook.xml", &vec![b' '; 60 << 20])]);
    let entities =
        packed(&[("xl/workbook.xml", b"<!DOCTYPE x [<!ENTITY a \"b\">]><workbook>&a;</workbook>")]);
    let deep = packed(&[("xl/workbook.xml", "<a>".repeat(100_000).as_bytes())]);
    let mut cut = gold();
    cut.truncate(cut.len() / 2);
    for (bytes, reason) in [
        (bomb, "bomb"),
        (entities, "XML"),
        (deep, "nested"),
        (cut, "zip"),
        (b"x".to_vec(), "zip"),
        (packed(&[]), "no workbook"),
        (book("<row r=\"1\"><c r=\"A1\" t=\"s\"><v>7</v></c></row>"), "holds \"7\""),
        (book("<row r=\"1048576\"><c r=\"XFD1048576\"><v>7</v></c></row>"), "more than"),
    ] {
        let mark = compare(bytes, gold(), rule());
        assert!(mark.score == 0.0 && mark.explanation.contains(reason), "{reason}: {}", mark.explanation);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A workbook with mutated parts gets the same score and reason each time.
    #[test]
    fn a_workbook_with_changed_parts_has_one_score_and_a_reason(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), "[-0-9A-Z<>/\"'=: ]{0,4}", 0_usize..6), 1..6),
    ) {
        let sheet = "<worksheet><sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"s\"><v>1</v></c></row>\
            <row r=\"2\"><c r=\"A2\" s=\"1\"><v>45000</v></c><c r=\"B2\"><f>1+2</f><v>3</v></c></row></sheetData>\
            <mergeCells><mergeCell ref=\"C1:D2\"/></mergeCells><conditionalFormatting sqref=\"A1:B2\"><cfRule type=\"cellIs\" dxfId=\"0\" operator=\"equal\">\
            <formula>3</formula></cfRule></conditionalFormatting></worksheet>";
        let shared = "<sst><si><t>Day</t></si><si><r><t>Su</t></r><r><t>m</t></r></si></sst>";
        let styles = "<styleSheet><fonts><font><color rgb=\"FF000000\"/></font></fonts><cellXfs><xf/><xf numFmtId=\"14\"/></cellXfs>\
            <dxfs><dxf><font><color rgb=\"FFFF0000\"/></font></dxf></dxfs></styleSheet>";
        let (mut texts, sound) = ([sheet, shared, styles].map(str::to_owned), [sheet, shared, styles].map(str::to_owned));
        for (at, text, cut) in edits {
            let part = &mut texts[at.index(3)];
            let from = at.index(part.len());
            part.replace_range(from..part.len().min(from + cut), &text);
        }
        let write = |texts: &[String; 3]| {
            let plain = book("");
            let mut archive = zip::ZipArchive::new(Cursor::new(plain)).expect("opens");
            let mut take = |name: &str| {
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(&mut archive.by_name(name).expect("is there"), &mut bytes).expect("reads");
                bytes
            };
            let (listed, links) = (take("xl/workbook.xml"), take("xl/_rels/workbook.xml.rels"));
            packed(&[
                ("xl/workbook.xml", &listed),
                ("xl/_rels/workbook.xml.rels", &links),
                ("xl/worksheets/sheet1.xml", texts[0].as_bytes()),
                ("xl/sharedStrings.xml", texts[1].as_bytes()),
                ("xl/styles.xml", texts[2].as_bytes()),
            ])
        };
        for rule in [
            json!({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}),
            json!({"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["bgcolor", "font_color", "number_format", "merge"]}),
            json!({"type": "sheet_fuzzy", "sheet_idx0": 0, "sheet_idx1": "EI0", "rules": [{"type": "exact_match", "range": ["A1:D2"]}]}),
        ] {
            prop_assert!(compare(write(&sound), write(&sound), rule.clone()).score == 1.0, "{rule}");
            let first = graded(write(&texts), write(&sound), rule.clone());
            let told = first.as_ref().map_or_else(|fault| fault.message(), |mark| &mark.explanation);
            prop_assert!(!told.is_empty());
            prop_assert_eq!(&first, &graded(write(&texts), write(&sound), rule));
        }
    }

    /// Grading never panics, whatever a sheet, archive or file contains.
    #[test]
    fn no_workbook_breaks_the_grader(
        cell in "[A-Z]{0,3}[0-9]{0,7}", kind in "(n|s|b|e|str|d|)", value in "[-+0-9.eE: a-z]{0,12}", flips in proptest::collection::vec((0_usize..2000, any::<u8>()), 0..6),
    ) {
        let row = format!("<row r=\"1\"><c r=\"{cell}\" t=\"{kind}\" s=\"3\"><v>{value}</v></c></row>");
        let mut bytes = book(&row);
        for (at, byte) in flips {
            let long = bytes.len();
            bytes[at % long] ^= byte;
        }
        for rule in [
            json!({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}),
            json!({"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["bgcolor"]}),
            json!({"type": "sheet_fuzzy", "sheet_idx0": 0, "sheet_idx1": "EI0", "rules": [{"type": "exact_match", "range": ["A1:B2"]}]}),
        ] {
            // The result is a score or a reason.
            let told = graded(bytes.clone(), book(&rows("1")), rule).map(|mark| mark.explanation);
            prop_assert!(told.map_or_else(|fault| !fault.message().is_empty(), |told| !told.is_empty()));
        }
    }
}
