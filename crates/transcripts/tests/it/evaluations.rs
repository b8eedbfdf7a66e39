//! Logs of evaluations, and conversations for training.

use std::io::Write as _;

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use crate::place::{Place, holds};

/// A trace of verifiers over these nodes.
fn episode(nodes: Value, rewards: Value) -> Value {
    let usage = json!({ "prompt_tokens": 10, "cached_input_tokens": 90, "completion_tokens": 7 });
    let sampled =
        nodes.as_array().expect("nodes").iter().enumerate().filter(|(_, node)| node["sampled"] == true);
    let calls: Vec<Value> =
        sampled.map(|(place, _)| json!({ "node": place, "model": "m", "usage": usage })).collect();
    json!({ "task": { "data": { "idx": 3 } }, "traces": [{
        "version": 1, "verifiers": { "version": "0.4.0" }, "nodes": nodes, "calls": calls, "rewards": rewards, "stop_condition": "done",
    }] })
}

#[test]
fn verifiers_rewards_are_weighted_and_nothing_is_no_zero() {
    let place = Place::new();
    let says = |parent: u32, text: &str| json!({ "parent": parent, "sampled": true, "message": { "role": "assistant", "content": text } });
    let asks = json!({ "message": { "role": "user", "content": "Go." } });
    let call = json!({ "parent": 0, "sampled": true, "message": { "role": "assistant", "content": "",
        "tool_calls": [{ "id": "a", "name": "read", "arguments": "{\"path\": \"a\"}" }, { "id": "b", "name": "read", "arguments": "{\"path" }] } });
    let told = json!({ "parent": 1, "message": { "role": "tool", "tool_call_id": "a", "content": "Error executing tool read: none" } });
    place.lines(
        "traces.jsonl",
        &[
            episode(
                json!([asks, call, told, says(2, "None.")]),
                json!({ "a": { "score": 1.0, "weight": 0.5 }, "b": { "score": 0.0, "weight": 1.0 } }),
            ),
            episode(json!([asks, says(0, "One."), says(0, "Two.")]), Value::Null),
        ],
    );
    let read = place.read("traces.jsonl");
    let (first, second) = (&read["samples"][0], &read["samples"][1]);
    holds(
        first,
        &json!({ "sample": "3", "assistant_turns": 2, "malformed_replies": 1, "verdict": 0.5, "tokens": { "input": 200, "output": 14 }, "final_answer": "None." }),
    );
    assert_eq!((&first["calls"][0]["failed"], &first["calls"][1]["arguments"]), (&json!(true), &Value::Null));
    holds(
        second,
        &json!({ "verdict": null, "assistant_turns": 1, "final_answer": "Two.", "tokens": { "input": 100, "output": 7 }, "spent": { "input": 200, "output": 14 } }),
    );
}

/// A packed log of Inspect.
fn packed(members: &[(&str, Value)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, member) in members {
        archive.start_file(*name, SimpleFileOptions::default().compression_method(method)).expect("begun");
        archive.write_all(member.to_string().as_bytes()).expect("written");
    }
    archive.finish().expect("ended").into_inner()
}

/// Packs one JSON text as a Zstandard frame of raw blocks (RFC 8878), in a ZIP of method 93.
fn zstandard(name: &str, member: &Value) -> Vec<u8> {
    let text = member.to_string().into_bytes();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    let blocks: Vec<&[u8]> = text.chunks(1000).collect();
    for (place, block) in blocks.iter().enumerate() {
        let head = u32::try_from(block.len()).expect("short") << 3 | u32::from(place + 1 == blocks.len());
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(*block);
    }
    let mut crc = flate2::Crc::new();
    crc.update(&text);
    let (size, packed) =
        (u32::try_from(text.len()).expect("short"), u32::try_from(frame.len()).expect("short"));
    let name_size = u16::try_from(name.len()).expect("short");
    // The local header, and the same fields in the central directory (APPNOTE 4.3.7, 4.3.12).
    let mut fields = Vec::new();
    fields.extend([63, 0, 0, 0, 93, 0, 0, 0, 0, 0]);
    for number in [crc.sum(), packed, size] {
        fields.extend(number.to_le_bytes());
    }
    fields.extend(name_size.to_le_bytes());
    fields.extend([0, 0]);
    let mut file = b"PK\x03\x04".to_vec();
    file.extend(&fields);
    file.extend(name.as_bytes());
    file.extend(&frame);
    let start = u32::try_from(file.len()).expect("short");
    file.extend(b"PK\x01\x02\x3f\x00");
    file.extend(&fields);
    file.extend([0; 14]);
    file.extend(name.as_bytes());
    let end = u32::try_from(file.len()).expect("short");
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    file.extend((end - start).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

#[test]
fn samples_of_inspect_have_their_scores_and_no_score_after_an_error() {
    let place = Place::new();
    let header = json!({
        "version": 2, "status": "success", "eval": { "model": "m", "packages": { "inspect_ai": "0.3.285" } },
        "stats": { "model_usage": { "m": { "input_tokens": 30, "input_tokens_cache_read": 270, "output_tokens": 21, "total_tokens": 321 } } },
        "results": { "total_samples": 2, "completed_samples": 1, "scores": [{ "scorer": "exact", "metrics": { "accuracy": { "value": 1.0 } } }] },
    });
    let usage = json!({ "m": { "input_tokens": 10, "input_tokens_cache_read": 90, "output_tokens": 7, "total_tokens": 107 } });
    let one = json!({
        "id": "one", "epoch": 1, "scores": { "other": { "value": "I" }, "exact": { "value": "C" } }, "model_usage": usage,
        "error_retries": [{ "message": "fell over", "events": [] }],
        "attachments": { "abc": "data:image/png;base64,iVBORw0KGgo=" },
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Look." }, { "type": "image", "image": "attachment://abc" }] },
            { "role": "assistant", "content": [{ "type": "reasoning", "reasoning": "One." }, { "type": "text", "text": "I look." }],
              "tool_calls": [{ "id": "a", "function": "read", "arguments": {} }] },
            { "role": "tool", "tool_call_id": "a", "content": "", "error": { "type": "unknown", "message": "no file" } },
            { "role": "assistant", "content": "None." },
        ],
    });
    let broken = json!({ "id": 2, "epoch": 2, "messages": [], "scores": {}, "error": { "message": "always" }, "model_usage": {} });
    let members =
        [("samples/one_epoch_1.json", one), ("samples/2_epoch_2.json", broken), ("header.json", header)];
    place.write("log.eval", packed(&members, zip::CompressionMethod::Deflated));
    let read = place.read("log.eval");
    holds(
        &read,
        &json!({ "program": "Inspect", "model": "m", "tokens_of_the_header": { "input": 300, "output": 21 },
        "accuracy": { "told": 1.0, "of": 1, "samples": 2 } }),
    );
    holds(
        &read["samples"][0],
        &json!({ "sample": "one", "verdict": true, "pictures": 1, "thoughts": 1, "retried_errors": 1,
        "tokens": { "input": 100, "output": 7 }, "final_answer": "None.",
        "calls": [{ "name": "read", "arguments": {}, "result_starts": "no file", "failed": true }] }),
    );
    holds(
        &read["samples"][1],
        &json!({ "sample": "2, epoch 2", "verdict": null, "ended": "error", "assistant_turns": 0 }),
    );
}

#[test]
fn members_that_are_packed_by_zstandard_are_read() {
    let place = Place::new();
    let header =
        json!({ "version": 2, "status": "cancelled", "eval": { "model": "m", "note": "x".repeat(5000) } });
    place.write("log.eval", zstandard("header.json", &header));
    let read = place.read("log.eval");
    assert_eq!(read["model"], "m");
    assert!(read["notes"][0].as_str().expect("a note").contains("cancelled"), "{read:#}");
}

#[test]
fn conversations_for_training_are_read_in_both_forms() {
    let place = Place::new();
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "click", "arguments": "{\"x\": 1}" } });
    place.lines(
        "openai.jsonl",
        &[
            json!({ "messages": [
                { "role": "system", "content": "Be short." }, { "role": "user", "content": [{ "type": "text", "text": "Press." }] },
                { "role": "assistant", "content": "<think>There.</think>I press.", "tool_calls": [call] },
                { "role": "tool", "tool_call_id": "a", "content": "Error: covered" },
                { "role": "assistant", "content": "It is covered." },
            ], "metadata": { "trial": "t/1" } }),
            json!({ "prompt": [{ "role": "user", "content": "Go." }], "completion": [{ "role": "assistant", "content": "Gone." }], "reward": 0.25 }),
        ],
    );
    let read = place.read("openai.jsonl");
    holds(
        &read["samples"][0],
        &json!({ "sample": "t/1", "assistant_turns": 2, "thoughts": 1, "final_answer": "It is covered.", "verdict": null,
        "calls": [{ "name": "click", "arguments": { "x": 1 }, "result_starts": "Error: covered", "failed": true }] }),
    );
    holds(&read["samples"][1], &json!({ "verdict": 0.25, "final_answer": "Gone." }));
    place.lines(
        "sharegpt.jsonl",
        &[json!({ "id": "t/1", "conversations": [
            { "from": "human", "value": "Press." },
            { "from": "gpt", "value": "I press.\n<tool_call>\n{\"name\": \"click\", \"arguments\": {\"x\": 1}}\n</tool_call>" },
            { "from": "human", "value": "<tool_response>\nclick: done\n</tool_response>" },
            { "from": "gpt", "value": "Pressed." },
        ] })],
    );
    holds(
        &place.read("sharegpt.jsonl"),
        &json!({ "program": "ShareGPT conversations", "assistant_turns": 2, "human_prompts": 1,
        "final_answer": "Pressed.",
        "calls": [{ "name": "click", "arguments": { "x": 1 }, "result_starts": "done", "failed": false }] }),
    );
}

#[test]
fn what_a_conversation_cannot_say_is_named_and_a_damaged_index_is_an_error() {
    let place = Place::new();
    let odd = [
        json!({ "messages": [{ "role": "user", "content": 5 }, { "role": "assistant", "content": "Done." }] }),
        json!({ "prompt": [{ "role": 5 }], "completion": [{ "role": "assistant", "content": "Gone." }] }),
    ];
    let file = place.lines("odd.jsonl", &odd);
    let read = place.read("odd.jsonl");
    holds(&read["samples"][0], &json!({ "final_answer": "Done." }));
    let missing = read["samples"][1]["missing"][0].as_str().expect("a remark");
    assert!(missing.starts_with("messages that cannot be read"), "{missing}");
    holds(&read["samples"][1], &json!({ "final_answer": "Gone." }));
    let line = r#"{"trial": "t-1", "attempt": 1, "model": "m", "verdict": "pass", "reward": 1.0}"#;
    std::fs::write(file.with_file_name("index.jsonl"), format!("{line}\n{{\"trial\": 1}}\n"))
        .expect("written");
    let told = place.read_all("odd.jsonl").expect_err("damaged").to_string();
    assert!(told.contains("index.jsonl") && told.contains('2'), "{told}");
}

#[test]
fn a_trajectory_in_atif_has_its_observations_beside_its_calls() {
    let place = Place::new();
    let document = json!({
        "schema_version": "ATIF-v1.8", "session_id": "s", "agent": { "name": "a", "version": "1", "model_name": "m" },
        "steps": [
            { "step_id": 1, "source": "user", "message": "Press." },
            { "step_id": 2, "source": "agent", "message": "I press.", "reasoning_content": "There.",
              "tool_calls": [{ "tool_call_id": "a", "function_name": "click", "arguments": { "x": 1 } }],
              "observation": { "results": [{ "source_call_id": "a", "content": [{ "type": "text", "text": "done" }, { "type": "image", "source": { "media_type": "image/png", "path": "1.png" } }] }] },
              "metrics": { "prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 90 } },
        ],
        "extra": { "verdict": "pass" },
    });
    place.write("trajectory.json", document.to_string());
    holds(
        &place.read("trajectory.json"),
        &json!({ "program": "ATIF", "version": "ATIF-v1.8", "verdict": true, "thoughts": 1,
        "tokens": { "input": 100, "output": 7 }, "picture_paths": 1,
        "calls": [{ "name": "click", "arguments": { "x": 1 }, "result_starts": "done", "failed": false }] }),
    );
}
