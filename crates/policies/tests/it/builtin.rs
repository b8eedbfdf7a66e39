//! The built-in models on scripted scenes: what each policy can do alone, and what guidance changes.

use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::ChatModel as _;
use serde_json::{Value, json};

use crate::lent_notes::{Left, Note, attempt, note};

fn item(name: &str, effects: &Value) -> Value {
    json!({ "role": "menuitem", "name": name, "click": effects })
}

fn set(key: &str, value: impl Into<Value>) -> Value {
    json!([{ "set": { key: value.into() } }])
}

/// A small kitchen program: nested menus, a dialog with tabs, a context menu, and an object in a list.
fn kitchen() -> Value {
    let on_tab = |tab: &str| json!({ "dialog": true, "tab": tab });
    json!({
        "start": "main",
        "state": {
            "dough": "rye", "turned": null, "served": null, "lamp": false, "dialog": false, "tab": "Oven",
            "fan": false, "grams": "100", "wrapped": false, "naming": false, "label": "", "labelled": null,
            "picked": null
        },
        "pages": { "main": {
            "title": "Pantry - Kitchen",
            "controls": [
                { "role": "menu", "name": "Shelf", "items": [
                    item("New Label...", &set("naming", true)),
                    item("Quit", &set("picked", "quit")) ] },
                { "role": "menu", "name": "Bake", "items": [
                    item("Knead", &set("turned", "kneaded")),
                    { "role": "menuitem", "name": "Sponge", "items": [
                        item("Turn Sideways", &set("turned", "sideways")),
                        item("Turn Over", &set("turned", "over")),
                        item("Turn Twice", &set("turned", "twice")) ] } ] },
                { "role": "menu", "name": "Room", "items": [
                    item("Ceiling Lamp", &set("lamp", true)),
                    item("Preferences...", &set("dialog", true)) ] },
                { "role": "textbox", "name": "", "bind": "dough" },
                { "role": "listitem", "name": "Honey jar", "context": [
                    item("Wrap in Foil", &set("wrapped", true)) ] },
                { "role": "dialog", "name": "Label", "when": { "naming": true }, "items": [
                    { "role": "textbox", "name": "Label name", "bind": "label" },
                    { "role": "button", "name": "Cancel", "click": set("naming", false) },
                    { "role": "button", "name": "Create",
                      "click": [ { "copy": { "labelled": "label" } }, { "set": { "naming": false } } ] } ] },
                { "role": "dialog", "name": "Kitchen Preferences", "when": { "dialog": true }, "items": [
                    { "role": "tab", "name": "Oven", "bind": "tab" },
                    { "role": "tab", "name": "Scales", "bind": "tab" },
                    { "role": "checkbox", "name": "Fan assisted", "bind": "fan", "when": on_tab("Oven") },
                    { "role": "textbox", "name": "Smallest weight", "bind": "grams", "when": on_tab("Scales") },
                    { "role": "button", "name": "Close", "click": set("dialog", false) } ] }
            ],
            "keys": {
                "ctrl+s": [ { "copy": { "served": "turned" } } ]
            }
        } }
    })
}

async fn explore(instruction: &str, notes: &[Note]) -> Left {
    attempt(Policy::Explorer, kitchen(), instruction, notes).await
}

fn check(left: &Left, key: &str, expected: impl Into<Value>) {
    assert_eq!(left.values[key], expected.into(), "{key}: {:?}\n{}", left.ended.stop, left.said());
}

const TURN: &str = "In the kitchen, turn the sponge sideways and save it.";
const WEIGHT: &str = "Set the smallest weight to 25.";

#[tokio::test]
async fn the_explorer_finds_what_hides() {
    check(&explore(TURN, &[]).await, "served", "sideways");
    check(&explore("Please switch on the ceiling lamp.", &[]).await, "lamp", true);
    check(&explore("Make the oven fan assisted.", &[]).await, "fan", true);
    check(&explore(WEIGHT, &[]).await, "grams", "25");
    check(&explore("Wrap the 'Honey jar' in foil.", &[]).await, "wrapped", true);
    check(&explore("Create a new label called 'Plum jam'.", &[]).await, "labelled", "Plum jam");
}

#[tokio::test]
async fn the_explorer_gives_up_in_order() {
    let left = explore("Sharpen the bread knife.", &[]).await;
    assert_eq!(left.ended.stop, Ok(apprentice_protocol::StopReason::GaveUp), "{}", left.said());
    check(&left, "turned", Value::Null);
    check(&left, "picked", Value::Null);
}

#[tokio::test]
async fn the_student_does_not_search() {
    for (instruction, key) in [(WEIGHT, "grams"), ("Make the fan assisted.", "fan")] {
        let left = attempt(Policy::Novice, kitchen(), instruction, &[]).await;
        let before = kitchen()["state"][key].clone();
        check(&left, key, before);
    }
}

/// The same knowledge in the forms in which reviews write it.
const SPONGE: &[&str] = &[
    "1. Open \"Bake\".\n2. Open \"Sponge\".\n3. Choose the entry that the task asks for.",
    "1. Open Bake > Sponge.\n2. Choose the entry that the task asks for (there are: Turn Sideways, Turn Over).",
    "1. Choose Bake > Sponge > Turn Sideways.",
];

fn sponge(guidance: &str) -> Vec<Note> {
    vec![note("kitchen/sponge", "Turning a sponge sideways, over or twice", guidance)]
}

#[tokio::test]
async fn the_novice_follows_guidance() {
    check(&attempt(Policy::Novice, kitchen(), TURN, &[]).await, "served", Value::Null);
    for guidance in SPONGE {
        let left = attempt(Policy::Novice, kitchen(), TURN, &sponge(guidance)).await;
        check(&left, "served", "sideways");
    }
}

#[tokio::test]
async fn guidance_carries_over_to_another_goal() {
    let goal = "Turn the sponge over, please, and save.";
    for guidance in &SPONGE[..2] {
        check(&attempt(Policy::Novice, kitchen(), goal, &sponge(guidance)).await, "served", "over");
    }
    let scales = "1. Open Room > Preferences...\n2. Open the tab \"Scales\".\n3. Type the number the task gives into \
                  \"Smallest weight\".\n4. Press Close.";
    let weight = [note("kitchen/scales", "Setting the smallest weight of the scales", scales)];
    check(&attempt(Policy::Novice, kitchen(), WEIGHT, &weight).await, "grams", "25");
}

#[tokio::test]
async fn a_wrong_path_never_turns_a_failure_into_a_pass() {
    let wrong = [
        "Choose Room > Sponge > Turn Sideways.",
        "Choose Bake > Grill > Turn Sideways.",
        "1. Choose Room > Ceiling Lamp.",
        "Choose Bake > Sponge > Turn Over.",
        "Press Ctrl+J.",
    ];
    for guidance in wrong {
        let left = attempt(Policy::Novice, kitchen(), TURN, &sponge(guidance)).await;
        assert!(left.values["served"] != "sideways", "{guidance:?}:\n{}", left.said());
    }
}

#[tokio::test]
async fn the_explorer_is_quicker_with_a_note() {
    let alone = explore(TURN, &[]).await;
    let advised = explore(TURN, &sponge(SPONGE[0])).await;
    check(&advised, "served", "sideways");
    let (alone, advised) = (alone.ended.spent.world_steps, advised.ended.spent.world_steps);
    assert!(advised <= alone, "{advised} steps with a note, {alone} without");
    let alone = explore(WEIGHT, &[]).await;
    let note = note(
        "kitchen/scales",
        "Setting the smallest weight",
        "1. Open Room > Preferences...\n2. Open \"Scales\".",
    );
    let advised = explore(WEIGHT, &[note]).await;
    check(&advised, "grams", "25");
    assert!(advised.ended.spent.world_steps < alone.ended.spent.world_steps);
}

/// A glasshouse program: a command that is disabled until a mode is chosen, and a pot that is hidden at first.
fn glasshouse() -> Value {
    let switch = |name: &str, key: &str| json!({ "role": "checkbox", "name": name, "bind": key });
    json!({
        "start": "main",
        "state": {
            "expert": false, "night": false, "hidden": false, "pruned": null, "gone": false, "watered": null
        },
        "pages": { "main": {
            "title": "Roses - Glasshouse",
            "controls": [
                { "role": "menu", "name": "Beds", "items": [
                    item("Water", &set("watered", "yes")),
                    { "role": "menu", "name": "Prune", "enabled_when": { "expert": true }, "items": [
                        item("By Half", &set("pruned", "half")),
                        item("By a Third", &set("pruned", "third")) ] } ] },
                { "role": "menu", "name": "Work", "items": [
                    switch("Allow Night Work", "night"),
                    switch("Advanced Mode", "expert"),
                    switch("Show Hidden Pots", "hidden") ] },
                { "role": "listitem", "name": "basil", "context": [ item("Delete", &set("gone", "basil")) ] },
                { "role": "listitem", "name": ".thyme", "when": { "hidden": true },
                  "context": [ item("Delete", &set("gone", "thyme")) ] }
            ]
        } }
    })
}

const PRUNE: &str = "Prune the roses by a third.";

#[tokio::test]
async fn the_explorer_finds_what_must_come_first() {
    let left = attempt(Policy::Explorer, glasshouse(), PRUNE, &[]).await;
    check(&left, "pruned", "third");
    check(&left, "night", false);
    let left = attempt(Policy::Explorer, glasshouse(), "Delete the hidden pot .thyme.", &[]).await;
    check(&left, "gone", "thyme");
}

#[tokio::test]
async fn the_student_prepares_as_it_is_told_and_does_not_call_it_done() {
    let told = "1. Choose Work > Advanced Mode first.\n2. Open Beds > Prune.\n3. Choose the entry that the \
                task asks for (there are: By Half, By a Third).";
    let told = || vec![note("glasshouse/prune", "Pruning roses by half or by a third", told)];
    check(&attempt(Policy::Novice, glasshouse(), PRUNE, &[]).await, "pruned", Value::Null);
    check(&attempt(Policy::Novice, glasshouse(), PRUNE, &told()).await, "pruned", "third");
    let told = note(
        "glasshouse/hidden",
        "Hidden pots: delete",
        "1. Choose Work > Show Hidden Pots first.\n2. Right-click what the task is about.\n\
         3. Choose the entry that the task asks for.",
    );
    check(&attempt(Policy::Novice, glasshouse(), "Delete the hidden pot .thyme.", &[]).await, "gone", false);
    check(
        &attempt(Policy::Novice, glasshouse(), "Delete the hidden pot .thyme.", &[told]).await,
        "gone",
        "thyme",
    );
}

#[tokio::test]
async fn menus_beside_each_other_cost_one_step_each() {
    let left = attempt(Policy::Explorer, glasshouse(), "Switch on the advanced mode.", &[]).await;
    check(&left, "expert", true);
    assert!(left.ended.spent.world_steps <= 3, "{} steps:\n{}", left.ended.spent.world_steps, left.said());
}

#[tokio::test]
async fn replies_depend_on_the_request_alone() {
    for policy in Policy::ALL {
        let left = attempt(*policy, kitchen(), WEIGHT, &sponge(SPONGE[2])).await;
        assert!(left.heard.len() > 2, "{}", left.said());
        for (index, (request, reply)) in left.heard.iter().enumerate().rev() {
            let fresh = BuiltInModel::new(*policy).reply(request).await.expect("answers");
            assert_eq!(&fresh, reply, "turn {index}");
        }
    }
}
