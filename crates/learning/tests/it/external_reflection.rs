//! External reflections, learned from on their own word.

use apprentice_learning::manage::ItemOutcome;
use apprentice_learning::{AppliedReflection, ExternalReflection, HandlerOptions, LearnOptions, apply};
use apprentice_skillbook::review::Dropped;
use apprentice_skillbook::{Counts, Gateway};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, run};
use crate::shelf::{Shelf, id};

fn work_in(
    gateway: &mut Gateway,
    reflections: &Value,
    manager: &Written,
    options: &LearnOptions,
) -> Vec<AppliedReflection> {
    let given = ExternalReflection::read(&reflections.to_string()).expect("reads");
    let one = |given| run(apply(gateway, manager, given, Timestamp::UNIX_EPOCH, options)).expect("applies");
    given.iter().map(one).collect()
}

fn silent() -> Written {
    Written::turns(vec![vec![]; 20])
}

/// Requested, followed, positive, negative, neutral.
type Numbers = (u32, f64, u32, u32, u32);

fn numbers(counts: Counts) -> Numbers {
    let Counts { times_requested, times_followed, positive_impact, negative_impact, neutral_impact, .. } =
        counts;
    (times_requested, times_followed, positive_impact, negative_impact, neutral_impact)
}

#[test]
fn every_row_of_the_table_is_told() {
    let review = |fields: Value| {
        let mut review = json!({"skill_id": "gimp/a"});
        for (key, value) in fields.as_object().expect("fields") {
            review[key] = value.clone();
        }
        review
    };
    let positive = json!({"followed": "partially", "impact": "positive", "what_helped": "the menu"});
    let neutral = |more: Option<&str>| {
        let mut neutral = json!({"followed": "partially", "impact": "neutral", "reason": "marginal"});
        if let Some(more) = more {
            neutral["suggested_improvement"] = json!(more);
        }
        neutral
    };
    let negative = |more: Option<&str>| {
        let mut negative = json!({"followed": "yes", "impact": "negative", "issue_type": "unclear", "what_went_wrong": "lost"});
        if let Some(more) = more {
            negative["corrected_guidance"] = json!(more);
        }
        negative
    };
    let passed_by = |reason: &str| json!({"followed": "no", "reason": reason, "explanation": "why", "alternative_used": "F5"});
    let rows: [(Value, Numbers, &[&str], bool); 9] = [
        (positive, (1, 0.5, 1, 0, 0), &[], false),
        (neutral(None), (1, 0.5, 0, 0, 1), &[], false),
        (neutral(Some("more")), (1, 0.5, 0, 0, 1), &[], true),
        (negative(None), (1, 1.0, 0, 1, 0), &["[unclear] lost"], false),
        (negative(Some("better")), (1, 1.0, 0, 1, 0), &[], true),
        (passed_by("irrelevant"), (1, 0.0, 0, 0, 0), &[], false),
        (passed_by("already_knew"), (1, 0.0, 0, 0, 0), &[], false),
        (
            passed_by("chose_alternative"),
            (1, 0.0, 0, 0, 0),
            &["[chose_alternative] why", "[alternative] F5"],
            false,
        ),
        (passed_by("seemed_wrong"), (1, 0.0, 0, 0, 0), &[], true),
    ];
    for (fields, added, annotations, to_manager) in rows {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let (mut gateway, _) = shelf.open();
        let entry = json!([{"trajectory_id": "t1", "consumer": "small", "verdict": "fail",
                            "skill_reviews": [review(fields.clone())]}]);
        let applied = work_in(&mut gateway, &entry, &silent(), &LearnOptions::default()).remove(0);
        let row = &applied.rows[0];
        assert_eq!(numbers(row.added), added, "{fields}");
        assert_eq!(
            (numbers(row.before), numbers(row.after)),
            (numbers(Counts::default()), added),
            "{fields}"
        );
        assert_eq!(
            (row.annotations.as_slice(), row.to_manager),
            (&annotations.iter().map(ToString::to_string).collect::<Vec<_>>()[..], to_manager)
        );
        assert_eq!(applied.decisions.len(), usize::from(to_manager), "{fields}");
        assert_eq!(shelf.snapshot().skill(&id("gimp/a")).expect("there").page().annotations, annotations);
    }
}

#[test]
pub(crate) fn a_partial_success_counts_as_configured() {
    for credit in [0.5, 1.0] {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let (mut gateway, _) = shelf.open();
        let options = LearnOptions {
            handler: HandlerOptions { positive_partial_credit: credit },
            ..LearnOptions::default()
        };
        let entry = json!({"skill_reviews": [
            {"skill_id": "gimp/a", "followed": "partially", "impact": "positive", "what_helped": "x"}]});
        let applied = work_in(&mut gateway, &entry, &silent(), &options);
        assert!((applied[0].rows[0].after.times_followed - credit).abs() < 1e-9);
    }
}

#[test]
fn a_first_complaint_is_noted_and_a_second_attempt_changes_the_text() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let complaint = |trajectory: &str| {
        json!({"trajectory_id": trajectory, "consumer": "small", "verdict": "pass", "skill_reviews": [
            {"skill_id": "gimp/a", "followed": "yes", "impact": "negative", "issue_type": "incorrect",
             "what_went_wrong": "there is no such entry", "corrected_guidance": "1. Open Layer > Beta."}]})
    };
    let read = || ("read_skills", json!({"skill_ids": ["gimp/a"]}));
    let update = || ("update_skill", json!({"skill_id": "gimp/a", "guidance": "1. Open Layer > Beta."}));
    let agreed = (
        "update_skill",
        json!({"skill_id": "gimp/a", "guidance": "1. Open Layer > Beta.", "agrees_with": ["o3"]}),
    );
    let annotate = ("annotate_skill", json!({"skill_id": "gimp/a", "annotation": "reported as missing"}));
    let manager =
        Written::turns(vec![vec![read()], vec![update()], vec![annotate], vec![read()], vec![agreed]]);
    let applied =
        work_in(&mut gateway, &json!([complaint("t1"), complaint("t2")]), &manager, &LearnOptions::default());
    let codes: Vec<&str> = applied[0].decisions[0].refusals.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["not_supported_enough"]);
    assert!(
        matches!(&applied[0].decisions[0].outcome, ItemOutcome::Wrote { tool, .. } if tool == "annotate_skill")
    );
    assert!(
        matches!(&applied[1].decisions[0].outcome, ItemOutcome::Wrote { tool, .. } if tool == "update_skill")
    );
    let skill = gateway.state().skills[&id("gimp/a")].clone();
    assert_eq!(
        (skill.version, skill.counts(None), skill.lifetime_counts().negative_impact),
        (2, Counts::default(), 2)
    );
    let calls: Vec<(&str, bool)> =
        applied[0].decisions[0].calls.iter().map(|call| (call.name.as_str(), call.is_error)).collect();
    assert_eq!(calls, [("read_skills", false), ("update_skill", true), ("annotate_skill", false)]);
}

#[test]
fn reviews_are_held_against_what_was_retrieved_and_names_act_once() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta")]);
    let (mut gateway, _) = shelf.open();
    let review =
        |skill: &str| json!({"skill_id": skill, "followed": "yes", "impact": "positive", "what_helped": "x"});
    let entry = json!({"trajectory_id": "t1", "retrieved": ["gimp/a", "gimp/b"],
                       "skill_reviews": [review("gimp/a"), review("gimp/a"), review("gimp/z")]});
    let applied = work_in(&mut gateway, &entry, &silent(), &LearnOptions::default()).remove(0);
    assert_eq!(
        applied.dropped,
        [Dropped::SecondReview { skill: id("gimp/a") }, Dropped::UnknownSkill { skill_id: "gimp/z".into() }]
    );
    let kinds: Vec<(&str, u32)> =
        applied.rows.iter().map(|row| (row.review_type.as_str(), row.after.times_unreviewed)).collect();
    assert_eq!(kinds, [("positive", 0), ("unreviewed", 1)]);
    let hash = gateway.snapshot().log_hash();
    let again = work_in(&mut gateway, &entry, &silent(), &LearnOptions::default()).remove(0);
    assert!(again.known_before && again.rows.is_empty());
    assert_eq!(gateway.snapshot().log_hash(), hash);
}

#[test]
fn learnings_need_no_trace_here_but_a_failure_leaves_suspicions() {
    let learning = json!({"type": "friction", "scope": "GIMP", "situation": "You want a see-through colour.",
                          "guidance": "1. Open Colors > Color to Alpha.", "confidence": "high", "steps_wasted": 4});
    let create = json!({"domain": "gimp", "skill_name": "color-to-alpha", "description": "Making a colour transparent",
                        "situation": "You want a see-through colour.", "guidance": "1. Open Colors > Color to Alpha."});
    let turns = || {
        let look = ("fetch_similar_skills", json!({"situation": "see-through"}));
        let domain = ("create_domain", json!({"domain": "gimp", "description": "Pictures."}));
        Written::turns(vec![vec![look], vec![domain], vec![("create_skill", create.clone())], vec![]])
    };
    for (verdict, skills, candidates) in [("pass", 1, 1), ("fail", 0, 1)] {
        let shelf = Shelf::new();
        let (mut gateway, _) = shelf.open();
        let entry = json!({"verdict": verdict, "new_learnings": [learning]});
        work_in(&mut gateway, &entry, &turns(), &LearnOptions::default());
        let state = gateway.state();
        assert_eq!((state.skills.len(), state.candidates.len()), (skills, candidates), "{verdict}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let check = |text: &str, part: &str| {
        let error = ExternalReflection::read(text).expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
    };
    check("[", "not JSON");
    check("3", "a reflection is an object");
    check(r#"[{}, {"skill_reviews": [{"skill_id": "a/b", "followed": "yes"}]}]"#, "reflection 1: ");
    check(r#"{"verdict": "void"}"#, "void");
    check(r#"{"verdict": "maybe"}"#, "pass or fail");
    check(r#"{"reviews": []}"#, "unknown field `reviews`");
    check(r#"{"retrieved": ["no id"]}"#, "retrieved");
}

#[test]
fn an_empty_text_says_as_little_as_none() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta"), ("gimp/c", "gamma")]);
    let (mut gateway, _) = shelf.open();
    let reviews = json!({ "skill_reviews": [
        {"skill_id": "gimp/a", "followed": "yes", "impact": "negative", "issue_type": "unclear",
         "what_went_wrong": "lost", "corrected_guidance": " "},
        {"skill_id": "gimp/b", "followed": "yes", "impact": "neutral", "reason": "marginal",
         "suggested_improvement": ""},
        {"skill_id": "gimp/c", "followed": "no", "reason": "chose_alternative", "explanation": "why",
         "alternative_used": ""},
    ], "retrieved": null, "versions": null, "consumer": null });
    let applied = work_in(&mut gateway, &reviews, &silent(), &LearnOptions::default());
    let told: Vec<_> = applied[0].rows.iter().map(|row| (&row.annotations[..], row.to_manager)).collect();
    let [complaint, other] = [vec!["[unclear] lost".to_owned()], vec!["[chose_alternative] why".to_owned()]];
    assert_eq!(told, [(&complaint[..], false), (&[][..], false), (&other[..], false)]);
    assert_eq!(applied[0].decisions, []);
}

#[test]
fn what_a_reflection_lacks_is_named_with_its_place() {
    let learning = |key: &str, value: Value| {
        let mut learning = json!({"type": "friction", "scope": "gimp", "situation": "A colour must go.",
            "guidance": "Open Colors.", "confidence": "high", "steps_wasted": 1});
        learning[key] = value;
        json!([{}, {"new_learnings": [learning]}]).to_string()
    };
    for (text, part) in [
        (learning("steps_wasted", json!(0)), "reflection 1: new_learnings[0].steps_wasted is 0"),
        (learning("situation", json!(" ")), "new_learnings[0] needs both"),
        (learning("guidance", json!("")), "new_learnings[0] needs both"),
        (learning("confidence", json!("sure")), "new_learnings[0]: unknown variant `sure`"),
        (json!({"skill_reviews": [{"followed": "yes"}]}).to_string(), "skill_reviews[0]: a review needs"),
    ] {
        let error = ExternalReflection::read(&text).expect_err("it lacks something").to_string();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(ExternalReflection::read("\u{feff}[{}]\r\n").expect("a mark is no fault").len(), 1);
}
