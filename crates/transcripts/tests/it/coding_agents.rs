//! Logs of coding agents.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::place::{Place, holds};

const PNG: &str = "iVBORw0KGgo=";

/// A line of a session of Claude Code.
fn line(id: &str, kind: &str, more: Value) -> Value {
    let mut line = json!({ "type": kind, "uuid": format!("00000000-0000-4000-8000-{id:0>12}"), "sessionId": "one", "version": "2.1.400" });
    line.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
    line
}

/// A part of a reply of Claude Code, with the whole usage.
fn part(id: &str, reply: &str, block: Value) -> Value {
    let usage = json!({ "input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 7 });
    let message =
        json!({ "id": reply, "role": "assistant", "model": "model-a", "content": [block], "usage": usage });
    line(id, "assistant", json!({ "message": message }))
}

fn result(id: &str, call: &str, content: Value, more: Value) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": call, "content": content });
    block.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
    line(id, "user", json!({ "message": { "role": "user", "content": [block] } }))
}

#[test]
fn a_reply_of_claude_code_over_several_lines_counts_once() {
    let place = Place::new();
    place.lines(
        "s.jsonl",
        &[
            json!({ "type": "queue-operation", "sessionId": "one", "content": "Sort the list." }),
            line("1", "user", json!({ "message": { "role": "user", "content": "Sort the list." } })),
            part("2", "m1", json!({ "type": "thinking", "thinking": "Two calls." })),
            part(
                "3",
                "m1",
                json!({ "type": "tool_use", "id": "a", "name": "Read", "input": { "file_path": "list" } }),
            ),
            part(
                "4",
                "m1",
                json!({ "type": "tool_use", "id": "b", "name": "Bash", "input": { "command": "sort list" } }),
            ),
            // Results come in the order of completion; a failed one has a text of the program instead of an object.
            result("5", "b", json!("sort: no such file"), json!({ "is_error": true })),
            result(
                "6",
                "a",
                json!([{ "type": "image", "source": { "type": "base64", "data": PNG } }]),
                json!({}),
            ),
            // Requests hold the same once more, and lines may be copies.
            json!({ "type": "api-request-blob", "message": { "role": "user", "content": "Sort the list." } }),
            result("6", "a", json!("a copy"), json!({})),
            part("7", "m2", json!({ "type": "text", "text": "Not sorted." })),
        ],
    );
    let read = place.read("s.jsonl");
    holds(
        &read,
        &json!({
            "program": "Claude Code", "version": "2.1.400", "model": "model-a", "assistant_turns": 2, "thoughts": 1,
            "final_answer": "Not sorted.", "tokens": { "input": 200, "output": 14 }, "verdict": null, "pictures": 1,
            "human_prompts": 1, "lines_of_replies": 4, "ended": null,
            "calls": [
                { "name": "Read", "arguments": { "file_path": "list" }, "result_starts": null, "failed": false },
                { "name": "Bash", "arguments": { "command": "sort list" }, "result_starts": "sort: no such file", "failed": true },
            ],
        }),
    );
}

#[test]
fn agents_that_claude_code_started_are_read_with_it() {
    let place = Place::new();
    let launched = |id: &str, call: &str, agent: &str| {
        let mut line = result(id, call, json!([{ "type": "text", "text": "started" }]), json!({}));
        line["toolUseResult"] = json!({ "status": "async_launched", "agentId": agent });
        line
    };
    let told = |id: &str, call: &str, status: &str, text: &str| {
        let words = format!(
            "<task-notification>\n<tool-use-id>{call}</tool-use-id>\n<status>{status}</status>\n<result>{text}</result>\n</task-notification>"
        );
        line(
            id,
            "user",
            json!({ "origin": { "kind": "task-notification" }, "message": { "role": "user", "content": words } }),
        )
    };
    place.lines(
        "s.jsonl",
        &[
            line("1", "user", json!({ "message": { "role": "user", "content": "Count both." } })),
            part("2", "m1", json!({ "type": "tool_use", "id": "a", "name": "Agent", "input": {} })),
            part("3", "m1", json!({ "type": "tool_use", "id": "b", "name": "Agent", "input": {} })),
            launched("4", "a", "first"),
            launched("5", "b", "second"),
            told("6", "b", "failed", "nothing"),
            told("7", "a", "completed", "Seven </result> of them."),
            part("8", "m2", json!({ "type": "text", "text": "Seven." })),
        ],
    );
    let inside = |text: &str| {
        let mut line = part("9", text, json!({ "type": "text", "text": text }));
        line["isSidechain"] = json!(true);
        line
    };
    place.lines("s/subagents/agent-first.jsonl", &[inside("Seven.")]);
    place.lines("s/subagents/agent-second.jsonl", &[inside("None.")]);
    place.write("s/subagents/agent-second.meta.json", json!({ "toolUseId": "b" }).to_string());
    let read = place.read("s.jsonl");
    assert_eq!(read["calls"][0]["result_starts"], "Seven </result> of them.");
    assert_eq!((&read["calls"][1]["failed"], &read["human_prompts"]), (&json!(true), &json!(1)));
    holds(&read["helpers"][0], &json!({ "agent_id": "first", "of_call": "a", "final_answer": "Seven." }));
    holds(&read["helpers"][1], &json!({ "agent_id": "second", "of_call": "b", "assistant_turns": 1 }));
    assert_eq!(place.read_all("").expect("logs").len(), 1, "the files of agents are no sessions");
}

#[test]
fn copies_interrupts_and_lines_of_claude_code_itself_are_told_apart() {
    let place = Place::new();
    let mut copied = part("2", "m1", json!({ "type": "text", "text": "Yes." }));
    copied["requestSessionId"] = json!("another-session");
    let aborted = line(
        "6",
        "user",
        json!({ "rowSource": "harness", "message": { "role": "user", "content": [{ "type": "text", "text": "[Request interrupted by user for tool use]" }] } }),
    );
    place.lines(
        "s.jsonl",
        &[
            line("1", "user", json!({ "message": { "role": "user", "content": "Is it?" } })),
            copied,
            line("3", "user", json!({ "isMeta": true, "message": { "role": "user", "content": "a reminder" } })),
            part("4", "m2", json!({ "type": "tool_use", "id": "a", "name": "Bash", "input": { "command": "wait" } })),
            result("5", "a", json!("The user doesn't want to proceed"), json!({ "is_error": true })),
            aborted,
            json!({ "type": "cost-state", "modelUsage": { "model-a": { "inputTokens": 900, "outputTokens": 50 } } }),
        ],
    );
    holds(
        &place.read("s.jsonl"),
        &json!({
            "ended": "interrupted", "copied_from": "another-session", "human_prompts": 1, "final_answer": null,
            "own": { "assistant_turns": 1, "tokens": { "input": 100, "output": 7 } },
            "cost_state": { "input": 900, "output": 50 },
        }),
    );
}

/// A line of a rollout of Codex.
fn rolled(ordinal: u64, kind: &str, payload: Value) -> Value {
    json!({ "timestamp": "2026-11-28T20:00:00Z", "ordinal": ordinal, "type": kind, "payload": payload })
}

fn codex(id: &str, ordinal: u64, more: Value) -> Value {
    let mut meta = json!({ "id": id, "cli_version": "0.171.0" });
    meta.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
    rolled(ordinal, "session_meta", meta)
}

fn used(ordinal: u64) -> Value {
    rolled(
        ordinal,
        "token_usage_record",
        json!({ "usage": { "input_tokens": 50, "cached_input_tokens": 40, "output_tokens": 6 } }),
    )
}

/// A message of the user, with the program's mark of what it is.
fn asked(at: u64, kind: &str, text: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": text }]);
    let mark = json!({ "content_item_kinds": [kind] });
    let message = json!({ "type": "message", "role": "user", "content": content, "internal_chat_message_metadata_passthrough": mark });
    rolled(at, "response_item", message)
}

#[test]
fn codex_keeps_results_apart_from_their_exit_codes() {
    let place = Place::new();
    let call = |at, id: &str, command: &str| {
        let arguments = json!({ "cmd": command }).to_string();
        rolled(
            at,
            "response_item",
            json!({ "type": "function_call", "name": "exec_command", "call_id": id, "arguments": arguments }),
        )
    };
    let output = |at, id: &str, output: Value| {
        rolled(
            at,
            "response_item",
            json!({ "type": "function_call_output", "call_id": id, "output": output }),
        )
    };
    let done = |at, id: &str, code: i64| {
        rolled(
            at,
            "event_msg",
            json!({ "type": "item_completed", "item": { "type": "CommandExecution", "id": id, "exit_code": code } }),
        )
    };
    place.lines(
        "rollout-x-11111111-aaaa.jsonl",
        &[
            codex("11111111-aaaa", 0, json!({})),
            rolled(1, "turn_context", json!({ "model": "model-b" })),
            asked(2, "environments.environment_context", "about the machine"),
            asked(3, "user.text", "Look."),
            rolled(4, "response_item", json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Two." }] })),
            call(5, "a", "cat a"),
            // The result of a quick command is there before the reply ends.
            done(6, "a", 2),
            output(7, "a", json!("Chunk ID: 1\nProcess exited with code 2\nOutput:\nno a")),
            call(8, "b", "shot"),
            used(9),
            output(10, "b", json!([{ "type": "input_image", "image_url": format!("data:image/png;base64,{PNG}") }])),
            rolled(11, "response_item", json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Seen." }] })),
            rolled(12, "event_msg", json!({ "type": "item_completed", "item": { "type": "AgentMessage", "id": "m" } })),
            used(13),
        ],
    );
    holds(
        &place.read("rollout-x-11111111-aaaa.jsonl"),
        &json!({
            "program": "Codex CLI", "model": "model-b", "assistant_turns": 2, "thoughts": 1, "human_prompts": 1, "pictures": 1,
            "final_answer": "Seen.", "tokens": { "input": 100, "output": 12 },
            "calls": [
                { "name": "exec_command", "arguments": { "cmd": "cat a" }, "result_starts": "no a", "failed": true },
                { "name": "exec_command", "arguments": { "cmd": "shot" }, "result_starts": null, "failed": false },
            ],
        }),
    );
}

#[test]
fn a_fork_of_codex_finds_what_was_said_before_it() {
    let place = Place::new();
    let says = |at, text: &str| {
        rolled(
            at,
            "response_item",
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] }),
        )
    };
    place.lines(
        "27/rollout-x-11111111-aaaa.jsonl",
        &[codex("11111111-aaaa", 0, json!({})), says(1, "One."), used(2), says(3, "Left out."), used(4)],
    );
    let base = json!({ "forked_from_id": "11111111-aaaa", "history_base": { "thread_id": "11111111-aaaa", "end_ordinal_exclusive": 3 } });
    place.lines(
        "28/rollout-x-22222222-bbbb.jsonl",
        &[codex("22222222-bbbb", 3, base.clone()), says(4, "Two."), used(5)],
    );
    let read = place.read("28/rollout-x-22222222-bbbb.jsonl");
    assert_eq!((&read["assistant_turns"], &read["continues"]["ordinal_exclusive"]), (&json!(1), &json!(3)));
    holds(
        &read["continues"]["whole"],
        &json!({ "assistant_turns": 2, "tokens": { "input": 100, "output": 12 } }),
    );
    std::fs::remove_dir_all(place.path("27")).expect("removed");
    let read = place.read("28/rollout-x-22222222-bbbb.jsonl");
    assert_eq!(read["continues"]["whole"], Value::Null);
    assert!(read["missing"][0].as_str().expect("text").contains("11111111-aaaa"), "{read:#}");
}

#[test]
fn what_gemini_cli_writes_again_loses_nothing() {
    let place = Place::new();
    let header =
        json!({ "sessionId": "s", "projectHash": "h", "startTime": "2026-11-28T20:00:00Z", "kind": "main" });
    let call = |status: &str, response: Value| {
        json!({ "id": "c", "name": "read_file", "args": { "path": "a" }, "status": status,
                "result": [{ "functionResponse": { "id": "c", "name": "read_file", "response": response } }] })
    };
    let told = json!({ "id": "g", "type": "gemini", "content": "I look.", "model": "model-c",
        "thoughts": [{ "subject": "Look", "description": "first" }],
        "tokens": { "input": 100, "cached": 90, "output": 5, "thoughts": 2 } });
    let mut again = told.clone();
    again["toolCalls"] = json!([call("error", json!({ "error": "no a" }))]);
    place.lines(
        "session-1-s.jsonl",
        &[
            header.clone(),
            json!({ "$set": { "messages": [{ "id": "p", "type": "user", "content": [{ "text": "about the machine" }] }] } }),
            json!({ "id": "u", "type": "user", "content": [{ "text": "Look." }] }),
            told,
            again,
            json!({ "id": "r", "type": "user", "content": [{ "functionResponse": { "id": "c", "response": { "error": "no a" } } }] }),
            header.clone(),
            json!({ "$set": { "messages": [
                { "id": "u", "type": "user", "content": [{ "text": "Look." }] },
                { "id": "g", "type": "gemini", "content": [{ "text": "thought", "thought": true }, { "text": "I look." }, { "functionCall": { "id": "c", "name": "read_file", "args": {} } }] },
            ] } }),
            json!({ "id": "h", "type": "gemini", "content": "No.", "tokens": { "input": 100, "output": 5, "thoughts": 0 } }),
        ],
    );
    place.lines("session-2-s.jsonl", &[header]);
    let expected = json!({
        "program": "Gemini CLI", "model": "model-c", "assistant_turns": 2, "thoughts": 1, "human_prompts": 1, "final_answer": "No.",
        "tokens": { "input": 200, "output": 12 },
        "calls": [{ "name": "read_file", "arguments": { "path": "a" }, "result_starts": "no a", "failed": true }],
    });
    holds(&place.read("session-1-s.jsonl"), &expected);
    holds(&place.read(""), &expected);
}

#[test]
fn opencode_counts_tokens_of_messages_and_not_of_parts() {
    let place = Place::new();
    let tokens = json!({ "input": 10, "output": 5, "reasoning": 2, "cache": { "read": 90, "write": 0 } });
    let tool =
        |id: &str, state: Value| json!({ "type": "tool", "tool": "read", "callID": id, "state": state });
    let url = format!("data:image/png;base64,{PNG}");
    let export = json!({
        "info": { "id": "ses_1", "version": "1.18.33", "tokens": tokens },
        "messages": [
            { "info": { "role": "user", "id": "u" }, "parts": [{ "type": "text", "text": "\"Look here.\"" }] },
            { "info": { "role": "assistant", "id": "a", "providerID": "p", "modelID": "m", "tokens": tokens }, "parts": [
                { "type": "reasoning", "text": "Two." },
                tool("1", json!({ "status": "completed", "input": { "path": "a" }, "output": "", "attachments": [{ "mime": "image/png", "url": url }] })),
                tool("2", json!({ "status": "error", "input": { "path": "b" }, "error": "no b" })),
                { "type": "step-finish", "tokens": tokens },
            ] },
            { "info": { "role": "assistant", "id": "b", "error": { "name": "MessageAbortedError" }, "tokens": tokens }, "parts": [{ "type": "text", "text": "half" }] },
        ],
    });
    place.write("export.json", export.to_string());
    holds(
        &place.read("export.json"),
        &json!({
            "program": "opencode", "model": "p/m", "assistant_turns": 2, "thoughts": 1, "pictures": 1, "ended": "interrupted",
            "final_answer": null, "tokens": { "input": 200, "output": 14 },
            "calls": [
                { "name": "read", "arguments": { "path": "a" }, "result_starts": null, "failed": false },
                { "name": "read", "arguments": { "path": "b" }, "result_starts": "no b", "failed": true },
            ],
        }),
    );
}

#[test]
fn the_last_line_of_pi_is_the_branch_that_counts() {
    let place = Place::new();
    let entry = |id: &str, parent: Value, message: Value| json!({ "type": "message", "id": id, "parentId": parent, "message": message });
    let says = |text: &str| {
        json!({ "role": "assistant", "provider": "p", "model": "m", "content": [{ "type": "text", "text": text }],
                "usage": { "input": 10, "cacheRead": 90, "cacheWrite": 0, "output": 7, "reasoning": 2 } })
    };
    let asks = |text: &str| json!({ "role": "user", "content": [{ "type": "text", "text": text }] });
    place.lines(
        "s.jsonl",
        &[
            json!({ "type": "session", "version": 3, "id": "s", "cwd": "/srv/notes" }),
            entry("a", Value::Null, asks("One?")),
            entry("b", json!("a"), says("One.")),
            entry("c", json!("b"), asks("Two?")),
            entry("d", json!("c"), says("Two.")),
            entry("e", json!("b"), asks("Three?")),
            entry("f", json!("e"), says("Three.")),
        ],
    );
    let read = place.read("s.jsonl");
    holds(
        &read,
        &json!({
            "program": "pi coding agent", "model": "p/m", "assistant_turns": 2, "final_answer": "Three.", "human_prompts": 2,
            "tokens": { "input": 200, "output": 14 }, "spent": { "input": 300, "output": 21 },
        }),
    );
    holds(&read["branches"][0], &json!({ "leaf": "d", "assistant_turns": 2, "final_answer": "Two." }));
    holds(&read["branches"][1], &json!({ "leaf": "f", "final_answer": "Three." }));
}

#[test]
fn malformed_replies_of_mini_swe_agent_are_turns() {
    let place = Place::new();
    let response = |id: &str| json!({ "id": id, "usage": { "prompt_tokens": 100, "completion_tokens": 7 }, "choices": [{ "message": { "content": "oh" } }] });
    let calls = |id: &str, command: &str| {
        let arguments = json!({ "command": command }).to_string();
        json!([{ "id": id, "type": "function", "function": { "name": "bash", "arguments": arguments } }])
    };
    let result = |id: &str, code: i64, output: &str| json!({ "role": "tool", "tool_call_id": id, "content": "{}", "extra": { "raw_output": output, "returncode": code } });
    let document = json!({
        "trajectory_format": "mini-swe-agent-1.1",
        "info": { "mini_version": "2.4.6", "exit_status": "Submitted", "submission": "done\n", "config": { "model": { "model_name": "m" } } },
        "messages": [
            { "role": "user", "content": "Do it." },
            { "role": "assistant", "content": "", "tool_calls": calls("a", "false"), "extra": { "response": response("1") } },
            result("a", 1, "no"),
            { "role": "user", "content": "Call a tool.", "extra": { "interrupt_type": "FormatError", "response": response("2") } },
            { "role": "assistant", "content": "", "tool_calls": calls("b", "submit"), "extra": { "response": response("3") } },
            result("b", -1, ""),
            { "role": "exit", "content": "done\n" },
        ],
    });
    place.write("run.traj.json", document.to_string());
    let read = place.read("run.traj.json");
    holds(
        &read,
        &json!({
            "program": "mini-swe-agent", "assistant_turns": 3, "malformed_replies": 1, "assistant_messages": 2, "verdict": null,
            "exit_status": "Submitted", "final_answer": "done\n", "tokens": { "input": 300, "output": 21 }, "human_prompts": 1,
        }),
    );
    assert_eq!((&read["calls"][0]["failed"], &read["calls"][1]["failed"]), (&json!(true), &json!(false)));
}

#[test]
fn calls_that_openhands_could_not_read_are_failed_without_arguments() {
    let place = Place::new();
    let event = |number: usize, event: Value| {
        place.write(&format!("c/events/event-{number:05}-{number}.json"), event.to_string());
    };
    let usage = |id: &str| json!({ "response_id": id, "prompt_tokens": 100, "completion_tokens": 7 });
    place.write(
        "c/base_state.json",
        json!({
            "id": "c", "agent": { "llm": { "model": "m" } }, "execution_status": "finished", "leaf_event_id": "5",
            "stats": { "usage_to_metrics": { "agent": { "token_usages": [usage("r1"), usage("r1"), usage("r2")] } } },
        })
        .to_string(),
    );
    let call = |id: &str, name: &str, arguments: Value| json!({ "id": id, "name": name, "arguments": arguments.to_string() });
    event(
        0,
        json!({ "id": "0", "kind": "MessageEvent", "source": "user", "llm_message": { "content": [{ "type": "text", "text": "Go." }] } }),
    );
    event(
        1,
        json!({ "id": "1", "parent_id": "0", "kind": "ActionEvent", "llm_response_id": "r1", "reasoning_content": "Two.", "tool_name": "terminal",
        "tool_call_id": "x", "tool_call": call("x", "terminal", json!({ "command": "ls" })), "action": { "kind": "TerminalAction" } }),
    );
    event(
        2,
        json!({ "id": "2", "parent_id": "1", "kind": "ActionEvent", "llm_response_id": "r1", "tool_name": "terminal",
        "tool_call_id": "y", "tool_call": call("y", "terminal", json!({ "_openhands_malformed_tool_call": true })) }),
    );
    event(
        3,
        json!({ "id": "3", "parent_id": "2", "kind": "AgentErrorEvent", "tool_call_id": "y", "error": "not valid" }),
    );
    event(
        4,
        json!({ "id": "4", "parent_id": "3", "kind": "ObservationEvent", "action_id": "1", "tool_call_id": "x",
        "observation": { "is_error": false, "content": [{ "type": "image", "image_urls": [format!("data:image/png;base64,{PNG}")] }] } }),
    );
    event(
        5,
        json!({ "id": "5", "parent_id": "4", "kind": "ActionEvent", "llm_response_id": "r2", "tool_name": "finish",
        "tool_call_id": "z", "tool_call": call("z", "finish", json!({ "message": "Done." })), "action": { "kind": "FinishAction" } }),
    );
    holds(
        &place.read("c"),
        &json!({
            "program": "OpenHands SDK", "model": "m", "assistant_turns": 2, "thoughts": 1, "malformed_replies": 1, "pictures": 1,
            "final_answer": "Done.", "tokens": { "input": 200, "output": 14 }, "ended": null,
            "calls": [
                { "name": "terminal", "arguments": { "command": "ls" }, "result_starts": null, "failed": false },
                { "name": "terminal", "arguments": null, "result_starts": "not valid", "failed": true },
                { "name": "finish", "arguments": { "message": "Done." }, "result_starts": null, "failed": false },
            ],
        }),
    );
}

/// A session and the file of its agent read as before after `gzip -r` has packed the folder.
#[test]
fn packed_sessions_read_as_plain_ones() {
    let (plain, packed) = (Place::new(), Place::new());
    let spawn = json!({ "type": "tool_use", "id": "a", "name": "Agent", "input": { "prompt": "Count." } });
    let session = [
        line("1", "user", json!({ "message": { "role": "user", "content": "Sort the list." } })),
        part("2", "m1", spawn),
        result(
            "3",
            "a",
            json!("Three."),
            json!({ "toolUseResult": { "status": "completed", "agentId": "x1" } }),
        ),
        part("4", "m2", json!({ "type": "text", "text": "Sorted." })),
    ];
    let agent = [
        line(
            "5",
            "user",
            json!({ "isSidechain": true, "agentId": "x1", "message": { "role": "user", "content": "Count." } }),
        ),
        part("6", "m3", json!({ "type": "text", "text": "Three." })),
    ];
    for (name, lines) in [("s.jsonl", &session[..]), ("s/subagents/agent-x1.jsonl", &agent)] {
        let path = plain.lines(name, lines);
        let mut bytes = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        bytes.write_all(&std::fs::read(path).expect("read")).expect("packed");
        packed.write(&format!("{name}.gz"), bytes.finish().expect("packed"));
    }
    let (of_plain, of_packed) = (plain.read(""), packed.read(""));
    assert_eq!(of_plain["transcripts"], of_packed["transcripts"], "{of_packed:#}");
    let helpers = of_packed.to_string().matches("x1").count();
    assert!(helpers > 1, "{of_packed:#}");
}
