//! Decodes the servers' screenshots: PNG or JPEG regardless of their names, without transparency, and scaled to the
//! size of the screen that the pointer moves on. Pure.

use apprentice_pixels::{Frame, Kind, decode, encode_png, resize};
use apprentice_protocol::{BlobHash, Image, ImageBytes, MediaType, Size};
use apprentice_trace::hex;
use sha2::{Digest, Sha256};

/// Characters quoted from an answer that is not a picture.
const SHOWN: usize = 80;

/// Relation of a screenshot's size to the screen that the pointer moves on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ScreenScale {
    /// Equal sizes.
    #[default]
    Same,
    /// Screenshots of the first size show a screen of the second size.
    Scaled(Size, Size),
}

impl ScreenScale {
    /// Compares a screenshot's size with the screen's. An error if the screenshot cannot show that screen.
    pub(super) fn of(shown: Size, screen: Size) -> Result<Self, String> {
        if shown == screen {
            return Ok(Self::Same);
        }
        let across = u64::from(shown.width) * u64::from(screen.height);
        let down = u64::from(shown.height) * u64::from(screen.width);
        if across.abs_diff(down) * 50 > across.max(down) {
            return Err(format!(
                "shows pictures of {} by {} pixels, and its pointer moves on {} by {}: let its server capture exactly \
                 one whole screen",
                shown.width, shown.height, screen.width, screen.height
            ));
        }
        Ok(Self::Scaled(shown, screen))
    }

    /// The size to scale a screenshot to. If the screen has changed since, the proportion is kept.
    fn size(self, width: u32, height: u32) -> Size {
        let Self::Scaled(shown, screen) = self else { return Size::new(width, height) };
        if (width, height) == (shown.width, shown.height) {
            return screen;
        }
        let scaled = |side: u32, of: u32, to: u32| {
            u32::try_from(u64::from(side) * u64::from(to) / u64::from(of.max(1))).unwrap_or(side).max(1)
        };
        Size::new(scaled(width, shown.width, screen.width), scaled(height, shown.height, screen.height))
    }
}

/// Decodes a screenshot. A plain PNG of the right size is kept byte for byte.
pub(super) fn read(bytes: Vec<u8>, fit: ScreenScale) -> Result<Image, String> {
    let Some(kind) = Kind::of(&bytes) else {
        let said: String = String::from_utf8_lossy(&bytes).chars().take(SHOWN).collect();
        return Err(format!("{} bytes that are neither PNG nor JPEG: {said:?}", bytes.len()));
    };
    let told = |error: apprentice_pixels::PixelError| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("a {kind:?} of {} bytes: {error}{cause}", bytes.len())
    };
    let (frame, plain) = decode(&bytes, kind).map_err(told)?;
    let size = fit.size(frame.width(), frame.height());
    let is_size = (frame.width(), frame.height()) == (size.width, size.height);
    if plain && is_size {
        return Ok(image(bytes, &frame));
    }
    let frame = if is_size { frame } else { resize(&frame, size.width, size.height).map_err(told)? };
    Ok(image(encode_png(&frame).map_err(told)?, &frame))
}

fn image(bytes: Vec<u8>, frame: &Frame) -> Image {
    let hash = hex(&Sha256::digest(&bytes));
    Image {
        hash: BlobHash::new(hash),
        size: Size::new(frame.width(), frame.height()),
        media: MediaType::Png,
        bytes: ImageBytes(bytes.into()),
    }
}

#[cfg(test)]
mod tests {
    use apprentice_pixels::{Frame, encode_png};
    use apprentice_protocol::Size;

    use super::{ScreenScale, read};

    fn png(width: u32, height: u32) -> Vec<u8> {
        let rgb = vec![90; (width * height * 3) as usize];
        encode_png(&Frame::from_rgb(width, height, rgb).expect("a frame")).expect("encodes")
    }

    #[test]
    fn what_is_no_picture_is_told() {
        let told = |bytes: &[u8]| read(bytes.to_vec(), ScreenScale::Same).expect_err("no picture");
        assert_eq!(told(b"<html>"), "6 bytes that are neither PNG nor JPEG: \"<html>\"");
        assert_eq!(told(b""), "0 bytes that are neither PNG nor JPEG: \"\"");
        let whole = png(40, 30);
        assert!(told(&whole[..whole.len() / 2]).starts_with("a Png of "));
    }

    #[test]
    fn pictures_are_of_the_size_that_the_pointer_knows() {
        let size = |(width, height): (u32, u32), fit: ScreenScale| {
            read(png(width, height), fit).expect("reads").size
        };
        assert_eq!(size((40, 30), ScreenScale::Same), Size::new(40, 30));
        let half = ScreenScale::of(Size::new(80, 60), Size::new(40, 30)).expect("fits");
        assert_eq!(size((80, 60), half), Size::new(40, 30));
        // The screen has changed its size since.
        assert_eq!(size((64, 48), half), Size::new(32, 24));
        // A row more or less is rounding; a second monitor is not.
        assert!(ScreenScale::of(Size::new(2560, 1601), Size::new(1280, 800)).is_ok());
        let two = ScreenScale::of(Size::new(2560, 800), Size::new(1280, 800)).expect_err("two screens");
        assert!(
            two.contains("pictures of 2560 by 800 pixels, and its pointer moves on 1280 by 800"),
            "{two}"
        );
        let plain = png(40, 30);
        assert_eq!(read(plain.clone(), ScreenScale::Same).expect("reads").bytes.0.as_ref(), plain.as_slice());
    }
}
