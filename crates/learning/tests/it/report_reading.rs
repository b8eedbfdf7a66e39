//! Reports that an item cuts or only names: the manager reads them whole before it cites them.

use apprentice_learning::manage::{Decision, ItemOutcome, ManageOptions, WorkItem, item, manage};
use apprentice_learning::{HandlerOptions, LearningInput, apply_reviews};
use apprentice_protocol::{Trajectory, Verdict};
use apprentice_skillbook::review::{Checked, Learning, SkillReview};
use apprentice_skillbook::{Gateway, OpId};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, id};

fn tried(name: &str, verdict: Verdict) -> Trajectory {
    attempt(name, "goal", verdict, &[("gimp/a", 1)])
}

/// Counts what an attempt reported, and returns the operation under which it can be cited.
fn count(gateway: &mut Gateway, trajectory: &Trajectory, checked: &Checked) -> String {
    let report = OpId(gateway.state().last.0 + 1);
    let input = LearningInput::new(trajectory, Timestamp::UNIX_EPOCH);
    apply_reviews(gateway, &input, checked, &HandlerOptions::default()).expect("handled");
    report.to_string()
}

fn decide(
    gateway: &mut Gateway,
    own: &Trajectory,
    work_item: &WorkItem<'_>,
    turns: Vec<Vec<(&str, Value)>>,
) -> Decision {
    let input = LearningInput::new(own, Timestamp::UNIX_EPOCH);
    let model = Written::turns(turns);
    run(manage(&model, gateway, &input, work_item, &ManageOptions::default())).expect("decides")
}

fn codes(decision: &Decision) -> Vec<&str> {
    decision.refusals.iter().map(|refusal| refusal.code.as_str()).collect()
}

fn read(ids: &[&str]) -> (&'static str, Value) {
    ("read_reports", json!({ "report_ids": ids }))
}

#[test]
fn a_report_whose_end_is_cut_agrees_only_after_it_was_read() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let complaint = |correction: &str| -> SkillReview {
        serde_json::from_value(json!({
            "skill_id": "gimp/a", "followed": "yes", "impact": "negative", "issue_type": "incorrect",
            "what_went_wrong": "no such entry", "corrected_guidance": correction,
        }))
        .expect("a review")
    };
    let of = |review| Checked { reviews: vec![(id("gimp/a"), review)], ..Checked::default() };
    let long = format!("1. Open Layer > Beta.\n{}9. Keep the box off.", "2. Wait.\n".repeat(90));
    let report = count(&mut gateway, &tried("one", Verdict::Pass), &of(complaint(&long)));
    let (own, mine, key) = (tried("two", Verdict::Fail), complaint("1. Open Layer > Beta."), id("gimp/a"));
    count(&mut gateway, &own, &of(mine.clone()));
    let page = ("read_skills", json!({ "skill_ids": ["gimp/a"] }));
    let update = || {
        let changed =
            json!({ "skill_id": "gimp/a", "guidance": "1. Open Layer > Beta.", "agrees_with": [report] });
        ("update_skill", changed)
    };
    let turns = vec![vec![page, update()], vec![read(&[&report])], vec![update()]];
    let decision = decide(&mut gateway, &own, &WorkItem::Review(&key, &mine), turns);
    assert_eq!(codes(&decision), ["read_first"]);
    let answer = &decision.calls[2].answer;
    assert_eq!(answer["reports"][0]["proposes"], json!(long), "{answer}");
    assert!(matches!(decision.outcome, ItemOutcome::Wrote { .. }), "{decision:?}");
}

#[test]
fn a_report_that_is_only_named_is_read_before_it_is_cited() {
    let (mut gateway, _) = Shelf::new().open();
    let learning: Learning = serde_json::from_value(json!({
        "type": "discovered", "scope": "gimp", "situation": "You want a soft edge.", "guidance": "1. Feather it.",
        "confidence": "medium", "evidence": ["s1"],
    }))
    .expect("a learning");
    let checked = Checked { learnings: vec![learning.clone()], ..Checked::default() };
    for number in 0..20 {
        count(&mut gateway, &tried(&format!("t{number}"), Verdict::Pass), &checked);
    }
    let (own, work_item) = (tried("own", Verdict::Pass), WorkItem::Learning(0, &learning));
    let input = LearningInput::new(&own, Timestamp::UNIX_EPOCH);
    let shown = item(gateway.state(), &input, &work_item, &ManageOptions::default()).expect("an item");
    let named: Vec<String> = shown.farther_reports.iter().map(|report| report.id.to_string()).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(named.len(), 8);
    let leave =
        |id: &str| ("leave_item", json!({ "reason": "other", "why": "It is known.", "agrees_with": [id] }));
    let turns = vec![
        vec![leave(named[0]), leave("o999")],
        vec![read(&named[..7]), read(&[named[7], "o999"])],
        vec![leave(named[6]), leave(named[0])],
    ];
    let decision = decide(&mut gateway, &own, &work_item, turns);
    assert_eq!(codes(&decision), ["read_first", "unknown_report", "read_first"]);
    let [seven, two] = [2, 3].map(|place| &decision.calls[place].answer);
    assert_eq!(seven["reports"].as_array().map(Vec::len), Some(6), "{seven}");
    assert_eq!((&seven["missing"], seven["note"].is_string()), (&json!([named[6]]), true));
    assert_eq!((two["reports"].as_array().map(Vec::len), &two["missing"]), (Some(1), &json!(["o999"])));
    assert!(matches!(decision.outcome, ItemOutcome::Nothing { reason: Some(_), .. }), "{decision:?}");
}
