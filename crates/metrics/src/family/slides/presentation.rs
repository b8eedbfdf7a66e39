//! A presentation (pptx), read as python-pptx reads it: slides in order, their shapes, backgrounds and notes.

use roxmltree::{Document, Node};

use super::element::{P, R, child, children, fill};
use crate::evidence::FileRef;
use crate::python;
use crate::readers::package::{MissingPart, Package};
use crate::readers::xml;
use crate::scoring::{MetricError, task_error, upstream_error};

/// Content types that python-pptx takes for a presentation.
const MAIN_TYPES: [&str; 2] = [
    "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
    "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml",
];
/// Maximum number of slides.
const SLIDES: usize = 5_000;

/// An open presentation.
pub(super) struct Presentation<'a> {
    package: Package<'a>,
    main: String,
    main_text: String,
    /// The names of the slides' parts, in order; the name of the relationship of one that is missing.
    slides: Vec<Result<String, String>>,
    is_expected: bool,
}

/// The texts of a slide's parts, before they are parsed.
pub(super) struct SlideText {
    part: String,
    slide: String,
    layout: Option<String>,
    master: Option<String>,
    /// The text of the notes; `Err` with the reason why python-pptx raises for them.
    pub(super) notes: Result<String, String>,
}

/// A parsed slide with its layout and master.
pub(super) struct Slide<'t> {
    text: &'t SlideText,
    tree: Document<'t>,
    layout: Option<Document<'t>>,
    master: Option<Document<'t>>,
    is_expected: bool,
}

impl<'a> Presentation<'a> {
    /// Opens a presentation. `is_expected` tells whose fault its errors are: the task's, or the result's.
    pub(super) fn open(file: &'a FileRef, is_expected: bool) -> Result<Self, MetricError> {
        let fault = |why: String| {
            let why = format!("{}: {why}", file.name);
            if is_expected { task_error(why) } else { upstream_error(why) }
        };
        let package = Package::open(&file.bytes, MissingPart::Ignored).map_err(fault)?;
        let main = package.main_part().map_err(fault)?;
        if !package.content_type(&main).is_some_and(|kind| MAIN_TYPES.contains(&kind)) {
            return Err(fault("it is no presentation".into()));
        }
        for (part, _) in package.parts().filter(|(_, kind)| is_parsed(kind)) {
            let failed = |why: String| fault(format!("{part}: {why}"));
            xml::read(&package.text(part).map_err(failed)?).map_err(failed)?;
        }
        let main_text = package.text(&main).map_err(fault)?;
        let slides = slide_parts(&package, &main, &main_text).map_err(fault)?;
        Ok(Self { package, main, main_text, slides, is_expected })
    }

    pub(super) fn fault(&self, why: impl Into<String>) -> MetricError {
        if self.is_expected { task_error(why) } else { upstream_error(why) }
    }

    pub(super) fn count(&self) -> usize {
        self.slides.len()
    }

    /// Returns the size of the slides in English metric units: width and height.
    pub(super) fn size(&self) -> Result<[i64; 2], MetricError> {
        let tree = xml::read(&self.main_text).map_err(|why| self.fault(why))?;
        let size = child(tree.root_element(), P, "sldSz");
        let side = |name: &str| {
            let text = size.and_then(|node| node.attribute(name)).and_then(python::int);
            text.ok_or_else(|| self.fault("the presentation has no size of its slides"))
        };
        Ok([side("cx")?, side("cy")?])
    }

    /// Reads the parts of a slide.
    pub(super) fn slide(&self, number: usize) -> Result<SlideText, MetricError> {
        let fault = |why: String| self.fault(format!("slide {number}: {why}"));
        let part = self.slides.get(number).ok_or_else(|| fault("it does not exist".into()))?;
        let part = part.as_ref().map_err(|id| fault(format!("its part {id:?} is missing")))?;
        let slide = self.package.text(part).map_err(fault)?;
        let layout = self.package.related(part, "slideLayout").map_err(fault)?;
        let master = match &layout {
            Some(layout) => self.package.related(layout, "slideMaster").map_err(fault)?,
            None => None,
        };
        let read =
            |part: Option<String>| part.map(|part| self.package.text(&part).map_err(fault)).transpose();
        let notes = self.notes(part);
        Ok(SlideText { part: part.clone(), slide, layout: read(layout)?, master: read(master)?, notes })
    }

    /// Returns the text of a slide's notes. Where a slide has none, python-pptx makes empty ones from the master.
    fn notes(&self, slide: &str) -> Result<String, String> {
        if let Some(part) = self.package.related(slide, "notesSlide")? {
            let text = self.package.text(&part)?;
            let tree = xml::read(&text)?;
            let body = notes_body(&tree).ok_or("the notes have no text")?;
            return Ok(child(body, P, "txBody").map(super::text::body_text).unwrap_or_default());
        }
        if let Some(part) = self.package.related(&self.main, "notesMaster")? {
            let text = self.package.text(&part)?;
            notes_body(&xml::read(&text)?).ok_or("the master of notes has no text")?;
        }
        Ok(String::new())
    }

    /// Returns the bytes of the picture that a shape of a slide embeds.
    pub(super) fn picture(&self, slide: &SlideText, id: &str) -> Result<Vec<u8>, MetricError> {
        let part = self.package.target(&slide.part, id);
        let part = part.ok_or_else(|| self.fault(format!("the picture {id:?} is missing")))?;
        self.package.bytes(&part).map_err(|why| self.fault(why))
    }

    /// Parses a slide.
    pub(super) fn parse<'t>(&self, text: &'t SlideText) -> Result<Slide<'t>, MetricError> {
        let read = |text: &'t String| xml::read(text).map_err(|why| self.fault(why));
        Ok(Slide {
            text,
            tree: read(&text.slide)?,
            layout: text.layout.as_ref().map(read).transpose()?,
            master: text.master.as_ref().map(read).transpose()?,
            is_expected: self.is_expected,
        })
    }
}

/// Returns whether python-pptx parses parts of this content type when it opens a presentation.
fn is_parsed(kind: &str) -> bool {
    const KINDS: [&str; 7] = [
        "presentationml.slide+xml",
        "presentationml.slideLayout+xml",
        "presentationml.slideMaster+xml",
        "presentationml.notesSlide+xml",
        "presentationml.notesMaster+xml",
        "drawingml.chart+xml",
        "core-properties+xml",
    ];
    KINDS.iter().any(|end| kind.ends_with(end))
}

fn slide_parts(package: &Package<'_>, main: &str, text: &str) -> Result<Vec<Result<String, String>>, String> {
    let tree = xml::read(text)?;
    let Some(list) = child(tree.root_element(), P, "sldIdLst") else { return Ok(Vec::new()) };
    let mut slides = Vec::new();
    for node in children(list, P, "sldId") {
        let id = node.attribute((R, "id")).unwrap_or_default();
        slides.push(package.target(main, id).ok_or_else(|| id.to_owned()));
        if slides.len() > SLIDES {
            return Err(format!("it has more than {SLIDES} slides"));
        }
    }
    Ok(slides)
}

fn notes_body<'d, 'i>(tree: &'d Document<'i>) -> Option<Node<'d, 'i>> {
    let shapes = shape_tree(tree)?;
    let mut shapes = shapes.children().filter(|node| node.has_tag_name((P, "sp")));
    shapes.find(|shape| placeholder(*shape).is_some_and(|node| node.attribute("type") == Some("body")))
}

fn shape_tree<'d, 'i>(tree: &'d Document<'i>) -> Option<Node<'d, 'i>> {
    child(child(tree.root_element(), P, "cSld")?, P, "spTree")
}

impl<'t> Slide<'t> {
    pub(super) fn fault(&self, why: impl Into<String>) -> MetricError {
        if self.is_expected { task_error(why) } else { upstream_error(why) }
    }

    pub(super) fn source(&self) -> &SlideText {
        self.text
    }

    pub(super) fn root(&self) -> Node<'_, 't> {
        self.tree.root_element()
    }

    /// Returns the shapes of the slide, from the back to the front.
    pub(super) fn shapes(&self) -> Result<Vec<Node<'_, 't>>, MetricError> {
        let tree = shape_tree(&self.tree).ok_or_else(|| self.fault("a slide has no shapes"))?;
        Ok(shapes_of(tree).collect())
    }

    /// Returns the placeholder of the layout from which a placeholder of this number inherits its place, and that of
    /// the master from which this one inherits.
    pub(super) fn inherited(&self, number: u64) -> Vec<Node<'_, 't>> {
        let Some(layout) = self.layout.as_ref().and_then(shape_tree) else { return Vec::new() };
        let base = shapes_of(layout)
            .find(|shape| placeholder(*shape).is_some_and(|node| placeholder_number(node) == number));
        let Some(base) = base else { return Vec::new() };
        let kind = placeholder(base).map_or("obj", |node| node.attribute("type").unwrap_or("obj"));
        let wanted = match kind {
            "ctrTitle" | "title" => "title",
            "dt" => "dt",
            "ftr" => "ftr",
            "sldNum" => "sldNum",
            "body" | "chart" | "clipArt" | "dgm" | "media" | "obj" | "pic" | "subTitle" | "tbl" => "body",
            _ => return vec![base],
        };
        let master = self.master.as_ref().and_then(shape_tree);
        let above = master.into_iter().flat_map(shapes_of).find(|shape| {
            placeholder(*shape).is_some_and(|node| node.attribute("type").unwrap_or("obj") == wanted)
        });
        std::iter::once(base).chain(above).collect()
    }

    /// Returns the background fill of the slide itself, or `None` where it is inherited.
    pub(super) fn background(&self) -> Option<Node<'_, 't>> {
        background(&self.tree)
    }

    /// Returns whether the slide's background has properties of its own.
    pub(super) fn has_background(&self) -> bool {
        background_properties(&self.tree).is_some()
    }

    /// Returns the background fill of the slide's master.
    pub(super) fn master_background(&self) -> Result<Option<Node<'_, 't>>, MetricError> {
        let master = self.master.as_ref().ok_or_else(|| self.fault("a slide has no master"))?;
        Ok(background(master))
    }
}

/// Returns the fill of a background that has properties of its own.
fn background<'d, 'i>(tree: &'d Document<'i>) -> Option<Node<'d, 'i>> {
    fill(background_properties(tree)?)
}

fn background_properties<'d, 'i>(tree: &'d Document<'i>) -> Option<Node<'d, 'i>> {
    let common = child(tree.root_element(), P, "cSld")?;
    child(child(common, P, "bg")?, P, "bgPr")
}

/// Returns the shapes among the children of a tree of shapes or a group.
pub(super) fn shapes_of<'d, 'i>(tree: Node<'d, 'i>) -> impl Iterator<Item = Node<'d, 'i>> + use<'d, 'i> {
    const SHAPES: [&str; 6] = ["sp", "grpSp", "graphicFrame", "cxnSp", "pic", "contentPart"];
    tree.children()
        .filter(|node| node.tag_name().namespace() == Some(P) && SHAPES.contains(&node.tag_name().name()))
}

/// Returns the element that makes a shape a placeholder.
pub(super) fn placeholder<'d, 'i>(shape: Node<'d, 'i>) -> Option<Node<'d, 'i>> {
    let first = shape.children().find(Node::is_element)?;
    child(child(first, P, "nvPr")?, P, "ph")
}

/// Returns the number of a placeholder.
pub(super) fn placeholder_number(node: Node<'_, '_>) -> u64 {
    node.attribute("idx").and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}
