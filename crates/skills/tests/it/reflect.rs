//! The reflector: its requests, the answers it accepts, and the problems it returns to the model.

use apprentice_protocol::{Message, StepId, Verdict};
use apprentice_skills::reflect::{
    Confidence, Dropped, EvidenceRule, MaterialBudget, ReflectError, ReflectOptions, TrajectoryReflection,
    check, material, reflect, reflection_request, reflection_schema,
};
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, run};

fn learning(confidence: &str, evidence: &[&str], wasted: u32) -> Value {
    json!({"type": "friction", "scope": "gimp", "situation": "s", "guidance": "g", "confidence": confidence,
           "steps_wasted": wasted, "evidence": evidence})
}

#[test]
fn the_request_is_prose_and_one_block() {
    let mut trajectory = attempt("t", "Make the sky transparent", Verdict::Pass, &[("gimp/a", 1)]);
    trajectory.score = 0.5;
    let request = reflection_request(&trajectory, &ReflectOptions::default()).expect("a request");
    let Message::User { content } = &request.messages[0] else { panic!("{:?}", request.messages) };
    insta::assert_snapshot!("reflect_system", request.system);
    insta::assert_snapshot!("reflect_user", content[0].as_text().expect("text"));
    insta::assert_json_snapshot!("reflect_schema", reflection_schema());
}

#[test]
fn a_long_attempt_is_bounded_and_its_gaps_are_counted() {
    let mut trajectory = attempt("t", "goal", Verdict::Fail, &[]);
    let step = trajectory.steps[0].clone();
    trajectory.steps = (1..=500)
        .map(|number| {
            let mut step = step.clone();
            step.id = StepId(number);
            step.seen.changed = vec!["+ text \"x\"".repeat(100); 50];
            if number == 250 {
                step.actions[0].outcome = "failed: no such element".into();
            }
            step
        })
        .collect();
    let shown = material(&trajectory, &MaterialBudget::default(), 3);
    assert_eq!(shown.steps.len(), 40);
    let ids: Vec<u32> = shown.steps.iter().map(|step| step.id.0).collect();
    assert!([1, 2, 250, 495, 500].iter().all(|id| ids.contains(id)), "{ids:?}");
    assert_eq!(shown.left_out.iter().map(|gap| gap.steps).sum::<usize>(), 460);
    let size = serde_json::to_string(&shown).expect("writes").len();
    assert!(size < 120_000, "{size}");
}

#[test]
fn a_wrong_answer_is_handed_back_with_its_fault() {
    let good = json!({"skill_reviews": [], "new_learnings": [learning("high", &["s2"], 2)]}).to_string();
    let model = Written::words(&[
        "I would rather talk.",
        r#"{"skill_reviews": [], "learnings": []}"#,
        &format!("Here it is:\n```json\n{good}\n```"),
    ]);
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let reflected = run(reflect(&model, &trajectory, &ReflectOptions::default())).expect("reflects");
    assert_eq!((reflected.tries, reflected.reflection.new_learnings.len()), (3, 1));
    assert!(
        reflected.problems[0].contains("no JSON object") && reflected.problems[1].contains("`learnings`")
    );
    let requests = model.requests.lock().expect("unpoisoned");
    let Some(Message::User { content }) = requests[2].messages.last() else { panic!("{requests:?}") };
    assert!(content[0].as_text().expect("text").contains("unknown field `learnings`"));
}

#[test]
fn after_three_wrong_answers_there_is_none() {
    let wrong = json!({"new_learnings": [learning("high", &["s1"], 9)]}).to_string();
    let model = Written::words(&[&wrong, &wrong, &wrong, &wrong]);
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let error = run(reflect(&model, &trajectory, &ReflectOptions::default())).expect_err("no answer");
    let ReflectError::Unusable { problems } = error else { panic!("{error}") };
    assert_eq!(problems.len(), 3);
    assert!(problems[2].contains("steps_wasted is 9; the attempt has 3 steps"), "{problems:?}");
}

#[test]
fn confidence_rests_on_a_verdict_and_on_steps() {
    let settled = |verdict, evidence: &[&str]| {
        let said = json!({"new_learnings": [learning("high", evidence, 1)]});
        let reflection: TrajectoryReflection = serde_json::from_value(said).expect("reads");
        let checked = check(reflection, &attempt("t", "goal", verdict, &[]), EvidenceRule::Trace, 3);
        checked.learnings[0].confidence()
    };
    assert_eq!(settled(Verdict::Pass, &["s1"]), Confidence::High);
    assert_eq!(settled(Verdict::Pass, &[]), Confidence::Low);
    assert_eq!(settled(Verdict::Pass, &["s99"]), Confidence::Low);
    assert_eq!(settled(Verdict::Fail, &["s1"]), Confidence::Low);
}

#[test]
fn learnings_over_the_cap_are_set_aside() {
    let said = json!({"new_learnings": vec![learning("high", &["s1"], 1); 5]});
    let reflection: TrajectoryReflection = serde_json::from_value(said).expect("reads");
    let checked = check(reflection, &attempt("t", "goal", Verdict::Pass, &[]), EvidenceRule::Trace, 3);
    assert_eq!((checked.learnings.len(), checked.overflow.len()), (3, 2));
    assert_eq!(checked.dropped, [Dropped::OverCap { index: 3 }, Dropped::OverCap { index: 4 }]);
}
