//! Held-out prose through the whole rule-based path: reflections are applied, and the rule-based manager decides. It does
//! not understand what texts mean, so no pair of notes, whatever its kind, may end in a changed page. Nearness is measured
//! as by default, with the built-in vectors.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use apprentice_learning::{
    ExternalReflection, LearnOptions, LearnerModels, LearningInput, apply, clean_book, trajectory_by_name,
};
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::{ChatModel, SkillId};
use apprentice_skillbook::{Change, Gateway, GatewayOptions, NewDomain, Origin, SkillText, WriteRequest};
use apprentice_wording::EmbeddingModel;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

const SEPARATE: &str = "contradictions and differences never change a page";

fn pairs() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../learning/tests/it/prose/pairs.jsonl");
    let text = std::fs::read_to_string(path).expect("pairs");
    text.lines().map(|line| serde_json::from_str(line).expect("a pair")).collect()
}

fn page(gateway: &mut Gateway, situation: &str, guidance: &str) {
    named_page(gateway, "page", &json!({ "situation": situation, "guidance": guidance }));
}

fn named_page(gateway: &mut Gateway, name: &str, note: &Value) {
    let text = |key: &str| note[key].as_str().expect("a text").to_owned();
    let words = |text: &str| text.to_owned();
    let domain = NewDomain { domain: words("program"), description: words("A program.") };
    let change = Change::SkillCreated {
        skill: SkillId::parse(&format!("program/{name}")).expect("an id"),
        text: SkillText {
            description: words("About it"),
            situation: text("situation"),
            guidance: text("guidance"),
        },
        annotations: Vec::new(),
        origin: Origin::Learned,
        domain: gateway.state().skills.is_empty().then_some(domain),
    };
    let actor = apprentice_skillbook::Actor::Manager;
    gateway.apply(WriteRequest::of(actor, Timestamp::UNIX_EPOCH, change)).expect("written");
}

/// Applies reflections in order, and returns the texts of the book's pages.
async fn texts(gateway: &mut Gateway, reflections: &Value) -> Vec<SkillText> {
    let manager = BuiltInModel::new(Policy::Explorer);
    for given in ExternalReflection::read(&reflections.to_string()).expect("reads") {
        apply(gateway, &manager, &given, Timestamp::UNIX_EPOCH, &LearnOptions::default())
            .await
            .expect("applies");
    }
    gateway.state().skills.values().map(|skill| skill.text.clone()).collect()
}

fn opened() -> (TempDir, Gateway) {
    let folder = TempDir::new().expect("a folder");
    let options = GatewayOptions::at(Timestamp::UNIX_EPOCH);
    let (mut gateway, _) = Gateway::open(folder.path(), options).expect("opens");
    gateway.set_embedding(Some(Arc::new(EmbeddingModel::builtin())));
    (folder, gateway)
}

#[tokio::test]
async fn corrections_in_other_words_change_nothing() {
    for pair in pairs() {
        let (_folder, mut gateway) = opened();
        page(&mut gateway, "The program is open.", "1. Look at the window.");
        let report = |name: &str, note: &Value| {
            json!({"trajectory_id": name, "verdict": "pass", "skill_reviews": [{
                "skill_id": "program/page", "followed": "yes", "impact": "negative", "issue_type": "incorrect",
                "what_went_wrong": note["situation"], "corrected_guidance": note["guidance"]}]})
        };
        let both = json!([report("t1", &pair["a"]), report("t2", &pair["b"])]);
        let texts = texts(&mut gateway, &both).await;
        assert_eq!(texts[0].guidance, "1. Look at the window.", "{}: {SEPARATE}", pair["id"]);
        assert_eq!(texts.len(), 1, "{}", pair["id"]);
    }
}

#[tokio::test]
async fn learnings_in_other_words_change_no_page_and_lift_no_suspicion() {
    for (confidence, pages) in [("medium", 1), ("low", 0)] {
        for pair in pairs() {
            let (_folder, mut gateway) = opened();
            let told = |name: &str, note: &Value| {
                json!({"trajectory_id": name, "verdict": "pass", "new_learnings": [{
                    "type": "discovered", "scope": "program", "situation": note["situation"],
                    "guidance": note["guidance"], "confidence": confidence, "evidence": ["s1"]}]})
            };
            let first = texts(&mut gateway, &json!([told("t1", &pair["a"])])).await;
            assert!(first.len() <= pages, "{}", pair["id"]);
            let both = texts(&mut gateway, &json!([told("t2", &pair["b"])])).await;
            assert!(both.len() >= first.len(), "{}: a page is gone", pair["id"]);
            for known in first {
                assert!(both.contains(&known), "{}: {SEPARATE}", pair["id"]);
            }
            assert!(pages > 0 || both.is_empty(), "{}: a suspicion was lifted by alike words", pair["id"]);
        }
    }
}

#[tokio::test]
async fn a_cleanup_finds_pages_near_in_meaning_and_merges_none_of_them() {
    let mut flagged: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let manager: Arc<dyn ChatModel> = Arc::new(BuiltInModel::new(Policy::Explorer));
    let staff = LearnerModels { reflector: Arc::clone(&manager), manager };
    let trajectory = trajectory_by_name("cleaning");
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    for pair in pairs() {
        let (_folder, mut gateway) = opened();
        named_page(&mut gateway, "one", &pair["a"]);
        named_page(&mut gateway, "other", &pair["b"]);
        let before: Vec<SkillText> =
            gateway.state().skills.values().map(|skill| skill.text.clone()).collect();
        clean_book(&mut gateway, &staff, &input, &LearnOptions::default()).await.expect("cleans");
        let after: Vec<SkillText> = gateway.state().skills.values().map(|skill| skill.text.clone()).collect();
        assert_eq!(after, before, "{}: {SEPARATE}", pair["id"]);
        let log = gateway.snapshot().operations();
        let was = log.iter().any(|operation| matches!(operation.change, Change::CleanupFlagged { .. }));
        let counts = flagged.entry(pair["kind"].as_str().expect("a kind").to_owned()).or_default();
        *counts = [counts[0] + usize::from(was), counts[1] + 1];
    }
    // What is flagged costs the manager an item; most pages that differ are not.
    println!("flagged as duplicates by the built-in vectors or by words: {flagged:?}");
    let [differing, of] = flagged["differ"];
    assert!(differing * 4 <= of, "{flagged:?}");
}

#[tokio::test]
async fn the_same_text_agrees_but_for_its_spacing_and_another_case_does_not() {
    for (second, changed) in
        [("1.  Press  g.", true), ("1. Press G.", false), ("1. Press g now.", false), ("1. Press g.\n", true)]
    {
        let (_folder, mut gateway) = opened();
        page(&mut gateway, "The program is open.", "1. Look at the window.");
        let report = |name: &str, correction: &str| {
            json!({"trajectory_id": name, "verdict": "pass", "skill_reviews": [{
                "skill_id": "program/page", "followed": "yes", "impact": "negative", "issue_type": "unclear",
                "what_went_wrong": "nothing happened", "corrected_guidance": correction}]})
        };
        let both = json!([report("t1", "1. Press g."), report("t2", second)]);
        let texts = texts(&mut gateway, &both).await;
        assert_eq!(texts[0].guidance != "1. Look at the window.", changed, "{second:?}");
    }
}
