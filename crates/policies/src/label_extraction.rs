//! Extracts the labels that a sentence names: quoted, capitalized, before nouns such as `menu`, or after verbs such as
//! `choose`.

use apprentice_protocol::Chord;

use super::quotation::quotations;
use super::sentence::leaves_choice_among;
use super::text_match::plain;

/// Nouns for kinds of controls; a label stands before them.
const NOUNS: &[&str] = &[
    "menu", "submenu", "tab", "page", "button", "entry", "item", "command", "option", "checkbox", "check",
    "box", "field", "list", "dialog", "window", "section", "link", "icon", "switch", "toggle", "heading",
    "panel", "row", "category", "pane", "setting",
];

/// Words that start a sentence without being part of a label.
const OPENERS: &[&str] = &[
    "open",
    "choose",
    "pick",
    "select",
    "click",
    "press",
    "tick",
    "untick",
    "check",
    "uncheck",
    "enable",
    "disable",
    "turn",
    "switch",
    "go",
    "in",
    "under",
    "from",
    "on",
    "at",
    "the",
    "then",
    "next",
    "first",
    "finally",
    "now",
    "use",
    "hit",
    "find",
    "look",
    "type",
    "enter",
    "fill",
    "write",
    "put",
    "set",
    "right",
    "double",
    "activate",
    "confirm",
    "close",
    "save",
    "it",
    "this",
    "that",
    "there",
    "you",
    "to",
    "after",
    "before",
    "when",
    "if",
    "once",
    "with",
    "and",
    "a",
    "an",
    "its",
    "inside",
    "within",
    "both",
    "all",
    "unfold",
    "expand",
    "navigate",
    "leave",
    "make",
    "run",
    "mark",
    "clear",
    "do",
    "not",
    "only",
    "here",
    "point",
    "move",
    "answer",
    "as",
    "for",
    "visit",
    "pull",
    "start",
    "begin",
    "drop",
    "head",
    "by",
    "work",
    "follow",
    "take",
    "how",
    "what",
    "where",
    "why",
    "which",
    "whatever",
    "whichever",
    "every",
    "everything",
    "each",
    "most",
    "some",
    "many",
    "any",
    "your",
    "our",
    "their",
    "these",
    "those",
    "such",
    "again",
    "also",
    "always",
    "usually",
    "often",
    "sometimes",
    "please",
    "note",
    "remember",
    "be",
    "otherwise",
    "instead",
    "afterwards",
    "however",
    "still",
    "just",
    "so",
    "because",
    "since",
    "although",
    "while",
    "until",
    "unless",
    "without",
    "of",
    "is",
    "are",
    "has",
    "have",
    "can",
    "should",
    "must",
    "may",
    "will",
    "does",
    "no",
    "nothing",
    "something",
    "anything",
    "they",
    "we",
    "he",
    "she",
];

const JOINING: &[&str] =
    &["of", "to", "and", "the", "for", "in", "on", "with", "a", "or", "as", "at", "by", "from"];

pub(super) fn strip_marks(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || "\"'`“”‘’«»*_,:()".contains(c))
}

/// Returns the label at the end of a text: `Open the menu Edit` gives `Edit`.
pub(super) fn tail_label(text: &str) -> String {
    if let Some(last) = quotations(text).pop() {
        return last;
    }
    let mut words: Vec<&str> = text.split_whitespace().collect();
    while words.len() > 1 && words.last().is_some_and(|word| NOUNS.contains(word)) {
        words.pop();
    }
    let is_part = |word: &str| word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    let first = words.iter().rposition(|word| !is_part(word)).map_or(0, |at| at + 1);
    let mut run: Vec<&str> = words.get(first..).unwrap_or_default().to_vec();
    while run.len() > 1 && run.first().is_some_and(|word| OPENERS.contains(&word.to_lowercase().as_str())) {
        run.remove(0);
    }
    if run.is_empty() {
        let keep = words.iter().filter(|word| !OPENERS.contains(&word.to_lowercase().as_str()));
        return strip_marks(&keep.copied().collect::<Vec<_>>().join(" ")).to_owned();
    }
    strip_marks(&run.join(" ")).to_owned()
}

/// Returns the label at the start of a text: `Sideways to turn it` gives `Sideways`.
pub(super) fn head_label(text: &str) -> String {
    if text.starts_with(['"', '“', '‘', '`', '\'', '«'])
        && let Some(first) = quotations(text).into_iter().next()
    {
        return first;
    }
    let text = text.split([',', ':']).next().unwrap_or(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_part = |word: &&str| word.starts_with(|c: char| !c.is_lowercase());
    if !words.first().is_some_and(is_part) {
        return strip_marks(text).to_owned();
    }
    let mut end = 1;
    while let Some(word) = words.get(end) {
        let joins =
            JOINING.contains(&word.to_lowercase().as_str()) && words.get(end + 1).is_some_and(is_part);
        if !is_part(word) && !joins {
            break;
        }
        end += 1;
    }
    strip_marks(&words[..end].join(" ")).to_owned()
}

/// Returns the labels of a sentence without a menu path: quotations, runs of capitalized words, and text before nouns
/// such as `menu`. Falls back to the text after a verb such as `choose`.
pub(super) fn labels(sentence: &str) -> Vec<String> {
    let mut found = quotations(sentence);
    let quoted = !found.is_empty();
    for label in capitals(sentence).into_iter().chain(labels_before_nouns(sentence)) {
        let known = found
            .iter()
            .any(|known| plain(known).windows(plain(&label).len()).any(|run| run == plain(&label)));
        if !known {
            found.push(label);
        }
    }
    if found.is_empty() && !quoted {
        found.extend(after_verb(sentence));
    }
    found
}

/// Returns runs of capitalized words. The sentence's first word counts only if it is not an opening verb.
fn capitals(sentence: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut outside = sentence.to_owned();
    for quoted in quotations(sentence) {
        outside = outside.replace(&quoted, "\u{1}");
    }
    for piece in outside.split([',', ':', '\u{1}', '"', '“', '”', '‘', '’', '`', '*']) {
        let words: Vec<&str> = piece.split_whitespace().collect();
        let mut run: Vec<&str> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let clean = word.trim_matches(|c: char| !c.is_alphanumeric());
            let capital = clean.starts_with(char::is_uppercase);
            let opener = at == 0 && OPENERS.contains(&clean.to_lowercase().as_str());
            let noun_next =
                words.get(at + 1).is_some_and(|next| NOUNS.contains(&plain(next).concat().as_str()));
            let joins = !run.is_empty()
                && JOINING.contains(&clean)
                && words.get(at + 1).is_some_and(|next| next.starts_with(char::is_uppercase))
                && !matches!(clean, "in" | "and" | "from" | "on" | "or");
            if capital && (!opener || !run.is_empty() || noun_next) || joins {
                run.push(word);
            } else if !run.is_empty() {
                found.push(strip_marks(&run.join(" ")).to_owned());
                run.clear();
            }
        }
        if !run.is_empty() {
            found.push(strip_marks(&run.join(" ")).to_owned());
        }
    }
    found.retain(|label| {
        let spelled = plain(label);
        let says_click = spelled.get(1).is_some_and(|word| word.starts_with("click"));
        label != "I" && !says_click && Chord::parse(label).is_err() && !spelled.is_empty()
    });
    found
}

/// Returns the labels between an article and such a noun: `the edit menu`, `its convert submenu`.
fn labels_before_nouns(sentence: &str) -> Vec<String> {
    let words = plain(sentence);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| NOUNS.contains(&word.as_str())) {
        let from = words[..at].iter().rposition(|word| matches!(word.as_str(), "the" | "its" | "a" | "an"));
        let Some(from) = from.filter(|from| at - from > 1 && at - from <= 4) else { continue };
        let label = &words[from + 1..at];
        let vague = |word: &String| {
            NOUNS.contains(&word.as_str())
                || matches!(
                    word.as_str(),
                    "main"
                        | "right"
                        | "same"
                        | "new"
                        | "first"
                        | "that"
                        | "this"
                        | "context"
                        | "matching"
                        | "wanted"
                        | "text"
                        | "input"
                        | "other"
                        | "value"
                )
        };
        if !label.iter().any(vague) && word != "window" {
            found.push(label.join(" "));
        }
    }
    found
}

fn after_verb(sentence: &str) -> Vec<String> {
    let words = plain(sentence);
    let verbs =
        ["choose", "pick", "select", "click", "press", "open", "tick", "untick", "enable", "check", "hit"];
    let Some(at) = words.iter().position(|word| verbs.contains(&word.as_str())) else { return Vec::new() };
    let stops = |word: &&String| {
        !matches!(
            word.as_str(),
            "in" | "under" | "from" | "with" | "until" | "so" | "when" | "that" | "what" | "which" | "and"
        )
    };
    let label: Vec<String> = words[at + 1..]
        .iter()
        .skip_while(|word| matches!(word.as_str(), "the" | "on" | "a" | "its"))
        .take_while(stops)
        .cloned()
        .collect();
    let vague = leaves_choice_among(&words) || label.is_empty() || label.len() > 5;
    if vague { Vec::new() } else { vec![label.join(" ")] }
}
