//! Writes the learning of an attempt on web pages: the address of a setting, or the presses and keys that make a value count
//! and save it. It contains no value, name or word of the task.

use apprentice_protocol::{Outline, StepId, TrajectoryStep};

use super::learning::Learned;
use super::lesson::is_field;
use super::words::{plain, same_label};

/// The largest number of a page's labels that a learning lists.
const MAX_LABELS: usize = 8;

/// Returns the role, the name and the value of an added line, and whether it is a toggle.
fn added(line: &str) -> Option<(String, String, Option<String>, bool)> {
    let line = line.strip_prefix('+')?.trim_start();
    let toggles = line.contains("[checked]") || line.contains("[unchecked]");
    let bare = line.split(" [").next().unwrap_or(line);
    let node = Outline::parse(&format!("{bare} #x")).nodes.into_iter().next()?;
    Some((node.role, node.name.trim().to_owned(), node.value, toggles))
}

fn is_address(role: &str, name: &str) -> bool {
    role == "textbox" && plain(name).iter().any(|word| word == "address" || word == "location")
}

/// Returns whether an attempt took place on browser pages.
pub(super) fn is_of_pages(steps: &[TrajectoryStep]) -> bool {
    let lines = steps.iter().flat_map(|step| &step.seen.changed).filter_map(|line| added(line));
    lines
        .into_iter()
        .any(|(role, name, ..)| is_address(&role, &name) || role == "document" && !name.is_empty())
}

#[derive(Default)]
struct Walk {
    lines: Vec<String>,
    evidence: Vec<StepId>,
    /// The address of the browser's own page in front; empty on a page of the task.
    address: String,
    /// The toggles of that page.
    offered: Vec<String>,
    /// The toggles that were set.
    set: Vec<String>,
    is_cell: bool,
    field: String,
}

/// Returns the learning of an attempt on web pages; `None` if it is obvious.
pub(super) fn lesson(
    steps: &[TrajectoryStep],
    scope: &str,
    is_own: impl Fn(&str) -> bool,
) -> Option<Learned> {
    let mut walk = Walk::default();
    for step in steps {
        walk.look(step);
        for action in step.actions.iter().filter(|action| action.outcome.starts_with("done")) {
            let role = action.role.as_deref().unwrap_or_default().to_lowercase();
            let before = walk.lines.len();
            walk.take(&action.action, &role, action.name.as_deref().unwrap_or_default().trim());
            if walk.lines.len() > before {
                walk.evidence.push(step.id);
            }
        }
    }
    let Walk { mut lines, mut evidence, address, offered, set, is_cell, .. } = walk;
    evidence.dedup();
    if !set.is_empty() {
        let others = offered.iter().filter(|label| !set.contains(label) && !is_own(label));
        let listed: Vec<&str> = set.iter().chain(others).take(MAX_LABELS).map(String::as_str).collect();
        let listed = listed.join(", ");
        let place = plain(address.rsplit('/').next().unwrap_or_default()).join(" ");
        let confirm = lines.pop().filter(|line| line.starts_with("Press "));
        lines = vec![
            format!("Open {address} in the address field."),
            format!("Set what the task asks for (there are: {listed})."),
        ];
        lines.extend(confirm.map(|line| format!("{} if a question appears.", line.trim_end_matches('.'))));
        let wasted = u32::try_from(steps.len().saturating_sub(4)).unwrap_or(u32::MAX);
        return Some(Learned { situation: format!("{place} in {scope}: {listed}"), lines, evidence, wasted });
    }
    lines.dedup();
    let what =
        if is_cell { "Changing a value in a table" } else { "Adding a name or another value to a list" };
    let situation = format!("{what} on a page in {scope}, and saving the changes");
    (lines.len() > 1).then_some(Learned { situation, lines, evidence, wasted: 2 })
}

impl Walk {
    fn look(&mut self, step: &TrajectoryStep) {
        for (role, name, value, toggles) in step.seen.changed.iter().filter_map(|line| added(line)) {
            if is_address(&role, &name) {
                let address = value.unwrap_or_default();
                let place = address.split(['?', '#']).next().unwrap_or_default();
                let is_task = ["http:", "https:", "file:"].iter().any(|scheme| place.starts_with(scheme));
                if place != self.address && self.set.is_empty() {
                    self.address =
                        if is_task || !place.contains("://") { String::new() } else { place.to_owned() };
                    self.offered.clear();
                }
            } else if (toggles || role == "radio") && !name.is_empty() && !self.offered.contains(&name) {
                self.offered.push(name);
            }
        }
    }

    /// Returns whether a control of the browser's own page is a setting: a toggle, or a button with a sentence for a name.
    fn is_toggle(&self, role: &str, label: &str) -> bool {
        let is_known = matches!(role, "checkbox" | "switch" | "radio")
            || self.offered.iter().any(|known| same_label(known, label))
            || role == "button" && plain(label).len() >= 4;
        is_known && !self.address.is_empty()
    }

    fn take(&mut self, action: &str, role: &str, label: &str) {
        let is_double = action.starts_with("double");
        match plain(action).first().map_or("", String::as_str) {
            "double" | "click" if is_double && role.contains("cell") => {
                self.is_cell = true;
                self.lines.push("Double-click the cell that the task is about.".into());
            }
            "click" if is_field(role) => label.clone_into(&mut self.field),
            "click" if self.is_toggle(role, label) => {
                self.lines.clear();
                self.set.push(label.to_owned());
            }
            "click" if role == "button" && !self.set.is_empty() => {
                self.lines.push(format!("Press \"{label}\"."));
            }
            "click" if role == "button" && !label.is_empty() => self.lines.push(format!("Open \"{label}\".")),
            "click" if role == "menuitem" => self.lines.push(format!("Choose \"{label}\".")),
            "type" if !plain(&self.field).iter().any(|word| word == "search" || word == "address") => {
                self.lines.push("Type the value that the task names into the field.".into());
            }
            "key" if action.ends_with("enter") => self.lines.push("Press Enter.".into()),
            "key" if action.ends_with("ctrl+a") && self.is_cell => self.lines.push("Press Ctrl+A.".into()),
            _ => {}
        }
    }
}
