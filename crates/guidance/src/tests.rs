//! Limits of what is provided, at their edges, over books that were never written to disk.

use std::sync::Arc;

use apprentice_protocol::{
    EventKind, GuidanceRefresh as _, Observation, Rect, SkillEvent, SkillId, StepId, StepRef, Window,
};
use apprentice_skillbook::{OpId, Origin, Skill, SkillText, Snapshot};

use super::activation::source_format;
use super::reading::front_program::FrontProgram;
use super::reading::tools::viewed;
use super::screen_guidance::{IndexOnScreen, IndexScope, PushOnScreen, Wanted};
use super::{ArmPolicy, ContributedTools, TaskView, build_guidance};

/// A book of skills with the given descriptions and guidance.
fn book(domain: &str, origin: Origin, texts: &[(String, String)]) -> Snapshot {
    let skill = |(number, (description, guidance)): (usize, &(String, String))| {
        let id = SkillId::parse(&format!("{domain}/n{number:03}")).expect("an id");
        let situation = "You need it.".to_owned();
        let text = SkillText { description: description.clone(), situation, guidance: guidance.clone() };
        (id.clone(), Arc::new(Skill::new(&id, &text, Vec::new(), origin, OpId(1))))
    };
    Snapshot::empty().with_skills(texts.iter().enumerate().map(skill).collect())
}

/// Descriptions of `length` characters, and a last one of its own length.
fn descriptions(count: usize, length: usize, last: usize) -> Vec<(String, String)> {
    let lengths = std::iter::repeat_n(length, count).chain([last]);
    lengths.map(|length| ("d".repeat(length), "1. Go.".to_owned())).collect()
}

/// Finds the text that has exactly `length` characters if the last of its parts has a fitting length, and the same with one
/// character more.
fn at_the_edge(length: usize, text: impl Fn(usize) -> String) -> (String, String) {
    let last = 1 + length.checked_sub(text(1).chars().count()).expect("room for the last part");
    (text(last), text(last + 1))
}

fn at() -> StepRef {
    StepRef { step: StepId(1) }
}

fn window(class: &str) -> Observation {
    let bounds = Rect::new(0, 0, 800, 600);
    let (id, title, class) = ("0x1".into(), "files".into(), class.into());
    Observation {
        windows: vec![Window { id, title, class, bounds, active: true, pid: None }],
        ..Observation::default()
    }
}

#[test]
fn the_index_of_the_program_in_front_is_whole_up_to_4000_characters() {
    let added = |last: usize| {
        let book = book("thunar", Origin::Learned, &descriptions(25, 140, last));
        let index = IndexOnScreen::new(&book, &FrontProgram::default(), IndexScope::FirstView, [].into());
        let (text, _) = index.refresh(at(), &window("Thunar")).expect("a program with notes is in front");
        text.as_str().to_owned()
    };
    let (whole, over) = at_the_edge(4000, added);
    assert!(whole.contains("- thunar/n025: d") && !whole.contains("more characters]"), "{whole}");
    assert!(over.ends_with("more characters]") && over.chars().count() <= 4000, "{over}");
}

#[test]
fn skills_are_given_unasked_up_to_24_000_characters_in_all() {
    let given = |characters: usize| {
        let texts = |guidance: usize| ("Layers".to_owned(), format!("1. {}", "g".repeat(guidance)));
        let bare = book("gimp", Origin::Learned, &[texts(1)]);
        let bare = viewed(&bare, bare.skills().next().expect("a skill")).0.chars().count() - 1;
        let lengths = [8000, 8000, characters - 16_000];
        let texts: Vec<_> = lengths.iter().map(|length| texts(length - bare)).collect();
        let (query, instruction) = ("layers".to_owned(), "layers".to_owned());
        let wanted = Wanted { query, instruction, count: 9 };
        let push = PushOnScreen::new(&book("gimp", Origin::Learned, &texts), wanted);
        let (text, events) = push.refresh(at(), &Observation::default()).expect("something fits");
        assert_eq!(text.as_str().matches("# gimp/").count(), events.len());
        let delivered = events.iter().map(|event| match event {
            EventKind::Skill(SkillEvent { delivered_chars, .. }) => *delivered_chars,
            other => panic!("{other:?}"),
        });
        (events.len(), delivered.sum::<u64>())
    };
    assert_eq!(given(24_000), (3, 24_000));
    assert_eq!(given(24_001).0, 2, "one that does not fit is left out whole");
}

#[test]
fn the_opening_of_a_trial_is_whole_up_to_4000_characters() {
    let opening = |count: usize, last: usize| {
        let book = book("os", Origin::Shipped, &descriptions(count, 140, last));
        let policy = ArmPolicy::Pull { figures: false };
        let guidance = build_guidance(&book, &policy, &TaskView::default()).expect("provides");
        guidance.opening.as_str().to_owned()
    };
    // As many lines of notes that came with the program as leave room for a shorter one.
    let is_cut = |count: &usize| opening(*count, 140).contains("more characters]");
    let count = (1..40).find(is_cut).expect("a number");
    let (whole, over) = at_the_edge(4000, |last| opening(count, last));
    assert!(!whole.contains("more characters]"), "{whole}");
    assert!(over.ends_with("more characters]") && over.chars().count() <= 4000, "{over}");
}

#[test]
fn the_block_of_the_source_format_lists_skills_while_400_characters_stay_free() {
    let opening = |count: usize, last: usize| {
        let book = book("os", Origin::Learned, &descriptions(count, 140, last));
        source_format::build_guidance(&book, &ContributedTools::default()).opening.as_str().to_owned()
    };
    let entry = opening(2, 140).chars().count() - opening(1, 140).chars().count();
    let count = (23_600 - opening(0, 1).chars().count()) / entry;
    let (whole, over) = at_the_edge(23_600, |last| opening(count, last));
    assert!(!whole.contains("more are not listed"), "{whole}");
    assert_eq!(over.matches("<skill_name>").count(), count, "the last one is not listed");
    assert!(over.contains("<!-- 1 more are not listed -->"), "{over}");
}
