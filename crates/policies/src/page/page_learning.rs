//! Extracts a learning from an attempt on web pages: the address of a setting, the press or key that makes a value
//! count, and the control that hides saving. It contains no value, name or word of the task.

use apprentice_protocol::{Outline, StepId, TrajectoryStep};

use super::super::text_match::{plain, same_label};
use super::button::commits;

/// The largest number of a page's labels that a learning lists.
const MAX_LABELS: usize = 8;
/// URL schemes whose addresses are specific to a task.
const TASK_SCHEMES: &[&str] = &["http", "https", "file"];

/// The learning of an attempt on web pages.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct PageLearning {
    /// The situation in which it helps.
    pub(in super::super) situation: String,
    /// The guidance, in numbered sentences.
    pub(in super::super) guidance: String,
    /// The steps that serve as evidence.
    pub(in super::super) evidence: Vec<StepId>,
    /// Number of wasted steps.
    pub(in super::super) wasted: u32,
    /// The labels and addresses that it mentions.
    pub(in super::super) labels: Vec<String>,
}

/// A recorded action, in the order of the attempt.
#[derive(Clone, Debug, PartialEq)]
enum PageAction {
    Cell,
    Typed,
    Enter,
    Taken(String),
    Opened(String),
    Chosen(String),
    Set(String),
    Agreed(String),
    Chord(String),
}

#[derive(Default)]
struct PageTrajectory {
    acts: Vec<(PageAction, StepId)>,
    address: String,
    title: String,
    offered: Vec<String>,
    field: Option<String>,
    steps: u32,
}

/// A changed line: role, name, value, and whether the element is a toggle.
struct ChangedLine {
    role: String,
    name: String,
    value: Option<String>,
    toggles: bool,
}

fn read(line: &str) -> Option<ChangedLine> {
    let line = line.strip_prefix('+')?.trim_start();
    let toggles = line.contains("[checked]") || line.contains("[unchecked]");
    let bare = line.split(" [").next().unwrap_or(line);
    let node = Outline::parse(&format!("{bare} #x")).nodes.into_iter().next()?;
    Some(ChangedLine { role: node.role, name: node.name.trim().to_owned(), value: node.value, toggles })
}

fn is_address(role: &str, name: &str) -> bool {
    role == "textbox" && plain(name).iter().any(|word| word == "address" || word == "location")
}

/// Returns whether an added line describes an address field, even if the line was truncated.
fn is_address_line(line: &str) -> bool {
    let name = line.strip_prefix("+ textbox ").and_then(|rest| rest.split(" = ").next());
    name.is_some_and(|name| is_address("textbox", name))
}

/// Returns whether an attempt took place on browser pages.
pub(in super::super) fn is_of_pages(steps: &[TrajectoryStep]) -> bool {
    let address = |line: &String| read(line).is_some_and(|line| is_address(&line.role, &line.name));
    let document =
        |line: &String| read(line).is_some_and(|line| line.role == "document" && !line.name.is_empty());
    steps.iter().any(|step| step.seen.changed.iter().any(address))
        || steps.first().is_some_and(|step| step.seen.changed.first().is_some_and(document))
}

/// Returns the learning of an attempt on web pages; `None` if it is obvious.
pub(in super::super) fn lesson(
    steps: &[TrajectoryStep],
    scope: &str,
    own: &dyn Fn(&str) -> bool,
) -> Option<PageLearning> {
    let mut walk = PageTrajectory::default();
    for step in steps {
        walk.look(step);
        for action in step.actions.iter().filter(|action| action.outcome.starts_with("done")) {
            let role = action.role.as_deref().unwrap_or_default().to_lowercase();
            walk.take(
                action.action.trim(),
                &role,
                action.name.as_deref().unwrap_or_default().trim(),
                step.id,
            );
            walk.steps += 1;
        }
    }
    walk.tell(scope, own)
}

impl PageTrajectory {
    fn look(&mut self, step: &TrajectoryStep) {
        self.title.clone_from(&step.seen.title);
        // A truncated address cannot be opened.
        if step.seen.changed.iter().any(|line| line.contains("\n[…") && is_address_line(line)) {
            self.address.clear();
        }
        for line in step.seen.changed.iter().filter_map(|line| read(line)) {
            if is_address(&line.role, &line.name) {
                let address = line.value.unwrap_or_default();
                let place = address.split(['?', '#']).next().unwrap_or_default();
                if place != self.address {
                    place.clone_into(&mut self.address);
                    self.offered.clear();
                }
            } else if (line.toggles || line.role == "radio")
                && !line.name.is_empty()
                && !self.offered.contains(&line.name)
            {
                self.offered.push(line.name);
            }
        }
    }

    fn act(&mut self, act: PageAction, step: StepId) {
        self.acts.push((act, step));
    }

    fn take(&mut self, action: &str, role: &str, label: &str, step: StepId) {
        let words = plain(action);
        match words.first().map_or("", String::as_str) {
            "double" if role == "cell" => self.act(PageAction::Cell, step),
            "click" => self.click(role, label, step),
            "type" => {
                let looks_up = self.field.as_deref().is_some_and(|field| {
                    plain(field).iter().any(|word| matches!(word.as_str(), "search" | "address"))
                });
                if !looks_up {
                    self.act(PageAction::Typed, step);
                }
            }
            "key" => match action.trim_start_matches("key").trim() {
                "enter" => self.act(PageAction::Enter, step),
                chord if chord.ends_with("up") || chord.ends_with("down") => {
                    self.act(PageAction::Chord(chord.to_owned()), step);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn click(&mut self, role: &str, label: &str, step: StepId) {
        let says_all = self.kept_address().is_some() && plain(label).len() >= 4;
        let toggles = matches!(role, "checkbox" | "switch" | "radio")
            || role == "button" && says_all
            || role == "button" && self.offered.iter().any(|known| known == label);
        if role.contains("box") && !toggles || role.contains("spin") {
            self.field = Some(label.to_owned());
        } else if toggles {
            self.act(PageAction::Set(label.to_owned()), step);
        } else if role == "menuitem" || role == "option" {
            let chosen = if commits(label) {
                PageAction::Chosen(label.to_owned())
            } else {
                PageAction::Opened(label.to_owned())
            };
            self.act(chosen, step);
        } else if role == "button"
            && commits(label)
            && self.acts.last().is_some_and(|(act, _)| matches!(act, PageAction::Set(_)))
        {
            self.act(PageAction::Agreed(label.to_owned()), step);
        } else if role == "button"
            && self.acts.last().is_some_and(|(act, _)| *act == PageAction::Typed)
            && !commits(label)
            && plain(label).len() <= 2
        {
            self.act(PageAction::Taken(label.to_owned()), step);
        } else if role == "button" && !commits(label) {
            self.act(PageAction::Opened(label.to_owned()), step);
        }
    }

    /// Returns the address in front if it belongs to the browser itself and so is the same for every task.
    fn kept_address(&self) -> Option<&str> {
        let (scheme, _) = self.address.split_once("://")?;
        (!TASK_SCHEMES.contains(&scheme)).then_some(self.address.as_str())
    }

    fn tell(self, scope: &str, own: &dyn Fn(&str) -> bool) -> Option<PageLearning> {
        let kept = self.kept_address();
        let set = self.acts.iter().rposition(|(act, _)| matches!(act, PageAction::Set(_)));
        match (kept, set) {
            (Some(_), Some(set)) => Some(self.setting(scope, set, own)),
            _ => self.page(scope),
        }
    }

    /// Describes where a setting is found.
    fn setting(&self, scope: &str, set: usize, own: &dyn Fn(&str) -> bool) -> PageLearning {
        let mut parts = self.title.split(" - ").map(str::trim).collect::<Vec<_>>();
        parts.retain(|part| !part.is_empty() && !same_label(part, scope));
        let place = parts.last().copied().unwrap_or(scope);
        let used: Vec<String> = self.acts[set..]
            .iter()
            .filter_map(|(act, _)| if let PageAction::Set(label) = act { Some(label.clone()) } else { None })
            .collect();
        let others = self.offered.iter().filter(|label| !used.contains(label) && !own(label));
        let listed: Vec<String> =
            used.iter().chain(others).take(MAX_LABELS).map(|label| without_repetition(label)).collect();
        let mut lines = vec![
            format!("Open {} in the address field.", self.address),
            format!("Set what the task asks for (there are: {}).", listed.join(", ")),
        ];
        let agreed = self.acts[set..].iter().find_map(|(act, _)| {
            if let PageAction::Agreed(label) = act { Some(label.clone()) } else { None }
        });
        lines.extend(agreed.iter().map(|label| format!("Press \"{label}\" if a question appears.")));
        PageLearning {
            situation: format!("{place} in {scope}: {}", listed.join(", ")),
            guidance: numbered(&lines),
            evidence: self.evidence(),
            wasted: self.steps.saturating_sub(4),
            labels: vec![self.address.clone()],
        }
    }

    /// Describes which press or key a value needs on a page, and where saving is hidden.
    fn page(&self, scope: &str) -> Option<PageLearning> {
        let mut lines: Vec<String> = Vec::new();
        let mut labels: Vec<String> = Vec::new();
        let has = |act: &PageAction| self.acts.iter().any(|(done, _)| done == act);
        let cell = has(&PageAction::Cell);
        let entered =
            self.acts.windows(2).any(|pair| pair[0].0 == PageAction::Typed && pair[1].0 == PageAction::Enter);
        let taken = self
            .acts
            .iter()
            .find_map(|(act, _)| if let PageAction::Taken(label) = act { Some(label.clone()) } else { None });
        if cell {
            lines.push("Double-click the cell that the task is about.".into());
            lines.push("Press Ctrl+A.".into());
        }
        if cell || entered || taken.is_some() {
            lines.push("Type the value that the task names into the field.".into());
        }
        if let Some(label) = &taken {
            lines.push(format!("Press \"{label}\"."));
            labels.push(label.clone());
        } else if entered {
            lines.push("Press Enter.".into());
        }
        let moved = self
            .acts
            .iter()
            .find_map(|(act, _)| if let PageAction::Chord(chord) = act { Some(chord.clone()) } else { None });
        if let Some(chord) = &moved {
            lines.push(format!("Click the entry that must move, and press {chord} for each place."));
        }
        let saved = self.saving();
        for (at, label) in saved.iter().enumerate() {
            lines.push(if at + 1 < saved.len() {
                format!("Open \"{label}\".")
            } else {
                format!("Choose \"{label}\".")
            });
            labels.push(label.clone());
        }
        let what = match (cell, entered || taken.is_some(), &moved) {
            (true, ..) => "Changing a value in a table",
            (false, true, _) => "Adding a name or another value to a list",
            (false, false, Some(_)) => "Moving the entries of a list into an order",
            (false, false, None) => "Storing what was changed",
        };
        let hidden = cell || entered || taken.is_some() || moved.is_some() || saved.len() > 1;
        hidden.then(|| PageLearning {
            situation: format!(
                "{what} on a page in {scope}{}",
                if saved.is_empty() { "" } else { ", and saving the changes" }
            ),
            guidance: numbered(&lines),
            evidence: self.evidence(),
            wasted: 2,
            labels,
        })
    }

    /// Returns the presses that saved, in order: the last control opened before, and the command.
    fn saving(&self) -> Vec<String> {
        let Some(at) = self.acts.iter().rposition(|(act, _)| matches!(act, PageAction::Chosen(_))) else {
            return Vec::new();
        };
        let PageAction::Chosen(command) = &self.acts[at].0 else { return Vec::new() };
        let opened = self.acts[..at].iter().rev().find_map(|(act, _)| {
            if let PageAction::Opened(label) = act { Some(label.clone()) } else { None }
        });
        opened.into_iter().chain([command.clone()]).collect()
    }

    fn evidence(&self) -> Vec<StepId> {
        let mut found: Vec<StepId> = self.acts.iter().map(|(_, step)| *step).collect();
        found.dedup();
        found
    }
}

/// Returns a label only once if its words are repeated, as accessibility names sometimes are.
fn without_repetition(label: &str) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    let half = words.len() / 2;
    if half > 0 && words.len().is_multiple_of(2) && words[..half] == words[half..] {
        words[..half].join(" ")
    } else {
        label.to_owned()
    }
}

fn numbered(lines: &[String]) -> String {
    lines.iter().enumerate().map(|(at, line)| format!("{}. {line}", at + 1)).collect::<Vec<_>>().join("\n")
}
