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

/// The length of a text's common words, as a share of the threshold. It decides how many words are indexed and how many
/// texts are compared, and so the time; the pairs are the same for every share between 0 and 1.
const COMMON_SHARE: f64 = 0.7;
/// Guards the bounds below against rounding: a few more texts than necessary are compared.
const ROUNDING: f64 = 1e-9;

/// Returns the positions of each pair, the first one lower, with their similarity, ordered by position.
///
/// Let the common words of a text be its most frequent ones up to a length of `COMMON_SHARE` of the threshold, and the
/// other ones its rare words. Of two texts, the common words of one include all shared words that are not rare in both. So
/// they add at most that length to the cosine, and the shared rare words of a pair must add the rest. Their sum is cheap:
/// only rare words are indexed. Only texts that reach the rest are compared.
pub fn similar_pairs(texts: &[String], threshold: f64) -> Vec<(usize, usize, f64)> {
    let vectors = vectors(texts);
    let mut found = Vec::new();
    if threshold <= 0.0 {
        for (number, current) in vectors.iter().enumerate() {
            let others = vectors.iter().enumerate().take(number);
            found.extend(others.map(|(other, vector)| (other, number, cosine(current, vector))));
        }
        found.sort_by_key(|(left, right, _)| (*left, *right));
        return found;
    }
    let rest = (1.0 - COMMON_SHARE) * threshold * (1.0 - ROUNDING);
    let mut index: HashMap<u32, Vec<(usize, f64)>> = HashMap::new();
    let mut shared = vec![0.0; vectors.len()];
    let mut touched = Vec::new();
    for (number, vector) in vectors.iter().enumerate() {
        let rare = rare_words(vector, COMMON_SHARE * threshold);
        for (word, count) in rare {
            for (other, met) in index.get(word).map(Vec::as_slice).unwrap_or_default() {
                if shared[*other] == 0.0 {
                    touched.push(*other);
                }
                shared[*other] += count * met;
            }
        }
        for other in touched.drain(..) {
            let sum: f64 = std::mem::take(&mut shared[other]);
            if sum < rest * (vector.square * vectors[other].square).sqrt() {
                continue;
            }
            let alike = cosine(vector, &vectors[other]);
            if alike >= threshold {
                found.push((other, number, alike));
            }
        }
        for (word, count) in rare {
            index.entry(*word).or_default().push((number, *count));
        }
    }
    found.sort_by_key(|(left, right, _)| (*left, *right));
    found
}

/// Returns the words of a text without the most common ones, whose length is at most the given share of the text's.
fn rare_words(vector: &WordVector, share: f64) -> &[(u32, f64)] {
    let (mut common, bound) = (0.0, share * share * vector.square);
    let mut is_common = |(_, count): &(u32, f64)| {
        common += count * count;
        common <= bound
    };
    &vector.counts[vector.counts.iter().take_while(|word| is_common(word)).count()..]
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

fn cosine(first: &WordVector, second: &WordVector) -> f64 {
    let (mut left, mut right) = (first.counts.iter().peekable(), second.counts.iter().peekable());
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
    let lengths = (first.square * second.square).sqrt();
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
