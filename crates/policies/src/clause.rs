//! Splits an instruction into clauses, tells requests from statements, and finds each clause's verb.

use super::text_match::plain;
use super::value::VALUE_MARK;

/// Verbs that open an imperative clause.
#[rustfmt::skip]
pub(super) const VERBS: &[&str] = &[
    "set", "turn", "make", "change", "create", "add", "open", "save", "close",
    "rename", "delete", "remove", "move", "copy", "convert", "show", "hide", "enable",
    "disable", "select", "choose", "type", "write", "enter", "replace", "find", "insert",
    "press", "click", "tick", "check", "uncheck", "untick", "run", "put", "use",
    "switch", "fill", "go", "submit", "send", "sort", "export", "ensure", "let",
    "start", "stop", "store", "keep", "configure", "give", "pick", "activate", "deactivate",
    "mark", "unmark", "bookmark", "allow", "block", "swap", "strip", "clear", "reset",
    "duplicate", "trash", "execute", "append", "join", "search", "visit", "book", "order",
    "register", "report", "tell", "increase", "decrease", "raise", "lower", "adjust", "transform",
    "reverse", "get", "apply", "restore", "list", "assign", "pin", "zoom", "reload",
    "display", "wrap", "indent", "print", "empty", "limit", "have", "drag", "undo",
    "redo", "expand",
];

/// Words before an imperative that do not change its meaning.
pub(super) const LEADING: &[&str] =
    &["please", "then", "now", "also", "finally", "first", "next", "and", "afterwards", "second", "lastly"];

/// Modal words that turn a statement into a request.
pub(super) const MODAL: &[&str] =
    &["should", "must", "want", "wants", "need", "needs", "like", "can", "shall"];

/// Words that negate a request.
const NEGATION: &[&str] = &["don't", "dont", "never", "without", "leave"];

/// One clause of an instruction.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    /// The clause's text with values replaced by [`VALUE_MARK`]s.
    pub(super) text: String,
    /// `true` for a request, `false` for a statement of fact.
    pub(super) asks: bool,
}

/// Splits a masked instruction into clauses and marks the requests. When the instruction has an imperative, a
/// first-person statement of need ("I want …") is a reason and not a request.
pub(super) fn told(masked: &str) -> Vec<Clause> {
    let clauses = clauses(masked);
    let commands = clauses.iter().any(|clause| is_request(clause) && verb_at(clause).is_some());
    let reason = |clause: &str| {
        commands
            && verb_at(clause).is_none()
            && plain(clause).iter().any(|word| matches!(word.as_str(), "i" | "we"))
    };
    let told = |text: &String| Clause { text: text.clone(), asks: is_request(text) && !reason(text) };
    clauses.iter().map(told).collect()
}

/// Splits a masked instruction into clauses: at sentence ends, and at conjunctions before an imperative verb.
fn clauses(masked: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in masked.split(['\n', ';']).flat_map(sentences) {
        let mut rest = sentence.as_str();
        let mut from = 0;
        while let Some(cut) = joint(&rest[from..]) {
            let (head, tail) = rest.split_at(from + cut.0);
            found.push(head.trim().to_owned());
            rest = &tail[cut.1..];
            from = 0;
        }
        found.push(rest.trim().to_owned());
    }
    found.retain(|clause| clause.chars().any(char::is_alphanumeric) || clause.contains(VALUE_MARK));
    found
}

fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let ends = matches!(c, '.' | '!' | '?' | ':') && chars.peek().is_none_or(|next| next.is_whitespace());
        if ends {
            found.push(std::mem::take(&mut current));
        } else {
            current.push(c);
        }
    }
    found.push(current);
    found
}

/// Returns the offset and length of the first conjunction that introduces a new imperative.
fn joint(text: &str) -> Option<(usize, usize)> {
    let joints = [", and then ", " and then ", ", then ", " then ", ", and ", " and ", ", "];
    text.char_indices().find_map(|(at, _)| {
        let rest = &text[at..];
        let joint = joints.iter().find(|joint| rest.starts_with(**joint))?;
        let after = plain(&rest[joint.len()..]);
        let first = after.iter().find(|word| !LEADING.contains(&word.as_str()))?;
        let imperative = VERBS.contains(&first.as_str());
        (at > 0 && imperative).then_some((at, joint.len()))
    })
}

/// Returns whether a clause requests something rather than stating a fact.
fn is_request(clause: &str) -> bool {
    let words: Vec<String> = clause
        .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('’', "'"))
        .collect();
    let start = words.iter().find(|word| !LEADING.contains(&word.as_str()));
    if start.is_some_and(|word| NEGATION.contains(&word.as_str()))
        || words.windows(2).any(|pair| pair[0] == "do" && pair[1] == "not")
    {
        return false;
    }
    let modal = words.iter().any(|word| MODAL.contains(&word.as_str()))
        || words.windows(2).any(|pair| matches!(pair[0].as_str(), "has" | "have") && pair[1] == "to");
    modal || verb_at(clause).is_some()
}

/// Returns a clause's imperative verb: its first word, or the first word after a location (`In the editor, …`).
pub(super) fn verb_at(clause: &str) -> Option<String> {
    let verb_of = |text: &str| {
        plain(text)
            .into_iter()
            .find(|word| !LEADING.contains(&word.as_str()))
            .filter(|word| VERBS.contains(&word.as_str()))
    };
    verb_of(clause).or_else(|| clause.split(',').skip(1).find_map(verb_of))
}
