//! Other words for a word: groups of words that people use for the same thing in programs, and the words nearest in
//! meaning to each of fourteen thousand English ones.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::words::stem;

/// Words that people use for the same thing, one group a line; a word may stand in several groups.
const GROUPS: &str = include_str!("words.txt");
/// A word and its nearest, each with its nearness as a last digit, from 9 down; a pair stands on one line only. Written
/// by `scripts/near-words`.
const NEAREST: &str = include_str!("near.txt");

/// What a word of one's own group counts.
const GROUPED: f32 = 0.6;
/// What the digits of a nearness are shares of.
const WHOLE: f32 = 9.0;

/// Another word for a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Other {
    pub(crate) word: &'static str,
    /// What it counts where the word itself counts one.
    pub(crate) weight: f32,
}

static RELATED: LazyLock<HashMap<String, Vec<Other>>> = LazyLock::new(|| {
    let mut related: HashMap<String, Vec<Other>> = HashMap::new();
    let mut relate = |root: &str, word, weight| match related.get_mut(root) {
        Some(others) => others.push(Other { word, weight }),
        None => drop(related.insert(root.to_owned(), vec![Other { word, weight }])),
    };
    for group in lines(GROUPS) {
        let members: Vec<&str> = group.split_whitespace().collect();
        for member in &members {
            let root = stem(member);
            members.iter().filter(|other| other != &member).for_each(|other| relate(&root, *other, GROUPED));
        }
    }
    for line in lines(NEAREST) {
        let mut entries = line.split(' ');
        let Some(word) = entries.next() else { continue };
        let root = stem(word);
        for other in entries.filter_map(near) {
            relate(&root, other.word, other.weight);
            relate(&stem(other.word), word, other.weight);
        }
    }
    for others in related.values_mut() {
        others.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    }
    related
});

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

/// `photo6` is `photo`, six ninths as near as can be.
fn near(entry: &'static str) -> Option<Other> {
    let (word, digit) = entry.split_at_checked(entry.len().checked_sub(1)?)?;
    Some(Other { word, weight: f32::from(digit.parse::<u8>().ok()?) / WHOLE })
}

/// Other words for a stem, those that count most first.
pub(crate) fn related(root: &str) -> &'static [Other] {
    RELATED.get(root).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::{NEAREST, lines, near, related};
    use crate::words::stem;

    #[test]
    fn words_of_one_group_and_words_that_mean_nearly_the_same_are_found() {
        let weight = |root: &str, word: &str| {
            related(&stem(root)).iter().find(|other| stem(other.word) == stem(word)).map(|other| other.weight)
        };
        assert_eq!(weight("bin", "trash"), Some(0.6), "a group of this program's own");
        assert!(weight("mute", "silence").is_some_and(|weight| weight > 0.3), "nobody grouped these");
        assert_eq!(weight("silence", "mute"), weight("mute", "silence"), "a pair stands on one line only");
        assert_eq!(weight("mute", "spreadsheet"), None);
        assert!(related("qwxyz").is_empty());
    }

    #[test]
    fn every_entry_can_be_read() {
        let entries = || lines(NEAREST).flat_map(|line| line.split(' ').skip(1));
        let unread: Vec<&str> = entries().filter(|entry| near(entry).is_none()).collect();
        assert!(unread.is_empty() && entries().count() > 40_000, "{unread:?}");
    }
}
