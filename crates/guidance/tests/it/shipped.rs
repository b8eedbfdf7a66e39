//! Shipped skills: valid packages, available beside every book, stored in none, and read-only.

use apprentice_guidance::{ArmPolicy, TaskView, build_guidance};
use apprentice_protocol::SkillId;
use apprentice_screening::scan;
use apprentice_skillbook::package::{ImportOptions, check, import};
use apprentice_skillbook::shipped::{ShippedPart, is_shipped, packages};
use apprentice_skillbook::{Actor, Change, Origin, Snapshot, WriteRefusal};
use jiff::Timestamp;

use crate::shelf::{Shelf, creation, id, request, write};

const NOTES: [&str; 4] =
    ["interaction/dialogs", "interaction/downloads", "interaction/file-chooser", "interaction/frames"];

fn ids(book: &Snapshot) -> Vec<&str> {
    book.skills().map(|skill| skill.id.as_str()).collect()
}

#[test]
fn they_are_packages_that_every_reader_takes_and_every_gateway_would() {
    for package in packages() {
        assert_eq!(check(package), [], "{}", package.name);
        let text = String::from_utf8(package.files["SKILL.md"].clone()).expect("text");
        assert_eq!(scan(&text), None, "{}", package.name);
    }
    assert_eq!(packages().len(), 5);
}

#[test]
fn they_stand_beside_a_book_and_in_no_hash_and_no_measured_arm() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let book = shelf.snapshot();
    let beside = book.with_shipped(ShippedPart::Interaction);
    assert_eq!(ids(&beside), [&["gimp/a"][..], &NOTES].concat());
    assert!(ids(&book.with_shipped(ShippedPart::All)).contains(&"authoring/right-learn-skill"));
    assert_eq!(beside.log_hash(), book.log_hash());
    assert_eq!(beside.domain_lines(), book.domain_lines());
    let lent = |book: &Snapshot| {
        let lent =
            build_guidance(book, &ArmPolicy::Pull { figures: false }, &TaskView::default()).expect("lends");
        lent.opening.as_str().to_owned()
    };
    assert!(!lent(&book).contains("interaction"), "an arm gets what its book holds");
    let opening = lent(&beside);
    let (own, shipped) = opening.split_once("Notes that came with the program").expect("grouped by source");
    assert!(own.contains("- gimp (1 skill)") && !own.contains("interaction"), "{opening}");
    assert!(NOTES.iter().all(|note| shipped.contains(note)), "{opening}");
    assert!(!opening.contains("Ctrl+H"), "no body is in the opening");
    assert_eq!(beside.search("file does not appear in the chooser, hidden", 1)[0].id, id(NOTES[2]));
}

#[test]
fn nobody_writes_them_and_a_person_may_take_copies() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let code = |outcome| match outcome {
        Err(WriteRefusal::Refused { code, .. }) => code,
        other => panic!("{other:?}"),
    };
    let note: SkillId = id(NOTES[0]);
    assert!(is_shipped(&note));
    assert_eq!(code(write(&mut gateway, creation(NOTES[0], "dialogs"))), "read_only");
    let change = |skill: &SkillId| Change::SkillDeleted { skill: skill.clone() };
    assert_eq!(code(write(&mut gateway, change(&note))), "read_only");
    assert_eq!(code(gateway.apply(request(Actor::Agent, change(&note)))), "read_only");
    let annotation = Change::SkillAnnotated { skill: note.clone(), note: "Hm.".to_owned() };
    assert_eq!(code(gateway.apply(request(Actor::Handler, annotation))), "read_only");

    let options =
        ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "general".into(), accept_effects: true };
    for package in packages() {
        let taken = import(&mut gateway, package, &options).expect("imports");
        assert!(taken.written && taken.refused.is_none(), "{taken:?}");
    }
    let book = gateway.snapshot();
    let copy = book.skill(&note).expect("a copy");
    assert_eq!(copy.origin, Origin::Imported);
    let shipped = Snapshot::empty().with_shipped(ShippedPart::All);
    assert_eq!(copy.text, shipped.skill(&note).expect("shipped").text, "nothing is lost on the way");
    assert!(
        ids(&book.with_shipped(ShippedPart::All)).len() == 5,
        "the book's copy goes before the shipped one"
    );
    write(&mut gateway, change(&note)).expect("a copy is the book's own");
}
