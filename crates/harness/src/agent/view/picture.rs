//! Scales a screenshot to the size that a model accepts without resizing it again, and encodes large ones as JPEG.

use apprentice_pixels::{Area, Frame, PixelError, crop, decode_png, encode_jpeg, encode_png, resize};
use apprentice_protocol::{BlobHash, Image, ImageBytes, MediaType, Rect, Size};
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

/// PNG pictures up to this many bytes are sent as they are. Interfaces without photos stay below.
const SMALL: usize = 256 << 10;
/// The quality of JPEG pictures: small text reads as well as from PNG (measured, see `docs/design.md`).
const QUALITY: u8 = 85;

/// A picture for the model.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// The picture without loss, as the trace keeps it.
    pub(crate) exact: Image,
    /// The picture as it is sent.
    pub(crate) sent: Image,
}

impl Picture {
    /// Scales a screenshot.
    pub(crate) fn of(image: &Image, size: Size) -> Result<Self, PixelError> {
        if image.size != size {
            let frame = decode_png(&image.bytes.0)?;
            return Self::of_frame(&resize(&frame, size.width, size.height)?, size);
        }
        if is_small(image) {
            Ok(Self { exact: image.clone(), sent: image.clone() })
        } else {
            Self::with(image.clone(), &decode_png(&image.bytes.0)?)
        }
    }

    /// Crops a part of the screen and enlarges it to fit `size`, keeping its aspect ratio.
    pub(crate) fn enlarged(image: &Image, part: Rect, size: Size) -> Result<Self, PixelError> {
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
        let sent = if jpeg.len() < exact.bytes.0.len() {
            of_bytes(jpeg, exact.size, MediaType::Jpeg)
        } else {
            exact.clone()
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

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture's side, at least 1")]
fn whole(side: f64) -> u32 {
    side.round().max(1.0) as u32
}
