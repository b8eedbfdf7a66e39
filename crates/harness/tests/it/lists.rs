//! Check boxes in the lists of real programs, and fields that stand beside their labels.

use std::time::Duration;

use apprentice_harness::agent::view_text;
use apprentice_protocol::{Observation, Size, State, Target, TreeBudget, UiNode, View, World};

use crate::cell::{shell, state};
use crate::desktop::{click, close, deliver, id, key, launch, listing, node, open, text, until_within};
use crate::trees::is_installed;

async fn until(world: &mut World, what: &str, holds: impl Fn(&Observation) -> bool) -> Observation {
    until_within(world, TreeBudget::default(), what, holds).await
}

fn find<'a>(seen: &'a Observation, role: &str, name: &str) -> Option<&'a UiNode> {
    seen.tree.as_ref()?.nodes.iter().find(|node| node.role.as_str() == role && node.name.contains(name))
}

/// Opens the list of all settings of geany, and gives the view of it.
async fn all_settings(world: &mut World) -> Observation {
    launch(world, &["geany", "--no-terminal", "--new-instance"], "Geany").await;
    until(world, "the menus", |seen| find(seen, "menuitem", "Tools").is_some()).await;
    deliver(world, key("ctrl+alt+p")).await;
    let seen = until(world, "the tabs", |seen| find(seen, "tab", "Various").is_some()).await;
    deliver(world, click(id(&seen, "tab", "Various"))).await;
    let shows = |seen: &Observation| find(seen, "checkbox", "editor.show_editor_scrollbars").is_some();
    until(world, "the settings", shows).await
}

#[tokio::test]
async fn a_list_says_a_check_box_only_where_one_is_drawn() {
    if !is_installed("geany") {
        println!("skipped: geany is not installed");
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    let seen = all_settings(&mut world).await;
    let tree = seen.tree.as_ref().expect("a tree");
    let of = |name: &str| {
        let found = tree
            .nodes
            .iter()
            .find(|node| node.name == name && (node.role.as_str() == "checkbox" || node.value.is_some()));
        found.unwrap_or_else(|| panic!("{name} in {}", listing(tree)))
    };
    // A number stands in this row, and the program tells a checked box and the texts of other rows.
    let number = of("editor.indent_hard_tab_width");
    assert_eq!(number.role.as_str(), "cell");
    let value = number.value.as_deref().unwrap_or_default();
    assert!(value.starts_with("not known, one of:") && value.ends_with("| 8"), "{value}");
    assert!(of("editor.show_editor_scrollbars").is(State::Checked));
    assert!(of("editor.brace_match_ltgt").is(State::Unchecked));
    close(world).await;
}

#[tokio::test]
async fn a_check_box_out_of_view_of_its_list_is_scrolled_to_and_clicked() {
    if !is_installed("geany") {
        println!("skipped: geany is not installed");
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    let seen = all_settings(&mut world).await;
    let mut boxes =
        seen.tree.as_ref().expect("a tree").nodes.iter().filter(|node| node.role.as_str() == "checkbox");
    let far = boxes.rfind(|node| node.bounds.is_none() && !node.name.is_empty());
    let far = far.expect("one out of view").clone();
    deliver(&mut world, click(Target::Ref(far.id.clone()))).await;
    let states = |seen: &Observation| {
        let node =
            seen.tree.as_ref().and_then(|tree| tree.get(&far.id)).filter(|node| node.bounds.is_some())?;
        node.states.iter().copied().find(|state| [State::Checked, State::Unchecked].contains(state))
    };
    let first = until(&mut world, "the box in view", |seen| states(seen).is_some()).await;
    let was = states(&first).expect("known");
    deliver(&mut world, click(Target::Ref(far.id.clone()))).await;
    until(&mut world, "the other state", |seen| states(seen).is_some_and(|now| now != was)).await;
    close(world).await;
}

#[tokio::test]
async fn a_window_behind_a_dialog_is_named_and_not_listed() {
    if !is_installed("homebank") {
        println!("skipped: homebank is not installed");
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    launch(&mut world, &["homebank"], "HomeBank").await;
    let seen = until(&mut world, "the greeting", |seen| find(seen, "dialog", "Welcome").is_some()).await;
    let tree = seen.tree.as_ref().expect("a tree");
    let list = view_text(None, tree, &View::whole(Size::new(1280, 800)));
    assert!(list.contains("window \"HomeBank\"") && list.contains("[not in front"), "{list}");
    assert!(!list.contains("Transactions"), "its menus cannot be used: {list}");
    close(world).await;
}

/// Three hundred numbered lines.
fn lines() -> String {
    (1..=300).map(|line| format!("line {line} of a long text\n")).collect()
}

#[tokio::test]
async fn the_visible_part_of_a_long_text_is_listed_and_follows_the_scrolling() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("long.txt", lines().as_bytes()).await.expect("written");
    launch(&mut world, &["mousepad", "long.txt"], "long.txt").await;
    let part = |seen: &Observation| find(seen, "textbox", "").and_then(|node| node.visible.clone());
    let seen = until(&mut world, "the beginning", |seen| part(seen).is_some()).await;
    let top = part(&seen).expect("told");
    assert!(top.text.starts_with("line 1 of") && top.line == 1 && top.lines == 301, "{top:?}");
    assert!((10..150).contains(&top.last_line()), "only what shows: {top:?}");
    deliver(&mut world, key("ctrl+End")).await;
    let at_end = |seen: &Observation| part(seen).is_some_and(|part| part.text.contains("line 300 of"));
    let seen = until(&mut world, "the end", at_end).await;
    assert!(part(&seen).expect("told").line > 100, "the beginning is out of view");
    close(world).await;
}

#[tokio::test]
async fn a_click_beside_an_open_menu_says_that_it_closed_it() {
    let state = state();
    let mut world = open(state.path()).await;
    launch(&mut world, &["mousepad"], "Mousepad").await;
    let seen = until(&mut world, "the menus", |seen| find(seen, "menuitem", "File").is_some()).await;
    let field = id(&seen, "textbox", "");
    deliver(&mut world, click(id(&seen, "menuitem", "File"))).await;
    let is_open =
        |seen: &Observation| find(seen, "menuitem", "Save As").is_some_and(|item| item.bounds.is_some());
    until(&mut world, "the open menu", is_open).await;
    // GTK keeps a menu open when the button is let go within half a second of the click that opened it.
    let said = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            let said = world.environment.act(&click(field.clone())).await.expect("acts").text;
            let seen = until(&mut world, "a view", |_| true).await;
            match said {
                None => assert!(is_open(&seen), "it was closed, and the report is silent"),
                Some(said) => break (said, is_open(&seen)),
            }
        }
    });
    let (said, stays) = said.await.expect("it is closed");
    assert!(said.contains("closed an open menu") && !stays, "{said:?}");
    let again = world.environment.act(&click(field)).await.expect("acts").text;
    assert_eq!(again, None, "no menu is open now");
    close(world).await;
}

#[tokio::test]
async fn check_boxes_in_a_list_have_their_state_and_their_rows_name_and_are_clicked() {
    if !is_installed("geany") {
        println!("skipped: geany is not installed");
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    launch(&mut world, &["geany", "--no-terminal", "--new-instance"], "Geany").await;
    let seen = until(&mut world, "the menus", |seen| find(seen, "menuitem", "Tools").is_some()).await;
    deliver(&mut world, click(id(&seen, "menuitem", "Tools"))).await;
    let seen =
        until(&mut world, "the open menu", |seen| find(seen, "menuitem", "Plugin Manager").is_some()).await;
    deliver(&mut world, click(id(&seen, "menuitem", "Plugin Manager"))).await;
    let has = |name: &'static str, state: State| {
        move |seen: &Observation| {
            find(seen, "checkbox", name).is_some_and(|box_| box_.is(state) && box_.bounds.is_some())
        }
    };
    let seen = until(&mut world, "the list of plugins", has("Save Actions", State::Unchecked)).await;
    assert!(has("Export", State::Unchecked)(&seen), "each row has its own");
    let target = id(&seen, "checkbox", &find(&seen, "checkbox", "Save Actions").expect("there").name);
    deliver(&mut world, click(target)).await;
    let seen = until(&mut world, "the state after the click", has("Save Actions", State::Checked)).await;
    assert!(has("Export", State::Unchecked)(&seen), "the others are as they were");
    close(world).await;
}

#[tokio::test]
async fn fields_of_a_dialog_have_the_labels_beside_them() {
    if !is_installed("gnumeric") {
        println!("skipped: gnumeric is not installed");
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    shell(&*world.machine, "printf 'a,1\\nb,2\\n' >list.csv").await;
    launch(&mut world, &["gnumeric", "list.csv"], "list.csv").await;
    let seen = until(&mut world, "the menus", |seen| find(seen, "menuitem", "Edit").is_some()).await;
    deliver(&mut world, click(id(&seen, "menuitem", "Edit"))).await;
    deliver(&mut world, key("Escape")).await;
    // The dialog to search for a text.
    deliver(&mut world, key("ctrl+f")).await;
    let seen = until(&mut world, "the dialog", |seen| find(seen, "dialog", "Search").is_some()).await;
    let field = node(&seen, "textbox", "Search for");
    assert!(field.bounds.is_some());
    deliver(&mut world, click(id(&seen, "textbox", "Search for"))).await;
    deliver(&mut world, text("b")).await;
    let typed = |seen: &Observation| {
        find(seen, "textbox", "Search for").is_some_and(|field| field.value.as_deref() == Some("b"))
    };
    until(&mut world, "what was typed", typed).await;
    close(world).await;
}
