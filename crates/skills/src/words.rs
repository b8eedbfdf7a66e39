//! Words of texts, for searching and comparing: lower case, without endings, and names of domains.

use std::collections::BTreeMap;

use apprentice_protocol::SkillId;

/// Words that say nothing about what a text is about.
const STOP: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "has", "have", "how", "if",
    "in", "into", "is", "it", "its", "me", "my", "not", "of", "on", "or", "please", "so", "that", "the",
    "then", "there", "this", "to", "up", "use", "using", "want", "was", "when", "where", "which", "will",
    "with", "you", "your",
];

/// Other names under which a domain is known.
const ALIASES: &[(&str, &str)] = &[
    ("chrome", "chromium"),
    ("google-chrome", "chromium"),
    ("calc", "libreoffice-calc"),
    ("impress", "libreoffice-impress"),
    ("writer", "libreoffice-writer"),
    ("file-manager", "thunar"),
    ("vscode", "vs-code"),
    ("operating-system", "os"),
];

/// The words of a text, in order, shortened to their stems.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| !STOP.contains(&word.as_str()))
        .map(|word| stem(&word))
        .collect()
}

/// Cuts the commonest English endings, so that `saving`, `saved` and `saves` meet.
pub(crate) fn stem(word: &str) -> String {
    for ending in ["ings", "ing", "edly", "ies", "ed", "es", "s", "e"] {
        if let Some(root) = word.strip_suffix(ending).filter(|root| root.chars().count() >= 3) {
            let doubled = root.as_bytes().iter().rev().take(2).collect::<Vec<_>>();
            if matches!(doubled.as_slice(), [last, before] if last == before && last.is_ascii_alphabetic())
                && matches!(ending, "ing" | "ings" | "ed")
            {
                return root[..root.len() - 1].to_owned();
            }
            return root.to_owned();
        }
    }
    word.to_owned()
}

/// A line within a cap: cut where a clause or a sentence ends if that keeps half of it, else between two words.
pub(crate) fn clipped(text: &str, cap: usize) -> String {
    const MORE: &str = " …";
    if text.chars().count() <= cap {
        return text.to_owned();
    }
    let room =
        text.char_indices().nth(cap.saturating_sub(MORE.chars().count())).map_or(text.len(), |(at, _)| at);
    let head = &text[..room];
    // What follows decides whether a word or a clause ends just here.
    let whole = text[room..].starts_with(' ');
    let clause = head.rfind([';', ',', ':', '.', '(', '–', '—']).filter(|at| *at >= room / 2);
    let word = if whole { Some(room) } else { head.rfind(' ').filter(|at| *at >= room / 2) };
    let end = clause.or(word).unwrap_or(room);
    text[..end].trim_end().to_owned() + MORE
}

/// How alike two texts are, from 0 to 1: the cosine of their word counts.
pub(crate) fn likeness(left: &str, right: &str) -> f64 {
    let (left, right) = (counted(left), counted(right));
    let dot: f64 = left.iter().filter_map(|(word, n)| right.get(word).map(|m| n * m)).sum();
    let square = |counts: &BTreeMap<String, f64>| counts.values().map(|n| n * n).sum::<f64>();
    // One root of the product: 17 of 20 words are 0.85 exactly, which is a threshold.
    let lengths = (square(&left) * square(&right)).sqrt();
    if lengths > 0.0 { (dot / lengths).min(1.0) } else { 0.0 }
}

fn counted(text: &str) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for word in words(text) {
        *counts.entry(word).or_insert(0.0) += 1.0;
    }
    counts
}

/// A domain's name for a program's name as people write it: `LibreOffice Calc` is `libreoffice-calc`.
pub fn domain_name(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let parts: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|p| !p.is_empty()).collect();
    let slug = parts.join("-");
    let known = ALIASES.iter().find(|(alias, _)| *alias == slug).map_or(slug.as_str(), |(_, name)| name);
    SkillId::is_slug(known).then(|| known.to_owned())
}

/// The other names of a domain, as words to search by.
pub(crate) fn aliases(domain: &str) -> String {
    let names = ALIASES.iter().filter(|(_, name)| *name == domain).map(|(alias, _)| alias.replace('-', " "));
    names.chain([domain.replace('-', " ")]).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{clipped, domain_name, likeness, words};

    #[test]
    fn endings_do_not_part_words() {
        for (one, other) in
            [("saving", "saved"), ("menus", "menu"), ("settings", "setting"), ("copies", "copied")]
        {
            let (one, other) = (words(one), words(other));
            assert_eq!(one[0][..3], other[0][..3], "{one:?} {other:?}");
        }
        assert_eq!(words("Save the tabs"), words("saved tab"));
    }

    #[test]
    fn a_line_is_cut_between_clauses_or_words_and_never_within_one() {
        let text = "Deleting a file for good, past the trash, asks a second time";
        assert_eq!(clipped(text, 60), text);
        assert_eq!(clipped(text, 50), "Deleting a file for good, past the trash …");
        assert_eq!(clipped("one two three four", 14), "one two …");
        assert_eq!(clipped("one two three four", 15), "one two three …");
        assert_eq!(clipped("unbreakable-unbreakable", 12), "unbreakabl …");
        for cap in 2..text.chars().count() {
            assert!(clipped(text, cap).chars().count() <= cap, "{cap}");
        }
    }

    #[test]
    fn likeness_is_one_for_the_same_and_nothing_for_strangers() {
        assert!((likeness("open the tab menu", "Open tab menus") - 1.0).abs() < 1e-9);
        assert!(likeness("zoom level", "file permissions") < 1e-9);
    }

    #[test]
    fn a_program_finds_its_domain() {
        assert_eq!(domain_name("LibreOffice Calc").as_deref(), Some("libreoffice-calc"));
        assert_eq!(domain_name("Google Chrome").as_deref(), Some("chromium"));
        assert_eq!(domain_name("  "), None);
    }
}
