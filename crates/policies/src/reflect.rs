//! Reviews an attempt: rates each skill that was read by what the attempt pressed and where that led, and writes what is to be
//! learned.

use apprentice_protocol::{ChatRequest, TrajectoryStep, Verdict};
use serde_json::{Value, json};

use super::goal::Goal;
use super::guidance::named;
use super::learning::{Learned, bare, is_own, learnings};
use super::lesson::{Act, Lesson, Visit, walk};
use super::page_lesson;
use super::policy::Move;
use super::review_material::{ReceivedSkill, ReviewMaterial};
use super::transcript::block;
use super::words::{Fit, same_label};

/// Returns the review if the request asks for one: recognized by the block it contains, or by its schema.
pub(super) fn answer(request: &ChatRequest) -> Option<Move> {
    if request.world.is_some() {
        return None;
    }
    let by_schema = request.schema.as_ref().is_some_and(|schema| schema.name.contains("reflection"));
    match block::<ReviewMaterial>(request) {
        Some(material) => Some(review(&material)),
        None => by_schema.then(|| Move::Say(json!({ "skill_reviews": [], "new_learnings": [] }).to_string())),
    }
}

fn review(material: &ReviewMaterial) -> Move {
    let goal = Goal::read(&material.goal);
    let passed = material.verdict == Some(Verdict::Pass) && material.judged_by.is_evidence();
    let on_pages = page_lesson::is_of_pages(&material.steps);
    let is_asked = |label: &str| goal.fit(label).is_exact();
    let way = way(&material.steps);
    let found: Vec<Learned> = match (passed, on_pages) {
        (true, true) => {
            page_lesson::lesson(way, material.scope(), |label| is_own(&goal, label)).into_iter().collect()
        }
        (true, false) => learnings(material, &walk(way, is_asked), &goal),
        (false, _) => Vec::new(),
    };
    let new = found.iter().filter(|learned| !learned.is_known(material)).take(material.max_learnings);
    let new: Vec<Value> = new.map(|learned| learned.write(material)).collect();
    let lesson = walk(&material.steps, is_asked);
    let attempt = Attempt { material, lesson, goal, passed, on_pages };
    let reviews: Vec<Value> = material.skills.iter().map(|skill| attempt.review(skill)).collect();
    Move::Say(json!({ "skill_reviews": reviews, "new_learnings": new }).to_string())
}

/// Returns the steps up to the last one that changed what the checks read, if all later ones are known to have changed
/// nothing of it: where an agent wanders afterwards is not the way.
fn way(steps: &[TrajectoryStep]) -> &[TrajectoryStep] {
    let last = steps.iter().rposition(|step| step.changed_checked_state == Some(true));
    match last.map(|last| steps.split_at(last + 1)) {
        Some((way, rest)) if rest.iter().all(|step| step.changed_checked_state == Some(false)) => way,
        Some(_) | None => steps,
    }
}

struct Attempt<'m> {
    material: &'m ReviewMaterial,
    lesson: Lesson,
    goal: Goal,
    passed: bool,
    on_pages: bool,
}

impl Attempt<'_> {
    /// Returns the review of one skill.
    fn review(&self, skill: &ReceivedSkill) -> Value {
        let (id, labels) = (&skill.id, named(&skill.text));
        let done = labels.iter().filter(|label| self.lesson.has_pressed(label)).count();
        if done == 0 || done * 2 < labels.len() {
            return self.not_followed(skill);
        }
        let is_vain = |label: &String| self.lesson.dead_ends.iter().any(|vain| same_label(vain, label));
        let (whole, astray) = (done == labels.len(), labels.iter().any(is_vain));
        let led = self.on_pages || labels.iter().any(|label| self.used(label));
        let how = if whole { "yes" } else { "partially" };
        if self.passed && led && (whole || !astray) {
            return json!({ "skill_id": id, "followed": how, "impact": "positive",
                "what_helped": "It named where to go, so that nothing had to be searched." });
        }
        if self.passed && led && self.lesson.visits.len() == 1 {
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
    fn not_followed(&self, skill: &ReceivedSkill) -> Value {
        let (id, way) = (&skill.id, self.way());
        let situation = skill.text.lines().take(3).collect::<Vec<_>>().join(" ");
        let concerns = Fit::of(&self.goal.stems(), &situation).matched > 0.0;
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
        let route = |visit: &Visit| {
            let chosen = visit.acts.iter().filter(|act| matches!(act, Act::Choose(_))).map(Act::label);
            let legs = visit.way.iter().map(String::as_str).chain(chosen);
            legs.map(bare).collect::<Vec<_>>().join(" > ")
        };
        self.lesson.visits.iter().map(route).collect::<Vec<_>>().join("; then ")
    }

    /// Returns whether a label is on a route that contributed, or was used there.
    fn used(&self, label: &str) -> bool {
        self.lesson.visits.iter().any(|visit| {
            let legs = visit.first.iter().flatten().chain(&visit.way).map(String::as_str);
            legs.chain(visit.acts.iter().map(Act::label)).any(|leg| same_label(leg, label))
        })
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
