//! A picture as Pillow holds it: its mode decides which bytes a pixel has. Read from PNG, JPEG and GIF files.

use std::io::Cursor;
use std::num::NonZeroU64;

use image::ImageDecoder as _;

use crate::scoring::{MetricError, task_error, upstream_error};

/// Maximum number of pixels, and the decoders' memory limit in bytes.
const PIXELS: u64 = 30_000_000;
const DECODE_LIMIT: usize = 192 << 20;

/// Pillow's modes, as far as these files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Black and white: 0 or 255.
    One,
    /// Grey.
    L,
    /// Grey with transparency.
    La,
    /// Numbers of colours of a palette.
    P,
    Rgb,
    Rgba,
    /// Grey of 16 bits, low byte first.
    I16,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Raster {
    pub(super) mode: Mode,
    pub(super) width: usize,
    pub(super) height: usize,
    /// The pixels, row by row.
    pub(super) bytes: Vec<u8>,
    /// Colours of a palette, with transparency.
    pub(super) palette: Vec<[u8; 4]>,
    /// The colour that is transparent, by the file. With a palette, the transparent ones have no opacity there, and
    /// this says that some have.
    pub(super) transparent: Option<[u16; 3]>,
}

/// Why a picture cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PictureError {
    /// It is broken, or no picture at all: upstream cannot read it either.
    Broken(String),
    /// It is of a kind that is not read here, or too large.
    NotRead(String),
}

impl PictureError {
    /// Returns the error of a metric: upstream raises for a broken file, and what is not read here has no score.
    pub(crate) fn of(self, name: &str) -> MetricError {
        match self {
            Self::Broken(why) => upstream_error(format!("{name}: {why}")),
            Self::NotRead(why) => task_error(format!("{name}: {why}")),
        }
    }
}

impl Mode {
    /// Returns the number of bytes of a pixel.
    pub(super) fn width(self) -> usize {
        match self {
            Self::One | Self::L | Self::P => 1,
            Self::La | Self::I16 => 2,
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }
}

impl Raster {
    /// Reads a picture from the bytes of a file; of a moving one its first frame.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, PictureError> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            read_png(bytes)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            read_jpeg(bytes)
        } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
            read_gif(bytes)
        } else {
            match imagesize::image_type(bytes) {
                Ok(kind) => {
                    Err(PictureError::NotRead(format!("pictures of the kind {kind:?} are not read here")))
                }
                Err(_) => Err(PictureError::Broken("it is no picture".into())),
            }
        }
    }
}

fn broken(error: impl std::fmt::Display) -> PictureError {
    PictureError::Broken(format!("the picture cannot be read: {error}"))
}

fn bounded(width: u32, height: u32) -> Result<(usize, usize), PictureError> {
    if u64::from(width) * u64::from(height) > PIXELS {
        let why = format!("{width} by {height} pixels are more than the limit of {PIXELS}");
        return Err(PictureError::NotRead(why));
    }
    if width == 0 || height == 0 {
        return Err(broken("it has no pixels"));
    }
    let side = |side: u32| usize::try_from(side).map_err(broken);
    Ok((side(width)?, side(height)?))
}

fn read_png(bytes: &[u8]) -> Result<Raster, PictureError> {
    use png::ColorType;
    let limits = png::Limits { bytes: DECODE_LIMIT };
    let decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let mut reader = decoder.read_info().map_err(broken)?;
    let (color, depth) = (reader.info().color_type, reader.info().bit_depth as u8);
    let (width, height) = bounded(reader.info().width, reader.info().height)?;
    let alpha: Vec<u8> = reader.info().trns.as_ref().map(|trns| trns.to_vec()).unwrap_or_default();
    let transparent = reader.info().trns.is_some().then(|| match alpha.as_slice() {
        [a, b, c, d, e, f, ..] => [[*a, *b], [*c, *d], [*e, *f]].map(u16::from_be_bytes),
        [a, b, ..] => [u16::from_be_bytes([*a, *b]); 3],
        _ => [u16::MAX; 3],
    });
    let colors: Vec<u8> = reader.info().palette.as_ref().map(|palette| palette.to_vec()).unwrap_or_default();
    let size = reader.output_buffer_size().filter(|size| *size <= DECODE_LIMIT);
    let mut raw = vec![0; size.ok_or_else(|| PictureError::NotRead("the PNG picture is too large".into()))?];
    let frame = reader.next_frame(&mut raw).map_err(broken)?;
    raw.truncate(frame.buffer_size());
    let line = frame.line_size;
    let palette = colors.chunks_exact(3).enumerate();
    let palette = palette.map(|(at, c)| [c[0], c[1], c[2], alpha.get(at).copied().unwrap_or(255)]).collect();
    let high = |raw: Vec<u8>| -> Vec<u8> { raw.chunks_exact(2).map(|pair| pair[0]).collect() };
    let (mode, bytes) = match (color, depth) {
        (ColorType::Grayscale, 1) => (Mode::One, unpack(&raw, line, width, 1, 255)),
        (ColorType::Grayscale, 2) => (Mode::L, unpack(&raw, line, width, 2, 85)),
        (ColorType::Grayscale, 4) => (Mode::L, unpack(&raw, line, width, 4, 17)),
        (ColorType::Grayscale, 16) => {
            (Mode::I16, raw.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect())
        }
        (ColorType::Grayscale, _) => (Mode::L, raw),
        (ColorType::Indexed, 8) => (Mode::P, raw),
        (ColorType::Indexed, bits) => (Mode::P, unpack(&raw, line, width, bits, 1)),
        (ColorType::GrayscaleAlpha, 16) => {
            let pairs = high(raw);
            (
                Mode::Rgba,
                pairs.chunks_exact(2).flat_map(|pair| [pair[0], pair[0], pair[0], pair[1]]).collect(),
            )
        }
        (ColorType::GrayscaleAlpha, _) => (Mode::La, raw),
        (ColorType::Rgb, 16) => (Mode::Rgb, high(raw)),
        (ColorType::Rgb, _) => (Mode::Rgb, raw),
        (ColorType::Rgba, 16) => (Mode::Rgba, high(raw)),
        (ColorType::Rgba, _) => (Mode::Rgba, raw),
    };
    Ok(Raster { mode, width, height, bytes, palette, transparent })
}

/// Unpacks rows of pixels of fewer than eight bits, the first in the highest bits, and multiplies each.
fn unpack(raw: &[u8], line: usize, width: usize, bits: u8, factor: u8) -> Vec<u8> {
    let count = usize::from(8 / bits.max(1));
    let mask = (1_u16 << bits) - 1;
    let pixel = |row: &[u8], at: usize| {
        let shift = 8 - usize::from(bits) * (at % count + 1);
        let byte = row.get(at / count).copied().unwrap_or_default();
        u8::try_from((u16::from(byte) >> shift) & mask).unwrap_or_default().wrapping_mul(factor)
    };
    raw.chunks_exact(line.max(1)).flat_map(|row| (0..width).map(move |at| pixel(row, at))).collect()
}

fn read_jpeg(bytes: &[u8]) -> Result<Raster, PictureError> {
    let decoder = image::codecs::jpeg::JpegDecoder::new(Cursor::new(bytes)).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let (width, height) = bounded(width, height)?;
    let mode = match decoder.color_type() {
        image::ColorType::L8 => Mode::L,
        image::ColorType::Rgb8 => Mode::Rgb,
        other => {
            let why = format!("the JPEG picture has colours of the kind {other:?}, which are not read here");
            return Err(PictureError::NotRead(why));
        }
    };
    let mut raw = vec![0; width * height * mode.width()];
    decoder.read_image(&mut raw).map_err(broken)?;
    Ok(Raster { mode, width, height, bytes: raw, palette: Vec::new(), transparent: None })
}

/// Reads the first frame. Its place may be smaller than the screen, which is then filled with the transparent colour.
fn read_gif(bytes: &[u8]) -> Result<Raster, PictureError> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::Indexed);
    let limit = NonZeroU64::new(DECODE_LIMIT as u64);
    options.set_memory_limit(limit.map_or(gif::MemoryLimit::Unlimited, gif::MemoryLimit::Bytes));
    let mut reader = options.read_info(Cursor::new(bytes)).map_err(broken)?;
    let (wide, high) = (reader.width(), reader.height());
    let global = reader.global_palette().map(<[u8]>::to_vec);
    let frame = reader.read_next_frame().map_err(broken)?.ok_or_else(|| broken("it has no frame"))?;
    let right = u32::from(frame.left) + u32::from(frame.width);
    let bottom = u32::from(frame.top) + u32::from(frame.height);
    let (width, height) = bounded(right.max(u32::from(wide)), bottom.max(u32::from(high)))?;
    let mut pixels = vec![frame.transparent.unwrap_or_default(); width * height];
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    for (y, row) in frame.buffer.chunks_exact(usize::from(frame.width).max(1)).enumerate() {
        let from = (top + y) * width + left;
        pixels[from..from + row.len()].copy_from_slice(row);
    }
    let colors = frame.palette.clone().or(global).unwrap_or_default();
    let is_ramp = colors.chunks_exact(3).enumerate().all(|(at, c)| c.iter().all(|c| usize::from(*c) == at));
    let alpha = |at: usize| if frame.transparent.map(usize::from) == Some(at) { 0 } else { 255 };
    let palette = colors.chunks_exact(3).enumerate().map(|(at, c)| [c[0], c[1], c[2], alpha(at)]);
    let transparent = frame.transparent.map(|number| [u16::from(number); 3]);
    let (mode, palette) = if is_ramp { (Mode::L, Vec::new()) } else { (Mode::P, palette.collect()) };
    Ok(Raster { mode, width, height, bytes: pixels, palette, transparent })
}

#[cfg(test)]
mod tests {
    use super::unpack;

    #[test]
    fn small_pixels_are_unpacked_row_by_row() {
        assert_eq!(unpack(&[0b1010_0000, 0b0110_0000], 1, 3, 1, 255), [255, 0, 255, 0, 255, 255]);
        assert_eq!(unpack(&[0x1f], 1, 2, 4, 17), [17, 255]);
    }
}
