//! Rates each skill by what the attempt pressed and where that led.

use serde_json::{Value, json};

use super::attempt_summary::{AttemptSummary, SurfaceAction, Visit};
use super::goal::Goal;
use super::guidance::{self, Step, named};
use super::learning_text::route;
use super::page::PageLearning;
use super::review_material::{ReceivedSkill, ReviewMaterial};
use super::text_match::same_label;

/// Returns the label of the first destination of a skill's guidance.
fn destination(text: &str) -> Option<String> {
    let mut steps = guidance::read(text).into_iter();
    let path =
        steps.find_map(|step| if let Step::Path(labels) = step { labels.last().cloned() } else { None });
    path.map(|label| label.text).or_else(|| named(text).pop())
}

/// An attempt under review, with its analysis.
pub(super) struct AttemptReview<'m> {
    pub(super) material: &'m ReviewMaterial,
    pub(super) lesson: AttemptSummary,
    pub(super) goal: Goal,
    pub(super) passed: bool,
    pub(super) on_pages: bool,
    pub(super) trail: Option<PageLearning>,
}

impl AttemptReview<'_> {
    /// Returns the review of one skill.
    pub(super) fn review(&self, skill: &ReceivedSkill) -> Value {
        let labels = named(&skill.text);
        let done = labels.iter().filter(|label| self.lesson.has_pressed(label)).count();
        let vain = |label: &String| self.lesson.dead_ends.iter().any(|vain| same_label(vain, label));
        let astray = labels.iter().any(vain);
        let (id, whole) = (&skill.id, done == labels.len());
        let how = if whole { "yes" } else { "partially" };
        if done == 0 || done * 2 < labels.len() {
            return self.left(skill);
        }
        let led = self.on_pages || destination(&skill.text).is_some_and(|place| self.used(&place));
        if self.passed && led && (whole || !astray) {
            let mended = self.trail.as_ref().and_then(|trail| merge_guidance(&skill.text, &trail.guidance));
            return match mended {
                Some(better) => json!({ "skill_id": id, "followed": "partially", "impact": "neutral",
                    "reason": "marginal", "suggested_improvement": better }),
                None => json!({ "skill_id": id, "followed": how, "impact": "positive",
                    "what_helped": "It named where to go, so that nothing had to be searched." }),
            };
        }
        // A correction is possible only when the skill is right in part. If the named place exists but did not lead to
        // the goal, the skill is about a different place.
        if self.passed && astray && led && !whole && self.lesson.visits.len() == 1 {
            return json!({ "skill_id": id, "followed": how, "impact": "negative", "issue_type": "incorrect",
                "what_went_wrong": "Not everything that it names is where it says.",
                "corrected_guidance": format!("1. Choose {}.", self.way()) });
        }
        if astray && !led {
            return json!({ "skill_id": id, "followed": how, "impact": "negative", "issue_type": "unclear",
                "what_went_wrong": "Its situation seemed to be the task's, and its way was gone and left again." });
        }
        let reason = if self.passed { "not_needed" } else { "marginal" };
        json!({ "skill_id": id, "followed": how, "impact": "neutral", "reason": reason })
    }

    /// Reviews a skill that was read and not followed.
    fn left(&self, skill: &ReceivedSkill) -> Value {
        let (id, way) = (&skill.id, self.way());
        let situation = skill.text.lines().take(3).collect::<Vec<_>>().join(" ");
        let concerns = self.goal.words.fit(&situation).matched > 0.0;
        if concerns && self.passed && !way.is_empty() && !self.other_skill_covers(id) {
            return json!({ "skill_id": id, "followed": "no", "reason": "chose_alternative",
                "explanation": "Another way led to the goal.", "alternative_used": way });
        }
        if concerns && !self.passed {
            return json!({ "skill_id": id, "followed": "no", "reason": "seemed_wrong",
                "explanation": "It speaks of what the task asks, and what it names was not there to be done." });
        }
        json!({ "skill_id": id, "followed": "no", "reason": "irrelevant",
            "explanation": "It speaks of something else than the task." })
    }

    /// Describes the route that led to the goal.
    fn way(&self) -> String {
        self.lesson.visits.iter().map(route).collect::<Vec<_>>().join("; then ")
    }

    /// Returns whether a label is on a route that contributed, or was used there.
    fn used(&self, label: &str) -> bool {
        let stands = |visit: &Visit| {
            let before = visit
                .first
                .iter()
                .flat_map(|(way, action)| way.iter().map(String::as_str).chain([action.label()]));
            let own =
                visit.way.iter().map(String::as_str).chain(visit.actions.iter().map(SurfaceAction::label));
            before.chain(own).any(|leg| same_label(leg, label))
        };
        self.lesson.visits.iter().any(stands)
    }

    /// Returns whether another skill that was read describes the route that was taken.
    fn other_skill_covers(&self, id: &str) -> bool {
        let others = self.material.skills.iter().filter(|other| other.id != id);
        others.map(|other| named(&other.text)).any(|labels| {
            let told = |leg: &String| labels.iter().any(|label| same_label(label, leg));
            self.lesson.visits.iter().all(|visit| visit.way.iter().all(told))
        })
    }
}

/// Merges guidance for web pages with the steps that an attempt showed to be sufficient: steps that only one of them
/// has become conditional. Returns `None` if there is nothing to add.
fn merge_guidance(skill: &str, shown: &str) -> Option<String> {
    let told = guidance::lines(skill);
    let is_bound = |line: &str| guidance::read(line).iter().all(|step| matches!(step, Step::Maybe(_)));
    let known = guidance::read_all(skill);
    let mut lines: Vec<(String, bool)> = Vec::new();
    let mut at = 0;
    for line in guidance::lines(shown) {
        let steps = guidance::read(&line);
        match told[at..].iter().position(|other| guidance::read(other) == steps) {
            Some(further) => {
                lines.extend(told[at..at + further].iter().map(|line| (line.clone(), !is_bound(line))));
                lines.push((told[at + further].clone(), false));
                at += further + 1;
            }
            None if steps.iter().all(|step| known.contains(step)) => {}
            None => lines.push((line.clone(), !is_bound(&line))),
        }
    }
    let shared = lines.iter().any(|(line, loose)| !loose && !is_bound(line));
    lines.extend(told[at..].iter().map(|line| (line.clone(), !is_bound(line))));
    if !shared || lines.iter().all(|(_, loose)| !loose) {
        return None;
    }
    let mut mended: Vec<String> = Vec::new();
    for group in lines.chunk_by(|(_, one), (_, other)| *one && *other) {
        match group {
            [(line, false)] => mended.push(line.clone()),
            loose => {
                let actions: Vec<String> = loose.iter().map(|(line, _)| lowered(line)).collect();
                mended.push(format!("If it is there, {}.", actions.join(", then ")));
            }
        }
    }
    Some(
        mended
            .iter()
            .enumerate()
            .map(|(at, line)| format!("{}. {line}", at + 1))
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

/// Returns a sentence with a lower-case start and no final period, to embed it in another sentence.
fn lowered(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::merge_guidance;

    #[test]
    fn what_an_attempt_did_without_is_said_on_a_condition() {
        let known = "## Situation\nLoaves\n## Guidance\n1. Double-click the cell that the task is about.\n\
                     2. Press Ctrl+A.\n3. Type the value that the task names into the field.\n4. Press Enter.\n\
                     5. Open \"Oven\".\n## Annotations\nNone";
        let shown =
            "1. Type the value that the task names into the field.\n2. Press Enter.\n3. Open \"Oven\".";
        let mended = merge_guidance(known, shown).expect("there is more to say");
        insta::assert_snapshot!(mended, @r#"
        1. If it is there, double-click the cell that the task is about, then press Ctrl+A.
        2. Type the value that the task names into the field.
        3. Press Enter.
        4. Open "Oven".
        "#);
        for said in [
            shown,
            "1. Double-click the cell that the task is about.\n2. Press Ctrl+A.\n\
            3. Type the value that the task names into the field.\n4. Press Enter.\n5. Open \"Oven\".",
        ] {
            assert_eq!(merge_guidance(&mended, said), None, "it says both now");
        }
        assert_eq!(merge_guidance(known, "1. Open \"Larder\"."), None, "nothing is shared");
    }
}
