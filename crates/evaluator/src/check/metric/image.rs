//! Metrics of pictures.

use image::GenericImageView as _;
use serde_json::Value;

use super::{Case, Fault, Mark};

/// Width and height; with `ignore_transparent` those of the part that is not wholly transparent.
pub(super) fn size(case: &Case<'_>) -> Result<Mark, Fault> {
    let rules = case.rules()?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let picture = match image::load_from_memory(&file.bytes) {
        Ok(picture) => picture,
        Err(error) => return Ok(Mark::none(format!("{} is no picture: {error}", file.name))),
    };
    let whole = rules.get("ignore_transparent").is_none_or(|flag| !crate::setup::is_true(flag));
    let found = if whole || !picture.color().has_alpha() { picture.dimensions() } else { visible(&picture) };
    let mut complaints = Vec::new();
    for (name, found) in [("width", found.0), ("height", found.1)] {
        let Some(wanted) = rules.get(name).filter(|wanted| !wanted.is_null()) else { continue };
        let wanted = wanted.as_u64().ok_or_else(|| Fault(format!("rule {name:?} must be a number")))?;
        if u64::from(found) != wanted {
            complaints.push(format!("{name} is {found} instead of {wanted}"));
        }
    }
    Ok(Mark::unless(&complaints, "the size is right"))
}

fn visible(picture: &image::DynamicImage) -> (u32, u32) {
    let shown = picture.pixels().filter(|(_, _, pixel)| pixel.0[3] != 0);
    let start = (u32::MAX, u32::MAX, 0, 0);
    let bounds = shown.fold(start, |(left, top, right, bottom), (x, y, _)| {
        (left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1))
    });
    (bounds.2.saturating_sub(bounds.0), bounds.3.saturating_sub(bounds.1))
}

/// The file is smaller than `max_size` bytes.
pub(super) fn file_size(case: &Case<'_>) -> Result<Mark, Fault> {
    let limit = case.rule("max_size")?;
    let limit = limit.as_u64().ok_or_else(|| Fault("rule \"max_size\" must be a number".into()))?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let size = file.bytes.len() as u64;
    Ok(Mark::of(size < limit, format!("{size} bytes, fewer than {} are wanted", Value::from(limit))))
}
