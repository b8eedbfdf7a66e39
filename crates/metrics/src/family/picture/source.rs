//! The pictures that a metric compares, read from its evidence.

use super::raster::{Mode, PictureError, Raster};
use crate::evidence::FileRef;
use crate::scoring::{MetricError, MetricInput, Score, task_error};

/// A metric's pictures, or the score that an absent one has.
pub(super) type OrScore<T> = Result<Result<T, Score>, MetricError>;

/// The picture of the result and the expected one.
pub(super) struct Pictures {
    pub(super) found: Raster,
    pub(super) wanted: Raster,
    /// Whether a decoder of JPEG pictures had a part in their difference. Decoders differ in how they round.
    pub(super) is_rounded: bool,
}

/// Difference of means, of 255, and relative one of sharpness, within which decoders of JPEG pictures decide.
const ROUNDING: f64 = 0.25;
const RELATIVE_ROUNDING: f64 = 0.01;

impl Pictures {
    /// Reads both. That the expected one is broken is the task's fault, for which upstream raises.
    pub(super) fn read(
        case: &MetricInput<'_>,
        found: &FileRef,
        wanted: &FileRef,
    ) -> Result<Self, MetricError> {
        let is_jpeg = |file: &FileRef| file.bytes.starts_with(b"\xff\xd8");
        Ok(Self {
            is_rounded: (is_jpeg(found) || is_jpeg(wanted)) && found.hash != wanted.hash,
            found: read(found).map_err(|why| why.of(&found.name))?,
            wanted: read_wanted(case, wanted)?,
        })
    }

    /// Refuses to say which of two means is greater when decoders decide it.
    pub(super) fn told_apart(&self, name: &str, is: f64, was: f64) -> Result<(), MetricError> {
        if self.is_rounded && (is - was).abs() < ROUNDING.max(RELATIVE_ROUNDING * is.min(was)) {
            return Err(task_error(format!(
                "{name} {is:.3} and {was:.3} are so near that the decoder of JPEG pictures decides"
            )));
        }
        Ok(())
    }
}

/// Reads the picture of the result. A missing file scores zero, and for a broken one upstream raises.
pub(super) fn one(case: &MetricInput<'_>) -> OrScore<Raster> {
    match case.file()? {
        Ok(file) => read(file).map(Ok).map_err(|why| why.of(&file.name)),
        Err(score) => Ok(Err(score)),
    }
}

/// Reads both pictures. A missing result scores zero; a missing expected one is the task's fault.
pub(super) fn both(case: &MetricInput<'_>) -> OrScore<Pictures> {
    let found = match case.file()? {
        Ok(found) => found,
        Err(score) => return Ok(Err(score)),
    };
    let wanted = match case.expected_file() {
        Ok(wanted) => wanted,
        Err(error) if case.reproduces_bugs() => return Ok(Err(Score::none(error.message()))),
        Err(error) => return Err(error),
    };
    Pictures::read(case, found, wanted).map(Ok)
}

/// Reads both pictures for a metric of which upstream scores zero when one is broken.
pub(super) fn both_or_zero(case: &MetricInput<'_>) -> OrScore<Pictures> {
    match both(case) {
        Err(MetricError::Raised(why)) => Ok(Err(Score::none(why))),
        read => read,
    }
}

/// Reads an expected picture. That it is broken is the task's fault, for which upstream raises.
fn read_wanted(case: &MetricInput<'_>, file: &FileRef) -> Result<Raster, MetricError> {
    read(file).map_err(|why| match why {
        PictureError::Broken(_) if case.reproduces_bugs() => why.of(&file.name),
        other => task_error(other.of(&file.name).message().to_owned()),
    })
}

fn read(file: &FileRef) -> Result<Raster, PictureError> {
    let picture = Raster::read(&file.bytes)?;
    if picture.mode == Mode::I16 {
        // Versions of Pillow differ in what they make of it.
        return Err(PictureError::NotRead("grey pictures of 16 bits are not compared here".into()));
    }
    Ok(picture)
}
