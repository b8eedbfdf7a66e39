//! Metrics of single properties of pictures, and of whole pictures.

use std::collections::BTreeMap;

use super::raster::{Mode, Raster};
use super::resample::Filter;
use super::similarity::{WINDOW, mean, number, sharpness, structural_similarity};
use super::source::{OrScore, Pictures, both, one};
use super::structure::number_option;
use crate::evidence::{EvidenceValue, FileRef};
use crate::scoring::{MetricError, MetricInput, Score, task_error, upstream_error};

/// By so much a similarity must be better than its base to count.
const BETTER: f64 = 0.01;
/// Grey below which a pixel is dark.
const DARK: u8 = 128;
/// Part of a side that is near its start or its middle.
const NEAR: f64 = 0.05;
/// Number of colours up to which NumPy's sort keeps equal counts in order, whatever the processor.
const STABLE: usize = 16;

/// Returns the structural similarity in grey, or how far it is above `reference_base_result`.
pub(crate) fn compare_images(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let base = number_option(case, "reference_base_result")?;
    let Pictures { found, wanted, .. } = match both(case)? {
        Ok(pictures) => pictures,
        Err(score) => return Ok(score),
    };
    let (found, wanted) = (found.to_grey(), wanted.to_grey());
    let (width, height) = (found.width, found.height).min((wanted.width, wanted.height));
    let found = found.scaled(width, height, Filter::Lanczos).map_err(task_error)?;
    let wanted = wanted.scaled(width, height, Filter::Lanczos).map_err(task_error)?;
    let similarity = structural_similarity(&found, &wanted, WINDOW)
        .ok_or_else(|| upstream_error(format!("{width} by {height} pixels are too few to be compared")))?;
    let score = match base {
        Some(base) if similarity >= base + BETTER => (similarity - base) / (1.0 - base),
        Some(_) => 0.0,
        None => similarity,
    };
    // Pictures that are each other's opposite have a similarity below zero.
    let score = if score < 0.0 && !case.reproduces_bugs() { 0.0 } else { score };
    Ok(Score { score, explanation: format!("structural similarity {similarity:.4}") })
}

/// Passes if each picture of a list has the same pixels as the expected one.
pub(crate) fn compare_list(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = listed(case.result);
    let wanted = case.expected.map_or_else(|| vec![None], listed);
    if wanted.iter().any(Option::is_none) && !case.reproduces_bugs() {
        return Err(task_error("an expected picture does not exist"));
    }
    if found.len() != wanted.len() && !case.reproduces_bugs() {
        let counts = format!("{} pictures, expected {}", found.len(), wanted.len());
        return Err(task_error(counts));
    }
    for (at, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        let (Some(found), Some(wanted)) = (found, wanted) else {
            return Ok(Score::none(format!("picture {at} does not exist")));
        };
        let pictures = Pictures::read(case, found, wanted)?;
        if !same_pixels(case, &pictures)? {
            return Ok(Score::none(format!("{} differs from {}", found.name, wanted.name)));
        }
    }
    Ok(Score::full(format!("all {} pictures are equal", found.len().min(wanted.len()))))
}

fn listed(side: &EvidenceValue) -> Vec<Option<&FileRef>> {
    match side {
        EvidenceValue::Files { files, .. } => files.iter().map(Option::as_ref).collect(),
        EvidenceValue::Absent { .. } | EvidenceValue::Value { .. } => vec![None],
    }
}

/// Compares pixels. Upstream looks at the opacity alone where there is one, and at the numbers of colours where
/// there is a palette.
fn same_pixels(case: &MetricInput<'_>, pictures: &Pictures) -> Result<bool, MetricError> {
    let Pictures { found, wanted, .. } = pictures;
    let scaled = found.scaled(wanted.width, wanted.height, Filter::Lanczos).map_err(task_error)?;
    let is_plain = matches!(wanted.mode, Mode::One | Mode::L | Mode::Rgb) && scaled.mode == wanted.mode;
    if is_plain {
        return Ok(scaled.bytes == wanted.bytes);
    }
    if !case.reproduces_bugs() {
        return Ok(scaled.to_rgba().bytes == wanted.to_rgba().bytes);
    }
    let scaled = scaled.to_mode(wanted.mode).map_err(task_error)?;
    let looked_at = |picture: &Raster| -> Vec<u8> {
        match picture.mode {
            Mode::La | Mode::Rgba => picture.pixels().filter_map(|pixel| pixel.last().copied()).collect(),
            _ => picture.bytes.clone(),
        }
    };
    Ok(looked_at(&scaled) == looked_at(wanted))
}

/// Passes if each pixel that is not black in the expected picture is green.
pub(crate) fn green_background(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let Pictures { found, wanted, .. } = match both(case)? {
        Ok(pictures) => pictures,
        Err(score) => return Ok(score),
    };
    let exact = case.reproduces_bugs();
    let has_colors = |picture: &Raster| matches!(picture.mode, Mode::Rgb | Mode::Rgba);
    if exact && !(has_colors(&found) && has_colors(&wanted)) {
        return Err(upstream_error("upstream reads pictures with red, green and blue alone"));
    }
    let (found, wanted) = (found.to_rgb(), wanted.to_rgb());
    for across in 0..wanted.width {
        for down in 0..wanted.height {
            // Upstream takes the column for the row, which is the same for squares only.
            let (x, y) = if exact { (down, across) } else { (across, down) };
            let outside = || upstream_error(format!("there is no pixel at {x}, {y}"));
            if pixel(&wanted, x, y).ok_or_else(outside)? == [0, 0, 0] {
                continue;
            }
            let [r, g, b] = pixel(&found, x, y).ok_or_else(outside)?;
            if g <= r || g <= b {
                return Ok(Score::none(format!("the pixel at {x}, {y} is {r}, {g}, {b}: not green")));
            }
        }
    }
    Ok(Score::full("all pixels of the background are green"))
}

fn pixel(picture: &Raster, x: usize, y: usize) -> Option<[u8; 3]> {
    let inside = x < picture.width && y < picture.height;
    let from = (y * picture.width + x) * 3;
    picture.bytes.get(from..from + 3).filter(|_| inside).and_then(|pixel| pixel.try_into().ok())
}

/// Passes if the leftmost dark pixel is near the left edge.
pub(crate) fn text_on_the_left(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let grey = match one(case)? {
        Ok(picture) => picture.to_grey(),
        Err(score) => return Ok(score),
    };
    let rows = grey.bytes.chunks_exact(grey.width.max(1));
    let first = rows.filter_map(|row| row.iter().position(|grey| *grey < DARK)).min().unwrap_or(grey.width);
    let limit = number(grey.width) * NEAR;
    Ok(Score::of(
        number(first) < limit,
        format!("the first dark pixel is in column {first}, below {limit:.1} wanted"),
    ))
}

/// Passes if the pixels of the triangle's colour have their middle near the picture's.
pub(crate) fn triangle_in_the_middle(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let picture = match one(case)? {
        Ok(picture) => picture,
        Err(score) => return Ok(score),
    };
    let has_channels = matches!(picture.mode, Mode::La | Mode::Rgb | Mode::Rgba);
    if case.reproduces_bugs() && !has_channels {
        return Err(upstream_error("upstream reads pictures with several channels alone"));
    }
    let picture = if has_channels { picture } else { picture.to_rgba() };
    let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
    picture.pixels().for_each(|pixel| *counts.entry(pixel).or_default() += 1);
    let color = if case.reproduces_bugs() { second_rarest(&counts)? } else { second_most(&counts) };
    let Some(color) = color else {
        return if case.reproduces_bugs() {
            Err(upstream_error("the picture has one colour"))
        } else {
            Ok(Score::none("the picture has one colour"))
        };
    };
    let (mut count, mut across, mut down) = (0, 0, 0);
    for (at, _) in picture.pixels().enumerate().filter(|(_, pixel)| *pixel == color) {
        count += 1;
        across += at % picture.width;
        down += at / picture.width;
    }
    let near = |sum: usize, side: usize| {
        (number(sum) / number(count) - number(side) / 2.0).abs() < NEAR * number(side)
    };
    let (x, y) = (number(across) / number(count), number(down) / number(count));
    Ok(Score::of(
        near(down, picture.height) && near(across, picture.width),
        format!("the middle of the triangle is at {x:.1}, {y:.1} of {} by {}", picture.width, picture.height),
    ))
}

/// Returns the most common colour but that of the background.
fn second_most<'a>(counts: &BTreeMap<&'a [u8], u64>) -> Option<&'a [u8]> {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    sorted.get(1).map(|(color, _)| **color)
}

/// Returns the colour that upstream takes: the second one of the rarest.
fn second_rarest<'a>(counts: &BTreeMap<&'a [u8], u64>) -> Result<Option<&'a [u8]>, MetricError> {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| **count);
    let Some((color, count)) = sorted.get(1) else { return Ok(None) };
    let alike = sorted.iter().filter(|(_, other)| other == count).count();
    if alike > 1 && sorted.len() > STABLE {
        return Err(task_error(format!(
            "{alike} colours have {count} pixels each; which one upstream takes depends on the processor"
        )));
    }
    Ok(Some(**color))
}

/// Passes if the picture is sharper than the expected one.
pub(crate) fn sharper(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let (found_file, wanted_file) = (case.require_file()?, case.expected_file()?);
    let kept = |file: &FileRef| -> Result<(), MetricError> {
        let is_gif = file.bytes.starts_with(b"GIF8");
        if is_gif {
            Err(upstream_error(format!("{} is a GIF, which upstream does not read", file.name)))
        } else {
            Ok(())
        }
    };
    kept(found_file)?;
    kept(wanted_file)?;
    let pictures = Pictures::read(case, found_file, wanted_file)?;
    let [is, was] =
        [&pictures.found, &pictures.wanted].map(|picture| sharpness(&picture.to_grey_by_libpng()));
    pictures.told_apart("sharpness", is, was)?;
    Ok(Score::of(is > was, format!("sharpness {is:.2}, above {was:.2} wanted")))
}

/// Passes if the expected picture is more colourful.
pub(crate) fn saturation_increased(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pictures = required(case)?;
    let [is, wants] = [&pictures.found, &pictures.wanted].map(|picture| mean(&picture.hsv_channel(1)));
    pictures.told_apart("saturation", is, wants)?;
    Ok(Score::of(is < wants, format!("saturation {is:.2} and {wants:.2}")))
}

/// Passes if the expected picture is darker.
pub(crate) fn brightness_decreased(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pictures = required(case)?;
    let [is, wants] = [&pictures.found, &pictures.wanted].map(|picture| mean(&picture.to_grey()));
    pictures.told_apart("brightness", is, wants)?;
    Ok(Score::of(is > wants, format!("brightness {is:.2} and {wants:.2}")))
}

/// Reads both pictures where upstream raises for an absent one.
fn required(case: &MetricInput<'_>) -> Result<Pictures, MetricError> {
    let read: OrScore<Pictures> = both(case);
    read?.map_err(|score| upstream_error(score.explanation))
}
