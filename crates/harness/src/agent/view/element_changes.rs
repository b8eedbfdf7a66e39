//! What changed between two lists of elements, as a model gets it after its first view. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use apprentice_protocol::{DetailKind, NodeRef, State};

use super::element_list::{ElementList, Facts, Line, Part};
use super::text_changes::text_changes;

/// Most elements that are named as gone.
const GONE: usize = 12;
/// So many items of a menu that are gone are named.
const FEW: usize = 3;
/// Roles of what closes, which tells more than what was in a list.
const WINDOWS: &[&str] = &["window", "dialog", "alertdialog", "alert"];
/// What was there is told up to this length, in characters.
const SHORT: usize = 40;
/// States of which one comes when the other goes, so that one says it.
const OPPOSITES: &[(State, State)] =
    &[(State::Checked, State::Unchecked), (State::Expanded, State::Collapsed)];
/// What is said of a window that nothing blocks any more.
const IN_FRONT_AGAIN: &str = "[in front again: all else in it is as last listed]";

/// Two lists, compared.
struct Comparison<'a> {
    /// What was told of each element.
    old: HashMap<&'a NodeRef, &'a Part>,
    before: &'a ElementList,
    now: &'a ElementList,
}

/// Writes what changed, or `None` when more than half of the list is new: then the whole list says it better. `now` remembers
/// what `before` told ([`ElementList::after`]).
pub(crate) fn write(before: &ElementList, now: &ElementList) -> Option<String> {
    let old: HashMap<&NodeRef, &Part> = before.told().map(|part| (&part.id, part)).collect();
    let comparison = Comparison { old, before, now };
    let emptied: Vec<&Part> = before.told().filter(|part| now.empty.contains(&part.id)).collect();
    let present = now.told().map(|part| &part.id).chain(emptied.iter().map(|part| &part.id));
    let present: HashSet<&NodeRef> = present.collect();
    let gone = before.told().filter(|part| !present.contains(&part.id)).count();
    let different = now.parts().filter(|part| comparison.differs(part)).count();
    let listed = before.parts().filter(|part| !present.contains(&part.id)).count();
    if (different + listed) * 2 > now.parts().count().max(1) {
        return None;
    }
    let mut text = comparison.changed_lines();
    text.push_str(&emptied_line(&emptied));
    text.push_str(&gone_line(before, &present, gone));
    text.push_str(&comparison.off_screen_line());
    if before.outside_note != now.outside_note {
        text.push_str(&now.outside_note);
    }
    text.push_str(&comparison.focus_line());
    if text.is_empty() {
        text.push_str("[nothing: every element is as it was]\n");
    }
    Some(text)
}

impl Comparison<'_> {
    /// Whether an element is new or says something else. That it got or lost the focus is told on its own.
    fn differs(&self, part: &Part) -> bool {
        self.old.get(&part.id).is_none_or(|was| !was.says_the_same(part) && !was.only_left_the_screen(part))
    }

    /// The elements that were on the screen, in one sentence. They are as last listed otherwise.
    fn off_screen_line(&self) -> String {
        let left = |part: &&Part| self.old.get(&part.id).is_some_and(|was| was.only_left_the_screen(part));
        let parts: Vec<&Part> = self.now.told().filter(left).collect();
        match parts.as_slice() {
            [] => String::new(),
            [one] => format!("off the screen now: {} #{}\n", one.label, one.id),
            [first, .., last] => format!(
                "off the screen now: {} elements, from {} #{} to {} #{}\n",
                parts.len(),
                first.label,
                first.id,
                last.label,
                last.id
            ),
        }
    }

    fn is_new(&self, part: &Part) -> bool {
        !self.old.contains_key(&part.id)
    }

    /// The lines that hold something new or changed, each below the line that holds it.
    fn changed_lines(&self) -> String {
        let mut text = String::new();
        let mut context: Option<usize> = None;
        for line in &self.now.lines {
            let note = self.changed_note(line);
            if note.is_none() && !line.parts.iter().any(|part| self.differs(part)) {
                continue;
            }
            if line.parent != context {
                context = line.parent;
                text.push_str(&self.holder_line(line));
            }
            let indent = "  ".repeat(line.depth.saturating_sub(1));
            if let Some(note) = note {
                let _ = writeln!(text, "~ {indent}{note}");
            }
            let new = line.write_new(|part| self.is_new(part));
            let changed = line.parts.iter().filter(|part| self.differs(part) && !self.is_new(part));
            let changed = line.write_each(changed, |part| {
                self.old.get(&part.id).map(|was| was_words(&was.facts, &part.facts)).unwrap_or_default()
            });
            for (sign, written) in [("+", new), ("~", changed)] {
                if !written.is_empty() && !line.parts.is_empty() {
                    let _ = writeln!(text, "{sign} {indent}{written}");
                }
            }
            if self.is_free_again(line) {
                let _ = writeln!(text, "~ {indent}  {IN_FRONT_AGAIN}");
            }
        }
        text
    }

    /// The line of what holds a line, where it is not told itself.
    fn holder_line(&self, line: &Line) -> String {
        let holder =
            line.parent.and_then(|parent| self.now.lines.get(parent)).and_then(|line| line.parts.first());
        match holder.filter(|holder| !self.differs(holder)) {
            Some(holder) => format!("in {} #{}:\n", holder.label, holder.id),
            None => String::new(),
        }
    }

    /// A sentence about what is not listed, where it says something else than before.
    fn changed_note<'l>(&self, line: &'l Line) -> Option<&'l str> {
        let note = line.note.as_ref()?;
        let holder = line.parent.and_then(|parent| self.now.lines.get(parent))?.parts.first()?;
        let was = self.before.note_below(&holder.id).map(|note| note.lasting.as_str());
        (was.unwrap_or_default() != note.lasting).then_some(note.text.as_str())
    }

    /// Whether a window was behind another and is not now.
    fn is_free_again(&self, line: &Line) -> bool {
        let Some(window) = line.parts.first().filter(|part| WINDOWS.contains(&part.role.as_str())) else {
            return false;
        };
        let is_held_back = |list: &ElementList| list.note_below(&window.id).is_some();
        is_held_back(self.before) && !is_held_back(self.now)
    }

    /// Where the keyboard focus is, where that changed and no line above says it.
    fn focus_line(&self) -> String {
        let (before, now) = (&self.before.focus, &self.now.focus);
        let part = now.as_ref().and_then(|id| self.now.parts().find(|part| part.id == *id));
        match part {
            None if before.is_some() => "focus: no element\n".to_owned(),
            Some(part) if before != now && !self.differs(part) => {
                format!("focus: {}\n", part.text.replacen(" [focused]", "", 1))
            }
            Some(part) if !self.differs(part) => self.mark_lines(part),
            _ => String::new(),
        }
    }

    /// Where the caret went, or what is selected now, in an element that says the same otherwise.
    fn mark_lines(&self, part: &Part) -> String {
        let was = self.old.get(&part.id).map(|was| &was.facts.marks);
        if part.facts.marks.is_empty() || was.is_none_or(|was| *was == part.facts.marks) {
            return String::new();
        }
        let marks: Vec<String> =
            part.facts.marks.iter().map(|mark| format!("{} {:?}", mark.kind.word(), mark.text)).collect();
        format!("in {} #{}: {}\n", part.label, part.id, marks.join(" "))
    }
}

/// What an element was before, in words: ` (was "6", disabled)`; of a long text, what of it changed: ` ("big " is new)`. Empty
/// where that is too long to be told.
fn was_words(was: &Facts, now: &Facts) -> String {
    let (mut words, mut changed): (Vec<String>, Option<String>) = (Vec::new(), None);
    if was.name != now.name {
        words.extend(short(&was.name));
    }
    if was.value != now.value {
        let [was, now] = [was, now].map(|facts| facts.value.as_deref().unwrap_or_default());
        match short(was) {
            Some(was) => words.push(was),
            None => changed = text_changes(was, now),
        }
    }
    for kind in DetailKind::ALL {
        let of = |facts: &Facts| {
            facts.details.iter().find(|detail| detail.kind == kind).map(|one| one.text.clone())
        };
        match (of(was), of(now)) {
            (was, now) if was == now => {}
            (Some(was), _) => words.extend(short(&was).map(|was| format!("{} {was}", kind.word()))),
            (None, _) => words.push(format!("without {}", kind.word())),
        }
    }
    words.extend(was.states.difference(&now.states).map(|state| state.word().to_owned()));
    words.extend(gained(&was.states, &now.states).map(|state| format!("not {}", state.word())));
    match (was.off_screen, now.off_screen) {
        (true, false) => words.push("off the screen".to_owned()),
        (false, true) => words.push("on the screen".to_owned()),
        _ if was.place != now.place => words.push("elsewhere".to_owned()),
        _ => {}
    }
    let was = (!words.is_empty()).then(|| format!("was {}", words.join(", ")));
    let told: Vec<String> = changed.into_iter().chain(was).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join("; ")) }
}

/// States that came, other than those of which the opposite went.
fn gained<'s>(was: &'s BTreeSet<State>, now: &'s BTreeSet<State>) -> impl Iterator<Item = &'s State> {
    let is_said = |state: State| {
        OPPOSITES.iter().any(|(one, other)| {
            (state == *one && was.contains(other)) || (state == *other && was.contains(one))
        })
    };
    now.difference(was).filter(move |state| !is_said(**state))
}

/// A text in quotes, if it is short.
fn short(text: &str) -> Option<String> {
    match text.chars().count() {
        0 => Some("empty".to_owned()),
        1..=SHORT => Some(format!("{text:?}")),
        _ => None,
    }
}

/// The cells that held something and are empty now.
fn emptied_line(emptied: &[&Part]) -> String {
    let held = emptied.iter().filter(|part| part.facts.value.is_some());
    let held: Vec<String> = held.map(|part| format!("{} #{}", part.label, part.id)).collect();
    let named: Vec<&str> = held.iter().take(GONE).map(String::as_str).collect();
    match held.len() - named.len() {
        _ if held.is_empty() => String::new(),
        0 => format!("~ empty now: {}\n", named.join(", ")),
        more => format!("~ empty now: {}, and {more} more\n", named.join(", ")),
    }
}

/// The elements that are gone: those whose holder is still there, windows and dialogs first, with the number of all.
fn gone_line(before: &ElementList, present: &HashSet<&NodeRef>, count: usize) -> String {
    if count == 0 {
        return String::new();
    }
    let stays = |line: usize| {
        before.lines.get(line).is_some_and(|line| line.parts.iter().any(|part| present.contains(&part.id)))
    };
    let tops = before.lines.iter().filter(|line| line.parent.is_none_or(stays)).flat_map(|line| &line.parts);
    let mut tops: Vec<&Part> = tops.filter(|part| !present.contains(&part.id)).collect();
    tops.sort_by_key(|part| !WINDOWS.contains(&part.role.as_str()));
    let is_item = |part: &Part| part.role.starts_with("menuitem");
    let (items, tops): (Vec<&Part>, Vec<&Part>) = tops.into_iter().partition(|part| is_item(part));
    let mut tops: Vec<String> = tops.iter().map(|part| format!("{} #{}", part.label, part.id)).collect();
    let mut count = count;
    if items.len() > FEW {
        let of_menus = before.told().filter(|part| is_item(part) && !present.contains(&part.id)).count();
        count -= of_menus - 1;
        tops.insert(0, format!("{of_menus} items of a closed menu"));
    } else {
        tops.extend(items.iter().map(|part| format!("{} #{}", part.label, part.id)));
    }
    let named: Vec<&str> = tops.iter().take(GONE).map(String::as_str).collect();
    match (count - named.len().min(count), named.is_empty()) {
        (0, _) => format!("- {}\n", named.join(", ")),
        (more, true) => format!("- {more} elements that were listed earlier\n"),
        (more, false) => format!("- {}, and {more} more\n", named.join(", ")),
    }
}
