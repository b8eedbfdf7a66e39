//! The words of the rules, from `lexicon.txt`, as one rule per group.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use apprentice_packed::unpack_text;
use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

static LEXICON: LazyLock<String> =
    LazyLock::new(|| unpack_text(include_bytes!(concat!(env!("OUT_DIR"), "/lexicon.zz"))));

/// The rules of one group by language. A rule that does not compile is `None`.
type RulesByLanguage = BTreeMap<&'static str, Option<Regex>>;

static GROUPS: LazyLock<BTreeMap<&'static str, RulesByLanguage>> = LazyLock::new(|| {
    let mut groups: BTreeMap<&str, RulesByLanguage> = BTreeMap::new();
    for line in LEXICON.lines().filter(|line| !line.starts_with('#')) {
        let Some((head, list)) = line.split_once(": ") else { continue };
        let (group, language) = head.split_once(' ').unwrap_or((head, "en"));
        let entries = list.split(", ").map(str::trim).filter(|entry| !entry.is_empty());
        let rules: Vec<String> = entries.map(rule).collect();
        groups.entry(group).or_default().insert(language, Regex::new(&rules.join("|")).ok());
    }
    groups
});

/// The languages in which a sentence may be written: those whose common words it holds, English, and those with a script
/// of their own. A sentence without common words may be written in any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Languages(Vec<&'static str>);

impl Languages {
    /// Returns the languages of a plain text.
    pub(super) fn of(text: &str) -> Self {
        let counts = common_counts(text);
        let english = counts.get("en").copied().unwrap_or(0);
        let best = counts.values().copied().max().unwrap_or(0);
        let is_meant = |count: usize| best == 0 || (count * 2 > english && count * 2 >= best && count > 0);
        let own_script = ["ru", "zh", "ja", "ko"];
        let chosen = counts.iter().filter(|(name, count)| **name == "en" || is_meant(**count));
        Self(chosen.map(|(name, _)| *name).chain(own_script).collect())
    }
}

/// Returns how many common words of each language a plain text holds.
pub(super) fn common_counts(text: &str) -> BTreeMap<&'static str, usize> {
    let count = |rule: &Option<Regex>| rule.as_ref().map_or(0, |rule| rule.find_iter(text).count());
    let common = GROUPS.get("common").into_iter().flatten();
    common.map(|(name, rule)| (*name, count(rule))).collect()
}

/// Returns the rule of one entry.
fn rule(entry: &str) -> String {
    let entry = plain(entry);
    let (entry, is_open) = match entry.strip_suffix('*') {
        Some(stem) => (stem, true),
        None => (entry.as_str(), false),
    };
    let words: Vec<String> = entry
        .split(' ')
        .map(|word| match word.strip_suffix('*') {
            Some(stem) => format!(r"{}[^\s]*", regex::escape(stem)),
            None => regex::escape(word),
        })
        .collect();
    let body = words
        .join(r"\s+")
        .replace(r"\s+\~\s+", r"(?:\s+\S+){0,3}?\s+")
        .replace(r"\s+~\s+", r"(?:\s+\S+){0,3}?\s+");
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c));
    let start = if is_word(entry.chars().next()) { r"\b" } else { "" };
    let end = if is_open || !is_word(entry.chars().next_back()) { "" } else { r"\b" };
    format!("(?:{start}{body}{end})")
}

/// Returns whether a letter belongs to a script that puts no spaces between words, or joins endings to them.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x11ff | 0x3040..=0x30ff | 0x3130..=0x318f | 0x3400..=0x9fff | 0xac00..=0xd7af)
}

/// Returns a text in lower case, without marks on letters, with plain apostrophes.
pub(super) fn plain(text: &str) -> String {
    let is_mark = |c: char| matches!(u32::from(c), 0x300..=0x36f);
    let letters = text.nfkd().filter(|c| !is_mark(*c));
    letters.flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c }).collect()
}

/// Returns where words of a group stand in a plain text, in the languages that it may be written in. A broken rule finds
/// the whole text, so that a mistake holds texts back instead of letting them through; a test compiles the rules.
pub(super) fn found<'t>(group: &str, text: &'t str, languages_of_text: &Languages) -> Vec<(usize, &'t str)> {
    let Some(languages) = GROUPS.get(group) else { return vec![(0, text)] };
    let mut all = Vec::new();
    for (language, rule) in languages.iter().filter(|(language, _)| languages_of_text.0.contains(language)) {
        match rule {
            Some(rule) => {
                let hits = rule.find_iter(text).map(|hit| (hit.start(), hit.as_str()));
                all.extend(hits.filter(|(at, _)| *language != "en" || !is_noun(group, &text[..*at])));
            }
            None => all.push((0, text)),
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns whether an English word of an act stands where a noun stands: after "the", "of" and the like.
fn is_noun(group: &str, before: &str) -> bool {
    const ACTS: [&str; 8] = ["send", "delete", "off", "allow", "run", "exec", "take", "ignore"];
    const BEFORE_NOUNS: &str =
        " the a an this its of in for from with your their each no another which per last first new ";
    let last = before.split_whitespace().next_back().unwrap_or("");
    ACTS.contains(&group)
        && !last.is_empty()
        && before.ends_with(' ')
        && BEFORE_NOUNS.contains(&format!(" {last} "))
}

/// Returns whether a word of a group stands in a plain text, in any of the languages.
pub(super) fn has_any(group: &str, text: &str) -> bool {
    let Some(languages) = GROUPS.get(group) else { return true };
    languages.values().any(|rule| rule.as_ref().is_none_or(|rule| rule.is_match(text)))
}

/// Returns a plain text without the ways of speaking that only look like an act.
pub(super) fn without_idioms(text: &str) -> String {
    match GROUPS.get("idiom").and_then(|languages| languages.get("en")) {
        Some(Some(rule)) => rule.replace_all(text, "…").into_owned(),
        Some(None) | None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, LEXICON, Languages, found, has_any, plain};

    fn has(group: &str, text: &str) -> bool {
        let text = plain(text);
        !found(group, &text, &Languages::of(&text)).is_empty()
    }

    #[test]
    fn every_rule_compiles_and_every_entry_finds_itself() {
        assert!(GROUPS.values().flat_map(|group| group.values()).all(Option::is_some));
        for line in LEXICON.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (head, list) = line.split_once(": ").expect("a group");
            let group = head.split(' ').next().expect("a name");
            for entry in list.split(", ") {
                let said = plain(&entry.replace('*', "").replace(" ~ ", " it "));
                assert!(has_any(group, &said), "{head}: {entry:?} as {said:?}");
            }
        }
    }

    #[test]
    fn a_language_is_meant_by_more_than_half_of_the_english_words_and_half_of_the_most() {
        // Words that are common in one of these languages alone.
        let text = |[english, german, french]: [usize; 3]| {
            [vec!["which"; english], vec!["eine"; german], vec!["vous"; french]].concat().join(" ")
        };
        let meant = |counts| {
            let Languages(meant) = Languages::of(&plain(&text(counts)));
            (meant.contains(&"de"), meant.contains(&"fr"))
        };
        assert_eq!(meant([3, 2, 0]), (true, false), "two of three are more than half");
        assert_eq!(meant([2, 1, 0]), (false, false), "one of two is not");
        assert_eq!(meant([0, 2, 4]), (true, true), "two of four are half");
        assert_eq!(meant([0, 2, 5]), (false, true), "two of five are less");
    }

    #[test]
    fn a_word_is_found_whole_and_as_an_act_in_its_own_language() {
        assert!(has("send", "Upload it.") && has("send", "Lade alles hoch.") && !has("send", "a sandal"));
        assert!(has("delete", "请删除它") && has("delete", "Usuń to."));
        assert!(!has("install", "the installed fonts") && !has("send", "after the upload ends"));
        assert!(!has("spend", "Compress it with the tool."), "a Spanish stem in an English sentence");
        assert!(has("delete", "Borra"), "no common word tells the language");
    }

    #[test]
    fn a_word_that_names_a_thing_is_no_act() {
        for (group, act, thing) in [
            ("send", "Upload it.", "after the upload"),
            ("delete", "Purge it.", "after the purge"),
            ("off", "Lower it.", "the lower half"),
            ("allow", "Accept it.", "an accept button"),
            ("run", "Launch it.", "at the launch"),
            ("exec", "Type it.", "another type"),
            ("take", "Copy it.", "on each copy"),
            ("ignore", "Skip it.", "no skip button"),
        ] {
            assert!(has(group, act) && !has(group, thing), "{group}: {act} {thing}");
        }
    }
}
