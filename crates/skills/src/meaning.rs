//! Texts by what they mean: unit vectors from an embedder, how alike they are, and from which likeness on two texts
//! say the same. That number is another one for each model, so it is measured on pairs that are labelled.

use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{EmbedError, Embedder, Side};

/// Pairs of texts that say the same (`same`) or something else about the same things (`other`), one a line.
const PAIRS: &str = include_str!("meaning.txt");
/// Pairs that are called the same and are not weigh so much more than pairs that are missed: what is merged is hard
/// to part again.
const FALSE_ALARM: f64 = 3.0;

/// A text's direction; of length one.
pub(crate) type Vector = Arc<[f32]>;

/// An embedder, as a book uses it.
pub struct Meaning {
    embedder: Arc<dyn Embedder>,
    threshold: Mutex<Option<f64>>,
}

impl std::fmt::Debug for Meaning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "meaning by {}", self.embedder.name())
    }
}

impl Meaning {
    /// By this embedder. It is asked for every text of a book; one that remembers answers is best.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, threshold: Mutex::default() }
    }

    /// The embedder's name.
    pub fn name(&self) -> &str {
        self.embedder.name()
    }

    /// One unit vector per text, in order.
    pub(crate) async fn vectors(&self, side: Side, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.embedder.embed(side, texts).await?;
        if answer.len() != texts.len() {
            let story = format!("{} answered {} texts with {}", self.name(), texts.len(), answer.len());
            return Err(EmbedError(story));
        }
        answer.into_iter().map(|vector| unit(vector, self.name())).collect()
    }

    /// The likeness from which on two texts say the same, by this embedder.
    pub async fn threshold(&self) -> Result<f64, EmbedError> {
        if let Some(known) = *self.threshold.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(known);
        }
        let pairs = labelled();
        let texts: Vec<String> =
            pairs.iter().flat_map(|(_, one, other)| [(*one).to_owned(), (*other).to_owned()]).collect();
        let vectors = self.vectors(Side::Passage, &texts).await?;
        let (both, _) = vectors.as_chunks::<2>();
        let mut measured = Vec::new();
        for ((same, ..), [one, other]) in pairs.iter().zip(both) {
            measured.push((cosine(one, other)?, *same));
        }
        let found = part(&measured);
        *self.threshold.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        Ok(found)
    }
}

fn unit(vector: Vec<f32>, name: &str) -> Result<Vector, EmbedError> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if !length.is_finite() || length <= 0.0 {
        return Err(EmbedError(format!("{name} answered with a vector that has no direction")));
    }
    Ok(vector.into_iter().map(|number| number / length).collect())
}

/// How alike two directions are, from -1 to 1.
pub(crate) fn cosine(one: &[f32], other: &[f32]) -> Result<f64, EmbedError> {
    if one.len() != other.len() {
        let story = format!(
            "vectors of {} and of {} dimensions: the server's model has changed; delete the store of vectors",
            one.len(),
            other.len()
        );
        return Err(EmbedError(story));
    }
    let dot: f32 = one.iter().zip(other).map(|(left, right)| left * right).sum();
    Ok(f64::from(dot).clamp(-1.0, 1.0))
}

/// The labelled pairs: whether they say the same, and both texts.
pub(crate) fn labelled() -> Vec<(bool, &'static str, &'static str)> {
    let pair = |line: &'static str| {
        let (label, texts) = line.split_once('|')?;
        let (one, other) = texts.split_once('|')?;
        Some((label == "same", one, other))
    };
    PAIRS.lines().filter(|line| !line.starts_with('#')).filter_map(pair).collect()
}

/// Where measured likenesses part best what is the same from what is not: in the middle of the best gap.
fn part(measured: &[(f64, bool)]) -> f64 {
    let mut sorted = measured.to_vec();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut gain, mut best, mut found) = (0.0, f64::NEG_INFINITY, 1.0);
    for (place, (likeness, same)) in sorted.iter().enumerate() {
        gain += if *same { 1.0 } else { -FALSE_ALARM };
        if gain > best {
            best = gain;
            found = sorted.get(place + 1).map_or(*likeness, |(next, _)| f64::midpoint(*likeness, *next));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{cosine, labelled, part};

    #[test]
    fn the_threshold_lies_in_the_gap_and_fears_false_alarms() {
        let apart = part(&[(0.9, true), (0.8, true), (0.6, false), (0.5, false)]);
        assert!((apart - 0.7).abs() < 1e-9, "{apart}");
        // One pair more is not worth one false alarm.
        let mixed = part(&[(0.95, true), (0.9, true), (0.8, false), (0.7, true), (0.6, false)]);
        assert!((mixed - 0.85).abs() < 1e-9, "{mixed}");
    }

    #[test]
    fn vectors_of_two_models_are_not_compared() {
        assert!(cosine(&[1.0, 0.0], &[1.0]).expect_err("cannot be").to_string().contains("2 and of 1"));
    }

    #[test]
    fn there_are_pairs_of_both_kinds() {
        let same = labelled().iter().filter(|(same, ..)| *same).count();
        assert!(same >= 15 && labelled().len() - same >= 20, "{same} of {}", labelled().len());
    }
}
