//! PNG and JPEG encoding and decoding, cropping and resizing.

use std::io::Cursor;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType as PngFilter, PngEncoder};
use image::{ColorType, ExtendedColorType, ImageEncoder, ImageFormat, ImageReader, Limits};

use crate::{Area, Frame, PixelError};

/// Memory limit for decoding a picture, in bytes.
const DECODE_LIMIT: u64 = 512 << 20;

/// Encodes a frame as PNG, preferring speed over size.
///
/// # Errors
///
/// Fails if the encoder refuses the frame.
pub fn encode_png(frame: &Frame) -> Result<Vec<u8>, PixelError> {
    let mut bytes = Vec::with_capacity(frame.rgb().len() / 8);
    PngEncoder::new_with_quality(&mut bytes, CompressionType::Fast, PngFilter::Adaptive).write_image(
        frame.rgb(),
        frame.width(),
        frame.height(),
        ExtendedColorType::Rgb8,
    )?;
    Ok(bytes)
}

/// Encodes a frame as JPEG with this quality, from 1 to 100. Colour keeps its full resolution, which small text needs.
///
/// # Errors
///
/// Fails if the encoder refuses the frame or the quality.
pub fn encode_jpeg(frame: &Frame, quality: u8) -> Result<Vec<u8>, PixelError> {
    let mut bytes = Vec::with_capacity(frame.rgb().len() / 8);
    JpegEncoder::new_with_quality(&mut bytes, quality).write_image(
        frame.rgb(),
        frame.width(),
        frame.height(),
        ExtendedColorType::Rgb8,
    )?;
    Ok(bytes)
}

/// Decodes a PNG of any colour type and drops transparency.
///
/// # Errors
///
/// Fails if the bytes are no PNG, are cut short, or would be larger than `SIDE_LIMIT` on a side.
pub fn decode_png(bytes: &[u8]) -> Result<Frame, PixelError> {
    decode(bytes, Kind::Png).map(|(frame, _)| frame)
}

/// Encoding of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
}

impl Kind {
    /// Detects the encoding from the first bytes, regardless of any file name. `None` if it is neither.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            _ => None,
        }
    }
}

/// Decodes a picture and drops transparency. The flag tells whether the bytes already are a PNG of exactly these
/// pixels, which can be passed on unchanged.
///
/// # Errors
///
/// Fails if the bytes are no picture of this kind, are cut short, or would be larger than
/// `SIDE_LIMIT` on a side.
pub fn decode(bytes: &[u8], kind: Kind) -> Result<(Frame, bool), PixelError> {
    let format = match kind {
        Kind::Png => ImageFormat::Png,
        Kind::Jpeg if !has_end(bytes) => return Err(PixelError::Truncated),
        Kind::Jpeg => ImageFormat::Jpeg,
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODE_LIMIT);
    reader.limits(limits);
    let image = reader.decode()?;
    let plain = kind == Kind::Png && image.color() == ColorType::Rgb8;
    let image = image.into_rgb8();
    Ok((Frame::from_rgb(image.width(), image.height(), image.into_raw())?, plain))
}

/// Returns whether a JPEG is complete. The decoder accepts a truncated one and fills the missing part with grey.
fn has_end(bytes: &[u8]) -> bool {
    /// Trailing bytes that some writers add after the end marker.
    const PADDING: usize = 64;
    bytes[bytes.len().saturating_sub(PADDING)..].windows(2).any(|two| two == [0xff, 0xd9])
}

/// Returns the part of a frame within an area.
///
/// # Errors
///
/// Fails if the area is empty or is not within the frame.
pub fn crop(frame: &Frame, area: Area) -> Result<Frame, PixelError> {
    let inside =
        |start: u32, length: u32, side: u32| start.checked_add(length).is_some_and(|end| end <= side);
    if !inside(area.x, area.width, frame.width()) || !inside(area.y, area.height, frame.height()) {
        return Err(PixelError::OutOfBounds { area, width: frame.width(), height: frame.height() });
    }
    let (from, length) = (area.x as usize * 3, area.width as usize * 3);
    let rows = frame.rgb().chunks_exact(frame.width() as usize * 3);
    let kept = rows.skip(area.y as usize).take(area.height as usize);
    let rgb: Vec<u8> = kept.flat_map(|row| &row[from..from + length]).copied().collect();
    Frame::from_rgb(area.width, area.height, rgb)
}

/// Returns the frame scaled to another size.
///
/// # Errors
///
/// Fails if a side of the new size is 0 or above `SIDE_LIMIT`.
pub fn resize(frame: &Frame, width: u32, height: u32) -> Result<Frame, PixelError> {
    if (frame.width(), frame.height()) == (width, height) {
        return Ok(frame.clone());
    }
    let blank = vec![0; (width as usize).saturating_mul(height as usize).saturating_mul(3)];
    Frame::from_rgb(width, height, blank)?;
    // The typed form compiles for one pixel type; choosing the type at run time would compile all of them.
    let from = TypedImageRef::<U8x3>::from_buffer(frame.width(), frame.height(), frame.rgb())
        .map_err(|error| PixelError::Resize(error.to_string()))?;
    let mut to = TypedImage::<U8x3>::new(width, height);
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom));
    Resizer::new()
        .resize_typed(&from, &mut to, &options)
        .map_err(|error| PixelError::Resize(error.to_string()))?;
    Frame::from_rgb(width, height, to.pixels().iter().flat_map(|pixel| pixel.0).collect())
}

#[cfg(test)]
mod tests {
    use image::{ExtendedColorType, ImageEncoder as _};

    use super::{Kind, crop, decode, decode_png, encode_jpeg, encode_png, resize};
    use crate::{Area, Frame};

    fn gradient(width: u32, height: u32) -> Frame {
        let bytes = (0..width * height * 3).map(|index| u8::try_from(index % 251).expect("small")).collect();
        Frame::from_rgb(width, height, bytes).expect("a frame")
    }

    #[test]
    fn a_frame_survives_its_encoding() {
        let frame = gradient(64, 33);
        let png = encode_png(&frame).expect("encodes");
        assert_eq!(decode_png(&png).expect("decodes"), frame);
    }

    #[test]
    fn broken_pictures_are_errors() {
        let png = encode_png(&gradient(64, 33)).expect("encodes");
        for length in [0, 7, 8, 20, 40, png.len() / 2] {
            assert!(decode_png(&png[..length]).is_err(), "{length} bytes");
        }
        // A header that promises more pixels than memory may hold.
        let mut huge = png;
        huge[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        assert!(decode_png(&huge).is_err());
    }

    #[test]
    fn jpeg_is_read_whole_or_not_at_all() {
        let frame = Frame::from_rgb(64, 48, vec![200; 64 * 48 * 3]).expect("a frame");
        let jpeg = encode_jpeg(&frame, 75).expect("encodes");
        assert_eq!(Kind::of(&jpeg), Some(Kind::Jpeg));
        let (read, plain) = decode(&jpeg, Kind::Jpeg).expect("decodes");
        assert_eq!((read.width(), read.height(), plain), (64, 48, false));
        let near = |pixel: [u8; 3]| pixel.iter().all(|part| part.abs_diff(200) < 4);
        assert!(read.pixel(63, 47).is_some_and(near));
        for length in [3, 20, jpeg.len() / 2, jpeg.len() - 2] {
            assert!(decode(&jpeg[..length], Kind::Jpeg).is_err(), "{length} bytes");
        }
        assert!(decode_png(&jpeg).is_err());
        assert_eq!(Kind::of(b"<html>"), None);
    }

    #[test]
    fn transparency_is_dropped_and_said() {
        let mut png = Vec::new();
        let rgba = [10, 20, 30, 0, 40, 50, 60, 255];
        super::PngEncoder::new(&mut png).write_image(&rgba, 2, 1, ExtendedColorType::Rgba8).expect("encodes");
        let (frame, plain) = decode(&png, Kind::Png).expect("decodes");
        assert_eq!((frame.rgb(), plain), (&[10, 20, 30, 40, 50, 60][..], false));
        assert!(decode(&encode_png(&frame).expect("encodes"), Kind::Png).expect("decodes").1);
    }

    #[test]
    fn cutting_and_resizing_keep_to_the_size_asked_for() {
        let frame = gradient(64, 32);
        let part = crop(&frame, Area { x: 10, y: 4, width: 3, height: 2 }).expect("inside");
        assert_eq!((part.width(), part.height()), (3, 2));
        assert_eq!(part.pixel(2, 1), frame.pixel(12, 5));
        assert!(crop(&frame, Area { x: 62, y: 0, width: 3, height: 1 }).is_err());
        assert!(crop(&frame, Area { x: u32::MAX, y: 0, width: 3, height: 1 }).is_err());
        let small = resize(&frame, 32, 16).expect("resizes");
        assert_eq!((small.width(), small.height()), (32, 16));
        assert!(resize(&frame, 0, 16).is_err());
    }
}
