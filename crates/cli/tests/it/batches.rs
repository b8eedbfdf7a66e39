//! Reviews in batches, through the real program: sent, waited for, taken up by a second process, and refused elsewhere.

use std::fs;
use std::process::Output;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::own_attempts::attempt;
use crate::place::{Place, suite};
use crate::spending::serving_by;

const MODEL: &str = "anthropic/claude-sonnet-5-5";

fn message(text: &str) -> Value {
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": text }], "usage": { "input_tokens": 1000, "output_tokens": 100 } })
}

/// A server whose batches end when `ended` says so. Everything else is answered at once.
fn serving(ended: &Arc<Mutex<bool>>) -> (String, Arc<Mutex<Vec<String>>>) {
    let (ended, keys) = (Arc::clone(ended), Mutex::new(Vec::<Value>::new()));
    serving_by(move |asked| {
        let head = asked.lines().next().unwrap_or_default();
        let described =
            |how: &str| json!({ "id": "msgbatch_1", "type": "message_batch", "processing_status": how });
        if head.starts_with("POST") && head.contains("/batches") {
            let (_, body) = asked.split_once("\r\n\r\n").expect("a head");
            let body: Value = serde_json::from_str(body).expect("JSON");
            let all = body["requests"].as_array().expect("requests").iter();
            *keys.lock().expect("unpoisoned") = all.map(|one| one["custom_id"].clone()).collect();
            return described("in_progress");
        }
        if head.contains("/results") {
            let review = json!({ "skill_reviews": [{ "skill_id": "notes/capitals", "followed": "no",
                "reason": "irrelevant", "explanation": "it was not needed" }], "new_learnings": [] });
            let key = keys.lock().expect("unpoisoned")[0].clone();
            let result = json!({ "type": "succeeded", "message": message(&review.to_string()) });
            return json!({ "custom_id": key, "result": result });
        }
        if head.contains("/batches/") {
            return described(if *ended.lock().expect("unpoisoned") { "ended" } else { "in_progress" });
        }
        message("nothing")
    })
}

fn settings(place: &Place, base: &str, more: &str) {
    let base = base.trim_end_matches("/v1");
    let text = format!(
        "[provider.anthropic]\nbase_url = \"{base}\"\n[role.reflector]\nmodel = \"{MODEL}\"\nservice_tier = \"batch\"\n{more}"
    );
    fs::write(place.path("apprentice.toml"), text).expect("writes");
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + String::from_utf8_lossy(&output.stderr).as_ref()
}

#[test]
fn a_command_that_gave_up_waiting_leaves_its_batch_to_the_next_one() {
    let place = Place::new();
    let one = attempt(&place, "one", "Write it in capitals.");
    let ended = Arc::new(Mutex::new(false));
    let (base, heard) = serving(&ended);
    let book = place.path("book").to_string_lossy().into_owned();
    let words =
        ["learn", &one, "--skillbook", &book, "--verdict", "one=pass", "--model", "reflector", "--json"];
    settings(&place, &base, "batch_timeout_s = 0.01\n");
    let first = place.output(&words);
    assert_eq!(first.status.code(), Some(20), "{}", told(&first));
    assert!(told(&first).contains("has not ended within"), "{}", told(&first));
    *ended.lock().expect("unpoisoned") = true;
    settings(&place, &base, "");
    let second = place.output(&words);
    assert!(second.status.success(), "{}", told(&second));
    let record: Value = serde_json::from_slice(&second.stdout).expect("one JSON object");
    assert_eq!(record["trajectories"][0]["reviews"], 1, "{record}");
    let heard = heard.lock().expect("unpoisoned");
    let sent = heard.iter().filter(|one| one.starts_with("POST") && one.contains("/batches")).count();
    assert_eq!(sent, 1, "the second command pays for nothing again");
}

#[test]
fn a_model_that_acts_is_refused_a_batch_before_anything_is_sent() {
    let place = Place::new();
    let (base, heard) = serving(&Arc::default());
    settings(&place, &base, "");
    let suite = suite().to_string_lossy().into_owned();
    for words in [vec!["do", "x", "--model", "reflector"], vec!["run", &suite, "--model", MODEL]] {
        let refused = place.output(&words);
        assert_eq!(refused.status.code(), Some(3), "{words:?}: {}", told(&refused));
        assert!(told(&refused).contains("only `learn` waits for batches"), "{words:?}: {}", told(&refused));
    }
    assert!(heard.lock().expect("unpoisoned").is_empty());
}
