//! Compares words: lower-cased, stemmed, without stop words, and with a small table of general interface synonyms.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Stop words of instructions and labels.
const FILLER: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for", "from",
    "has", "have", "i", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "please", "should",
    "so", "that", "the", "their", "them", "then", "there", "these", "this", "those", "to", "up", "via",
    "was", "we", "what", "when", "which", "will", "with", "would", "you", "your", "must", "want", "need",
    "now", "also", "make", "sure", "set", "turn", "put", "let", "use", "using", "get", "give", "just",
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
    &["delete", "remove", "erase", "discard"],
    &["folder", "directory"],
    &["picture", "image", "photo"],
    &["big", "large"],
    &["small", "little", "tiny"],
    &["size", "width"],
    &["show", "display", "visible", "reveal"],
    &["hide", "conceal", "invisible"],
    &["enable", "activate"],
    &["disable", "deactivate"],
    &["find", "search"],
    &["begin", "start", "startup", "launch"],
    &["quit", "exit"],
    &["colour", "color"],
    &["create", "new"],
    &["duplicate", "copy"],
    &["swap", "exchange", "opposite", "invert"],
    &["letter", "character"],
    &["end", "finish"],
    &["site", "website"],
    &["permit", "allow"],
    &["block", "forbid", "deny"],
    &["appearance", "look", "theme"],
    &["all", "every", "each", "everything", "entire"],
    &["uppercase", "capital", "capitalize", "capitalise"],
];

/// Returns the lower-case words of a text, in order. Everything but letters and digits is a separator.
pub(super) fn plain(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Returns a word without its ending, so that `endings`, `ending` and `ended` share a stem.
pub(super) fn stem(word: &str) -> String {
    let mut stem = word;
    if stem.chars().count() > 3 && !stem.ends_with("ss") && !stem.ends_with("us") && !stem.ends_with("is") {
        stem = stem.strip_suffix('s').unwrap_or(stem);
    }
    for (ending, least) in [("ing", 6), ("ed", 5), ("ly", 5)] {
        if stem.chars().count() >= least
            && let Some(shorter) = stem.strip_suffix(ending)
        {
            stem = shorter;
            break;
        }
    }
    let mut stem = stem.strip_suffix('e').filter(|shorter| shorter.len() > 2).unwrap_or(stem).to_owned();
    if let Some(shorter) = stem.strip_suffix('y').filter(|shorter| shorter.len() > 2) {
        stem = format!("{shorter}i");
    }
    let mut tail = stem.chars().rev();
    if let (Some(last), Some(before)) = (tail.next(), tail.next())
        && last == before
        && stem.len() > 4
        && !matches!(last, 'l' | 's' | 'e' | 'o')
    {
        stem.pop();
    }
    stem
}

/// Maps the stem of each synonym to the stem that represents its group.
static GROUPS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let pairs = SYNONYMS.iter().flat_map(|group| {
        let first = group.first().map(|first| stem(first)).unwrap_or_default();
        group.iter().map(move |word| (stem(word), first.clone()))
    });
    pairs.collect()
});

/// The stems of [`COMMON`], and the representatives of their synonym groups.
static COMMON_STEMS: LazyLock<[HashSet<String>; 2]> = LazyLock::new(|| {
    let stems = || COMMON.iter().map(|word| stem(word));
    [stems().collect(), stems().map(synonym_representative).collect()]
});

/// Returns the stem that represents a synonym group.
fn synonym_representative(stem_of: String) -> String {
    GROUPS.get(&stem_of).cloned().unwrap_or(stem_of)
}

/// Returns the stems of a text's content words, with synonyms unified, in order and without duplicates.
pub(super) fn content(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in plain(text).iter().filter(|word| !FILLER.contains(&word.as_str())) {
        let word = synonym_representative(stem(word));
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// Returns a label's words without those that say nothing, or all of them where it has no others.
pub(super) fn telling_words(label: &str) -> Vec<String> {
    let words = plain(label);
    let telling: Vec<String> =
        words.iter().filter(|word| !FILLER.contains(&word.as_str())).cloned().collect();
    if telling.is_empty() { words } else { telling }
}

/// Returns the weight of a word. A rare synonym of a common word weighs more than the common word.
fn weight(stem_of: &str, canon_of: &str) -> f32 {
    let [common, groups] = &*COMMON_STEMS;
    if common.contains(stem_of) {
        0.35
    } else if groups.contains(canon_of) {
        0.7
    } else {
        1.0
    }
}

/// Returns the content words of a label as group representatives with their weights.
fn weighed(text: &str) -> Vec<(String, f32)> {
    let mut found: Vec<(String, f32)> = Vec::new();
    for word in plain(text).iter().filter(|word| !FILLER.contains(&word.as_str())) {
        let stem_of = stem(word);
        let canon_of = synonym_representative(stem_of.clone());
        let weight = weight(&stem_of, &canon_of);
        if !found.iter().any(|(known, _)| *known == canon_of) {
            found.push((canon_of, weight));
        }
    }
    found
}

/// How well a label matches a set of wanted words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MatchScore {
    /// The total weight of the label's words that are wanted.
    pub(super) matched: f32,
    /// The fraction of the label's weight that is wanted, from 0 to 1.
    pub(super) share: f32,
    /// The weight of the most specific word that is wanted.
    pub(super) top: f32,
}

impl MatchScore {
    /// Returns a single score for ranking labels.
    pub(super) fn score(self) -> f32 {
        self.matched * self.share
    }
}

/// A set of wanted words, preprocessed for many comparisons.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KeyTerms {
    stems: Vec<String>,
    joined: Vec<String>,
}

impl KeyTerms {
    /// Returns the wanted words of a text. Adjacent words are also stored joined, so that `menu bar` matches
    /// `menubar`.
    pub(super) fn of(text: &str) -> Self {
        let plain = plain(text);
        let joined = plain.windows(2).map(|pair| synonym_representative(stem(&pair.concat()))).collect();
        Self { stems: content(text), joined }
    }

    /// Returns the stems, in order.
    pub(super) fn stems(&self) -> &[String] {
        &self.stems
    }

    /// Returns the set without these stems, for example words that only name a location.
    pub(super) fn without(&self, others: &[String]) -> Self {
        let stems: Vec<String> = self.stems.iter().filter(|stem| !others.contains(stem)).cloned().collect();
        Self { stems, joined: self.joined.clone() }
    }

    /// Adds the words of another set.
    pub(super) fn join(&mut self, other: &Self) {
        let new: Vec<String> =
            other.stems.iter().filter(|stem| !self.stems.contains(stem)).cloned().collect();
        self.stems.extend(new);
        self.joined.extend(other.joined.iter().cloned());
    }

    fn holds(&self, stem_of: &str) -> bool {
        self.stems.iter().chain(&self.joined).any(|wanted| wanted == stem_of)
    }

    /// Returns how well a label matches. The first half of a label such as `this / that` may match alone.
    pub(super) fn fit(&self, label: &str) -> MatchScore {
        let whole = self.fit_whole(label);
        let first = label.split_once(" / ").map(|(first, _)| self.fit_whole(first)).unwrap_or_default();
        if first.score() > whole.score() { first } else { whole }
    }

    fn fit_whole(&self, label: &str) -> MatchScore {
        let stems = weighed(label);
        let whole: f32 = stems.iter().map(|(_, weight)| weight).sum();
        if whole <= 0.0 {
            return MatchScore::default();
        }
        let spelled = plain(label);
        let pairs: Vec<(Vec<String>, String)> = spelled
            .windows(2)
            .map(|pair| (content(&pair.join(" ")), synonym_representative(stem(&pair.concat()))))
            .filter(|(_, pair)| self.stems.contains(pair))
            .collect();
        let is_wanted =
            |stem_of: &String| self.holds(stem_of) || pairs.iter().any(|(parts, _)| parts.contains(stem_of));
        let weights = stems.iter().filter(|(stem, _)| is_wanted(stem)).map(|(_, weight)| *weight);
        let (matched, top) =
            weights.fold((0.0, 0.0_f32), |(sum, top), weight| (sum + weight, top.max(weight)));
        MatchScore { matched, share: matched / whole, top }
    }
}

/// Returns whether two labels have the same words, ignoring case and punctuation.
pub(super) fn same_label(one: &str, other: &str) -> bool {
    let (one, other) = (plain(one), plain(other));
    !one.is_empty() && one == other
}

/// Returns whether a label starts with the words of another.
pub(super) fn starts_with_words(label: &str, with: &str) -> bool {
    let (label, with) = (plain(label), plain(with));
    !with.is_empty() && label.len() >= with.len() && label[..with.len()] == with
}

/// Returns whether a label contains these words in sequence.
pub(super) fn holds(label: &str, words: &str) -> bool {
    let (label, words) = (plain(label), plain(words));
    !words.is_empty() && label.windows(words.len()).any(|run| run == words)
}

#[cfg(test)]
mod tests {
    use super::{KeyTerms, same_label, stem, telling_words};

    #[test]
    fn endings_meet() {
        for (one, other) in [
            ("endings", "ending"),
            ("numbers", "number"),
            ("preferences", "preference"),
            ("converted", "convert"),
            ("directories", "directory"),
            ("stripped", "strip"),
            ("spaces", "space"),
            ("wrapping", "wrap"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} and {other}");
        }
    }

    #[test]
    fn a_sentence_as_a_label_is_matched_by_the_words_that_tell() {
        assert_eq!(
            telling_words("Enter the title for the current tab"),
            ["enter", "title", "current", "tab"]
        );
        assert_eq!(telling_words("From:"), ["from"], "a label of such a word alone keeps it");
    }

    #[test]
    fn labels_are_weighed_by_what_they_prove() {
        let wanted = KeyTerms::of("Convert the whole text to upper case and hide the menu bar");
        for (label, least, most) in [
            ("To Uppercase", 1.0, 1.0),
            ("Convert", 1.0, 1.0),
            ("Menubar", 1.0, 1.0),
            ("To Lowercase", 0.0, 0.0),
            ("Text", 1.0, 1.0),
            ("Line Numbers", 0.0, 0.0),
        ] {
            let fit = wanted.fit(label);
            assert!((least..=most).contains(&fit.share), "{label}: {fit:?}");
        }
        assert!(wanted.fit("Convert").score() > wanted.fit("Text").score());
    }

    #[test]
    fn labels_are_the_same_whatever_their_signs() {
        assert!(same_label("Save As…", "save as..."));
        assert!(!same_label("Save", "Save As"));
        assert!(!same_label("", "…"));
    }
}
