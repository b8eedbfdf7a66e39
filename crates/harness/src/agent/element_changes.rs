//! What changed between two lists of elements, as a model gets it after its first view. Pure.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use apprentice_protocol::NodeRef;

use super::element_list::{ElementList, Part};

/// Most elements that are named as gone.
const GONE: usize = 12;
/// Roles of what closes, which tells more than what was in a list.
const WINDOWS: &[&str] = &["window", "dialog", "alertdialog", "alert"];

/// Writes what changed, or `None` when more than half of the list is new: then the whole list says it better.
pub(super) fn write(before: &ElementList, now: &ElementList) -> Option<String> {
    let old: HashMap<&NodeRef, &Part> = before.parts().map(|part| (&part.id, part)).collect();
    let present: HashSet<&NodeRef> = now.parts().map(|part| &part.id).collect();
    let differs = |part: &&Part| old.get(&part.id).is_none_or(|was| was.text != part.text);
    let all = now.parts().count();
    let different = now.parts().filter(differs).count();
    let gone: Vec<&Part> = before.parts().filter(|part| !present.contains(&part.id)).collect();
    if (different + gone.len()) * 2 > all.max(1) {
        return None;
    }
    let mut text = changed_lines(&old, now);
    text.push_str(&gone_line(before, &present, gone.len()));
    if before.focus != now.focus {
        let focus = now.focus.as_deref().unwrap_or("no element");
        let _ = writeln!(text, "focus: {focus}");
    }
    if text.is_empty() {
        text.push_str("[nothing: every element is as it was]\n");
    }
    Some(text)
}

/// The lines that hold something new or changed, each below the line that holds it.
fn changed_lines(old: &HashMap<&NodeRef, &Part>, now: &ElementList) -> String {
    let mut text = String::new();
    let mut context: Option<usize> = None;
    for line in &now.lines {
        let differs = |part: &&Part| old.get(&part.id).is_none_or(|was| was.text != part.text);
        let is_new = |part: &&Part| !old.contains_key(&part.id);
        if !line.parts.iter().any(|part| differs(&part)) {
            continue;
        }
        if line.parent != context {
            context = line.parent;
            let holder =
                line.parent.and_then(|parent| now.lines.get(parent)).and_then(|line| line.parts.first());
            if let Some(holder) =
                holder.filter(|holder| old.get(&holder.id).is_some_and(|was| was.text == holder.text))
            {
                let _ = writeln!(text, "in {} #{}:", holder.label, holder.id);
            }
        }
        let new: Vec<&Part> = line.parts.iter().filter(is_new).collect();
        let changed = line.parts.iter().filter(|part| differs(part) && !is_new(part));
        for (sign, written) in [("+", line.write(new.iter().copied())), ("~", line.write(changed))] {
            if !written.is_empty() {
                let _ = writeln!(text, "{sign} {}{written}", "  ".repeat(line.depth.saturating_sub(1)));
            }
        }
    }
    text
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
    let tops: Vec<String> = tops.iter().map(|part| format!("{} #{}", part.label, part.id)).collect();
    let named: Vec<&str> = tops.iter().take(GONE).map(String::as_str).collect();
    match count - named.len().min(count) {
        0 => format!("- {}\n", named.join(", ")),
        more => format!("- {}, and {more} more in them or like them\n", named.join(", ")),
    }
}
