//! Where typing would go: the one element with the focus, its caret and what is selected of it.

use apprentice_harness::agent::ViewTexts;
use apprentice_protocol::{Command, DetailKind, Observation, Size, State, TreeBudget, UiNode, View, World};

use crate::cell::state;
use crate::desktop::{click, close, deliver, key, launch, open, until_within};

async fn until(world: &mut World, what: &str, holds: impl Fn(&Observation) -> bool) -> Observation {
    // A page lies deep in the tree, and a busy machine reads slowly.
    until_within(world, TreeBudget { ms: 15_000, ..TreeBudget::default() }, what, holds).await
}

fn focused(seen: &Observation) -> Vec<&UiNode> {
    let nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
    nodes.filter(|node| node.is(State::Focused)).collect()
}

/// What is told of the one element that has the focus.
fn mark(seen: &Observation, kind: DetailKind) -> Option<String> {
    let [node] = focused(seen)[..] else { return None };
    Some(node.details.iter().find(|detail| detail.kind == kind)?.text.clone())
}

fn next(texts: &mut ViewTexts, seen: &Observation) -> String {
    texts.next(seen.tree.as_ref().expect("a tree"), &View::whole(Size::new(1280, 800)))
}

#[tokio::test]
async fn an_editor_says_where_its_caret_stands_and_what_is_selected() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("list.txt", "öne\ntwo words\nthree".as_bytes()).await.expect("written");
    launch(&mut world, &["mousepad", "list.txt"], "list.txt").await;
    let mut texts = ViewTexts::default();
    let caret = |place: &'static str| {
        move |seen: &Observation| mark(seen, DetailKind::Caret).as_deref() == Some(place)
    };
    let seen = until(&mut world, "the text", caret("line 1 column 1: |öne")).await;
    let first = next(&mut texts, &seen);
    assert!(first.contains("three\" caret \"line 1 column 1: |öne\" [focused"), "{first}");
    deliver(&mut world, key("ctrl+Right")).await;
    let seen = until(&mut world, "the next word", caret("line 1 column 4: öne|")).await;
    let changed = next(&mut texts, &seen);
    let lines: Vec<&str> = changed.trim_end().lines().skip(1).collect();
    let [line] = lines[..] else { panic!("nothing else changed: {changed}") };
    assert!(
        line.starts_with("in textbox #") && line.ends_with(": caret \"line 1 column 4: öne|\""),
        "{changed}"
    );
    deliver(&mut world, key("shift+Down")).await;
    let selects = |seen: &Observation| mark(seen, DetailKind::SelectedText).as_deref() == Some("\ntwo");
    let seen = until(&mut world, "the selection", selects).await;
    let changed = next(&mut texts, &seen);
    assert!(changed.contains(": selected text \"\\ntwo\" from \"line 1 column 4\"\n"), "{changed}");
    assert!(!changed.contains("caret"), "what is typed goes where the selection is: {changed}");
    deliver(&mut world, key("ctrl+End")).await;
    let seen = until(&mut world, "the end", caret("line 3 column 6: three|")).await;
    let changed = next(&mut texts, &seen);
    assert!(
        changed.contains(": caret \"line 3 column 6: three|\"\n") && !changed.contains("selected"),
        "{changed}"
    );
    close(world).await;
}

const FORM: &str = "<!doctype html><meta charset=utf-8><title>Begun</title>
    <label>Name <input value='Ada Lovelace'></label> <label>Town <input></label>";

#[tokio::test]
async fn of_the_documents_and_fields_of_a_browser_one_has_the_focus() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("form.html", FORM.as_bytes()).await.expect("written");
    // It tells what its pages show without being asked to.
    let command = ["chromium", "--no-first-run", "form.html"];
    world.machine.launch(&Command::new(command)).await.expect("launched");
    let shown = |seen: &Observation| {
        let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.any(|node| node.name == "Town" && node.bounds.is_some())
    };
    until(&mut world, "the page", shown).await;
    let mut texts = ViewTexts::default();
    for (name, other) in [("Town", "Name"), ("Name", "Town")] {
        let seen = until(&mut world, "one focus", |seen| focused(seen).len() == 1).await;
        next(&mut texts, &seen);
        let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        let target = nodes.rfind(|node| node.name == name && node.bounds.is_some());
        let target = target.unwrap_or_else(|| panic!("{name}: {seen:?}")).id.clone();
        deliver(&mut world, click(apprentice_protocol::Target::Ref(target.clone()))).await;
        let has = |seen: &Observation| matches!(focused(seen)[..], [node] if node.name == name);
        let seen = until(&mut world, "the focus of the field", has).await;
        let changed = next(&mut texts, &seen);
        let line = changed.lines().find(|line| line.starts_with(&format!("focus: textbox \"{name}\"")));
        let line = line.unwrap_or_else(|| panic!("{changed}"));
        assert_eq!(
            line.contains(" caret \""),
            name == "Name",
            "an empty field has one place alone: {changed}"
        );
        assert!(!changed.contains(&format!("focus: textbox \"{other}\"")), "{changed}");
    }
    close(world).await;
}
