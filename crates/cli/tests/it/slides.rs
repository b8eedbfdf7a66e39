//! Presentations from short descriptions: slides with a title and a text, each run with all of its formatting, so that
//! a program that saves the file again has nothing to add.

use serde::Deserialize;

use crate::documents::{LINKS, Link, Part, escaped};

const GROUP: &str =
    "<p:nvGrpSpPr><p:cNvPr id='1' name=''/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>";
/// The colours of a theme by the names that a master has for them.
const COLORS: &str = "<p:clrMap bg1='lt1' tx1='dk1' bg2='lt2' tx2='dk2' accent1='accent1' accent2='accent2' \
    accent3='accent3' accent4='accent4' accent5='accent5' accent6='accent6' hlink='hlink' folHlink='folHlink'/>";
/// English metric units of a centimetre.
const CENTIMETRE: u64 = 360_000;

/// A slide.
#[derive(Deserialize)]
pub(crate) struct Slide {
    /// The colour of its background, where it has its own.
    background: Option<String>,
    notes: Option<String>,
    shapes: Vec<Shape>,
}

/// A placeholder with text.
#[derive(Deserialize)]
struct Shape {
    /// `title` or `body`.
    kind: String,
    /// Left, top, width and height in centimetres.
    at: [u64; 4],
    lines: Vec<Line>,
    #[serde(flatten)]
    look: Look,
}

/// A paragraph, in the look of its shape or in its own.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Plain(String),
    Marked {
        text: String,
        #[serde(flatten)]
        look: Look,
    },
}

/// The look of text.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Look {
    /// In points.
    size: u32,
    bold: bool,
    underline: bool,
    strike: bool,
    color: Option<String>,
    face: Option<String>,
}

/// A page: what kind of part it is, what it shows, and what follows that.
struct Page<'a> {
    tag: &'a str,
    background: Option<&'a str>,
    shapes: String,
    after: &'a str,
}

/// Makes the parts of a presentation, the main one first.
pub(crate) fn parts(slides: &[Slide]) -> Vec<Part> {
    let mut parts = vec![main(slides.len()), master(), layout()];
    for (number, slide) in (1..).zip(slides) {
        let mut links = vec![Link::new("slideLayout", "../slideLayouts/slideLayout1.xml")];
        if let Some(notes) = &slide.notes {
            links.push(Link::new("notesSlide", &format!("../notesSlides/notesSlide{number}.xml")));
            parts.push(Part {
                path: format!("ppt/notesSlides/notesSlide{number}.xml"),
                kind: "presentationml.notesSlide",
                text: Page { tag: "notes", background: None, shapes: body(notes), after: "" }.text(),
                links: vec![Link::new("slide", &format!("../slides/slide{number}.xml"))],
            });
        }
        let shapes = (2..).zip(&slide.shapes).map(|(number, shape)| shape.text(number)).collect();
        let page = Page { tag: "sld", background: slide.background.as_deref(), shapes, after: "" };
        parts.push(Part {
            path: format!("ppt/slides/slide{number}.xml"),
            kind: "presentationml.slide",
            text: page.text(),
            links,
        });
    }
    parts
}

fn main(count: usize) -> Part {
    let listed: String =
        (2..2 + count).map(|link| format!("<p:sldId id='{}' r:id='r{link}'/>", 254 + link)).collect();
    let slides = (1..=count).map(|number| Link::new("slide", &format!("slides/slide{number}.xml")));
    let first = Link::new("slideMaster", "slideMasters/slideMaster1.xml");
    Part {
        path: "ppt/presentation.xml".to_owned(),
        kind: "presentationml.presentation.main",
        text: format!(
            "<p:presentation {}><p:sldMasterIdLst><p:sldMasterId id='2147483648' r:id='r1'/></p:sldMasterIdLst>\
             <p:sldIdLst>{listed}</p:sldIdLst><p:sldSz cx='10080000' cy='7560000'/>\
             <p:notesSz cx='7560000' cy='10080000'/></p:presentation>",
            spaces()
        ),
        links: std::iter::once(first).chain(slides).collect(),
    }
}

fn master() -> Part {
    let list = "<p:sldLayoutIdLst><p:sldLayoutId id='2147483649' r:id='r1'/></p:sldLayoutIdLst>";
    let after = format!("{COLORS}{list}");
    let page = Page { tag: "sldMaster", background: Some("FFFFFF"), shapes: body("Text"), after: &after };
    Part {
        path: "ppt/slideMasters/slideMaster1.xml".to_owned(),
        kind: "presentationml.slideMaster",
        text: page.text(),
        links: vec![Link::new("slideLayout", "../slideLayouts/slideLayout1.xml")],
    }
}

fn layout() -> Part {
    Part {
        path: "ppt/slideLayouts/slideLayout1.xml".to_owned(),
        kind: "presentationml.slideLayout",
        text: Page { tag: "sldLayout", background: None, shapes: body("Text"), after: "" }.text(),
        links: vec![Link::new("slideMaster", "../slideMasters/slideMaster1.xml")],
    }
}

/// A title and a text, as masters have them, and the notes of a slide.
fn body(text: &str) -> String {
    let shape = |kind: &str, at, text: &str| Shape {
        kind: kind.to_owned(),
        at,
        lines: vec![Line::Plain(text.to_owned())],
        look: Look::default(),
    };
    [shape("title", [1, 1, 26, 3], "Title").text(2), shape("body", [1, 5, 26, 14], text).text(3)].concat()
}

fn spaces() -> String {
    const FORMAT: &str = "http://schemas.openxmlformats.org";
    format!(
        "xmlns:p='{FORMAT}/presentationml/2006/main' xmlns:a='{FORMAT}/drawingml/2006/main' xmlns:r='{LINKS}'"
    )
}

fn filled(color: &str) -> String {
    format!("<a:solidFill><a:srgbClr val='{color}'/></a:solidFill>")
}

impl Page<'_> {
    fn text(&self) -> String {
        let Self { tag, background, shapes, after } = self;
        let fill = background
            .map(filled)
            .map_or_else(String::new, |fill| format!("<p:bg><p:bgPr>{fill}<a:effectLst/></p:bgPr></p:bg>"));
        let spaces = spaces();
        format!(
            "<p:{tag} {spaces}><p:cSld>{fill}<p:spTree>{GROUP}{shapes}</p:spTree></p:cSld>{after}</p:{tag}>"
        )
    }
}

impl Shape {
    fn text(&self, number: u32) -> String {
        let [left, top, width, height] = self.at.map(|side| side * CENTIMETRE);
        let place = if self.kind == "title" { "type='title'" } else { "type='body' idx='1'" };
        let lines: String = self.lines.iter().map(|line| line.text(&self.look)).collect();
        format!(
            "<p:sp><p:nvSpPr><p:cNvPr id='{number}' name='Shape {number}'/><p:cNvSpPr/><p:nvPr><p:ph {place}/></p:nvPr>\
             </p:nvSpPr><p:spPr><a:xfrm><a:off x='{left}' y='{top}'/><a:ext cx='{width}' cy='{height}'/></a:xfrm>\
             <a:prstGeom prst='rect'><a:avLst/></a:prstGeom></p:spPr>\
             <p:txBody><a:bodyPr/><a:lstStyle/>{lines}</p:txBody></p:sp>"
        )
    }
}

impl Line {
    fn text(&self, shapes: &Look) -> String {
        let (text, look) = match self {
            Self::Plain(text) => (text, shapes),
            Self::Marked { text, look } => (text, look),
        };
        format!("<a:p><a:pPr><a:buNone/></a:pPr><a:r>{}<a:t>{}</a:t></a:r></a:p>", look.text(), escaped(text))
    }
}

impl Look {
    fn text(&self) -> String {
        let size = if self.size > 0 { format!(" sz='{}'", self.size * 100) } else { String::new() };
        let flag = |is_on: bool, text: &'static str| if is_on { text } else { "" };
        let bold = flag(self.bold, " b='1'");
        let line = flag(self.underline, " u='sng'");
        let strike = flag(self.strike, " strike='sngStrike'");
        let fill = filled(self.color.as_deref().unwrap_or("000000"));
        let face = self.face.as_deref().unwrap_or("DejaVu Sans");
        format!("<a:rPr lang='en-US'{size}{bold}{line}{strike}>{fill}<a:latin typeface='{face}'/></a:rPr>")
    }
}
