//! Reviews an attempt: rates each skill that was read and extracts learnings that are not obvious. The attempt comes
//! from a fenced block of material, or from the conversation that precedes the question.

use apprentice_protocol::{ChatRequest, TrajectoryStep, Verdict};
use serde_json::{Value, json};

use super::control_match::MatchThreshold;
use super::goal::Goal;
use super::json_block::block;
use super::learning_text::{is_own, learnings, page_learning};
use super::policy::Move;
use super::review::AttemptReview;
use super::review_material::ReviewMaterial;
use super::trajectory_analysis::walk;
use super::{page, reconstruct};

/// Returns the review if the request asks for one: recognized by its schema, by the block it contains, or by a
/// question below the attempt's own conversation.
pub(super) fn answer(request: &ChatRequest) -> Option<Move> {
    if request.world.is_some() {
        return reconstruct::material(request).map(|material| review(&material));
    }
    let by_schema = request.schema.as_ref().is_some_and(|schema| schema.name.contains("reflection"));
    match block::<ReviewMaterial>(request) {
        Some(material) => Some(review(&material)),
        None => by_schema.then(|| Move::Say(json!({ "skill_reviews": [], "new_learnings": [] }).to_string())),
    }
}

fn review(material: &ReviewMaterial) -> Move {
    let goal = Goal::read(&material.goal);
    let asked =
        |label: &str| goal.wants.iter().any(|want| MatchThreshold::Exact.accepts(want.wanted.fit(label)));
    let lesson = walk(&material.steps).merge_prerequisites(asked);
    let passed = material.verdict == Some(Verdict::Pass) && material.judged_by.is_evidence();
    let on_pages = page::is_of_pages(&material.steps);
    let scope = material.apps.first().map_or("general", String::as_str);
    let way = way(&material.steps);
    let trail =
        if passed && on_pages { page::lesson(way, scope, &|label| is_own(&goal, label)) } else { None };
    let learnings: Vec<Value> = match (passed, on_pages) {
        (true, true) => trail.iter().filter_map(|trail| page_learning(material, trail)).collect(),
        (true, false) => learnings(material, &walk(way).merge_prerequisites(asked), &goal),
        (false, _) => Vec::new(),
    };
    let attempt = AttemptReview { material, lesson, goal, passed, on_pages, trail };
    let reviews: Vec<Value> = material.skills.iter().map(|skill| attempt.review(skill)).collect();
    Move::Say(json!({ "skill_reviews": reviews, "new_learnings": learnings }).to_string())
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

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ChatRequest, Content, Message};
    use serde_json::{Value, json};

    use super::{Move, answer};

    fn step(id: u32, changed: &[&str], action: &str, role: &str, name: &str) -> Value {
        json!({ "id": format!("s{id}"), "seen": { "title": "Kitchen", "changed": changed },
            "actions": [{ "action": action, "role": role, "name": name, "outcome": "done" }] })
    }

    fn reflect(goal: &str, skills: &Value, steps: &[Value]) -> Value {
        let material = json!({ "schema": "reflect.material.v1", "goal": goal, "apps": ["kitchen"],
            "verdict": "pass", "max_learnings": 3, "skills": skills, "steps": steps });
        let text = format!("The attempt:\n\n```json\n{material}\n```\n");
        let content = vec![Content::text(text)];
        let request = ChatRequest { messages: vec![Message::User { content }], ..ChatRequest::default() };
        match answer(&request) {
            Some(Move::Say(text)) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("{other:?}"),
        }
    }

    fn searched() -> Vec<Value> {
        vec![
            step(1, &[], "click", "menu", "Shelf"),
            step(2, &["+ menuitem \"New Label...\""], "key escape", "", ""),
            step(3, &[], "click", "menu", "Bake"),
            step(4, &["+ menuitem \"Knead\"", "+ menu \"Sponge\""], "click", "menu", "Sponge"),
            step(
                5,
                &["+ menuitem \"Turn Sideways\"", "+ menuitem \"Turn Over\"", "+ menuitem \"rye.txt\""],
                "click",
                "menuitem",
                "Turn Sideways",
            ),
            step(6, &[], "key ctrl+s", "", ""),
        ]
    }

    #[test]
    fn a_way_found_by_searching_is_told_without_the_task() {
        let said = reflect("Turn the sponge in 'rye.txt' sideways and save it.", &json!([]), &searched());
        insta::assert_json_snapshot!(said, @r#"
        {
          "new_learnings": [
            {
              "confidence": "high",
              "evidence": [
                "s3",
                "s4",
                "s5"
              ],
              "guidance": "1. Open Bake > Sponge.\n2. Choose the entry that the task asks for (there are: Turn Sideways, Turn Over).",
              "scope": "kitchen",
              "situation": "Sponge in kitchen: Turn Sideways, Turn Over",
              "steps_wasted": 2,
              "type": "friction"
            }
          ],
          "skill_reviews": []
        }
        "#);
    }

    #[test]
    fn where_it_wandered_after_the_step_that_did_it_is_not_told() {
        let told = |states: &[(usize, bool)]| {
            let mut steps = searched();
            for (place, state) in states {
                steps[*place]["changed_checked_state"] = json!(state);
            }
            let said = reflect("Turn the sponge in 'rye.txt' sideways and save it.", &json!([]), &steps);
            said["new_learnings"].as_array().expect("a list").len()
        };
        assert_eq!(told(&[]), 1);
        assert_eq!(told(&[(4, true), (5, false)]), 1, "the way ends where it was done");
        assert_eq!(told(&[(0, true), (1, false), (2, false), (3, false), (4, false), (5, false)]), 0);
        assert_eq!(told(&[(0, true), (1, false)]), 1, "nothing is known of the rest");
    }

    #[test]
    fn skills_are_judged_by_what_was_pressed() {
        let skill = |id: &str, guidance: &str| json!({ "id": id, "step": "s1", "text": format!("# {id}\n## Guidance\n{guidance}") });
        let skills = json!([
            skill("kitchen/right", "1. Open Bake > Sponge.\n2. Choose the entry that the task asks for."),
            skill("kitchen/wrong", "1. Choose Shelf > Sponge > Turn Twice."),
            skill("garden/hose", "1. Open Hose > Nozzle."),
            skill("kitchen/elsewhere", "1. Open the Shelf menu."),
        ]);
        let said = reflect("Turn the sponge sideways and save it.", &skills, &searched());
        let kinds: Vec<String> = said["skill_reviews"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|review| format!("{} {} {}", review["skill_id"], review["followed"], review["impact"]))
            .collect();
        assert_eq!(
            kinds,
            [
                "\"kitchen/right\" \"yes\" \"positive\"",
                "\"kitchen/wrong\" \"partially\" \"negative\"",
                "\"garden/hose\" \"no\" null",
                "\"kitchen/elsewhere\" \"yes\" \"negative\""
            ]
        );
        assert_eq!(said["skill_reviews"][3]["issue_type"], "unclear", "it led to another place");
        assert_eq!(said["new_learnings"], json!([]), "a skill says it already");
    }

    #[test]
    fn what_another_note_tells_is_no_alternative() {
        let skill = |id: &str, guidance: &str| json!({ "id": id, "step": "s1", "text": format!("# {id}\nSponges\n## Guidance\n{guidance}") });
        let told = skill("kitchen/right", "1. Open Bake > Sponge.");
        let read = skill("kitchen/other", "1. Open Window > Curtain.");
        let reason = |skills: Value| {
            let said = reflect("Turn the sponge sideways and save it.", &skills, &searched());
            let reviews = said["skill_reviews"].as_array().cloned().unwrap_or_default();
            reviews.last().map(|review| review["reason"].clone())
        };
        assert_eq!(reason(json!([told, read])), Some(json!("irrelevant")));
        assert_eq!(reason(json!([read])), Some(json!("chose_alternative")));
    }
}
