//! Replies in each notation that students are told, and the deviations that such models are known for.

use apprentice_protocol::{CallBody, Size, ToolSpec, WorldTool};
use serde_json::{Value, json};

use super::{ActionFormat, Unparsed, read_words};
use crate::action_format::computer_tool;
use crate::written_calls::CallableTools;

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str| ToolSpec { name: name.into(), description: String::new(), schema: json!({}) };
    let own = computer_tool(WorldTool { browser: false, display: Size::new(640, 400) });
    vec![own, tool("finish"), tool("skill_view")]
}

fn check(dialect: ActionFormat, text: &str, expected: impl Into<Value>) {
    let specs = tools();
    let read = read_words(dialect, text, Some(&CallableTools::new(&specs)));
    let mut found: Vec<Value> =
        read.calls.iter().map(|call| serde_json::to_value(call).expect("writes")).collect();
    found.extend(read.problem.map(Value::from));
    assert_eq!(Value::from(found), expected.into(), "{text}");
}

/// Neither an action nor an answer: the model hears why.
fn refused(dialect: ActionFormat, text: &str) {
    let specs = tools();
    let read = read_words(dialect, text, Some(&CallableTools::new(&specs)));
    let unusable = |call: &CallBody| matches!(call, CallBody::Unusable { .. });
    assert!(
        read.problem.is_some() || !read.calls.is_empty() && read.calls.iter().all(unusable),
        "{text}: {read:?}"
    );
}

fn click() -> Value {
    json!({ "call": "world", "actions": [
        { "do": "click", "at": { "point": { "x": 3.0, "y": 4.0 } }, "button": "left", "count": 1 }
    ] })
}

#[test]
fn replies_are_read_in_each_dialect() {
    let click = click();
    check(
        ActionFormat::Qwen,
        "<think>where?</think>Action: click it.\n<tool_call>\n{\"name\": \"computer_use\", \"arguments\": {\"action\": \"left_click\", \"coordinate\": [3, 4]}}\n</tool_call>",
        json!([click]),
    );
    check(ActionFormat::Boxes, "Thought: there.\nAction: click(start_box='(3,4)')", json!([click]));
    check(ActionFormat::Pyautogui, "## Code:\n```python\npyautogui.click(x=3, y=4)\n```", json!([click]));
    check(
        ActionFormat::Json,
        "{\"thought\":\"x\",\"tool\":\"computer\",\"arguments\":{\"action\":\"left_click\",\"coordinate\":[3,4]}}",
        json!([click]),
    );
    check(
        ActionFormat::Json,
        "```json\n{\"action\": \"click\", \"coordinate\": [3, 4]}\n```",
        json!([click]),
    );
    check(
        ActionFormat::Computer13,
        "```json\n{\"action_type\": \"CLICK\", \"x\": 3, \"y\": 4}\n```",
        json!([click]),
    );
    check(
        ActionFormat::Tools,
        "{\"name\":\"computer\",\"arguments\":{\"action\":\"click\",\"coordinate\":[3,4]}}",
        json!([click]),
    );
}

#[test]
fn small_deviations_of_students_are_read() {
    let click = click();
    for text in [
        "Action: click.\n{\"name\": \"computer_use\", \"arguments\": {\"action\": \"left_click\", \"coordinate\": [3, 4]}}\n</tool_call>",
        "{\"name\": \"computer_use\", \"arguments\": {\"action\": \"left_click\", \"coordinate\": [3, 4]}}",
        "```json\n{\"name\": \"computer_use\", \"arguments\": {\"action\": \"left_click\", \"coordinate\": [3, 4]}}\n```",
        "<tool_call>\n{\"name\": \"computer_use\", \"arguments\": {\"action\": \"left_click\", \"coordinate\": [3, 4]}}",
        "Action: click.\n{\"action\": \"left_click\", \"coordinate\": [3, 4]}",
        "<tool_call>\n<function=computer_use>\n<parameter=action>\nleft_click\n</parameter>\n<parameter=coordinate>\n[3, 4]\n</parameter>\n</function>\n</tool_call>",
    ] {
        check(ActionFormat::Qwen, text, json!([click]));
    }
    for text in [
        "There.\n\nAction：click(start_box='(3,4)')",
        "thought: there\naction: click(start_box='(3,4)')",
        "**Action:** click(start_box='(3,4)')",
        "Thought: there.\nclick(start_box='(3,4)')",
        "click(start_box='(3,4)')",
        "Thought: The Action: menu is open.\nAction: click(start_box='(3,4)')",
    ] {
        check(ActionFormat::Boxes, text, json!([click]));
    }
    for text in [
        "## Code:\n```python\npyautogui.click(x=3, y=4)",
        "## Code:\npyautogui.click(x=3, y=4)\n```",
        "## Action:\nClick it.\n\n## Code:\npyautogui.click(x=3, y=4)",
        "pyautogui.click(x=3, y=4)",
        "```\nimport pyautogui\npyautogui.click(x=3, y=4)\n```",
    ] {
        check(ActionFormat::Pyautogui, text, json!([click]));
    }
    check(
        ActionFormat::Boxes,
        "Thought: x\nAction: type(content='Action: save')",
        json!([{ "call": "world", "actions": [{ "do": "type", "text": "Action: save" }] }]),
    );
}

#[test]
fn half_a_reply_is_neither_an_action_nor_an_answer() {
    for (dialect, text) in [
        (ActionFormat::Boxes, "Thought: I have to find the box first, so"),
        (ActionFormat::Boxes, "Thought: x\nAction:"),
        (ActionFormat::Boxes, "Thought: x\nAction: click(start_box='(3,"),
        (ActionFormat::Qwen, "Action: tick it."),
        (ActionFormat::Qwen, "Action: tick it.\n<tool_call>"),
        (ActionFormat::Pyautogui, "## Thought\nI look for the box"),
        (ActionFormat::Pyautogui, "## Code\n```python\npyautogui.click(x=3"),
        (ActionFormat::Json, "{\"thought\": \"I look"),
        (ActionFormat::Json, "{\"thought\": \"x\"}"),
        (ActionFormat::Tools, "<think>I look"),
        (ActionFormat::Tools, "<|channel|>commentary<|message|>I will click.<|end|>"),
    ] {
        refused(dialect, text);
    }
}

#[test]
fn other_tools_words_and_broken_calls() {
    check(
        ActionFormat::Boxes,
        "<tool_call>{\"name\":\"skill_view\",\"arguments\":{\"skill\":\"os/x\"}}</tool_call>",
        json!([{ "call": "tool", "name": "skill_view", "arguments": { "skill": "os/x" } }]),
    );
    check(ActionFormat::Computer13, "DONE", json!([{ "call": "finish", "finish": "done" }]));
    check(ActionFormat::Qwen, "Just words, {\"no\": \"call\"}.", json!([]));
    check(ActionFormat::Tools, "Just words, {\"no\": \"call\"}.", json!([]));
    refused(ActionFormat::Qwen, "<tool_call>{\"name\": </tool_call>");
}

#[test]
fn the_notation_that_a_server_left_is_named() {
    let specs = tools();
    let read = |text: &str| read_words(ActionFormat::Tools, text, Some(&CallableTools::new(&specs))).unparsed;
    let xml = read("<function=finish><parameter=finish>done</parameter></function>");
    let Some(Unparsed::Read(notation)) = xml else { panic!("{xml:?}") };
    assert_eq!(notation.parsers(), Some(("qwen3_coder", "qwen3_coder")));
    assert!(matches!(read("<|from_later|>finish"), Some(Unparsed::Mark(mark)) if mark == "<|from_later|>"));
    assert_eq!(read("42"), None);
}

#[test]
fn without_tools_everything_but_thoughts_is_words() {
    let read = read_words(ActionFormat::Tools, "<think>x</think>{\"grade\": \"pass\"}<|im_end|>", None);
    assert_eq!((read.say, read.calls), (vec!["{\"grade\": \"pass\"}".to_owned()], Vec::new()));
    assert_eq!(read.thoughts, ["x"]);
    let channels =
        "<|channel|>analysis<|message|>4 is wrong<|end|><|start|>assistant<|channel|>final<|message|>5";
    assert_eq!(read_words(ActionFormat::Tools, channels, None).say, ["5"]);
}
