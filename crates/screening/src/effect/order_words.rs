//! The words by which orders are told (`orders.txt`), and the words and clauses of a sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use apprentice_packed::unpack_text;

use super::lexicon::plain;

static ORDERS: LazyLock<String> =
    LazyLock::new(|| unpack_text(include_bytes!(concat!(env!("OUT_DIR"), "/orders.zz"))));

/// Most words that a name of a control has, between its marks. More are a text.
const MAX_NAME_WORDS: usize = 4;

/// What a clause orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing: it tells.
    Tells,
    /// To point, type, choose or look.
    Points,
    /// To put something into another state.
    Changes,
    /// To take something out of a document.
    Removes,
    /// Something else.
    Beyond,
}

/// Returns how far an order goes.
pub(super) fn rank(shape: Shape) -> u8 {
    match shape {
        Shape::Tells => 0,
        Shape::Points => 1,
        Shape::Changes => 2,
        Shape::Removes => 3,
        Shape::Beyond => 4,
    }
}

/// Words of one kind in one language.
#[derive(Default)]
pub(super) struct WordSet {
    whole: BTreeSet<String>,
    /// Stems, and in scripts without spaces all words.
    pub(super) stems: Vec<String>,
}

static SETS: LazyLock<BTreeMap<(&'static str, &'static str), WordSet>> = LazyLock::new(|| {
    let mut sets: BTreeMap<(&str, &str), WordSet> = BTreeMap::new();
    for line in ORDERS.lines().filter(|line| !line.starts_with('#')) {
        let Some((head, list)) = line.split_once(": ") else { continue };
        let Some(key) = head.split_once(' ') else { continue };
        let set = sets.entry(key).or_default();
        for entry in list.split(", ") {
            match entry.strip_suffix('*') {
                Some(stem) => set.stems.push(plain(stem)),
                None if matches!(key.1, "ja" | "zh") => set.stems.push(plain(entry)),
                None => drop(set.whole.insert(plain(entry))),
            }
        }
    }
    // The longest first, so that one is not taken for the start of another.
    sets.values_mut().for_each(|set| set.stems.sort_by_key(|stem| std::cmp::Reverse(stem.len())));
    sets
});

/// Returns the words of a kind in a language, if the language has shapes that are known.
pub(super) fn word_set(kind: &'static str, language: &'static str) -> Option<&'static WordSet> {
    SETS.get(&(kind, language))
}

/// Returns whether a plain word is one of a kind in a language.
pub(super) fn is_one(kind: &'static str, language: &'static str, word: &str) -> bool {
    word_set(kind, language).is_some_and(|set| {
        set.whole.contains(word) || set.stems.iter().any(|stem| word.starts_with(stem.as_str()))
    })
}

/// Returns whether a plain word ends as those of a kind in a language do.
pub(super) fn ends_as(kind: &'static str, language: &'static str, word: &str) -> bool {
    word_set(kind, language).is_some_and(|set| set.whole.iter().any(|end| word.ends_with(end.as_str())))
}

/// Returns the verb of an English participle that does not end in "ed".
pub(super) fn verb_of_participle(participle: &str) -> Option<&'static str> {
    let pairs = word_set("participle", "en")?.whole.iter();
    pairs.filter_map(|pair| pair.split_once(' ')).find(|(done, _)| *done == participle).map(|(_, verb)| verb)
}

/// The languages with spaces between words whose shapes of orders are known, without English.
pub(super) const LANGUAGES_OF_ORDERS: [&str; 5] = ["de", "fr", "es", "it", "pl"];

/// Returns whether a plain word is one by which sentences of a language begin, tell or oblige.
pub(super) fn is_of_language(word: &str, language: &'static str) -> bool {
    ["opener", "tells", "must"]
        .iter()
        .any(|kind| word_set(kind, language).is_some_and(|set| set.whole.contains(word)))
}

/// A word of a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The word, plain.
    pub(super) text: String,
    /// Whether it is a name: between marks, a key, a number, or with a capital letter within a clause.
    pub(super) is_name: bool,
    is_capital: bool,
}

/// A part of a sentence between marks or words that join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) words: Vec<Word>,
    /// Whether it begins a sentence, or follows a colon, a semicolon or a dash.
    pub(super) is_start: bool,
    /// Whether a colon ends it.
    pub(super) is_label: bool,
    /// Whether a word that joins ends it.
    pub(super) is_joined: bool,
}

/// Returns the clauses of a sentence in a language that parts its words by spaces.
pub(super) fn clauses(sentence: &str, language: &'static str) -> Vec<Clause> {
    let mut all = Vec::new();
    let mut words: Vec<Word> = Vec::new();
    let mut is_start = true;
    let mut end = |words: &mut Vec<Word>, is_start: bool, ended: Ended| {
        if !words.is_empty() {
            let (is_label, is_joined) = (ended == Ended::Colon, ended == Ended::Joined);
            all.push(Clause { words: std::mem::take(words), is_start, is_label, is_joined });
        }
    };
    let mut is_after_path = false;
    for piece in pieces(sentence) {
        match piece {
            Piece::Name(text) => words.push(Word { text, is_name: true, is_capital: true }),
            Piece::Path => {
                words
                    .iter_mut()
                    .rev()
                    .take_while(|word| word.is_capital)
                    .for_each(|word| word.is_name = true);
                is_after_path = true;
                continue;
            }
            Piece::NameEnd if words.len() <= MAX_NAME_WORDS => {
                words.iter_mut().for_each(|word| word.is_name = true);
            }
            Piece::NameEnd => {}
            Piece::Mark(mark) => {
                end(&mut words, is_start, if mark == ':' { Ended::Colon } else { Ended::Mark });
                is_start = matches!(mark, ':' | ';' | '.' | '!' | '?' | '—' | '–');
            }
            Piece::Word(text) => {
                let word = plain(&text).replace('ß', "ss");
                // "È" is a verb, "e" joins.
                if is_one("join", language, &word) && !matches!(text.as_str(), "È" | "è") {
                    end(&mut words, is_start, Ended::Joined);
                    is_start = false;
                    continue;
                }
                let starts_capital = text.chars().next().is_some_and(char::is_uppercase);
                // "Clip > elija": what follows is no entry of the menu.
                if is_after_path && !starts_capital && text.chars().next().is_some_and(char::is_lowercase) {
                    end(&mut words, is_start, Ended::Mark);
                    is_start = true;
                }
                let is_key =
                    text.contains(['+', '_', '=', '/', '<', '>']) || text.chars().any(char::is_numeric);
                let is_name = is_key || starts_capital && !words.is_empty();
                words.push(Word { text: word, is_name, is_capital: starts_capital });
            }
        }
        is_after_path = false;
    }
    end(&mut words, is_start, Ended::Mark);
    all
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Mark,
    Colon,
    Joined,
}

enum Piece {
    Word(String),
    Name(String),
    Mark(char),
    /// The sign between the parts of a path through menus.
    Path,
    /// A mark of a name whose other one stood before the sentence, as a list mark.
    NameEnd,
}

/// Returns the words, names and marks of a sentence. What stands between marks is a name if it is short.
fn pieces(sentence: &str) -> Vec<Piece> {
    let mut all = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = sentence.replace("**", "*").chars().collect();
    let mut at = 0;
    while let Some(&c) = letters.get(at) {
        let before = at.checked_sub(1).and_then(|before| letters.get(before)).copied().unwrap_or(' ');
        if let Some(close) = closing(c).filter(|_| !before.is_alphanumeric())
            && let Some(length) = letters[at + 1..].iter().position(|other| close.contains(*other))
        {
            push_word(&mut all, &mut word);
            let inner: String = letters[at + 1..at + 1 + length].iter().collect();
            match inner.split_whitespace().count() <= MAX_NAME_WORDS || inner.contains(['>', '▸']) || c == '`'
            {
                true => all.push(Piece::Name(plain(&inner))),
                false => all.extend(pieces(&inner)),
            }
            at += length + 2;
            continue;
        }
        let next = letters.get(at + 1).copied().unwrap_or(' ');
        match c {
            '\'' | '’'
                if matches!(before, 'l' | 'd' | 'n' | 'j' | 's' | 'c' | 'm' | 'L' | 'D' | 'N')
                    && next.is_alphabetic()
                    && word.chars().count() < 3
                    || (c == '\'' || c == '’') && word.ends_with("qu") =>
            {
                push_word(&mut all, &mut word);
            }
            '.' | ',' if next.is_alphanumeric() => word.push(c),
            '>' | '▸' | '›' | '→' => {
                push_word(&mut all, &mut word);
                all.push(Piece::Path);
            }
            '*' if before.is_alphanumeric() || before == '…' => {
                push_word(&mut all, &mut word);
                all.push(Piece::NameEnd);
            }
            ',' | ';' | ':' | '.' | '!' | '?' | '(' | ')' | '[' | ']' | '—' | '–' => {
                push_word(&mut all, &mut word);
                all.push(Piece::Mark(c));
            }
            '…' => push_word(&mut all, &mut word),
            '¿' | '¡' | '*' | '"' | '“' | '”' | '„' | '«' | '»' | '`' | '‘' => {}
            _ if c.is_whitespace() => push_word(&mut all, &mut word),
            _ => word.push(c),
        }
        at += 1;
    }
    push_word(&mut all, &mut word);
    all
}

fn push_word(all: &mut Vec<Piece>, word: &mut String) {
    let text = std::mem::take(word);
    if text.chars().any(char::is_alphanumeric) {
        all.push(Piece::Word(text.trim_matches('\'').to_owned()));
    }
}

/// Returns the marks that end what a mark begins.
fn closing(opening: char) -> Option<&'static str> {
    match opening {
        '*' => Some("*"),
        '`' => Some("`"),
        '"' => Some("\""),
        '_' => Some("_"),
        '\'' => Some("'"),
        '“' => Some("”"),
        '„' => Some("“”\""),
        '«' => Some("»"),
        '‘' => Some("’"),
        '「' => Some("」"),
        '『' => Some("』"),
        _ => None,
    }
}
