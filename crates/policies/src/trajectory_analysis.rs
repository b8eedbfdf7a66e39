//! Analyzes the steps of an attempt and separates the route from dead ends.
//!
//! A press that was reverted with Escape or by going back was a dead end; the remaining presses form the route.

use apprentice_protocol::{StepAction, StepId, TrajectoryStep};

use super::attempt_summary::{AttemptSummary, SurfaceAction, Visit};
use super::text_match::plain;

/// The changes on screen after an action.
#[derive(Clone, Debug, Default)]
struct ScreenChange {
    /// Labels of new commands and switches.
    labels: Vec<String>,
    /// The new labels that are on.
    on: Vec<String>,
    /// The new labels that are disabled.
    barred: Vec<String>,
    /// Labels of menus that were opened.
    open: Vec<String>,
    /// Labels of menus that were closed.
    shut: Vec<String>,
    /// Whether a dialog or window appeared.
    dialog: bool,
    /// Whether anything changed.
    changed: bool,
}

#[derive(Clone, Debug)]
struct Leg {
    label: String,
    role: String,
    step: StepId,
    sight: ScreenChange,
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
struct TrajectoryAnalyzer {
    legs: Vec<Leg>,
    actions: Vec<(SurfaceAction, StepId)>,
    found: AttemptSummary,
    /// Labels that were on where a switch was last toggled.
    stood: Vec<String>,
    /// Commands that were seen disabled, one group per surface.
    barred: Vec<Vec<String>>,
    wasted: u32,
    whole: bool,
    field: Option<String>,
}

/// Analyzes the steps of an attempt.
pub(super) fn walk(steps: &[TrajectoryStep]) -> AttemptSummary {
    let mut walk = TrajectoryAnalyzer::default();
    for (at, step) in steps.iter().enumerate() {
        let sight = steps.get(at + 1).map(|next| sight(&next.seen.changed)).unwrap_or_default();
        for action in step.actions.iter().filter(|action| action.outcome.starts_with("done")) {
            walk.take(action, step.id, &sight);
        }
    }
    walk.close();
    walk.found
}

/// Parses the changed lines. An element that only changed its state does not count as new.
fn sight(changed: &[String]) -> ScreenChange {
    let with =
        |sign: char| changed.iter().filter_map(move |line| line.strip_prefix(sign)).map(str::trim_start);
    let head = |line: &str| {
        let role = line.split_whitespace().next().unwrap_or_default().to_owned();
        (role, name_of(line))
    };
    let gone: Vec<(String, String)> = with('-').map(head).collect();
    let open = |line: &&str| line.contains("[expanded]");
    let mut found = ScreenChange { changed: !changed.is_empty(), ..ScreenChange::default() };
    let surfaces = |sign: char| with(sign).filter(|line| is_surface(&head(line).0)).count();
    found.dialog = surfaces('+') > surfaces('-');
    found.open.extend(with('+').filter(open).map(name_of));
    found.shut.extend(with('-').filter(open).map(name_of));
    found.shut.retain(|name| !found.open.contains(name));
    for line in with('+') {
        let (role, name) = head(line);
        if gone.contains(&(role.clone(), name.clone())) {
            continue;
        }
        let is_choice = role.starts_with("menuitem")
            || matches!(role.as_str(), "checkbox" | "radio" | "switch" | "option" | "menu" | "tab");
        if !is_choice || name.is_empty() || found.labels.contains(&name) {
            continue;
        }
        if line.contains("[checked]") {
            found.on.push(name.clone());
        }
        if line.contains("[disabled]") {
            found.barred.push(name.clone());
        }
        found.labels.push(name);
    }
    found
}

/// Returns the name in a changed line, where it is spelled as a JSON string.
fn name_of(line: &str) -> String {
    let Some(at) = line.find('"') else { return String::new() };
    let mut read = serde_json::Deserializer::from_str(&line[at..]).into_iter::<String>();
    read.next().and_then(Result::ok).unwrap_or_default().trim().to_owned()
}

fn is_surface(role: &str) -> bool {
    matches!(role, "dialog" | "alert" | "window" | "frame" | "file_chooser")
}

/// Returns whether an element with this role takes text.
fn is_field(role: &str) -> bool {
    matches!(role, "textbox" | "searchbox" | "entry") || role.contains("spin")
}

fn leads(role: &str) -> bool {
    matches!(role, "menu" | "menuitem" | "tab" | "link" | "button" | "combobox")
}

impl TrajectoryAnalyzer {
    fn take(&mut self, action: &StepAction, step: StepId, sight: &ScreenChange) {
        let words = plain(&action.action);
        let verb = words.first().map_or("", String::as_str);
        let role = action.role.clone().unwrap_or_default().to_lowercase();
        let label = action.name.clone().unwrap_or_default().trim().to_owned();
        match verb {
            "click" | "double" | "right" | "press" | "secondary" | "left" => {
                let context = words.iter().any(|word| word == "right" || word == "secondary");
                let leg = Leg { label, role, step, sight: sight.clone(), context };
                self.click(leg);
            }
            "select" | "choose" => self.record_action(SurfaceAction::Choose(label), step),
            "type" => {
                if let Some(address) = words_of_address(&action.action) {
                    self.found.pressed.push(address);
                }
                let clicked = self.field.take();
                let fills = clicked.is_some() || is_field(&role) || role == "combobox";
                let field = clicked.unwrap_or(label);
                if fills && !self.legs.is_empty() {
                    self.record_action(SurfaceAction::Fill(field), step);
                }
            }
            "key" | "hold" => self.key(action.action.trim(), step, sight),
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
        if is_field(role) {
            self.field = Some(label);
            return;
        }
        if leg.context {
            self.close();
            self.legs.push(leg);
            return;
        }
        self.fall_back(&leg);
        if !leg.sight.barred.is_empty() {
            self.barred.push(leg.sight.barred.clone());
        }
        match role {
            "checkbox" | "switch" | "radio" | "menuitemcheckbox" | "menuitemradio" => {
                self.record_action(SurfaceAction::Switch(label), step);
                if role.starts_with("menuitem") {
                    self.close();
                }
            }
            "option" => self.record_action(SurfaceAction::Choose(label), step),
            "button" if dismisses(&label) && self.actions.is_empty() => self.escape(),
            "button" if self.in_dialog() && !promises(&label) => {
                self.record_action(SurfaceAction::Press(label), step);
                self.close();
            }
            "menuitem" if !leg.opens() && !promises(&label) && !self.legs.is_empty() => {
                self.record_action(SurfaceAction::Choose(label), step);
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

    /// Drops the surfaces that a command leaves behind when it belongs to none that is still open: they were dead
    /// ends.
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
        let keep = match kept {
            Some(at) => at + 1,
            None if beside => 0,
            None => self.legs.len(),
        };
        if keep < self.legs.len() && !self.actions.is_empty() {
            return self.close();
        }
        while self.legs.len() > keep {
            self.drop_leg();
        }
    }

    fn key(&mut self, text: &str, step: StepId, sight: &ScreenChange) {
        let chord = text.split_whitespace().last().unwrap_or_default().to_lowercase();
        match chord.as_str() {
            "escape" => self.escape(),
            "ctrl+a" => self.whole |= self.field.is_none(),
            "alt+left" => self.back_out(),
            "ctrl+s" | "enter" | "tab" | "ctrl+end" | "ctrl+home" | "" => {}
            _ if !sight.changed || self.legs.is_empty() => self.wasted += 1,
            other => self.record_action(SurfaceAction::Key(other.to_owned()), step),
        }
    }

    fn in_dialog(&self) -> bool {
        self.legs.iter().any(|leg| promises(&leg.label) || leg.role == "tab") || !self.actions.is_empty()
    }

    fn record_action(&mut self, action: SurfaceAction, step: StepId) {
        self.actions.push((action, step));
    }

    /// Handles Escape: it closes one menu level, or a whole dialog. Actions performed there remain.
    fn escape(&mut self) {
        if !self.actions.is_empty() {
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
            self.found.dead_ends.push(leg.label);
        }
    }

    /// Ends a visit. If no action was recorded, a command at the end of the route is the action.
    fn close(&mut self) {
        if self.actions.is_empty()
            && self.legs.len() > 1
            && let Some(last) =
                self.legs.pop_if(|leg| !promises(&leg.label) && leg.role != "tab" && !leg.opens())
        {
            self.actions.push((SurfaceAction::Choose(last.label), last.step));
        }
        if !self.actions.is_empty() && !self.legs.is_empty() {
            let mut evidence: Vec<StepId> = self
                .legs
                .iter()
                .map(|leg| leg.step)
                .chain(self.actions.iter().map(|(_, step)| *step))
                .collect();
            evidence.dedup();
            let surface = self.legs.last().map(|leg| leg.sight.clone()).unwrap_or_default();
            let visit = Visit {
                by_context: self.legs.iter().any(|leg| leg.context),
                way: self.legs.iter().filter(|leg| !leg.context).map(|leg| leg.label.clone()).collect(),
                actions: self.actions.iter().map(|(action, _)| action.clone()).collect(),
                beside: surface.labels,
                first: Vec::new(),
                barred: self.barred_beside(),
                whole: self.whole,
                wasted: std::mem::take(&mut self.wasted),
                evidence,
            };
            self.add(visit, &surface.on);
            self.whole = false;
        }
        self.legs.clear();
        self.actions.clear();
        self.field = None;
    }

    /// Returns the commands that were disabled on the surface of the last leg.
    fn barred_beside(&self) -> Vec<String> {
        let Some(leg) = self.legs.last() else { return Vec::new() };
        self.barred.iter().find(|group| group.contains(&leg.label)).cloned().unwrap_or_default()
    }

    /// Adds a visit. A switch that is set back to its earlier state cancels the visit before it.
    fn add(&mut self, visit: Visit, on: &[String]) {
        let put_back = self.found.visits.last().is_some_and(|last| {
            let ([SurfaceAction::Switch(then)], [SurfaceAction::Switch(now)]) =
                (last.actions.as_slice(), visit.actions.as_slice())
            else {
                return false;
            };
            last.way == visit.way && (then == now || self.stood.contains(now))
        });
        if put_back {
            if let Some(last) = self.found.visits.pop() {
                self.wasted += last.wasted + visit.wasted + 2;
            }
            return;
        }
        self.stood = on.to_vec();
        self.found.visits.push(visit);
    }
}

/// Returns the URL that an action typed, if any.
fn words_of_address(action: &str) -> Option<String> {
    let text = action.split('"').nth(1).filter(|text| text.contains("://"))?;
    Some(text.trim_end_matches("\\n").to_owned())
}

/// Returns whether a button with this label only closes a surface.
fn dismisses(label: &str) -> bool {
    matches!(plain(label).join(" ").as_str(), "cancel" | "close" | "back" | "dismiss")
}

/// Returns whether a label ends in an ellipsis, which announces another surface.
fn promises(label: &str) -> bool {
    label.ends_with('…') || label.ends_with("...")
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::TrajectoryStep;
    use serde_json::json;

    use super::walk;
    use crate::attempt_summary::SurfaceAction;

    fn step(id: u32, changed: &[&str], role: &str, name: &str) -> TrajectoryStep {
        let action = if name.is_empty() { "key escape" } else { "click" };
        serde_json::from_value(
            json!({ "id": format!("s{id}"), "seen": { "title": "Shed", "changed": changed },
            "actions": [{ "action": action, "role": role, "name": name, "outcome": "done" }] }),
        )
        .expect("a step")
    }

    #[test]
    fn menus_beside_each_other_are_no_way() {
        let steps = [
            step(1, &["+ menuitem \"Tools\"", "+ menuitem \"Season\""], "menuitem", "Tools"),
            step(
                2,
                &[
                    "+ menuitem \"Tools\" [selected] [expanded]",
                    "+ menuitem \"Prune\" [disabled]",
                    "+ menuitem \"Graft\" [disabled]",
                    "- menuitem \"Tools\"",
                ],
                "menuitem",
                "Season",
            ),
            step(
                3,
                &[
                    "+ menuitem \"Tools\"",
                    "+ menuitem \"Season\" [selected] [expanded]",
                    "+ menuitemradio \"Spring\" [unchecked]",
                    "+ menuitemradio \"Winter\" [checked]",
                    "- menuitem \"Tools\" [selected] [expanded]",
                    "- menuitem \"Season\"",
                ],
                "menuitemradio",
                "Spring",
            ),
            step(
                4,
                &["+ menuitem \"Season\"", "- menuitem \"Season\" [selected] [expanded]"],
                "menuitem",
                "Tools",
            ),
            step(
                5,
                &[
                    "+ menuitem \"Tools\" [selected] [expanded]",
                    "+ menuitem \"Prune\"",
                    "+ menuitem \"Graft\"",
                    "- menuitem \"Tools\"",
                ],
                "menuitem",
                "Prune",
            ),
            step(
                6,
                &["+ menuitem \"Prune\" [expanded]", "+ menuitem \"By half\"", "- menuitem \"Prune\""],
                "menuitem",
                "By half",
            ),
            step(7, &["+ menuitem \"Tools\"", "- menuitem \"Tools\" [selected] [expanded]"], "", ""),
        ];
        let found = walk(&steps);
        let ways: Vec<String> = found.visits.iter().map(|visit| visit.way.join(" > ")).collect();
        assert_eq!(ways, ["Season", "Tools > Prune"]);
        let joined = found.merge_prerequisites(|label| label == "By half");
        let [visit] = joined.visits.as_slice() else { panic!("{joined:?}") };
        assert_eq!(visit.first, [(vec!["Season".to_owned()], SurfaceAction::Switch("Spring".into()))]);
        assert_eq!(visit.barred, ["Prune", "Graft"]);
        assert_eq!(visit.actions, [SurfaceAction::Choose("By half".into())]);
    }
}
