//! Scales a screenshot to the size that a model accepts without resizing it again, and encodes large ones as JPEG.

use apprentice_pixels::{Area, Frame, PixelError, crop, decode_png, encode_jpeg, encode_png, resize};
use apprentice_protocol::{BlobHash, Image, ImageBytes, ImageRule, MediaType, Rect, Size};
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

/// PNG pictures up to this many bytes are sent as they are. Interfaces without photos stay below.
const SMALL: usize = 256 << 10;
/// The quality of JPEG pictures: small text reads as well as from PNG (measured, see `docs/design.md`).
const QUALITY: u8 = 85;

/// Returns the size at which a picture of `size` is sent, or `None` when the model takes no pictures.
pub fn fit(rule: &ImageRule, size: Size) -> Option<Size> {
    let (width, height) = (f64::from(size.width.max(1)), f64::from(size.height.max(1)));
    match *rule {
        ImageRule::None => None,
        ImageRule::AsIs => Some(size),
        ImageRule::Within { size: room } => {
            let scale = (f64::from(room.width) / width).min(f64::from(room.height) / height).min(1.0);
            Some(Size::new(whole(width * scale), whole(height * scale)))
        }
        ImageRule::Factor { factor, min_pixels, max_pixels } => {
            let (least, most) = (bound(min_pixels), bound(max_pixels));
            let scale = (most / (width * height)).sqrt().min(1.0);
            let size = Size::new(multiple(width * scale, factor), multiple(height * scale, factor));
            if f64::from(size.width) * f64::from(size.height) >= least {
                return Some(size);
            }
            let scale = (least / (width * height)).sqrt().max(1.0);
            Some(Size::new(next_multiple(width * scale, factor), next_multiple(height * scale, factor)))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "pixel counts are far below 2^52")]
fn bound(pixels: u64) -> f64 {
    pixels as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture's side, at least 1")]
fn whole(side: f64) -> u32 {
    side.round().max(1.0) as u32
}

/// The largest multiple of `factor` not above `side`, so that the area stays below its upper bound.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture's side, at least 1")]
fn multiple(side: f64, factor: u32) -> u32 {
    let factor = factor.max(1);
    (side.floor() as u32 / factor).max(1) * factor
}

/// The least multiple of `factor` not below `side`, so that the area reaches its lower bound.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture's side, at least 1")]
fn next_multiple(side: f64, factor: u32) -> u32 {
    (side.ceil().max(1.0) as u32).next_multiple_of(factor.max(1))
}

/// A picture for the model.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    /// The picture without loss, as the trace keeps it.
    pub(super) exact: Image,
    /// The picture as it is sent.
    pub(super) sent: Image,
}

impl Picture {
    /// Scales a screenshot.
    pub(super) fn of(image: &Image, size: Size) -> Result<Self, PixelError> {
        if image.size != size {
            let frame = decode_png(&image.bytes.0)?;
            return Self::of_frame(&resize(&frame, size.width, size.height)?, size);
        }
        match is_small(image) {
            true => Ok(Self { exact: image.clone(), sent: image.clone() }),
            false => Self::with(image.clone(), &decode_png(&image.bytes.0)?),
        }
    }

    /// Crops a part of the screen and enlarges it to fit `size`, keeping its aspect ratio.
    pub(super) fn enlarged(image: &Image, part: Rect, size: Size) -> Result<Self, PixelError> {
        let side = |length: i32| length.max(1).unsigned_abs();
        let area = Area {
            x: part.x.max(0).unsigned_abs(),
            y: part.y.max(0).unsigned_abs(),
            width: side(part.width),
            height: side(part.height),
        };
        let cut = crop(&decode_png(&image.bytes.0)?, area)?;
        let (width, height) = (f64::from(area.width), f64::from(area.height));
        let grow = (f64::from(size.width) / width).min(f64::from(size.height) / height);
        let target = Size::new(whole(width * grow), whole(height * grow));
        Self::of_frame(&resize(&cut, target.width, target.height)?, target)
    }

    fn of_frame(frame: &Frame, size: Size) -> Result<Self, PixelError> {
        Self::with(of_bytes(encode_png(frame)?, size, MediaType::Png), frame)
    }

    /// A large PNG is sent as JPEG, if that is smaller.
    fn with(exact: Image, frame: &Frame) -> Result<Self, PixelError> {
        if is_small(&exact) {
            return Ok(Self { sent: exact.clone(), exact });
        }
        let jpeg = encode_jpeg(frame, QUALITY)?;
        let sent = match jpeg.len() < exact.bytes.0.len() {
            true => of_bytes(jpeg, exact.size, MediaType::Jpeg),
            false => exact.clone(),
        };
        Ok(Self { exact, sent })
    }
}

fn is_small(image: &Image) -> bool {
    image.media != MediaType::Png || image.bytes.0.len() <= SMALL
}

fn of_bytes(bytes: Vec<u8>, size: Size, media: MediaType) -> Image {
    let hash = BlobHash::new(hex(&Sha256::digest(&bytes)));
    Image { hash, size, media, bytes: ImageBytes(bytes.into()) }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ImageRule, Size};
    use proptest::prelude::{prop_assert, proptest};

    use super::fit;

    #[test]
    fn sizes_follow_the_rule() {
        let screen = Size::new(1920, 1080);
        assert_eq!(fit(&ImageRule::None, screen), None);
        assert_eq!(fit(&ImageRule::AsIs, screen), Some(screen));
        let within = ImageRule::Within { size: Size::new(1280, 1280) };
        assert_eq!(fit(&within, screen), Some(Size::new(1280, 720)));
        assert_eq!(fit(&within, Size::new(800, 600)), Some(Size::new(800, 600)));
        let factor = ImageRule::Factor { factor: 28, min_pixels: 3136, max_pixels: 1_003_520 };
        assert_eq!(fit(&factor, screen), Some(Size::new(1316, 728)));
        // A width of 587.7 holds 20 whole factors, not 21.
        assert_eq!(fit(&factor, Size::new(783, 2275)), Some(Size::new(560, 1680)));
        let least = ImageRule::Factor { factor: 28, min_pixels: 78_400, max_pixels: 1_003_520 };
        assert_eq!(fit(&least, Size::new(320, 240)), Some(Size::new(336, 252)));
    }

    proptest! {
        #[test]
        fn a_factor_rule_never_passes_its_upper_bound(width in 100u32..4000, height in 100u32..4000) {
            let rule = ImageRule::Factor { factor: 32, min_pixels: 65_536, max_pixels: 1_000_000 };
            let size = fit(&rule, Size::new(width, height)).expect("a size");
            prop_assert!(size.width.is_multiple_of(32) && size.height.is_multiple_of(32));
            let area = u64::from(size.width) * u64::from(size.height);
            // A sliver is widened to one factor, whatever its length.
            prop_assert!(area <= 1_000_000 || size.width == 32 || size.height == 32, "{size:?}");
        }
    }
}
