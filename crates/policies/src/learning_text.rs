//! Writes learnings: a surface, the route to it and the actions there. Names, texts and values of the task are left
//! out.

use apprentice_protocol::{StepId, TrajectoryStep};
use serde_json::{Value, json};

use super::attempt_summary::{AttemptSummary, SurfaceAction, Visit};
use super::goal::Goal;
use super::guidance::named;
use super::page::PageLearning;
use super::review_material::{ReceivedSkill, ReviewMaterial};
use super::text_match::{KeyTerms, content, plain, same_label};
use super::value::ValueKind;

/// The largest number of goal words that a learning repeats: too few to reveal the task.
const MAX_GOAL_WORDS: usize = 6;
/// The largest number of a surface's labels that a learning lists.
const MAX_LABELS: usize = 14;

/// Returns the route to a surface, followed by the entries that were chosen there.
pub(super) fn route(visit: &Visit) -> String {
    let mut legs: Vec<String> = visit.way.iter().map(|leg| bare(leg)).collect();
    legs.extend(
        visit
            .actions
            .iter()
            .filter(|action| matches!(action, SurfaceAction::Choose(_)))
            .map(|action| action.label().to_owned()),
    );
    legs.join(" > ")
}

/// Returns the learnings of an attempt, most wasted steps first, without those that a received skill already covers.
pub(super) fn learnings(material: &ReviewMaterial, lesson: &AttemptSummary, goal: &Goal) -> Vec<Value> {
    let scope = material.apps.first().map_or("general", String::as_str);
    let known: Vec<Vec<String>> = material.skills.iter().map(|skill| named(&skill.text)).collect();
    let mut found: Vec<(u32, Value)> = Vec::new();
    for visit in &lesson.visits {
        let told = |labels: &[String], leg: &str| labels.iter().any(|label| same_label(label, leg));
        let covered = known.iter().any(|labels| {
            let first = visit.first.iter().all(|(_, action)| told(labels, action.label()));
            first && visit.way.iter().all(|leg| told(labels, leg) || visit.barred.contains(leg))
        });
        if covered || !is_hidden(visit) {
            continue;
        }
        found.push((visit.wasted, learning(scope, visit, goal, &material.steps)));
    }
    found.sort_by_key(|(wasted, _)| std::cmp::Reverse(*wasted));
    found.into_iter().take(material.max_learnings).map(|(_, learning)| learning).collect()
}

/// Returns the learning of an attempt on web pages, unless a received skill already covers it.
pub(super) fn page_learning(material: &ReviewMaterial, trail: &PageLearning) -> Option<Value> {
    let scope = material.apps.first().map_or("general", String::as_str);
    let PageLearning { situation, guidance, evidence, wasted, labels } = trail;
    let says = |skill: &ReceivedSkill| {
        let known = named(&skill.text);
        !labels.is_empty() && labels.iter().all(|label| known.iter().any(|known| same_label(known, label)))
    };
    if material.skills.iter().any(says) {
        return None;
    }
    let most = u32::try_from(material.steps.len()).unwrap_or(u32::MAX).max(1);
    let (kind, confidence) = if *wasted > 0 { ("friction", "high") } else { ("discovered", "medium") };
    let mut learning = json!({ "type": kind, "scope": scope, "situation": situation, "guidance": guidance,
        "confidence": confidence, "evidence": evidence });
    if *wasted > 0 {
        learning["steps_wasted"] = json!((*wasted).min(most));
    }
    Some(learning)
}

/// Returns whether a route is worth recording: it was found by searching, it is long, or it has a prerequisite.
fn is_hidden(visit: &Visit) -> bool {
    let legs = visit.way.len() + usize::from(visit.by_context);
    legs >= 1 && (visit.wasted > 0 || !visit.first.is_empty() || legs >= 2 || visit.actions.len() >= 2)
}

fn learning(scope: &str, visit: &Visit, goal: &Goal, steps: &[TrajectoryStep]) -> Value {
    let labels = labels(visit, goal);
    let situation = situation(scope, visit, goal, &labels);
    let guidance = guidance_text(visit, goal, &labels);
    let evidence: Vec<StepId> =
        visit.evidence.iter().copied().filter(|id| steps.iter().any(|step| step.id == *id)).collect();
    let most = u32::try_from(steps.len()).unwrap_or(u32::MAX).max(1);
    if visit.wasted == 0 {
        return json!({ "type": "discovered", "scope": scope, "situation": situation, "guidance": guidance,
            "confidence": "medium", "evidence": evidence });
    }
    json!({ "type": "friction", "scope": scope, "situation": situation, "guidance": guidance,
        "confidence": "high", "steps_wasted": visit.wasted.min(most), "evidence": evidence })
}

/// Returns whether a label contains one of the task's own texts.
pub(super) fn is_own(goal: &Goal, label: &str) -> bool {
    let values = goal.wants.iter().flat_map(|want| &want.values);
    values.filter(|value| value.kind != ValueKind::Number || plain(label).len() == 1).any(|value| {
        let (value, label) = (plain(&value.text), plain(label));
        !value.is_empty() && label.windows(value.len()).any(|run| run == value)
    })
}

/// Returns the labels of a surface without the task's own texts: used labels first, then their neighbors.
fn labels(visit: &Visit, goal: &Goal) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let used = visit
        .actions
        .iter()
        .filter(|action| !matches!(action, SurfaceAction::Press(_) | SurfaceAction::Key(_)))
        .map(SurfaceAction::label);
    for label in used.chain(visit.beside.iter().map(String::as_str)) {
        let known = found.iter().chain(&visit.way).any(|known| same_label(known, label));
        if !known && !label.is_empty() && !is_own(goal, label) && found.len() < MAX_LABELS {
            found.push(label.to_owned());
        }
    }
    found
}

fn bare(label: &str) -> String {
    label.trim_end_matches(['…', '.', ':']).trim().to_owned()
}

/// Returns up to [`MAX_GOAL_WORDS`] words of the sub-goal that this visit matches best.
fn goal_words(visit: &Visit, goal: &Goal) -> String {
    let spoken = |label: &str| KeyTerms::of(label);
    let surface: Vec<String> = visit
        .way
        .iter()
        .cloned()
        .chain(visit.actions.iter().map(|action| action.label().to_owned()))
        .collect();
    let best = goal.wants.iter().max_by(|one, other| {
        let score = |want: &super::goal::SubGoal| {
            surface.iter().map(|label| want.wanted.fit(label).matched).sum::<f32>()
        };
        score(one).total_cmp(&score(other))
    });
    let Some(want) = best else { return String::new() };
    let mut kept: Vec<String> = Vec::new();
    for word in plain(&want.clause) {
        let own = want.values.iter().any(|value| plain(&value.text).contains(&word));
        let told = !content(&word).is_empty();
        let new = !surface
            .iter()
            .any(|label| spoken(label).stems().iter().any(|stem| content(&word).contains(stem)));
        if !own && told && new && !kept.contains(&word) && kept.len() < MAX_GOAL_WORDS {
            kept.push(word);
        }
    }
    kept.join(", ")
}

fn situation(scope: &str, visit: &Visit, goal: &Goal, labels: &[String]) -> String {
    let place = visit.way.last().map_or_else(|| "the context menu".to_owned(), |leg| bare(leg));
    let place = match choices(visit).as_slice() {
        [] => place,
        barred => barred.iter().map(|label| bare(label)).collect::<Vec<_>>().join(", "),
    };
    let listed = labels.iter().map(|label| bare(label)).collect::<Vec<_>>().join(", ");
    let words = goal_words(visit, goal);
    let about = if words.is_empty() { String::new() } else { format!(" (asked for as: {words})") };
    let first: Vec<String> = visit.first.iter().map(|(_, action)| bare(action.label())).collect();
    let after = if first.is_empty() { String::new() } else { format!(", after {}", first.join(", ")) };
    if listed.is_empty() {
        format!("{place} in {scope}{after}{about}")
    } else {
        format!("{place} in {scope}{after}: {listed}{about}")
    }
}

/// Returns the commands that were disabled at first, if the route leads through one of several.
fn choices(visit: &Visit) -> Vec<String> {
    let through = visit.way.last().is_some_and(|leg| visit.barred.contains(leg));
    if through && visit.barred.len() > 1 { visit.barred.clone() } else { Vec::new() }
}

/// Describes the route. If one of several commands was enabled, the task decides which one is meant.
fn way_lines(visit: &Visit) -> Vec<String> {
    let barred = choices(visit);
    let mut way: Vec<String> = visit.way.iter().map(|leg| bare(leg)).collect();
    if !barred.is_empty() {
        way.pop();
    }
    let mut lines = match way.as_slice() {
        [] => Vec::new(),
        [only] => vec![format!("Open \"{only}\".")],
        legs => vec![format!("Open {}.", legs.join(" > "))],
    };
    if !barred.is_empty() {
        lines.push(format!("Choose the entry that the task asks for{}.", among(&barred)));
    }
    lines
}

/// Writes the numbered guidance.
fn guidance_text(visit: &Visit, goal: &Goal, labels: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    if visit.whole {
        lines.push("Select the whole text with Ctrl+A if the task is about all of it.".into());
    }
    for (way, action) in &visit.first {
        let mut legs: Vec<String> = way.iter().map(|leg| bare(leg)).collect();
        legs.push(bare(action.label()));
        lines.push(format!("Choose {} first.", legs.join(" > ")));
    }
    if visit.by_context {
        lines.push("Right-click what the task is about.".into());
    }
    lines.extend(way_lines(visit));
    let many = labels.len() > 1;
    for (index, action) in visit.actions.iter().enumerate() {
        let label = bare(action.label());
        let own = is_own(goal, &label);
        let asked = own || goal.words.fit(&label).matched > 0.0;
        let later_fill =
            visit.actions[index + 1..].iter().any(|later| matches!(later, SurfaceAction::Fill(_)));
        match action {
            SurfaceAction::Choose(_) if asked && many => {
                lines.push(format!("Choose the entry that the task asks for{}.", among(labels)));
            }
            SurfaceAction::Choose(_) if own => lines.push("Choose the entry that the task asks for.".into()),
            SurfaceAction::Choose(_) => lines.push(format!("Choose \"{label}\".")),
            SurfaceAction::Switch(_) if asked && many && !later_fill => {
                lines.push(format!("Set what the task asks for{}.", among(labels)));
            }
            SurfaceAction::Switch(_) if later_fill => lines.push(format!("Tick \"{label}\" first.")),
            SurfaceAction::Switch(_) => lines.push(format!("Set \"{label}\" as the task asks.")),
            SurfaceAction::Fill(_) if label.is_empty() || own => {
                lines.push("Type the value that the task names into the field.".into());
            }
            SurfaceAction::Fill(_) => {
                lines.push(format!("Type the value that the task names into the field \"{label}\"."));
            }
            SurfaceAction::Press(_) => lines.push(format!("Press \"{label}\".")),
            SurfaceAction::Key(chord) => lines.push(format!("Press {chord}.")),
        }
    }
    lines.dedup();
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{}. {line}", index + 1))
        .collect::<Vec<_>>()
        .join("\n")
}

fn among(labels: &[String]) -> String {
    let listed = labels.iter().map(|label| bare(label)).collect::<Vec<_>>().join(", ");
    format!(" (there are: {listed})")
}
