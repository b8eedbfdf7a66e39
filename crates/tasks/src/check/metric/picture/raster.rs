//! A picture as Pillow holds it: its mode decides which bytes a pixel has. Read from PNG and JPEG files.

use std::io::Cursor;

use image::ImageDecoder as _;

/// Maximum number of pixels, and the decoders' memory limit in bytes.
const PIXELS: u64 = 40_000_000;
const DECODE_LIMIT: usize = 192 << 20;

/// Pillow's modes, as far as PNG and JPEG files have them.
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
    /// Whether the file names a transparent colour or transparent colours of its palette.
    pub(super) has_transparency: bool,
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
    /// Reads a picture from the bytes of a file.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            read_png(bytes)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            read_jpeg(bytes)
        } else {
            Err("it is neither a PNG nor a JPEG picture".into())
        }
    }
}

fn bounded(width: u32, height: u32) -> Result<(usize, usize), String> {
    if u64::from(width) * u64::from(height) > PIXELS {
        return Err(format!("{width} by {height} pixels are more than the limit of {PIXELS}"));
    }
    let side = |side: u32| usize::try_from(side).map_err(|error| error.to_string());
    Ok((side(width)?, side(height)?))
}

fn read_png(bytes: &[u8]) -> Result<Raster, String> {
    use png::ColorType;
    let told = |error: png::DecodingError| format!("the PNG picture cannot be read: {error}");
    let limits = png::Limits { bytes: DECODE_LIMIT };
    let decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let mut reader = decoder.read_info().map_err(told)?;
    let (color, depth) = (reader.info().color_type, reader.info().bit_depth as u8);
    let (width, height) = bounded(reader.info().width, reader.info().height)?;
    let alpha: Vec<u8> = reader.info().trns.as_ref().map(|trns| trns.to_vec()).unwrap_or_default();
    let has_transparency = reader.info().trns.is_some();
    let colors: Vec<u8> = reader.info().palette.as_ref().map(|palette| palette.to_vec()).unwrap_or_default();
    let size = reader.output_buffer_size().filter(|size| *size <= DECODE_LIMIT);
    let mut raw = vec![0; size.ok_or("the PNG picture is too large")?];
    let frame = reader.next_frame(&mut raw).map_err(told)?;
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
    Ok(Raster { mode, width, height, bytes, palette, has_transparency })
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

fn read_jpeg(bytes: &[u8]) -> Result<Raster, String> {
    let told = |error: image::ImageError| format!("the JPEG picture cannot be read: {error}");
    let decoder = image::codecs::jpeg::JpegDecoder::new(Cursor::new(bytes)).map_err(told)?;
    let (width, height) = decoder.dimensions();
    let (width, height) = bounded(width, height)?;
    let mode = match decoder.color_type() {
        image::ColorType::L8 => Mode::L,
        image::ColorType::Rgb8 => Mode::Rgb,
        other => {
            return Err(format!("the JPEG picture has colours of the kind {other:?}, which are not read"));
        }
    };
    let mut raw = vec![0; width * height * mode.width()];
    decoder.read_image(&mut raw).map_err(told)?;
    Ok(Raster { mode, width, height, bytes: raw, palette: Vec::new(), has_transparency: false })
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
