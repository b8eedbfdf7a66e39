//! Verified skills, and the skills that each policy admits to a trial.

use apprentice_learning::{HandlerOptions, LearningInput, apply_reviews, note_trial};
use apprentice_protocol::{JudgedBy, Trajectory, Verdict};
use apprentice_skillbook::review::{Checked, SkillReview};
use apprentice_skillbook::verification::{AdmissionPolicy, admit, verification, verified_skills};
use apprentice_skillbook::{
    Actor, Applied, Cause, Change, Gateway, NewDomain, Origin, Snapshot, Stage, WriteRequest,
};
use jiff::Timestamp;

use crate::clerk::attempt;
use crate::shelf::{Shelf, create, id, request, text, write};

const SKILL: &str = "gimp/a";

fn input(trajectory: &Trajectory) -> LearningInput<'_> {
    LearningInput::new(trajectory, Timestamp::UNIX_EPOCH)
}

/// A book whose skill was learned from an attempt at a task of the template "source".
fn learned() -> Shelf {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let source = attempt("source", "goal", Verdict::Pass, &[]);
    note_trial(&mut gateway, &input(&source), "source").expect("noted");
    let domain = NewDomain { domain: "gimp".into(), description: "Pictures.".into() };
    let change = Change::SkillCreated {
        skill: id(SKILL),
        text: text("About alpha", "You need alpha.", "1. Open Colors > Entry 2."),
        annotations: Vec::new(),
        origin: Origin::Learned,
        domain: Some(domain),
    };
    let cause = Cause { trajectory: source.id, item: "learning:0".into(), stage: Stage::Manage };
    let request = WriteRequest { cause: Some(cause), ..request(Actor::Manager, change) };
    gateway.apply(request).expect("written");
    shelf
}

/// An attempt that clicks Entry 1, 2 and 3 after it received the skill's text, which names the given entry.
fn tried(gateway: &mut Gateway, name: &str, (template, entry, verdict): (&str, u32, Verdict)) {
    let mut trajectory = attempt(name, "goal", verdict, &[(SKILL, version(gateway))]);
    trajectory.skills[0].text = format!("# {SKILL}\n\n1. Open Colors > Entry {entry}.");
    note_trial(gateway, &input(&trajectory), template).expect("noted");
}

fn version(gateway: &Gateway) -> u32 {
    gateway.state().skills.get(&id(SKILL)).expect("there").version
}

#[test]
fn one_passed_attempt_that_followed_it_elsewhere_proves_a_skill() {
    use Verdict::{Fail, Pass};
    let check = |trials: &[(&str, u32, Verdict)], expected: bool| {
        let shelf = learned();
        let (mut gateway, _) = shelf.open();
        for (number, trial) in trials.iter().enumerate() {
            tried(&mut gateway, &format!("t{number}"), *trial);
        }
        assert_eq!(verified_skills(gateway.state()).contains(&id(SKILL)), expected, "{trials:?}");
        drop(gateway);
        let book = shelf.snapshot();
        assert_eq!(verified_skills(book.state()).contains(&id(SKILL)), expected, "opened again: {trials:?}");
    };
    check(&[], false);
    check(&[("other", 2, Pass)], true);
    check(&[("source", 2, Pass), ("source", 2, Pass)], false);
    check(&[("other", 2, Fail)], false);
    check(&[("other", 9, Pass)], false);
    check(&[("other", 9, Fail), ("source", 2, Pass), ("other", 2, Fail)], false);
    check(&[("other", 9, Fail), ("other", 2, Pass)], true);
}

#[test]
fn other_values_of_the_same_task_prove_it_and_the_same_values_do_not() {
    let shelf = learned();
    let (mut gateway, _) = shelf.open();
    let mut again = attempt("again", "goal", Verdict::Pass, &[(SKILL, 1)]);
    again.skills[0].text = format!("# {SKILL}\n\n1. Open Colors > Entry 2.");
    note_trial(&mut gateway, &input(&again), "source").expect("noted");
    let known = |gateway: &Gateway| {
        let state = gateway.state();
        verification(state, &state.skills[&id(SKILL)])
    };
    let same = known(&gateway);
    assert!(
        !same.verified && same.missing.is_some_and(|why| why.contains("other values")),
        "the same values"
    );
    again.id = "run/varied/1".into();
    again.goal = "goal with other values".into();
    note_trial(&mut gateway, &input(&again), "source").expect("noted");
    let varied = known(&gateway);
    assert_eq!((varied.verified, varied.helped, varied.missing), (true, vec!["run/varied/1".into()], None));
}

#[test]
fn neither_an_opinion_nor_an_attempt_that_found_fault_proves_a_skill() {
    let shelf = learned();
    let (mut gateway, _) = shelf.open();
    let mut opinion = attempt("opinion", "other", Verdict::Pass, &[(SKILL, 1)]);
    opinion.judged_by = JudgedBy::Model;
    opinion.skills[0].text = format!("# {SKILL}\n\n1. Open Colors > Entry 2.");
    note_trial(&mut gateway, &input(&opinion), "other").expect("noted");
    assert!(verified_skills(gateway.state()).is_empty(), "an opinion is no proof");
    tried(&mut gateway, "lucky", ("other", 2, Verdict::Pass));
    assert!(verified_skills(gateway.state()).contains(&id(SKILL)));
    let lucky = attempt("lucky", "goal", Verdict::Pass, &[(SKILL, 1)]);
    let review = serde_json::json!({ "skill_id": SKILL, "followed": "yes", "impact": "negative",
        "issue_type": "incorrect", "what_went_wrong": "the entry does something else" });
    let review: SkillReview = serde_json::from_value(review).expect("a review");
    let checked = Checked { reviews: vec![(id(SKILL), review)], ..Checked::default() };
    apply_reviews(&mut gateway, &input(&lucky), &checked, &HandlerOptions::default()).expect("counted");
    assert!(verified_skills(gateway.state()).is_empty(), "it passed in spite of the text");
}

#[test]
fn an_attempt_counts_once_and_a_new_text_starts_anew() {
    let shelf = learned();
    let (mut gateway, _) = shelf.open();
    let once = attempt("same", "goal", Verdict::Pass, &[(SKILL, 1)]);
    let first = note_trial(&mut gateway, &input(&once), "other").expect("noted");
    let second = note_trial(&mut gateway, &input(&once), "other").expect("noted");
    let (Applied::Written(one), Applied::AlreadyThere(other)) = (first, second) else {
        panic!("{first:?} {second:?}")
    };
    assert_eq!(one, other);
    // Books hold templates and variations in this form. In another one the same task would look like another.
    let log = gateway.snapshot().operations();
    let noted = log.iter().find(|operation| operation.id == one).expect("in the log");
    let Change::SkillsTried { template, variation, .. } = &noted.change else { panic!("{noted:?}") };
    assert_eq!((template.as_str(), variation.as_deref()), ("d9298a10d1b07358", Some("0304523efff53f24")));
    for name in ["one", "two"] {
        tried(&mut gateway, name, ("other", 2, Verdict::Pass));
    }
    assert!(verified_skills(gateway.state()).contains(&id(SKILL)));
    let change = Change::SkillUpdated {
        skill: id(SKILL),
        description: None,
        situation: None,
        guidance: Some("1. Open Colors > Entry 3.".into()),
    };
    write(&mut gateway, change).expect("written");
    assert!(verified_skills(gateway.state()).is_empty(), "another text has shown nothing yet");
}

#[test]
fn a_text_whose_source_is_not_known_is_not_proved() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let cause = Cause { trajectory: "elsewhere".into(), item: "learning:0".into(), stage: Stage::Manage };
    let change = crate::shelf::creation(SKILL, "Entry 2");
    gateway.apply(WriteRequest { cause: Some(cause), ..request(Actor::Manager, change) }).expect("written");
    for name in ["one", "two"] {
        tried(&mut gateway, name, ("other", 2, Verdict::Pass));
    }
    assert!(verified_skills(gateway.state()).is_empty());
}

fn names(book: &Snapshot) -> Vec<String> {
    book.skills().map(|skill| skill.id.to_string()).collect()
}

#[test]
fn a_policy_lets_through_what_it_names_and_counts_what_waits() {
    let shelf = learned();
    let (mut gateway, _) = shelf.open();
    create(&mut gateway, "gimp/unproved", "beta");
    for name in ["one", "two"] {
        tried(&mut gateway, name, ("other", 2, Verdict::Pass));
    }
    drop(gateway);
    shelf.edit(
        "gimp/by-hand.md",
        "## Situation\n\nAlways.\n\n## Guidance\n\n1. Open Entry 4.\n\n## Annotations\n\nNone\n",
    );
    shelf.edit(
        "gimp/unproved.md",
        &shelf.read("gimp/unproved.md").replace("## Annotations\n\nNone", "## Annotations\n\n- mine"),
    );
    let book = shelf.open().0.snapshot();
    let check = |policy, expected: &[&str], waiting: &[&str]| {
        let (through, admission) = admit(&book, policy);
        assert_eq!(names(&through), expected, "{policy:?}");
        assert_eq!(admission.eligible, expected.len(), "{policy:?}");
        let waits: Vec<String> = admission.quarantined.iter().map(ToString::to_string).collect();
        assert_eq!(waits, waiting, "{policy:?}");
        through
    };
    let all = check(AdmissionPolicy::Auto, &[SKILL, "gimp/by-hand", "gimp/unproved"], &[]);
    assert_eq!(all.content_hash(), book.content_hash());
    let verified = check(AdmissionPolicy::Verified, &[SKILL], &["gimp/by-hand", "gimp/unproved"]);
    assert_ne!(verified.content_hash(), book.content_hash());
    assert!(verified.skill(&id("gimp/unproved")).is_none());
    assert!(
        verified.search("beta", 5).iter().all(|hit| hit.id == id(SKILL)),
        "what waits is not found either"
    );
    assert!(!verified.index("gimp").contains("unproved"));
    // A note is no text of the skill.
    check(AdmissionPolicy::Human, &["gimp/by-hand"], &[SKILL, "gimp/unproved"]);
}
