//! The acceptance scenarios of the source designs that learning alone shows, one test each. Details are tested in the modules concerned.
//! `evaluator` tests the reduction of steps with a book and the leaks by other routes, because it has environments and
//! suites.

use std::sync::Arc;

use apprentice_guidance::{ArmPolicy, SKILL_SEARCH, SKILL_VIEW, TaskView, build_guidance};
use apprentice_learning::{LearnOptions, LearnerModels, LearningInput, learn_trajectory};
use apprentice_protocol::{ChatModel, StepId, StepRef, Verdict};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, run};
use crate::shelf::Shelf;
use crate::{author, external_reflection, foreground, manage, table};

const WAY: &str = "1. Choose Filters > Color > Color to Alpha.";

#[test]
fn s01_a_way_that_was_found_is_learned_once_and_asked_for() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let found = json!({
        "type": "friction", "scope": "gimp", "situation": "A colour is to become transparent.", "guidance": WAY,
        "confidence": "high", "steps_wasted": 2, "evidence": ["s3"],
    });
    let reflector = Written::words(&[&json!({ "skill_reviews": [], "new_learnings": [found] }).to_string()]);
    let create = json!({
        "domain": "gimp", "skill_name": "color-to-alpha", "description": "Making a colour transparent",
        "situation": "A colour is to become transparent.", "guidance": WAY,
    });
    let domain = json!({ "domain": "gimp", "description": "Edits pictures." });
    let look = json!({ "situation": "A colour is to become transparent." });
    let manager = Arc::new(Written::turns(vec![
        vec![("fetch_similar_skills", look)],
        vec![("create_domain", domain), ("create_skill", create)],
    ]));
    let asked: Arc<dyn ChatModel> = manager.clone();
    let staff = LearnerModels { reflector: Arc::new(reflector), manager: asked };
    let trajectory = attempt("t", "Make the sky transparent", Verdict::Pass, &[]);
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    let digested =
        run(learn_trajectory(&mut gateway, &staff, &input, &LearnOptions::default())).expect("learns");
    assert_eq!((digested.decisions.len(), digested.refusals.len()), (1, 0), "{digested:?}");
    drop(gateway);
    assert!(shelf.read("DOMAINS.md").contains("- gimp (1 skill): Edits pictures."));
    assert!(shelf.read("gimp/INDEX.md").contains("gimp/color-to-alpha"));
    // Whoever is weaker sees the domain, searches, and reads.
    let guidance =
        build_guidance(&shelf.snapshot(), &ArmPolicy::Pull { figures: false }, &TaskView::default())
            .expect("lends");
    assert!(guidance.opening.as_str().contains("gimp"), "{:?}", guidance.opening);
    let call = |name: &str, arguments: Value| {
        let tool = guidance.tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
        let outcome = run(tool.call(&arguments, StepRef { step: StepId(1) }));
        outcome.content[0].as_text().expect("text").to_owned()
    };
    let hits = call(SKILL_SEARCH, json!({ "query": "make a color transparent" }));
    assert!(hits.starts_with("- gimp/color-to-alpha: "), "{hits}");
    assert!(call(SKILL_VIEW, json!({ "skill": "gimp/color-to-alpha" })).contains(WAY));
}

#[test]
fn s02_the_table_counts_row_by_row_with_both_credits() {
    table::every_row_counts_writes_and_forwards_as_the_table_says();
    external_reflection::a_partial_success_counts_as_configured();
}

#[test]
fn s03_an_item_has_one_write() {
    manage::a_domain_and_its_skill_are_one_change();
    manage::a_domain_without_its_skill_is_not_opened();
}

#[test]
fn s04_a_complaint_is_noted_and_a_second_one_updates() {
    manage::a_first_complaint_annotates_and_a_second_one_updates();
}

#[test]
fn s05_cleaning_keeps_to_its_borders_and_asks_once() {
    manage::a_pair_at_the_threshold_is_asked_about_and_one_below_is_not();
    manage::a_pair_that_is_kept_is_not_asked_about_again();
}

#[test]
fn s06_signals_get_their_verdicts() {
    foreground::a_signal_counts_only_if_everything_holds();
}

#[test]
fn s08_an_agent_writes_skills_and_nothing_else() {
    author::a_skill_is_created_patched_checked_and_deleted();
    author::names_are_ids_and_never_paths();
    author::a_link_in_the_book_is_not_followed();
    author::what_no_skill_may_hold_is_refused();
}
