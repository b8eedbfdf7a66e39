//! Screenshots of the primary monitor through xcap.

use std::io::Cursor;

use apprentice_protocol::{
    BlobHash, Image, ImageBytes, MediaType, ScreenPoint, Size, WorldError, WorldErrorKind,
};
use image::ImageFormat;
use sha2::{Digest as _, Sha256};
use xcap::Monitor;

/// The primary monitor.
pub(crate) struct Screen {
    monitor: Monitor,
    /// Top left corner, in input units.
    origin: (i32, i32),
    /// Input units per screenshot pixel. Below 1 on high-density displays.
    scale: f64,
    size: Size,
}

impl Screen {
    /// Finds the primary monitor and determines its scale from one screenshot.
    pub(crate) fn open() -> Result<Self, WorldError> {
        let lost = |error: xcap::XCapError| {
            WorldError::new(WorldErrorKind::Start, format!("no screen can be captured: {error}"))
        };
        let monitors = Monitor::all().map_err(lost)?;
        let primary = monitors.iter().position(|monitor| monitor.is_primary().unwrap_or(false)).unwrap_or(0);
        let monitor = monitors.into_iter().nth(primary);
        let monitor =
            monitor.ok_or_else(|| WorldError::new(WorldErrorKind::Start, "no screen is connected"))?;
        let picture = monitor.capture_image().map_err(lost)?;
        let size = Size::new(picture.width(), picture.height());
        let units = monitor.width().map_err(lost)?;
        let origin = (monitor.x().map_err(lost)?, monitor.y().map_err(lost)?);
        let scale = f64::from(units) / f64::from(size.width.max(1));
        Ok(Self { monitor, origin, scale, size })
    }

    /// Size of the screenshots.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Converts a screenshot pixel to input units. `None` outside the screen.
    pub(crate) fn to_input(&self, point: ScreenPoint) -> Option<(i32, i32)> {
        let inside = |value: i32, limit: u32| u32::try_from(value).is_ok_and(|value| value < limit);
        if !inside(point.x, self.size.width) || !inside(point.y, self.size.height) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a screen coordinate times a factor of at most a few"
        )]
        let across = |value: i32, start: i32| start + (f64::from(value) * self.scale).round() as i32;
        Some((across(point.x, self.origin.0), across(point.y, self.origin.1)))
    }

    /// Takes a screenshot.
    pub(crate) fn picture(&self) -> Result<Image, WorldError> {
        let lost = |error: String| {
            WorldError::new(WorldErrorKind::Lost, format!("no screenshot could be taken: {error}"))
        };
        let picture = self.monitor.capture_image().map_err(|error| lost(error.to_string()))?;
        let size = Size::new(picture.width(), picture.height());
        // Without the alpha channel the file is smaller and is written faster.
        let opaque = image::DynamicImage::ImageRgba8(picture).into_rgb8();
        let mut bytes = Vec::new();
        opaque
            .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)
            .map_err(|error| lost(error.to_string()))?;
        let hash = hex::encode(Sha256::digest(&bytes));
        Ok(Image { hash: BlobHash::new(hash), size, media: MediaType::Png, bytes: ImageBytes(bytes.into()) })
    }
}
