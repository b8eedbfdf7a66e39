//! Logs of agents that use browsers and desktops.

use serde_json::{Value, json};

use crate::place::{Place, holds};

const PNG: &str = "iVBORw0KGgo=";

#[test]
fn browser_use_tells_failures_in_words_and_judges_apart() {
    let place = Place::new();
    let step = |output: Value, result: Value, shot: Value| {
        json!({ "model_output": output, "result": result, "state_message": "Save the form.\n\nmore",
                "state": { "title": "A form", "screenshot_path": shot,
                           "interacted_element": [{ "node_name": "INPUT", "ax_name": "Name", "bounds": { "x": 10.0, "y": 20.0, "width": 30.0, "height": 10.0 } }, null] } })
    };
    let acts = json!([{ "input": { "index": 1, "text": "Ann" } }, { "click": { "index": 9 } }]);
    let document = json!({ "history": [
        step(json!({ "thinking": "Both.", "action": acts }),
             json!([{ "extracted_content": "Typed 'Ann'" }, { "extracted_content": "Element index 9 not available - page may have changed." }]), Value::Null),
        step(Value::Null, json!([{ "error": "not the asked form" }]), json!("/tmp/1.png")),
        step(json!({ "thinking": "", "memory": "m", "action": [{ "done": { "text": "Saved.", "success": true } }] }),
             json!([{ "is_done": true, "success": true, "extracted_content": "Saved.", "judgement": { "verdict": false } }]), json!("/tmp/2.png")),
    ] });
    place.write("history.json", document.to_string());
    let read = place.read("history.json");
    holds(
        &read,
        &json!({
            "program": "browser-use", "model": null, "tokens": null, "assistant_turns": 3, "malformed_replies": 1, "thoughts": 2,
            "verdict": false, "own_claim": true, "picture_paths": 2, "pictures": 0, "final_answer": "Saved.", "human_prompts": 1,
        }),
    );
    assert_eq!(read["calls"][0]["target"], json!({ "role": "input", "name": "Name", "point": [25.0, 25.0] }));
    assert_eq!((&read["calls"][0]["failed"], &read["calls"][1]["failed"]), (&json!(false), &json!(true)));
}

#[test]
fn an_action_of_cua_agent_without_a_result_failed() {
    let place = Place::new();
    let call = |id: &str| json!({ "type": "computer_call", "call_id": id, "action": { "type": "click", "x": 1, "y": 2 } });
    let response = |id: &str, output: Value| {
        json!({ "response": { "id": id, "output": output, "usage": { "input_tokens": 100, "output_tokens": 7 } } }).to_string()
    };
    let metadata = json!({ "trajectory_id": "t", "created_at": "140151904013927250", "status": "running",
        "kwargs": { "model": "m", "messages": [{ "role": "user", "content": "Press." }] } });
    place.write("t/metadata.json", metadata.to_string());
    place.write("t/turn_000/0000_api_start.json", "{}");
    place.write("t/turn_000/0001_api_start.json", "{}");
    place.write(
        "t/turn_000/0002_api_result.json",
        json!({ "result": { "id": "r1", "output": [call("a")] } }).to_string(),
    );
    let thought = json!({ "type": "reasoning", "summary": [{ "text": "Press it." }] });
    place
        .write("t/turn_000/0003_agent_response.json", response("r1", json!([thought, call("a"), call("b")])));
    let output = json!({ "type": "computer_call_output", "call_id": "a", "output": { "type": "input_image", "image_url": "[omitted]" } });
    place.write("t/turn_001/0004_computer_call_result.json", json!({ "result": [output] }).to_string());
    place.write("t/turn_001/0005_screenshot_after.png", b"\x89PNG one");
    place.write("t/turn_001/0006_screenshot_action.png", b"\x89PNG one");
    let read = place.read("t");
    holds(
        &read,
        &json!({
            "program": "cua-agent", "model": "m", "assistant_turns": 1, "thoughts": 1, "ended": "crashed", "retried_requests": 1,
            "pictures": 1, "tokens": { "input": 100, "output": 7 }, "started": "2026-11-28T20:26:41Z",
        }),
    );
    let failed = |place: usize| &read["calls"][place]["failed"];
    assert_eq!((failed(0), failed(1)), (&json!(false), &json!(true)));
}

#[test]
fn a_result_tree_of_osworld_has_a_task_per_folder() {
    let place = Place::new();
    let task = "results/pyautogui/screenshot/m/app/task-1";
    let line = |step: u32, action: Value, done: bool| json!({ "step_num": step, "action": action, "response": "I click.", "done": done, "info": {} });
    place.lines(
        &format!("{task}/traj.jsonl"),
        &[
            line(1, json!("pyautogui.click(1, 2)"), false),
            line(1, json!("WAIT"), false),
            line(2, json!("DONE"), true),
        ],
    );
    place.write(&format!("{task}/result.txt"), "0.5\n");
    place.write(&format!("{task}/step_1.png"), format!("\x7fPNG{PNG}"));
    let read = place.read("results");
    holds(
        &read,
        &json!({ "program": "OSWorld", "assistant_turns": 2, "verdict": 0.5, "own_claim": true, "pictures": 1 }),
    );
    assert_eq!(read["calls"][0]["arguments"]["code"], "pyautogui.click(1, 2)");
    assert!(read["missing"][0].as_str().expect("text").contains("instruction"), "{read:#}");
}
