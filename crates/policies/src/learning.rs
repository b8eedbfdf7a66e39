//! Writes learnings: a surface, the route to it and the actions there. Names, texts and values of the task are left out.

use apprentice_protocol::StepId;
use serde_json::{Value, json};

use super::goal::{Goal, ValueKind};
use super::guidance::{self, Step, named};
use super::lesson::{Act, Lesson, Visit};
use super::review_material::ReviewMaterial;
use super::words::{content, holds, plain, same_label};

/// The largest number of goal words that a learning repeats: too few to reveal the task.
const MAX_GOAL_WORDS: usize = 6;
/// The largest number of a surface's labels that a learning lists.
const MAX_LABELS: usize = 14;

/// A learning before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Learned {
    pub(super) situation: String,
    /// The sentences of the guidance.
    pub(super) lines: Vec<String>,
    pub(super) evidence: Vec<StepId>,
    /// Number of steps that were wasted.
    pub(super) wasted: u32,
}

impl Learned {
    /// Returns the guidance, in numbered sentences.
    pub(super) fn guidance(&self) -> String {
        let numbered = self.lines.iter().enumerate().map(|(at, line)| format!("{}. {line}", at + 1));
        numbered.collect::<Vec<_>>().join("\n")
    }

    /// Returns whether a skill that was received names all that this one names.
    pub(super) fn is_known(&self, material: &ReviewMaterial) -> bool {
        let labels = named(&self.guidance());
        let opens_cell = |text: &str| guidance::read(text).iter().any(|line| line.step == Step::Cell);
        material.skills.iter().any(|skill| {
            let known = named(&skill.text);
            !labels.is_empty()
                && opens_cell(&skill.text) == opens_cell(&self.guidance())
                && labels.iter().all(|label| known.iter().any(|known| same_label(known, label)))
        })
    }

    /// Writes it in the form that learning asks for.
    pub(super) fn write(&self, material: &ReviewMaterial) -> Value {
        let most = u32::try_from(material.steps.len()).unwrap_or(u32::MAX).max(1);
        let evidence: Vec<&StepId> =
            self.evidence.iter().filter(|id| material.steps.iter().any(|step| step.id == **id)).collect();
        let mut learning = json!({ "type": "discovered", "scope": material.scope(), "situation": self.situation,
            "guidance": self.guidance(), "confidence": "medium", "evidence": evidence });
        if self.wasted > 0 {
            learning["type"] = json!("friction");
            learning["confidence"] = json!("high");
            learning["steps_wasted"] = json!(self.wasted.min(most));
        }
        learning
    }
}

/// Returns the learnings of an attempt in programs, most wasted steps first.
pub(super) fn learnings(material: &ReviewMaterial, lesson: &Lesson, goal: &Goal) -> Vec<Learned> {
    let is_hidden = |visit: &&Visit| {
        let legs = visit.way.len() + usize::from(visit.by_context);
        legs >= 2 || legs == 1 && (visit.wasted > 0 || !visit.first.is_empty() || visit.acts.len() >= 2)
    };
    let learned = |visit: &Visit| {
        let labels = labels(visit, goal);
        let evidence = visit.evidence.clone();
        let situation = situation(material.scope(), visit, goal, &labels);
        Learned { situation, lines: lines(visit, goal, &labels), evidence, wasted: visit.wasted }
    };
    let mut found: Vec<Learned> = lesson.visits.iter().filter(is_hidden).map(learned).collect();
    found.sort_by_key(|learned| std::cmp::Reverse(learned.wasted));
    found
}

/// Returns whether a label contains one of the task's own texts.
pub(super) fn is_own(goal: &Goal, label: &str) -> bool {
    let own = goal.values.iter().filter(|value| value.kind != ValueKind::Name);
    own.filter(|value| value.kind != ValueKind::Number || plain(label).len() == 1)
        .any(|value| holds(label, &value.text))
}

/// Returns the labels of a surface without the task's own texts: used labels first, then their neighbours.
fn labels(visit: &Visit, goal: &Goal) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let used = visit.acts.iter().filter(|act| !matches!(act, Act::Press(_))).map(Act::label);
    for label in used.chain(visit.beside.iter().map(String::as_str)) {
        let known = found.iter().chain(&visit.way).any(|known| same_label(known, label));
        if !known && !label.is_empty() && !is_own(goal, label) && found.len() < MAX_LABELS {
            found.push(bare(label));
        }
    }
    found
}

/// Returns a label without the marks at its end.
pub(super) fn bare(label: &str) -> String {
    label.trim_end_matches(['…', '.', ':']).trim().to_owned()
}

fn bares(labels: &[String]) -> Vec<String> {
    labels.iter().map(|label| bare(label)).collect()
}

/// Returns the words of the task that no label of the surface holds.
fn goal_words(visit: &Visit, goal: &Goal) -> String {
    let acts = visit.acts.iter().map(|act| act.label().to_owned());
    let labels: Vec<String> = visit.way.iter().cloned().chain(acts).collect();
    let spoken: Vec<String> = labels.iter().flat_map(|label| content(label)).collect();
    let mut kept: Vec<String> = Vec::new();
    for word in plain(goal.request(&labels)) {
        let own = goal.values.iter().any(|value| plain(&value.text).contains(&word));
        let stems = content(&word);
        let tells = !stems.is_empty() && !stems.iter().any(|stem| spoken.contains(stem));
        if !own && tells && !kept.contains(&word) && kept.len() < MAX_GOAL_WORDS {
            kept.push(word);
        }
    }
    kept.join(", ")
}

fn situation(scope: &str, visit: &Visit, goal: &Goal, labels: &[String]) -> String {
    let last = || visit.way.last().map_or_else(|| "the context menu".to_owned(), |leg| bare(leg));
    let choices = choices(visit);
    let place = if choices.is_empty() { last() } else { bares(&choices).join(", ") };
    let first: Vec<String> = visit.first.iter().filter_map(|way| way.last()).map(|leg| bare(leg)).collect();
    let after = if first.is_empty() { String::new() } else { format!(", after {}", first.join(", ")) };
    let listed = if labels.is_empty() { String::new() } else { format!(": {}", labels.join(", ")) };
    let words = goal_words(visit, goal);
    let about = if words.is_empty() { String::new() } else { format!(" (asked for as: {words})") };
    format!("{place} in {scope}{after}{listed}{about}")
}

/// Returns the commands that were disabled at first, if the route leads through one of several.
fn choices(visit: &Visit) -> Vec<String> {
    let through = visit.way.last().is_some_and(|leg| visit.barred.contains(leg));
    if through && visit.barred.len() > 1 { visit.barred.clone() } else { Vec::new() }
}

/// Returns the sentences of the guidance.
fn lines(visit: &Visit, goal: &Goal, labels: &[String]) -> Vec<String> {
    let among = |labels: &[String]| match labels {
        [] | [_] => String::new(),
        labels => format!(" (there are: {})", bares(labels).join(", ")),
    };
    let mut lines: Vec<String> = Vec::new();
    if visit.whole {
        lines.push("Select the whole text with Ctrl+A if the task is about all of it.".into());
    }
    lines.extend(visit.first.iter().map(|way| format!("Choose {} first.", bares(way).join(" > "))));
    if visit.by_context {
        lines.push("Right-click what the task is about.".into());
    }
    let choices = choices(visit);
    let way = &visit.way[..visit.way.len() - usize::from(!choices.is_empty())];
    match bares(way).as_slice() {
        [] => {}
        [only] => lines.push(format!("Open \"{only}\".")),
        legs => lines.push(format!("Open {}.", legs.join(" > "))),
    }
    if !choices.is_empty() {
        lines.push(format!("Choose the entry that the task asks for{}.", among(&choices)));
    }
    for act in &visit.acts {
        let label = bare(act.label());
        let own = is_own(goal, &label);
        let asked = own || goal.fit(&label).matched > 0.0;
        lines.push(match act {
            Act::Choose(_) if own || asked && labels.len() > 1 => {
                format!("Choose the entry that the task asks for{}.", among(labels))
            }
            Act::Choose(_) => format!("Choose \"{label}\"."),
            Act::Switch(_) if asked && labels.len() > 1 => {
                format!("Set what the task asks for{}.", among(labels))
            }
            Act::Switch(_) => format!("Set \"{label}\" as the task asks."),
            Act::Fill(_) if label.is_empty() || own => {
                "Type the value that the task names into the field.".into()
            }
            Act::Fill(_) => format!("Type the value that the task names into the field \"{label}\"."),
            Act::Press(_) => format!("Press \"{label}\"."),
        });
    }
    lines.dedup();
    lines
}
