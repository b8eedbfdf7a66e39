//! Numbers that say how alike two pictures are, and how bright, colourful or sharp one is.

use std::ops::Add;

use super::raster::{Mode, Raster};

/// Side of the window of the structural similarity.
pub(super) const WINDOW: usize = 7;

/// Returns the mean structural similarity of two pictures of the same size and mode, as scikit-image's
/// `structural_similarity` computes it: uniform square windows of an odd side, sample covariance, and the mean over
/// channels. `None` if the picture is smaller than a window.
pub(super) fn structural_similarity(one: &Raster, other: &Raster, side: usize) -> Option<f64> {
    let fits = one.width >= side && one.height >= side && side > 0;
    if !fits || (one.width, one.height, one.mode) != (other.width, other.height, other.mode) {
        return None;
    }
    let channels = one.mode.width();
    let sum: f64 = (0..channels).map(|channel| channel_similarity(one, other, side, channel)).sum();
    Some(sum / number(channels))
}

/// Sums over a window: of both pictures, of their squares, and of their product.
#[derive(Clone, Copy, Default)]
struct Sums([u64; 5]);

impl Sums {
    fn of(x: u8, y: u8) -> Self {
        let (x, y) = (u64::from(x), u64::from(y));
        Self([x, y, x * x, y * y, x * y])
    }

    fn add(&mut self, more: Self) {
        self.0.iter_mut().zip(more.0).for_each(|(sum, more)| *sum += more);
    }

    fn take(&mut self, less: Self) {
        self.0.iter_mut().zip(less.0).for_each(|(sum, less)| *sum -= less);
    }

    /// Returns the similarity of the window with so many pixels.
    fn similarity(self, pixels: f64) -> f64 {
        // The constants of the method for values from 0 to 255.
        const C1: f64 = (0.01 * 255.0) * (0.01 * 255.0);
        const C2: f64 = (0.03 * 255.0) * (0.03 * 255.0);
        let [x, y, xx, yy, xy] = self.0.map(|sum| float(sum) / pixels);
        let norm = if pixels > 1.0 { pixels / (pixels - 1.0) } else { f64::NAN };
        let (vx, vy, vxy) = (norm * (xx - x * x), norm * (yy - y * y), norm * (xy - x * y));
        ((2.0 * x * y + C1) * (2.0 * vxy + C2)) / ((x * x + y * y + C1) * (vx + vy + C2))
    }
}

fn channel_similarity(one: &Raster, other: &Raster, side: usize, channel: usize) -> f64 {
    let wide = one.mode.width();
    let line = one.width * wide;
    let at = |x: usize, y: usize| {
        let place = y * line + x * wide + channel;
        Sums::of(one.bytes[place], other.bytes[place])
    };
    let mut columns = vec![Sums::default(); one.width];
    for y in 0..side {
        columns.iter_mut().enumerate().for_each(|(x, column)| column.add(at(x, y)));
    }
    let pixels = number(side * side);
    let mut total = 0.0;
    for y in side..=one.height {
        let mut window = Sums::default();
        for x in 0..one.width {
            window.add(columns[x]);
            if x + 1 >= side {
                total += window.similarity(pixels);
                window.take(columns[x + 1 - side]);
            }
        }
        if y < one.height {
            for (x, column) in columns.iter_mut().enumerate() {
                column.add(at(x, y));
                column.take(at(x, y - side));
            }
        }
    }
    total / (number(one.width + 1 - side) * number(one.height + 1 - side))
}

/// Returns the mean squared difference of two pictures of the same size and mode, for values from 0 to 1.
pub(super) fn mean_squared_error(one: &Raster, other: &Raster) -> f64 {
    let square = |(x, y): (&u8, &u8)| u64::from(x.abs_diff(*y)).pow(2);
    let sum: u64 = one.bytes.iter().zip(&other.bytes).map(square).sum();
    float(sum) / (255.0 * 255.0) / number(one.bytes.len())
}

/// Returns the mean of all bytes of a picture.
pub(super) fn mean(picture: &Raster) -> f64 {
    let sum: u64 = picture.bytes.iter().map(|byte| u64::from(*byte)).sum();
    float(sum) / number(picture.bytes.len())
}

/// Returns the standard deviation of all bytes of a picture as NumPy computes it in single precision.
pub(super) fn deviation(picture: &Raster) -> f32 {
    let scale = if picture.mode == Mode::One { 255.0 } else { 1.0 };
    let value = |byte: &u8| f32::from(*byte) / scale;
    let count = single(number(picture.bytes.len()));
    let mean = pairwise_sum(&picture.bytes, &value) / count;
    let square = |byte: &u8| (value(byte) - mean) * (value(byte) - mean);
    (pairwise_sum(&picture.bytes, &square) / count).sqrt()
}

/// Returns the variance of the Laplacian of a grey picture: the sharper, the greater.
pub(super) fn sharpness(grey: &Raster) -> f64 {
    let (width, height) = (grey.width, grey.height);
    // Beyond the edge the picture is mirrored, without the edge itself.
    let near = |at: usize, step: isize, end: usize| match at.checked_add_signed(step) {
        Some(next) if next < end => next,
        _ if end == 1 => 0,
        None => 1,
        Some(_) => end - 2,
    };
    let value = |x: usize, y: usize| i16::from(grey.bytes[y * width + x]);
    let laplacian = |at: usize| {
        let (x, y) = (at % width, at / width);
        let beside = value(near(x, -1, width), y) + value(near(x, 1, width), y);
        let above = value(x, near(y, -1, height)) + value(x, near(y, 1, height));
        beside + above - 4 * value(x, y)
    };
    let edges: Vec<i16> = (0..width * height).map(laplacian).collect();
    let count = number(edges.len());
    let mean = pairwise_sum(&edges, &|edge| f64::from(*edge)) / count;
    pairwise_sum(&edges, &|edge| (f64::from(*edge) - mean) * (f64::from(*edge) - mean)) / count
}

/// Adds values up in NumPy's order, since the order changes how a sum is rounded.
fn pairwise_sum<T, N>(items: &[T], value: &impl Fn(&T) -> N) -> N
where
    N: Copy + Default + Add<Output = N>,
{
    const BLOCK: usize = 128;
    const LANES: usize = 8;
    if items.len() < LANES {
        return items.iter().fold(N::default(), |sum, item| sum + value(item));
    }
    if items.len() > BLOCK {
        let half = items.len() / 2;
        let (left, right) = items.split_at(half - half % LANES);
        return pairwise_sum(left, value) + pairwise_sum(right, value);
    }
    let mut lanes = [N::default(); LANES];
    let chunks = items.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, item)| *lane = *lane + value(item));
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    rest.iter().fold(sum, |sum, item| sum + value(item))
}

#[expect(clippy::cast_precision_loss, reason = "sums over pictures are below 2^53")]
fn float(sum: u64) -> f64 {
    sum as f64
}

/// Returns a count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts of pixels are below 2^53")]
pub(super) fn number(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, reason = "NumPy divides in single precision, too")]
fn single(value: f64) -> f32 {
    value as f32
}
