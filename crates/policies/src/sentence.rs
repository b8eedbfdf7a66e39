//! Splits the sentences of a skill into conditions, actions, clauses and lists. Text inside quotation marks is never
//! split.

use super::quotation::unquoted;
use super::text_match::plain;

/// Verbs of choosing and setting.
const CHOOSING: &[&str] = &[
    "choose", "pick", "select", "click", "take", "set", "press", "adjust", "change", "switch", "tick", "use",
    "toggle",
];

/// Verbs that start an action.
const DOING: &[&str] = &[
    "press", "hit", "type", "enter", "click", "double", "right", "choose", "pick", "select", "open", "tick",
    "untick", "check", "uncheck", "set", "go", "switch", "turn", "enable", "disable", "write", "fill", "put",
    "mark", "unmark", "take", "change", "confirm", "close", "save", "use", "adjust", "expand", "activate",
];

/// Words that may stand before such a verb.
const LEADING: &[&str] =
    &["then", "first", "now", "next", "finally", "afterwards", "please", "just", "after", "that"];

/// Words for what the task asks for.
const WANTED: &[&str] = &[
    "task",
    "asked",
    "asks",
    "want",
    "wanted",
    "wants",
    "need",
    "needed",
    "needs",
    "required",
    "whichever",
    "whatever",
    "fits",
];

/// Words that start a list of alternatives.
const LISTING: &[&str] = &["of", "among", "amongst", "between", "out", "from"];

/// Words that start a clause of place.
const PLACING: &[&str] = &["in", "under", "on", "at", "within", "inside", "there", "then"];

/// Words of the condition that something is visible.
const CONDITIONS: &[&str] = &["there", "appears", "appear", "asks", "shown", "comes", "opens", "visible"];

/// Returns the action of a conditional sentence: `If it asks, press OK`, `Then, if it asks, press OK` and `Press OK if
/// it asks`.
pub(super) fn on_condition(sentence: &str) -> Option<&str> {
    let sentence = sentence.trim();
    let is_if = |at: usize| sentence[at..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case("if "));
    let mut starts = unquoted(sentence).map(|(at, _)| at);
    let at = starts
        .find(|at| is_if(*at) && sentence[..*at].chars().next_back().is_none_or(char::is_whitespace))?;
    let leads = |word: &String| LEADING.contains(&word.as_str());
    if plain(&sentence[..at]).iter().all(leads) {
        let mut joints = unquoted(sentence).filter(|(joint, c)| {
            *joint > at && matches!(c, ',' | ':') && sentence[joint + 1..].starts_with(' ')
        });
        return joints.next().map(|(joint, _)| sentence[joint + 2..].trim());
    }
    let there = |word: &String| CONDITIONS.contains(&word.as_str());
    plain(&sentence[at..]).iter().any(there).then(|| &sentence[..at])
}

/// Returns a line without its number or bullet.
pub(super) fn without_marker(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = &line[digits..];
    if digits > 0 && rest.starts_with(['.', ')', ':']) { rest[1..].trim_start() } else { line }
}

/// Splits a line at sentence ends and semicolons, but not inside quotation marks or at an ellipsis.
pub(super) fn sentences(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, c) in unquoted(line) {
        let (before, after) = (line[..at].chars().next_back(), line[at + c.len_utf8()..].chars().next());
        let dots = before == Some('.') || after == Some('.');
        if c == ';' || matches!(c, '.' | '!') && !dots && after.is_none_or(char::is_whitespace) {
            found.push(&line[from..at]);
            from = at + c.len_utf8();
        }
    }
    found.push(&line[from..]);
    found.into_iter().map(str::to_owned).collect()
}

/// Splits `press this, type that and click there` into its actions, but not inside quotation marks. A clause of place
/// stays with the following action, and an address with the action that opens it.
pub(super) fn split_actions(sentence: &str) -> Vec<String> {
    if sentence.contains("://") {
        return vec![sentence.to_owned()];
    }
    let acts = |text: &str| {
        let first = plain(text).into_iter().find(|word| !LEADING.contains(&word.as_str()));
        first.is_some_and(|word| DOING.contains(&word.as_str()))
    };
    let mut found: Vec<String> = Vec::new();
    let mut from = 0;
    for (at, _) in unquoted(sentence) {
        let rest = &sentence[at..];
        let joint = [", and ", ", ", " and "].into_iter().find(|joint| rest.starts_with(joint));
        let Some(joint) = joint.filter(|_| at > from) else { continue };
        let next = &rest[joint.len()..];
        if next.starts_with(char::is_lowercase) && acts(next) && acts(&sentence[from..at]) {
            found.push(sentence[from..at].to_owned());
            from = at + joint.len();
        }
    }
    found.push(sentence[from..].to_owned());
    found
}

/// Splits at words of sequence, such as `then`.
pub(super) fn split_then(sentence: &str) -> Vec<String> {
    let mut parts = vec![sentence.to_owned()];
    for joint in [", then ", " and then ", ", and finally ", ", afterwards "] {
        parts =
            parts.iter().flat_map(|part| part.split(joint).map(str::to_owned).collect::<Vec<_>>()).collect();
    }
    parts
}

/// Removes parentheses, and everything after a negation or an example.
pub(super) fn without_negation(sentence: &str) -> String {
    let mut kept = String::new();
    let mut depth = 0u32;
    for c in sentence.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    let lower = kept.to_lowercase();
    let cut = [
        "instead of",
        "rather than",
        " not in ",
        " not under ",
        "such as ",
        "for example",
        "for instance",
        "e.g.",
        ", not ",
        "unlike ",
        " but not ",
        "do not ",
        "don't ",
        "never ",
    ]
    .iter()
    .filter_map(|mark| lower.find(mark))
    .min();
    match cut {
        Some(at) if kept.is_char_boundary(at) => kept[..at].to_owned(),
        Some(_) | None => kept,
    }
}

/// Returns a sentence without its list of alternatives: `Of Rye, Oat and Wheat, take the one that is wanted`. Returns
/// `None` if the sentence lists nothing or leaves no choice to the task.
pub(super) fn without_list(sentence: &str) -> Option<String> {
    let clauses = clauses(sentence);
    let action = clauses.iter().position(|clause| leaves_choice(&plain(clause)))?;
    let mut kept: Vec<&str> = Vec::new();
    let mut listed = false;
    for (at, clause) in clauses.iter().enumerate() {
        let words = plain(clause);
        let opens = words.first().is_some_and(|word| LISTING.contains(&word.as_str()));
        let places = words.first().is_some_and(|word| PLACING.contains(&word.as_str()));
        listed = opens || listed && !places;
        if at == action {
            let (own, list) = split_list(clause);
            kept.push(own);
            listed = list || clause.ends_with(':');
        } else if !listed {
            kept.push(clause);
        }
    }
    let rest = kept.join(", ");
    (rest.len() < sentence.len()).then_some(rest)
}

/// Splits at commas and after colons, but not inside quotation marks.
pub(super) fn clauses(sentence: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, c) in unquoted(sentence) {
        if (c == ',' || c == ':') && sentence[at + 1..].starts_with(' ') {
            found.push(sentence[from..at + usize::from(c == ':')].trim());
            from = at + 1;
        }
    }
    found.push(sentence[from..].trim());
    found
}

/// Returns a clause without its trailing list, and whether there was one: `take what is wanted out of Rye and Oat`.
fn split_list(clause: &str) -> (&str, bool) {
    let lower = clause.to_lowercase();
    let wanted = WANTED.iter().filter_map(|word| lower.rfind(word).map(|at| at + word.len())).max();
    let from = wanted.filter(|from| lower.is_char_boundary(*from)).unwrap_or_default();
    let marks = [" out of ", " among ", " between ", " of ", " from "];
    let at = marks.iter().filter_map(|mark| lower[from..].find(mark)).min().map(|at| at + from);
    match at.filter(|at| clause.is_char_boundary(*at)) {
        Some(at) => (&clause[..at], true),
        None => (clause, false),
    }
}

/// Returns whether a clause leaves the choice to the task.
pub(super) fn leaves_choice(words: &[String]) -> bool {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    has(CHOOSING) && has(WANTED)
}

/// Returns whether words say to choose one of several.
pub(super) fn leaves_choice_among(words: &[String]) -> bool {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    has(CHOOSING) && (has(WANTED) || has(&["entry", "one", "what"]))
}
