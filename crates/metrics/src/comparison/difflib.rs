//! Ratcliff-Obershelp similarity of sequences, as in Python's `difflib`, and edit similarity of texts.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::ops::Range;

use crate::scoring::{MetricError, task_error};

/// From this length on, elements that make up more than 1% of the second sequence are not indexed.
const POPULAR_FROM: usize = 200;
/// Maximum number of position comparisons per ratio.
const BUDGET: u64 = 100_000_000;

struct Matcher<'a, T> {
    a: &'a [T],
    b: &'a [T],
    /// Positions in `b` of each indexed element.
    places: HashMap<&'a T, Vec<usize>>,
    left: u64,
}

/// A common subsequence: its start in each sequence, and its length.
#[derive(Clone, Copy)]
struct Match {
    a: usize,
    b: usize,
    length: usize,
}

/// Returns twice the number of matched elements divided by the number of all elements.
pub(crate) fn ratio<T: Eq + Hash>(a: &[T], b: &[T]) -> Result<f64, MetricError> {
    let all = a.len() + b.len();
    if all == 0 {
        return Ok(1.0);
    }
    let mut matcher = Matcher::new(a, b);
    let mut matched = 0_usize;
    let mut queue = VecDeque::from([(0, a.len(), 0, b.len())]);
    while let Some((a_from, a_to, b_from, b_to)) = queue.pop_front() {
        let found = matcher.longest(a_from..a_to, b_from..b_to)?;
        if found.length == 0 {
            continue;
        }
        matched += found.length;
        if a_from < found.a && b_from < found.b {
            queue.push_back((a_from, found.a, b_from, found.b));
        }
        if found.a + found.length < a_to && found.b + found.length < b_to {
            queue.push_back((found.a + found.length, a_to, found.b + found.length, b_to));
        }
    }
    Ok(2.0 * as_float(matched) / as_float(all))
}

fn as_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

impl<'a, T: Eq + Hash> Matcher<'a, T> {
    fn new(a: &'a [T], b: &'a [T]) -> Self {
        let mut places: HashMap<&T, Vec<usize>> = HashMap::new();
        for (at, element) in b.iter().enumerate() {
            places.entry(element).or_default().push(at);
        }
        if b.len() >= POPULAR_FROM {
            let most = b.len() / 100 + 1;
            places.retain(|_, places| places.len() <= most);
        }
        Self { a, b, places, left: BUDGET }
    }

    /// Returns the longest match within two ranges; on a tie the first in `a`, then in `b`.
    fn longest(&mut self, in_a: Range<usize>, in_b: Range<usize>) -> Result<Match, MetricError> {
        let mut best = Match { a: in_a.start, b: in_b.start, length: 0 };
        let mut ends: HashMap<usize, usize> = HashMap::new();
        for at in in_a.clone() {
            let mut next = HashMap::new();
            let places = self.places.get(&self.a[at]).map(Vec::as_slice).unwrap_or_default();
            let first = places.partition_point(|place| *place < in_b.start);
            let within = places[first..].iter().take_while(|place| **place < in_b.end);
            for &place in within {
                self.left = self
                    .left
                    .checked_sub(1)
                    .ok_or_else(|| task_error("the texts are too large to compare"))?;
                let length =
                    place.checked_sub(1).and_then(|before| ends.get(&before)).map_or(1, |length| length + 1);
                next.insert(place, length);
                if length > best.length {
                    best = Match { a: at + 1 - length, b: place + 1 - length, length };
                }
            }
            ends = next;
        }
        // Elements too frequent for the index can still extend the match at both ends.
        while best.a > in_a.start && best.b > in_b.start && self.a[best.a - 1] == self.b[best.b - 1] {
            best = Match { a: best.a - 1, b: best.b - 1, length: best.length + 1 };
        }
        while best.a + best.length < in_a.end
            && best.b + best.length < in_b.end
            && self.a[best.a + best.length] == self.b[best.b + best.length]
        {
            best.length += 1;
        }
        Ok(best)
    }
}

/// Returns the similarity of two texts from 0 to 100, by insertions and deletions only.
pub(crate) fn edit_similarity(a: &str, b: &str) -> f64 {
    100.0 * rapidfuzz::fuzz::ratio(a.chars(), b.chars())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{edit_similarity, ratio};

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn ratios_are_those_of_the_original() {
        // Each number is the result of Python's `difflib`.
        for (a, b, expected) in [
            ("", "", 1.0),
            ("abcd", "bcde", 0.75),
            ("private volatile", "private", 0.608_695_652_173_913),
            ("qabxcd", "abycdf", 0.666_666_666_666_666_6),
        ] {
            let found = ratio(&chars(a), &chars(b)).expect("fits");
            assert!((found - expected).abs() < 1e-12, "{a} {b}: {found}");
        }
        let a: Vec<usize> = (0..400).map(|at| at % 7).collect();
        let b: Vec<usize> = (0..400).map(|at| at % 5).collect();
        // Only the five elements at the start match, by extension; all others are too frequent to be indexed.
        assert_eq!(ratio(&a, &b), Ok(0.0125));
        assert!((edit_similarity("abcd", "abce") - 75.0).abs() < 1e-9);
        assert!((edit_similarity("", "") - 100.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn a_ratio_lies_between_nothing_and_one(a in "[ab]{0,30}", b in "[abc]{0,30}") {
            let found = ratio(&chars(&a), &chars(&b)).expect("fits");
            prop_assert!((0.0..=1.0).contains(&found));
            prop_assert_eq!(found == 1.0, a == b);
        }
    }
}
