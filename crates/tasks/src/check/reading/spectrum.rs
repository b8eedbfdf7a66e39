//! Mel-frequency cepstral coefficients with the parameters of the library `librosa`: windows of 2,048 samples, 512
//! apart, 128 mel bands of Slaney's scale, decibels within 80 of the loudest, the first 20 coefficients of each.

use std::f64::consts::PI;

const WINDOW: usize = 2048;
const STEP: usize = 512;
const BANDS: usize = 128;
const KEPT: usize = 20;
const RATE: f64 = 22_050.0;
/// Least power, and the most decibels below the loudest.
const LEAST_POWER: f64 = 1e-10;
const RANGE: f64 = 80.0;
/// Slaney's scale: linear below 1,000 Hz, logarithmic above.
const LINEAR_STEP: f64 = 200.0 / 3.0;
const BEND: f64 = 1000.0;

/// Returns the coefficients of each window.
pub(super) fn coefficients(samples: &[f32]) -> Vec<Vec<f32>> {
    let (hann, bands, transform) = (hann(), bands(), Transform::new());
    let windows = 1 + samples.len() / STEP;
    let mut decibels: Vec<f32> = Vec::with_capacity(windows * BANDS);
    for at in 0..windows {
        let power = transform.power(|offset| {
            // Each window is centred on its sample; there is silence around the sound.
            let place = (at * STEP + offset).checked_sub(WINDOW / 2);
            let sample = place.and_then(|place| samples.get(place)).copied().unwrap_or_default();
            f64::from(sample) * hann[offset]
        });
        let loudness = |band: &Band| {
            let sum: f64 =
                band.weights.iter().zip(&power[band.start..]).map(|(weight, power)| weight * power).sum();
            narrow(10.0 * sum.max(LEAST_POWER).log10())
        };
        decibels.extend(bands.iter().map(loudness));
    }
    let floor = decibels.iter().copied().fold(f32::MIN, f32::max) - narrow(RANGE);
    let cosines = cosines();
    let cepstrum = |window: &[f32]| {
        let one = |weights: &Vec<f64>| {
            narrow(
                weights.iter().zip(window).map(|(weight, level)| weight * f64::from(level.max(floor))).sum(),
            )
        };
        cosines.iter().map(one).collect()
    };
    decibels.chunks_exact(BANDS).map(cepstrum).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "the library computes in single precision")]
fn narrow(value: f64) -> f32 {
    value as f32
}

fn number(at: usize) -> f64 {
    f64::from(u32::try_from(at).unwrap_or(u32::MAX))
}

fn hann() -> Vec<f64> {
    (0..WINDOW).map(|at| 0.5 - 0.5 * (2.0 * PI * number(at) / number(WINDOW)).cos()).collect()
}

/// The first rows of an orthonormal cosine transform.
fn cosines() -> Vec<Vec<f64>> {
    let row = |frequency: usize| {
        let scale = if frequency == 0 { (1.0 / number(BANDS)).sqrt() } else { (2.0 / number(BANDS)).sqrt() };
        let angle = |at: usize| PI * number(frequency) * (number(at) + 0.5) / number(BANDS);
        (0..BANDS).map(|at| scale * angle(at).cos()).collect()
    };
    (0..KEPT).map(row).collect()
}

/// A triangle over some frequencies.
struct Band {
    start: usize,
    weights: Vec<f64>,
}

fn mel(hertz: f64) -> f64 {
    let log_step = 6.4_f64.ln() / 27.0;
    if hertz < BEND { hertz / LINEAR_STEP } else { BEND / LINEAR_STEP + (hertz / BEND).ln() / log_step }
}

fn hertz(mel: f64) -> f64 {
    let (log_step, bend) = (6.4_f64.ln() / 27.0, BEND / LINEAR_STEP);
    if mel < bend { mel * LINEAR_STEP } else { BEND * (log_step * (mel - bend)).exp() }
}

fn bands() -> Vec<Band> {
    let top = mel(RATE / 2.0);
    let edges: Vec<f64> = (0..BANDS + 2).map(|at| hertz(top * number(at) / number(BANDS + 1))).collect();
    let band = |edge: &[f64]| {
        let weight = |at: usize| {
            let frequency = number(at) * RATE / number(WINDOW);
            let (up, down) =
                ((frequency - edge[0]) / (edge[1] - edge[0]), (edge[2] - frequency) / (edge[2] - edge[1]));
            up.min(down).max(0.0) * 2.0 / (edge[2] - edge[0])
        };
        let weights: Vec<f64> = (0..=WINDOW / 2).map(weight).collect();
        let start = weights.iter().position(|weight| *weight > 0.0).unwrap_or_default();
        let end = weights.iter().rposition(|weight| *weight > 0.0).map_or(start, |last| last + 1);
        Band { start, weights: weights[start..end].to_vec() }
    };
    edges.windows(3).map(band).collect()
}

/// A Fourier transform of one window, by halving.
struct Transform {
    /// `exp(-2πi k / WINDOW)`.
    turns: Vec<(f64, f64)>,
    /// The place of each sample before the first step.
    places: Vec<usize>,
}

impl Transform {
    fn new() -> Self {
        let turn = |at: usize| {
            let angle = -2.0 * PI * number(at) / number(WINDOW);
            (angle.cos(), angle.sin())
        };
        let bits = WINDOW.trailing_zeros();
        let place = |at: usize| at.reverse_bits() >> (usize::BITS - bits);
        Self { turns: (0..WINDOW / 2).map(turn).collect(), places: (0..WINDOW).map(place).collect() }
    }

    /// Returns the power at each frequency.
    fn power(&self, sample: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut values: Vec<(f64, f64)> = self.places.iter().map(|place| (sample(*place), 0.0)).collect();
        let mut length = 2;
        while length <= WINDOW {
            let (half, step) = (length / 2, WINDOW / length);
            for part in values.chunks_exact_mut(length) {
                let (low, high) = part.split_at_mut(half);
                for (at, (low, high)) in low.iter_mut().zip(high).enumerate() {
                    let (cos, sin) = self.turns[at * step];
                    let turned = (high.0 * cos - high.1 * sin, high.0 * sin + high.1 * cos);
                    *high = (low.0 - turned.0, low.1 - turned.1);
                    *low = (low.0 + turned.0, low.1 + turned.1);
                }
            }
            length *= 2;
        }
        values.truncate(WINDOW / 2 + 1);
        values.into_iter().map(|(real, imaginary)| real * real + imaginary * imaginary).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::coefficients;

    #[test]
    fn coefficients_are_those_of_the_library() {
        // librosa.feature.mfcc of the same samples: three of its windows.
        let sample = |at: u32| {
            let time = f64::from(at) / 22_050.0;
            let loud = 0.5 * (2.0 * std::f64::consts::PI * 440.0 * time).sin();
            super::narrow(loud + 0.1 * (f64::from(at * 7919 % 1000) / 1000.0 - 0.5))
        };
        let samples: Vec<f32> = (0..22_050).map(sample).collect();
        let found = coefficients(&samples);
        assert_eq!(found.len(), 44);
        for (window, wanted) in [(0, FIRST), (20, MIDDLE), (43, LAST)] {
            for (found, wanted) in found[window].iter().zip(wanted) {
                assert!((found - wanted).abs() < 0.01, "{window}: {found} instead of {wanted}");
            }
        }
    }
    const FIRST: [f32; 5] = [-159.991, 122.413, 56.806, 16.289, 4.054];
    const MIDDLE: [f32; 5] = [-270.885, -2.702, 18.917, 2.850, 1.304];
    const LAST: [f32; 5] = [-160.814, 120.547, 60.340, 18.294, 3.499];
}
