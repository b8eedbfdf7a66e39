//! The comparison of two presentations, slide by slide and shape by shape, in upstream's order.

use roxmltree::{Node, NodeId};

use super::element::{A, child};
use super::presentation::{Presentation, Slide, SlideText};
use super::shape::{Kind, Place, Shape};
use super::text::{
    Color, Font, alignment, bullets, font, level, paragraph_text, paragraphs, runs, solid_color,
};
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error};

/// The difference of two slides, if any, in words.
type Difference = Result<Option<String>, MetricError>;

/// What is compared.
struct Scope<'c> {
    case: &'c MetricInput<'c>,
    tolerance: f64,
}

/// The same thing of both presentations.
#[derive(Clone, Copy)]
struct Both<T> {
    found: T,
    wanted: T,
}

/// The slides under comparison, and what upstream has looked at in them.
struct SlidePair<'s, 't> {
    scope: &'s Scope<'s>,
    slides: Both<&'s Slide<'t>>,
    number: usize,
    seen: Both<Vec<NodeId>>,
    bullets_compared: bool,
}

/// Compares two presentations.
pub(crate) fn compare(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(score) => return Ok(score),
    };
    let expected = case.expected_file()?;
    let tolerance = match case.options.get("approximately_tolerance") {
        None => 0.005,
        Some(value) => {
            value.as_f64().ok_or_else(|| task_error("`approximately_tolerance` must be a number"))?
        }
    };
    let scope = Scope { case, tolerance };
    let (found, wanted) = (Presentation::open(file, false)?, Presentation::open(expected, true)?);
    if found.count() != wanted.count() && scope.examines("number_of_slides") {
        return Ok(Score::none(format!("{} slides, expected {}", found.count(), wanted.count())));
    }
    for number in 0..found.count().min(wanted.count()) {
        let texts = Both { found: found.slide(number)?, wanted: wanted.slide(number)? };
        let slides = Both { found: found.parse(&texts.found)?, wanted: wanted.parse(&texts.wanted)? };
        let mut pair = SlidePair {
            scope: &scope,
            slides: Both { found: &slides.found, wanted: &slides.wanted },
            number: number + 1,
            seen: Both { found: Vec::new(), wanted: Vec::new() },
            bullets_compared: false,
        };
        if let Some(difference) = pair.compare()? {
            return Ok(Score::none(format!("slide {}: {difference}", number + 1)));
        }
    }
    Ok(Score::full("the presentations are equal in what is compared"))
}

impl Scope<'_> {
    /// Returns whether an option `examine_…` is on. Most are by default.
    fn examines(&self, name: &str) -> bool {
        const OFF: [&str; 7] = [
            "title_bottom_position",
            "table_bottom_position",
            "right_position",
            "top_position",
            "shape_for_shift_size",
            "image_size",
            "modify_height",
        ];
        self.case.option(&format!("examine_{name}"), !OFF.contains(&name))
    }
}

impl<'s, 't> SlidePair<'s, 't> {
    fn compare(&mut self) -> Difference {
        let background =
            Both { found: background(self.slides.found)?, wanted: background(self.slides.wanted)? };
        if background.found != background.wanted && self.scope.examines("background_color") {
            return told(format!(
                "the background is {:?}, expected {:?}",
                background.found, background.wanted
            ));
        }
        let notes = Both { found: notes(self.slides.found)?, wanted: notes(self.slides.wanted)? };
        if notes.found.trim() != notes.wanted.trim() && self.scope.examines("note") {
            return told(format!("the notes are {}, expected {}", quote(notes.found), quote(notes.wanted)));
        }
        let shapes = Both { found: shapes(self.slides.found)?, wanted: shapes(self.slides.wanted)? };
        let texts = Both { found: with_text(&shapes.found)?, wanted: with_text(&shapes.wanted)? };
        if shapes.found.len() != shapes.wanted.len() {
            return told(format!("{} shapes, expected {}", shapes.found.len(), shapes.wanted.len()));
        }
        for (at, (found, wanted)) in shapes.found.iter().zip(&shapes.wanted).enumerate() {
            if let Some(difference) = self.compare_shapes(Both { found: *found, wanted: *wanted })? {
                return told(format!("shape {at}: {difference}"));
            }
        }
        self.compare_texts(&texts)
    }

    fn compare_shapes(&mut self, shapes: Both<Shape<'s, 't>>) -> Difference {
        let kind = Both { found: shapes.found.kind()?, wanted: shapes.wanted.kind()? };
        if let Some(difference) = self.compare_places(&shapes, kind)? {
            return Ok(Some(difference));
        }
        if kind.found == Kind::Table
            && let Some(difference) = self.compare_tables(&shapes)?
        {
            return Ok(Some(difference));
        }
        if !shapes.found.has_text() || !shapes.wanted.has_text() {
            return Ok(None);
        }
        let (text, expected) = (shapes.found.text(), shapes.wanted.text());
        if text.trim() != expected.trim() && self.scope.examines("text") {
            return told(format!("the text is {}, expected {}", quote(&text), quote(&expected)));
        }
        let (found, wanted) = (shapes.found.paragraphs(), shapes.wanted.paragraphs());
        let count = |list: &Option<Vec<_>>| list.as_ref().map_or(1, Vec::len);
        if count(&found) != count(&wanted) {
            return told(format!("{} paragraphs, expected {}", count(&found), count(&wanted)));
        }
        // A shape without a text body has one empty paragraph, which equals an empty one of the other shape.
        for (found, wanted) in found.unwrap_or_default().into_iter().zip(wanted.unwrap_or_default()) {
            if let Some(difference) = self.compare_paragraphs(Both { found, wanted })? {
                return Ok(Some(difference));
            }
        }
        Ok(None)
    }

    /// Compares the places of shapes by upstream's rules, most of which hold for single tasks.
    fn compare_places(&self, shapes: &Both<Shape<'s, 't>>, kind: Both<Kind>) -> Difference {
        let Both { found, wanted } = Both { found: shapes.found.place()?, wanted: shapes.wanted.place()? };
        let has_text = shapes.found.has_text() && shapes.wanted.has_text();
        let no_text = !shapes.found.has_text() && !shapes.wanted.has_text();
        let same_text = has_text && shapes.found.text() == shapes.wanted.text();
        let both = |wanted: Kind| kind.found == wanted && kind.wanted == wanted;
        let is_same = || self.same_place(&found, &wanted);
        let moved = |what: &str| told(format!("{what} at {found:?}, expected {wanted:?}"));
        if self.scope.examines("title_bottom_position") {
            if same_text {
                if shapes.found.text() == "Product Comparison" && !self.is_lower(found.top, wanted.top)? {
                    return moved("the title is not lower");
                }
            } else if !is_same()? {
                return moved("the shape is");
            }
        }
        if self.scope.examines("table_bottom_position") {
            if self.number == 3 && both(Kind::Table) {
                if !self.is_lower(found.top, wanted.top)? {
                    return moved("the table is not lower");
                }
            } else if !is_same()? {
                return moved("the shape is");
            }
        }
        if self.scope.examines("right_position") && self.number == 2 && no_text {
            let (left, limit) = (self.known(found.left)?, self.known(wanted.left)?);
            if left <= limit || left < 4_320_000 {
                return moved("the shape is not farther right");
            }
        }
        if self.scope.examines("top_position") && self.number == 2 && both(Kind::Picture) {
            let (top, limit) = (self.known(found.top)?, self.known(wanted.top)?);
            if top >= limit || top > 1_980_000 {
                return moved("the picture is not higher");
            }
        }
        let is_moved_note = same_text && shapes.found.text() == "Elaborate on what you want to discuss.";
        if self.scope.examines("shape_for_shift_size") && !is_same()? && !is_moved_note {
            return moved("the shape is");
        }
        if !is_same()? && self.scope.examines("shape") {
            return moved("the shape is");
        }
        if self.scope.examines("image_size") {
            let sides = self.near(found.width, wanted.width)? && self.near(found.height, wanted.height)?;
            if both(Kind::Picture) && !sides || !both(Kind::Picture) && !is_same()? {
                return moved("the picture is");
            }
        }
        if self.scope.examines("modify_height") {
            let by_height = no_text || both(Kind::Freeform);
            let same = if by_height { self.near(found.height, wanted.height)? } else { is_same()? };
            if !same {
                return moved("the shape is");
            }
        }
        Ok(None)
    }

    fn is_lower(&self, found: Option<i64>, wanted: Option<i64>) -> Result<bool, MetricError> {
        let (found, wanted) = (self.known(found)?, self.known(wanted)?);
        Ok(found > wanted && found >= 3_600_000)
    }

    fn known(&self, side: Option<i64>) -> Result<i64, MetricError> {
        side.ok_or_else(|| self.slides.found.fault("a shape has no place"))
    }

    /// Returns whether all sides are nearly equal, looked at in upstream's order.
    fn same_place(&self, found: &Place, wanted: &Place) -> Result<bool, MetricError> {
        let sides = [
            (found.left, wanted.left),
            (found.top, wanted.top),
            (found.width, wanted.width),
            (found.height, wanted.height),
        ];
        for (found, wanted) in sides {
            if !self.near(found, wanted)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn near(&self, found: Option<i64>, wanted: Option<i64>) -> Result<bool, MetricError> {
        if found == wanted {
            return Ok(true);
        }
        if found == Some(0) || wanted == Some(0) {
            return Ok(false);
        }
        let (found, wanted) = (self.known(found)? as f64, self.known(wanted)? as f64);
        Ok((found - wanted).abs() / found.abs().max(wanted.abs()) <= self.scope.tolerance)
    }

    fn compare_tables(&self, shapes: &Both<Shape<'s, 't>>) -> Difference {
        let (found, wanted) = (shapes.found.table()?, shapes.wanted.table()?);
        let (rows, columns) = (found.rows.len(), found.columns);
        if rows != wanted.rows.len() || columns != wanted.columns {
            let (lines, across) = (wanted.rows.len(), wanted.columns);
            return told(format!("the table is {rows} by {columns}, expected {lines} by {across}"));
        }
        for row in 0..rows {
            for column in 0..columns {
                let cell =
                    |rows: &[Vec<Node<'s, 't>>]| rows.get(row).and_then(|cells| cells.get(column)).copied();
                let cells = cell(&found.rows).zip(cell(&wanted.rows));
                let (one, other) =
                    cells.ok_or_else(|| self.slides.found.fault("a row of a table is too short"))?;
                if let Some(difference) = self.compare_cells(one, other)? {
                    return told(format!("cell {row}, {column} of the table: {difference}"));
                }
            }
        }
        Ok(None)
    }

    fn compare_cells(&self, found: Node<'s, 't>, wanted: Node<'s, 't>) -> Difference {
        let body = |cell| child(cell, A, "txBody");
        let count = |cell| body(cell).map_or(1, |body| paragraphs(Some(body)).len());
        if count(found) != count(wanted) {
            return told(format!("{} paragraphs, expected {}", count(found), count(wanted)));
        }
        for (one, other) in paragraphs(body(found)).into_iter().zip(paragraphs(body(wanted))) {
            let (runs_found, runs_wanted) = (runs(one), runs(other));
            if runs_found.len() != runs_wanted.len() {
                return told(format!("{} runs, expected {}", runs_found.len(), runs_wanted.len()));
            }
            for (one, other) in runs_found.into_iter().zip(runs_wanted) {
                let (font, wanted) = (self.font(one)?, self.font(other)?);
                let differs = colors_differ(font.color, wanted.color) && self.scope.examines("color_rgb")
                    || font.bold.unwrap_or(false) != wanted.bold.unwrap_or(false)
                    || font.italic.unwrap_or(false) != wanted.italic.unwrap_or(false)
                    || underlines_differ(&font, &wanted);
                if differs {
                    return told(format!("a run is in {font:?}, expected {wanted:?}"));
                }
            }
        }
        Ok(None)
    }

    fn font(&self, run: Node<'s, 't>) -> Result<Font<'s>, MetricError> {
        font(run).map_err(|why| self.slides.found.fault(why))
    }

    fn compare_paragraphs(&mut self, both: Both<Node<'s, 't>>) -> Difference {
        let Both { found, wanted } = both;
        let fault = |why: String| self.slides.found.fault(why);
        if self.scope.examines("alignment") {
            let (found, wanted) = (alignment(found).map_err(fault)?, alignment(wanted).map_err(fault)?);
            if found != wanted {
                return told(format!("a paragraph is aligned {found:?}, expected {wanted:?}"));
            }
        }
        let (text, expected) = (paragraph_text(found), paragraph_text(wanted));
        if text != expected && self.scope.examines("text") {
            return told(format!("a paragraph is {}, expected {}", quote(&text), quote(&expected)));
        }
        let (indent, level) = (level(found).map_err(fault)?, level(wanted).map_err(fault)?);
        if indent != level && self.scope.examines("indent") {
            return told(format!("{} is of the level {indent}, expected {level}", quote(&text)));
        }
        self.seen.found.push(found.id());
        self.seen.wanted.push(wanted.id());
        let (runs_found, runs_wanted) = (runs(found), runs(wanted));
        if runs_found.len() != runs_wanted.len() {
            let told_text = quote(&text);
            return told(format!(
                "{told_text} has {} runs, expected {}",
                runs_found.len(),
                runs_wanted.len()
            ));
        }
        for (one, other) in runs_found.into_iter().zip(runs_wanted) {
            let (font, wanted) = (self.font(one)?, self.font(other)?);
            if let Some(what) = self.compare_fonts(&font, &wanted) {
                return told(format!("{what} of {} is in {font:?}, expected {wanted:?}", quote(&text)));
            }
            if self.bullets_differ() {
                return told("the items of the slide's lists differ".to_owned());
            }
        }
        Ok(None)
    }

    fn compare_fonts(&self, font: &Font<'_>, wanted: &Font<'_>) -> Option<&'static str> {
        let examines = |name: &str| self.scope.examines(name);
        if font.name != wanted.name && examines("font_name") {
            return Some("the font");
        }
        if font.size != wanted.size && examines("font_size") {
            return Some("the size");
        }
        if font.bold.unwrap_or(false) != wanted.bold.unwrap_or(false) && examines("font_bold") {
            return Some("the weight");
        }
        if font.italic.unwrap_or(false) != wanted.italic.unwrap_or(false) && examines("font_italic") {
            return Some("the slope");
        }
        if colors_differ(font.color, wanted.color) && examines("color_rgb") {
            return Some("the colour");
        }
        if underlines_differ(font, wanted) && examines("font_underline") {
            return Some("the underline");
        }
        (font.strike != wanted.strike && examines("strike_through")).then_some("the strike-through")
    }

    /// Compares the items of lists of the whole slide. Upstream does so at each run; what it finds first is what it
    /// finds.
    fn bullets_differ(&mut self) -> bool {
        if self.bullets_compared || !self.scope.examines("bullets") {
            return false;
        }
        self.bullets_compared = true;
        let found = bullets(self.slides.found.root(), &self.seen.found);
        let wanted = bullets(self.slides.wanted.root(), &self.seen.wanted);
        found.zip(wanted).is_some_and(|(found, wanted)| found != wanted)
    }

    /// Compares the shapes with text once more, together with those of groups.
    fn compare_texts(&self, texts: &Both<Vec<Shape<'s, 't>>>) -> Difference {
        let Both { found, wanted } = texts;
        if found.len() != wanted.len() {
            return told(format!("{} shapes with text, expected {}", found.len(), wanted.len()));
        }
        if !self.scope.examines("alignment") {
            return Ok(None);
        }
        for (one, other) in found.iter().zip(wanted) {
            let (text, expected) = (one.text(), other.text());
            if text.trim() != expected.trim() && self.scope.examines("text") {
                return told(format!("a text is {}, expected {}", quote(&text), quote(&expected)));
            }
            let (lines, others) = (one.paragraphs(), other.paragraphs());
            let count = |list: &Option<Vec<_>>| list.as_ref().map_or(1, Vec::len);
            if count(&lines) != count(&others) {
                return told(format!("{} paragraphs, expected {}", count(&lines), count(&others)));
            }
            for (line, other) in lines.unwrap_or_default().into_iter().zip(others.unwrap_or_default()) {
                let aligned = |node| alignment(node).map_err(|why| self.slides.found.fault(why));
                if aligned(line)? != aligned(other)? {
                    return told(format!("{} is aligned otherwise", quote(&paragraph_text(line))));
                }
            }
        }
        Ok(None)
    }
}

fn told(difference: String) -> Difference {
    Ok(Some(difference))
}

/// Returns whether two colours differ that are both given in red, green and blue.
fn colors_differ(found: Option<Color>, wanted: Option<Color>) -> bool {
    found.zip(wanted).is_some_and(|(found, wanted)| found != wanted)
}

/// Returns whether two underlines differ. One that is not given equals each but a single line that only the expected
/// or the found run has.
fn underlines_differ(found: &Font<'_>, wanted: &Font<'_>) -> bool {
    match (found.underline, wanted.underline) {
        (Some(found), Some(wanted)) => found != wanted,
        (None, Some(_)) => wanted.single_underline,
        (Some(_), None) => found.single_underline,
        (None, None) => false,
    }
}

fn shapes<'s, 't>(slide: &'s Slide<'t>) -> Result<Vec<Shape<'s, 't>>, MetricError> {
    Ok(slide.shapes()?.into_iter().map(|node| Shape::new(slide, node)).collect())
}

fn with_text<'s, 't>(shapes: &[Shape<'s, 't>]) -> Result<Vec<Shape<'s, 't>>, MetricError> {
    let mut found = Vec::new();
    for shape in shapes {
        found.extend(shape.with_text()?);
    }
    Ok(found)
}

fn notes<'s>(slide: &'s Slide<'_>) -> Result<&'s str, MetricError> {
    let text: &SlideText = slide.source();
    text.notes.as_deref().map_err(|why| slide.fault(why.clone()))
}

/// Returns the colour of a slide's background: its own, or that of its master.
fn background(slide: &Slide<'_>) -> Result<Option<Color>, MetricError> {
    let own = slide.background();
    match background_kind(own) {
        Background::Solid => {
            let color = own.map(solid_color).transpose().map_err(|why| slide.fault(why))?.flatten();
            color
                .map(Some)
                .ok_or_else(|| slide.fault("a background has a colour without red, green and blue"))
        }
        Background::None if own.is_some() || !slide.has_background() => {
            let master = slide.master_background()?;
            if background_kind(master) != Background::Solid {
                return Ok(None);
            }
            let color = master.map(solid_color).transpose().map_err(|why| slide.fault(why))?.flatten();
            color
                .map(Some)
                .ok_or_else(|| slide.fault("a background has a colour without red, green and blue"))
        }
        Background::None | Background::Other => Ok(None),
    }
}

/// The kind of a background's fill.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Background {
    Solid,
    None,
    Other,
}

pub(super) fn background_kind(fill: Option<Node<'_, '_>>) -> Background {
    match fill.map(|node| node.tag_name().name()) {
        Some("solidFill") => Background::Solid,
        None | Some("noFill") => Background::None,
        Some(_) => Background::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::Font;
    use super::{colors_differ, underlines_differ};

    #[test]
    fn what_is_inherited_differs_from_a_single_underline_only() {
        let font = |underline: Option<u8>, single_underline: bool| Font {
            name: None,
            size: None,
            bold: None,
            italic: None,
            underline,
            single_underline,
            color: None,
            strike: "noStrike",
        };
        let (none, off, single, wavy) =
            (font(None, false), font(Some(0), false), font(Some(1), true), font(Some(15), false));
        assert!(underlines_differ(&none, &single) && underlines_differ(&single, &none));
        assert!(!underlines_differ(&none, &off) && !underlines_differ(&wavy, &none));
        assert!(underlines_differ(&single, &off));
        assert!(!colors_differ(None, Some([0, 0, 0])) && colors_differ(Some([1, 0, 0]), Some([0, 0, 0])));
    }
}
