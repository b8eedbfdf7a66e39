//! What an attempt's steps show: which surfaces led somewhere, what was done there, and what was wasted.
//!
//! A press that was taken back with Escape or by going back was a dead end; what remains is the way.

use apprentice_protocol::{Outline, StepAction, StepId, TrajectoryStep};

use super::words::{plain, same_label};

/// What was done on a surface.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deed {
    /// A command or an entry of a list was chosen.
    Choose(String),
    /// A switch was turned.
    Switch(String),
    /// A value was typed into a field of this name.
    Fill(String),
    /// A button was pressed.
    Press(String),
    /// A key was pressed.
    Key(String),
}

impl Deed {
    /// The label it was done to; empty for a nameless field.
    pub(super) fn label(&self) -> &str {
        match self {
            Self::Choose(label)
            | Self::Switch(label)
            | Self::Fill(label)
            | Self::Press(label)
            | Self::Key(label) => label,
        }
    }
}

/// One surface that led somewhere: the way there and what was done on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Visit {
    /// Labels pressed to get there, in order.
    pub(super) way: Vec<String>,
    /// Whether the way starts at a context menu.
    pub(super) by_context: bool,
    /// What was done there.
    pub(super) deeds: Vec<Deed>,
    /// Other labels that stood there.
    pub(super) beside: Vec<String>,
    /// Whether the whole text was selected before.
    pub(super) whole: bool,
    /// Steps wasted before it.
    pub(super) wasted: u32,
    /// The steps that show it.
    pub(super) evidence: Vec<StepId>,
}

/// What a walk over the steps found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lesson {
    /// The surfaces that led somewhere, in order.
    pub(super) visits: Vec<Visit>,
    /// Labels that were pressed in vain.
    pub(super) in_vain: Vec<String>,
    /// Every label pressed.
    pub(super) pressed: Vec<String>,
}

#[derive(Clone, Debug)]
struct Leg {
    label: String,
    role: String,
    step: StepId,
    offered: Vec<String>,
    context: bool,
}

#[derive(Default)]
struct Walk {
    legs: Vec<Leg>,
    deeds: Vec<(Deed, StepId)>,
    found: Lesson,
    wasted: u32,
    whole: bool,
    field: Option<String>,
}

/// Walks over the steps of an attempt.
pub(super) fn walk(steps: &[TrajectoryStep]) -> Lesson {
    let mut walk = Walk::default();
    for (at, step) in steps.iter().enumerate() {
        let offered = steps.get(at + 1).map(|next| offered(&next.seen.changed)).unwrap_or_default();
        for action in step.actions.iter().filter(|action| action.outcome.starts_with("done")) {
            walk.take(action, step.id, &offered);
        }
    }
    walk.close();
    walk.found
}

/// Labels of commands and switches that appeared.
fn offered(changed: &[String]) -> Vec<String> {
    let lines: Vec<&str> =
        changed.iter().filter_map(|line| line.strip_prefix('+')).map(str::trim_start).collect();
    let mut found: Vec<String> = Vec::new();
    for line in lines {
        let read =
            Outline::parse(&format!("{line} #x")).nodes.into_iter().chain(Outline::parse(line).nodes).next();
        let role_of = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
        let (role, name) = match read {
            Some(node) => (node.role, node.name),
            None => (role_of(line), line.split('"').nth(1).unwrap_or_default().to_owned()),
        };
        let name = name.trim().to_owned();
        let is_choice = role.starts_with("menuitem")
            || matches!(role.as_str(), "checkbox" | "radio" | "switch" | "option" | "menu" | "tab");
        if is_choice && !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

fn leads(role: &str) -> bool {
    matches!(role, "menu" | "menuitem" | "tab" | "link" | "button" | "combobox")
}

impl Walk {
    fn take(&mut self, action: &StepAction, step: StepId, offered: &[String]) {
        let words = plain(&action.action);
        let verb = words.first().map_or("", String::as_str);
        let role = action.role.clone().unwrap_or_default().to_lowercase();
        let label = action.name.clone().unwrap_or_default().trim().to_owned();
        match verb {
            "click" | "double" | "right" | "press" | "secondary" | "left" => {
                let context = words.iter().any(|word| word == "right" || word == "secondary");
                let leg = Leg { label, role, step, offered: offered.to_vec(), context };
                self.click(leg);
            }
            "select" | "choose" => self.deed(Deed::Choose(label), step),
            "type" => {
                if let Some(address) = words_of_address(&action.action) {
                    self.found.pressed.push(address);
                }
                let clicked = self.field.take();
                let fills = clicked.is_some() || role.contains("box") || role.contains("spin");
                let field = clicked.unwrap_or(label);
                if fills && !self.legs.is_empty() {
                    self.deed(Deed::Fill(field), step);
                }
            }
            "key" | "hold" => self.key(action.action.trim(), step),
            "history" | "back" => self.back_out(),
            _ => {}
        }
    }

    fn click(&mut self, leg: Leg) {
        let (label, role, step) = (leg.label.clone(), leg.role.clone(), leg.step);
        let role = role.as_str();
        if !label.is_empty() {
            self.found.pressed.push(label.clone());
        }
        if role.contains("box") && !matches!(role, "checkbox" | "combobox") || role.contains("spin") {
            self.field = Some(label);
            return;
        }
        if leg.context {
            self.close();
            self.legs.push(leg);
            return;
        }
        if role == "menu"
            && self.legs.last().is_some_and(|last| last.role == "menuitem" && !promises(&last.label))
        {
            let inside = self.legs.last().is_some_and(|last| last.offered.contains(&label));
            if !inside {
                self.close();
            }
        }
        match role {
            "checkbox" | "switch" | "radio" | "menuitemcheckbox" | "menuitemradio" => {
                self.deed(Deed::Switch(label), step);
                if role.starts_with("menuitem") {
                    self.close();
                }
            }
            "option" => self.deed(Deed::Choose(label), step),
            "button" if dismisses(&label) && self.deeds.is_empty() => self.escape(),
            "button" if self.in_dialog() && !promises(&label) => {
                self.deed(Deed::Press(label), step);
                self.close();
            }
            _ if leads(role) && !label.is_empty() => {
                if role == "tab" {
                    self.legs.retain(|leg| leg.role != "tab");
                }
                self.legs.push(leg);
            }
            _ => {}
        }
    }

    fn key(&mut self, text: &str, step: StepId) {
        let chord = text.split_whitespace().last().unwrap_or_default().to_lowercase();
        match chord.as_str() {
            "escape" => self.escape(),
            "ctrl+a" => self.whole |= self.field.is_none(),
            "alt+left" => self.back_out(),
            "ctrl+s" | "enter" | "tab" | "ctrl+end" | "ctrl+home" | "" => {}
            other => self.deed(Deed::Key(other.to_owned()), step),
        }
    }

    fn in_dialog(&self) -> bool {
        self.legs.iter().any(|leg| promises(&leg.label) || leg.role == "tab") || !self.deeds.is_empty()
    }

    fn deed(&mut self, deed: Deed, step: StepId) {
        self.deeds.push((deed, step));
    }

    /// Escape leaves a menu by one level and a dialog as a whole. Something done there stays done.
    fn escape(&mut self) {
        if !self.deeds.is_empty() {
            self.close();
            return;
        }
        self.wasted += 1;
        while self.legs.last().is_some_and(|leg| leg.role == "tab") {
            self.drop_leg();
        }
        let dialog = self.legs.iter().any(|leg| promises(&leg.label));
        if dialog {
            while !self.legs.is_empty() {
                self.drop_leg();
            }
        } else {
            self.drop_leg();
        }
    }

    fn back_out(&mut self) {
        self.wasted += 1;
        self.drop_leg();
    }

    fn drop_leg(&mut self) {
        if let Some(leg) = self.legs.pop() {
            self.wasted += 1;
            self.found.in_vain.push(leg.label);
        }
    }

    /// Ends a visit: a last leg that is a command was itself the deed.
    fn close(&mut self) {
        let mut beside = self.legs.last().map(|leg| leg.offered.clone()).unwrap_or_default();
        if self.deeds.is_empty()
            && self.legs.len() > 1
            && let Some(last) = self.legs.pop_if(|leg| !promises(&leg.label) && leg.role != "tab")
        {
            beside = self.legs.last().map(|leg| leg.offered.clone()).unwrap_or_default();
            self.deeds.push((Deed::Choose(last.label), last.step));
        }
        if !self.deeds.is_empty() && !self.legs.is_empty() {
            let mut evidence: Vec<StepId> = self
                .legs
                .iter()
                .map(|leg| leg.step)
                .chain(self.deeds.iter().map(|(_, step)| *step))
                .collect();
            evidence.dedup();
            self.found.visits.push(Visit {
                by_context: self.legs.iter().any(|leg| leg.context),
                way: self.legs.iter().filter(|leg| !leg.context).map(|leg| leg.label.clone()).collect(),
                deeds: self.deeds.iter().map(|(deed, _)| deed.clone()).collect(),
                beside,
                whole: self.whole,
                wasted: std::mem::take(&mut self.wasted),
                evidence,
            });
            self.whole = false;
        }
        self.legs.clear();
        self.deeds.clear();
        self.field = None;
    }
}

/// An address that was typed.
fn words_of_address(action: &str) -> Option<String> {
    let text = action.split('"').nth(1).filter(|text| text.contains("://"))?;
    Some(text.trim_end_matches("\\n").to_owned())
}

/// Whether a button only leaves a surface.
fn dismisses(label: &str) -> bool {
    matches!(plain(label).join(" ").as_str(), "cancel" | "close" | "back" | "dismiss")
}

/// Whether a label promises another surface.
fn promises(label: &str) -> bool {
    label.ends_with('…') || label.ends_with("...")
}

impl Lesson {
    /// Whether a label was pressed.
    pub(super) fn has_pressed(&self, label: &str) -> bool {
        self.pressed.iter().any(|pressed| same_label(pressed, label))
    }
}
