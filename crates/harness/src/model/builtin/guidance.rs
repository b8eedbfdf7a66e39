//! Guidance read as English: menu paths, key names, labels in quotation marks or with capitals, and the few
//! verbs of pressing, ticking, typing and choosing. As a person writes it, in any order of words.

use apprentice_protocol::Chord;

use super::words::plain;

/// A label that guidance names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label {
    /// The words.
    pub(super) text: String,
    /// On or off, when the sentence says so.
    pub(super) state: Option<bool>,
}

/// One thing that guidance says to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Labels in this very order.
    Path(Vec<Label>),
    /// Labels of one sentence: whichever is there first comes first.
    Labels(Vec<Label>),
    /// Keys.
    Keys(String),
    /// A value of the task into a field; its label, if named.
    Fill(Option<String>),
    /// Choose what the task asks for, among what is there.
    Pick,
    /// The secondary button on a label, or on what the task is about.
    Context(Option<String>),
    /// An address to open.
    Visit(String),
    /// A double click on the cell that the task is about.
    Cell,
}

const ARROWS: &[&str] = &[" > ", " → ", " -> ", " » ", " › ", " ▸ ", " => ", "→", "▸", "›", "»", ">"];

/// Words that announce what a label is; the label stands before them.
const NOUNS: &[&str] = &[
    "menu", "submenu", "tab", "page", "button", "entry", "item", "command", "option", "checkbox", "check",
    "box", "field", "list", "dialog", "window", "section", "link", "icon", "switch", "toggle", "heading",
    "panel", "row", "category", "pane", "setting",
];

/// Words that open a sentence without being labels.
const OPENERS: &[&str] = &[
    "open", "choose", "pick", "select", "click", "press", "tick", "untick", "check", "uncheck", "enable",
    "disable", "turn", "switch", "go", "in", "under", "from", "on", "at", "the", "then", "next", "first",
    "finally", "now", "use", "hit", "find", "look", "type", "enter", "fill", "write", "put", "set", "right",
    "double", "activate", "confirm", "close", "save", "it", "this", "that", "there", "you", "to", "after",
    "before", "when", "if", "once", "with", "and", "a", "an", "its", "inside", "within", "both", "all",
    "unfold", "expand", "navigate", "leave", "make", "run", "mark", "clear", "do", "not", "only", "here",
    "point", "move", "answer", "as", "for", "visit", "pull", "start", "begin", "drop", "head", "by", "work",
    "follow", "take",
];

const JOINING: &[&str] =
    &["of", "to", "and", "the", "for", "in", "on", "with", "a", "or", "as", "at", "by", "from"];

/// Reads the guidance of a note: its Guidance section if it has one, else all of it.
pub(super) fn read(note: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in section(note).lines() {
        for sentence in sentences(without_marker(line)) {
            steps.extend(read_sentence(&sentence));
        }
    }
    steps
}

fn section(note: &str) -> &str {
    let Some((_, rest)) = note.split_once("## Guidance") else { return note };
    rest.split("\n## ").next().unwrap_or(rest)
}

fn without_marker(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = &line[digits..];
    if digits > 0 && rest.starts_with(['.', ')', ':']) { rest[1..].trim_start() } else { line }
}

/// Splits a line at sentence ends and semicolons, never inside quotation marks or at three dots.
fn sentences(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut closing: Option<char> = None;
    let chars: Vec<char> = line.chars().collect();
    for (at, c) in chars.iter().copied().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
        let after = chars.get(at + 1).copied();
        if closing == Some(c) {
            closing = None;
        } else if closing.is_none() && before.is_none_or(|before| !before.is_alphanumeric()) {
            closing = closer(c);
        }
        let dots = before == Some('.') || after == Some('.');
        let ends = c == ';' || matches!(c, '.' | '!') && !dots && after.is_none_or(char::is_whitespace);
        if ends && closing.is_none() {
            found.push(std::mem::take(&mut current));
        } else {
            current.push(c);
        }
    }
    found.push(current);
    found.iter().flat_map(|sentence| split_then(sentence)).collect()
}

/// The mark that closes a quotation.
fn closer(open: char) -> Option<char> {
    match open {
        '"' => Some('"'),
        '`' => Some('`'),
        '“' => Some('”'),
        '‘' => Some('’'),
        '\'' => Some('\''),
        '«' => Some('»'),
        _ => None,
    }
}

fn split_then(sentence: &str) -> Vec<String> {
    let mut parts = vec![sentence.to_owned()];
    for joint in [", then ", " and then ", ", and finally ", ", afterwards "] {
        parts =
            parts.iter().flat_map(|part| part.split(joint).map(str::to_owned).collect::<Vec<_>>()).collect();
    }
    parts
}

/// What stands behind a negation or an example is not followed.
fn affirmed(sentence: &str) -> String {
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

fn read_sentence(sentence: &str) -> Vec<Step> {
    let sentence = affirmed(sentence.trim());
    let words = plain(&sentence);
    if words.is_empty() {
        return Vec::new();
    }
    let state = state_said(&words);
    if let Some(path) = path(&sentence, state) {
        let mut steps = vec![Step::Path(path)];
        steps.extend(values_step(&words, &sentence, None));
        return steps;
    }
    let (keys, rest) = take_keys(&sentence);
    let address = rest.split_whitespace().find(|word| word.contains("://"));
    if let Some(address) = address {
        let address = address.trim_matches(['"', '`', '\'', '“', '”', '.', ',', ')', '(']);
        return vec![Step::Visit(address.to_owned())];
    }
    if words.iter().any(|word| word == "double") && words.iter().any(|word| word == "cell") {
        return vec![Step::Cell];
    }
    let labels: Vec<Label> = labels(&rest).into_iter().map(|text| Label { text, state }).collect();
    let mut steps: Vec<Step> = Vec::new();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let by_context = has(&["context", "secondary"]) || rest.to_lowercase().contains("right-click") || {
        words.windows(2).any(|pair| pair[0] == "right" && pair[1].starts_with("click"))
    };
    if by_context {
        let on = labels.first().filter(|_| labels.len() == 1 && !has(&["choose", "pick", "select"]));
        steps.push(Step::Context(on.map(|label| label.text.clone())));
        let rest: Vec<Label> = if on.is_some() { Vec::new() } else { labels };
        if !rest.is_empty() {
            steps.push(Step::Labels(rest));
        }
    } else if let Some(fill) = values_step(&words, &rest, labels.first()) {
        steps.push(fill);
    } else if !labels.is_empty() {
        steps.push(Step::Labels(labels));
    } else if picks(&words) {
        steps.push(Step::Pick);
    }
    steps.extend(keys.into_iter().map(Step::Keys));
    steps
}

fn state_said(words: &[String]) -> Option<bool> {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    if has(&["untick", "uncheck", "disable", "deselect", "unmark"])
        || has(&["off"]) && has(&["turn", "switch"])
    {
        Some(false)
    } else if has(&["tick", "enable", "mark"]) || has(&["on"]) && has(&["turn", "switch"]) {
        Some(true)
    } else {
        None
    }
}

/// `Type the value the task names into …`
fn values_step(words: &[String], sentence: &str, label: Option<&Label>) -> Option<Step> {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let types = has(&["type", "enter", "fill", "write", "put", "typing", "input"]);
    let told =
        has(&["value", "name", "number", "text", "values", "task", "wanted", "asked", "it", "what", "new"]);
    let presses_enter = sentence.to_lowercase().contains("press enter");
    (types && told && !presses_enter).then(|| Step::Fill(label.map(|label| label.text.clone())))
}

fn picks(words: &[String]) -> bool {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    has(&["choose", "pick", "select", "click", "take", "set", "press"])
        && has(&[
            "task",
            "asked",
            "asks",
            "wanted",
            "need",
            "needed",
            "entry",
            "one",
            "whichever",
            "fits",
            "what",
        ])
}

/// A menu path: labels joined by arrows.
fn path(sentence: &str, state: Option<bool>) -> Option<Vec<Label>> {
    let arrow = ARROWS.iter().find(|arrow| sentence.contains(**arrow))?;
    let parts: Vec<&str> = sentence.split(arrow).map(str::trim).collect();
    let last = parts.len().checked_sub(1)?;
    let mut found = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let text = if index == 0 {
            tail_label(part)
        } else if index == last {
            head_label(part)
        } else {
            strip_marks(part).to_owned()
        };
        let asks_choice = text.is_empty() || picks(&plain(&text)) && text.starts_with(char::is_lowercase);
        if !asks_choice {
            found.push(Label { text, state: if index == last { state } else { None } });
        }
    }
    (found.len() >= 2 || parts.len() == 2 && !found.is_empty()).then_some(found)
}

fn strip_marks(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || "\"'`“”‘’«»*_,:()".contains(c))
}

/// The label that ends a text: `Open the menu Edit` gives `Edit`.
fn tail_label(text: &str) -> String {
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

/// The label that begins a text: `Sideways to turn it` gives `Sideways`.
fn head_label(text: &str) -> String {
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

/// What stands between quotation marks, or between stars.
fn quotations(text: &str) -> Vec<String> {
    let text = text.replace("**", "\"");
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match open {
            Some((from, close)) if c == close => {
                let after = text[at + c.len_utf8()..].chars().next();
                if close != '\'' && close != '’' || !after.is_some_and(char::is_alphanumeric) {
                    found.push(text[from..at].trim().to_owned());
                    open = None;
                }
            }
            Some(_) => {}
            None if !before.is_alphanumeric() => open = closer(c).map(|close| (at + c.len_utf8(), close)),
            None => {}
        }
        before = c;
    }
    found.retain(|label| !label.is_empty());
    found
}

/// The labels of a sentence without a path: quotations; else runs of capitals; else what stands before a
/// word such as `menu` or after a verb such as `choose`.
fn labels(sentence: &str) -> Vec<String> {
    let mut found = quotations(sentence);
    let quoted = !found.is_empty();
    for label in capitals(sentence).into_iter().chain(announced(sentence)) {
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

/// Runs of capitalised words; the sentence's first word counts only if it is no opening verb.
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

/// `the edit menu`, `its convert submenu`: what stands between an article and such a noun.
fn announced(sentence: &str) -> Vec<String> {
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
    let vague = picks(&words) || label.is_empty() || label.len() > 5;
    if vague { Vec::new() } else { vec![label.join(" ")] }
}

/// Takes key names out of a sentence: chords with a plus, function keys, and named keys after `press`.
fn take_keys(sentence: &str) -> (Vec<String>, String) {
    let mut found = Vec::new();
    let mut rest: Vec<&str> = Vec::new();
    let mut pressing = false;
    for word in sentence.split_whitespace() {
        let clean = word.trim_matches(|c: char| !(c.is_alphanumeric() || c == '+'));
        let lower = clean.to_lowercase();
        let spelled = if clean.contains('+') { clean.to_owned() } else { clean.replace('-', "+") };
        let chord = Chord::parse(&spelled).ok();
        let named = matches!(
            lower.as_str(),
            "enter" | "return" | "escape" | "esc" | "tab" | "space" | "delete" | "backspace" | "home" | "end"
        );
        let function = lower.strip_prefix('f').is_some_and(|rest| rest.parse::<u8>().is_ok());
        let joined = spelled.contains('+')
            && chord
                .as_ref()
                .is_some_and(|chord| chord.keys().first().is_some_and(apprentice_protocol::Key::is_modifier));
        let is_quoted = word.starts_with(['"', '“', '`', '\'']) && named;
        if let Some(chord) = chord.filter(|_| joined || function || named && pressing && !is_quoted) {
            found.push(chord.to_string());
        } else {
            rest.push(word);
        }
        pressing = matches!(lower.as_str(), "press" | "hit" | "pressing" | "key" | "with" | "the")
            && (pressing || lower != "the")
            || joined;
    }
    (found, rest.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{Step, read};

    fn told(text: &str) -> Vec<String> {
        read(text)
            .into_iter()
            .map(|step| match step {
                Step::Path(labels) => {
                    labels.iter().map(|label| label.text.clone()).collect::<Vec<_>>().join(" > ")
                }
                Step::Labels(labels) => labels
                    .iter()
                    .map(|label| {
                        format!(
                            "{}{}",
                            label.text,
                            label.state.map_or("", |on| if on { " on" } else { " off" })
                        )
                    })
                    .collect::<Vec<_>>()
                    .join(" | "),
                Step::Keys(keys) => format!("keys {keys}"),
                Step::Fill(label) => format!("fill {}", label.unwrap_or_default()),
                Step::Pick => "pick".into(),
                Step::Context(label) => format!("context {}", label.unwrap_or_default()),
                Step::Visit(address) => format!("visit {address}"),
                Step::Cell => "cell".into(),
            })
            .collect()
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(told(text), expected, "{text}");
    }

    #[test]
    fn paths_are_read_in_any_dress() {
        check("1. Choose Bake > Sponge > Turn Over.", &["Bake > Sponge > Turn Over"]);
        check("Go to the Bake menu → Sponge → Turn Over to flip it", &["Bake > Sponge > Turn Over"]);
        check("- Use \"Bake\" > \"Sponge...\" > \"Turn over\"", &["Bake > Sponge... > Turn over"]);
        check("Open Bake > Sponge and choose the entry the task asks for.", &["Bake > Sponge"]);
    }

    #[test]
    fn sentences_name_labels_in_any_order() {
        check("Open the Bake menu, then choose Sponge.", &["Bake", "Sponge"]);
        check("In the Bake menu, under Sponge, pick Turn Over.", &["Bake | Sponge | Turn Over"]);
        check("open the bake menu and then click sponge", &["bake", "sponge"]);
        check("Tick \"Keep it warm\".", &["Keep it warm on"]);
        check("Turn off the Timer option", &["Timer off"]);
        check("Choose Sponge, not under Roast.", &["Sponge"]);
    }

    #[test]
    fn keys_values_and_choices_are_told_apart() {
        check("Press Ctrl+Shift+U, then press Enter.", &["keys ctrl+shift+u", "keys enter"]);
        check("Type the name the task gives into the field \"Recipe\".", &["fill Recipe"]);
        check("Choose the entry that the task asks for.", &["pick"]);
        check("Right-click the file and choose Wrap.", &["context ", "Wrap"]);
        check("Press F6.", &["keys f6"]);
        check("Open oven://rack in the address field", &["visit oven://rack"]);
    }
}
