//! Whether the labels of a page are found in a program, which here is a scene.

use apprentice_evaluator::page_check::{LabelFinding, PageCheck, ProgramStart, check_page};
use apprentice_harness::env::scene::SceneSource;
use apprentice_protocol::{EnvironmentKind, Size, SkillId, VirtualClock, WorldSpec};
use apprentice_skillbook::{OpId, Origin, Skill, SkillText};
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
    let text = SkillText { description: "d".into(), situation: "s".into(), guidance: guidance.into() };
    let id = SkillId::parse("editor/numbers").expect("an id");
    let skill = Skill::new(&id, &text, Vec::new(), Origin::Learned, OpId(1));
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
    assert_eq!((page.broken().count(), page.now), (0, None));
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
