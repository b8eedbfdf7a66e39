//! The in-memory world behaves as a person expects of a program.

use apprentice_harness::env::scene::SceneSource;
use apprentice_protocol::{
    Action, Delivery, EnvironmentKind, EnvironmentSource, ScreenPoint, Size, State, TreeBudget, UiTree, Want,
    World, WorldErrorKind, WorldSpec,
};
use serde_json::{Value, json};

use crate::bench::editor;

fn spec(scene: Value) -> WorldSpec {
    WorldSpec { scene: Some(scene), ..WorldSpec::new(EnvironmentKind::Scene, Size::new(640, 400)) }
}

async fn open(scene: Value) -> World {
    SceneSource::default().open(&spec(scene)).await.expect("opens")
}

async fn tree(world: &mut World) -> UiTree {
    world.machine.tree(&TreeBudget::default()).await.expect("a tree")
}

async fn node(world: &mut World, name: &str) -> apprentice_protocol::UiNode {
    let tree = tree(world).await;
    tree.nodes.iter().find(|node| node.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

async fn act(world: &mut World, action: Value) -> Result<Option<String>, String> {
    let action: Action<ScreenPoint> = serde_json::from_value(action).expect("an action");
    let report = world.environment.act(&action).await.expect("acts");
    match report.delivery {
        Delivery::Delivered => Ok(report.text),
        Delivery::Refused { problem } => Err(problem),
    }
}

async fn click(world: &mut World, name: &str) -> Result<Option<String>, String> {
    let id = node(world, name).await.id;
    act(world, json!({ "do": "click", "at": { "ref": id } })).await
}

async fn value(world: &World, name: &str) -> Value {
    let state = world.machine.read("/state.json").await.expect("reads");
    serde_json::from_slice::<Value>(&state).expect("JSON")["values"][name].clone()
}

#[tokio::test]
async fn menus_open_level_by_level_and_close_when_something_is_chosen() {
    let mut world = open(editor()).await;
    assert!(node(&mut world, "Convert").await.is(State::Hidden));
    let refused = click(&mut world, "To capitals").await;
    assert!(refused.expect_err("hidden").ends_with("is not on the screen: its menu is closed"));
    click(&mut world, "Edit").await.expect("opens");
    click(&mut world, "Convert").await.expect("opens");
    assert!(node(&mut world, "Edit").await.is(State::Expanded));
    assert_eq!(click(&mut world, "To capitals").await, Ok(Some("converted".into())));
    assert_eq!(value(&world, "upper").await, json!(true));
    assert!(node(&mut world, "Edit").await.is(State::Collapsed));
    click(&mut world, "Edit").await.expect("opens");
    act(&mut world, json!({ "do": "key", "chord": "escape" })).await.expect("closes");
    assert!(node(&mut world, "Undo").await.is(State::Hidden));
}

#[tokio::test]
async fn points_and_references_mean_the_same_control() {
    let mut world = open(editor()).await;
    let middle = node(&mut world, "Edit").await.bounds.expect("a place").centre().expect("a middle");
    act(&mut world, json!({ "do": "click", "at": { "point": middle } })).await.expect("clicks");
    let middle = node(&mut world, "Preferences").await.bounds.expect("a place").centre().expect("a middle");
    act(&mut world, json!({ "do": "click", "at": { "point": middle } })).await.expect("clicks");
    let note = tree(&mut world).await.nodes.iter().any(|node| node.name == "Note");
    assert!(!note, "another page is shown");
    click(&mut world, "Wrap lines").await.expect("clicks");
    let font = node(&mut world, "Font").await.id;
    let select = |option: &str| json!({ "do": "select", "at": { "ref": font }, "option": option });
    assert_eq!(
        act(&mut world, select("Serif")).await,
        Err("no option \"Serif\"; there are: Sans, Mono".into())
    );
    act(&mut world, select("Mono")).await.expect("selects");
    assert_eq!((value(&world, "wrap").await, value(&world, "font").await), (json!(true), json!("Mono")));
}

#[tokio::test]
async fn references_live_and_die_with_their_controls() {
    let mut world = open(editor()).await;
    let before = node(&mut world, "Note").await.id;
    click(&mut world, "Edit").await.expect("opens");
    click(&mut world, "Preferences").await.expect("goes");
    let stale = act(&mut world, json!({ "do": "click", "at": { "ref": before } })).await;
    assert_eq!(stale, Err(format!("element #{before} is not there any more")));
    click(&mut world, "Close").await.expect("goes back");
    assert_eq!(node(&mut world, "Note").await.id, before);
}

#[tokio::test]
async fn text_is_typed_replaced_and_cleared_by_a_context_menu() {
    let mut world = open(editor()).await;
    act(&mut world, json!({ "do": "type", "text": "lost" })).await.expect("goes nowhere");
    assert_eq!(value(&world, "text").await, json!("abc"));
    click(&mut world, "Note").await.expect("focuses");
    act(&mut world, json!({ "do": "type", "text": "dé" })).await.expect("types");
    act(&mut world, json!({ "do": "key", "chord": "backspace" })).await.expect("deletes");
    assert_eq!(value(&world, "text").await, json!("abcd"));
    act(&mut world, json!({ "do": "key", "chord": "ctrl+a" })).await.expect("selects");
    act(&mut world, json!({ "do": "type", "text": "x" })).await.expect("types");
    assert_eq!(value(&world, "text").await, json!("x"));
    let note = node(&mut world, "Note").await.id;
    act(&mut world, json!({ "do": "click", "at": { "ref": note }, "button": "right" })).await.expect("opens");
    click(&mut world, "Clear").await.expect("clears");
    assert_eq!(value(&world, "text").await, json!(""));
    let refused = click(&mut world, "Discard").await.expect_err("it is disabled");
    assert_eq!(refused, "button \"Discard\" is disabled: something else must be done first");
}

#[tokio::test]
async fn a_picture_shows_what_changed() {
    let mut world = open(editor()).await;
    let want = Want { screenshot: true, tree: None };
    let before = world.environment.observe(want).await.expect("looks").screenshot.expect("a picture");
    assert_eq!(before.size, Size::new(640, 400));
    assert!(before.bytes.0.starts_with(b"\x89PNG"));
    click(&mut world, "Edit").await.expect("opens");
    let after = world.environment.observe(want).await.expect("looks").screenshot.expect("a picture");
    assert_ne!(before.hash, after.hash);
}

#[tokio::test]
async fn files_are_kept_by_path() {
    let world = open(editor()).await;
    world.machine.write("/home/user/a/b.txt", b"hello").await.expect("writes");
    let listed = world.machine.list("/home/user").await.expect("lists");
    let paths: Vec<&str> = listed.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["a", "a/b.txt"]);
    world.machine.remove("/home/user/a").await.expect("removes");
    assert!(world.machine.read("/home/user/a/b.txt").await.is_err());
    assert!(world.machine.list("/nowhere").await.is_err());
}

#[tokio::test]
async fn a_wrong_scene_does_not_start_and_says_why() {
    let check = async |scene: Value, expected: &str| {
        let error = SceneSource::default().open(&spec(scene)).await.err().expect("fails");
        assert_eq!(error.fault, WorldErrorKind::Start);
        assert!(error.message.contains(expected), "{}", error.message);
    };
    check(json!({ "start": "a", "pages": {} }), "the scene has no page \"a\"").await;
    let mut typo = editor();
    typo["pages"]["main"]["controls"][0]["nmae"] = json!("x");
    check(typo, "unknown field `nmae`").await;
    let mut stray = editor();
    stray["pages"]["preferences"]["controls"][2]["click"][0]["go"] = json!("mian");
    check(stray, "the scene has no page \"mian\"").await;
}

#[tokio::test]
async fn faults_may_strike_the_first_worlds_only() {
    let mut scene = editor();
    scene["faults"] = json!([{ "at": "open", "fault": "start", "first_worlds": 2 }]);
    let source = SceneSource::default();
    let mut opened = Vec::new();
    for _ in 0..3 {
        opened.push(source.open(&spec(scene.clone())).await.is_ok());
    }
    assert_eq!(opened, [false, false, true]);
}
