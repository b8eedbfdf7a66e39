//! Whether the labels of a page are found in a program, which here is a scene.

use apprentice_harness::env::scene::SceneSource;
use apprentice_measure::page_check::{
    FunctionFinding, LabelFinding, PageCheck, PageFinding, ProgramStart, check_page,
};
use apprentice_protocol::{EnvironmentKind, Size, SkillId, VirtualClock, WorldSpec};
use apprentice_skillbook::{OpId, Origin, Skill, SkillFunction, SkillText};
use serde_json::json;

/// An editor with one menu, whose last entry opens a dialog.
fn editor() -> ProgramStart {
    let items = json!([
        {"role": "menuitem", "name": "Copy", "click": [{"say": "copied"}]},
        {"role": "menuitem", "name": "Preferences…", "click": [{"go": "preferences"}]},
    ]);
    let scene = json!({"start": "main", "state": {"numbers": false}, "pages": {
        "main": {"title": "Editor", "controls": [{"role": "menu", "name": "Edit", "items": items}, {"role": "textbox", "name": "Text"}]},
        "preferences": {"title": "Preferences", "controls": [
            {"role": "checkbox", "name": "Show line numbers", "bind": "numbers"}, {"role": "button", "name": "Close"}]},
    }});
    let world =
        WorldSpec { scene: Some(scene), ..WorldSpec::new(EnvironmentKind::Scene, Size::new(640, 480)) };
    ProgramStart { world, command: None, domain: "editor".into() }
}

async fn checked(guidance: &str) -> PageCheck {
    checked_with(guidance, &[]).await
}

/// Checks a page with functions, each a body that acts on `desktop`.
async fn checked_with(guidance: &str, bodies: &[(&str, &str)]) -> PageCheck {
    let text = SkillText { description: "d".into(), situation: "s".into(), guidance: guidance.into() };
    let id = SkillId::parse("editor/numbers").expect("an id");
    let mut skill = Skill::new(&id, &text, Vec::new(), Origin::Learned, OpId(1));
    for (name, body) in bodies {
        let source = format!(
            "/// Changes what the editor shows.\n/// Example: {name}()\nfn {name}(desktop) {{\n    {body}\n}}\n"
        );
        let function = SkillFunction {
            version: 1,
            source,
            written: OpId(2),
            references: Vec::new(),
            evidence: Vec::new(),
            retired: None,
            events: vec![OpId(2)],
        };
        skill.functions.insert((*name).to_owned(), function);
    }
    check_page(&skill, &editor(), &SceneSource::default(), &VirtualClock::default())
        .await
        .expect("it is looked into")
}

/// What was clicked before each label that was found.
fn clicks(page: &PageCheck) -> Vec<Option<String>> {
    let of = |finding: &LabelFinding| match finding {
        LabelFinding::Holds { after } => Some(after.join(" > ")),
        _ => None,
    };
    page.labels.iter().map(|label| of(&label.finding)).collect()
}

#[tokio::test]
async fn labels_are_reached_by_the_clicks_of_the_page() {
    let page = checked(
        "1. Open the menu \"Edit\" and choose \"Preferences...\".\n2. Tick \"Show line numbers\".\n3. Press \"Close\".\n",
    )
    .await;
    let found = ["", "Edit", "Edit > Preferences", "Edit > Preferences"];
    assert_eq!(clicks(&page), found.map(|path| Some(path.to_owned())));
    assert_eq!(
        page.labels.iter().map(|label| label.named.step).collect::<Vec<_>>(),
        [Some(1), Some(1), Some(2), Some(3)]
    );
}

#[tokio::test]
async fn a_label_that_is_not_there_is_not_said_to_be_gone_without_another_release() {
    let page = checked("1. Open the menu \"Edit\".\n2. Choose \"Settings\", or \"Copy\".\n").await;
    assert_eq!(page.labels[1].finding, LabelFinding::NotReached);
    assert_eq!((page.broken(), page.now), (0, None));
    assert!(
        matches!(&page.labels[2].finding, LabelFinding::Holds { .. }),
        "what comes after it is looked for all the same"
    );
}

#[tokio::test]
async fn nothing_is_clicked_that_the_page_does_not_name_before() {
    let page = checked("1. Tick \"Show line numbers\".\n").await;
    assert_eq!(page.labels[0].finding, LabelFinding::NotReached);
}

#[tokio::test]
async fn functions_are_replayed_each_in_a_world_of_its_own() {
    let numbers = "desktop.get_by_role(\"menu\", \"Edit\").click();\n    \
                   desktop.get_by_role(\"menuitem\", \"Preferences...\").click();\n    \
                   desktop.get_by_role(\"checkbox\", \"Show line numbers\").check();";
    let gone = "desktop.get_by_role(\"menu\", \"Extras\").click();";
    let guidance = "1. Open the menu \"Edit\".\n";
    let page =
        checked_with(guidance, &[("a_numbers", numbers), ("b_extras", gone), ("c_again", numbers)]).await;
    let findings: Vec<&FunctionFinding> = page.functions.iter().map(|one| &one.finding).collect();
    let ran = FunctionFinding::Holds { acts: 3 };
    assert_eq!((findings[0], findings[2]), (&ran, &ran), "the second finds an untouched world: {page:#?}");
    let FunctionFinding::NotChecked { why } = findings[1] else { panic!("{page:#?}") };
    assert!(why.contains("line 4") && why.contains("Extras"), "{why}");
    assert_eq!((page.finding(), page.held()), (PageFinding::PartlyChecked, 3));
    // A scene is no program with a release, and says so.
    assert!(page.release_unknown.as_deref().is_some_and(|why| why.contains("runs no commands")), "{page:#?}");
}

#[tokio::test]
async fn a_function_that_cannot_be_replayed_says_why() {
    let page = checked_with("Nothing is named.\n", &[("broken", "nothing_known(desktop);")]).await;
    let FunctionFinding::NotChecked { why } = &page.functions[0].finding else { panic!("{page:#?}") };
    assert!(why.starts_with("its source breaks a rule"), "{why}");
    assert_eq!(page.finding(), PageFinding::NotChecked);
}
