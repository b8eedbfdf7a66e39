//! Metrics of images.

use image::GenericImageView as _;

use crate::comparison::value;
use crate::scoring::{MetricError, MetricInput, Score, task_error, upstream_error};

/// Maximum number of pixels of an image whose visible part is computed, and the decoder's memory limit in bytes.
const PIXELS: usize = 40_000_000;
const DECODE_LIMIT: u64 = 192 << 20;

/// Compares width and height; with `ignore_transparent` those of the part that is not fully transparent.
pub(super) fn size(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let size = imagesize::blob_size(&file.bytes)
        .map_err(|error| upstream_error(format!("{} is not an image: {error}", file.name)))?;
    let wants_visible = rules.get("ignore_transparent").is_some_and(crate::scoring::is_truthy);
    // Upstream uses the visible part of any image that defines a transparent colour, whatever the rule says.
    let has_key = case.reproduces_bugs() && file.bytes.windows(4).any(|chunk| chunk == b"tRNS");
    let found = if wants_visible || has_key {
        if size.width.saturating_mul(size.height) > PIXELS {
            return Err(upstream_error(format!("{} has too many pixels", file.name)));
        }
        visible(&file.bytes).unwrap_or((size.width, size.height))
    } else {
        (size.width, size.height)
    };
    let mut complaints = Vec::new();
    for (name, found) in [("width", found.0), ("height", found.1)] {
        let Some(wanted) = rules.get(name).filter(|wanted| !wanted.is_null()) else { continue };
        if !value::equal(&found.into(), wanted) {
            complaints.push(format!("{name} is {found} instead of {wanted}"));
        }
    }
    Ok(Score::unless(&complaints, "the size is as expected"))
}

/// Returns the size of the part that is not fully transparent, if the image has an alpha channel.
fn visible(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut reader = image::ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format().ok()?;
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(DECODE_LIMIT);
    reader.limits(limits);
    let picture = reader.decode().ok().filter(|picture| picture.color().has_alpha())?;
    let shown = picture.pixels().filter(|(_, _, pixel)| pixel.0[3] != 0);
    let start = (u32::MAX, u32::MAX, 0, 0);
    let bounds = shown.fold(start, |(left, top, right, bottom), (x, y, _)| {
        (left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1))
    });
    let side = |from: u32, to: u32| usize::try_from(to.saturating_sub(from)).ok();
    side(bounds.0, bounds.2).zip(side(bounds.1, bounds.3))
}

/// Passes if the file is smaller than `max_size` bytes.
pub(super) fn file_size(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let limit = case.rule("max_size")?;
    let limit = limit.as_f64().ok_or_else(|| task_error("rule \"max_size\" must be a number"))?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let size = f64::from(u32::try_from(file.bytes.len()).unwrap_or(u32::MAX));
    Ok(Score::of(size < limit, format!("{size} bytes, expected fewer than {limit}")))
}
