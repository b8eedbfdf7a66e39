//! Proposals: they have no visible effect, accepting writes them in their author's name, and a refused change cannot be
//! proposed again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use apprentice_skillbook::{
    Actor, Applied, At, Cause, Change, Gateway, GatewayOptions, OpId, Snapshot, Stage, WriteMode,
    WriteRefusal, WriteRequest, blame,
};
use jiff::Timestamp;

use crate::shelf::{Shelf, creation, id, request, tree};

fn open(shelf: &Shelf, mode: WriteMode) -> Gateway {
    let options = GatewayOptions { mode, ..GatewayOptions::at(Timestamp::UNIX_EPOCH) };
    Gateway::open(shelf.path(), options).expect("opens").0
}

fn update(skill: &str, guidance: &str) -> Change {
    let (skill, guidance) = (id(skill), Some(guidance.to_owned()));
    Change::SkillUpdated { skill, description: None, situation: None, guidance }
}

fn note(skill: &str, note: &str) -> Change {
    Change::SkillAnnotated { skill: id(skill), note: note.to_owned() }
}

fn proposed(gateway: &mut Gateway, actor: Actor, change: Change) -> OpId {
    match gateway.apply(request(actor, change)) {
        Ok(Applied::Proposed(id)) => id,
        other => panic!("{other:?}"),
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, WriteRefusal>) -> &'static str {
    match result {
        Err(WriteRefusal::Refused { code, .. }) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_of_a_proposal_shows_until_it_is_accepted() {
    for mode in [WriteMode::Propose, WriteMode::Approve] {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let before = (tree(shelf.path()), shelf.snapshot().content_hash());
        let mut gateway = open(&shelf, mode);
        let wanted = [
            creation("thunar/b", "beta"),
            update("gimp/a", "1. Press F2."),
            note("gimp/a", "[unclear] lost"),
            Change::SkillDeleted { skill: id("gimp/a") },
        ];
        let actors = [Actor::Manager, Actor::Agent, Actor::Handler, Actor::Cleaner];
        let ids: Vec<OpId> =
            wanted.into_iter().zip(actors).map(|(one, actor)| proposed(&mut gateway, actor, one)).collect();
        drop(gateway);
        let mut after = tree(shelf.path());
        let pages: BTreeSet<&String> = after.keys().collect();
        assert_eq!(pages, before.0.keys().collect(), "no page comes or goes");
        after.insert(".meta/ops.jsonl".into(), before.0[".meta/ops.jsonl"].clone());
        assert_eq!(after, before.0, "only the log has grown");
        let book = shelf.snapshot();
        assert_eq!(book.content_hash(), before.1);
        assert_eq!(book.state().proposals.keys().copied().collect::<Vec<_>>(), ids);
        assert_eq!(book.pending(), [""; 0]);
    }
}

#[test]
fn an_accepted_change_is_its_authors_with_its_source() {
    let shelf = Shelf::new();
    let mut gateway = open(&shelf, WriteMode::Propose);
    let cause = Cause { trajectory: "run/trial/1".into(), item: "learning:0".into(), stage: Stage::Manage };
    let wanted = WriteRequest { cause: Some(cause), ..request(Actor::Manager, creation("gimp/a", "alpha")) };
    let Ok(Applied::Proposed(first)) = gateway.apply(wanted.clone()) else { panic!("it waits") };
    // The same attempt learned from again asks for nothing new.
    assert_eq!(gateway.apply(wanted.clone()).expect("known"), Applied::AlreadyThere(first));
    let shown = gateway.snapshot();
    let change = shown.would_change(&shown.state().proposals[&first]);
    assert!(change.len() == 1 && change[0].diff.contains("+1. Open alpha."), "{change:?}");
    let by = gateway.accept(first, Timestamp::UNIX_EPOCH).expect("accepted");
    assert_eq!(gateway.apply(wanted).expect("known"), Applied::AlreadyThere(by));
    assert_eq!(code(gateway.accept(first, Timestamp::UNIX_EPOCH)), "unknown_proposal");
    drop(gateway);
    let book = shelf.snapshot();
    assert!(book.state().proposals.is_empty());
    let lines = blame(&book.operations(), &id("gimp/a")).expect("lines");
    assert!(lines.iter().all(|line| line.actor == Actor::Manager && line.operation == by), "{lines:?}");
    assert_eq!(lines[0].trajectory.as_deref(), Some("run/trial/1"));
    assert!(shelf.read("gimp/a.md").contains("1. Open alpha."));
    assert!(shelf.read("DOMAINS.md").contains("gimp"));
    let told: Vec<String> =
        book.events().iter().map(|event| serde_json::to_string(&event.event).expect("a word")).collect();
    assert_eq!(
        told,
        ["\"skill.proposed\"", "\"domain.created\"", "\"skill.created\"", "\"skill.quarantined\""]
    );
}

#[test]
fn what_a_person_refused_is_not_taken_again_unchanged() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let mut gateway = open(&shelf, WriteMode::Propose);
    let first = proposed(&mut gateway, Actor::Manager, update("gimp/a", "1. Press F2."));
    assert_eq!(code(gateway.apply(request(Actor::Agent, update("gimp/a", "1. Press F2.")))), "waits");
    gateway.refuse(first, "F2 renames", Timestamp::UNIX_EPOCH).expect("refused");
    assert_eq!(code(gateway.refuse(first, "", Timestamp::UNIX_EPOCH)), "unknown_proposal");
    let gone = Change::SkillDeleted { skill: id("gimp/a") };
    let deletion = proposed(&mut gateway, Actor::Cleaner, gone.clone());
    gateway.refuse(deletion, "", Timestamp::UNIX_EPOCH).expect("refused");
    drop(gateway);
    // In every mode, by every model, and also after the book was opened anew.
    for mode in [WriteMode::Auto, WriteMode::Propose] {
        let mut gateway = open(&shelf, mode);
        for actor in [Actor::Manager, Actor::Agent] {
            let again = gateway.apply(request(actor, update("gimp/a", "1. Press F2.")));
            assert_eq!(code(again), "refused_before", "{mode:?} {actor:?}");
        }
        assert_eq!(code(gateway.apply(request(Actor::Cleaner, gone.clone()))), "refused_before");
    }
    // A person may write it all the same, and another text is another proposal.
    let mut gateway = open(&shelf, WriteMode::Propose);
    proposed(&mut gateway, Actor::Manager, update("gimp/a", "1. Press F3."));
    let by_hand = gateway.apply(request(Actor::Human, update("gimp/a", "1. Press F2."))).expect("written");
    assert!(matches!(by_hand, Applied::Written(_)), "{by_hand:?}");
    // With another text it is another skill that would be taken out.
    proposed(&mut gateway, Actor::Cleaner, gone);
}

#[test]
fn a_refusal_can_be_taken_back() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let mut gateway = open(&shelf, WriteMode::Propose);
    let wanted = || update("gimp/a", "1. Press F2.");
    let first = proposed(&mut gateway, Actor::Manager, wanted());
    gateway.refuse(first, "", Timestamp::UNIX_EPOCH).expect("refused");
    let refusal = gateway.state().last;
    gateway.revert(refusal, Timestamp::UNIX_EPOCH).expect("taken back");
    assert_eq!(code(gateway.revert(refusal, Timestamp::UNIX_EPOCH)), "nothing_to_revert");
    assert_eq!(code(gateway.revert(first, Timestamp::UNIX_EPOCH)), "nothing_to_revert");
    proposed(&mut gateway, Actor::Manager, wanted());
    drop(gateway);
    assert!(shelf.snapshot().state().refused.is_empty());
}

#[test]
fn what_a_proposal_rests_on_must_still_stand() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let mut gateway = open(&shelf, WriteMode::Propose);
    let change = proposed(&mut gateway, Actor::Manager, update("gimp/a", "1. Press F2."));
    let remark = proposed(&mut gateway, Actor::Handler, note("gimp/a", "[unclear] lost"));
    let twin = creation("thunar/b", "beta");
    let one = proposed(&mut gateway, Actor::Manager, twin.clone());
    assert_eq!(code(gateway.apply(request(Actor::Agent, twin))), "waits", "a name waits once");
    let other = proposed(&mut gateway, Actor::Manager, creation("thunar/c", "gamma"));
    gateway.apply(request(Actor::Human, update("gimp/a", "1. Press F9."))).expect("written");
    assert_eq!(code(gateway.accept(change, Timestamp::UNIX_EPOCH)), "stale_read");
    assert!(gateway.state().proposals.contains_key(&change), "it waits on");
    gateway.accept(remark, Timestamp::UNIX_EPOCH).expect("a note stands beside any text");
    // Both would have opened the domain.
    gateway.accept(one, Timestamp::UNIX_EPOCH).expect("accepted");
    gateway.accept(other, Timestamp::UNIX_EPOCH).expect("accepted");
    assert_eq!(gateway.state().skills.len(), 3);
    assert_eq!(gateway.state().skills[&id("gimp/a")].text.guidance, "1. Press F9.");
}

#[test]
fn a_log_that_ends_anywhere_holds_a_decision_or_none_of_it() {
    let shelf = Shelf::new();
    let mut gateway = open(&shelf, WriteMode::Propose);
    let first = proposed(&mut gateway, Actor::Manager, creation("gimp/a", "alpha"));
    let second = proposed(&mut gateway, Actor::Manager, creation("gimp/b", "beta"));
    gateway.accept(first, Timestamp::UNIX_EPOCH).expect("accepted");
    gateway.refuse(second, "no", Timestamp::UNIX_EPOCH).expect("refused");
    drop(gateway);
    let log = fs::read(shelf.path().join(".meta/ops.jsonl")).expect("a log");
    let mut seen = BTreeSet::new();
    for end in (0..=log.len()).step_by(7).chain([log.len()]) {
        let cut = Shelf::new();
        fs::create_dir_all(cut.path().join(".meta")).expect("a folder");
        fs::write(cut.path().join(".meta/ops.jsonl"), &log[..end]).expect("written");
        let book = Snapshot::open(cut.path(), At::Operation(OpId(99))).expect("opens");
        let state = book.state();
        let waits = |proposal| state.proposals.contains_key(&proposal);
        let has = state.skills.contains_key(&id("gimp/a"));
        assert!(!(has && waits(first)), "at byte {end} it is accepted and waits");
        assert_eq!(book.problems(), [], "at byte {end}");
        seen.insert((waits(first), waits(second), has, state.refused.len()));
    }
    let every = [
        (false, false, false, 0),
        (true, false, false, 0),
        (true, true, false, 0),
        (false, true, true, 0),
        (false, false, true, 1),
    ];
    assert_eq!(seen, BTreeSet::from(every));
}

#[test]
fn one_writer_decides_at_a_time() {
    let shelf = Shelf::new();
    let mut gateway = open(&shelf, WriteMode::Propose);
    let wanted = proposed(&mut gateway, Actor::Manager, creation("gimp/a", "alpha"));
    let place = shelf.path().to_owned();
    let second = std::thread::spawn(move || {
        let (mut gateway, _) =
            Gateway::open(&place, GatewayOptions::at(Timestamp::UNIX_EPOCH)).expect("opens");
        code(gateway.accept(wanted, Timestamp::UNIX_EPOCH))
    });
    gateway.accept(wanted, Timestamp::UNIX_EPOCH).expect("accepted");
    drop(gateway);
    assert_eq!(second.join().expect("ends"), "unknown_proposal", "the second waited and found it decided");
    let book = Snapshot::open(shelf.path(), At::Now).expect("opens");
    assert_eq!(book.skills().count(), 1);
}

#[test]
fn a_book_with_versions_and_proposals_still_opens() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/book-2");
    let shelf = Shelf::new();
    for (path, bytes) in tree(&golden) {
        shelf.edit(&path, &String::from_utf8(bytes).expect("text"));
    }
    let before = tree(shelf.path());
    let book = shelf.snapshot().clean().expect("nothing pending");
    assert_eq!(book.problems(), []);
    assert!(book.operations().iter().all(|one| !matches!(one.change, Change::Unknown { .. })));
    let skill = book.skill(&id("gimp/brighter")).expect("it was accepted");
    let seen: Vec<(&str, bool, u32, u32)> = skill
        .version_evidence
        .iter()
        .map(|one| (one.app_version.as_str(), one.written, one.confirmed, one.outdated))
        .collect();
    assert_eq!(seen, [("2.10.34", true, 0, 0), ("2.8.0", false, 1, 0), ("3.0.2", false, 0, 1)]);
    assert_eq!(skill.page().annotations, ["[outdated] on gimp 3.0.2: the menu is gone"]);
    let state = book.state();
    assert_eq!(state.proposals.keys().copied().collect::<Vec<_>>(), [OpId(10)]);
    assert_eq!(state.refused.values().copied().collect::<Vec<_>>(), [OpId(8)]);
    // What makes a refused change the same is part of the form, too.
    let mut gateway = open(&shelf, WriteMode::Auto);
    assert_eq!(tree(shelf.path()), before, "opening writes nothing");
    let again = book.operations().into_iter().find_map(|one| match one.change {
        Change::WriteProposed { change, .. } if one.id == OpId(6) => Some(*change),
        _ => None,
    });
    let again = gateway.apply(request(Actor::Manager, again.expect("it was proposed")));
    assert_eq!(code(again), "refused_before");
}
