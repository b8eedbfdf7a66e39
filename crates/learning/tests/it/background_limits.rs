//! Limits of background reviews, as `docs/background-learning.md` states them: what just counts, and what is one over.

use apprentice_learning::background::{
    Answer, READING_SCHEMA, Relation, SessionReading, TurnReading, derive,
};
use apprentice_learning::foreground::ReviewOutcome;
use apprentice_protocol::{ChatRequest, Message};
use apprentice_skillbook::Snapshot;
use apprentice_skillbook::shipped::ShippedPart;
use serde_json::{Value, json};

use crate::background::{Desk, Script, keys, model, unread};
use crate::clerk::{Written, reply};
use crate::shelf::{Shelf, create};

fn left() -> Vec<(&'static str, Value)> {
    vec![("no_skill", json!({ "reason": "basic", "why": "w" }))]
}

/// The material of a request.
fn material(request: &ChatRequest) -> Value {
    let Message::User { content } = &request.messages[0] else { panic!("a question") };
    let text = content[0].as_text().expect("text");
    let block = &text[text.find('{').expect("a block")..=text.rfind('}').expect("an end")];
    serde_json::from_str(block).expect("JSON")
}

/// The material of the decision, which follows the reading.
fn decision(desk: &Desk) -> Value {
    let asked = model(vec![left()]);
    desk.review(&asked);
    material(&asked.requests.lock().expect("unpoisoned")[1])
}

fn shelf() -> Shelf {
    Shelf::with(&[("gimp/layers", "layers")])
}

#[test]
fn five_actions_are_long_work_and_three_elements_in_a_row_a_pattern() {
    let work =
        |names: &[&str]| names.iter().fold(Script::default().asks("a"), |script, name| script.clicks(name));
    let found = |script: Script| keys(&unread(&script.reports("Done.").read())).join(" ");
    assert_eq!(found(work(&["A", "B", "C", "D"])), "");
    assert_eq!(found(work(&["A", "B", "C", "D", "E"])), "run-1#1:create:multi_step_workflow");
    let again = |first: &[&str], then: &[&str]| {
        let second = work(first).reports("Done.").asks("b");
        found(then.iter().fold(second, |script, name| script.clicks(name)))
    };
    assert_eq!(again(&["A", "B", "X"], &["A", "B", "Y"]), "");
    assert_eq!(again(&["A", "B", "C"], &["A", "B", "C"]), "run-1#2:create:repeated_tool_pattern");
}

/// What hurts later uses comes first, then what the person asked for, then what was harder to find out.
#[test]
fn the_weightiest_candidates_are_reviewed_first() {
    let work = |script: Script, names: &[&str]| names.iter().fold(script, |script, name| script.clicks(name));
    let long = work(Script::default().asks("a"), &["A", "B", "C", "D", "E"]).reports("Done.");
    let repeated = work(long.asks("b"), &["A", "B", "C"]).reports("Done.");
    let recovered = repeated.asks("c").fails("Export").clicks("Save").reports("Done.");
    let corrected = recovered.asks("No.").clicks("Open").reports("Done.");
    let faulty = corrected.asks("d").views("gimp/layers").fails("Bold").clicks("Bold").reports("Done.");
    let session = faulty.asks("Keep it.").clicks("Open").reports("Done.").read();
    let answer = |turn, relation, asks_to_remember| TurnReading {
        turn,
        relation,
        asks_to_remember,
        recurs: Answer::Yes,
    };
    let reading = SessionReading {
        turns: vec![answer(4, Relation::Correction, Answer::No), answer(6, Relation::NewTask, Answer::Yes)],
    };
    assert_eq!(
        keys(&derive(&session, &reading)),
        [
            "run-1#6:create:explicit_user_request",
            "run-1#5:patch:gimp/layers",
            "run-1#4:create:user_correction",
            "run-1#3:create:recovered_surprise",
            "run-1#2:create:repeated_tool_pattern",
            "run-1#1:create:multi_step_workflow",
        ]
    );
}

#[test]
fn a_review_takes_up_three_candidates_and_leaves_the_others_to_the_next_one() {
    let turn = |script: Script| script.asks("a").fails("Export").clicks("Save").reports("Done.");
    let desk = Desk::new(shelf(), turn(turn(turn(turn(Script::default())))));
    let unclear = || reply(r#"{"turns":[]}"#, Vec::new());
    let asked = Written::of([unclear()].into_iter().chain((0..3).map(|_| reply("", left()))).collect());
    let summary = desk.review(&asked);
    assert_eq!((summary.outcome, summary.left.len(), summary.reviewed), (ReviewOutcome::Nothing, 3, 3));
    assert_eq!(desk.waiting(), 1);
}

#[test]
fn a_reading_is_tried_three_times_and_a_candidate_has_ten_replies() {
    let desk = Desk::recovered(shelf());
    let unusable = (0..3).map(|_| reply("I would rather not.", Vec::new()));
    let looks = (0..10).map(|_| reply("", vec![("review_event", json!({ "id": "e2" }))]));
    let asked = Written::of(unusable.chain(looks).collect());
    let summary = desk.review(&asked);
    assert_eq!(summary.error, None, "nobody was asked once more");
    assert_eq!(summary.left[0].1, "no decision within the turns allowed");
    let requests = asked.requests.lock().expect("unpoisoned");
    let readings = requests
        .iter()
        .filter(|request| request.schema.as_ref().is_some_and(|schema| schema.name == READING_SCHEMA));
    assert_eq!((readings.count(), requests.len()), (3, 13));
}

/// What a person pays for at most: a reading is short, and a decision holds the text of a skill.
#[test]
fn a_reading_may_take_3000_tokens_and_a_decision_4000() {
    let asked = model(vec![left()]);
    Desk::recovered(shelf()).review(&asked);
    let requests = asked.requests.lock().expect("unpoisoned");
    assert_eq!(requests.iter().map(|request| request.max_output_tokens).collect::<Vec<_>>(), [3000, 4000]);
}

#[test]
fn a_session_of_48_000_characters_is_shown_whole_and_a_longer_one_by_weight() {
    let script = |filler: usize| {
        Script::default().asks(&"x".repeat(filler)).fails("Export").clicks("Export As").reports("Done.")
    };
    let length = |filler: usize| -> usize {
        script(filler).read().timeline.iter().map(|event| event.detail.chars().count()).sum()
    };
    let fits = 48_000 - length(0);
    assert_eq!(length(fits), 48_000);
    let shown = |filler: usize| decision(&Desk::new(shelf(), script(filler)));
    let (whole, cut) = (shown(fits), shown(fits + 1));
    assert_eq!((&whole["whole"], &cut["whole"]), (&json!(true), &json!(false)));
    assert!(whole.to_string().contains(&"x".repeat(fits)), "no event is cut");
}

#[test]
fn an_event_is_opened_up_to_12_000_characters() {
    let opened = |length: usize| {
        let script =
            Script::default().asks(&"x".repeat(length)).fails("Export").clicks("Save").reports("Done.");
        let asked = model(vec![vec![("review_event", json!({ "id": "e1" }))], left()]);
        Desk::new(shelf(), script).review(&asked);
        let requests = asked.requests.lock().expect("unpoisoned");
        let Some(Message::Results { results, .. }) = requests[2].messages.last() else { panic!("results") };
        results[0].content[0].as_text().expect("text").to_owned()
    };
    let head = opened(1).chars().count() - 1;
    assert!(opened(12_000 - head).ends_with(&"x".repeat(100)));
    let cut = opened(12_001 - head);
    assert!(!cut.contains(&"x".repeat(12_001 - head)) && cut.chars().count() <= 12_000, "{}", cut.len());
}

#[test]
fn a_reader_gets_thirty_turns_and_1500_characters_of_each_instruction() {
    let turns = |count: usize, length: usize| {
        let turn = |script: Script, _| script.asks(&"x".repeat(length)).clicks("A").reports("Done.");
        let desk = Desk::new(shelf(), (0..count).fold(Script::default(), turn));
        let asked = Written::words(&[r#"{"turns":[]}"#]);
        desk.review(&asked);
        let request = asked.requests.lock().expect("unpoisoned")[0].clone();
        material(&request)
    };
    let shown = turns(31, 1500);
    assert_eq!(shown["turns"].as_array().map(Vec::len), Some(30));
    assert_eq!((&shown["earlier_turns_left_out"], &shown["turns"][0]["turn"]), (&json!(1), &json!(2)));
    assert_eq!(shown["turns"][0]["person"], "x".repeat(1500));
    assert_eq!(turns(30, 1)["earlier_turns_left_out"], 0);
    let cut = turns(2, 1501)["turns"][1]["person"].as_str().map(|text| text.chars().count());
    assert!(cut.is_some_and(|length| length <= 1500), "{cut:?}");
}

#[test]
fn a_review_lists_150_skills_and_counts_the_rest() {
    let shelf = shelf();
    let (mut gateway, _) = shelf.open();
    for number in 0..150 {
        create(&mut gateway, &format!("os/n{number:03}"), "alpha");
    }
    drop(gateway);
    let shown = decision(&Desk::recovered(shelf));
    let own = 151;
    let shipped = Snapshot::empty().with_shipped(ShippedPart::All).skills().count();
    assert_eq!(shown["skills"].as_array().map(Vec::len), Some(150));
    assert_eq!(shown["skills_left_out"], json!(own + shipped - 150));
}

#[test]
fn a_review_gets_the_last_twenty_lines_of_the_journal_about_its_skill() {
    let script =
        Script::default().asks("a").fails("Bold").views("gimp/layers").clicks("Bold").reports("Done.");
    let desk = Desk::new(shelf(), script);
    let journal = desk.shelf.path().join(".meta/learning.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let about = |number: u32| {
        let mut line = first.clone();
        (line["id"], line["run"]) = (json!(format!("l{}", 100 + number)), json!(format!("earlier-{number}")));
        (line["skill"], line["event"]) = (json!("gimp/layers"), json!("skill.declared_used"));
        line.as_object_mut().expect("an object").retain(|key, _| key != "tool_iters" && key != "usd");
        format!("{line}\n")
    };
    let lines: String = (1..=21).map(about).collect();
    std::fs::write(&journal, format!("{text}{lines}")).expect("written");
    let shown = decision(&desk);
    let receipts = shown["skill"]["receipts"].as_array().expect("receipts");
    assert_eq!(receipts.len(), 20);
    assert_eq!((&receipts[0]["run"], &receipts[19]["run"]), (&json!("earlier-2"), &json!("earlier-21")));
}
