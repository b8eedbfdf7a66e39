//! What of a long text is another, in words: which words became which, which are new, which are gone.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Each changed part is told up to this length, in characters.
const SHORT: usize = 40;
/// So many changes of one text are told.
const FEW: usize = 3;
/// Longer texts are not compared, in bytes.
const LONGEST: usize = 50_000;
/// Texts that have next to nothing in common are not worth a longer comparison.
const DEADLINE: Duration = Duration::from_millis(20);

/// Tells the few short changes of a text. `None` where they are many or long.
pub(crate) fn text_changes(was: &str, now: &str) -> Option<String> {
    if was.len().max(now.len()) > LONGEST {
        return None;
    }
    let mut changes: Vec<(String, String)> = Vec::new();
    let (mut old, mut new, mut between) = (String::new(), String::new(), String::new());
    let diff = TextDiff::configure().timeout(DEADLINE).diff_words(was, now);
    for change in diff.iter_all_changes() {
        let word = change.value();
        if change.tag() == ChangeTag::Equal {
            // Changed words that only a space parts are one change.
            if !word.trim().is_empty() || !between.is_empty() {
                end_change(&mut old, &mut new, &mut changes);
                between.clear();
            } else if !(old.is_empty() && new.is_empty()) {
                between.push_str(word);
            }
            continue;
        }
        old.push_str(&between);
        new.push_str(&between);
        between.clear();
        if change.tag() == ChangeTag::Delete { old.push_str(word) } else { new.push_str(word) }
    }
    end_change(&mut old, &mut new, &mut changes);
    let is_short = |text: &str| text.chars().count() <= SHORT;
    let fits =
        (1..=FEW).contains(&changes.len()) && changes.iter().all(|(old, new)| is_short(old) && is_short(new));
    let told = changes.iter().map(|(old, new)| match (old.as_str(), new.as_str()) {
        ("", new) => format!("{new:?} is new"),
        (old, "") => format!("{old:?} is gone"),
        (old, new) => format!("{old:?} became {new:?}"),
    });
    fits.then(|| told.collect::<Vec<_>>().join("; "))
}

fn end_change(old: &mut String, new: &mut String, changes: &mut Vec<(String, String)>) {
    if !(old.is_empty() && new.is_empty()) {
        changes.push((std::mem::take(old), std::mem::take(new)));
    }
}

#[cfg(test)]
mod tests {
    use super::text_changes;

    fn told(was: &str, now: &str) -> String {
        text_changes(was, now).unwrap_or_default()
    }

    #[test]
    fn changes_of_a_text_are_told_one_by_one_in_whole_words() {
        let list = "Packing list\neggs and flour\nnails, brass\nstring\npaper bags\n";
        let changed = list.replace("brass", "steel").replace("paper", "large paper");
        assert_eq!(told(list, &changed), r#""brass" became "steel"; "large " is new"#);
        assert_eq!(told("one two three", "one three"), r#""two " is gone"#);
        assert_eq!(told("one two three four", "one 2 3 four"), r#""two three" became "2 3""#);
        assert_eq!(told("a word", "a words"), r#""word" became "words""#);
        assert_eq!(told("ends", "ends here"), r#"" here" is new"#);
    }

    #[test]
    fn many_or_long_changes_are_not_told() {
        assert_eq!(told("a b c d e f g h", "a 1 c 2 e 3 g 4"), "");
        assert_eq!(
            told("a b c d e f g", "a 1 c 2 e 3 g"),
            r#""b" became "1"; "d" became "2"; "f" became "3""#
        );
        let long = "x".repeat(41);
        assert_eq!(told("start", &format!("start {long}")), "");
        assert_eq!(
            told("start", &format!("start{}", &long[..34])),
            format!("\"start\" became \"start{}\"", &long[..34])
        );
        assert_eq!(told(&"w ".repeat(30_000), "w"), "");
    }
}
