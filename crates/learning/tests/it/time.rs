//! The history of a book: operations, differences, blame, and reverting one operation.

use std::sync::Arc;

use apprentice_learning::{LearnOptions, LearnerModels, LearningInput, learn_trajectory};
use apprentice_protocol::Verdict;
use apprentice_skillbook::{
    Actor, At, Change, DifferenceKind, Gateway, OpId, Section, Snapshot, WriteRefusal, blame, difference,
    history,
};
use jiff::Timestamp;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use proptest::test_runner::Config;

use crate::clerk::{Clerk, attempt, run};
use crate::deeds::{Deed, act, deed};
use crate::shelf::{Shelf, id, request, text, write};

fn at(shelf: &Shelf, operation: u64) -> Snapshot {
    Snapshot::open(shelf.path(), At::Operation(OpId(operation))).expect("opens")
}

fn update(skill: &str, guidance: &str) -> Change {
    let guidance = Some(guidance.to_owned());
    Change::SkillUpdated { skill: id(skill), description: None, situation: None, guidance }
}

fn note(skill: &str, note: &str) -> Change {
    Change::SkillAnnotated { skill: id(skill), note: note.to_owned() }
}

fn revert(gateway: &mut Gateway, operation: u64) -> Result<(), &'static str> {
    match gateway.revert(OpId(operation), Timestamp::UNIX_EPOCH) {
        Ok(_) => Ok(()),
        Err(WriteRefusal::Refused { code, .. }) => Err(code),
        Err(WriteRefusal::Book(failed)) => panic!("{failed}"),
    }
}

#[test]
fn an_operation_in_the_middle_is_taken_back_and_what_followed_stays() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    write(&mut gateway, note("gimp/a", "first")).expect("o2");
    write(&mut gateway, update("gimp/a", "1. Open beta.")).expect("o3");
    write(&mut gateway, note("gimp/a", "second")).expect("o4");
    revert(&mut gateway, 3).expect("taken back");
    drop(gateway);
    let page = shelf.read("gimp/a.md");
    assert!(page.contains("1. Open alpha.") && page.contains("- first\n- second"), "{page}");
    let changes = difference(&at(&shelf, 4), &shelf.snapshot());
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].version_before, changes[0].version_after), (Some(2), Some(3)));
    let lines: Vec<&str> =
        changes[0].diff.lines().filter(|line| line.starts_with(['+', '-']) && line.contains("1.")).collect();
    assert_eq!(lines, ["-1. Open beta.", "+1. Open alpha."]);
    assert!(difference(&at(&shelf, 2), &shelf.snapshot())[0].diff.contains("+- second"));
}

#[test]
fn merges_and_deletions_come_back_whole() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta")]);
    let before = shelf.snapshot().content_hash();
    let (mut gateway, _) = shelf.open();
    let merged =
        Change::SkillMerged { source: id("gimp/a"), target: id("gimp/b"), text: text("d", "s", "g") };
    write(&mut gateway, merged).expect("o3");
    revert(&mut gateway, 3).expect("taken back");
    assert_eq!(gateway.snapshot().content_hash(), before);
    assert_eq!(gateway.snapshot().skill(&id("gimp/a")).expect("back").version, 1, "its counters speak of it");
    write(&mut gateway, Change::SkillDeleted { skill: id("gimp/a") }).expect("o5");
    revert(&mut gateway, 5).expect("taken back");
    revert(&mut gateway, 1).expect("the creation, too");
    drop(gateway);
    let now = shelf.snapshot();
    assert!(now.pending().is_empty() && now.skill(&id("gimp/a")).is_none());
    assert_eq!(difference(&at(&shelf, 2), &now)[0].kind, DifferenceKind::Removed);
    let (mut gateway, _) = shelf.open();
    revert(&mut gateway, 7).expect("a revert is an operation like any other");
    assert_eq!(gateway.snapshot().content_hash(), before);
}

#[test]
fn a_later_text_is_not_overwritten() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    write(&mut gateway, update("gimp/a", "1. Open beta.")).expect("o2");
    write(&mut gateway, update("gimp/a", "1. Open gamma.")).expect("o3");
    let refusal = gateway.revert(OpId(2), Timestamp::UNIX_EPOCH).expect_err("a conflict").to_string();
    assert!(refusal.contains("conflict") && refusal.contains("by o3"), "{refusal}");
    let note = Change::SkillAnnotated { skill: id("gimp/a"), note: "It takes a while.".into() };
    write(&mut gateway, note).expect("o4");
    let refusal = gateway.revert(OpId(2), Timestamp::UNIX_EPOCH).expect_err("a conflict").to_string();
    assert!(refusal.contains("by o3"), "a note stands in nobody's way: {refusal}");
    assert_eq!(revert(&mut gateway, 99), Err("unknown_operation"));
    let learned = request(Actor::Learner, Change::TrajectoryLearned);
    gateway.apply(learned).expect("o5");
    assert_eq!(revert(&mut gateway, 5), Err("nothing_to_revert"));
    let by_agent = Change::Reverted {
        operation: OpId(3),
        also: Vec::new(),
        skills: Vec::new(),
        closed: Vec::new(),
        opened: Vec::new(),
    };
    let refused = write(&mut gateway, by_agent).expect_err("for people only").to_string();
    assert!(refused.starts_with("not_permitted"), "{refused}");
}

fn revert_all(gateway: &mut Gateway, operations: &[u64]) -> Result<(), String> {
    let targets = operations.iter().map(|number| OpId(*number)).collect();
    gateway.revert_all(&targets, Timestamp::UNIX_EPOCH).map(|_| ()).map_err(|refusal| refusal.to_string())
}

#[test]
fn several_operations_are_reverted_as_one_change() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta")]);
    let before = shelf.snapshot().content_hash();
    let (mut gateway, _) = shelf.open();
    write(&mut gateway, update("gimp/a", "1. Open beta.")).expect("o3");
    write(&mut gateway, note("gimp/b", "first")).expect("o4");
    write(&mut gateway, update("gimp/a", "1. Open gamma.")).expect("o5");
    write(&mut gateway, Change::SkillDeleted { skill: id("gimp/b") }).expect("o6");
    // One after the other the oldest would meet the later text; together none of them is in another's way.
    revert_all(&mut gateway, &[3, 5, 4, 6]).expect("taken back");
    assert_eq!(gateway.state().last, OpId(7), "one operation");
    assert_eq!(gateway.snapshot().content_hash(), before);
    drop(gateway);
    assert_eq!(shelf.snapshot().content_hash(), before, "the pages say so, too");
    let entry = history(&shelf.snapshot().operations(), None).pop().expect("an entry");
    assert_eq!(entry.summary, "o6 o5 o4 o3 are reverted together");
    let (mut gateway, _) = shelf.open();
    revert(&mut gateway, 7).expect("a group is reverted like any other operation");
    assert_eq!(gateway.snapshot().skill(&id("gimp/a")).expect("known").text.guidance, "1. Open gamma.");
    assert!(gateway.snapshot().skill(&id("gimp/b")).is_none());
}

#[test]
fn one_conflict_keeps_a_whole_group_and_names_the_later_operation() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta")]);
    let (mut gateway, _) = shelf.open();
    write(&mut gateway, update("gimp/a", "1. Open beta.")).expect("o3");
    write(&mut gateway, update("gimp/a", "1. Open gamma.")).expect("o4");
    write(&mut gateway, update("gimp/a", "1. Open delta.")).expect("o5");
    write(&mut gateway, note("gimp/b", "first")).expect("o6");
    let before = (gateway.state().clone(), shelf.read("gimp/a.md"), shelf.read("gimp/b.md"));
    let refusal = revert_all(&mut gateway, &[6, 5, 3]).expect_err("a conflict");
    assert!(refusal.contains("conflict") && refusal.contains("by o4;"), "{refusal}");
    assert!(revert_all(&mut gateway, &[6, 99]).expect_err("unknown").contains("no operation o99"));
    assert!(revert_all(&mut gateway, &[]).expect_err("nothing").contains("nothing_to_revert"));
    let after = (gateway.state().clone(), shelf.read("gimp/a.md"), shelf.read("gimp/b.md"));
    assert!(after == before, "nothing is half-written");
    revert(&mut gateway, 5).expect("o7");
    assert!(revert_all(&mut gateway, &[5, 7]).expect_err("nothing left").contains("together"));
}

#[test]
fn a_book_is_brought_back_to_an_earlier_operation() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta")]);
    let before = shelf.snapshot().content_hash();
    let (mut gateway, _) = shelf.open();
    write(&mut gateway, update("gimp/a", "1. Open beta.")).expect("o3");
    write(&mut gateway, Change::SkillDeleted { skill: id("gimp/b") }).expect("o4");
    gateway.revert_to(OpId(2), Timestamp::UNIX_EPOCH).expect("brought back");
    assert_eq!((gateway.snapshot().content_hash(), gateway.state().last), (before, OpId(5)));
    let nothing = gateway.revert_to(OpId(5), Timestamp::UNIX_EPOCH).expect_err("nothing since").to_string();
    assert!(nothing.starts_with("nothing_to_revert"), "{nothing}");
    gateway.revert_to(OpId(4), Timestamp::UNIX_EPOCH).expect("and forth again");
    assert!(gateway.snapshot().skill(&id("gimp/b")).is_none());
}

#[test]
fn counted_reviews_are_uncounted() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let staff = LearnerModels { reflector: Arc::new(Clerk::with(9)), manager: Arc::new(Clerk::with(9)) };
    for name in ["one", "two"] {
        let trajectory = attempt(name, "alpha", Verdict::Pass, &[("gimp/a", 1)]);
        let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
        run(learn_trajectory(&mut gateway, &staff, &input, &LearnOptions::default())).expect("learns");
    }
    let counted = |gateway: &Gateway| gateway.state().skills[&id("gimp/a")].lifetime_counts();
    assert_eq!(counted(&gateway).positive_impact, 2);
    let review = history(&gateway.snapshot().operations(), Some(&id("gimp/a")));
    let review = review.iter().find(|entry| entry.op == "skill.reviewed").expect("a review");
    revert(&mut gateway, review.id.0).expect("taken back");
    let counts = counted(&gateway);
    assert_eq!((counts.positive_impact, counts.times_requested), (1, 1));
    assert_eq!(gateway.state().skills[&id("gimp/a")].remarks.len(), 1);
}

#[test]
fn each_line_names_its_operation_attempt_and_step() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let staff = LearnerModels { reflector: Arc::new(Clerk::with(9)), manager: Arc::new(Clerk::with(9)) };
    let trajectory = attempt("one", "posterize", Verdict::Pass, &[]);
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    run(learn_trajectory(&mut gateway, &staff, &input, &LearnOptions::default())).expect("learns");
    let skill = gateway.snapshot().skills().next().expect("a skill").id.clone();
    let renamed = Change::SkillRenamed { from: skill.clone(), to: id("gimp/poster") };
    gateway.apply(request(Actor::Human, renamed)).expect("renamed");
    let created = gateway.state().skills[&id("gimp/poster")].uid;
    write(&mut gateway, update("gimp/poster", "1. Open the menu posterize.\n2. Look twice."))
        .expect("written");
    let last = gateway.state().last;
    write(&mut gateway, note("gimp/poster", "works")).expect("noted");
    let lines = blame(&gateway.snapshot().operations(), &skill).expect("the old name leads there");
    let told: Vec<_> = lines.iter().map(|line| (line.section, line.text.as_str(), line.operation)).collect();
    assert_eq!(
        told,
        [
            (Section::Situation, "You want what posterize asks for.", created),
            (Section::Guidance, "1. Open the menu posterize.", created),
            (Section::Guidance, "2. Look twice.", last),
            (Section::Annotations, "works", OpId(last.0 + 1)),
        ]
    );
    assert_eq!(lines[1].trajectory.as_deref(), Some("run/one/1"));
    assert_eq!(lines[1].steps.iter().map(ToString::to_string).collect::<Vec<_>>(), ["s1"]);
    let ops: Vec<String> = history(&gateway.snapshot().operations(), Some(&id("gimp/poster")))
        .into_iter()
        .map(|entry| entry.op)
        .collect();
    assert_eq!(ops, ["skill.created", "skill.renamed", "skill.updated", "skill.annotated"]);
}

proptest! {
    #![proptest_config(Config::with_cases(24))]

    #[test]
    fn taking_the_last_operation_back_restores_the_state_before(
        deeds in proptest::collection::vec(deed(), 1..12),
    ) {
        let shelf = Shelf::new();
        let (mut gateway, _) = shelf.open();
        deeds.iter().for_each(|deed: &Deed| act(&mut gateway, deed));
        let last = gateway.state().last;
        if last > OpId(0) {
            prop_assert!(gateway.revert(last, Timestamp::UNIX_EPOCH).is_ok());
            drop(gateway);
            let before = at(&shelf, last.0 - 1);
            prop_assert_eq!(difference(&before, &shelf.snapshot()), []);
            prop_assert_eq!(before.content_hash(), shelf.snapshot().content_hash());
            prop_assert!(shelf.snapshot().pending().is_empty());
        }
    }
}

#[test]
fn a_domain_that_comes_back_is_about_what_it_was() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let before = gateway.snapshot().content_hash();
    for number in [1, 2] {
        gateway.revert(OpId(number), Timestamp::UNIX_EPOCH).expect("taken back");
    }
    assert_eq!(gateway.state().domains["gimp"], "The program gimp.");
    assert_eq!(gateway.snapshot().content_hash(), before);
    drop(gateway);
    assert_eq!(shelf.snapshot().content_hash(), before, "the log says so, too");
}
