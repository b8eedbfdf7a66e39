//! Limits of a conversation with the manager, at their edges: what an item shows, what is answered, and what is kept.

use apprentice_learning::manage::{Decision, ManageItem, ManageOptions, WorkItem, item, manage};
use apprentice_learning::{HandlerOptions, LearningInput, apply_reviews};
use apprentice_protocol::{Message, Trajectory, Verdict};
use apprentice_skillbook::review::{Checked, Learning};
use apprentice_skillbook::{Actor, Change, Gateway, GatewayOptions, WriteMode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, creation, id, request, text, write};

fn learning(situation: &str) -> Learning {
    serde_json::from_value(json!({"type": "discovered", "scope": "gimp", "situation": situation,
        "guidance": "1. Go.", "confidence": "medium", "evidence": ["s1"]}))
    .expect("a learning")
}

fn own() -> Trajectory {
    attempt("own", "goal", Verdict::Pass, &[])
}

fn decide(gateway: &mut Gateway, model: &Written) -> Decision {
    let (own, mine) = (own(), learning("You look."));
    let input = LearningInput::new(&own, Timestamp::UNIX_EPOCH);
    run(manage(model, gateway, &input, &WorkItem::Learning(0, &mine), &ManageOptions::default()))
        .expect("decides")
}

fn shown(gateway: &Gateway, own: &Trajectory) -> ManageItem {
    let mine = learning("You look.");
    let input = LearningInput::new(own, Timestamp::UNIX_EPOCH);
    item(gateway.state(), &input, &WorkItem::Learning(0, &mine), &ManageOptions::default()).expect("an item")
}

fn answered(gateway: &mut Gateway, tool: &str, arguments: Value) -> (Decision, String) {
    let model = Written::turns(vec![vec![(tool, arguments)], vec![]]);
    let decision = decide(gateway, &model);
    let requests = model.requests.lock().expect("unpoisoned");
    let last = requests.last().and_then(|request| request.messages.last());
    let Some(Message::Results { results, .. }) = last else { panic!("{last:?}") };
    let text = results[0].content[0].as_text().expect("text").to_owned();
    (decision, text)
}

#[test]
fn a_cited_step_shows_lines_of_200_characters_and_the_eighth_part_of_500_tokens_for_its_end() {
    let (gateway, _) = Shelf::new().open();
    let cut = |title: usize, finish: usize| {
        let mut own = own();
        own.steps[0].seen.title = "t".repeat(title);
        own.steps[0].finish = Some("f".repeat(finish));
        let step = shown(&gateway, &own).evidence_steps.remove(0);
        let finish = step.finish.map(|text| text.to_string()).expect("an end");
        [step.seen.title, finish].map(|text| text.contains("more characters]"))
    };
    // A token has three characters: 62 have 186.
    assert_eq!(cut(200, 186), [false, false]);
    assert_eq!(cut(201, 187), [true, true]);
}

#[test]
fn a_report_that_is_only_named_shows_100_characters_of_its_beginning() {
    for (length, whole) in [(100, true), (101, false)] {
        let (mut gateway, _) = Shelf::new().open();
        let situation = "s".repeat(length);
        let learnings = vec![learning(&situation); 13];
        let other = attempt("other", "goal", Verdict::Pass, &[]);
        let input = LearningInput::new(&other, Timestamp::UNIX_EPOCH);
        let checked = Checked { learnings, ..Checked::default() };
        apply_reviews(&mut gateway, &input, &checked, &HandlerOptions::default()).expect("handled");
        let item = shown(&gateway, &own());
        assert_eq!((item.earlier_reports.len(), item.farther_reports.len()), (12, 1));
        let begins = item.farther_reports[0].begins.clone().expect("a beginning");
        assert_eq!(begins == situation, whole, "{begins}");
        assert!(begins.chars().count() <= 100);
    }
}

#[test]
fn the_manager_may_answer_with_4000_tokens_and_300_characters_of_its_last_words_are_kept() {
    for (length, whole) in [(300, true), (301, false)] {
        let (mut gateway, _) = Shelf::new().open();
        let words = "w".repeat(length);
        let model = Written::words(&[&words]);
        decide(&mut gateway, &model);
        assert_eq!(model.requests.lock().expect("unpoisoned")[0].max_output_tokens, 4000);
        let kept = gateway.snapshot().operations().into_iter().find_map(|one| match one.change {
            Change::ItemClosed { outcome, .. } => Some(outcome),
            _ => None,
        });
        let kept = kept.expect("a decision");
        assert_eq!(kept == words, whole, "{kept}");
        assert!(kept.starts_with("www") && kept.chars().count() <= 300);
    }
}

#[test]
fn a_tool_answers_the_manager_with_24_000_characters() {
    let (mut gateway, _) = Shelf::new().open();
    let around = json!({ "missing": [""], "skills": [] }).to_string().len();
    for (length, whole) in [(24_000, true), (24_001, false)] {
        let asked = "x".repeat(length - around);
        let (_, text) = answered(&mut gateway, "read_skills", json!({ "skill_ids": [asked] }));
        assert!(text.contains("xxx") && text.chars().count() <= 24_000);
        assert_eq!(!text.ends_with("more characters]"), whole);
        (gateway, _) = Shelf::new().open();
    }
}

#[test]
fn a_similarity_is_told_as_a_share_with_two_decimals() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let text = text("Raising layers", "Moving stacks upward slowly", "1. Drag thumbnails.");
    let (skill, annotations) = (id("os/layers"), Vec::new());
    let origin = apprentice_skillbook::Origin::Learned;
    write(&mut gateway, Change::SkillCreated { skill, text, annotations, origin, domain: None })
        .expect("written");
    let similarity = |situation: &str| {
        let (mut gateway, _) = shelf.open();
        let asked = json!({ "situation": situation });
        let (decision, _) = answered(&mut gateway, "fetch_similar_skills", asked);
        decision.calls[0].answer["skills"][0]["similarity"].clone()
    };
    drop(gateway);
    assert_eq!(similarity("Raising windows elsewhere"), json!(0.41), "one word of three and two");
}

#[test]
fn twenty_pages_that_wait_for_a_person_are_named_the_newest() {
    for (waiting, named, oldest) in [(20, 20, "os/n00"), (21, 20, "os/n01")] {
        let shelf = Shelf::new();
        let options =
            GatewayOptions { mode: WriteMode::Propose, ..GatewayOptions::at(Timestamp::UNIX_EPOCH) };
        let mut gateway = Gateway::open(shelf.path(), options).expect("opens").0;
        for number in 0..waiting {
            let page = creation(&format!("os/n{number:02}"), "alpha");
            gateway.apply(request(Actor::Manager, page)).expect("proposed");
        }
        let asked = json!({ "situation": "You look." });
        let (decision, _) = answered(&mut gateway, "fetch_similar_skills", asked);
        let told = decision.calls[0].answer["waiting_for_a_person"].clone();
        let told: Vec<String> = serde_json::from_value(told).expect("names");
        assert_eq!((told.len(), told.last().map(String::as_str)), (named, Some(oldest)));
    }
}
