//! Tests of the metrics of documents and presentations, on packages made here: what the cases of the oracle script do
//! not reach, such as whose fault a broken file is, and files that are too large.

use std::io::{Cursor, Write as _};

use serde_json::{Map, Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::compute;
use crate::evidence::{EvidenceValue, FileRef};
use crate::scoring::{Compat, CompatProbe, MetricInput};

const W: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fn zipped(members: &[(&str, String)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in members {
        writer.start_file(*name, SimpleFileOptions::default()).expect("starts");
        writer.write_all(text.as_bytes()).expect("writes");
    }
    writer.finish().expect("finishes").into_inner()
}

fn package(main: &str, kind: &str, text: String, more: &[(&str, String)]) -> Vec<u8> {
    let types = format!(
        "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>\
         <Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/>\
         <Default Extension='xml' ContentType='application/xml'/>\
         <Override PartName='/{main}' ContentType='{kind}'/></Types>"
    );
    let relations = format!(
        "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>\
         <Relationship Id='r1' Type='{OFFICE}/officeDocument' Target='{main}'/></Relationships>"
    );
    let mut members = vec![("[Content_Types].xml", types), ("_rels/.rels", relations), (main, text)];
    members.extend(more.iter().cloned());
    zipped(&members)
}

fn docx(body: &str) -> Vec<u8> {
    let kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
    let text = format!("<w:document xmlns:w='{W}'><w:body>{body}</w:body></w:document>");
    package("word/document.xml", kind, text, &[])
}

fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
}

/// Returns the score of a metric over two files, or the reason for none.
fn score(metric: &str, found: &[u8], wanted: Option<&[u8]>, compat: Compat) -> Result<f64, String> {
    let ending = if metric.contains("pptx") { "pptx" } else { "docx" };
    let side = |bytes: &[u8]| {
        EvidenceValue::files_of(vec![Some(FileRef::new(format!("f.{ending}"), bytes.to_vec()))])
    };
    let (result, expected) = (side(found), wanted.map(side));
    let (options, reading) = (Map::new(), CompatProbe::new(compat));
    let case = MetricInput {
        result: &result,
        expected: expected.as_ref(),
        options: &options,
        reading: &reading,
        beside: &[],
        readings: &[],
        judgements: &[],
    };
    compute(metric, &case).map(|mark| mark.score).map_err(|error| error.message().to_owned())
}

#[test]
fn a_broken_result_scores_nothing_and_a_broken_expectation_is_the_tasks_fault() {
    let good = docx(&paragraph("text"));
    for metric in ["compare_docx_files", "compare_docx_tables", "compare_docx_images", "compare_docx_lines"] {
        assert_eq!(score(metric, &good, Some(&good), Compat::Fixed), Ok(1.0), "{metric}");
        assert_eq!(score(metric, b"noise", Some(&good), Compat::Fixed), Ok(0.0), "{metric}");
        assert!(score(metric, &good, Some(b"noise"), Compat::Fixed).is_err(), "{metric}");
        assert!(score(metric, &good, None, Compat::Fixed).is_err(), "{metric}");
        assert_eq!(score(metric, &good, Some(b"noise"), Compat::Exact), Ok(0.0), "{metric}");
        assert_eq!(score(metric, &good, None, Compat::Exact), Ok(0.0), "{metric}");
    }
}

#[test]
fn what_upstream_cannot_read_has_no_score_as_upstream_has_it_and_none_otherwise() {
    let run = "<w:p><w:r><w:rPr><w:i w:val='perhaps'/></w:rPr><w:t>x</w:t></w:r></w:p>";
    let bad = docx(run);
    assert!(score("check_italic_font_size_14", &bad, Some(&bad), Compat::Exact).is_err());
    assert_eq!(score("check_italic_font_size_14", &bad, Some(&bad), Compat::Fixed), Ok(0.0));
}

#[test]
fn texts_are_compared_with_tabs_breaks_and_links_but_without_revisions() {
    let one = docx(
        "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r><w:hyperlink><w:r><w:t>c</w:t></w:r></w:hyperlink></w:p>",
    );
    let other = docx(&paragraph("a bc"));
    assert_eq!(score("compare_docx_files", &one, Some(&other), Compat::Fixed), Ok(1.0), "blanks are alike");
    assert_eq!(score("compare_docx_lines", &one, Some(&other), Compat::Fixed), Ok(0.0), "a tab is no space");
    let revised = docx("<w:p><w:r><w:t>a bc</w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>");
    assert_eq!(score("compare_docx_lines", &revised, Some(&other), Compat::Fixed), Ok(1.0));
}

#[test]
fn a_table_that_grows_without_end_is_refused() {
    let cell = "<w:tc><w:tcPr><w:gridSpan w:val='2000000000'/></w:tcPr><w:p/></w:tc>";
    let table = format!("<w:tbl><w:tblGrid><w:gridCol/></w:tblGrid><w:tr>{cell}</w:tr></w:tbl>");
    let wide = docx(&table);
    let why = score("compare_docx_tables", &wide, Some(&wide), Compat::Exact).expect_err("is refused");
    assert!(why.contains("too large"), "{why}");
    assert!(
        score("evaluate_conversion", &wide, None, Compat::Exact).is_err_and(|why| why.contains("too large"))
    );
}

#[test]
fn a_presentation_is_no_document_and_a_document_no_presentation() {
    let word = docx(&paragraph("text"));
    assert_eq!(score("compare_pptx_files", &word, Some(&word), Compat::Fixed), Ok(0.0));
    let why = score("compare_pptx_files", &word, Some(&word), Compat::Exact).expect_err("has no score");
    assert!(why.contains("no presentation"), "{why}");
}

#[test]
fn groups_within_groups_are_followed_to_a_limit() {
    let deep = format!("{}{}", "<p:grpSp><p:nvGrpSpPr/>".repeat(300), "</p:grpSp>".repeat(300));
    let slide = format!(
        "<p:sld xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main'>\
         <p:cSld><p:spTree>{deep}</p:spTree></p:cSld></p:sld>"
    );
    let relations = |inner: &str| {
        format!(
            "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>{inner}</Relationships>"
        )
    };
    let to = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id='{id}' Type='{OFFICE}/{kind}' Target='{target}'/>")
    };
    let bare = "<p:x xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main'><p:cSld/></p:x>";
    let main = format!(
        "<p:presentation xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' xmlns:r='{OFFICE}'>\
         <p:sldIdLst><p:sldId id='256' r:id='r1'/></p:sldIdLst></p:presentation>"
    );
    let more = [
        ("ppt/_rels/presentation.xml.rels", relations(&to("r1", "slide", "slides/slide1.xml"))),
        ("ppt/slides/slide1.xml", slide),
        ("ppt/slides/_rels/slide1.xml.rels", relations(&to("r1", "slideLayout", "../layout.xml"))),
        ("ppt/layout.xml", bare.to_owned()),
        ("ppt/_rels/layout.xml.rels", relations(&to("r1", "slideMaster", "master.xml"))),
        ("ppt/master.xml", bare.to_owned()),
    ];
    let kind = "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml";
    let made = package("ppt/presentation.xml", kind, main, &more);
    let why = score("compare_pptx_files", &made, Some(&made), Compat::Exact).expect_err("is refused");
    assert!(why.contains("nested too deep"), "{why}");
}

#[test]
fn an_option_that_is_no_number_is_the_tasks_fault() {
    let word = docx(&paragraph("text"));
    let file = EvidenceValue::files_of(vec![Some(FileRef::new("f.docx", word))]);
    let reading = CompatProbe::new(Compat::Fixed);
    let options = json!({"reference_base_result": "half"});
    let options: &Map<String, Value> = options.as_object().expect("an object");
    let case = MetricInput {
        result: &file,
        expected: Some(&file),
        options,
        reading: &reading,
        beside: &[],
        readings: &[],
        judgements: &[],
    };
    assert!(compute("compare_references", &case).is_err());
}
