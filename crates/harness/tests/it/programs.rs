//! Acts on other people's programs whose windows and lists are not what their accessibility says: what is hit, and what became of it.

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
