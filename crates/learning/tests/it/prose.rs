//! Held-out prose: pairs of notes that agree, differ or contradict each other, written by somebody who knows no rule of
//! this program. A manager that cites nothing changes no page, whatever it tries. A reader's recorded answers
//! (`prose/answers.jsonl`) are held against the pairs, and acting on them changes a page only where both agree.

use std::collections::BTreeMap;
use std::path::Path;

use apprentice_learning::manage::{ItemOutcome, ManageOptions, WorkItem, manage};
use apprentice_learning::{HandlerOptions, LearningInput, apply_reviews};
use apprentice_protocol::Verdict;
use apprentice_skillbook::review::{Checked, Learning, SkillReview};
use apprentice_skillbook::{Gateway, OpId};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, id};

#[derive(Deserialize)]
struct Pair {
    id: String,
    kind: String,
    a: Note,
    b: Note,
}

#[derive(Deserialize)]
struct Note {
    situation: String,
    guidance: String,
}

#[derive(Deserialize)]
struct Answer {
    id: String,
    answer: String,
}

fn lines<T: for<'de> Deserialize<'de>>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/prose").join(name);
    let text = std::fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect()
}

/// Decides on the second note of a pair as a correction of a page, after another attempt had reported the first.
/// Returns the written tool and the page's guidance.
fn correct(pair: &Pair, turns: Vec<Vec<(&str, Value)>>) -> (Option<String>, String) {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let review = |note: &Note| -> SkillReview {
        serde_json::from_value(json!({
            "skill_id": "gimp/a", "followed": "yes", "impact": "negative", "issue_type": "incomplete",
            "what_went_wrong": note.situation, "corrected_guidance": note.guidance,
        }))
        .expect("a review")
    };
    let count = |gateway: &mut Gateway, name: &str, review: &SkillReview| {
        let trajectory = attempt(name, "goal", Verdict::Pass, &[("gimp/a", 1)]);
        let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
        let checked = Checked { reviews: vec![(id("gimp/a"), review.clone())], ..Checked::default() };
        apply_reviews(gateway, &input, &checked, &HandlerOptions::default()).expect("handled");
    };
    count(&mut gateway, "one", &review(&pair.a));
    assert_eq!(gateway.state().last, OpId(2));
    let (review, key) = (review(&pair.b), id("gimp/a"));
    count(&mut gateway, "two", &review);
    let trajectory = attempt("two", "goal", Verdict::Pass, &[("gimp/a", 1)]);
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    let item = WorkItem::Review(&key, &review);
    let model = Written::turns(turns);
    let decision =
        run(manage(&model, &mut gateway, &input, &item, &ManageOptions::default())).expect("decides");
    let tool = match decision.outcome {
        ItemOutcome::Wrote { tool, .. } => Some(tool),
        _ => None,
    };
    (tool, gateway.state().skills[&key].text.guidance.clone())
}

fn read() -> (&'static str, Value) {
    ("read_skills", json!({"skill_ids": ["gimp/a"]}))
}

fn update(pair: &Pair, fields: &Value) -> (&'static str, Value) {
    let mut arguments = json!({"skill_id": "gimp/a", "guidance": pair.b.guidance});
    for (key, value) in fields.as_object().expect("fields") {
        arguments[key] = value.clone();
    }
    ("update_skill", arguments)
}

#[test]
fn the_pairs_are_many_and_of_three_kinds() {
    let pairs: Vec<Pair> = lines("pairs.jsonl");
    assert!(pairs.len() >= 60, "{}", pairs.len());
    for kind in ["agree", "differ", "contradict"] {
        assert!(pairs.iter().filter(|pair| pair.kind == kind).count() >= 20, "{kind}");
    }
}

#[test]
fn without_a_citation_no_pair_changes_a_page() {
    for pair in &lines::<Pair>("pairs.jsonl") {
        let gone = ("delete_skill", json!({"skill_id": "gimp/a"}));
        let turns =
            vec![vec![read(), update(pair, &json!({})), gone], vec![update(pair, &json!({}))], vec![]];
        assert_eq!(correct(pair, turns), (None, "1. Open alpha.".to_owned()), "{}", pair.id);
    }
}

#[test]
fn a_suspicion_is_lifted_by_no_words_however_alike() {
    for pair in &lines::<Pair>("pairs.jsonl") {
        let shelf = Shelf::new();
        let (mut gateway, _) = shelf.open();
        let learning = |note: &Note| -> Learning {
            serde_json::from_value(json!({
                "type": "discovered", "scope": "os", "situation": note.situation, "guidance": note.guidance,
                "confidence": "low", "evidence": ["s1"],
            }))
            .expect("a learning")
        };
        let first = attempt("one", "goal", Verdict::Pass, &[]);
        let input = LearningInput::new(&first, Timestamp::UNIX_EPOCH);
        let checked = Checked { learnings: vec![learning(&pair.a)], ..Checked::default() };
        apply_reviews(&mut gateway, &input, &checked, &HandlerOptions::default()).expect("handled");
        let second = attempt("two", "goal", Verdict::Pass, &[]);
        let input = LearningInput::new(&second, Timestamp::UNIX_EPOCH);
        let told = learning(&pair.b);
        let create = json!({"domain": "os", "skill_name": "new", "description": "New", "situation": told.situation(),
                            "guidance": told.guidance()});
        let look = ("fetch_similar_skills", json!({"situation": told.situation()}));
        let model = Written::turns(vec![vec![look, ("create_skill", create)], vec![]]);
        let item = WorkItem::Learning(0, &told);
        let decision =
            run(manage(&model, &mut gateway, &input, &item, &ManageOptions::default())).expect("decides");
        assert!(matches!(decision.outcome, ItemOutcome::Nothing { .. }), "{}: {decision:?}", pair.id);
    }
}

#[test]
fn recorded_answers_of_a_reader_are_right_and_act_accordingly() {
    let pairs: BTreeMap<String, Pair> =
        lines::<Pair>("pairs.jsonl").into_iter().map(|pair| (pair.id.clone(), pair)).collect();
    let answers: Vec<Answer> = lines("answers.jsonl");
    assert_eq!(answers.len(), pairs.len(), "every pair was judged");
    let mut right = 0;
    for Answer { id, answer } in &answers {
        let pair = &pairs[id];
        right += usize::from(pair.kind == *answer);
        let report = json!(["o2"]);
        let call = match answer.as_str() {
            "agree" => update(pair, &json!({ "agrees_with": report })),
            "contradict" => update(pair, &json!({ "agrees_with": [], "conflicts_with": report })),
            "differ" => ("leave_item", json!({"reason": "unsupported", "why": "It is about another thing."})),
            other => panic!("{id}: {other:?} is no answer"),
        };
        let (tool, _) = correct(pair, vec![vec![read(), call], vec![]]);
        assert_eq!(tool.is_some(), answer == "agree", "{id}: {answer}");
        assert!(!(pair.kind == "contradict" && tool.is_some()), "{id}: a contradiction passed as agreement");
    }
    assert!(right * 10 >= answers.len() * 9, "{right} of {} are right", answers.len());
}
