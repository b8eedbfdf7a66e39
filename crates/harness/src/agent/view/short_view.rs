//! Writes the text about the screen for a model of few parameters: what it can act on now, by name, one element a line.
//!
//! Such a model copies labels well, and neither points nor references (of 30 choices among the elements of a list, Qwen2.5-Coder
//! 1.5B hit 17 by name; by number smaller ones took the same place each time). So the name comes first, for a role that was
//! said first binds the rest of the label, and what stands in a dialog or an open menu comes last, next to the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use apprentice_protocol::{
    BoundedText, Limits, ResourceUsage, State, TextBudget, counted, is_item_role, takes_text_role,
};

use super::delta_view::{NO_EFFECT, list_after};
use super::element_list::{ElementList, Part};
use super::last_view::LastView;
use super::model_view::{ELEMENTS_HEADING, ModelView};
use super::roles::is_interactive_role;

/// Limit on the elements' lines together, in characters: some 300 tokens.
const MAX_LIST_CHARS: usize = 1_000;
/// Limit on an element's name, in characters.
const MAX_NAME_CHARS: usize = 60;
/// Limit on an element's value, in characters: its beginning and its end, where typing went.
const MAX_VALUE_CHARS: usize = 90;
/// Limit on the whole text, in characters.
const TEXT_BUDGET: TextBudget = TextBudget(3_000);
/// Words of fewer letters stand in most labels.
const MIN_WORD_CHARS: usize = 3;
/// Roles of what is read.
const READ: &[&str] = &["text", "heading", "status", "alert", "paragraph", "label"];

/// What a short view is written from, beside the screen.
#[derive(Clone, Copy)]
pub(crate) struct Attempted<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) spent: &'a ResourceUsage,
    /// The instruction, which stands again below each view, and the advice: what they name is listed first.
    pub(crate) instruction: &'a str,
    pub(crate) advice: &'a str,
}

/// Writes the text of a view, and remembers its elements.
pub(crate) fn write(view: &ModelView, last: &mut LastView, attempted: Attempted<'_>) -> BoundedText {
    let observation = &view.observation;
    let list = observation.tree.as_ref().map(|tree| list_after(last, tree, &view.mapping));
    let same = last.list().zip(list.as_ref()).is_none_or(|(last, now)| last.lists_the_same(now));
    let mut text = view.text.as_str().to_owned();
    for remark in &observation.remarks {
        let _ = writeln!(text, "{remark}");
    }
    if observation.nothing_drawn && same {
        text.push_str(NO_EFFECT);
    }
    text.push_str(ELEMENTS_HEADING);
    match &list {
        Some(list) => text.push_str(&elements(list, &Named::of([attempted.instruction, attempted.advice]))),
        None => text.push_str("[no program lists its elements: use keys]\n"),
    }
    if attempted.spent.turns + 1 >= attempted.limits.turns {
        text.push_str("This is your last turn.\n");
    }
    let _ = writeln!(text, "Task: {}", attempted.instruction.trim());
    *last = list.map_or_else(LastView::default, LastView::List);
    BoundedText::cut(&text, TEXT_BUDGET)
}

/// Whether elements of a role are acted on: also what a table, a list or a terminal holds. A row is its cells.
fn is_acted_on(role: &str) -> bool {
    is_interactive_role(role)
        || (is_item_role(role) && role != "row")
        || matches!(role, "terminal" | "columnheader")
}

/// What the task and the advice name.
struct Named {
    text: String,
    words: BTreeSet<String>,
}

impl Named {
    fn of(texts: [&str; 2]) -> Self {
        let text = texts.join("\n").to_lowercase();
        Self { words: words(&text).collect(), text }
    }

    /// Whether an element's whole name is named.
    fn names(&self, name: &str) -> bool {
        let name = name.trim().to_lowercase();
        name.chars().count() >= MIN_WORD_CHARS && self.text.contains(&name)
    }

    /// Whether a word of an element's name is named.
    fn touches(&self, name: &str) -> bool {
        words(name).any(|word| self.words.contains(&word))
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= MIN_WORD_CHARS)
        .map(str::to_lowercase)
}

/// One element of the list.
struct Element<'a> {
    part: &'a Part,
    label: String,
    /// What a closed list box offers: `[options: sheet | roll]`.
    options: Option<&'a str>,
    /// Where it stands: 0 in the window, 1 in a dialog, 2 in an open menu.
    layer: u8,
    /// What is left out first has the highest number.
    rank: u8,
}

/// Writes the lines of the elements on the screen, within the limit.
fn elements(list: &ElementList, named: &Named) -> String {
    let all = labelled(chosen(list, named));
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|index| all.get(*index).map(|element| element.rank));
    let (mut used, mut kept) = (0, BTreeSet::new());
    for index in order {
        let length = all.get(index).map_or(0, |element| line(element).chars().count() + 1);
        if used + length <= MAX_LIST_CHARS {
            used += length;
            kept.insert(index);
        }
    }
    let left_out = all.len() - kept.len();
    let mut shown: Vec<&Element<'_>> = kept.iter().filter_map(|index| all.get(*index)).collect();
    shown.sort_by_key(|element| element.layer);
    let mut text: String = shown.into_iter().map(|element| format!("{}\n", line(element))).collect();
    if left_out > 0 {
        let _ = writeln!(text, "[not listed: {} on the screen]", counted(left_out, "element"));
    }
    if text.is_empty() {
        text.push_str("[nothing on the screen has a name: use keys]\n");
    }
    text
}

/// The elements that can be acted on now, and texts; in the order of the list.
fn chosen<'a>(list: &'a ElementList, named: &Named) -> Vec<Element<'a>> {
    let layers = layers(list);
    let has_dialog = layers.contains(&1);
    let has_menu = layers.contains(&2);
    let focus = list.focus.as_ref();
    let mut all = Vec::new();
    for (line, layer) in list.lines.iter().zip(&layers) {
        // What an open menu covers is not lost, and not what comes next.
        let behind = (has_menu && *layer < 2) || (has_dialog && *layer == 0);
        for part in &line.parts {
            let facts = &part.facts;
            let acted_on = is_acted_on(&part.role);
            let is_field = takes_text_role(&part.role);
            let unusable = facts.off_screen || facts.states.contains(&State::Disabled);
            let says_nothing = facts.name.trim().is_empty() && !is_field && focus != Some(&part.id);
            let read = READ.contains(&part.role.as_str());
            if unusable || says_nothing || !(acted_on || read) || (read && behind) {
                continue;
            }
            let rank = match part.role.as_str() {
                _ if focus == Some(&part.id) => 0,
                _ if acted_on && !behind && *layer > 0 => 1,
                _ if acted_on && named.names(&facts.name) => 1,
                _ if behind => 7,
                _ if is_field => 2,
                "checkbox" | "radio" | "switch" | "tab" | "option" => 2,
                _ if acted_on && named.touches(&facts.name) => 2,
                _ if is_interactive_role(&part.role) => 3,
                _ if named.names(&facts.name) => 4,
                _ if acted_on => 5,
                _ => 6,
            };
            let options = (part.role == "combobox").then(|| list.note_below(&part.id)).flatten();
            let options = options.map(|note| note.text.as_str());
            all.push(Element { part, label: String::new(), options, layer: *layer, rank });
        }
    }
    all
}

/// The layer of each line: 1 below a dialog, 2 below an open menu.
fn layers(list: &ElementList) -> Vec<u8> {
    let mut layers: Vec<u8> = Vec::with_capacity(list.lines.len());
    for line in &list.lines {
        let above = line.parent.and_then(|parent| list.lines.get(parent).zip(layers.get(parent)));
        let layer = above.map_or(0, |(holder, layer)| {
            let opens = |part: &Part| match part.role.as_str() {
                "dialog" | "alertdialog" | "alert" => 1,
                "menu" => 2,
                "menuitem" if part.facts.states.contains(&State::Expanded) => 2,
                _ => 0,
            };
            holder.parts.iter().map(opens).max().unwrap_or(0).max(*layer)
        });
        layers.push(layer);
    }
    layers
}

/// Gives each element a label that no other has: its name and role, its row where several are alike, else its number.
fn labelled(mut all: Vec<Element<'_>>) -> Vec<Element<'_>> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for element in &mut all {
        let name = squeezed(&element.part.facts.name, MAX_NAME_CHARS);
        let role = element.part.role.replace(' ', "_");
        let name = if name.is_empty() { role.clone() } else { name };
        // The first text alone may be a number that no task names.
        let row = squeezed(&element.part.row, MAX_NAME_CHARS);
        let label =
            if row.is_empty() { format!("{name} ({role})") } else { format!("{name} ({role}, row {row})") };
        let count = seen.entry(label.clone()).or_default();
        *count += 1;
        element.label = match *count {
            1 => label,
            count => format!("{} {count})", label.strip_suffix(')').unwrap_or(&label)),
        };
    }
    all
}

/// One line: the reference, the label, and what is to be seen of the element. The reference is for the program: an adapter
/// of a model that names elements takes it away.
fn line(element: &Element<'_>) -> String {
    let facts = &element.part.facts;
    let mut text = format!("#{} {}", element.part.id.0, element.label);
    let value = facts.value.as_deref().or_else(|| takes_text_role(&element.part.role).then_some(""));
    if let Some(value) = value {
        let _ = write!(text, " = {:?}", ends_of(value.trim_end()));
    }
    if let Some(options) = element.options {
        let _ = write!(text, " {options}");
    }
    let mut states: Vec<&str> = Vec::new();
    if facts.has_focus {
        states.push("focused");
    }
    let told = [State::Checked, State::Unchecked, State::Selected, State::Default];
    states.extend(told.into_iter().filter(|state| facts.states.contains(state)).map(State::word));
    if !states.is_empty() {
        let _ = write!(text, " [{}]", states.join(", "));
    }
    text
}

/// A text on one line, cut.
fn squeezed(text: &str, limit: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let visible: String = text.chars().filter(|c| !matches!(c, '\u{200e}' | '\u{200f}' | '#')).collect();
    match visible.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", visible[..at].trim_end()),
        None => visible,
    }
}

/// The beginning and the end of a long value.
fn ends_of(value: &str) -> String {
    let count = value.chars().count();
    if count <= MAX_VALUE_CHARS {
        return value.to_owned();
    }
    let begin: String = value.chars().take(MAX_VALUE_CHARS / 3).collect();
    let end: String = value.chars().skip(count - MAX_VALUE_CHARS * 2 / 3).collect();
    format!("{begin} … {end}")
}

#[cfg(test)]
mod tests;
