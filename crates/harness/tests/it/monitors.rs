//! A desktop with several monitors, as an agent sees it and works on it.

use std::time::Duration;

use apprentice_protocol::{
    Action, Button, Chord, Command, Observation, Rect, ScreenPoint, Size, Target, TreeBudget, Want, World,
    WorldErrorKind,
};

use crate::cell::state;
use crate::desktop::{click, close, deliver, key, launch, open_on, refusal, text, until_within};

const SECOND: Rect = Rect::new(1000, 0, 800, 600);

async fn open(state: &std::path::Path, screen: &str) -> World {
    open_on(state, screen.parse::<apprentice_protocol::Monitors>().expect("a screen")).await
}

fn point(x: i32, y: i32) -> Target<ScreenPoint> {
    Target::Point(ScreenPoint::new(x, y))
}

async fn pointer(world: &mut World) -> Option<ScreenPoint> {
    world.environment.act(&Action::Cursor).await.expect("the world stands").pointer
}

/// Where the text of the editor is, once its window lies on the second monitor.
async fn text_on_the_second(world: &mut World) -> Rect {
    let on_it = |seen: &Observation| {
        seen.windows.iter().all(|window| (window.bounds.x, window.bounds.width) == (SECOND.x, SECOND.width))
    };
    let seen = until_within(world, TreeBudget::default(), "the editor on the second monitor", on_it).await;
    let tree = seen.tree.expect("a tree");
    let texts = tree.nodes.iter().filter(|node| node.value.as_deref() == Some("one\ntwo\n"));
    texts.filter_map(|node| node.bounds).next().expect("the text")
}

#[tokio::test]
async fn a_click_on_the_second_monitor_lands_and_one_below_it_is_refused() {
    let state = state();
    let mut world = open(state.path(), "1000x700+800x600").await;
    world.machine.write("note.txt", b"one\ntwo\n").await.expect("written");
    let seen = launch(&mut world, &["mousepad", "note.txt"], "note.txt").await;
    assert_eq!(seen.monitors, [Rect::new(0, 0, 1000, 700), SECOND]);
    let move_it =
        "wmctrl -r :ACTIVE: -e 0,1100,50,400,300; wmctrl -r :ACTIVE: -b add,maximized_vert,maximized_horz";
    world.machine.run(&Command::shell(move_it)).await.expect("moved");
    let area = text_on_the_second(&mut world).await;
    deliver(&mut world, key("ctrl+End")).await;
    let at = ScreenPoint::new(area.x + 1, area.y + 8);
    deliver(&mut world, click(Target::Point(at))).await;
    assert_eq!(pointer(&mut world).await, Some(at));
    deliver(&mut world, text("X")).await;
    deliver(&mut world, key("ctrl+s")).await;
    let saved = |seen: &Observation| seen.windows.iter().any(|window| !window.title.starts_with('*'));
    until_within(&mut world, TreeBudget::default(), "saved", saved).await;
    assert_eq!(world.machine.read("note.txt").await.expect("read"), b"Xone\ntwo\n");
    let below =
        "point (1300, 650) is on no monitor: monitor 2 above it ends at y 599, and nothing is shown below";
    let drag = Action::Drag {
        path: vec![ScreenPoint::new(1300, 300), ScreenPoint::new(1300, 650)],
        button: Button::Left,
    };
    let held =
        Action::Hold { keys: Chord::parse("ctrl").expect("a chord"), actions: vec![click(point(1300, 650))] };
    for action in [click(point(1300, 650)), Action::Move { to: point(1300, 650) }, drag, held] {
        assert_eq!(refusal(&mut world, action).await, below);
    }
    assert_eq!(pointer(&mut world).await, Some(at), "it went nowhere");
    let beside = refusal(&mut world, click(point(1800, 10))).await;
    assert_eq!(beside, "point (1800, 10) is not on the screen of 1800 by 700");
    let want = Want { screenshot: true, tree: None };
    let picture = world.environment.observe(want).await.expect("seen").screenshot.expect("a picture");
    assert_eq!(picture.size, Size::new(1800, 700));
    close(world).await;
}

#[tokio::test]
async fn the_end_of_their_display_is_missed_at_once() {
    let state = state();
    let mut world = open(state.path(), "640x480+640x480").await;
    world.machine.run(&Command::shell("pkill -9 -o Xorg")).await.expect("killed");
    let typed = tokio::time::timeout(Duration::from_secs(10), async {
        loop {
            if let Err(error) = world.environment.act(&text("x")).await {
                break error;
            }
        }
    });
    let error = typed.await.expect("soon");
    assert_eq!(error.fault, WorldErrorKind::Lost, "{error}");
    assert!(error.message.contains("the display (Xorg)"), "{error}");
    close(world).await;
}

#[tokio::test]
async fn of_one_monitor_nothing_is_told() {
    let state = state();
    let mut world = open(state.path(), "640x480").await;
    let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
    let seen = world.environment.observe(want).await.expect("seen");
    assert_eq!(seen.monitors, []);
    assert!(!serde_json::to_string(&seen).expect("JSON").contains("monitors"));
    let off = refusal(&mut world, click(point(10, 480))).await;
    assert_eq!(off, "point (10, 480) is not on the screen of 640 by 480");
    close(world).await;
}
