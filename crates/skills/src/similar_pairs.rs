//! Finds all pairs of texts whose word similarity reaches a threshold, without comparing every pair. The result is that of
//! [`crate::words::word_similarity`] on all pairs.

use std::collections::HashMap;

use crate::words::words;

/// A text as counts of its words, the words of most texts first.
struct WordVector {
    /// Rank of a word and its count, by rank.
    counts: Vec<(u32, f64)>,
    /// Sum of the squared counts.
    square: f64,
}

/// Guards the bound below against rounding: a few more words than necessary are indexed.
const ROUNDING: f64 = 1e-9;

/// Returns the positions of each pair, the first one lower, with their similarity, ordered by position.
///
/// Two vectors whose cosine reaches the threshold cannot meet in the common words of one of them alone while the length of
/// that part stays below the threshold. So only the rare words of a text are indexed, and only texts that share such a word
/// are compared.
pub(crate) fn similar_pairs(texts: &[String], threshold: f64) -> Vec<(usize, usize, f64)> {
    let vectors = vectors(texts);
    let mut found = Vec::new();
    if threshold <= 0.0 {
        for (place, one) in vectors.iter().enumerate() {
            let others = vectors.iter().enumerate().take(place);
            found.extend(others.map(|(other, vector)| (other, place, cosine(one, vector))));
        }
        found.sort_by_key(|(one, other, _)| (*one, *other));
        return found;
    }
    let mut index: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut compared: Vec<Option<usize>> = vec![None; vectors.len()];
    for (place, vector) in vectors.iter().enumerate() {
        for (word, _) in &vector.counts {
            for other in index.get(word).map(Vec::as_slice).unwrap_or_default() {
                if compared[*other].replace(place) == Some(place) {
                    continue;
                }
                let alike = cosine(vector, &vectors[*other]);
                if alike >= threshold {
                    found.push((*other, place, alike));
                }
            }
        }
        let (mut common, bound) = (0.0, threshold * threshold * vector.square * (1.0 - ROUNDING));
        for (word, count) in &vector.counts {
            common += count * count;
            if common >= bound {
                index.entry(*word).or_default().push(place);
            }
        }
    }
    found.sort_by_key(|(one, other, _)| (*one, *other));
    found
}

fn vectors(texts: &[String]) -> Vec<WordVector> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut holders: Vec<u32> = Vec::new();
    let mut counted: Vec<HashMap<u32, f64>> = Vec::new();
    for text in texts {
        let mut counts: HashMap<u32, f64> = HashMap::new();
        for word in words(text) {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(word).or_insert(next);
            *counts.entry(number).or_insert(0.0) += 1.0;
        }
        for number in counts.keys() {
            let at = *number as usize;
            holders.resize(holders.len().max(at + 1), 0);
            holders[at] += 1;
        }
        counted.push(counts);
    }
    // The more texts hold a word, the lower its rank.
    let mut order: Vec<u32> = (0..).take(holders.len()).collect();
    order.sort_by_key(|number| (std::cmp::Reverse(holders[*number as usize]), *number));
    let mut ranks = vec![0u32; order.len()];
    for (rank, number) in (0..).zip(order) {
        ranks[number as usize] = rank;
    }
    let vector = |counts: HashMap<u32, f64>| {
        let mut counts: Vec<(u32, f64)> =
            counts.into_iter().map(|(number, count)| (ranks[number as usize], count)).collect();
        counts.sort_unstable_by_key(|(rank, _)| *rank);
        let square = counts.iter().map(|(_, count)| count * count).sum();
        WordVector { counts, square }
    };
    counted.into_iter().map(vector).collect()
}

fn cosine(one: &WordVector, other: &WordVector) -> f64 {
    let (mut left, mut right) = (one.counts.iter().peekable(), other.counts.iter().peekable());
    let mut dot = 0.0;
    while let (Some((word, n)), Some((met, m))) = (left.peek(), right.peek()) {
        match word.cmp(met) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                dot += n * m;
                left.next();
                right.next();
            }
        }
    }
    let lengths = (one.square * other.square).sqrt();
    if lengths > 0.0 { (dot / lengths).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::similar_pairs;
    use crate::words::word_similarity;

    fn all_pairs(texts: &[String], threshold: f64) -> Vec<(usize, usize, f64)> {
        let mut found = Vec::new();
        for (place, one) in texts.iter().enumerate() {
            for (other, text) in texts.iter().enumerate().skip(place + 1) {
                let alike = word_similarity(one, text);
                if alike >= threshold {
                    found.push((place, other, alike));
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn the_index_finds_what_comparing_all_pairs_finds(
            texts in prop::collection::vec("([a-f]{1,2} ){0,12}", 0..14),
            threshold in prop::sample::select(vec![0.0, 0.25, 0.5, 0.6, 0.85, 1.0]),
        ) {
            prop_assert_eq!(similar_pairs(&texts, threshold), all_pairs(&texts, threshold));
        }
    }
}
