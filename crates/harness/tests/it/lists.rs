//! Check boxes in the lists of real programs, and fields that stand beside their labels.

use apprentice_protocol::{Observation, State, TreeBudget, UiNode, World};

use crate::cell::{shell, state};
use crate::desktop::{click, close, deliver, id, key, launch, node, open, text, until_within};
use crate::trees::is_installed;

async fn until(world: &mut World, what: &str, holds: impl Fn(&Observation) -> bool) -> Observation {
    until_within(world, TreeBudget::default(), what, holds).await
}

fn find<'a>(seen: &'a Observation, role: &str, name: &str) -> Option<&'a UiNode> {
    seen.tree.as_ref()?.nodes.iter().find(|node| node.role.as_str() == role && node.name.contains(name))
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
