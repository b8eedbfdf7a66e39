//! Metrics of single parts of a presentation: size, transition, background, one picture.

use roxmltree::Node;
use serde_json::Value;

use super::comparison::{Background, background_kind};
use super::element::{A, P, child};
use super::presentation::{Presentation, Slide};
use super::shape::{Kind, Shape};
use super::text::{Color, runs, solid_color};
use crate::readers::xml;
use crate::readers::zip_reader::Archive;
use crate::scoring::{MetricError, MetricInput, Score, task_error, upstream_error};

/// Passes if the slides are higher than wide.
pub(crate) fn is_portrait(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(score) => return Ok(score),
    };
    let [width, height] = Presentation::open(file, false)?.size()?;
    Ok(Score::of(width < height, format!("the slides are {width} by {height}")))
}

/// Reads a part of the archive as upstream does without its reader of presentations.
fn plain_part(case: &MetricInput<'_>, name: &str) -> Result<Option<String>, MetricError> {
    let file = case.require_file()?;
    let mut archive = Archive::open(&file.bytes).map_err(upstream_error)?;
    archive.text(name).map_err(upstream_error)
}

/// Passes if a slide has a transition of this kind.
pub(crate) fn transition(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let bad = || task_error("rule \"slide_idx\" must be a whole number");
    let number = case.rule("slide_idx")?.as_i64().and_then(|index| index.checked_add(1)).ok_or_else(bad)?;
    let kind = case.rule_str("transition_type")?;
    let Some(text) = plain_part(case, &format!("ppt/slides/slide{number}.xml"))? else {
        return Ok(Score::none(format!("there is no slide {number}")));
    };
    let tree = xml::read(&text).map_err(upstream_error)?;
    let below = |node: Node<'_, '_>, name: &str| {
        node.descendants().skip(1).find(|node| node.has_tag_name((P, name))).map(|node| node.id())
    };
    let found = below(tree.root_element(), "transition").and_then(|id| tree.get_node(id));
    let has = found.is_some_and(|node| below(node, kind).is_some());
    Ok(Score::of(has, format!("slide {number} has {} transition {kind}", if has { "the" } else { "no" })))
}

/// Passes if the last but one colour of the slides' master is of this kind.
pub(crate) fn page_number_color(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("color")?;
    let text = plain_part(case, "ppt/slideMasters/slideMaster1.xml")?;
    let text = text.ok_or_else(|| upstream_error("the presentation has no master of its slides"))?;
    let tree = xml::read(&text).map_err(upstream_error)?;
    let in_fill = |node: &Node<'_, '_>| {
        let above = node.ancestors().skip(1);
        above.filter(|above| above.parent().is_some()).any(|above| above.has_tag_name((A, "solidFill")))
    };
    let colors = tree.descendants().filter(|node| node.has_tag_name((A, "srgbClr"))).filter(in_fill);
    let colors: Vec<Option<&str>> = colors.map(|node| node.attribute("val")).collect();
    let at =
        colors.len().checked_sub(2).ok_or_else(|| upstream_error("the master has fewer than two colours"))?;
    let Some(value) = colors[at] else { return Ok(Score::none("the colour has no value")) };
    let kind = wanted.as_str().unwrap_or_default();
    if !matches!(kind, "red" | "blue" | "green" | "black") {
        return Ok(Score::full(format!("{wanted} is no colour that is told apart")));
    }
    // Upstream takes the digits one place too far to the right.
    let part = |from: usize| {
        let digits = value.get(from..(from + 2).min(value.len())).unwrap_or_default();
        i64::from_str_radix(digits, 16).map_err(|_| upstream_error(format!("{value:?} is no colour")))
    };
    let start = usize::from(case.reproduces_bugs());
    let (red, green, blue) = (part(start)?, part(start + 2)?, part(start + 4)?);
    let above = |one: i64, other: i64| one > other + 50;
    let passed = match kind {
        "red" => above(red, green) && above(red, blue),
        "blue" => above(blue, green) && above(blue, red),
        "green" => above(green, red) && above(green, blue),
        _ => red < 50 && green < 50 && blue < 50,
    };
    Ok(Score::of(passed, format!("the colour is {value}, expected {kind}")))
}

/// Returns how near the slides' backgrounds are to a colour.
pub(crate) fn fill_distance(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = case.require_file()?;
    let wanted = color(case.rule("rgb")?)?;
    let original =
        case.rules()?.get("original_rgb").filter(|value| !value.is_null()).map(color).transpose()?;
    let presentation = Presentation::open(file, false)?;
    if presentation.count() == 0 {
        return Err(upstream_error("the presentation has no slides"));
    }
    let mut sum = 0.0;
    for number in 0..presentation.count() {
        let text = presentation.slide(number)?;
        let slide = presentation.parse(&text)?;
        sum += match shown_color(&slide)?.map(|found| found.map(i64::from)) {
            Some(found) if Some(found) != original => {
                let parts =
                    found.iter().zip(wanted).map(|(one, other)| ((one - other) * (one - other)) as f64);
                parts.sum::<f64>().sqrt() / (3.0 * 255.0_f64 * 255.0).sqrt()
            }
            _ => 1.0,
        };
    }
    let score = 1.0 - sum / presentation.count() as f64;
    Ok(Score { score, explanation: format!("the backgrounds are near by {score}") })
}

fn color(value: &Value) -> Result<[i64; 3], MetricError> {
    let bad = || task_error(format!("{value} is no list of red, green and blue"));
    let parts: Option<Vec<i64>> = value.as_array().ok_or_else(bad)?.iter().map(Value::as_i64).collect();
    parts.and_then(|parts| parts.try_into().ok()).ok_or_else(bad)
}

/// Returns the colour of a slide's background, of its own or of its master, if it is given in red, green and blue.
fn shown_color(slide: &Slide<'_>) -> Result<Option<Color>, MetricError> {
    let own = slide.background();
    let shown = match background_kind(own) {
        Background::None if own.is_some() || !slide.has_background() => slide.master_background()?,
        _ => own,
    };
    match shown.filter(|fill| background_kind(Some(*fill)) == Background::Solid) {
        Some(fill) => solid_color(fill).map_err(|why| slide.fault(why)),
        None => Ok(None),
    }
}

/// Passes if the picture of the first slide fills the slide and is in its middle.
pub(crate) fn stretched_image(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    const HALF_INCH: f64 = 457_200.0;
    let found = Presentation::open(case.require_file()?, false)?;
    let original = Presentation::open(case.expected_file()?, true)?;
    let (text, before) = (found.slide(0)?, original.slide(0)?);
    let (slide, before_slide) = (found.parse(&text)?, original.parse(&before)?);
    let (mut shapes, originals) = (pictures(&slide)?, pictures(&before_slide)?);
    let Some(first) = originals.first() else { return Ok(Score::none("the original slide has no picture")) };
    let bytes = |presentation: &Presentation<'_>, text, shape: &Shape<'_, '_>| {
        let id = shape.picture().ok_or_else(|| presentation.fault("a picture is not embedded"))?;
        presentation.picture(text, id)
    };
    let wanted = bytes(&original, &before, first)?;
    let mut same = None;
    for shape in shapes.drain(..) {
        if bytes(&found, &text, &shape)? == wanted {
            same = Some(shape);
        }
    }
    let Some(shape) = same else { return Ok(Score::none("the picture is not on the slide")) };
    let place = shape.place()?;
    let side = |side: Option<i64>| {
        side.map(|side| side as f64).ok_or_else(|| slide.fault("the picture has no place"))
    };
    let (left, top) = (side(place.left)?, side(place.top)?);
    let (width, height) = (side(place.width)?, side(place.height)?);
    let [full_width, full_height] = original.size()?.map(|side| side as f64);
    let far = (width - full_width).abs() > HALF_INCH
        || (height - full_height).abs() > HALF_INCH
        || (left - (full_width - width) / 2.0).abs() > HALF_INCH
        || (top - (full_height - height) / 2.0).abs() > HALF_INCH;
    Ok(Score::of(!far, format!("the picture is at {place:?} of {full_width} by {full_height}")))
}

fn pictures<'s, 't>(slide: &'s Slide<'t>) -> Result<Vec<Shape<'s, 't>>, MetricError> {
    let mut found = Vec::new();
    for node in slide.shapes()? {
        let shape = Shape::new(slide, node);
        if shape.kind()? == Kind::Picture {
            found.push(shape);
        }
    }
    Ok(found)
}

/// Passes if the first run of each named paragraph says whether it is struck through.
pub(crate) fn strike_through(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let presentation = Presentation::open(case.require_file()?, false)?;
    let (slides, shapes, paragraphs) = (
        indices(case, "slide_index_s")?,
        indices(case, "shape_index_s")?,
        indices(case, "paragraph_index_s")?,
    );
    for number in slides {
        let Some(number) = place(number, presentation.count()) else { return missing("slide", number) };
        let text = presentation.slide(number)?;
        let slide = presentation.parse(&text)?;
        let all = slide.shapes()?;
        for index in &shapes {
            let Some(at) = place(*index, all.len()) else { return missing("shape", *index) };
            let shape = Shape::new(&slide, all[at]);
            let Some(lines) = shape.paragraphs().filter(|_| shape.has_text()) else {
                return missing("text of the shape", *index);
            };
            for index in &paragraphs {
                let Some(at) = place(*index, lines.len()) else { return missing("paragraph", *index) };
                let Some(run) = runs(lines[at]).first().copied() else {
                    return missing("run of the paragraph", *index);
                };
                if child(run, A, "rPr").and_then(|node| node.attribute("strike")).is_none() {
                    return Ok(Score::none(format!("paragraph {index} is not struck through")));
                }
            }
        }
    }
    Ok(Score::full("all paragraphs are struck through"))
}

fn missing(what: &str, index: i64) -> Result<Score, MetricError> {
    Ok(Score::none(format!("there is no {what} {index}")))
}

fn indices(case: &MetricInput<'_>, name: &str) -> Result<Vec<i64>, MetricError> {
    let list =
        case.rule(name)?.as_array().map(|list| list.iter().map(Value::as_i64).collect::<Option<Vec<_>>>());
    list.flatten().ok_or_else(|| task_error(format!("rule {name:?} must be a list of whole numbers")))
}

/// Returns a place in a list; negative ones count from the end.
fn place(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if index < 0 { index + length } else { index };
    usize::try_from(at).ok().filter(|_| at < length)
}
