//! Metrics that ask whether two pictures show the same, with one more property each.

use super::conversion::byte;
use super::raster::{Mode, Raster};
use super::resample::Filter;
use super::similarity::{WINDOW, deviation, mean, mean_squared_error, number, structural_similarity};
use super::source::{Pictures, both, both_or_zero};
use crate::scoring::{MetricError, MetricInput, Score, task_error, upstream_error};

/// Least structural similarity of pictures that are alike.
const ALIKE: f64 = 0.9;
const ALIKE_IN_CONTRAST: f64 = 0.65;
const ALIKE_MIRRORED: f64 = 0.99;
const ALIKE_BY_DEFAULT: f64 = 0.85;
/// Greatest mean squared error of pictures that are alike but for their brightness.
const BRIGHTNESS_ERROR: f64 = 0.03;
/// Brightness to which both are brought before they are compared.
const BRIGHTNESS: f64 = 128.0;

/// The outcome of a comparison: whether it holds, and what was found.
struct Finding {
    holds: bool,
    text: String,
}

impl Finding {
    fn new(holds: bool, text: impl Into<String>) -> Self {
        Self { holds, text: text.into() }
    }
}

fn all(findings: &[Finding]) -> Score {
    let text: Vec<&str> = findings.iter().map(|finding| finding.text.as_str()).collect();
    Score::of(findings.iter().all(|finding| finding.holds), text.join("; "))
}

/// Compares in red, green and blue. Pictures of different sizes, or smaller than a window, are not alike.
fn alike(found: &Raster, wanted: &Raster, least: f64) -> Finding {
    if (found.width, found.height) != (wanted.width, wanted.height) {
        let sizes = [found, wanted].map(|picture| format!("{} by {}", picture.width, picture.height));
        return Finding::new(false, format!("the size is {} instead of {} pixels", sizes[0], sizes[1]));
    }
    match structural_similarity(&found.to_rgb(), &wanted.to_rgb(), WINDOW) {
        None => Finding::new(false, "the pictures are too small to be compared"),
        Some(similarity) => Finding::new(
            similarity >= least,
            format!("structural similarity {similarity:.4}, at least {least} wanted"),
        ),
    }
}

/// Passes if the pictures are alike.
pub(crate) fn similar(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    Ok(match both_or_zero(case)? {
        Ok(pictures) => all(&[alike(&pictures.found, &pictures.wanted, ALIKE)]),
        Err(score) => score,
    })
}

/// Passes if the picture was exported, and is like the expected one.
pub(crate) fn exported(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    Ok(match both(case)? {
        Ok(pictures) => all(&[alike(&pictures.found, &pictures.wanted, ALIKE)]),
        Err(score) => score,
    })
}

/// Passes if the picture, scaled to the expected size, is as similar as the option `ssim_threshold` says.
pub(crate) fn similar_by_threshold(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let least = number_option(case, "ssim_threshold")?.unwrap_or(ALIKE_BY_DEFAULT);
    let Pictures { found, wanted, .. } = match both_or_zero(case)? {
        Ok(pictures) => pictures,
        Err(score) => return Ok(score),
    };
    let found = found.scaled(wanted.width, wanted.height, Filter::Lanczos).map_err(task_error)?;
    let shortest = wanted.width.min(wanted.height);
    let side = if shortest < WINDOW { shortest.div_ceil(2) * 2 - 1 } else { WINDOW };
    let similarity = structural_similarity(&found.to_rgb(), &wanted.to_rgb(), side);
    Ok(match similarity.filter(|similarity| similarity.is_finite()) {
        None => Score::none("the pictures are too small to be compared"),
        Some(similarity) => Score::of(
            similarity >= least,
            format!("structural similarity {similarity:.4}, at least {least} wanted"),
        ),
    })
}

/// Passes if what is visible of the picture, scaled to the expected size, is like the expected one.
pub(crate) fn resized(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let Pictures { found, wanted, .. } = match both(case)? {
        Ok(pictures) => pictures,
        Err(score) => return Ok(score),
    };
    let is_see_through = matches!(found.mode, Mode::Rgba | Mode::La) || found.transparent.is_some();
    let shown = if is_see_through {
        let found = found.to_rgba();
        match found.bounds(|pixel| pixel[3] != 0) {
            None => return Ok(Score::none("the picture is fully transparent")),
            Some(part) => found.cropped(part).to_rgb(),
        }
    } else {
        found
    };
    let scaled = shown.scaled(wanted.width, wanted.height, Filter::Bicubic).map_err(task_error)?;
    Ok(all(&[alike(&scaled, &wanted, ALIKE)]))
}

/// Passes if the picture is the expected one with left and right exchanged.
pub(crate) fn mirrored(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    Ok(match both(case)? {
        Ok(pictures) => all(&[alike(&pictures.found.mirrored(), &pictures.wanted, ALIKE_MIRRORED)]),
        Err(score) => score,
    })
}

/// Passes if the picture has a palette and is like the expected one.
pub(crate) fn with_palette(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    Ok(match both_or_zero(case)? {
        Ok(Pictures { found, wanted, .. }) => {
            let kind =
                Finding::new(found.mode == Mode::P, format!("the picture is of mode {:?}", found.mode));
            all(&[kind, alike(&found, &wanted, ALIKE)])
        }
        Err(score) => score,
    })
}

/// Passes if the picture is darker than the expected one and else the same.
pub(crate) fn brightness_decreased_alike(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let most = number_option(case, "threshold")?.unwrap_or(BRIGHTNESS_ERROR);
    let pictures = match both(case)? {
        Ok(pictures) => pictures,
        Err(score) => return Ok(score),
    };
    let [is, was] = [&pictures.found, &pictures.wanted].map(|picture| mean(&picture.to_grey()));
    pictures.told_apart("brightness", is, was)?;
    let Pictures { found, wanted, .. } = pictures;
    let (found, wanted) = (evenly_bright(&found, is)?, evenly_bright(&wanted, was)?);
    let found = found.scaled(wanted.width, wanted.height, Filter::Lanczos).map_err(task_error)?;
    let error = mean_squared_error(&found.to_rgb(), &wanted.to_rgb());
    Ok(all(&[
        Finding::new(was > is, format!("brightness {is:.2}, below {was:.2} wanted")),
        Finding::new(error < most, format!("mean squared error {error:.4}, below {most} wanted")),
    ]))
}

/// Multiplies all bytes so that the picture is as bright as any other.
fn evenly_bright(picture: &Raster, brightness: f64) -> Result<Raster, MetricError> {
    if brightness == 0.0 {
        return Err(upstream_error("the picture is black"));
    }
    let factor = BRIGHTNESS / brightness;
    Ok(picture.mapped(&std::array::from_fn(|at| byte(number(at) * factor))))
}

/// Passes if the picture is more colourful than the expected one, with the same hues and brightness.
pub(crate) fn saturation_increased_alike(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pictures = match both(case)? {
        Ok(pictures) => pictures,
        Err(score) => return Ok(score),
    };
    let Pictures { found, wanted, .. } = &pictures;
    let has_key = |picture: &Raster| picture.mode == Mode::Rgb && picture.transparent.is_some();
    if case.reproduces_bugs() && (has_key(found) || has_key(wanted)) {
        return Err(upstream_error("upstream cannot convert a picture with a transparent colour"));
    }
    let [is, was] = [found, wanted].map(|picture| mean(&picture.hsv_channel(1)));
    pictures.told_apart("saturation", is, was)?;
    let channel = |at: usize, name: &str| {
        let finding = alike(&found.hsv_channel(at), &wanted.hsv_channel(at), ALIKE);
        Finding::new(finding.holds, format!("{name}: {}", finding.text))
    };
    let more = Finding::new(was < is, format!("saturation {is:.2}, above {was:.2} wanted"));
    Ok(all(&[more, channel(0, "hue"), channel(2, "value")]))
}

/// Passes if the picture has more contrast than the expected one and is like it.
pub(crate) fn contrast_increased_alike(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pictures = match both(case)? {
        Ok(pictures) => pictures,
        Err(score) => return Ok(score),
    };
    let Pictures { found, wanted, .. } = &pictures;
    let (is, was) = (deviation(found), deviation(wanted));
    pictures.told_apart("contrast", f64::from(is), f64::from(was))?;
    let more = Finding::new(was < is, format!("contrast {is:.3}, above {was:.3} wanted"));
    Ok(all(&[more, alike(found, wanted, ALIKE_IN_CONTRAST)]))
}

/// Returns an option that is a number.
pub(super) fn number_option(case: &MetricInput<'_>, name: &str) -> Result<Option<f64>, MetricError> {
    match case.options.get(name) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => value
            .as_f64()
            .map(Some)
            .ok_or_else(|| task_error(format!("option {name:?} must be a number, but is {value}"))),
    }
}
