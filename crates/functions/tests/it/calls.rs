//! What a call asks of its world, and where it stops.

use apprentice_functions::Source;
use apprentice_protocol::{Action, FieldValue, FunctionEnd, NodeRef, Target};
use serde_json::json;

use crate::driver::{Driven, drive, function, seen};

fn read(text: &str) -> Source {
    Source::read(text, &[]).unwrap_or_else(|found| panic!("{text}\n{found:?}"))
}

fn target(driven: &Driven, place: usize) -> Option<&str> {
    match driven.acts[place].1.target() {
        Some(Target::Ref(NodeRef(id))) => Some(id),
        _ => None,
    }
}

#[tokio::test]
async fn each_call_is_one_action_on_the_element_that_it_names() {
    let source = read(&function(
        "name",
        "    page.goto(\"https://example.org\");\n    let dialog = page.get_by_role(\"dialog\", \"Rename\");
    dialog.get_by_label(\"Name\").fill(name);\n    dialog.get_by_role(\"button\", \"Save\").click();\n    page.press(\"ctrl+s\");
    return dialog.get_by_label(\"Name\").value();",
    ));
    let world = |_: usize, _: u32| {
        seen(&[
            (0, "dialog", "Rename"),
            (1, "textbox", "Name|old"),
            (1, "button", "Save"),
            (0, "button", "Save"),
        ])
    };
    let driven = drive(&source, &json!({ "name": "Draft" }), world).await;
    assert_eq!(driven.end, FunctionEnd::Returned { value: json!("old") });
    let lines: Vec<u32> = driven.acts.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [5, 7, 8, 9]);
    assert_eq!((target(&driven, 1), target(&driven, 2)), (Some("n1"), Some("n2")));
    let value = FieldValue::Text("Draft".into());
    assert!(matches!(&driven.acts[1].1, Action::Fill { value: given, .. } if *given == value));
    assert_eq!(driven.pauses, 0);
}

#[tokio::test]
async fn a_call_waits_for_its_element_and_stops_where_it_does_not_come() {
    let source = read(&function("", "    page.get_by_role(\"button\", \"Send\").click();"));
    let late = |_: usize, pauses: u32| match pauses {
        0..3 => seen(&[(0, "button", "Send|disabled")]),
        _ => seen(&[(0, "button", "Send")]),
    };
    let driven = drive(&source, &json!({}), late).await;
    assert_eq!((driven.acts.len(), driven.pauses), (1, 3), "{:?}", driven.end);

    let changed = drive(&source, &json!({}), |_, _| seen(&[(0, "button", "Submit")])).await;
    assert_eq!((changed.acts.len(), changed.pauses), (0, 10), "five seconds, half of one at a time");
    let reason = changed.reason();
    assert!(
        reason.starts_with("line 4: page.get_by_role(\"button\", \"Send\").click(): no element matches"),
        "{reason}"
    );

    let two = drive(&source, &json!({}), |_, _| seen(&[(0, "button", "Send"), (0, "button", "Send")])).await;
    let reason = two.reason();
    assert!(
        reason.contains("2 elements match") && reason.contains("(n0)") && reason.contains("(n1)"),
        "{reason}"
    );
    assert_eq!(two.pauses, 0, "waiting makes it no clearer");
}

#[tokio::test]
async fn menus_fields_and_expectations_of_a_desktop() {
    let source = read(
        "/// Exports.\n/// - name (text): the file\n/// Example: export_as(\"a.pdf\")\nfn export_as(desktop, name) {
    let window = desktop.window(\"Notes*\");\n    window.menu(\"File\", \"Export…\");
    desktop.window(\"Export\").get_by_label(\"Name\").fill(name);
    for keys in [\"tab\", \"enter\"] { desktop.press(keys); }
    expect(desktop.window(\"Export\")).to_be_hidden();\n}",
    );
    let world = |acts: usize, _: u32| match acts {
        0 => seen(&[(0, "window", "Notes - a"), (1, "menu", "File")]),
        1 => seen(&[(0, "window", "Notes - a"), (1, "menu", "File"), (0, "menuitem", "Export…")]),
        7.. => seen(&[(0, "window", "Notes - a")]),
        _ => seen(&[(0, "window", "Notes - a"), (0, "dialog", "Export"), (1, "textbox", "Name")]),
    };
    let driven = drive(&source, &json!({ "name": "b.pdf" }), world).await;
    assert_eq!(driven.end, FunctionEnd::Returned { value: json!(null) });
    let kinds: Vec<&str> = driven
        .acts
        .iter()
        .map(|(_, action)| match action {
            Action::Click { .. } => "click",
            Action::Key { .. } => "key",
            Action::Type { .. } => "type",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["click", "click", "click", "key", "type", "key", "key"]);
}

#[tokio::test]
async fn texts_and_lists_can_be_taken_apart() {
    let source = read(&function(
        "name",
        "    let parts = name.split(\" \");\n    let last = parts[parts.len() - 1].trim().to_upper();
    if name.contains(\"lee\") && last.to_lower() == \"lee\" { page.press(\"enter\"); }\n    return last;",
    ));
    let driven = drive(&source, &json!({ "name": "ann lee" }), |_, _| seen(&[])).await;
    assert_eq!((driven.acts.len(), driven.end), (1, FunctionEnd::Returned { value: json!("LEE") }));
}

#[test]
fn wrong_arguments_never_begin() {
    let source = read(&function("name", "    page.press(name);"));
    for (arguments, expected) in [
        (json!({}), "needs the argument \"name\" (text)"),
        (json!({ "name": 7 }), "is a text, not 7"),
        (json!({ "name": "a", "more": 1 }), "has no argument \"more\"; it has: name"),
        (json!(["a"]), "an object with a value for each name"),
        (json!({ "name": "x".repeat(5000) }), "is a text"),
    ] {
        let why = source.start(&arguments).err().map(|why| why.to_string()).unwrap_or_default();
        assert!(why.contains(expected), "{arguments}: {why}");
    }
}
