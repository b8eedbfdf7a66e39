//! The review table, row by row, with both settings of the credit for partial following.

use std::collections::BTreeMap;

use apprentice_learning::reflect::{EvidenceRule, check};
use apprentice_learning::{HandlerOptions, LearningInput, ReviewEffect, apply_reviews, review_effect};
use apprentice_protocol::Verdict;
use apprentice_skillbook::Counts;
use apprentice_skillbook::review::{Checked, SkillReview, TrajectoryReflection};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::attempt;
use crate::shelf::{Shelf, id};

fn review(mut fields: Value) -> SkillReview {
    fields["skill_id"] = json!("gimp/a");
    serde_json::from_value(fields).expect("a review")
}

/// (row, followed with half credit, followed with full credit, positive, negative, neutral, notes, to manager)
type Expected = (Value, f64, f64, [u32; 3], &'static [&'static str], bool);

fn table() -> Vec<Expected> {
    let positive = |followed| json!({"followed": followed, "impact": "positive", "what_helped": "h"});
    let neutral = |followed, suggestion: Option<&str>| {
        json!({"followed": followed, "impact": "neutral", "reason": "marginal",
               "suggested_improvement": suggestion})
    };
    let negative = |followed, correction: Option<&str>| {
        json!({"followed": followed, "impact": "negative", "issue_type": "incorrect",
               "what_went_wrong": "no such entry", "corrected_guidance": correction})
    };
    let not_followed = |reason, instead: Option<&str>| json!({"followed": "no", "reason": reason, "explanation": "because", "alternative_used": instead});
    vec![
        (positive("yes"), 1.0, 1.0, [1, 0, 0], &[], false),
        (positive("partially"), 0.5, 1.0, [1, 0, 0], &[], false),
        (neutral("yes", None), 1.0, 1.0, [0, 0, 1], &[], false),
        (neutral("partially", None), 0.5, 0.5, [0, 0, 1], &[], false),
        (neutral("yes", Some("say more")), 1.0, 1.0, [0, 0, 1], &[], true),
        (neutral("partially", Some("say more")), 0.5, 0.5, [0, 0, 1], &[], true),
        (negative("yes", Some("go there")), 1.0, 1.0, [0, 1, 0], &[], true),
        (negative("partially", Some("go there")), 0.5, 0.5, [0, 1, 0], &[], true),
        (negative("yes", None), 1.0, 1.0, [0, 1, 0], &["[incorrect] no such entry"], false),
        (negative("partially", None), 0.5, 0.5, [0, 1, 0], &["[incorrect] no such entry"], false),
        (not_followed("irrelevant", None), 0.0, 0.0, [0; 3], &[], false),
        (not_followed("already_knew", None), 0.0, 0.0, [0; 3], &[], false),
        (not_followed("chose_alternative", None), 0.0, 0.0, [0; 3], &["[chose_alternative] because"], false),
        (
            not_followed("chose_alternative", Some("a key")),
            0.0,
            0.0,
            [0; 3],
            &["[chose_alternative] because", "[alternative] a key"],
            false,
        ),
        (not_followed("seemed_wrong", None), 0.0, 0.0, [0; 3], &[], true),
        (not_followed("seemed_wrong", Some("a key")), 0.0, 0.0, [0; 3], &[], true),
    ]
}

pub(crate) fn every_row_counts_writes_and_forwards_as_the_table_says() {
    for (fields, half, full, [positive, negative, neutral], notes, to_manager) in table() {
        for (credit, followed) in [(0.5, half), (1.0, full)] {
            let review = review(fields.clone());
            let expected = ReviewEffect {
                counts: Counts {
                    times_requested: 1,
                    times_followed: followed,
                    positive_impact: positive,
                    negative_impact: negative,
                    neutral_impact: neutral,
                    times_unreviewed: 0,
                },
                notes: notes.iter().map(|note| (*note).to_owned()).collect(),
                to_manager,
            };
            let options = HandlerOptions { positive_partial_credit: credit };
            assert_eq!(review_effect(&review, &options), expected, "{review:?}");
            stored(&review, &options, &expected);
        }
    }
}

/// Checks the same rows in a book.
fn stored(review: &SkillReview, options: &HandlerOptions, expected: &ReviewEffect) {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let trajectory = attempt("t", "goal", Verdict::Pass, &[("gimp/a", 1)]);
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    let checked = Checked { reviews: vec![(id("gimp/a"), review.clone())], ..Checked::default() };
    for _ in 0..2 {
        let handled = apply_reviews(&mut gateway, &input, &checked, options).expect("handled");
        assert_eq!(handled.forward.len(), usize::from(expected.to_manager));
        assert_eq!(handled.refusals, []);
        let book = gateway.snapshot();
        let skill = book.skill(&id("gimp/a")).expect("a skill");
        assert_eq!(skill.counters, BTreeMap::from([((1, "teacher".to_owned()), expected.counts)]));
        assert_eq!(skill.page().annotations, expected.notes, "twice handled is once counted");
    }
}

#[test]
fn requests_are_counted_by_the_trace_and_not_by_the_model() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta")]);
    let (mut gateway, _) = shelf.open();
    let trajectory = attempt("t", "goal", Verdict::Pass, &[("gimp/a", 1), ("gimp/b", 1)]);
    let said = json!({"skill_reviews": [
        {"skill_id": "gimp/a", "followed": "yes", "impact": "positive", "what_helped": "h"},
        {"skill_id": "gimp/a", "followed": "no", "reason": "irrelevant", "explanation": "e"},
        {"skill_id": "gimp/invented", "followed": "no", "reason": "irrelevant", "explanation": "e"},
    ]});
    let reflection: TrajectoryReflection = serde_json::from_value(said).expect("reads");
    let checked = check(reflection, &trajectory, EvidenceRule::Trace, 3);
    assert_eq!(checked.dropped.len(), 2);
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    apply_reviews(&mut gateway, &input, &checked, &HandlerOptions::default()).expect("handled");
    let book = gateway.snapshot();
    let counts = |skill: &str| book.skill(&id(skill)).expect("a skill").counts(Some("teacher"));
    assert_eq!((counts("gimp/a").times_requested, counts("gimp/a").positive_impact), (1, 1));
    assert_eq!((counts("gimp/b").times_requested, counts("gimp/b").times_unreviewed), (1, 1));
}
