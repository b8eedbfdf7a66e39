//! Text of a presentation's shapes: paragraphs, runs and their own formatting.

use roxmltree::Node;

use super::element::{A, child, children, fill};
use crate::python;
use crate::readers::xml;

/// A colour in red, green and blue.
pub(super) type Color = [u8; 3];

/// The formatting of a run, as far as it is given by the run itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Font<'t> {
    pub(super) name: Option<&'t str>,
    pub(super) size: Option<i64>,
    pub(super) bold: Option<bool>,
    pub(super) italic: Option<bool>,
    /// The number of the kind of underline: 0 for none, 1 for a single line.
    pub(super) underline: Option<u8>,
    /// Whether the underline is a single line.
    pub(super) single_underline: bool,
    pub(super) color: Option<Color>,
    pub(super) strike: &'t str,
}

/// Returns the paragraphs of a text body.
pub(super) fn paragraphs<'d, 'i>(body: Option<Node<'d, 'i>>) -> Vec<Node<'d, 'i>> {
    body.into_iter().flat_map(|body| children(body, A, "p")).collect()
}

/// Returns the runs of a paragraph, without its fields.
pub(super) fn runs<'d, 'i>(paragraph: Node<'d, 'i>) -> Vec<Node<'d, 'i>> {
    children(paragraph, A, "r").collect()
}

/// Returns the text of a body: paragraphs on lines of their own, and line breaks as vertical tabs.
pub(super) fn body_text(body: Node<'_, '_>) -> String {
    children(body, A, "p").map(paragraph_text).collect::<Vec<_>>().join("\n")
}

/// Returns the text of a paragraph: of its runs and fields.
pub(super) fn paragraph_text(paragraph: Node<'_, '_>) -> String {
    let mut text = String::new();
    for node in paragraph.children().filter(|node| node.tag_name().namespace() == Some(A)) {
        match node.tag_name().name() {
            "r" | "fld" => text.push_str(child(node, A, "t").map_or("", xml::text)),
            "br" => text.push('\u{b}'),
            _ => {}
        }
    }
    text
}

/// Returns the alignment of a paragraph; left where it is inherited.
pub(super) fn alignment<'d>(paragraph: Node<'d, '_>) -> Result<&'d str, String> {
    match child(paragraph, A, "pPr").and_then(|node| node.attribute("algn")) {
        None => Ok("l"),
        Some(name @ ("ctr" | "dist" | "just" | "justLow" | "l" | "r" | "thaiDist")) => Ok(name),
        Some(other) => Err(format!("unknown alignment {other:?}")),
    }
}

/// Returns the level of a paragraph in a list.
pub(super) fn level(paragraph: Node<'_, '_>) -> Result<i64, String> {
    match child(paragraph, A, "pPr").and_then(|node| node.attribute("lvl")) {
        None => Ok(0),
        Some(text) => python::int(text).ok_or_else(|| format!("{text:?} is no level")),
    }
}

/// Reads the formatting of a run.
pub(super) fn font<'d>(run: Node<'d, '_>) -> Result<Font<'d>, String> {
    let Some(node) = child(run, A, "rPr") else {
        return Ok(Font {
            name: None,
            size: None,
            bold: None,
            italic: None,
            underline: None,
            single_underline: false,
            color: None,
            strike: "noStrike",
        });
    };
    let flag = |name: &str| match node.attribute(name) {
        None => Ok(None),
        Some("1" | "true") => Ok(Some(true)),
        Some("0" | "false") => Ok(Some(false)),
        Some(other) => Err(format!("{name} is {other:?}, neither on nor off")),
    };
    let latin = child(node, A, "latin");
    let name = latin.map(|latin| latin.attribute("typeface").ok_or("a font has no name")).transpose()?;
    let size = node.attribute("sz").map(|text| python::int(text).ok_or(format!("{text:?} is no size")));
    let line = node.attribute("u");
    let color = match fill(node) {
        Some(fill) if fill.tag_name().name() == "solidFill" => solid_color(fill)?,
        _ => None,
    };
    Ok(Font {
        name,
        size: size.transpose()?,
        bold: flag("b")?,
        italic: flag("i")?,
        underline: line.map(underline).transpose()?,
        single_underline: line == Some("sng"),
        color,
        strike: node.attribute("strike").unwrap_or("noStrike"),
    })
}

/// Returns the number of a kind of underline. Those of single lines and of words are the same to upstream.
fn underline(name: &str) -> Result<u8, String> {
    const KINDS: [&str; 18] = [
        "none",
        "words",
        "",
        "dbl",
        "heavy",
        "dotted",
        "dottedHeavy",
        "dash",
        "dashHeavy",
        "dashLong",
        "dashLongHeavy",
        "dotDash",
        "dotDashHeavy",
        "dotDotDash",
        "dotDotDashHeavy",
        "wavy",
        "wavyHeavy",
        "wavyDbl",
    ];
    if name == "sng" {
        return Ok(1);
    }
    let at = KINDS.iter().position(|kind| *kind == name && !kind.is_empty());
    at.and_then(|at| u8::try_from(at).ok()).ok_or_else(|| format!("unknown underline {name:?}"))
}

/// Returns the colour of a solid fill if it is given in red, green and blue.
pub(super) fn solid_color(fill: Node<'_, '_>) -> Result<Option<Color>, String> {
    const CHOICES: [&str; 6] = ["scrgbClr", "srgbClr", "hslClr", "sysClr", "schemeClr", "prstClr"];
    let choice = fill
        .children()
        .find(|node| node.tag_name().namespace() == Some(A) && CHOICES.contains(&node.tag_name().name()));
    let Some(choice) = choice.filter(|node| node.tag_name().name() == "srgbClr") else { return Ok(None) };
    let text = choice.attribute("val").ok_or("a colour has no value")?;
    let part = |from: usize, to: usize| text.get(from..to).and_then(|part| u8::from_str_radix(part, 16).ok());
    let color = part(0, 2).zip(part(2, 4)).zip(part(4, text.len()));
    let ((red, green), blue) = color.ok_or_else(|| format!("{text:?} is no colour"))?;
    Ok(Some([red, green, blue]))
}

/// A paragraph of a slide with what marks it as an item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bullet {
    level: Option<String>,
    character: Option<String>,
    text: String,
}

/// Returns the paragraphs with text of a whole slide, or `None` where upstream cannot read them, as a run without text
/// is there. `seen` are the paragraphs that upstream has looked at, and so has given properties.
pub(super) fn bullets(root: Node<'_, '_>, seen: &[roxmltree::NodeId]) -> Option<Vec<Bullet>> {
    let mut found = Vec::new();
    for paragraph in root.descendants().filter(|node| node.has_tag_name((A, "p"))) {
        let mut text = String::new();
        for node in paragraph.descendants().filter(|node| node.has_tag_name((A, "t"))) {
            let part = xml::text(node);
            if part.is_empty() {
                return None;
            }
            text.push_str(part);
        }
        if text.trim().is_empty() {
            continue;
        }
        let properties = child(paragraph, A, "pPr");
        let character = properties.and_then(|node| child(node, A, "buChar"));
        let character = character.map(|node| node.attribute("char").unwrap_or_default().to_owned());
        let level = match properties {
            Some(node) => Some(node.attribute("lvl").unwrap_or("0").to_owned()),
            None => seen.contains(&paragraph.id()).then(|| "0".to_owned()),
        };
        found.push(Bullet { level, character, text });
    }
    Some(found)
}
