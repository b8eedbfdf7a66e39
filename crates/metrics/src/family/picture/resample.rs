//! Scaling of pictures with Pillow's fixed-point arithmetic, so that each byte is the same as with
//! version 11, which upstream asks for. The crates weighed
//! (`fast_image_resize`, `image`) round otherwise, which differs by one in some bytes.

use super::raster::{Mode, Raster};

/// How pixels between others are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    Bicubic,
    Lanczos,
}

/// Number of binary digits after the point of a weight.
const PRECISION: u32 = 32 - 8 - 2;
/// Maximum number of multiplications of one scaling.
const STEPS: usize = 4_000_000_000;

impl Filter {
    fn support(self) -> f64 {
        match self {
            Self::Bicubic => 2.0,
            Self::Lanczos => 3.0,
        }
    }

    fn weight(self, x: f64) -> f64 {
        match self {
            Self::Bicubic => bicubic(x.abs()),
            Self::Lanczos if (-3.0..3.0).contains(&x) => sinc(x) * sinc(x / 3.0),
            Self::Lanczos => 0.0,
        }
    }
}

fn bicubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * A
    } else {
        0.0
    }
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let x = x * std::f64::consts::PI;
    x.sin() / x
}

/// The pixels of a line that make one pixel of a scaled line, and their weights.
struct Window {
    start: usize,
    weights: Vec<i32>,
}

impl Raster {
    /// Scales to a size. Pictures of one bit and with a palette take the nearest pixel, whatever the filter.
    pub(super) fn scaled(&self, width: usize, height: usize, filter: Filter) -> Result<Self, String> {
        if (self.width, self.height) == (width, height) {
            return Ok(self.clone());
        }
        if matches!(self.mode, Mode::One | Mode::P) {
            return Ok(self.nearest(width, height));
        }
        if matches!(self.mode, Mode::La | Mode::Rgba) {
            let scaled = self.premultiplied().filtered(width, height, filter)?;
            return Ok(scaled.unmultiplied());
        }
        self.filtered(width, height, filter)
    }

    fn nearest(&self, width: usize, height: usize) -> Self {
        let columns = positions(self.width, width);
        let row = |y: usize| columns.iter().map(move |x| self.bytes[y * self.width + x]);
        let bytes = positions(self.height, height).into_iter().flat_map(row).collect();
        Self { width, height, bytes, ..self.clone() }
    }

    fn filtered(&self, width: usize, height: usize, filter: Filter) -> Result<Self, String> {
        let (across, down) = (windows(self.width, width, filter), windows(self.height, height, filter));
        let taps = |windows: &[Window]| windows.first().map_or(0, |window| window.weights.len());
        let steps = (width * self.height).saturating_mul(taps(&across) + 1)
            + (width * height).saturating_mul(taps(&down) + 1);
        if steps.saturating_mul(self.mode.width()) > STEPS {
            return Err(format!("scaling {} by {} pixels takes too long", self.width, self.height));
        }
        let wide = self.mode.width();
        let narrow = if self.width == width { self.bytes.clone() } else { self.rows_scaled(&across) };
        if self.height == height {
            return Ok(Self { width, height, bytes: narrow, ..self.clone() });
        }
        let line = width * wide;
        let mut bytes = Vec::with_capacity(line * height);
        for window in &down {
            let above = &narrow[window.start * line..];
            bytes.extend((0..line).map(|at| weighted(window, above[at..].iter().step_by(line))));
        }
        Ok(Self { width, height, bytes, ..self.clone() })
    }

    fn rows_scaled(&self, across: &[Window]) -> Vec<u8> {
        let wide = self.mode.width();
        let mut bytes = Vec::with_capacity(across.len() * wide * self.height);
        for row in self.bytes.chunks_exact(self.width * wide) {
            for window in across {
                let from = &row[window.start * wide..];
                bytes.extend((0..wide).map(|channel| weighted(window, from[channel..].iter().step_by(wide))));
            }
        }
        bytes
    }

    /// Multiplies the colours by the opacity, so that what is not seen has no weight.
    fn premultiplied(&self) -> Self {
        self.with_opacity(|channel, alpha| {
            let product = u32::from(channel) * u32::from(alpha) + 128;
            u8::try_from(((product >> 8) + product) >> 8).unwrap_or(u8::MAX)
        })
    }

    fn unmultiplied(&self) -> Self {
        self.with_opacity(|channel, alpha| match alpha {
            0 | 255 => channel,
            alpha => u8::try_from(255 * u32::from(channel) / u32::from(alpha)).unwrap_or(u8::MAX),
        })
    }

    fn with_opacity(&self, change: impl Fn(u8, u8) -> u8) -> Self {
        let mut bytes = self.bytes.clone();
        for pixel in bytes.chunks_exact_mut(self.mode.width()) {
            if let Some((alpha, channels)) = pixel.split_last_mut() {
                channels.iter_mut().for_each(|channel| *channel = change(*channel, *alpha));
            }
        }
        Self { bytes, ..self.clone() }
    }
}

/// Returns which pixel of a line stands for each of a scaled one.
fn positions(from: usize, to: usize) -> Vec<usize> {
    let step = float(from) / float(to);
    // Pillow adds the step up; rounding errors are part of the result.
    let places = std::iter::successors(Some(step * 0.5), |at| Some(at + step));
    places.take(to).map(|at| whole(at).min(from.saturating_sub(1))).collect()
}

fn windows(from: usize, to: usize, filter: Filter) -> Vec<Window> {
    let scale = float(from) / float(to);
    let stretch = scale.max(1.0);
    let support = filter.support() * stretch;
    let window = |at: usize| {
        let center = (float(at) + 0.5) * scale;
        let start = whole(center - support + 0.5);
        let end = whole(center + support + 0.5).min(from);
        let places = start..end;
        let shares: Vec<f64> =
            places.map(|at| filter.weight((float(at) - center + 0.5) * (1.0 / stretch))).collect();
        let sum: f64 = shares.iter().sum();
        let norm = |share: f64| if sum == 0.0 { share } else { share / sum };
        Window { start, weights: shares.into_iter().map(|share| fixed(norm(share))).collect() }
    };
    (0..to).map(window).collect()
}

fn weighted<'a>(window: &Window, bytes: impl Iterator<Item = &'a u8>) -> u8 {
    let start = 1_i64 << (PRECISION - 1);
    let pairs = window.weights.iter().zip(bytes);
    let sum = pairs.fold(start, |sum, (weight, byte)| sum + i64::from(*weight) * i64::from(*byte));
    u8::try_from((sum >> PRECISION).clamp(0, 255)).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "sides of pictures are below 2^53")]
fn float(side: usize) -> f64 {
    side as f64
}

/// Cuts a number off to a whole one; a negative one becomes zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates, and the numbers are places in pictures"
)]
fn whole(value: f64) -> usize {
    value as usize
}

#[expect(clippy::cast_possible_truncation, reason = "weights are between -2 and 2")]
fn fixed(weight: f64) -> i32 {
    (weight * f64::from(1 << PRECISION)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::super::raster::{Mode, Raster};
    use super::Filter;

    fn grey(width: usize, height: usize, bytes: Vec<u8>) -> Raster {
        Raster { mode: Mode::L, width, height, bytes, palette: Vec::new(), transparent: None }
    }

    #[test]
    fn a_line_is_scaled_as_pillow_scales_it() {
        let line = grey(6, 1, vec![0, 255, 10, 200, 30, 90]);
        // Values of Pillow 11.0.0.
        for (width, filter, expected) in [
            (4, Filter::Bicubic, vec![98, 117, 122, 63]),
            (4, Filter::Lanczos, vec![102, 130, 110, 62]),
            (9, Filter::Bicubic, vec![0, 134, 238, 31, 100, 190, 49, 52, 94]),
            (9, Filter::Lanczos, vec![0, 143, 242, 32, 92, 197, 54, 42, 100]),
        ] {
            let scaled = line.scaled(width, 1, filter).expect("scaled");
            assert_eq!(scaled.bytes, expected, "{width} {filter:?}");
            let turned = grey(1, 6, line.bytes.clone()).scaled(1, width, filter).expect("scaled");
            assert_eq!(turned.bytes, expected, "{width} {filter:?}");
        }
    }
}
