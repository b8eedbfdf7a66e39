//! What a reader of short views gets: the short steps of the function that its instruction asks for, or nothing.

use apprentice_guidance::{ArmPolicy, SKILL_VIEW, TaskView, build_guidance};
use apprentice_protocol::{
    EventKind, Guidance, Observation, Rect, SkillEventKind, StepId, StepRef, ToolOutcome, Window,
};
use apprentice_skillbook::{Change, Snapshot, fitting};
use serde_json::json;

use crate::shelf::{Shelf, creation, write};

const PAGES: [(&str, &str); 3] = [
    (
        "gimp/color-to-alpha",
        "For: make a colour transparent\nAlso: see through the background of a picture; a white background that vanishes\n1. \
         click \"Colors\"\n2. click \"Color to Alpha...\"\n3. click \"OK\"",
    ),
    (
        "gimp/layers",
        "For: raise a layer\nAlso: bring one layer above another; the order of layers\n1. click \"Layer\"\n2. click \"Stack\"",
    ),
    (
        "thunar/rename",
        "For: rename many files in bulk\nAlso: other names for a series of photos\n1. key ctrl+a\n2. key F2",
    ),
];

fn book() -> Snapshot {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    for (id, steps) in PAGES {
        let mut change = creation(id, "a matter of pictures");
        if let Change::SkillCreated { text, domain, .. } = &mut change {
            text.guidance = format!("1. Open a menu of {id}, or another.\n\n## Short steps\n\n{steps}");
            if id == "gimp/layers" {
                *domain = None;
            }
        }
        write(&mut gateway, change).expect("written");
    }
    gateway.snapshot()
}

fn task(instruction: &str) -> TaskView {
    TaskView { instruction: instruction.to_owned(), apps: vec!["gimp".to_owned()], ..TaskView::default() }
}

const TRANSPARENT: &str = "Make the white colour of logo.png transparent";

fn window(class: &str) -> Observation {
    let bounds = Rect::new(0, 0, 800, 600);
    let (title, class) = ("logo.png".to_owned(), class.to_owned());
    let window = Window { id: "0x1".into(), title, class, bounds, active: true, pid: None };
    Observation { windows: vec![window], ..Observation::default() }
}

fn briefly(guidance: &Guidance, seen: &Observation) -> Option<(String, Vec<EventKind>)> {
    let refresh = guidance.refresh.as_ref().expect("follows the screen");
    let added = refresh.refresh_briefly(StepRef { step: StepId(1) }, seen);
    added.map(|(text, events)| (text.as_str().to_owned(), events))
}

fn view(guidance: &Guidance, skill: &str) -> String {
    let tool = guidance.tools.iter().find(|tool| tool.spec().name == SKILL_VIEW).expect("the tool");
    let arguments = json!({ "skill": skill });
    let mut future = tool.call(&arguments, StepRef { step: StepId(1) });
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(ToolOutcome { content, .. }) = future.as_mut().poll(&mut context) else {
        panic!("a lent tool never waits")
    };
    content[0].as_text().expect("text").to_owned()
}

#[test]
fn push_lends_the_steps_of_the_function_once_when_its_program_is_in_front() {
    let guidance = build_guidance(&book(), &ArmPolicy::Push { count: 3 }, &task(TRANSPARENT)).expect("lends");
    assert_eq!(briefly(&guidance, &window("Thunar")), None, "its program is not in front");
    let (text, events) = briefly(&guidance, &window("Gimp-2.10")).expect("lends");
    assert!(text.contains(">\nmake a colour transparent.\n1. click \"Colors\"\n2. click"), "{text}");
    assert!(!text.contains("Open a menu") && !text.contains("Also:"), "no prose, no other words: {text}");
    let [EventKind::Skill(event)] = events.as_slice() else { panic!("{events:?}") };
    assert!(event.happening == SkillEventKind::Viewed && event.text.as_deref() == Some(text.as_str()));
    assert_eq!(briefly(&guidance, &window("Gimp-2.10")), None, "it has them");
}

#[test]
fn a_function_that_no_page_has_gets_nothing() {
    let book = book();
    for other in ["Turn the picture upside down", "Print the picture in black and white", "Zzyzx"] {
        assert!(fitting(&book, other, Some("gimp")).is_none(), "{other}");
    }
    let found = fitting(&book, "Bring the layer Sky above the other layers", Some("gimp"));
    assert_eq!(found.map(|found| found.skill.id.to_string()).as_deref(), Some("gimp/layers"));
}

#[test]
fn pull_names_the_one_note_and_shows_its_steps_to_such_a_reader_and_its_prose_to_others() {
    let pull =
        || build_guidance(&book(), &ArmPolicy::Pull { figures: false }, &task(TRANSPARENT)).expect("lends");
    let guidance = pull();
    let whole = view(&guidance, "gimp/color-to-alpha");
    assert!(whole.contains("1. Open a menu") && !whole.contains("Short steps"), "{whole}");
    let (text, _) = briefly(&guidance, &window("Gimp-2.10")).expect("names it");
    assert!(text.ends_with("\n- gimp/color-to-alpha: make a colour transparent\n"), "{text}");
    let short = view(&guidance, "gimp/color-to-alpha");
    assert!(short.contains("3. click \"OK\"") && !short.contains("Open a menu"), "{short}");
}

#[test]
fn a_placebo_is_found_alike_has_as_many_steps_and_is_about_something_else() {
    let guidance = build_guidance(&book(), &ArmPolicy::PlaceboInert, &task(TRANSPARENT)).expect("lends");
    let (text, _) = briefly(&guidance, &window("Gimp-2.10")).expect("names one");
    assert!(text.ends_with("\n- gimp/layers: raise a layer\n"), "{text}");
    let short = view(&guidance, "gimp/layers");
    assert!(short.contains("3. click \"Layer\"") && !short.contains("Color"), "{short}");
    let wrong = build_guidance(&book(), &ArmPolicy::PlaceboWrong, &task(TRANSPARENT)).expect("lends");
    let (text, _) = briefly(&wrong, &window("Gimp-2.10")).expect("names one");
    assert!(text.ends_with("\n- gimp/color-to-alpha: rename many files in bulk\n"), "{text}");
}
