//! Acts on other people's programs whose windows and lists are not what their accessibility says: what is hit, and what became of it.

use std::path::Path;

use apprentice_protocol::{Action, Command, Observation, ScreenPoint, State, Target, TreeBudget, World};

use crate::cell::state;
use crate::desktop::{click, close, deliver, id, key, launch, node, open, text, until_within};
use crate::trees::is_installed;

async fn until(world: &mut World, what: &str, holds: impl Fn(&Observation) -> bool) -> Observation {
    until_within(world, TreeBudget::default(), what, holds).await
}

/// The text that a window shows, by a part of its title.
fn text_of<'a>(seen: &'a Observation, title: &str) -> Option<&'a apprentice_protocol::UiNode> {
    let tree = seen.tree.as_ref()?;
    let window = tree.nodes.iter().position(|node| node.role.is_window() && node.name.contains(title))?;
    let after = tree.nodes.iter().skip(window + 1);
    after.take_while(|node| !node.role.is_window()).find(|node| node.role.as_str() == "textbox")
}

#[tokio::test]
async fn a_reference_into_a_covered_window_reaches_that_window() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("a.txt", b"first\n").await.expect("written");
    let seen = launch(&mut world, &["mousepad", "/home/user/a.txt"], "a.txt").await;
    let covered = Target::Ref(text_of(&seen, "a.txt").expect("its text").id.clone());
    deliver(&mut world, key("ctrl+shift+n")).await;
    until(&mut world, "a second window", |seen| seen.title().contains("Untitled")).await;
    deliver(&mut world, key("alt+F10")).await;
    deliver(&mut world, text("second ")).await;
    let told = |seen: &Observation| {
        let tree = seen.tree.as_ref().expect("a tree");
        let first = tree.nodes.iter().find(|node| node.role.is_window() && node.name.contains("a.txt"));
        first.is_some_and(|first| first.details.iter().any(|detail| detail.text.contains("Untitled")))
    };
    until(&mut world, "what covers it is told", told).await;
    deliver(&mut world, click(covered)).await;
    deliver(&mut world, text("FOR A.TXT")).await;
    deliver(&mut world, key("ctrl+s")).await;
    until(&mut world, "a saved file", |seen| {
        seen.windows.iter().all(|window| !window.title.starts_with("*~/a.txt"))
    })
    .await;
    let written = world.machine.read("a.txt").await.expect("read");
    assert_eq!(String::from_utf8_lossy(&written).trim_end(), "first\nFOR A.TXT");
    close(world).await;
}

#[tokio::test]
async fn a_list_box_of_qt_takes_what_is_selected() {
    if !is_installed("vlc") {
        println!("vlc is not installed");
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    launch(&mut world, &["vlc"], "VLC").await;
    deliver(&mut world, key("ctrl+p")).await;
    let seen = until(&mut world, "the settings", |seen| {
        seen.tree.as_ref().is_some_and(|tree| {
            tree.nodes.iter().any(|node| node.role.as_str() == "combobox" && node.name == "Ask")
        })
    })
    .await;
    let tree = seen.tree.as_ref().expect("a tree");
    let closed = tree.nodes.iter().filter(|node| node.role.as_str() == "option" && node.name == "Always");
    assert!(closed.clone().count() > 0 && closed.clone().all(|node| node.is(State::Hidden)));
    let chosen: Action<ScreenPoint> =
        Action::Select { at: id(&seen, "combobox", "Ask"), option: "Always".into() };
    deliver(&mut world, chosen).await;
    let seen = until(&mut world, "the choice", |seen| {
        seen.tree.as_ref().is_some_and(|tree| {
            tree.nodes.iter().any(|node| node.role.as_str() == "combobox" && node.name == "Always")
        })
    })
    .await;
    deliver(&mut world, click(id(&seen, "button", "Save"))).await;
    until(&mut world, "the settings are closed", |seen| !seen.title().contains("Preferences")).await;
    let kept = Command::shell("grep '^qt-continue=' ~/.config/vlc/vlcrc");
    let kept = world.machine.run(&kept).await.expect("runs").stdout_text();
    assert_eq!(kept.trim(), "qt-continue=2");
    close(world).await;
}

#[tokio::test]
async fn a_program_in_larger_dots_is_hit_where_it_is_drawn() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("a.txt", b"first\n").await.expect("written");
    let seen = launch(&mut world, &["env", "GDK_SCALE=2", "mousepad", "/home/user/a.txt"], "a.txt").await;
    assert!(!node(&seen, "menuitem", "Help").is(State::Hidden));
    deliver(&mut world, click(id(&seen, "menuitem", "Help"))).await;
    let seen = until(&mut world, "the open menu", |seen| {
        seen.tree
            .as_ref()
            .is_some_and(|tree| tree.nodes.iter().any(|node| node.name == "About" && node.bounds.is_some()))
    })
    .await;
    deliver(&mut world, click(id(&seen, "menuitem", "About"))).await;
    until(&mut world, "the dialog", |seen| seen.title().contains("About")).await;
    close(world).await;
}

const QML: &str = r#"
import QtQuick 2.15
import QtQuick.Controls 2.15

ApplicationWindow {
    visible: true; width: 500; height: 300; title: "QML form"
    menuBar: MenuBar {
        Menu { title: "File"; MenuItem { text: "Open" } }
        Menu { title: "Help"; MenuItem { text: "About" } }
    }
    TextField { Accessible.name: "Name"; anchors.centerIn: parent }
}
"#;

#[tokio::test]
async fn a_menu_bar_of_qml_lists_its_menus() {
    let state = state();
    let mut world = open(state.path()).await;
    let programs = ["/usr/lib/qt5/bin/qmlscene", "/usr/lib/qt6/bin/qml"];
    let Some(program) = programs.into_iter().find(|program| Path::new(program).is_file()) else {
        println!("QML is not installed");
        return close(world).await;
    };
    world.machine.write("form.qml", QML.as_bytes()).await.expect("written");
    let seen = launch(&mut world, &[program, "form.qml"], "QML form").await;
    deliver(&mut world, click(id(&seen, "menuitem", "File"))).await;
    until(&mut world, "the open menu", |seen| {
        seen.tree
            .as_ref()
            .is_some_and(|tree| tree.nodes.iter().any(|node| node.name == "Open" && !node.is(State::Hidden)))
    })
    .await;
    close(world).await;
}

#[tokio::test]
async fn a_character_that_java_takes_for_another_is_left_out_and_named() {
    if !is_installed("java") {
        println!("java is not installed");
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    let source = include_str!("../../../../scripts/conformance/programs_files/Form.java");
    world.machine.write("Form.java", source.as_bytes()).await.expect("written");
    world.machine.launch(&Command::new(["java", "Form.java"])).await.expect("launched");
    until(&mut world, "the form", |seen| seen.title() == "Swing form").await;
    let report = world.environment.act(&text("a😀éb")).await.expect("the world stands");
    assert!(report.text.is_some_and(|told| told.contains('😀')), "it is named");
    // Size, Agree, Save.
    for _ in 0..3 {
        deliver(&mut world, key("Tab")).await;
    }
    deliver(&mut world, key("space")).await;
    until_written(&mut world, "out.txt").await;
    let written = world.machine.read("out.txt").await.expect("read");
    assert_eq!(String::from_utf8_lossy(&written), "aéb|Small|false");
    close(world).await;
}

/// Waits until a program has written a file.
async fn until_written(world: &mut World, name: &str) {
    let there = format!("for i in $(seq 100); do [ -s {name} ] && exit; sleep 0.1; done; exit 1");
    let output = world.machine.run(&Command::shell(&there)).await.expect("runs");
    assert_eq!(output.code, 0, "{name} is not written");
}

#[tokio::test]
async fn the_text_of_a_page_is_listed() {
    if !is_installed("evince") {
        println!("evince is not installed");
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    let page = include_bytes!("../../../../scripts/conformance/programs_files/page.pdf");
    world.machine.write("page.pdf", page).await.expect("written");
    launch(&mut world, &["evince", "page.pdf"], "page.pdf").await;
    until(&mut world, "the text of the page", |seen| {
        seen.tree.as_ref().is_some_and(|tree| {
            tree.nodes.iter().any(|node| {
                node.value.as_deref().is_some_and(|text| text.contains("three cups and a kettle"))
            })
        })
    })
    .await;
    close(world).await;
}
