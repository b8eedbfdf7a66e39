//! A skill that harms leaves the book by the table, also when every attempt with it failed; the counts are settings.

use std::sync::Arc;

use apprentice_learning::cleanup::CleanupOptions;
use apprentice_learning::manage::ManageOptions;
use apprentice_learning::{LearnOptions, LearnerModels, LearningInput, clean_book, learn_trajectory};
use apprentice_protocol::{JudgedBy, Trajectory, Verdict};
use apprentice_skillbook::{Actor, Cause, Change, Gateway, Judgement, Stage, WriteRequest};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, id};

fn options(negatives: u32, needed: usize) -> LearnOptions {
    LearnOptions {
        clean: CleanupOptions { every: 100, negative_threshold: negatives, ..CleanupOptions::default() },
        manage: ManageOptions { corroboration: needed, ..ManageOptions::default() },
        ..LearnOptions::default()
    }
}

fn failed(name: &str) -> Trajectory {
    attempt(name, "Keep a copy", Verdict::Fail, &[("gimp/a", 1)])
}

/// Learns from an attempt in which the skill did harm, without a correction or with one that the manager answers so.
fn suffer(
    gateway: &mut Gateway,
    trajectory: &Trajectory,
    turns: Option<Vec<Vec<(&str, Value)>>>,
    by: &LearnOptions,
) {
    let mut review = json!({"skill_id": "gimp/a", "followed": "yes", "impact": "negative",
                            "issue_type": "incorrect", "what_went_wrong": "The entry closes the program."});
    if turns.is_some() {
        review["corrected_guidance"] = json!("1. Choose another entry.");
    }
    let models = LearnerModels {
        reflector: Arc::new(Written::words(&[&json!({"skill_reviews": [review]}).to_string()])),
        manager: Arc::new(Written::turns(turns.unwrap_or_default())),
    };
    let input = LearningInput::new(trajectory, Timestamp::UNIX_EPOCH);
    run(learn_trajectory(gateway, &models, &input, by)).expect("learns");
}

fn reviews(gateway: &Gateway) -> Vec<String> {
    let known = &gateway.state().skills[&id("gimp/a")];
    known.remarks.iter().filter_map(|remark| Some(remark.id?.to_string())).collect()
}

fn delete(cited: &[String]) -> Vec<Vec<(&'static str, Value)>> {
    vec![
        vec![("read_skills", json!({"skill_ids": ["gimp/a"]}))],
        vec![("delete_skill", json!({"skill_id": "gimp/a", "agrees_with": cited}))],
        vec![],
    ]
}

/// Cleans up with a manager that deletes, citing these reports. Returns the codes of refusals.
fn cleaned(gateway: &mut Gateway, cited: &[String], by: &LearnOptions) -> Vec<String> {
    let models = LearnerModels {
        reflector: Arc::new(Written::words(&[])),
        manager: Arc::new(Written::turns(delete(cited))),
    };
    let trajectory = failed("cleaning");
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    let decisions = run(clean_book(gateway, &models, &input, by)).expect("cleans");
    decisions.into_iter().flat_map(|one| one.refusals).map(|refusal| refusal.code).collect()
}

#[test]
fn a_skill_that_failed_in_every_attempt_is_deleted_by_the_cleaner() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let by = options(3, 2);
    for name in ["one", "two", "three"] {
        suffer(&mut gateway, &failed(name), None, &by);
    }
    let reports = reviews(&gateway);
    assert_eq!(cleaned(&mut gateway, &reports[..2], &by), Vec::<String>::new());
    assert!(!gateway.state().skills.contains_key(&id("gimp/a")), "it is gone");
    assert!(gateway.state().tombstones.contains_key(&id("gimp/a")), "and kept");
}

#[test]
fn a_review_may_delete_from_the_counts_that_are_set() {
    for (negatives, goes) in [(3, true), (4, false)] {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let (mut gateway, _) = shelf.open();
        let by = options(negatives, 2);
        for name in ["one", "two"] {
            suffer(&mut gateway, &failed(name), None, &by);
        }
        let cited = reviews(&gateway)[..1].to_vec();
        suffer(&mut gateway, &failed("three"), Some(delete(&cited)), &by);
        assert_eq!(!gateway.state().skills.contains_key(&id("gimp/a")), goes, "from {negatives} on");
    }
}

#[test]
fn too_few_attempts_praise_and_opinions_delete_nothing() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let by = options(3, 2);
    for name in ["one", "two", "three"] {
        let opinion = Trajectory { judged_by: JudgedBy::Model, ..failed(name) };
        suffer(&mut gateway, &opinion, None, &by);
        let (verdict, why) = (Some(Verdict::Fail), "It looks wrong.".to_owned());
        let judged = Change::AttemptJudged(Judgement { by: JudgedBy::Model, verdict, why });
        let cause = Cause { trajectory: opinion.id, item: "judged".to_owned(), stage: Stage::Learn };
        let request = WriteRequest::of(Actor::Learner, Timestamp::UNIX_EPOCH, judged);
        gateway.apply(WriteRequest { cause: Some(cause), ..request }).expect("noted");
    }
    let reports = reviews(&gateway);
    let judged_by_nobody = delete(&reports[..2]).remove(1);
    let few = delete(&reports[..1]).remove(1);
    let read = delete(&[]).remove(0);
    let models = LearnerModels {
        reflector: Arc::new(Written::words(&[])),
        manager: Arc::new(Written::turns(vec![read, few, judged_by_nobody, vec![]])),
    };
    let trajectory = failed("cleaning");
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    let decisions = run(clean_book(&mut gateway, &models, &input, &by)).expect("cleans");
    let codes: Vec<&str> =
        decisions.iter().flat_map(|one| &one.refusals).map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["not_supported_enough", "unjudged"]);
    assert!(gateway.state().skills.contains_key(&id("gimp/a")));

    let again = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = again.open();
    for name in ["one", "two", "three"] {
        suffer(&mut gateway, &failed(name), None, &by);
    }
    let praise = json!({"skill_reviews": [{"skill_id": "gimp/a", "followed": "yes", "impact": "positive",
                                           "what_helped": "The entry."}]});
    let models = LearnerModels {
        reflector: Arc::new(Written::words(&[&praise.to_string()])),
        manager: Arc::new(Written::words(&[])),
    };
    let passed = attempt("four", "Keep a copy", Verdict::Pass, &[("gimp/a", 1)]);
    let input = LearningInput::new(&passed, Timestamp::UNIX_EPOCH);
    run(learn_trajectory(&mut gateway, &models, &input, &by)).expect("learns");
    let reports = reviews(&gateway);
    assert_eq!(cleaned(&mut gateway, &[reports[0].clone(), reports[3].clone()], &by), ["no_harm"]);
}
