//! Program versions: recorded with the evidence, reported where they differ, and never invented.

use std::collections::BTreeMap;

use apprentice_guidance::{ArmPolicy, SKILL_VIEW, TaskView, build_guidance};
use apprentice_learning::reflect::{ReflectOptions, material, outcome};
use apprentice_learning::{ExternalReflection, LearnOptions, apply};
use apprentice_protocol::{EventKind, StepId, StepRef, Trajectory, Verdict, Versions};
use apprentice_skillbook::{
    Actor, Change, Gateway, KnownVersions, Operation, Snapshot, VersionEvidence, WriteRequest,
    is_same_release, version_of,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, creation, id, request, text};

fn versions(known: &[(&str, &str)]) -> Versions {
    known.iter().map(|(app, version)| ((*app).to_owned(), (*version).to_owned())).collect()
}

fn on(known: &[(&str, &str)], actor: Actor, change: Change) -> WriteRequest {
    WriteRequest { seen: versions(known), ..request(actor, change) }
}

fn update(skill: &str, guidance: &str) -> Change {
    let (skill, guidance) = (id(skill), Some(guidance.to_owned()));
    Change::SkillUpdated { skill, description: None, situation: None, guidance }
}

fn seen_on(book: &Snapshot, skill: &str) -> Vec<(String, String)> {
    let skill = book.skill(&id(skill)).expect("there");
    skill.confirmed_versions().into_iter().map(|one| (one.app.clone(), one.app_version.clone())).collect()
}

fn shelf_on(known: &[(&str, &str)]) -> Shelf {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    gateway.apply(on(known, Actor::Manager, creation("gimp/a", "alpha"))).expect("written");
    shelf
}

fn given(gateway: &mut Gateway, entry: &Value) {
    let given = ExternalReflection::read(&entry.to_string()).expect("reads");
    for one in &given {
        let silent = Written::turns(vec![vec![]; 4]);
        let options = LearnOptions::default();
        run(apply(gateway, &silent, one, Timestamp::UNIX_EPOCH, &options)).expect("applies");
    }
}

#[test]
fn a_text_is_kept_with_the_version_it_was_written_on_and_a_new_text_starts_anew() {
    let shelf = shelf_on(&[("gimp", "2.10.34"), ("os", "debian-12"), ("thunar", "4.18.4")]);
    assert_eq!(seen_on(&shelf.snapshot(), "gimp/a"), [("gimp".into(), "2.10.34".into())]);
    let (mut gateway, _) = shelf.open();
    gateway.apply(on(&[], Actor::Manager, update("gimp/a", "1. Press F2."))).expect("written");
    assert_eq!(seen_on(&gateway.snapshot(), "gimp/a"), [], "nobody said what it was written on");
    gateway
        .apply(on(&[("gimp", "3.0.2")], Actor::Manager, update("gimp/a", "1. Press F3.")))
        .expect("written");
    drop(gateway);
    let book = shelf.snapshot();
    assert_eq!(seen_on(&book, "gimp/a"), [("gimp".into(), "3.0.2".into())]);
    let all = &book.skill(&id("gimp/a")).expect("there").version_evidence;
    assert_eq!(all.iter().map(|one| one.version).collect::<Vec<_>>(), [1, 3], "earlier versions keep theirs");
}

#[test]
fn reviews_confirm_and_outdate_and_their_note_names_the_version() {
    let shelf = shelf_on(&[("gimp", "2.10.34")]);
    let (mut gateway, _) = shelf.open();
    let helped =
        json!({"skill_id": "gimp/a", "followed": "yes", "impact": "positive", "what_helped": "the menu"});
    let outdated = json!({"skill_id": "gimp/a", "followed": "yes", "impact": "negative", "issue_type": "outdated",
                          "what_went_wrong": "the menu is gone"});
    given(
        &mut gateway,
        &json!([
            {"trajectory_id": "t1", "verdict": "pass", "versions": {"gimp": "2.10.34"}, "skill_reviews": [helped]},
            {"trajectory_id": "t2", "verdict": "pass", "versions": {"gimp": "2.8.0"}, "skill_reviews": [helped]},
            {"trajectory_id": "t3", "verdict": "fail", "versions": {"gimp": "2.6.0"}, "skill_reviews": [helped]},
            {"trajectory_id": "t4", "verdict": "fail", "versions": {"gimp": "3.0.2"}, "skill_reviews": [outdated]},
            {"trajectory_id": "t5", "verdict": "fail", "skill_reviews": [outdated]},
        ]),
    );
    drop(gateway);
    let book = shelf.snapshot();
    let skill = book.skill(&id("gimp/a")).expect("there");
    let sighting = |app_version: &str, written, confirmed, outdated| VersionEvidence {
        version: 1,
        app: "gimp".into(),
        app_version: app_version.into(),
        written,
        confirmed,
        outdated,
    };
    let expected = [
        sighting("2.10.34", true, 1, 0),
        sighting("2.8.0", false, 1, 0),
        // A failed attempt confirms nothing.
        sighting("3.0.2", false, 0, 1),
    ];
    assert_eq!(skill.version_evidence, expected);
    let holds = ["2.10.34", "2.8.0"].map(|version| ("gimp".to_owned(), version.to_owned()));
    assert_eq!(seen_on(&book, "gimp/a"), holds, "where it was outdated it was not seen to hold");
    let notes = ["[outdated] on gimp 3.0.2: the menu is gone", "[outdated] the menu is gone"];
    assert_eq!(skill.page().annotations, notes);
}

#[test]
fn what_is_taken_back_leaves_what_was_seen_before() {
    let shelf = shelf_on(&[("gimp", "2.10.34")]);
    let (mut gateway, _) = shelf.open();
    let helped =
        json!({"skill_id": "gimp/a", "followed": "yes", "impact": "positive", "what_helped": "the menu"});
    given(&mut gateway, &json!({"versions": {"gimp": "2.10.34"}, "skill_reviews": [helped]}));
    gateway
        .apply(on(&[("gimp", "3.0.2")], Actor::Manager, update("gimp/a", "1. Press F3.")))
        .expect("written");
    let changed = gateway.state().last;
    gateway.revert(changed, Timestamp::UNIX_EPOCH).expect("reverted");
    let skill = gateway.state().skills[&id("gimp/a")].clone();
    assert_eq!((skill.version, skill.text.guidance.as_str()), (3, "1. Open alpha."));
    assert_eq!(seen_on(&gateway.snapshot(), "gimp/a"), [("gimp".into(), "2.10.34".into())]);
    assert!(
        skill.version_evidence.iter().all(|one| one.app_version != "3.0.2"),
        "{:?}",
        skill.version_evidence
    );

    let operations = gateway.snapshot().operations();
    let line = operations.last().expect("one").to_line().expect("a line");
    let shown = serde_json::to_value(skill.as_ref()).expect("a skill");
    assert!(line.contains("\"sightings\":[") && shown.get("sightings").is_some(), "the name in files stays");
    let review =
        operations.iter().find(|one| matches!(one.change, Change::SkillReviewed { .. })).expect("one");
    gateway.revert(review.id, Timestamp::UNIX_EPOCH).expect("reverted");
    let skill = gateway.state().skills[&id("gimp/a")].clone();
    assert_eq!(skill.version_evidence.iter().find(|one| one.version == 1).map(|one| one.confirmed), Some(0));
    drop(gateway);
    assert_eq!(
        *shelf.snapshot().skill(&id("gimp/a")).expect("there"),
        *skill,
        "the log alone tells the same"
    );
}

#[test]
fn who_cleans_sees_no_program_and_what_is_merged_was_seen_where_its_parts_were() {
    let shelf = shelf_on(&[("gimp", "2.10.34")]);
    let (mut gateway, _) = shelf.open();
    let Change::SkillCreated { skill, text: words, annotations, origin, .. } = creation("gimp/b", "beta")
    else {
        panic!("a creation")
    };
    let second = Change::SkillCreated { skill, text: words, annotations, origin, domain: None };
    gateway.apply(on(&[("gimp", "2.8.0")], Actor::Manager, second)).expect("written");
    let merged = text("Both", "You need both.", "1. Open both of them.");
    let merge = |actor, (source, target): (&str, &str)| {
        on(&[], actor, Change::SkillMerged { source: id(source), target: id(target), text: merged.clone() })
    };
    gateway.apply(merge(Actor::Cleaner, ("gimp/b", "gimp/a"))).expect("written");
    let both = ["2.10.34", "2.8.0"].map(|version| ("gimp".to_owned(), version.to_owned()));
    assert_eq!(seen_on(&gateway.snapshot(), "gimp/a"), both);
}

#[test]
fn versions_say_nothing_of_themselves() {
    let one = shelf_on(&[("gimp", "2.10.34")]).snapshot();
    let other = shelf_on(&[]).snapshot();
    assert_eq!(one.content_hash(), other.content_hash(), "no model is told by the book itself");
    for unsound in ["", "do as I say", "1.0\nignore", &"1".repeat(41), "versionless", "1.0 (see http://x.y)"]
    {
        assert_eq!(seen_on(&shelf_on(&[("gimp", unsound)]).snapshot(), "gimp/a"), [], "{unsound:?}");
    }
    // Lines of books that were written before anybody asked for versions.
    let lines: Vec<String> = other.operations().iter().map(|one| one.to_line().expect("a line")).collect();
    assert!(lines.iter().all(|line| !line.contains("\"seen\"")), "{lines:?}");
    for line in &lines {
        assert_eq!(Operation::from_line(line).expect("reads").to_line().expect("a line"), *line);
    }
}

#[test]
fn a_domain_finds_its_program_and_a_release_is_two_numbers() {
    let known = versions(&[("libreoffice-calc", "7.4.7"), ("os", "debian-12"), ("gimp", "2.10.34")]);
    assert_eq!(version_of(&known, "libreoffice"), Some(("libreoffice-calc", "7.4.7")));
    assert_eq!(version_of(&known, "general"), Some(("os", "debian-12")));
    assert_eq!(version_of(&known, "os"), Some(("os", "debian-12")));
    for domain in ["thunar", "gim", "libre", "libreoffice-writer"] {
        assert_eq!(version_of(&known, domain), None, "{domain}");
    }
    for (one, other, same) in [
        ("7.4.7", "7.4.2", true),
        ("7.4.7", "24.2.3", false),
        ("156.0.8078.79", "156.0.8078.112", true),
        ("156.0.8078.79", "157.0.1.1", false),
        ("debian-12", "debian-12", true),
        ("debian-12", "ubuntu-22.04", false),
    ] {
        assert_eq!(is_same_release(one, other), same, "{one} {other}");
    }
}

#[test]
fn an_agent_hears_of_versions_only_where_they_differ() {
    let book = shelf_on(&[("gimp", "2.10.34")]).snapshot();
    let told = |known: &[(&str, Option<&str>)]| {
        let present = KnownVersions::default();
        let task = TaskView { present: present.clone(), ..TaskView::default() };
        let guidance = build_guidance(&book, &ArmPolicy::Pull { figures: false }, &task).expect("lent");
        let opening = guidance.opening.as_str().to_owned();
        // No world is open yet when a book is lent.
        let versions: BTreeMap<String, Option<String>> =
            known.iter().map(|(app, version)| ((*app).to_owned(), version.map(str::to_owned))).collect();
        present.record(&EventKind::VersionsSeen { versions });
        let tool = guidance.tools.iter().find(|tool| tool.spec().name == SKILL_VIEW).expect("lent");
        let arguments = json!({"skill": "gimp/a"});
        let outcome = run(tool.call(&arguments, StepRef { step: StepId(1) }));
        (opening, outcome.content[0].as_text().expect("text").to_owned(), outcome.events)
    };
    let (opening, plain, _) = told(&[]);
    for silent in [&[("gimp", None)][..], &[("gimp", Some("2.10.36"))], &[("thunar", Some("1.0"))]] {
        let (same_opening, text, _) = told(silent);
        assert_eq!((same_opening.as_str(), text.as_str()), (opening.as_str(), plain.as_str()), "{silent:?}");
    }
    let (same_opening, text, events) = told(&[("gimp", Some("3.0.2"))]);
    assert_eq!(same_opening, opening, "an opening is fixed before a world is");
    let remark = text.strip_prefix(plain.as_str()).expect("the text as it is, and something below it");
    insta::assert_snapshot!(remark.trim(), @"(Seen to hold on gimp 2.10.34. What you have before you is gimp 3.0.2: names and places may be others there.)");
    let EventKind::Skill(event) = &events[0] else { panic!("{events:?}") };
    assert_eq!(event.text.as_deref(), Some(text.as_str()), "the trace holds what was delivered");
}

#[test]
fn an_agent_hears_of_the_three_latest_versions_on_which_a_text_held() {
    let shelf = shelf_on(&[("gimp", "2.2.0")]);
    let (mut gateway, _) = shelf.open();
    let helped =
        json!({"skill_id": "gimp/a", "followed": "yes", "impact": "positive", "what_helped": "the menu"});
    let held_on = |version: &str| json!({"trajectory_id": version, "verdict": "pass", "versions": {"gimp": version}, "skill_reviews": [helped]});
    given(&mut gateway, &json!(["2.4.0", "2.6.0", "2.8.0", "2.10.0"].map(held_on)));
    drop(gateway);
    let present = KnownVersions::default();
    let task = TaskView { present: present.clone(), ..TaskView::default() };
    let guidance =
        build_guidance(&shelf.snapshot(), &ArmPolicy::Pull { figures: false }, &task).expect("lent");
    let versions = BTreeMap::from([("gimp".to_owned(), Some("3.0.2".to_owned()))]);
    present.record(&EventKind::VersionsSeen { versions });
    let tool = guidance.tools.iter().find(|tool| tool.spec().name == SKILL_VIEW).expect("lent");
    let outcome = run(tool.call(&json!({"skill": "gimp/a"}), StepRef { step: StepId(1) }));
    let text = outcome.content[0].as_text().expect("text");
    assert!(text.contains("Seen to hold on gimp 2.6.0, 2.8.0, 2.10.0."), "{text}");
}

#[test]
fn reflectors_are_told_what_is_known() {
    let mut trajectory = attempt("t", "Open it", Verdict::Pass, &[]);
    let options = ReflectOptions::default();
    let shown = |trajectory: &Trajectory| {
        let block = serde_json::to_value(material(trajectory, &options)).expect("json");
        let here = serde_json::to_value(outcome(trajectory, &options)).expect("json");
        (block["versions"].clone(), here["versions"].clone())
    };
    assert_eq!(shown(&trajectory), (Value::Null, Value::Null));
    trajectory.versions = versions(&[("gimp", "2.10.34")]);
    let known = json!({"gimp": "2.10.34"});
    assert_eq!(shown(&trajectory), (known.clone(), known));
}
