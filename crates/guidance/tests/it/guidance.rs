//! The content that each arm policy lends.

use std::collections::BTreeSet;

use apprentice_guidance::{
    ArmPolicy, GuidanceError, SKILL_LIST, SKILL_SEARCH, SKILL_VIEW, TaskView, build_guidance,
};
use apprentice_protocol::{EventKind, Guidance, SkillEventKind, StepId, StepRef, TextMark, ToolOutcome};
use serde_json::{Value, json};

use crate::shelf::{Shelf, id};

fn shelf() -> Shelf {
    Shelf::with(&[
        ("gimp/color-to-alpha", "making a colour transparent"),
        ("gimp/export", "exporting a picture"),
        ("gimp/layers", "raising a layer above another one and naming it"),
        ("mousepad/find", "replacing words by pattern"),
    ])
}

fn task() -> TaskView {
    TaskView {
        instruction: "Make the white colour of logo.png transparent".into(),
        apps: vec!["gimp".into()],
        ..TaskView::default()
    }
}

fn call(guidance: &Guidance, name: &str, arguments: &Value) -> ToolOutcome {
    let tool = guidance.tools.iter().find(|tool| tool.spec().name == name).expect("the tool");
    let future = tool.call(arguments, StepRef { step: StepId(1) });
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(outcome) => outcome,
        std::task::Poll::Pending => panic!("a lent tool never waits"),
    }
}

fn said(outcome: &ToolOutcome) -> &str {
    outcome.content[0].as_text().expect("text")
}

#[test]
fn pull_shows_domains_and_answers_through_tools() {
    let guidance =
        build_guidance(&shelf().snapshot(), &ArmPolicy::Pull { figures: false }, &task()).expect("lends");
    insta::assert_snapshot!(guidance.opening.as_str());
    let specs: Vec<_> = guidance.tools.iter().map(|tool| tool.spec().clone()).collect();
    insta::assert_json_snapshot!(specs);
    let listed = call(&guidance, SKILL_LIST, &json!({ "domain": "GIMP" }));
    insta::assert_snapshot!(said(&listed), @r"
    # gimp

    The program gimp.

    - gimp/color-to-alpha: About making a colour transparent
    - gimp/export: About exporting a picture
    - gimp/layers: About raising a layer above another one and naming it
    ");
    let found = call(&guidance, SKILL_SEARCH, &json!({ "query": "transparent colour", "limit": 1 }));
    assert_eq!(said(&found), "- gimp/color-to-alpha: About making a colour transparent\n");
    let viewed = call(&guidance, SKILL_VIEW, &json!({ "skill": "gimp/color-to-alpha" }));
    let EventKind::Skill(event) = &viewed.events[0] else { panic!("{:?}", viewed.events) };
    assert_eq!((event.happening, event.version), (SkillEventKind::Viewed, Some(1)));
    assert_eq!(event.text.as_deref(), Some(said(&viewed)));
    assert_eq!(viewed.marks, [TextMark::Holds("gimp/color-to-alpha".into())]);
    assert_eq!(event.delivered_chars, said(&viewed).chars().count() as u64);
    insta::assert_snapshot!(said(&viewed));
    // Tools that write call the same thing an id.
    for name in ["id", "skill_id"] {
        let again = call(&guidance, SKILL_VIEW, &json!({ name: "gimp/color-to-alpha" }));
        assert_eq!(said(&again), said(&viewed));
    }
}

#[test]
fn wrong_calls_are_answered_in_words() {
    let guidance =
        build_guidance(&shelf().snapshot(), &ArmPolicy::Pull { figures: false }, &task()).expect("lends");
    let check = |name: &str, arguments: &Value, part: &str| {
        let outcome = call(&guidance, name, arguments);
        assert!(outcome.is_error && said(&outcome).contains(part), "{outcome:?}");
        assert!(outcome.events.is_empty());
    };
    check(SKILL_VIEW, &json!({ "skill": "gimp/color-to-alfa" }), "Did you mean gimp/color-to-alpha?");
    check(SKILL_LIST, &json!({ "domain": "blender" }), "Known: gimp, mousepad.");
    check(SKILL_LIST, &json!({}), "missing field `domain`");
    check(SKILL_VIEW, &json!({ "skill": "a/b", "deep": true }), "unknown field `deep`");
}

#[test]
fn arms_without_knowledge_look_the_same() {
    let book = shelf().snapshot();
    let none = build_guidance(&book, &ArmPolicy::None, &task()).expect("lends");
    assert!(none.opening.is_empty() && none.tools.is_empty());
    let bare = build_guidance(&book, &ArmPolicy::ToolsOnly, &task()).expect("lends");
    assert_eq!(bare.tools.len(), 3);
    assert!(call(&bare, SKILL_LIST, &json!({ "domain": "gimp" })).is_error);
    for policy in [ArmPolicy::Pull { figures: false }, ArmPolicy::PlaceboInert, ArmPolicy::PlaceboWrong] {
        let lent = build_guidance(&book, &policy, &task()).expect("lends");
        assert_eq!(
            lent.tools.iter().map(|tool| tool.spec().clone()).collect::<Vec<_>>(),
            bare.tools.iter().map(|tool| tool.spec().clone()).collect::<Vec<_>>()
        );
    }
}

#[test]
fn an_inert_placebo_withholds_what_helps_and_delivers_as_much() {
    let book = shelf().snapshot();
    let pull = build_guidance(&book, &ArmPolicy::Pull { figures: false }, &task()).expect("lends");
    let helpful = call(&pull, SKILL_VIEW, &json!({ "skill": "gimp/color-to-alpha" }));
    let length = said(&helpful).chars().count();
    let inert = build_guidance(&book, &ArmPolicy::PlaceboInert, &task()).expect("lends");
    assert!(call(&inert, SKILL_VIEW, &json!({ "skill": "gimp/color-to-alpha" })).is_error);
    for other in ["gimp/export", "gimp/layers"] {
        let viewed = call(&inert, SKILL_VIEW, &json!({ "skill": other }));
        assert_eq!(said(&viewed).chars().count(), length, "{}", said(&viewed));
        assert!(!said(&viewed).contains("transparent"));
    }
}

#[test]
fn a_placebo_in_the_prompt_is_as_long_as_what_helps_and_reads_as_it() {
    let book = shelf().snapshot();
    let known = TaskView { relevant: Some(BTreeSet::from([id("gimp/color-to-alpha")])), ..task() };
    let lent = |policy| build_guidance(&book, &policy, &known).expect("lends");
    let (helpful, placebo) =
        (lent(ArmPolicy::Forced { skills: vec![id("gimp/color-to-alpha")] }), lent(ArmPolicy::PlaceboForced));
    assert!(placebo.tools.is_empty() && !placebo.opening.as_str().contains("transparent"));
    let length = |guidance: &Guidance| guidance.opening.as_str().chars().count();
    assert_eq!(length(&helpful), length(&placebo), "{}", placebo.opening.as_str());
    let steps = |guidance: &Guidance| guidance.opening.as_str().contains("\n1. ");
    assert_eq!(steps(&helpful), steps(&placebo), "a list of steps stands against a list of steps");
    // The trace says whose texts stood in the prompt.
    let given = |guidance: &Guidance| -> Vec<String> {
        let events = guidance.opening_events.iter().filter_map(|event| match event {
            EventKind::Skill(event) => event.skill.as_ref().map(ToString::to_string),
            _ => None,
        });
        events.collect()
    };
    assert_eq!(given(&helpful), ["gimp/color-to-alpha"]);
    assert_eq!(given(&placebo).len(), 1);
    assert_ne!(given(&placebo), given(&helpful));
}

#[test]
fn a_wrong_placebo_keeps_names_and_changes_bodies() {
    let book = shelf().snapshot();
    let wrong = build_guidance(&book, &ArmPolicy::PlaceboWrong, &task()).expect("lends");
    let pull = build_guidance(&book, &ArmPolicy::Pull { figures: false }, &task()).expect("lends");
    for name in ["gimp/color-to-alpha", "gimp/export", "mousepad/find"] {
        let (wrong, right) = (
            call(&wrong, SKILL_VIEW, &json!({ "skill": name })),
            call(&pull, SKILL_VIEW, &json!({ "skill": name })),
        );
        let body =
            |outcome: &ToolOutcome| said(outcome).split_once("## Situation").expect("a body").1.to_owned();
        assert_ne!(body(&wrong), body(&right));
        assert_eq!(said(&wrong).chars().count(), said(&right).chars().count(), "{name}");
    }
    let viewed = call(&wrong, SKILL_VIEW, &json!({ "skill": "gimp/export" }));
    assert!(said(&viewed).contains("replacing words"), "{}", said(&viewed));
}

#[test]
fn an_arm_without_an_eligible_skill_says_so() {
    let book = Shelf::with(&[("gimp/color-to-alpha", "making a colour transparent")]).snapshot();
    for policy in
        [ArmPolicy::PlaceboInert, ArmPolicy::PlaceboWrong, ArmPolicy::Forced { skills: vec![id("a/b")] }]
    {
        let lent = build_guidance(&book, &policy, &task());
        assert!(matches!(lent, Err(GuidanceError::NoEligibleSkill(_))), "{policy:?}");
    }
    let known = TaskView { relevant: Some(BTreeSet::new()), ..task() };
    assert!(
        build_guidance(&book, &ArmPolicy::PlaceboInert, &known).is_ok(),
        "provenance may say that nothing bears on it"
    );
}

#[test]
fn an_inert_placebo_draws_on_spare_skills_of_the_same_program_alone() {
    let book = Shelf::with(&[
        ("gimp/color-to-alpha", "making a colour transparent"),
        ("mousepad/find", "replacing words by pattern"),
    ])
    .snapshot();
    let shelf = |pages: &[(&str, &str)]| TaskView { spare: Some(Shelf::with(pages).snapshot()), ..task() };
    let strange = shelf(&[("thunar/sort-entries", "sorting the entries of a folder")]);
    assert!(
        build_guidance(&book, &ArmPolicy::PlaceboInert, &strange).is_err(),
        "skills of other programs will not do"
    );

    let own = shelf(&[
        ("gimp/full-screen", "seeing the picture without anything around it"),
        ("thunar/sort-entries", "sorting the entries of a folder"),
    ]);
    let pull = build_guidance(&book, &ArmPolicy::Pull { figures: false }, &own).expect("lends");
    let inert = build_guidance(&book, &ArmPolicy::PlaceboInert, &own).expect("lends");
    let view = |guidance: &Guidance, skill: &str| call(guidance, SKILL_VIEW, &json!({ "skill": skill }));
    assert!(view(&pull, "gimp/full-screen").is_error, "no other arm lends a spare skill");
    assert!(view(&inert, "gimp/color-to-alpha").is_error && view(&inert, "thunar/sort-entries").is_error);
    let (helpful, spare) = (view(&pull, "gimp/color-to-alpha"), view(&inert, "gimp/full-screen"));
    assert_eq!(said(&spare).chars().count(), said(&helpful).chars().count());
}

#[test]
fn a_programs_name_makes_no_skill_bear_on_a_task() {
    let book = Shelf::with(&[("gimp/color-to-alpha", "making a colour transparent in gimp")]).snapshot();
    let other = TaskView { instruction: "Rotate it by 90 degrees".into(), ..task() };
    assert!(build_guidance(&book, &ArmPolicy::PlaceboInert, &other).is_ok());
}

#[test]
fn whole_texts_are_put_in_within_a_cap() {
    let book = shelf().snapshot();
    let all = build_guidance(&book, &ArmPolicy::All, &task()).expect("lends");
    assert_eq!(all.opening.as_str().matches("## Guidance").count(), 4);
    let long = ArmPolicy::Inline { text: "x".repeat(100_000) };
    let inline = build_guidance(&book, &long, &task()).expect("lends");
    assert!(inline.opening.as_str().chars().count() <= 24_000);
}
