//! Analyzes the steps of an attempt and separates the route from dead ends: a press that was taken back with Escape or by
//! opening something else was a dead end.

use apprentice_protocol::{StepAction, StepId, TrajectoryStep};

use super::actions::dismisses;
use super::words::{plain, same_label};

/// An action performed on a surface.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    /// Chose a command or a list entry with this label.
    Choose(String),
    /// Toggled the switch with this label.
    Switch(String),
    /// Typed a text into the field with this label.
    Fill(String),
    /// Pressed the button with this label.
    Press(String),
}

impl Act {
    /// Returns the label of the target; empty for an unnamed field.
    pub(super) fn label(&self) -> &str {
        match self {
            Self::Choose(label) | Self::Switch(label) | Self::Fill(label) | Self::Press(label) => label,
        }
    }
}

/// A surface that contributed to the outcome: the route to it and the actions performed there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Visit {
    /// Labels pressed to reach the surface, in order.
    pub(super) way: Vec<String>,
    /// Whether the route starts at a context menu.
    pub(super) by_context: bool,
    pub(super) acts: Vec<Act>,
    /// Other labels visible on the surface.
    pub(super) beside: Vec<String>,
    /// Routes of what had to be chosen before.
    pub(super) first: Vec<Vec<String>>,
    /// Commands that were disabled before, the last leg of the route among them.
    pub(super) barred: Vec<String>,
    /// Whether the whole text was selected before.
    pub(super) whole: bool,
    /// Number of steps wasted before this visit.
    pub(super) wasted: u32,
    pub(super) evidence: Vec<StepId>,
}

/// The result of analyzing an attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lesson {
    /// The surfaces that contributed, in order.
    pub(super) visits: Vec<Visit>,
    /// Labels whose presses led nowhere.
    pub(super) dead_ends: Vec<String>,
    /// Every label or address used.
    pub(super) pressed: Vec<String>,
}

impl Lesson {
    /// Returns whether a label was used.
    pub(super) fn has_pressed(&self, label: &str) -> bool {
        self.pressed.iter().any(|pressed| same_label(pressed, label))
    }

    /// A switch that the task does not ask for, toggled before another visit, becomes a prerequisite of that visit.
    fn merge_prerequisites(&mut self, is_asked: impl Fn(&str) -> bool) {
        let visits = std::mem::take(&mut self.visits);
        let last = visits.len().saturating_sub(1);
        let mut first: Vec<Visit> = Vec::new();
        for (at, mut visit) in visits.into_iter().enumerate() {
            let alone = matches!(visit.acts.as_slice(), [Act::Switch(label)] if !is_asked(label));
            if alone && at < last && !visit.by_context {
                first.push(visit);
                continue;
            }
            for mut before in first.drain(..) {
                visit.wasted += before.wasted;
                visit.evidence.splice(0..0, before.evidence);
                before.way.extend(before.acts.first().map(|act| act.label().to_owned()));
                visit.first.push(before.way);
            }
            visit.barred.retain(|_| !visit.first.is_empty());
            self.visits.push(visit);
        }
    }
}

/// What changed on the screen after an action.
#[derive(Clone, Debug, Default)]
struct Sight {
    /// Labels of new entries and switches.
    labels: Vec<String>,
    /// The new labels that are disabled.
    barred: Vec<String>,
    /// Labels of menus that were opened and closed.
    open: Vec<String>,
    shut: Vec<String>,
    /// Whether a dialog or window appeared.
    dialog: bool,
}

#[derive(Clone, Debug)]
struct Leg {
    label: String,
    role: String,
    step: StepId,
    sight: Sight,
    context: bool,
}

impl Leg {
    fn opens(&self) -> bool {
        self.sight.dialog || !self.sight.labels.is_empty() || self.sight.open.contains(&self.label)
    }

    fn is_command(&self) -> bool {
        matches!(self.role.as_str(), "menu" | "menuitem")
    }
}

#[derive(Default)]
struct Walk {
    legs: Vec<Leg>,
    acts: Vec<(Act, StepId)>,
    found: Lesson,
    barred: Vec<Vec<String>>,
    wasted: u32,
    whole: bool,
    field: Option<String>,
}

/// Analyzes the steps of an attempt. `is_asked` says whether the task asks for a label.
pub(super) fn walk(steps: &[TrajectoryStep], is_asked: impl Fn(&str) -> bool) -> Lesson {
    let mut walk = Walk::default();
    for (at, step) in steps.iter().enumerate() {
        let sight = steps.get(at + 1).map(|next| sight(&next.seen.changed)).unwrap_or_default();
        for action in step.actions.iter().filter(|action| action.outcome.starts_with("done")) {
            walk.take(action, step.id, &sight);
        }
    }
    walk.close();
    walk.found.merge_prerequisites(is_asked);
    walk.found
}

/// Parses the changed lines. An element that only changed its state does not count as new.
fn sight(changed: &[String]) -> Sight {
    let lines = |sign: char| -> Vec<(String, String, &str)> {
        let lines = changed.iter().filter_map(|line| line.strip_prefix(sign)).map(str::trim_start);
        lines
            .map(|line| (line.split_whitespace().next().unwrap_or_default().to_owned(), name_of(line), line))
            .collect()
    };
    let (new, gone) = (lines('+'), lines('-'));
    let is_surface = |role: &str| matches!(role, "dialog" | "alert" | "window" | "frame" | "file_chooser");
    let surfaces =
        |lines: &[(String, String, &str)]| lines.iter().filter(|(role, ..)| is_surface(role)).count();
    let open = |lines: &[(String, String, &str)]| -> Vec<String> {
        lines
            .iter()
            .filter(|(_, _, line)| line.contains("[expanded]"))
            .map(|(_, name, _)| name.clone())
            .collect()
    };
    let mut found = Sight { dialog: surfaces(&new) > surfaces(&gone), open: open(&new), ..Sight::default() };
    found.shut = open(&gone).into_iter().filter(|name| !found.open.contains(name)).collect();
    for (role, name, line) in &new {
        let is_choice = role.starts_with("menuitem")
            || matches!(role.as_str(), "checkbox" | "radio" | "switch" | "option" | "menu" | "tab");
        let is_known = gone.iter().any(|(before, known, _)| before == role && known == name);
        if !is_choice || is_known || name.is_empty() || found.labels.contains(name) {
            continue;
        }
        if line.contains("[disabled]") {
            found.barred.push(name.clone());
        }
        found.labels.push(name.clone());
    }
    found
}

/// Returns the name in a changed line, where it is spelled as a JSON string.
pub(super) fn name_of(line: &str) -> String {
    let Some(at) = line.find('"') else { return String::new() };
    let mut read = serde_json::Deserializer::from_str(&line[at..]).into_iter::<String>();
    read.next().and_then(Result::ok).unwrap_or_default().trim().to_owned()
}

/// Returns whether an element with this role takes text.
pub(super) fn is_field(role: &str) -> bool {
    matches!(role, "textbox" | "searchbox" | "entry") || role.contains("spin")
}

/// Returns whether a label ends in an ellipsis, which announces another surface.
fn promises(label: &str) -> bool {
    label.ends_with('…') || label.ends_with("...")
}

impl Walk {
    fn take(&mut self, action: &StepAction, step: StepId, sight: &Sight) {
        let words = plain(&action.action);
        let role = action.role.clone().unwrap_or_default().to_lowercase();
        let label = action.name.clone().unwrap_or_default().trim().to_owned();
        match words.first().map_or("", String::as_str) {
            "click" | "double" | "right" => {
                let context = words.iter().any(|word| word == "right");
                self.click(Leg { label, role, step, sight: sight.clone(), context });
            }
            "type" => {
                let address = action.action.split('"').nth(1).filter(|text| text.contains("://"));
                self.found.pressed.extend(address.map(|text| text.trim_end_matches("\\n").to_owned()));
                let clicked = self.field.take();
                let fills = clicked.is_some() || is_field(&role);
                if fills && !self.legs.is_empty() {
                    self.acts.push((Act::Fill(clicked.unwrap_or(label)), step));
                }
            }
            "key" if words.iter().any(|word| word == "escape") => self.escape(),
            "key" if action.action.ends_with("ctrl+a") => self.whole |= self.field.is_none(),
            _ => {}
        }
    }

    fn click(&mut self, leg: Leg) {
        let (label, role, step) = (leg.label.clone(), leg.role.clone(), leg.step);
        if !label.is_empty() {
            self.found.pressed.push(label.clone());
        }
        if is_field(&role) {
            self.field = Some(label);
            return;
        }
        if leg.context {
            self.close();
            self.legs.push(leg);
            return;
        }
        self.fall_back(&leg);
        self.barred.extend(Some(leg.sight.barred.clone()).filter(|group| !group.is_empty()));
        let in_dialog =
            self.legs.iter().any(|leg| leg.sight.dialog || promises(&leg.label) || leg.role == "tab");
        match role.as_str() {
            "checkbox" | "switch" | "radio" | "menuitemcheckbox" | "menuitemradio" => {
                self.acts.push((Act::Switch(label), step));
                if role.starts_with("menuitem") {
                    self.close();
                }
            }
            "option" => self.acts.push((Act::Choose(label), step)),
            "button" if dismisses(&label) && self.acts.is_empty() => self.escape(),
            "button" if (in_dialog || !self.acts.is_empty()) && !promises(&label) => {
                self.acts.push((Act::Press(label), step));
                self.close();
            }
            "menuitem" if !leg.opens() && !promises(&label) && !self.legs.is_empty() => {
                self.acts.push((Act::Choose(label), step));
                self.close();
            }
            "menu" | "menuitem" | "tab" | "link" | "button" | "combobox" if !label.is_empty() => {
                if role == "tab" {
                    self.legs.retain(|leg| leg.role != "tab");
                }
                self.legs.push(leg);
            }
            _ => {}
        }
    }

    /// Drops the surfaces that a command leaves behind when it belongs to none that is still open: they were dead ends.
    fn fall_back(&mut self, leg: &Leg) {
        if !leg.is_command() || self.legs.is_empty() {
            return;
        }
        if self.legs.last().is_some_and(|last| last.is_command() && !last.opens() && !promises(&last.label)) {
            self.drop_leg();
        }
        let kept = self.legs.iter().rposition(|passed| passed.sight.labels.contains(&leg.label));
        let closed = self.legs.last().is_some_and(|last| leg.sight.shut.contains(&last.label));
        let beside = closed && leg.opens() && !leg.sight.dialog && self.legs.iter().all(Leg::is_command);
        let keep = kept.map_or(if beside { 0 } else { self.legs.len() }, |at| at + 1);
        if keep < self.legs.len() && !self.acts.is_empty() {
            return self.close();
        }
        while self.legs.len() > keep {
            self.drop_leg();
        }
    }

    /// Handles Escape: it closes one menu level, or a whole dialog. Actions performed there remain.
    fn escape(&mut self) {
        if !self.acts.is_empty() {
            return self.close();
        }
        self.wasted += 1;
        while self.legs.last().is_some_and(|leg| leg.role == "tab") {
            self.drop_leg();
        }
        let dialog = self.legs.iter().any(|leg| promises(&leg.label));
        self.drop_leg();
        while dialog && !self.legs.is_empty() {
            self.drop_leg();
        }
    }

    fn drop_leg(&mut self) {
        if let Some(leg) = self.legs.pop() {
            self.wasted += 1;
            self.found.dead_ends.push(leg.label);
        }
    }

    /// Ends a visit. If no action was recorded, a command at the end of the route is the action.
    fn close(&mut self) {
        if self.acts.is_empty()
            && self.legs.len() > 1
            && let Some(last) =
                self.legs.pop_if(|leg| !promises(&leg.label) && leg.role != "tab" && !leg.opens())
        {
            self.acts.push((Act::Choose(last.label), last.step));
        }
        if let Some(last) = self.legs.last().filter(|_| !self.acts.is_empty()) {
            let barred = self.barred.iter().find(|group| group.contains(&last.label)).cloned();
            let steps = self.legs.iter().map(|leg| leg.step).chain(self.acts.iter().map(|(_, step)| *step));
            let mut evidence: Vec<StepId> = steps.collect();
            evidence.dedup();
            self.found.visits.push(Visit {
                by_context: self.legs.iter().any(|leg| leg.context),
                way: self.legs.iter().filter(|leg| !leg.context).map(|leg| leg.label.clone()).collect(),
                acts: self.acts.iter().map(|(act, _)| act.clone()).collect(),
                beside: last.sight.labels.clone(),
                first: Vec::new(),
                barred: barred.unwrap_or_default(),
                whole: std::mem::take(&mut self.whole),
                wasted: std::mem::take(&mut self.wasted),
                evidence,
            });
        }
        self.legs.clear();
        self.acts.clear();
        self.field = None;
    }
}
