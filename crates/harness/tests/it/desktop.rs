//! Desktop worlds: real programs under real hands, and what happens when a part of the world dies.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::env::desktop::{DesktopConfig, DesktopSource, Sight};
use apprentice_protocol::{
    ActReport, Action, Button, Chord, Clock, Command, Delivery, EnvironmentKind, EnvironmentSource,
    HiddenNodes, Isolation, Monitors, NodeRef, Observation, ScreenPoint, Size, State, Target, TreeBudget,
    UiNode, UiTree, Want, Why, World, WorldErrorKind, WorldSpec,
};
use apprentice_sandbox::SystemClock;
use apprentice_sandbox::{CellIsolation, CellLimits};

use crate::cell::{shell, state};

const SOON: Duration = Duration::from_secs(5);

async fn open_with(state: &Path, isolation: CellIsolation) -> World {
    open_within(state, isolation, CellLimits::default()).await
}

async fn open_within(state: &Path, isolation: CellIsolation, limits: CellLimits) -> World {
    open_config(DesktopConfig { isolation, limits, ..config(state) }).await
}

/// Opens a desktop whose views hold more than usual.
pub(crate) async fn open_seeing(state: &Path, sight: Sight) -> World {
    open_config(DesktopConfig { sight, ..config(state) }).await
}

fn config(state: &Path) -> DesktopConfig {
    DesktopConfig {
        network: apprentice_sandbox::NetworkPolicy::None,
        isolation: CellIsolation::Bubblewrap,
        program: crate::cell::owner(),
        argument: "cell-supervisor".into(),
        state: state.to_owned(),
        golden: None,
        limits: CellLimits::default(),
        sight: Sight::default(),
    }
}

/// Opens a desktop on a screen of another size.
pub(crate) async fn open_on(state: &Path, screen: impl Into<Monitors>) -> World {
    open_screen(config(state), screen).await
}

async fn open_config(config: DesktopConfig) -> World {
    open_screen(config, Size::new(1280, 800)).await
}

async fn open_screen(config: DesktopConfig, screen: impl Into<Monitors>) -> World {
    let source = DesktopSource::new(config, Arc::new(SystemClock::new()));
    let environment = EnvironmentKind::Desktop;
    let spec = WorldSpec::new(environment, screen);
    source.open(&spec).await.expect("a world")
}

pub(crate) async fn open(state: &Path) -> World {
    open_with(state, CellIsolation::Bubblewrap).await
}

async fn act(world: &mut World, action: Action<ScreenPoint>) -> ActReport {
    world.environment.act(&action).await.expect("the world stands")
}

pub(crate) async fn deliver(world: &mut World, action: Action<ScreenPoint>) {
    let report = act(world, action.clone()).await;
    assert_eq!(report.delivery, Delivery::Delivered, "{action:?}");
}

pub(crate) async fn refusal(world: &mut World, action: Action<ScreenPoint>) -> String {
    match act(world, action).await.delivery {
        Delivery::Refused { problem } => problem,
        Delivery::Delivered => panic!("it was delivered"),
    }
}

/// Lets the world go on between two looks.
pub(crate) async fn pause(ms: u64) {
    SystemClock::new().pause(Duration::from_millis(ms), Why::PollFloor).await;
}

pub(crate) fn click(at: Target<ScreenPoint>) -> Action<ScreenPoint> {
    Action::Click { at, button: Button::Left, count: 1, hold: None }
}

pub(crate) fn key(chord: &str) -> Action<ScreenPoint> {
    Action::Key { chord: Chord::parse(chord).expect("a chord"), hold_ms: None }
}

pub(crate) fn text(text: &str) -> Action<ScreenPoint> {
    Action::Type { text: text.to_owned() }
}

/// Looks until something holds, also at what does not show.
async fn until(world: &mut World, what: &str, holds: impl Fn(&Observation) -> bool) -> Observation {
    let budget = TreeBudget { hidden: HiddenNodes::Read, ..TreeBudget::default() };
    until_within(world, budget, what, holds).await
}

/// Looks until something holds, for half a minute at most.
pub(crate) async fn until_within(
    world: &mut World,
    budget: TreeBudget,
    what: &str,
    holds: impl Fn(&Observation) -> bool,
) -> Observation {
    let want = Want { screenshot: false, tree: Some(budget) };
    let mut last = String::new();
    let clock = SystemClock::new();
    let begun = clock.mono();
    while clock.mono() - begun < Duration::from_secs(30) {
        let seen = world.environment.observe(want).await.expect("the world stands");
        if holds(&seen) {
            return seen;
        }
        last = format!("{:?}\n{}", seen.windows, seen.tree.as_ref().map(listing).unwrap_or_default());
        pause(200).await;
    }
    panic!("{what} did not come about: {last}");
}

pub(crate) async fn launch(world: &mut World, argv: &[&str], title: &str) -> Observation {
    world.machine.launch(&Command::new(argv.iter().copied())).await.expect("launched");
    let named = |seen: &Observation| {
        seen.windows.iter().any(|window| window.title.contains(title))
            && seen.tree.as_ref().is_some_and(|tree| tree.nodes.len() > 5)
    };
    until(world, title, named).await
}

fn find<'a>(tree: Option<&'a UiTree>, role: &str, name: &str) -> Option<&'a UiNode> {
    tree?.nodes.iter().find(|node| node.role.as_str() == role && node.name == name)
}

/// Every element, one a line.
pub(crate) fn listing(tree: &UiTree) -> String {
    let depths = tree.depths();
    let line = |(node, depth): (&UiNode, u32)| {
        let indent = " ".repeat(depth as usize);
        format!("{indent}{} {:?} {:?} {:?}\n", node.role.as_str(), node.name, node.value, node.states)
    };
    tree.nodes.iter().zip(depths).map(line).collect()
}

/// The element of this role and name, which must be there.
pub(crate) fn node<'a>(seen: &'a Observation, role: &str, name: &str) -> &'a UiNode {
    let found = find(seen.tree.as_ref(), role, name);
    found.unwrap_or_else(|| {
        panic!("no {role} {name:?} in\n{}", seen.tree.as_ref().map(listing).unwrap_or_default())
    })
}

pub(crate) fn id(seen: &Observation, role: &str, name: &str) -> Target<ScreenPoint> {
    Target::Ref(node(seen, role, name).id.clone())
}

pub(crate) async fn close(world: World) {
    world.environment.close(SOON).await.expect("closes");
}

#[tokio::test]
async fn an_editor_gets_every_character_and_saves_it() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("Documents/a.txt", b"").await.expect("written");
    launch(&mut world, &["mousepad", "/home/user/Documents/a.txt"], "a.txt").await;
    let cjk: String = (0..150u32).filter_map(|index| char::from_u32(0x4e00 + index * 7)).collect();
    let all = format!(
        "Plain text, with CAPITALS; \"quotes\" & <signs> {{[(@#$%^*)]}} ~`|\\\nÄÖÜ äöü ß é ñ ¿ €\tŁódź Ελλάδα Привет\n\
         日本語 中文 한국어 😀🚀\n{cjk}\n{cjk}\nthe end"
    );
    deliver(&mut world, text(&all)).await;
    deliver(&mut world, key("ctrl+s")).await;
    until(&mut world, "a saved file", |seen| {
        seen.windows.iter().all(|window| !window.title.starts_with('*'))
    })
    .await;
    let written = world.machine.read("Documents/a.txt").await.expect("read");
    assert_eq!(String::from_utf8_lossy(&written).trim_end(), all);
    close(world).await;
}

#[tokio::test]
async fn keys_after_a_dialog_closes_reach_the_window_below() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("Documents/a.txt", b"").await.expect("written");
    launch(&mut world, &["mousepad", "/home/user/Documents/a.txt"], "a.txt").await;
    let mut all = String::new();
    for number in 0..5 {
        let line = format!("line {number}\n");
        for action in [key("ctrl+o"), key("escape"), text(&line)] {
            deliver(&mut world, action).await;
        }
        all += &line;
    }
    deliver(&mut world, key("ctrl+s")).await;
    until(&mut world, "a saved file", |seen| {
        seen.windows.iter().all(|window| !window.title.starts_with('*'))
    })
    .await;
    let written = world.machine.read("Documents/a.txt").await.expect("read");
    assert_eq!(String::from_utf8_lossy(&written).trim_end(), all.trim_end());
    close(world).await;
}

/// The window manager is slow: it hands the focus on half a second after a window has closed.
#[tokio::test]
async fn keys_wait_until_the_focus_is_handed_on() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("Documents/a.txt", b"").await.expect("written");
    launch(&mut world, &["mousepad", "/home/user/Documents/a.txt"], "a.txt").await;
    // A program that was launched must not die; its child may.
    launch(&mut world, &["sh", "-c", "xfce4-terminal --title above; true"], "above").await;
    until(&mut world, "its focus", |seen| seen.title() == "above").await;
    let slow = "pkill -STOP openbox && pkill -KILL -f ^xfce4-terminal; \
                (sleep 0.8; pkill -CONT openbox) >/dev/null 2>&1 </dev/null &";
    world.machine.run(&Command::new(["sh", "-c", slow])).await.expect("killed");
    pause(300).await;
    deliver(&mut world, text("typed")).await;
    deliver(&mut world, key("ctrl+s")).await;
    until(&mut world, "a saved file", |seen| {
        seen.windows.iter().all(|window| !window.title.starts_with('*'))
    })
    .await;
    let written = world.machine.read("Documents/a.txt").await.expect("read");
    assert_eq!(String::from_utf8_lossy(&written).trim_end(), "typed");
    close(world).await;
}

#[tokio::test]
async fn a_second_dialog_of_the_same_title_has_references_of_its_own() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("Documents/a.txt", b"text").await.expect("written");
    launch(&mut world, &["thunar", "/home/user/Documents"], "Documents").await;
    let dialog = |seen: &Observation| {
        seen.windows.iter().any(|window| window.active && window.title.contains("Properties"))
            && find(seen.tree.as_ref(), "button", "Close").is_some()
    };
    let mut given = Vec::new();
    for _ in 0..2 {
        deliver(&mut world, key("ctrl+a")).await;
        deliver(&mut world, key("alt+enter")).await;
        let seen = until(&mut world, "the dialog", dialog).await;
        given.push(node(&seen, "button", "Close").id.clone());
        deliver(&mut world, key("escape")).await;
        until(&mut world, "its end", |seen| !dialog(seen)).await;
    }
    assert_ne!(given[0], given[1], "the reference would mean an element of another window");
    let refused = refusal(&mut world, click(Target::Ref(given[0].clone()))).await;
    assert!(refused.contains("gone"), "{refused}");
    close(world).await;
}

#[tokio::test]
async fn a_click_at_a_disabled_element_says_so() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("Documents/a.txt", b"").await.expect("written");
    launch(&mut world, &["mousepad", "/home/user/Documents/a.txt"], "a.txt").await;
    deliver(&mut world, key("alt+e")).await;
    let undo = |seen: &Observation| {
        find(seen.tree.as_ref(), "menuitem", "Undo").and_then(|node| node.bounds).is_some()
    };
    let seen = until(&mut world, "the menu", undo).await;
    let item = node(&seen, "menuitem", "Undo").clone();
    assert!(item.is(State::Disabled), "{item:?}");
    let centre = item.bounds.and_then(|bounds| bounds.centre()).expect("a place");
    assert!(refusal(&mut world, click(Target::Ref(item.id))).await.contains("is disabled"));
    let report = act(&mut world, click(Target::Point(centre))).await;
    assert_eq!(report.delivery, Delivery::Delivered);
    assert!(report.text.is_some_and(|text| text.contains("\"Undo\" at this point is disabled")));
    close(world).await;
}

#[tokio::test]
async fn a_terminal_runs_what_is_typed() {
    let state = state();
    let mut world = open(state.path()).await;
    launch(&mut world, &["xfce4-terminal"], "Terminal").await;
    let prompt = |seen: &Observation| {
        let nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes
            .filter(|node| node.role.as_str() == "terminal")
            .any(|node| node.value.as_deref().is_some_and(|v| v.contains('$')))
    };
    until(&mut world, "a prompt", prompt).await;
    deliver(&mut world, text("seq 1 10 | paste -sd+ > sum.txt; echo \"ok é\" >> sum.txt\n")).await;
    for _ in 0..50 {
        if world.machine.read("sum.txt").await.is_ok_and(|bytes| bytes.len() > 25) {
            break;
        }
        pause(100).await;
    }
    let sum = world.machine.read("sum.txt").await.expect("read");
    assert_eq!(String::from_utf8_lossy(&sum), "1+2+3+4+5+6+7+8+9+10\nok é\n");
    close(world).await;
}

#[tokio::test]
async fn elements_are_named_pressed_and_refused_by_reference() {
    let state = state();
    let mut world = open(state.path()).await;
    let seen = launch(&mut world, &["mousepad"], "Mousepad").await;
    let file = id(&seen, "menuitem", "File");
    // An item of a closed menu is hidden, and does its work all the same.
    let hidden = node(&seen, "menuitem", "About");
    assert!(hidden.is(State::Hidden) && hidden.bounds.is_none(), "{hidden:?}");
    let about = Target::Ref(hidden.id.clone());
    deliver(&mut world, click(file.clone())).await;
    let seen = until(&mut world, "an open menu", |seen| {
        find(seen.tree.as_ref(), "menuitem", "Save As...").is_some_and(|node| !node.is(State::Hidden))
    })
    .await;
    assert_eq!(id(&seen, "menuitem", "File"), file, "a reference survives new walks");
    let problem =
        refusal(&mut world, Action::Click { at: about.clone(), button: Button::Right, count: 1, hold: None })
            .await;
    assert!(problem.contains("is not on the screen"), "{problem}");
    deliver(&mut world, key("escape")).await;
    deliver(&mut world, click(about)).await;
    let seen = until(&mut world, "a dialog", |seen| seen.windows.len() == 2).await;
    let license = id(&seen, "button", "Close");
    deliver(&mut world, click(license.clone())).await;
    until(&mut world, "no dialog", |seen| seen.windows.len() == 1).await;
    let problem = refusal(&mut world, click(license)).await;
    assert!(problem.contains("is gone") || problem.contains("not on the screen"), "{problem}");
    let problem = refusal(&mut world, click(Target::Ref(NodeRef("n99999".into())))).await;
    assert_eq!(problem, "element n99999 is gone; look at the new list of elements");
    let undo = node(&seen, "menuitem", "Undo").id.clone();
    let problem = refusal(&mut world, click(Target::Ref(undo))).await;
    assert!(problem.contains("is disabled"), "{problem}");
    let problem = refusal(&mut world, click(Target::Point(ScreenPoint::new(1280, 5)))).await;
    assert_eq!(problem, "point (1280, 5) is not on the screen of 1280 by 800");
    let problem = refusal(&mut world, Action::Navigate { url: "http://x".into() }).await;
    assert!(problem.contains("not a browser"), "{problem}");
    close(world).await;
}

#[tokio::test]
async fn a_file_manager_shows_files_and_obeys_clicks_and_drags() {
    let state = state();
    let mut world = open(state.path()).await;
    for name in ["Documents/one.txt", "Documents/two.txt", "Documents/sub/inner.txt"] {
        world.machine.write(name, b"text").await.expect("written");
    }
    let seen = launch(&mut world, &["thunar", "/home/user/Documents"], "Documents").await;
    let places = |seen: &Observation| -> Vec<_> {
        let nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes
            .filter(|node| ["one.txt", "two.txt", "sub"].contains(&node.name.as_str()))
            .map(|node| node.bounds)
            .collect()
    };
    // The list has come to rest when two looks agree.
    let last = std::cell::RefCell::new(places(&seen));
    let rests = |seen: &Observation| {
        let now = places(seen);
        now.len() >= 3 && last.replace(now.clone()) == now
    };
    let seen = until(&mut world, "a list of files", rests).await;
    let middle = |seen: &Observation, name: &str| {
        let nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.filter(|node| node.name == name).find_map(|node| node.bounds?.centre()).expect("a place")
    };
    let (from, to) = (middle(&seen, "one.txt"), middle(&seen, "sub"));
    deliver(&mut world, Action::Drag { path: vec![from, to], button: Button::Left }).await;
    for _ in 0..50 {
        if world.machine.read("Documents/sub/one.txt").await.is_ok() {
            break;
        }
        pause(100).await;
    }
    assert_eq!(world.machine.read("Documents/sub/one.txt").await.expect("it was dragged there"), b"text");
    let at = Target::Point(middle(&seen, "sub"));
    deliver(&mut world, Action::Click { at, button: Button::Left, count: 2, hold: None }).await;
    until(&mut world, "the folder's window", |seen| {
        seen.windows.iter().any(|window| window.active && window.title.starts_with("sub"))
    })
    .await;
    close(world).await;
}

#[tokio::test]
async fn the_wheel_scrolls_and_pictures_differ() {
    let state = state();
    let mut world = open(state.path()).await;
    let lines: String = (0..2000).map(|line| format!("line {line}\n")).collect();
    world.machine.write("long.txt", lines.as_bytes()).await.expect("written");
    launch(&mut world, &["mousepad", "long.txt"], "long.txt").await;
    let want = Want { screenshot: true, tree: None };
    let before = world.environment.observe(want).await.expect("seen").screenshot.expect("a picture");
    assert_eq!(before.size, Size::new(1280, 800));
    let again = world.environment.observe(want).await.expect("seen").screenshot.expect("a picture");
    assert_eq!(before.hash, again.hash, "nothing blinks");
    let at = Some(Target::Point(ScreenPoint::new(640, 400)));
    deliver(&mut world, Action::Scroll { at: at.clone(), dx: 0, dy: 10 }).await;
    let after = world.environment.observe(want).await.expect("seen").screenshot.expect("a picture");
    assert_ne!(before.hash, after.hash);
    deliver(&mut world, Action::Scroll { at, dx: 0, dy: -10 }).await;
    let back = world.environment.observe(want).await.expect("seen").screenshot.expect("a picture");
    assert_ne!(after.hash, back.hash);
    close(world).await;
}

#[tokio::test]
async fn an_action_that_is_given_up_lets_go_of_its_keys() {
    let state = state();
    let mut world = open(state.path()).await;
    launch(&mut world, &["mousepad"], "Mousepad").await;
    let held = Action::Key { chord: Chord::parse("shift").expect("a chord"), hold_ms: Some(20_000) };
    let given_up = tokio::time::timeout(Duration::from_millis(300), world.environment.act(&held)).await;
    assert!(given_up.is_err());
    deliver(
        &mut world,
        Action::Press { at: Some(Target::Point(ScreenPoint::new(5, 5))), button: Button::Right },
    )
    .await;
    let dropped = tokio::time::timeout(Duration::from_millis(200), world.environment.act(&held)).await;
    assert!(dropped.is_err());
    deliver(&mut world, key("escape")).await;
    let state = shell(&*world.machine, "python3 -c '
import ctypes as c
x=c.CDLL(\"libX11.so.6\");x.XOpenDisplay.restype=c.c_void_p
d=x.XOpenDisplay(None);k=c.create_string_buffer(32);x.XQueryKeymap(c.c_void_p(d),k)
r=c.c_ulong();i=c.c_int();m=c.c_uint()
x.XDefaultRootWindow.restype=c.c_ulong;w=x.XDefaultRootWindow(c.c_void_p(d))
x.XQueryPointer(c.c_void_p(d),c.c_ulong(w),c.byref(r),c.byref(r),c.byref(i),c.byref(i),c.byref(i),c.byref(i),c.byref(m))
print(any(k.raw), m.value & 0x1f05)'").await;
    assert_eq!(state, "False 0", "no key and no button is down");
    close(world).await;
}

#[tokio::test]
async fn what_the_world_cannot_do_without_is_missed_at_once() {
    for (part, fault) in [
        ("Xvfb", WorldErrorKind::Lost),
        ("openbox", WorldErrorKind::Input),
        ("dbus-daemon", WorldErrorKind::Lost),
    ] {
        let state = state();
        let mut world = open(state.path()).await;
        world.machine.run(&Command::shell(format!("pkill -9 -o {part}"))).await.expect("killed");
        let typed = tokio::time::timeout(SOON, async {
            loop {
                if let Err(error) = world.environment.act(&text("x")).await {
                    break error;
                }
            }
        });
        let error = typed.await.expect("soon");
        assert_eq!(error.fault, fault, "{part}: {error}");
        assert!(error.message.contains(part), "{error}");
        let want = Want { screenshot: true, tree: None };
        assert_eq!(world.environment.observe(want).await.expect_err("it is lost").fault, fault);
        close(world).await;
    }
}

#[tokio::test]
async fn several_worlds_stand_side_by_side() {
    let state = state();
    let opened = (0..3).map(|_| open(state.path()));
    let worlds = futures_util::future::join_all(opened).await;
    for (index, world) in worlds.iter().enumerate() {
        assert_eq!(world.isolation, Isolation::Cell);
        world.machine.write("mark", &[u8::try_from(index).expect("small")]).await.expect("written");
    }
    for (index, world) in worlds.iter().enumerate() {
        assert_eq!(world.machine.read("mark").await.expect("read"), [u8::try_from(index).expect("small")]);
        assert_eq!(shell(&*world.machine, "pgrep -c Xvfb").await, "1");
    }
    for world in worlds {
        close(world).await;
    }
}

#[tokio::test]
async fn without_namespaces_a_world_works_and_leaves_nothing() {
    let state = state();
    let mut world = open_with(state.path(), CellIsolation::Plain).await;
    assert_eq!(world.isolation, Isolation::Plain);
    let home = world.machine.offers().home.clone();
    assert!(Path::new(&home).starts_with(state.path()), "{home}");
    launch(&mut world, &["mousepad", "x.txt"], "x.txt").await;
    deliver(&mut world, text("häß")).await;
    deliver(&mut world, key("ctrl+s")).await;
    until(&mut world, "a saved file", |seen| {
        seen.windows.iter().all(|window| !window.title.starts_with('*'))
    })
    .await;
    assert_eq!(world.machine.read("x.txt").await.expect("read"), "häß".as_bytes());
    // A program in a session of its own, far from the supervisor.
    shell(&*world.machine, "setsid -f sleep 5000").await;
    close(world).await;
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let place = state.path().to_string_lossy().into_owned();
    let here = processes.filter(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&place)
    });
    let here: Vec<_> = here.map(|process| std::fs::read_to_string(process.path().join("cmdline"))).collect();
    assert!(here.is_empty(), "{here:?}");
    let left: Vec<_> = std::fs::read_dir(state.path()).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[tokio::test]
async fn an_option_of_a_list_box_is_chosen_by_its_text() {
    let state = state();
    let mut world = open(state.path()).await;
    let seen = launch(&mut world, &["thunar"], "Thunar").await;
    deliver(&mut world, click(id(&seen, "menuitem", "Edit"))).await;
    let seen =
        until(&mut world, "a menu", |seen| find(seen.tree.as_ref(), "menuitem", "Preferences...").is_some())
            .await;
    deliver(&mut world, click(id(&seen, "menuitem", "Preferences..."))).await;
    let boxes = |seen: &Observation| -> Vec<UiNode> {
        let nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.filter(|node| node.role.as_str() == "combobox" && !node.is(State::Hidden)).cloned().collect()
    };
    let seen = until(&mut world, "the preferences", |seen| !boxes(seen).is_empty()).await;
    let first = boxes(&seen).remove(0);
    let at = Target::Ref(first.id.clone());
    let wrong = Action::Select { at: at.clone(), option: "No such view".into() };
    let problem = refusal(&mut world, wrong).await;
    assert!(problem.contains("it has no option \"No such view\"; it has: Icon View"), "{problem}");
    deliver(&mut world, Action::Select { at, option: "Compact View".into() }).await;
    until(&mut world, "the choice", |seen| {
        boxes(seen).iter().any(|node| node.id == first.id && node.name == "Compact View")
    })
    .await;
    let stored = shell(&*world.machine, "xfconf-query -c thunar -p /default-view").await;
    assert_eq!(stored, "ThunarCompactView");
    close(world).await;
}

/// The first look after an action shows the dialog that it opened, in front and with its focus, and never the moment
/// before.
#[tokio::test]
async fn a_dialog_is_in_front_with_its_focus_at_the_first_look() {
    let state = state();
    let mut world = open(state.path()).await;
    launch(&mut world, &["mousepad"], "Mousepad").await;
    let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
    for round in 0..8 {
        for (chord, title, focused) in [("ctrl+o", "Open", "table"), ("Escape", "Untitled", "text")] {
            deliver(&mut world, key(chord)).await;
            let seen = world.environment.observe(want).await.expect("seen");
            let front: Vec<&str> = seen
                .windows
                .iter()
                .filter(|window| window.active)
                .map(|window| window.title.as_str())
                .collect();
            assert!(
                front.len() == 1 && front[0].contains(title),
                "round {round}: after {chord}, {front:?} is in front"
            );
            let tree = seen.tree.as_ref().expect("a tree");
            let has_focus = tree.nodes.iter().any(|node| node.states.contains(&State::Focused));
            assert!(
                has_focus,
                "round {round}: after {chord}, no {focused} has the focus in\n{}",
                listing(tree)
            );
        }
    }
    close(world).await;
}

/// Prints medians of what looking and acting cost; run by name, with `--ignored --nocapture`.
#[tokio::test]
#[ignore = "a measurement"]
async fn what_looking_and_acting_cost() {
    let state = state();
    let mut world = open(state.path()).await;
    let clock = SystemClock::new();
    let now = || apprentice_protocol::Clock::mono(&clock);
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    for (argv, title) in [
        (&["mousepad"][..], "Mousepad"),
        (&["thunar"], "Thunar"),
        (&["chromium", "--no-first-run", "--force-renderer-accessibility"], "Chromium"),
    ] {
        let start = now();
        launch(&mut world, argv, title).await;
        println!("{title} stands after {:?}", now() - start);
        let (mut times, mut size) = (Vec::new(), 0);
        for _ in 0..20 {
            let start = now();
            size = world.machine.tree(&TreeBudget::default()).await.expect("a tree").nodes.len();
            times.push(now() - start);
        }
        println!("tree of {size} nodes up to {title}: {:?}", median(&mut times));
    }
    let seen = world.environment.observe(Want { screenshot: false, tree: Some(TreeBudget::default()) }).await;
    println!("{}", seen.expect("seen").tree.as_ref().map(listing).unwrap_or_default());
    let mut costs = [("click", Vec::new()), ("type 100", Vec::new()), ("picture", Vec::new())];
    launch(&mut world, &["mousepad", "x"], "x - Mousepad").await;
    for _ in 0..20 {
        let point = Target::Point(ScreenPoint::new(640, 400));
        let picture = Want { screenshot: true, tree: None };
        let start = now();
        deliver(&mut world, click(point)).await;
        let clicked = now();
        deliver(&mut world, text(&"Ab3$ efgh!".repeat(10))).await;
        let typed = now();
        world.environment.observe(picture).await.expect("seen");
        let pictured = now();
        for ((_, times), time) in costs.iter_mut().zip([clicked - start, typed - clicked, pictured - typed]) {
            times.push(time);
        }
    }
    for (name, times) in &mut costs {
        println!("{name}: {:?}, rest included", median(times));
    }
    close(world).await;
}

#[tokio::test]
async fn the_agent_is_told_which_program_went_over_a_limit() {
    let state = state();
    let limits = CellLimits { memory: 700 << 20, ..CellLimits::default() };
    let mut world = open_within(state.path(), CellIsolation::Bubblewrap, limits).await;
    let half = "import time; x = bytearray(400 << 20); time.sleep(1000)";
    for _ in 0..2 {
        world.machine.launch(&Command::new(["python3", "-c", half])).await.expect("starts");
    }
    let mut told = None;
    for _ in 0..100 {
        pause(200).await;
        told = act(&mut world, Action::Wait { ms: 1 }).await.text;
        if told.is_some() {
            break;
        }
    }
    let told = told.expect("it is told");
    assert!(
        told.starts_with("python3 was ended: the programs here used ") && told.contains("700 MB"),
        "{told}"
    );
    assert_eq!(
        shell(world.machine.as_ref(), "while [ $(pgrep -c python3) -gt 1 ]; do :; done; pgrep -c python3")
            .await,
        "1",
        "one fits"
    );
    world.environment.close(SOON).await.expect("closes");
}

/// What a window that prints its X events has seen: `state button` of presses and `state keysym` of keys.
async fn x_events(world: &World) -> Vec<String> {
    let text = world.machine.read("events.txt").await.expect("events");
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut found = Vec::new();
    for event in text.split("\n\n") {
        let field = |name: &str| {
            let (_, rest) = event.split_once(name)?;
            rest.split([',', ')', '\n']).next().map(|word| word.trim().to_owned())
        };
        let state = field("state ").unwrap_or_default();
        if event.contains("ButtonPress event") {
            found.push(format!("{state} button {}", field("button ").unwrap_or_default()));
        } else if event.contains("KeyPress event") {
            let name = field("(keysym ").and_then(|_| event.split_once("(keysym ")).map(|(_, rest)| rest);
            let name = name.and_then(|rest| rest.split([',', ')']).nth(1)).unwrap_or_default().trim();
            found.push(format!("{state} key {name}"));
        }
    }
    found
}

#[tokio::test]
async fn held_keys_side_buttons_and_rare_keys_arrive_as_x_events() {
    let state = state();
    let mut world = open(state.path()).await;
    let command = ["sh", "-c", "cd; exec xev -geometry 800x600+100+100 > events.txt 2>&1"];
    // A program that starts faster than the window manager would not be listed.
    world.environment.observe(Want { screenshot: true, tree: None }).await.expect("seen");
    world.machine.launch(&Command::new(command)).await.expect("launched");
    let stands = |seen: &Observation| seen.windows.iter().any(|window| window.title == "Event Tester");
    let begun = tokio::time::timeout(Duration::from_secs(15), until(&mut world, "the window", stands)).await;
    let told = world.machine.read("events.txt").await.unwrap_or_default();
    assert!(begun.is_ok(), "no window: {}", String::from_utf8_lossy(&told));
    let at = |x, y| Target::Point(ScreenPoint::new(x, y));
    let keys = |text: &str| Chord::parse(text).expect("a chord");
    deliver(&mut world, Action::Move { to: at(400, 400) }).await;
    let told = act(&mut world, Action::Cursor).await;
    assert_eq!(told.pointer, Some(ScreenPoint::new(400, 400)));
    let hold = |text: &str, actions| Action::Hold { keys: keys(text), actions };
    let button = Button::Left;
    deliver(
        &mut world,
        hold("ctrl", vec![Action::Press { at: None, button }, Action::Release { at: None, button }]),
    )
    .await;
    deliver(&mut world, hold("shift", vec![Action::Scroll { at: Some(at(400, 400)), dx: 0, dy: 1 }])).await;
    let path = vec![ScreenPoint::new(400, 400), ScreenPoint::new(500, 450)];
    deliver(&mut world, hold("ctrl+shift", vec![Action::Drag { path, button }])).await;
    for button in [Button::Back, Button::Forward] {
        deliver(&mut world, Action::Click { at: at(400, 400), button, count: 1, hold: None }).await;
    }
    deliver(&mut world, Action::KeyDown { keys: keys("shift") }).await;
    deliver(&mut world, Action::Key { chord: keys("a"), hold_ms: None }).await;
    deliver(&mut world, Action::KeyUp { keys: keys("shift") }).await;
    for name in ["F13", "minus", "KP_Add", "Tab"] {
        deliver(&mut world, Action::Key { chord: keys(name), hold_ms: None }).await;
    }
    let mut seen = Vec::new();
    for _ in 0..50 {
        seen = x_events(&world).await;
        if seen.iter().any(|event| event.ends_with("key Tab")) {
            break;
        }
        pause(100).await;
    }
    for expected in [
        "0x4 button 1",
        "0x5 button 1",
        "0x1 button 5",
        "0x0 button 8",
        "0x0 button 9",
        "0x1 key A",
        "0x0 key F13",
        "0x0 key minus",
        "0x0 key KP_Add",
    ] {
        assert!(seen.iter().any(|event| event == expected), "{expected} is not in {seen:?}");
    }
    close(world).await;
}
