//! `apprentice do` on a screen of several monitors: what the model is told, and what the trace records.

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, worlds_can_start};

/// Carries out two clicks and returns the events of its trace, and what the model was told.
fn trace(place: &Place, options: &[&str]) -> (Vec<Value>, String) {
    let click = |x: i32, y: i32| {
        json!({ "calls": [{ "name": "computer", "arguments": { "actions": [
            { "do": "click", "at": { "point": { "x": x, "y": y } } }] } }] })
    };
    let end = json!({ "calls": [{ "name": "finish", "arguments": { "finish": "done" } }] });
    let lines = [click(700, 300), click(700, 450), end].map(|line| line.to_string()).join("\n");
    fs::write(place.path("script.jsonl"), lines).expect("written");
    let model = format!("scripted:{}", place.path("script.jsonl").display());
    let out = place.path("out").to_string_lossy().into_owned();
    let output = place.output(&[&["do", "Click.", "--model", &model, "--out", &out], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(place.path("out").join("events.jsonl")).expect("a trace");
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let blobs = fs::read_dir(place.path("out/blobs")).expect("blobs").flatten();
    let told = blobs.filter_map(|blob| fs::read_to_string(blob.path()).ok()).collect();
    (events, told)
}

#[test]
fn monitors_are_recorded_and_a_click_below_a_shorter_one_is_refused() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let (events, told) = trace(&place, &["--screen", "640x480+800x400"]);
    let screen = json!({ "width": 1440, "height": 480, "monitors": [
        { "x": 0, "y": 0, "width": 640, "height": 480 }, { "x": 640, "y": 0, "width": 800, "height": 400 }] });
    assert_eq!(events[0]["data"]["world"]["screen"], screen);
    assert!(told.contains("point (700, 450) is on no monitor: monitor 2 above it ends at y 399"), "{told}");
    assert!(told.contains("Monitors: 1 from 0,0 to 639,479; 2 from 640,0 to 1439,399"), "{told}");
}

#[test]
fn one_monitor_is_recorded_and_told_as_ever() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let (events, told) = trace(&place, &["--screen", "1440x480"]);
    assert_eq!(events[0]["data"]["world"]["screen"], json!({ "width": 1440, "height": 480 }));
    let told = events.iter().map(Value::to_string).chain([told]).collect::<String>();
    assert!(!told.to_lowercase().contains("monitor"), "{told}");
}

#[test]
fn a_page_has_one_monitor() {
    let place = Place::new();
    for command in [&["do", "Look."][..], &["mcp", "--act"]] {
        let output =
            place.output(&[command, &["--url", "about:blank", "--screen", "800x600+800x600"]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("only a desktop world has them: give one size"), "{told}");
    }
}
