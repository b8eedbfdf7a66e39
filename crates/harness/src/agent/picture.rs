//! Scales a screenshot to the size that a model accepts without resizing it again.

use apprentice_pixels::{Area, PixelError, crop, decode_png, encode_png, resize};
use apprentice_protocol::{BlobHash, Image, ImageBytes, ImageRule, MediaType, Rect, Size};
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

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

/// Scales the picture and encodes it once. Returns the same bytes when the size is right already.
pub(super) fn scale(image: &Image, size: Size) -> Result<Image, PixelError> {
    if image.size == size {
        return Ok(image.clone());
    }
    let frame = decode_png(&image.bytes.0)?;
    encode(&resize(&frame, size.width, size.height)?, size)
}

/// Crops a part of the screen and enlarges it to fit `size`, keeping its aspect ratio.
pub(super) fn enlarge(image: &Image, part: Rect, size: Size) -> Result<Image, PixelError> {
    let side = |length: i32| length.max(1).unsigned_abs();
    let area = Area {
        x: part.x.max(0).unsigned_abs(),
        y: part.y.max(0).unsigned_abs(),
        width: side(part.width),
        height: side(part.height),
    };
    let cut = crop(&decode_png(&image.bytes.0)?, area)?;
    let grow =
        (f64::from(size.width) / f64::from(area.width)).min(f64::from(size.height) / f64::from(area.height));
    let target = Size::new(whole(f64::from(area.width) * grow), whole(f64::from(area.height) * grow));
    encode(&resize(&cut, target.width, target.height)?, target)
}

fn encode(frame: &apprentice_pixels::Frame, size: Size) -> Result<Image, PixelError> {
    let png = encode_png(frame)?;
    let hash = hex(&Sha256::digest(&png));
    Ok(Image { hash: BlobHash::new(hash), size, media: MediaType::Png, bytes: ImageBytes(png.into()) })
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
