//! Compares texts by embedding: unit vectors, their similarity, and the similarity from which two texts say the same.
//! This threshold differs between models, so it is measured on labelled pairs.

use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{EmbedError, Embedder, Side};

use crate::word_vectors::WordVectors;

/// Labelled pairs of texts, one per line: `same` for equal content, `other` for different content about the same
/// things.
const PAIRS: &str = include_str!("meaning.txt");
/// Weight of a false match relative to a missed one. Merged skills are hard to separate again.
const FALSE_MATCH_WEIGHT: f64 = 3.0;

/// Weight of meaning in the score of a search, beside that of words, for a server's model. Measured; see
/// `docs/design.md`.
const SERVER_WEIGHT: f32 = 0.7;
/// The same for the vectors that are part of the program.
const BUILTIN_WEIGHT: f32 = 0.3;

/// A unit vector.
pub type Vector = Arc<[f32]>;

/// An embedder with its measured threshold.
pub struct EmbeddingModel {
    embedder: Arc<dyn Embedder>,
    weight: f32,
    threshold: Mutex<Option<f64>>,
}

impl std::fmt::Debug for EmbeddingModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "meaning by {}", self.embedder.name())
    }
}

impl EmbeddingModel {
    /// Wraps an embedder. Every text of a book is embedded, so a caching embedder is recommended.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, weight: SERVER_WEIGHT, threshold: Mutex::default() }
    }

    /// Returns the model that is part of the program and needs no server.
    pub fn builtin() -> Self {
        Self { weight: BUILTIN_WEIGHT, ..Self::new(Arc::new(WordVectors)) }
    }

    /// Returns the weight of meaning in the score of a search; the rest is that of words.
    pub fn weight(&self) -> f32 {
        self.weight
    }

    /// Returns the embedder's name.
    pub fn name(&self) -> &str {
        self.embedder.name()
    }

    /// Returns one unit vector per text, in order.
    ///
    /// # Errors
    ///
    /// Fails if the embedder does, such as because its server does not answer, or if it does not return a usable vector for each text.
    pub async fn vectors(&self, side: Side, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
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

    /// Returns the similarity from which two texts say the same, for this embedder.
    ///
    /// # Errors
    ///
    /// Fails as [`vectors`](Self::vectors) does.
    pub async fn threshold(&self) -> Result<f64, EmbedError> {
        if let Some(known) = *self.threshold.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(known);
        }
        let pairs = labelled_pairs();
        let texts: Vec<String> =
            pairs.iter().flat_map(|(_, left, right)| [(*left).to_owned(), (*right).to_owned()]).collect();
        let vectors = self.vectors(Side::Passage, &texts).await?;
        let (both, _) = vectors.as_chunks::<2>();
        let mut measured = Vec::new();
        for ((same, ..), [one, other]) in pairs.iter().zip(both) {
            measured.push((cosine(one, other)?, *same));
        }
        let found = best_threshold(&measured);
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

/// Returns the cosine of two vectors, from -1 to 1.
///
/// # Errors
///
/// Fails if the vectors have unlike lengths: the server's model has changed then, and the store of vectors has to be deleted.
pub fn cosine(first: &[f32], second: &[f32]) -> Result<f64, EmbedError> {
    if first.len() != second.len() {
        let story = format!(
            "vectors of {} and of {} dimensions: the server's model has changed; delete the store of vectors",
            first.len(),
            second.len()
        );
        return Err(EmbedError(story));
    }
    let dot: f32 = first.iter().zip(second).map(|(left, right)| left * right).sum();
    Ok(f64::from(dot).clamp(-1.0, 1.0))
}

/// Returns the labelled pairs: whether they say the same, and both texts.
pub(crate) fn labelled_pairs() -> Vec<(bool, &'static str, &'static str)> {
    let pair = |line: &'static str| {
        let (label, texts) = line.split_once('|')?;
        let (one, other) = texts.split_once('|')?;
        Some((label == "same", one, other))
    };
    PAIRS.lines().filter(|line| !line.starts_with('#')).filter_map(pair).collect()
}

/// Returns the threshold that best separates equal from different pairs: the middle of the best gap.
fn best_threshold(measured: &[(f64, bool)]) -> f64 {
    let mut sorted = measured.to_vec();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut gain, mut best, mut found) = (0.0, f64::NEG_INFINITY, 1.0);
    for (index, (likeness, same)) in sorted.iter().enumerate() {
        gain += if *same { 1.0 } else { -FALSE_MATCH_WEIGHT };
        if gain > best {
            best = gain;
            found = sorted.get(index + 1).map_or(*likeness, |(next, _)| f64::midpoint(*likeness, *next));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{best_threshold, cosine, labelled_pairs};

    #[test]
    fn the_threshold_lies_in_the_gap_and_fears_false_alarms() {
        let apart = best_threshold(&[(0.9, true), (0.8, true), (0.6, false), (0.5, false)]);
        assert!((apart - 0.7).abs() < 1e-9, "{apart}");
        // One more matched pair does not outweigh one false match.
        let mixed = best_threshold(&[(0.95, true), (0.9, true), (0.8, false), (0.7, true), (0.6, false)]);
        assert!((mixed - 0.85).abs() < 1e-9, "{mixed}");
        // Three more do neither; four do.
        let after = |matches: usize| {
            let low =
                (0..matches).map(|place| (0.7 - 0.01 * f64::from(u32::try_from(place).expect("few")), true));
            best_threshold(&[(0.9, true), (0.8, false)].into_iter().chain(low).collect::<Vec<_>>())
        };
        assert!((after(3) - 0.85).abs() < 1e-9, "{}", after(3));
        assert!((after(4) - 0.67).abs() < 1e-9, "{}", after(4));
    }

    #[test]
    fn vectors_of_two_models_are_not_compared() {
        assert!(cosine(&[1.0, 0.0], &[1.0]).expect_err("cannot be").to_string().contains("2 and of 1"));
    }

    #[test]
    fn there_are_pairs_of_both_kinds() {
        let same = labelled_pairs().iter().filter(|(same, ..)| *same).count();
        assert!(same >= 15 && labelled_pairs().len() - same >= 20, "{same} of {}", labelled_pairs().len());
    }

    #[test]
    fn a_false_match_weighs_as_much_as_three_missed_ones() {
        // Beyond 17 false matches lie 52 right ones, one more than make up for them.
        let found = |beyond: usize| {
            let rest = [vec![(0.8, false); 17], vec![(0.7, true); beyond]].concat();
            best_threshold(&[vec![(0.9, true)], rest].concat())
        };
        assert!((found(51) - 0.85).abs() < 1e-9, "{}", found(51));
        assert!((found(52) - 0.7).abs() < 1e-9, "{}", found(52));
    }
}
