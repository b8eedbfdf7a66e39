//! A word-processor document (docx), read as python-docx reads it: paragraphs and tables of the body, runs and their
//! own formatting, sections and footers.

use roxmltree::{Document, Node};

use crate::evidence::FileRef;
use crate::readers::package::{MissingPart, Package};
use crate::readers::xml;
use crate::scoring::{MetricError, task_error, upstream_error};

const W: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const R: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const MAIN_TYPE: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
/// Ends of the content types of parts that python-docx parses when it opens a document.
const PARSED: [&str; 6] = [
    "wordprocessingml.comments+xml",
    "wordprocessingml.footer+xml",
    "wordprocessingml.header+xml",
    "wordprocessingml.numbering+xml",
    "wordprocessingml.settings+xml",
    "wordprocessingml.styles+xml",
];

/// The file of a document, open but not parsed.
pub(super) struct WordFile<'a> {
    package: Package<'a>,
    main: String,
    text: String,
    is_expected: bool,
}

/// A parsed document.
pub(super) struct Word<'f> {
    file: &'f WordFile<'f>,
    tree: Document<'f>,
}

impl<'a> WordFile<'a> {
    /// Opens a document. `is_expected` tells whose fault its errors are: the task's, or the result's.
    pub(super) fn open(file: &'a FileRef, is_expected: bool) -> Result<Self, String> {
        let failed = |why: String| format!("{}: {why}", file.name);
        let package = Package::open(&file.bytes, MissingPart::Broken).map_err(failed)?;
        let main = package.main_part().map_err(failed)?;
        if package.content_type(&main) != Some(MAIN_TYPE) {
            return Err(failed("it is no word-processor document".into()));
        }
        for (part, kind) in package.parts() {
            if PARSED.iter().any(|parsed| kind.ends_with(parsed)) || kind.ends_with("core-properties+xml") {
                xml::read(&package.text(part).map_err(failed)?).map_err(failed)?;
            }
        }
        let text = package.text(&main).map_err(failed)?;
        Ok(Self { package, main, text, is_expected })
    }

    /// Parses the document.
    pub(super) fn parse(&'a self) -> Result<Word<'a>, String> {
        Ok(Word { file: self, tree: xml::read(&self.text)? })
    }

    fn fault(&self, why: impl Into<String>) -> MetricError {
        if self.is_expected { task_error(why) } else { upstream_error(why) }
    }

    /// Returns the pictures of the document in the order of its relationships.
    pub(super) fn pictures(&self) -> Result<Vec<Vec<u8>>, MetricError> {
        let relationships = self.package.relationships(&self.main).iter();
        let pictures = relationships.filter(|one| one.kind.contains("image"));
        pictures
            .map(|one| {
                if one.is_external {
                    return Err(self.fault(format!("the picture {} lies outside the document", one.target)));
                }
                self.package.bytes(&one.target).map_err(|why| self.fault(why))
            })
            .collect()
    }
}

impl<'f> Word<'f> {
    /// Returns the error of a property that python-docx cannot read.
    pub(super) fn fault(&self, why: impl Into<String>) -> MetricError {
        self.file.fault(why)
    }

    fn body(&self) -> Result<Node<'_, 'f>, MetricError> {
        let root = self.tree.root_element();
        child(root, "body").ok_or_else(|| self.fault("the document has no body"))
    }

    /// Returns the paragraphs of the body; those of tables and text boxes are not among them.
    pub(super) fn paragraphs(&self) -> Result<Vec<Node<'_, 'f>>, MetricError> {
        Ok(children(self.body()?, "p").collect())
    }

    /// Returns the texts of the body's paragraphs.
    pub(super) fn texts(&self) -> Result<Vec<String>, MetricError> {
        Ok(children(self.body()?, "p").map(paragraph_text).collect())
    }

    /// Returns the tables of the body.
    pub(super) fn tables(&self) -> Result<Vec<Node<'_, 'f>>, MetricError> {
        Ok(children(self.body()?, "tbl").collect())
    }

    /// Returns the source text of an element.
    pub(super) fn source(&self, node: Node<'_, '_>) -> &str {
        self.tree.input_text().get(node.range()).unwrap_or_default()
    }

    /// Returns the sections' properties, in order.
    pub(super) fn sections(&self) -> Vec<Node<'_, 'f>> {
        let mut found = Vec::new();
        let body = child(self.tree.root_element(), "body");
        for node in body.into_iter().flat_map(|body| body.children()) {
            if is(node, "sectPr") {
                found.push(node);
            } else if is(node, "p") {
                found.extend(children(node, "pPr").flat_map(|node| children(node, "sectPr")));
            }
        }
        found
    }

    /// Returns the text of the first paragraph of each section's footer. A section without a footer of its own shows
    /// that of the section before.
    pub(super) fn footers(&self) -> Result<Vec<String>, MetricError> {
        let mut texts: Vec<String> = Vec::new();
        for section in self.sections() {
            let mut references = children(section, "footerReference");
            let own = references.find(|node| node.attribute((W, "type")) == Some("default"));
            let text = match own {
                None => texts.last().cloned().unwrap_or_default(),
                Some(reference) => self.footer(reference)?,
            };
            texts.push(text);
        }
        Ok(texts)
    }

    fn footer(&self, reference: Node<'_, '_>) -> Result<String, MetricError> {
        let id = reference.attribute((R, "id")).unwrap_or_default();
        let part = self.file.package.target(&self.file.main, id);
        let part = part.ok_or_else(|| self.fault(format!("the footer {id:?} is missing")))?;
        let text = self.file.package.text(&part).map_err(|why| self.fault(why))?;
        let tree = xml::read(&text).map_err(|why| self.fault(why))?;
        Ok(child(tree.root_element(), "p").map(paragraph_text).unwrap_or_default())
    }

    /// Returns a setting of a run that is on, off, or not given.
    pub(super) fn flag(&self, run: Node<'_, '_>, name: &str) -> Result<Option<bool>, MetricError> {
        let Some(node) = child(run, "rPr").and_then(|node| child(node, name)) else { return Ok(None) };
        match node.attribute((W, "val")) {
            None | Some("1" | "true" | "on") => Ok(Some(true)),
            Some("0" | "false" | "off") => Ok(Some(false)),
            Some(other) => Err(self.fault(format!("{name} is {other:?}, neither on nor off"))),
        }
    }

    /// Returns a run's value of an element, by the element's attribute `val`, which must be there.
    pub(super) fn value<'r>(&self, run: Node<'r, '_>, name: &str) -> Result<Option<&'r str>, MetricError> {
        let Some(node) = child(run, "rPr").and_then(|node| child(node, name)) else { return Ok(None) };
        let value = node.attribute((W, "val"));
        value.map(Some).ok_or_else(|| self.fault(format!("{name} has no value")))
    }

    /// Returns a length in English metric units from a number of parts of a point, or from a number with a unit.
    pub(super) fn length(&self, text: &str, unit: f64, signed: bool) -> Result<i64, MetricError> {
        let bad = || self.fault(format!("{text:?} is no length"));
        let parsed = if text.contains(['i', 'm', 'p', 'n']) {
            universal_length(text)
        } else if signed {
            // Measures with a sign may have a fraction.
            crate::python::float(text).map(|number| number.round_ties_even() * unit)
        } else {
            crate::python::int(text).map(|number| number as f64 * unit)
        };
        parsed.filter(|number| number.abs() < 1e15).map(|number| number as i64).ok_or_else(bad)
    }

    /// Returns an attribute in twentieths of a point as a length; `signed` for measures that may be negative.
    pub(super) fn twips(
        &self,
        node: Node<'_, '_>,
        name: &str,
        signed: bool,
    ) -> Result<Option<i64>, MetricError> {
        let value = node.attribute((W, name));
        value.map(|text| self.length(text, 635.0, signed)).transpose()
    }
}

fn universal_length(text: &str) -> Option<f64> {
    let at = text.len().checked_sub(2).filter(|at| text.is_char_boundary(*at))?;
    let (number, unit) = text.split_at(at);
    let unit = match unit {
        "mm" => 36_000.0,
        "cm" => 360_000.0,
        "in" => 914_400.0,
        "pt" => 12_700.0,
        "pc" | "pi" => 152_400.0,
        _ => return None,
    };
    Some((crate::python::float(number)? * unit).round_ties_even())
}

/// Returns whether a node is an element of word processing of this name.
pub(super) fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name && node.tag_name().namespace() == Some(W)
}

/// Returns the first child of this name.
pub(super) fn child<'d, 'i>(node: Node<'d, 'i>, name: &str) -> Option<Node<'d, 'i>> {
    node.children().find(|node| is(*node, name))
}

/// Returns all children of this name.
pub(super) fn children<'d, 'i, 'n>(
    node: Node<'d, 'i>,
    name: &'n str,
) -> impl Iterator<Item = Node<'d, 'i>> + use<'d, 'i, 'n> {
    node.children().filter(move |node| is(*node, name))
}

/// Returns an attribute of word processing.
pub(super) fn attribute<'d>(node: Node<'d, '_>, name: &str) -> Option<&'d str> {
    node.attribute((W, name))
}

/// Returns the runs of a paragraph; those of links and revisions are not among them.
pub(super) fn runs<'d, 'i>(paragraph: Node<'d, 'i>) -> impl Iterator<Item = Node<'d, 'i>> + use<'d, 'i> {
    children(paragraph, "r")
}

/// Returns the text of a run: tabs and line breaks are characters, page breaks are nothing.
pub(super) fn run_text(run: Node<'_, '_>) -> String {
    let mut text = String::new();
    for node in run.children().filter(|node| node.tag_name().namespace() == Some(W)) {
        match node.tag_name().name() {
            "t" => text.push_str(xml::text(node)),
            "tab" | "ptab" => text.push('\t'),
            "cr" => text.push('\n'),
            "br" if node.attribute((W, "type")).unwrap_or("textWrapping") == "textWrapping" => {
                text.push('\n');
            }
            "noBreakHyphen" => text.push('-'),
            _ => {}
        }
    }
    text
}

/// Returns the text of a paragraph: of its runs and of those of its links.
pub(super) fn paragraph_text(paragraph: Node<'_, '_>) -> String {
    let mut text = String::new();
    for node in paragraph.children() {
        if is(node, "r") {
            text.push_str(&run_text(node));
        } else if is(node, "hyperlink") {
            text.extend(children(node, "r").map(run_text));
        }
    }
    text
}
