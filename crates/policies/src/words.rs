//! Compares words: lower-cased, stemmed, without stop words, and with a small table of general interface synonyms.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Stop words of instructions and labels.
const FILLER: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for", "from",
    "has", "have", "i", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "please", "should",
    "so", "that", "the", "their", "them", "then", "there", "these", "this", "those", "to", "up", "via",
    "was", "we", "what", "when", "which", "will", "with", "would", "you", "your", "must", "want", "need",
    "now", "also", "make", "sure", "set", "not", "turn", "put", "let", "use", "using", "get", "give", "just",
    "instead", "only", "task", "asked", "ask", "asks", "off", "one", "such", "way",
];

/// Words that occur in so many labels that they are weak evidence.
const COMMON: &[&str] = &[
    "new", "open", "show", "file", "text", "document", "window", "page", "all", "select", "change", "view",
    "line", "item", "name", "default", "edit", "tool", "add", "insert", "other", "close", "save", "folder",
    "app", "mode", "tab", "go", "choose", "current", "option", "type", "copy", "everi", "whole",
];

/// Groups of synonyms in user interfaces; the first word represents the group.
const SYNONYMS: &[&[&str]] = &[
    &["preference", "setting", "configuration", "option"],
    &["delete", "remove"],
    &["folder", "directory"],
    &["show", "display", "visible"],
    &["enable", "activate"],
    &["find", "search"],
    &["begin", "start", "launch"],
    &["create", "new"],
    &["all", "every", "each", "everything", "entire"],
];

/// Returns the lower-case words of a text, in order. Everything but letters and digits is a separator.
pub(super) fn plain(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns whether a word says nothing by itself.
pub(super) fn is_filler(word: &str) -> bool {
    FILLER.contains(&word)
}

/// Returns a word without its ending, so that `endings`, `ending` and `ended` share a stem.
fn stem(word: &str) -> String {
    let mut stem = word;
    if stem.chars().count() > 3 && !stem.ends_with("ss") && !stem.ends_with("us") && !stem.ends_with("is") {
        stem = stem.strip_suffix('s').unwrap_or(stem);
    }
    for (ending, least) in [("ing", 6), ("ed", 5)] {
        if stem.chars().count() >= least
            && let Some(shorter) = stem.strip_suffix(ending)
        {
            stem = shorter;
            break;
        }
    }
    stem.strip_suffix('e').filter(|shorter| shorter.len() > 2).unwrap_or(stem).to_owned()
}

/// Maps the stem of each synonym to the stem that represents its group.
static GROUPS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let pairs = SYNONYMS.iter().flat_map(|group| group.iter().map(|word| (stem(word), stem(group[0]))));
    pairs.collect()
});

static COMMON_STEMS: LazyLock<HashSet<String>> =
    LazyLock::new(|| COMMON.iter().map(|word| stem(word)).collect());

/// Returns the stems of a text's telling words with their weights, synonyms unified, without duplicates.
fn weighed(text: &str) -> Vec<(String, f32)> {
    let mut found: Vec<(String, f32)> = Vec::new();
    for word in plain(text).iter().filter(|word| !is_filler(word)) {
        let stem = stem(word);
        let weight = if COMMON_STEMS.contains(&stem) { 0.35 } else { 1.0 };
        let stem = GROUPS.get(&stem).cloned().unwrap_or(stem);
        if !found.iter().any(|(known, _)| *known == stem) {
            found.push((stem, weight));
        }
    }
    found
}

/// Returns the stems of a text's telling words, in order and without duplicates.
pub(super) fn content(text: &str) -> Vec<String> {
    weighed(text).into_iter().map(|(stem, _)| stem).collect()
}

/// How well a label matches a set of wanted words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fit {
    /// The total weight of the label's words that are wanted.
    pub(super) matched: f32,
    /// The fraction of the label's weight that is wanted, from 0 to 1.
    pub(super) share: f32,
}

impl Fit {
    /// Returns how well these wanted stems match a label.
    /// The first half of a label such as `this / that` may match alone.
    pub(super) fn of(wanted: &[String], label: &str) -> Self {
        let whole = Self::of_whole(wanted, label);
        let first =
            label.split_once(" / ").map(|(first, _)| Self::of_whole(wanted, first)).unwrap_or_default();
        if first.score() > whole.score() { first } else { whole }
    }

    fn of_whole(wanted: &[String], label: &str) -> Self {
        let stems = weighed(label);
        let whole: f32 = stems.iter().map(|(_, weight)| weight).sum();
        let matched = stems.iter().filter(|(stem, _)| wanted.contains(stem)).map(|(_, weight)| weight).sum();
        if whole > 0.0 { Self { matched, share: matched / whole } } else { Self::default() }
    }

    /// Returns a single score for ranking labels.
    pub(super) fn score(self) -> f32 {
        self.matched * self.share
    }

    /// Returns whether every word of the label is requested, and together they are specific.
    pub(super) fn is_exact(self) -> bool {
        self.share >= 0.99 && self.matched >= 0.7
    }

    /// Returns whether most of the label is requested, or much of it.
    pub(super) fn is_partial(self) -> bool {
        self.is_exact()
            || self.share >= 0.6 && self.matched >= 0.9
            || self.share >= 0.5 && self.matched >= 2.0
    }
}

/// Returns whether two labels have the same words, ignoring case and punctuation.
pub(super) fn same_label(one: &str, other: &str) -> bool {
    let (one, other) = (plain(one), plain(other));
    !one.is_empty() && one == other
}

/// Returns whether a text contains these words in sequence.
pub(super) fn holds(text: &str, words: &str) -> bool {
    let (text, words) = (plain(text), plain(words));
    !words.is_empty() && text.windows(words.len()).any(|run| run == words)
}
