//! Adherence: whether an agent did what a text says, judged from the trace alone. Compares the menu paths, keys and
//! labels that the text names with the actions after the agent received it. Needs no model.

use std::sync::LazyLock;

use apprentice_protocol::{StepId, TrajectoryStep};
use regex::Regex;
use serde::Serialize;

/// Part of a text that an action can match.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "anchor", rename_all = "snake_case")]
pub enum Anchor {
    /// A menu path. Its last part shows that the path was taken.
    Path {
        /// The entries, in order.
        parts: Vec<String>,
    },
    /// A key chord such as `ctrl+shift+e`.
    Keys {
        /// The normalized chord.
        chord: String,
    },
    /// A quoted element name.
    Label {
        /// The name.
        name: String,
    },
}

/// The anchors of a text, split by whether the actions match them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Adherence {
    /// Anchors that an action matches.
    pub done: Vec<Anchor>,
    /// Anchors that no action matches.
    pub missing: Vec<Anchor>,
}

impl Adherence {
    /// Returns whether the text was followed: actions match at least half of its anchors. `None` if the text has no
    /// anchors.
    pub fn verdict(&self) -> Option<bool> {
        let named = self.done.len() + self.missing.len();
        (named > 0).then(|| self.done.len() * 2 >= named)
    }
}

const MODIFIERS: &str = r"(?:ctrl|control|alt|shift|super|meta|cmd|win)";
const QUOTES: &str = "\"([^\"\\n]{2,60})\"|\u{201c}([^\u{201d}\\n]{2,60})\u{201d}|`([^`\\n]{2,60})`";

static CHORD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let key = r"(?:f[0-9]{1,2}|[a-z0-9]+|[/,.\-=\[\]])";
    Regex::new(&format!(r"(?i)\b((?:{MODIFIERS}\s*\+\s*)+{key})|\b(f[1-9][0-2]?)\b")).ok()
});
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(QUOTES).ok());

/// Returns the anchors of a text, without duplicates, ordered by kind.
pub fn anchors(text: &str) -> Vec<Anchor> {
    let mut found = Vec::new();
    for chord in CHORD.iter().flat_map(|regex| regex.captures_iter(text)) {
        if let Some(keys) = chord.get(1).or_else(|| chord.get(2)) {
            found.push(Anchor::Keys { chord: chord_of(keys.as_str()) });
        }
    }
    found.extend(quoted_names(text).map(|(_, name)| Anchor::Label { name: as_label(name) }));
    for sentence in text.split(['\n', '.', ';', '(', ')', ',']) {
        let parts: Vec<String> =
            sentence.split(['>', '→', '▸', '»']).map(as_label).filter(|part| !part.is_empty()).collect();
        if parts.len() > 1 {
            found.push(Anchor::Path { parts });
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the quoted names of elements of a text in order, each with the byte at which it begins.
pub fn quoted_names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let quoted = QUOTED.iter().flat_map(move |regex| regex.captures_iter(text));
    let names = quoted.filter_map(|quoted| quoted.iter().skip(1).flatten().next());
    names.map(|name| (name.start(), name.as_str())).filter(|(_, name)| {
        let label = as_label(name);
        !label.is_empty() && !label.contains(['>', '→'])
    })
}

/// Compares a text with the actions from step `since` on.
pub fn adherence(text: &str, steps: &[TrajectoryStep], since: StepId) -> Adherence {
    let done: Vec<(String, String)> = steps
        .iter()
        .filter(|step| step.id >= since)
        .flat_map(|step| &step.actions)
        .filter(|action| action.outcome == "done")
        .map(|action| (action.action.to_lowercase(), as_label(action.name.as_deref().unwrap_or_default())))
        .collect();
    let mut follow = Adherence::default();
    for anchor in anchors(text) {
        let shown = done.iter().any(|(action, name)| shows(&anchor, action, name));
        if shown { follow.done.push(anchor) } else { follow.missing.push(anchor) }
    }
    follow
}

fn shows(anchor: &Anchor, action: &str, name: &str) -> bool {
    match anchor {
        Anchor::Keys { chord } => action.strip_prefix("key ").is_some_and(|keys| chord_of(keys) == *chord),
        Anchor::Label { name: label } => name == label,
        // The words after a path belong to its sentence: `File > Export As and choose a type`.
        Anchor::Path { parts } => parts.last().is_some_and(|last| {
            let rest = last.strip_prefix(name).filter(|_| name.chars().count() > 1);
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        }),
    }
}

/// Normalizes a chord: no spaces, lower case, modifiers in a fixed order.
fn chord_of(keys: &str) -> String {
    let lower = keys.to_lowercase().replace("control", "ctrl");
    let mut parts: Vec<&str> = lower.split('+').map(str::trim).collect();
    let last = parts.pop().unwrap_or_default();
    parts.sort_unstable();
    parts.push(last);
    parts.join("+")
}

/// Normalizes a label for comparison: lower case, without ellipsis, quotes and access key markers.
pub fn as_label(label: &str) -> String {
    let kept: String =
        label.chars().filter(|c| !matches!(c, '"' | '“' | '”' | '`' | '*' | '_' | '…')).collect();
    kept.trim().trim_end_matches('.').trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Seen, StepAction, StepId, TrajectoryStep};

    use super::{Anchor, adherence, anchors};

    fn step(number: u32, action: &str, name: &str) -> TrajectoryStep {
        let action = StepAction {
            action: action.into(),
            role: None,
            name: (!name.is_empty()).then(|| name.into()),
            at: None,
            near: None,
            outcome: "done".into(),
        };
        TrajectoryStep { actions: vec![action], ..TrajectoryStep::new(StepId(number), Seen::default()) }
    }

    #[test]
    fn paths_keys_and_labels_are_named() {
        let text =
            "1. Open Colors > Color to Alpha…, then press Ctrl + Shift+E.\n2. Tick \"Keep ratio\", or F5.";
        let keys = |chord: &str| Anchor::Keys { chord: chord.into() };
        assert_eq!(
            anchors(text),
            [
                Anchor::Path { parts: vec!["1".into(), "open colors".into()] },
                Anchor::Path { parts: vec!["open colors".into(), "color to alpha".into()] },
                keys("ctrl+shift+e"),
                keys("f5"),
                Anchor::Label { name: "keep ratio".into() },
            ][1..]
        );
        assert_eq!(anchors("Look at the toolbar first."), []);
        for quoted in ["\"Keep ratio\"", "\u{201c}Keep ratio\u{201d}", "`Keep ratio`"] {
            let label = Anchor::Label { name: "keep ratio".into() };
            assert_eq!(anchors(&format!("Tick {quoted} first")), [label], "{quoted}");
        }
    }

    #[test]
    fn only_what_was_done_after_the_view_counts() {
        let check = |text: &str, steps: &[TrajectoryStep], expected| {
            assert_eq!(adherence(text, steps, StepId(2)).verdict(), expected, "{text}");
        };
        let menu = [step(1, "click", "Export As"), step(3, "click", "File")];
        check("Use File > Export As and choose a type.", &menu, Some(false));
        let menu = [step(2, "click", "File"), step(3, "click", "Export As…")];
        check("Use File > Export As and choose a type.", &menu, Some(true));
        check("Use File > Export Assets.", &menu, Some(false));
        check("Press Ctrl+G.", &[step(2, "key ctrl+g", "")], Some(true));
        check("Press Ctrl+Shift+G.", &[step(2, "key shift+ctrl+g", "")], Some(true));
        check("Take care.", &menu, None);
        // Half of what is named is enough, less is not.
        let one = [step(2, "key ctrl+g", "")];
        check("Press Ctrl+G and F5.", &one, Some(true));
        check("Press Ctrl+G, F5 and F6.", &one, Some(false));
        // One letter is no entry of a menu.
        check("Use Tools > X.", &[step(2, "click", "X")], Some(false));
        check("Use Tools > XY.", &[step(2, "click", "XY")], Some(true));
    }

    #[test]
    fn a_label_has_two_to_sixty_characters() {
        for (length, named) in [(1, 0), (2, 1), (60, 1), (61, 0)] {
            assert_eq!(anchors(&format!("Tick \"{}\"", "x".repeat(length))).len(), named, "{length}");
        }
    }
}
