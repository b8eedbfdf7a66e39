//! Words of texts, for searching and comparing: lower-case stems, and aliases of domains.

use std::collections::BTreeMap;

use apprentice_protocol::SkillId;

/// Stop words.
const STOP: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "has", "have", "how", "if",
    "in", "into", "is", "it", "its", "me", "my", "not", "of", "on", "or", "please", "so", "that", "the",
    "then", "there", "this", "to", "up", "use", "using", "want", "was", "when", "where", "which", "will",
    "with", "you", "your",
];

/// Aliases of domains.
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

/// Returns the stems of a text's words, in order.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| !STOP.contains(&word.as_str()))
        .map(|word| stem(&word))
        .collect()
}

/// Removes the most common English endings, so that `saving`, `saved` and `saves` become equal.
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

/// Cuts a line to a cap: at the end of a clause or sentence if that keeps half of it, otherwise between two words.
pub(crate) fn clip_line(text: &str, cap: usize) -> String {
    const MORE: &str = " …";
    if text.chars().count() <= cap {
        return text.to_owned();
    }
    let room =
        text.char_indices().nth(cap.saturating_sub(MORE.chars().count())).map_or(text.len(), |(at, _)| at);
    let head = &text[..room];
    // The next character decides whether a word or clause ends here.
    let whole = text[room..].starts_with(' ');
    let clause = head.rfind([';', ',', ':', '.', '(', '–', '—']).filter(|at| *at >= room / 2);
    let word = if whole { Some(room) } else { head.rfind(' ').filter(|at| *at >= room / 2) };
    let end = clause.or(word).unwrap_or(room);
    text[..end].trim_end().to_owned() + MORE
}

/// Returns the similarity of two texts, from 0 to 1: the cosine of their word counts.
pub(crate) fn word_similarity(left: &str, right: &str) -> f64 {
    let (left, right) = (word_counts(left), word_counts(right));
    let dot: f64 = left.iter().filter_map(|(word, n)| right.get(word).map(|m| n * m)).sum();
    let square = |counts: &BTreeMap<String, f64>| counts.values().map(|n| n * n).sum::<f64>();
    // A single root of the product keeps exact values exact: 17 of 20 words must give 0.85, which is a threshold.
    let lengths = (square(&left) * square(&right)).sqrt();
    if lengths > 0.0 { (dot / lengths).min(1.0) } else { 0.0 }
}

fn word_counts(text: &str) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for word in words(text) {
        *counts.entry(word).or_insert(0.0) += 1.0;
    }
    counts
}

/// Returns the domain name of a program's name as people write it: `LibreOffice Calc` becomes `libreoffice-calc`.
pub fn domain_name(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let parts: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|p| !p.is_empty()).collect();
    let slug = parts.join("-");
    let known = ALIASES.iter().find(|(alias, _)| *alias == slug).map_or(slug.as_str(), |(_, name)| name);
    SkillId::is_slug(known).then(|| known.to_owned())
}

/// Returns the aliases of a domain, as search words.
pub(crate) fn aliases(domain: &str) -> String {
    let names = ALIASES.iter().filter(|(_, name)| *name == domain).map(|(alias, _)| alias.replace('-', " "));
    names.chain([domain.replace('-', " ")]).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{clip_line, domain_name, word_similarity, words};

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
        assert_eq!(clip_line(text, 60), text);
        assert_eq!(clip_line(text, 50), "Deleting a file for good, past the trash …");
        assert_eq!(clip_line("one two three four", 14), "one two …");
        assert_eq!(clip_line("one two three four", 15), "one two three …");
        assert_eq!(clip_line("unbreakable-unbreakable", 12), "unbreakabl …");
        for cap in 2..text.chars().count() {
            assert!(clip_line(text, cap).chars().count() <= cap, "{cap}");
        }
    }

    #[test]
    fn likeness_is_one_for_the_same_and_nothing_for_strangers() {
        assert!((word_similarity("open the tab menu", "Open tab menus") - 1.0).abs() < 1e-9);
        assert!(word_similarity("zoom level", "file permissions") < 1e-9);
    }

    #[test]
    fn a_program_finds_its_domain() {
        assert_eq!(domain_name("LibreOffice Calc").as_deref(), Some("libreoffice-calc"));
        assert_eq!(domain_name("Google Chrome").as_deref(), Some("chromium"));
        assert_eq!(domain_name("  "), None);
    }
}
