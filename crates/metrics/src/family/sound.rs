//! Compares two sounds by how they go: their cepstral coefficients, aligned in time.
//!
//! The alignment is that of the library `fastdtw` with its radius of 1, whose result depends on the steps by which it
//! approximates; a crate for exact alignment would score otherwise.

use crate::evidence::{FileRef, ReadingContent, ReadingKind};
use crate::scoring::{MetricError, MetricInput, Score, task_error};

const RADIUS: usize = 1;
/// Coefficients of each moment.
const COEFFICIENTS: usize = 20;

type Moment = [f64; COEFFICIENTS];

/// Scores how alike two sounds are: the exponential of their mean distance, negated.
pub(super) fn compare(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.file()? {
        Ok(file) => file,
        Err(score) => return Ok(score),
    };
    let wanted = match case.expected_file() {
        Ok(file) => file,
        Err(error) if case.reproduces_bugs() => return Ok(Score::none(error.message())),
        Err(error) => return Err(error),
    };
    match (moments(case, found)?, moments(case, wanted)?) {
        (Err(_), Err(_)) if case.reproduces_bugs() => Ok(Score::full("neither file holds sound")),
        (_, Err(why)) if !case.reproduces_bugs() => Err(task_error(format!("the expected sound: {why}"))),
        (Err(why), _) | (_, Err(why)) => Ok(Score::none(why)),
        (Ok(found), Ok(wanted)) => {
            let (distance, steps) = aligned(&found, &wanted);
            let mean = distance / number(steps);
            Ok(Score { score: (-mean).exp(), explanation: format!("the mean distance is {mean:.6}") })
        }
    }
}

/// Returns the coefficients of each moment, each divided by its greatest over the whole sound.
fn moments(case: &MetricInput<'_>, file: &FileRef) -> Result<Result<Vec<Moment>, String>, MetricError> {
    let coefficients = match case.reading(ReadingKind::Sound, &file.hash)? {
        ReadingContent::Sound { coefficients } => coefficients,
        ReadingContent::Unreadable { why } => return Ok(Err(why)),
        other => return Err(task_error(format!("the evidence holds no sound, but {other:?}"))),
    };
    let whole: Option<Vec<[f32; COEFFICIENTS]>> =
        coefficients.iter().map(|moment| moment.as_slice().try_into().ok()).collect();
    let whole = whole.filter(|moments| !moments.is_empty());
    let whole = whole.ok_or_else(|| task_error("the sound in the evidence is broken"))?;
    let greatest = |at: usize| match whole.iter().map(|moment| moment[at].abs()).fold(0.0, f32::max) {
        small if small < f32::MIN_POSITIVE => 1.0,
        greatest => greatest,
    };
    let greatest: [f32; COEFFICIENTS] = std::array::from_fn(greatest);
    let scaled =
        |moment: &[f32; COEFFICIENTS]| std::array::from_fn(|at| f64::from(moment[at] / greatest[at]));
    Ok(Ok(whole.iter().map(scaled).collect()))
}

/// Returns the distance of two moments: one less the cosine of their angle.
fn distance(a: &Moment, b: &Moment) -> f64 {
    let product = |a: &Moment, b: &Moment| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    (1.0 - product(a, b) / (product(a, a) * product(b, b)).sqrt()).clamp(0.0, 2.0)
}

fn number(at: usize) -> f64 {
    f64::from(u32::try_from(at).unwrap_or(u32::MAX))
}

/// Returns the distance along the best alignment, and its number of steps.
fn aligned(found: &[Moment], wanted: &[Moment]) -> (f64, usize) {
    let (distance, path) = approximate(found, wanted);
    (distance, path.len())
}

/// A pair of moments, by their places.
type Pair = (usize, usize);

/// Aligns sounds of half the detail first, and then only near that alignment.
fn approximate(found: &[Moment], wanted: &[Moment]) -> (f64, Vec<Pair>) {
    if found.len() < RADIUS + 2 || wanted.len() < RADIUS + 2 {
        let rows = vec![0..wanted.len(); found.len()];
        return within(found, wanted, &rows);
    }
    let half = |moments: &[Moment]| -> Vec<Moment> {
        let mean = |pair: &[Moment; 2]| std::array::from_fn(|at| (pair[0][at] + pair[1][at]) / 2.0);
        moments.as_chunks::<2>().0.iter().map(mean).collect()
    };
    let (_, path) = approximate(&half(found), &half(wanted));
    within(found, wanted, &near(&path, found.len(), wanted.len()))
}

/// Returns for each moment of one sound those of the other that lie near the alignment of half the detail.
fn near(path: &[Pair], rows: usize, columns: usize) -> Vec<std::ops::Range<usize>> {
    let mut wide: Vec<Option<Pair>> = vec![None; rows.div_ceil(2) + RADIUS + 1];
    for (row, column) in path {
        for row in row.saturating_sub(RADIUS)..=row + RADIUS {
            let Some(range) = wide.get_mut(row) else { continue };
            let (low, high) = (column.saturating_sub(RADIUS), column + RADIUS);
            *range = Some(range.map_or((low, high), |(first, last)| (first.min(low), last.max(high))));
        }
    }
    let mut start = 0;
    let range = |row: usize| {
        let (low, high) = wide[row / 2].unwrap_or_default();
        let range = (low * 2).max(start)..(high * 2 + 2).min(columns);
        start = range.start;
        range
    };
    (0..rows).map(range).collect()
}

/// Aligns two sounds within a range of columns for each row.
fn within(found: &[Moment], wanted: &[Moment], rows: &[std::ops::Range<usize>]) -> (f64, Vec<Pair>) {
    /// How a pair was reached: from the row before, the column before, or both.
    #[derive(Clone, Copy)]
    enum From {
        Row,
        Column,
        Both,
    }
    let mut steps: Vec<Vec<From>> = Vec::with_capacity(rows.len());
    let mut last: Vec<f64> = Vec::new();
    let mut last_range = 0..0;
    for (row, range) in rows.iter().enumerate() {
        let mut line: Vec<f64> = Vec::with_capacity(range.len());
        let mut taken = Vec::with_capacity(range.len());
        let above = |column: usize| {
            let at = column.checked_sub(last_range.start);
            at.and_then(|at| last.get(at)).copied().unwrap_or(f64::INFINITY)
        };
        for column in range.clone() {
            let before = line.last().copied().unwrap_or(f64::INFINITY);
            let both = match (row, column) {
                (0, 0) => 0.0,
                (_, 0) => f64::INFINITY,
                (_, column) => above(column - 1),
            };
            let step = distance(&found[row], &wanted[column]);
            // Among equal ones the library takes the first in this order.
            let ways = [(above(column), From::Row), (before, From::Column), (both, From::Both)];
            let mut best = ways[0];
            for way in &ways[1..] {
                if way.0 + step < best.0 + step {
                    best = *way;
                }
            }
            line.push(best.0 + step);
            taken.push(best.1);
        }
        steps.push(taken);
        (last, last_range) = (line, range.clone());
    }
    let total = last.last().copied().unwrap_or(f64::INFINITY);
    let (mut row, mut column) = (found.len(), wanted.len());
    let mut path = Vec::new();
    while row > 0 && column > 0 {
        path.push((row - 1, column - 1));
        let range = &rows[row - 1];
        let taken = (column - 1).checked_sub(range.start).and_then(|at| steps[row - 1].get(at));
        match taken {
            Some(From::Row) => row -= 1,
            Some(From::Column) => column -= 1,
            Some(From::Both) => (row, column) = (row - 1, column - 1),
            None => break,
        }
    }
    path.reverse();
    (total, path)
}

#[cfg(test)]
mod tests {
    use super::{Moment, aligned};

    fn sound(length: u32, pace: f64) -> Vec<Moment> {
        let at = |moment: u32| {
            std::array::from_fn(|place| {
                let place = f64::from(u32::try_from(place).unwrap());
                (f64::from(moment) * pace / 7.0 + place).sin() + 0.3 * place.cos()
            })
        };
        (0..length).map(at).collect()
    }

    #[test]
    fn alignments_are_those_of_the_library() {
        // fastdtw(a, b, dist=cosine) of the same sounds.
        for (lengths, pace, wanted) in [
            ((1, 1), 1.0, (0.0, 1)),
            ((2, 9), 1.3, (1.6190567059083627, 9)),
            ((40, 40), 1.0, (0.0, 40)),
            ((57, 80), 1.2, (31.41302581311586, 94)),
            ((130, 101), 0.7, (51.146125025265675, 159)),
            ((64, 33), 2.5, (6.764933565961401, 70)),
        ] {
            let (distance, steps) = aligned(&sound(lengths.0, 1.0), &sound(lengths.1, pace));
            assert!(
                (distance - wanted.0).abs() < 1e-9 && steps == wanted.1,
                "{lengths:?}: {distance} {steps}"
            );
        }
    }
}
