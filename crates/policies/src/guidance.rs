//! Reads guidance in the form in which the reviews write it: one numbered sentence for each step.

use super::words::plain;

/// One step of guidance.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Press the control with this label.
    Press(String),
    /// Press this chord.
    Keys(String),
    /// Type a text of the task into a field, given by its label if the sentence names it.
    Fill(Option<String>),
    /// Choose what the task asks for among the visible entries.
    Pick,
    /// Right-click the object of the task.
    Context,
    /// Open this address.
    Visit(String),
    /// Double-click the cell that the task is about.
    Cell,
}

/// A step, and whether it is skipped where its target is not there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) step: Step,
    pub(super) optional: bool,
}

/// Parses a skill's guidance: its Guidance section if it has one, else the whole text.
pub(super) fn read(note: &str) -> Vec<Line> {
    let body =
        note.split_once("## Guidance").map_or(note, |(_, rest)| rest.split("\n## ").next().unwrap_or(rest));
    body.lines().flat_map(|line| sentence(unnumbered(line))).collect()
}

/// Returns the labels and addresses that guidance names.
pub(super) fn named(note: &str) -> Vec<String> {
    let name = |line: Line| match line.step {
        Step::Press(label) | Step::Visit(label) | Step::Fill(Some(label)) if !line.optional => Some(label),
        _ => None,
    };
    read(note).into_iter().filter_map(name).collect()
}

/// Returns a line without its number or bullet.
fn unnumbered(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '*']).trim_start();
    match line.split_once(". ") {
        Some((number, rest)) if number.chars().all(|c| c.is_ascii_digit()) => rest.trim(),
        _ => line,
    }
}

fn sentence(text: &str) -> Vec<Line> {
    let (text, optional) = match text.strip_prefix("If it is there, ") {
        Some(rest) => (rest, true),
        None => (text, text.ends_with(" if a question appears.")),
    };
    let parts = text.split(", then ").flat_map(|part| part.split("; then "));
    parts.flat_map(action).map(|step| Line { step, optional }).collect()
}

fn action(text: &str) -> Vec<Step> {
    let text = text.trim().trim_end_matches(['.', ';']);
    let words = plain(text);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let quoted = text.split('"').nth(1).map(str::to_owned);
    if let Some(address) = text.split_whitespace().find(|word| word.contains("://")) {
        return vec![Step::Visit(address.trim_matches(['"', ',']).to_owned())];
    }
    match verb.to_lowercase().as_str() {
        "double-click" => vec![Step::Cell],
        "right-click" => vec![Step::Context],
        "type" => vec![Step::Fill(quoted)],
        // It is said of what the policies do by themselves.
        "select" if has("whole") => Vec::new(),
        "choose" | "open" | "set" | "tick" | "press" | "pick" => {
            if rest.contains(" > ") {
                let path = rest.split(" (").next().unwrap_or(rest).trim_end_matches(" first");
                path.split(" > ")
                    .map(|label| Step::Press(label.trim().trim_matches('"').to_owned()))
                    .collect()
            } else if has("asks") && (has("entry") || has("what")) {
                vec![Step::Pick]
            } else if let Some(label) = quoted {
                vec![Step::Press(label)]
            } else if verb.eq_ignore_ascii_case("press") {
                vec![Step::Keys(rest.to_lowercase())]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Step, named, read};

    #[test]
    fn the_sentences_of_reviews_are_read() {
        let note = "# kitchen/sponge\n## Guidance\n\n1. Choose Room > Lamp first.\n2. Right-click what the task is about.\n\
                    3. Choose the entry that the task asks for (there are: Turn, Wrap).\n4. Press \"Close\".\n\n## Annotations\n";
        let press = |label: &str| Step::Press(label.into());
        let steps: Vec<Step> = read(note).into_iter().map(|line| line.step).collect();
        assert_eq!(steps, [press("Room"), press("Lamp"), Step::Context, Step::Pick, press("Close")]);
        assert_eq!(named(note), ["Room", "Lamp", "Close"]);
    }

    #[test]
    fn what_is_said_on_a_condition_is_optional() {
        let lines =
            read("1. If it is there, double-click the cell that the task is about, then press Ctrl+A.");
        let keys = Step::Keys("ctrl+a".into());
        assert_eq!(lines, [Line { step: Step::Cell, optional: true }, Line { step: keys, optional: true }]);
    }
}
