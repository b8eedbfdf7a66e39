//! A shape of a slide: its kind, its place and its text, as python-pptx has them.

use roxmltree::Node;

use super::element::{A, P, R, child, children};
use super::presentation::{Slide, placeholder, placeholder_number, shapes_of};
use super::text::{body_text, paragraphs};
use crate::python;
use crate::scoring::MetricError;

const TABLE: &str = "http://schemas.openxmlformats.org/drawingml/2006/table";
/// Maximum depth of groups within groups.
const DEPTH: usize = 100;

/// The kinds of shapes that metrics tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Freeform,
    Picture,
    Table,
    Other,
}

/// A shape of a slide.
#[derive(Clone, Copy)]
pub(super) struct Shape<'s, 't> {
    slide: &'s Slide<'t>,
    pub(super) node: Node<'s, 't>,
}

/// The place of a shape in English metric units; a side is `None` where neither the shape nor its layout give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) left: Option<i64>,
    pub(super) top: Option<i64>,
    pub(super) width: Option<i64>,
    pub(super) height: Option<i64>,
}

impl<'s, 't> Shape<'s, 't> {
    pub(super) fn new(slide: &'s Slide<'t>, node: Node<'s, 't>) -> Self {
        Self { slide, node }
    }

    fn name(&self) -> &'s str {
        self.node.tag_name().name()
    }

    /// Returns the kind of the shape; an error for one that python-pptx cannot name.
    pub(super) fn kind(&self) -> Result<Kind, MetricError> {
        let is_placeholder = placeholder(self.node).is_some();
        match self.name() {
            "sp" if is_placeholder => Ok(Kind::Other),
            "sp" => {
                let properties = child(self.node, P, "spPr");
                let has = |name: &str| properties.is_some_and(|node| child(node, A, name).is_some());
                let inner = child(self.node, P, "nvSpPr").and_then(|node| child(node, P, "cNvSpPr"));
                let is_text_box = inner
                    .and_then(|node| node.attribute("txBox"))
                    .is_some_and(|on| on == "1" || on == "true");
                if has("custGeom") {
                    Ok(Kind::Freeform)
                } else if has("prstGeom") || is_text_box {
                    Ok(Kind::Other)
                } else {
                    Err(self.slide.fault("a shape is of no known kind"))
                }
            }
            "pic" if is_placeholder => Ok(Kind::Other),
            "pic" => {
                let inner = child(self.node, P, "nvPicPr").and_then(|node| child(node, P, "nvPr"));
                let is_movie = inner.is_some_and(|node| child(node, A, "videoFile").is_some());
                Ok(if is_movie { Kind::Other } else { Kind::Picture })
            }
            "graphicFrame" if self.graphic() == Some(TABLE) => Ok(Kind::Table),
            "contentPart" => Err(self.slide.fault("a slide has a part of other content")),
            _ => Ok(Kind::Other),
        }
    }

    fn graphic_data(&self) -> Option<Node<'s, 't>> {
        child(child(self.node, A, "graphic")?, A, "graphicData")
    }

    fn graphic(&self) -> Option<&'s str> {
        self.graphic_data()?.attribute("uri")
    }

    /// Returns whether the shape can have text.
    pub(super) fn has_text(&self) -> bool {
        self.name() == "sp"
    }

    /// Returns the text of the shape.
    pub(super) fn text(&self) -> String {
        child(self.node, P, "txBody").map(body_text).unwrap_or_default()
    }

    /// Returns the paragraphs of the shape; `None` for a shape without a text body, which counts as one empty paragraph.
    pub(super) fn paragraphs(&self) -> Option<Vec<Node<'s, 't>>> {
        Some(paragraphs(Some(child(self.node, P, "txBody")?)))
    }

    /// Returns the place of the shape. A placeholder inherits what it does not give itself.
    pub(super) fn place(&self) -> Result<Place, MetricError> {
        let mut places = vec![self.own_place(self.node)?];
        if let Some(mark) = placeholder(self.node).filter(|_| matches!(self.name(), "sp" | "pic")) {
            for node in self.slide.inherited(placeholder_number(mark)) {
                places.push(self.own_place(node)?);
            }
        }
        let first = |side: fn(&Place) -> Option<i64>| places.iter().find_map(side);
        Ok(Place {
            left: first(|place| place.left),
            top: first(|place| place.top),
            width: first(|place| place.width),
            height: first(|place| place.height),
        })
    }

    fn own_place(&self, node: Node<'s, 't>) -> Result<Place, MetricError> {
        let transform = match node.tag_name().name() {
            "graphicFrame" => child(node, P, "xfrm"),
            "grpSp" => child(node, P, "grpSpPr").and_then(|node| child(node, A, "xfrm")),
            _ => child(node, P, "spPr").and_then(|node| child(node, A, "xfrm")),
        };
        let side = |element: &str, name: &str| -> Result<Option<i64>, MetricError> {
            let Some(node) = transform.and_then(|node| child(node, A, element)) else { return Ok(None) };
            let number = node.attribute(name).and_then(python::int);
            number.map(Some).ok_or_else(|| self.slide.fault(format!("the {name} of a shape cannot be read")))
        };
        Ok(Place {
            left: side("off", "x")?,
            top: side("off", "y")?,
            width: side("ext", "cx")?,
            height: side("ext", "cy")?,
        })
    }

    /// Returns the name of the relationship to the picture that the shape shows.
    pub(super) fn picture(&self) -> Option<&'s str> {
        child(child(self.node, P, "blipFill")?, A, "blip")?.attribute((R, "embed"))
    }

    /// Returns the rows of the shape's table, and the number of its columns.
    pub(super) fn table(&self) -> Result<Table<'s, 't>, MetricError> {
        let table = self.graphic_data().and_then(|node| child(node, A, "tbl"));
        let table = table.filter(|_| self.name() == "graphicFrame" && self.graphic() == Some(TABLE));
        let table = table.ok_or_else(|| self.slide.fault("the shape at the place of a table is none"))?;
        let grid = child(table, A, "tblGrid").ok_or_else(|| self.slide.fault("a table has no columns"))?;
        Ok(Table {
            columns: children(grid, A, "gridCol").count(),
            rows: children(table, A, "tr").map(|row| children(row, A, "tc").collect()).collect(),
        })
    }

    /// Returns this shape and the shapes of its groups, as far as they can have text.
    pub(super) fn with_text(&self) -> Result<Vec<Self>, MetricError> {
        let mut found = Vec::new();
        self.collect_text(&mut found, 0)?;
        Ok(found)
    }

    fn collect_text(&self, found: &mut Vec<Self>, depth: usize) -> Result<(), MetricError> {
        if depth > DEPTH {
            return Err(self.slide.fault("groups are nested too deep"));
        }
        if self.has_text() {
            found.push(*self);
        }
        if self.name() == "grpSp" {
            for node in shapes_of(self.node) {
                Self::new(self.slide, node).collect_text(found, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// A table of a slide.
pub(super) struct Table<'s, 't> {
    pub(super) columns: usize,
    pub(super) rows: Vec<Vec<Node<'s, 't>>>,
}
