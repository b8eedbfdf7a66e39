//! Conversions between the modes of pictures, with Pillow's arithmetic.

use super::raster::{Mode, Raster};

impl Raster {
    /// Returns the pixels, each as the slice of its bytes.
    pub(super) fn pixels(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.mode.width())
    }

    /// Returns a picture of the same size in another mode. What the file said of colours does not go along.
    pub(super) fn with(&self, mode: Mode, bytes: Vec<u8>) -> Self {
        Self { mode, width: self.width, height: self.height, bytes, palette: Vec::new(), transparent: None }
    }

    /// Returns a colour of the palette; what it lacks is black.
    fn color(&self, number: u8) -> [u8; 4] {
        self.palette.get(usize::from(number)).copied().unwrap_or([0, 0, 0, 255])
    }

    /// Returns red, green and blue of a pixel.
    fn rgb_of(&self, pixel: &[u8]) -> [u8; 3] {
        match (self.mode, pixel) {
            (Mode::P, &[number]) => {
                let [r, g, b, _] = self.color(number);
                [r, g, b]
            }
            (Mode::One, &[bit]) => [if bit == 0 { 0 } else { 255 }; 3],
            (_, &[grey] | &[grey, _]) => [grey; 3],
            (_, &[r, g, b, ..]) => [r, g, b],
            (_, []) => [0; 3],
        }
    }

    /// Returns the opacity of a pixel.
    fn alpha_of(&self, pixel: &[u8]) -> u8 {
        match (self.mode, pixel) {
            (Mode::P, &[number]) => self.color(number)[3],
            (_, &[_, alpha] | &[_, _, _, alpha]) => alpha,
            _ => {
                let shown = self.rgb_of(pixel).map(u16::from);
                if self.transparent == Some(shown) { 0 } else { 255 }
            }
        }
    }

    /// Converts to red, green and blue; opacity is dropped.
    pub(super) fn to_rgb(&self) -> Self {
        if self.mode == Mode::Rgb {
            return self.clone();
        }
        self.with(Mode::Rgb, self.pixels().flat_map(|pixel| self.rgb_of(pixel)).collect())
    }

    /// Converts to red, green, blue and opacity.
    pub(super) fn to_rgba(&self) -> Self {
        if self.mode == Mode::Rgba {
            return self.clone();
        }
        let four = |pixel: &[u8]| {
            let [r, g, b] = self.rgb_of(pixel);
            [r, g, b, self.alpha_of(pixel)]
        };
        self.with(Mode::Rgba, self.pixels().flat_map(four).collect())
    }

    /// Converts to grey.
    pub(super) fn to_grey(&self) -> Self {
        match self.mode {
            Mode::L => self.clone(),
            Mode::One | Mode::La => {
                self.with(Mode::L, self.pixels().map(|pixel| self.rgb_of(pixel)[0]).collect())
            }
            _ => self.with(Mode::L, self.pixels().map(|pixel| luma(self.rgb_of(pixel))).collect()),
        }
    }

    /// Converts to grey as libpng does for OpenCV: a colour of equal parts stays, others are cut off.
    pub(super) fn to_grey_by_libpng(&self) -> Self {
        let grey = |pixel: &[u8]| {
            let [r, g, b] = self.rgb_of(pixel);
            let sum = u32::from(r) * 9797 + u32::from(g) * 19234 + u32::from(b) * 3737;
            if r == g && g == b { r } else { u8::try_from(sum >> 15).unwrap_or(u8::MAX) }
        };
        self.with(Mode::L, self.pixels().map(grey).collect())
    }

    /// Converts to the mode of another picture, for a comparison pixel by pixel.
    pub(super) fn to_mode(&self, mode: Mode) -> Result<Self, String> {
        match mode {
            _ if mode == self.mode => Ok(self.clone()),
            Mode::L => Ok(self.to_grey()),
            Mode::Rgb => Ok(self.to_rgb()),
            Mode::Rgba => Ok(self.to_rgba()),
            Mode::La if matches!(self.mode, Mode::One | Mode::L) && self.transparent.is_none() => {
                let grey = self.pixels().flat_map(|pixel| [self.rgb_of(pixel)[0], 255]).collect();
                Ok(self.with(Mode::La, grey))
            }
            _ => Err(format!("a picture of mode {:?} is not converted to mode {mode:?} here", self.mode)),
        }
    }

    /// Returns saturation (`at` 1), hue (0) or value (2) of each pixel as a grey picture.
    pub(super) fn hsv_channel(&self, at: usize) -> Self {
        self.with(Mode::L, self.pixels().map(|pixel| hsv(self.rgb_of(pixel))[at % 3]).collect())
    }

    /// Mirrors left and right.
    pub(super) fn mirrored(&self) -> Self {
        let wide = self.mode.width();
        let row = |row: &[u8]| -> Vec<u8> { row.chunks_exact(wide).rev().flatten().copied().collect() };
        let bytes = self.bytes.chunks_exact((self.width * wide).max(1)).flat_map(row).collect();
        Self { bytes, ..self.clone() }
    }

    /// Replaces each byte, as Pillow's `point` does: numbers of colours and opacities, too.
    pub(super) fn mapped(&self, table: &[u8; 256]) -> Self {
        let bytes = self.bytes.iter().map(|byte| table[usize::from(*byte)]).collect();
        Self { bytes, ..self.clone() }
    }

    /// Returns the part within a box.
    pub(super) fn cropped(&self, part: Bounds) -> Self {
        let wide = self.mode.width();
        let row = |y: usize| {
            let from = (y * self.width + part.left) * wide;
            self.bytes.get(from..from + (part.right - part.left) * wide).unwrap_or_default().iter().copied()
        };
        Self {
            width: part.right - part.left,
            height: part.bottom - part.top,
            bytes: (part.top..part.bottom).flat_map(row).collect(),
            ..self.clone()
        }
    }

    /// Returns the smallest box that holds all pixels of which `shows` is true.
    pub(super) fn bounds(&self, shows: impl Fn(&[u8]) -> bool) -> Option<Bounds> {
        let mut found: Option<Bounds> = None;
        for (at, _) in self.pixels().enumerate().filter(|(_, pixel)| shows(pixel)) {
            let (x, y) = (at % self.width, at / self.width);
            let old = found.unwrap_or(Bounds { left: x, top: y, right: x + 1, bottom: y + 1 });
            found = Some(Bounds {
                left: old.left.min(x),
                top: old.top.min(y),
                right: old.right.max(x + 1),
                bottom: old.bottom.max(y + 1),
            });
        }
        found
    }
}

/// A part of a picture, from `left` and `top` up to and without `right` and `bottom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) left: usize,
    pub(super) top: usize,
    pub(super) right: usize,
    pub(super) bottom: usize,
}

/// Returns the grey of a colour by ITU-R 601-2, rounded as Pillow rounds it.
fn luma([r, g, b]: [u8; 3]) -> u8 {
    let sum = u32::from(r) * 19595 + u32::from(g) * 38470 + u32::from(b) * 7471 + 0x8000;
    u8::try_from(sum >> 16).unwrap_or(u8::MAX)
}

/// Returns hue, saturation and value of a colour, in the mixture of single and double precision that Pillow uses.
fn hsv([r, g, b]: [u8; 3]) -> [u8; 3] {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    if most == least {
        return [0, 0, most];
    }
    let range = f32::from(most - least);
    let part = |channel: u8| f32::from(most - channel) / range;
    let sixth = if r == most {
        part(b) - part(g)
    } else if g == most {
        single(2.0 + f64::from(part(r)) - f64::from(part(b)))
    } else {
        single(4.0 + f64::from(part(g)) - f64::from(part(r)))
    };
    let hue = single((f64::from(sixth) / 6.0 + 1.0) % 1.0);
    [byte(f64::from(hue) * 255.0), byte(f64::from(range / f32::from(most)) * 255.0), most]
}

#[expect(clippy::cast_possible_truncation, reason = "Pillow rounds to single precision here")]
fn single(value: f64) -> f32 {
    value as f32
}

/// Cuts a number off to a byte.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates, as Pillow's does"
)]
pub(super) fn byte(value: f64) -> u8 {
    value as u8
}

#[cfg(test)]
mod tests {
    use super::{hsv, luma};

    #[test]
    fn colors_are_converted_as_pillow_converts_them() {
        // Values of Pillow 11.0.0.
        assert_eq!([[1, 2, 3], [200, 100, 50], [7, 250, 9], [10, 20, 30]].map(luma), [2, 124, 150, 18]);
        assert_eq!(hsv([200, 100, 50]), [14, 191, 200]);
        assert_eq!(hsv([7, 250, 9]), [85, 247, 250]);
        assert_eq!(hsv([10, 20, 30]), [148, 170, 30]);
    }
}
