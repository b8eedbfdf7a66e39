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

/// Names that people say for a domain. Search finds a domain's skills by their words, too.
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

/// Further spellings of a domain, of people and of window systems. Their words say too little for a search.
const SPELLINGS: &[(&str, &str)] = &[
    ("google-chrome-stable", "chromium"),
    ("chromium-browser", "chromium"),
    ("localc", "libreoffice-calc"),
    ("libre-office-calc", "libreoffice-calc"),
    ("loimpress", "libreoffice-impress"),
    ("libre-office-impress", "libreoffice-impress"),
    ("lowriter", "libreoffice-writer"),
    ("libre-office-writer", "libreoffice-writer"),
    ("libreoffice-startcenter", "libreoffice"),
    ("code", "vs-code"),
    ("visual-studio-code", "vs-code"),
    ("code-oss", "vs-code"),
    ("vscodium", "vs-code"),
    ("mozilla-firefox", "firefox"),
    ("mozilla-thunderbird", "thunderbird"),
    ("vlc-media-player", "vlc"),
    ("gnu-image-manipulation-program", "gimp"),
    ("xfce4-terminal", "terminal"),
    ("gnome-terminal", "terminal"),
];

/// Returns the stems of a text's words, in order.
pub fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| !STOP.contains(&word.as_str()))
        .map(|word| stem(&word))
        .collect()
}

/// Removes the most common English endings, so that `saving`, `saved` and `saves` become equal.
pub fn stem(word: &str) -> String {
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
pub fn clip_line(text: &str, cap: usize) -> String {
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
pub fn word_similarity(left: &str, right: &str) -> f64 {
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
    let canonical = canonical_domain(&slug);
    SkillId::is_slug(canonical).then(|| canonical.to_owned())
}

/// Returns the name of a domain among its other names: `chrome` becomes `chromium`.
fn canonical_domain(slug: &str) -> &str {
    ALIASES.iter().chain(SPELLINGS).find(|(alias, _)| *alias == slug).map_or(slug, |(_, name)| name)
}

/// Returns whether two names stand for the same program.
pub fn is_same_domain(left: &str, right: &str) -> bool {
    canonical_domain(left) == canonical_domain(right)
}

/// Returns whether a domain's skills are for a program: the domain is the program, or the suite with whose name that of the
/// program begins, as `libreoffice` is for `libreoffice-calc`.
pub fn is_for_program(domain: &str, program: &str) -> bool {
    let (domain, program) = (canonical_domain(domain), canonical_domain(program));
    domain == program || program.strip_prefix(domain).is_some_and(|rest| rest.starts_with('-'))
}

/// Domains of skills that belong to no particular program.
pub const GENERAL_DOMAINS: [&str; 2] = ["general", "os"];

/// Returns whether the skills of a domain belong to no particular program.
pub fn is_general(domain: &str) -> bool {
    GENERAL_DOMAINS.contains(&domain)
}

/// Returns the domain of a window class, which may end in a version: `Gimp-2.10` becomes `gimp`.
pub fn domain_of_class(class: &str) -> Option<String> {
    let name = domain_name(class)?;
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    let versioned = name.rsplit('-').next().is_some_and(is_number) && SkillId::is_slug(bare);
    if versioned { domain_name(bare) } else { Some(name) }
}

/// Returns the names that people say for a domain, its own last.
pub fn names_of(domain: &str) -> Vec<String> {
    let own = canonical_domain(domain);
    let names = ALIASES.iter().filter(|(_, name)| *name == own).map(|(alias, _)| *alias);
    let other = (own != domain).then_some(own);
    names.chain(other).chain([domain]).map(|name| name.replace('-', " ")).collect()
}

/// Returns the names of a domain, as search words.
pub fn aliases(domain: &str) -> String {
    names_of(domain).join(" ")
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::SkillId;

    use super::{
        ALIASES, SPELLINGS, aliases, canonical_domain, clip_line, domain_name, domain_of_class,
        is_for_program, is_same_domain, stem, word_similarity, words,
    };

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
        assert_eq!(domain_name("VSCode").as_deref(), Some("vs-code"));
        assert_eq!(domain_name("  "), None);
    }

    #[test]
    fn every_other_name_leads_to_one_domain_at_once() {
        let all = || ALIASES.iter().chain(SPELLINGS);
        for (alias, name) in all() {
            assert_eq!(all().filter(|(other, _)| other == alias).count(), 1, "{alias}");
            assert_eq!(canonical_domain(name), *name, "{alias} leads on");
            assert!(SkillId::is_slug(alias) && SkillId::is_slug(name) && is_same_domain(alias, name));
        }
        assert!(!is_same_domain("calc", "writer") && is_same_domain("blender", "blender"));
        assert_eq!(aliases("gimp"), "gimp");
        assert_eq!(aliases("chromium"), "chrome google chrome chromium");
        assert!(aliases("chrome").contains("chromium"));
    }

    #[test]
    fn the_skills_of_a_suite_are_for_each_of_its_programs() {
        let programs = ["libreoffice-calc", "writer", "libreoffice"];
        assert!(programs.iter().all(|program| is_for_program("libreoffice", program)));
        assert!(
            !is_for_program("libreoffice-calc", "libreoffice")
                && !is_for_program("libreoffice-calc", "writer")
        );
        assert!(!is_for_program("libre", "libreoffice-calc"), "part of a word is no name");
        assert!(is_for_program("chrome", "chromium") && !is_for_program("gimp", "krita"));
    }

    #[test]
    fn a_window_class_names_its_program() {
        for (class, domain) in [
            ("Gimp-2.10", "gimp"),
            ("libreoffice-calc", "libreoffice-calc"),
            ("Google-chrome", "chromium"),
            ("Thunar", "thunar"),
            ("code-oss", "vs-code"),
            ("mp3", "mp3"),
        ] {
            assert_eq!(domain_of_class(class).as_deref(), Some(domain), "{class}");
        }
        assert_eq!(domain_of_class("2.10"), domain_name("2.10"));
    }

    #[test]
    fn an_ending_leaves_at_least_three_letters_and_a_doubled_one_is_written_once() {
        for (word, root) in [
            ("tabs", "tab"),
            ("gas", "gas"),
            ("seed", "seed"),
            ("king", "king"),
            ("running", "run"),
            ("dragged", "drag"),
            ("settings", "set"),
            ("resizing", "resiz"),
        ] {
            assert_eq!(stem(word), root, "{word}");
        }
    }

    #[test]
    fn a_line_keeps_half_of_its_room_or_is_cut_within_a_word() {
        assert_eq!(clip_line("abcd, efg hij klm", 14), "abcd, efg …", "the clause is too short");
        assert_eq!(clip_line("abcdef, gh ijk lmn", 14), "abcdef …");
        assert_eq!(clip_line("abcd efghijklmnopq", 14), "abcd efghijk …", "one word is too short");
        assert_eq!(clip_line("abcdef ghijklmnopq", 14), "abcdef …");
    }
}
