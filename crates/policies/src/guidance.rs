//! Parses guidance written in English: menu paths, key names, labels in quotation marks or capitals, and the verbs of
//! pressing, ticking, typing and choosing. Word order and style may vary.

use apprentice_protocol::Chord;

use super::label_extraction::{head_label, labels, strip_marks, tail_label};
use super::sentence::{
    clauses, leaves_choice, leaves_choice_among, on_condition, sentences, split_actions, split_then,
    without_list, without_marker, without_negation,
};
use super::text_match::plain;

/// A label that guidance names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label {
    pub(super) text: String,
    /// The on/off state that the sentence requests, if any.
    pub(super) state: Option<bool>,
}

/// One step of guidance.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Press these labels in exactly this order.
    Path(Vec<Label>),
    /// Labels of one sentence: press whichever is visible first.
    Labels(Vec<Label>),
    /// Press this chord.
    Keys(String),
    /// Type a value of the task into a field, given by its label if the sentence names it.
    Fill(Option<String>),
    /// Choose what the task asks for among the visible entries.
    Pick,
    /// Right-click the label, or the object of the task when `None`.
    Context(Option<String>),
    /// Open this address.
    Visit(String),
    /// Double-click the cell that the task is about.
    Cell,
    /// A conditional group: if its first action finds no target, the whole group is skipped.
    Maybe(Vec<Self>),
}

const ARROWS: &[&str] = &[" > ", " → ", " -> ", " » ", " › ", " ▸ ", " => ", "→", "▸", "›", "»", ">"];

/// Parses a skill's guidance: its Guidance section if it has one, else the whole text.
pub(super) fn read(note: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for sentence in lines(note).iter().flat_map(|line| sentences(line)) {
        let read = |text: &str| -> Vec<Step> {
            let parts = split_then(text).into_iter().flat_map(|part| split_actions(&part));
            parts.flat_map(|part| read_sentence(&part)).collect()
        };
        match on_condition(&sentence) {
            Some(action) => {
                steps.extend(Some(read(action)).filter(|group| !group.is_empty()).map(Step::Maybe));
            }
            None => steps.extend(read(&sentence)),
        }
    }
    steps
}

/// Parses guidance into a flat list: the steps of a conditional group appear in place.
pub(super) fn read_all(note: &str) -> Vec<Step> {
    let flat = |step| if let Step::Maybe(steps) = step { steps } else { vec![step] };
    read(note).into_iter().flat_map(flat).collect()
}

/// Returns the labels that a skill's guidance names unconditionally.
pub(super) fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for step in read(text) {
        match step {
            Step::Path(labels) | Step::Labels(labels) => {
                found.extend(labels.into_iter().map(|label| label.text));
            }
            Step::Fill(Some(label)) | Step::Context(Some(label)) => found.push(label),
            Step::Fill(None)
            | Step::Context(None)
            | Step::Keys(_)
            | Step::Pick
            | Step::Cell
            | Step::Maybe(_) => {}
            Step::Visit(address) => found.push(address),
        }
    }
    found
}

/// Returns the lines of a skill's guidance without numbers and bullets.
pub(super) fn lines(note: &str) -> Vec<String> {
    let lines = section(note).lines().map(without_marker);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn section(note: &str) -> &str {
    let Some((_, rest)) = note.split_once("## Guidance") else { return note };
    rest.split("\n## ").next().unwrap_or(rest)
}

fn read_sentence(sentence: &str) -> Vec<Step> {
    let sentence = without_negation(sentence.trim());
    let (sentence, chosen) = match without_list(&sentence) {
        Some(rest) => (rest, true),
        None => (sentence, false),
    };
    let mut steps = read_action(&sentence);
    let open = |clause: &&str| leaves_choice(&plain(clause)) && labels(clause).is_empty();
    let labelled = matches!(steps.last(), Some(Step::Labels(_)));
    if chosen && steps.is_empty() || labelled && clauses(&sentence).iter().any(open) {
        steps.push(Step::Pick);
    }
    steps
}

fn read_action(sentence: &str) -> Vec<Step> {
    let sentence = sentence.to_owned();
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
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let by_context = has(&["context", "secondary"]) || rest.to_lowercase().contains("right-click") || {
        words.windows(2).any(|pair| pair[0] == "right" && pair[1].starts_with("click"))
    };
    // Beside a key or a context menu, only text that is clearly marked is a label: `select everything, with Ctrl+A`.
    let marked =
        |text: &String| rest.contains(&format!("\"{text}\"")) || text.chars().any(char::is_uppercase);
    let labels: Vec<Label> = labels(&rest)
        .into_iter()
        .filter(|text| keys.is_empty() && !by_context || marked(text))
        .map(|text| Label { text, state })
        .collect();
    let mut steps: Vec<Step> = Vec::new();
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
    } else if leaves_choice_among(&words) {
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

/// Parses `Type the value the task names into …`.
fn values_step(words: &[String], sentence: &str, label: Option<&Label>) -> Option<Step> {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let types = has(&["type", "enter", "fill", "write", "put", "typing", "input"]);
    let told =
        has(&["value", "name", "number", "text", "values", "task", "wanted", "asked", "it", "what", "new"]);
    let presses_enter = sentence.to_lowercase().contains("press enter");
    (types && told && !presses_enter).then(|| Step::Fill(label.map(|label| label.text.clone())))
}

/// Parses a menu path: labels joined by arrows.
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
        let asks_choice =
            text.is_empty() || leaves_choice_among(&plain(&text)) && text.starts_with(char::is_lowercase);
        if !asks_choice {
            found.push(Label { text, state: if index == last { state } else { None } });
        }
    }
    (found.len() >= 2 || parts.len() == 2 && !found.is_empty()).then_some(found)
}

/// Extracts key names from a sentence: chords with a plus sign, function keys, and named keys after `press`. Returns
/// them with the remaining text.
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
        let strikes = matches!(lower.as_str(), "press" | "hit" | "strike" | "tap" | "click" | "pressing");
        pressing = (strikes || matches!(lower.as_str(), "key" | "with" | "the"))
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
                Step::Maybe(_) => "perhaps".into(),
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
        check("Open Bake > Sponge and choose the entry the task asks for.", &["Bake > Sponge", "pick"]);
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
    fn what_is_listed_to_choose_from_is_no_order() {
        check("Of Rye, Oat (whole) and Wheat, adjust whatever is wanted.", &["pick"]);
        check("After that, of Rye, Oat, Wheat, pick the one that is wanted.", &["pick"]);
        check("Take whichever is needed out of Rye, Oat and Wheat.", &["pick"]);
        check("Pick the one the task asks for: Rye, Oat or Wheat.", &["pick"]);
        check("In the Bake menu, pick the one that is wanted.", &["Bake", "pick"]);
        check("Of \"Rye, dark\" and \"Oat\", take the one you need", &["pick"]);
    }

    #[test]
    fn a_sentence_may_hold_several_actions() {
        check(
            "Double-click the old value in its cell, press Ctrl+A, type the new one and press Enter.",
            &["cell", "keys ctrl+a", "fill ", "keys enter"],
        );
        check(
            "Select everything first, with Ctrl+A. Then go to Bake, Sponge and pick the change that you want.",
            &["keys ctrl+a", "Bake | Sponge", "pick"],
        );
        check("Everything of this kind is on the tab Sponge. Set what you want there.", &["Sponge", "pick"]);
        check("How it rises is set in the Bake menu, under Sponge.", &["Bake | Sponge"]);
        check("Tick \"Cut, press and bake\" and press OK.", &["Cut, press and bake on", "OK"]);
    }

    #[test]
    fn what_is_said_on_a_condition_is_kept_together() {
        let inside = |text: &str| match read(text).as_slice() {
            [Step::Maybe(steps)] => steps.clone(),
            other => panic!("{text}: {other:?}"),
        };
        let group =
            inside("If it is there, double-click the cell that the task is about, then press Ctrl+A.");
        assert_eq!(group, [Step::Cell, Step::Keys("ctrl+a".into())]);
        assert_eq!(inside("After that, if it is there, press F6.").len(), 1);
        assert!(matches!(inside("Press \"Warm\" if a question appears.").as_slice(), [Step::Labels(_)]));
        check("Tick \"Bake if there is dough\".", &["Bake if there is dough on"]);
        check("Choose Sponge if the task wants it.", &["Sponge"]);
        assert_eq!(super::read_all("If it is there: press F6.\nPress F7.").len(), 2);
    }

    #[test]
    fn keys_values_and_choices_are_told_apart() {
        check("Press Ctrl+Shift+U, then press Enter.", &["keys ctrl+shift+u", "keys enter"]);
        check("Type the name the task gives into the field \"Recipe\".", &["fill Recipe"]);
        check("Choose the entry that the task asks for.", &["pick"]);
        check("Right-click the file and choose Wrap.", &["context ", "Wrap"]);
        check("Press F6.", &["keys f6"]);
        check("After that, hit Enter.", &["keys enter"]);
        check("Open oven://rack in the address field", &["visit oven://rack"]);
    }
}
