//! Notations of calls: each is read whole, or refused in words; none counts as an answer, and none is carried out in part.

use apprentice_protocol::ToolSpec;
use proptest::prelude::proptest;
use serde_json::{Value, json};

use super::{CallableTools, WrittenCalls, read_call_arguments, read_written_calls, split_thoughts};
use crate::action_format::computer_tool;

fn tools() -> Vec<ToolSpec> {
    let finish = json!({ "type": "object", "required": ["finish"], "properties": {
        "finish": { "type": "string", "enum": ["done", "answer", "give_up"] }, "text": { "type": "string" },
    } });
    let view = json!({ "type": "object", "required": ["skill", "page"], "properties": {
        "skill": { "type": "string" }, "page": { "type": "integer" },
    } });
    let tool = |name: &str, schema: Value| ToolSpec { name: name.into(), description: String::new(), schema };
    let world =
        apprentice_protocol::WorldTool { browser: false, display: apprentice_protocol::Size::new(640, 400) };
    vec![computer_tool(world), tool("finish", finish), tool("skill_view", view)]
}

/// What a text is read as: `[name, arguments]` of each call, a problem as a text; `"words"`, or `"refused"`.
fn read(text: &str) -> Value {
    let specs = tools();
    let tools = CallableTools::new(&specs);
    let words = split_thoughts(text);
    let calls = match words.calls.is_empty() {
        false => words.calls,
        true => match read_written_calls(&words.text, &tools) {
            WrittenCalls::None if words.open => return "open thought".into(),
            WrittenCalls::None => return "words".into(),
            WrittenCalls::Unreadable { .. } => return "refused".into(),
            WrittenCalls::Found { calls, .. } => calls,
        },
    };
    calls
        .into_iter()
        .map(|call| match call {
            Ok(call) => {
                let name = tools.resolve(&call.name);
                match read_call_arguments(&name, &call.arguments) {
                    Ok(arguments) => json!([name, arguments]),
                    Err(problem) => problem.into(),
                }
            }
            Err(problem) => problem.into(),
        })
        .collect()
}

/// One click in each notation; `scripts/conformance/call-notations` gives the same texts to SGLang's own parsers.
fn clicks() -> Vec<String> {
    serde_json::from_str(include_str!("one_click.json")).expect("a list of texts")
}

#[test]
fn one_click_is_read_in_every_notation() {
    let click = json!([["computer", { "action": "left_click", "ref": "n2" }]]);
    let clicks = clicks();
    let wrong: Vec<String> = clicks
        .iter()
        .map(|text| (text, read(text)))
        .filter(|(_, read)| *read != click)
        .map(|(text, read)| format!("{text}\n  -> {read}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), clicks.len(), wrong.join("\n"));
}

#[test]
fn a_notation_that_breaks_off_is_never_carried_out_and_never_an_answer() {
    let mut wrong = Vec::new();
    for whole in clicks() {
        // Each place after the action's name, where a reader could take half for a whole.
        let from = whole.find("left_click").map_or(0, |at| at + "left_".len());
        for end in (from..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let cut = &whole[..end];
            let read = read(cut);
            let whole_call = json!([["computer", { "action": "left_click", "ref": "n2" }]]);
            let acts = read.as_array().is_some_and(|calls| calls.iter().any(Value::is_array));
            if acts && read != whole_call || read == "words" {
                wrong.push(format!("{cut}\n  -> {read}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn several_calls_and_other_tools_are_read_in_order() {
    let two = json!([["computer", { "action": "wait" }], ["finish", { "finish": "done" }]]);
    for text in [
        "[{\"name\":\"computer\",\"arguments\":{\"action\":\"wait\"}},{\"name\":\"finish\",\"arguments\":{\"finish\":\"done\"}}]",
        "<tool_call>{\"name\":\"computer\",\"arguments\":{\"action\":\"wait\"}}</tool_call>\n<tool_call>{\"name\":\"finish\",\"arguments\":{\"finish\":\"done\"}}</tool_call>",
        "{\"name\":\"computer\",\"arguments\":{\"action\":\"wait\"}}\n{\"name\":\"finish\",\"arguments\":{\"finish\":\"done\"}}",
        "{\"name\":\"computer\",\"arguments\":{\"action\":\"wait\"}}; {\"name\":\"finish\",\"arguments\":{\"finish\":\"done\"}}",
        "[computer(action=\"wait\"), finish(finish=\"done\")]",
        "[TOOL_CALLS]computer[ARGS]{\"action\":\"wait\"}[TOOL_CALLS]finish[ARGS]{\"finish\":\"done\"}",
        "<invoke name=\"computer\"><parameter name=\"action\">wait</parameter></invoke><invoke name=\"finish\"><parameter name=\"finish\">done</parameter></invoke>",
        "<|tool_call>call:computer{action:<|\"|>wait<|\"|>}<tool_call|><|tool_call>call:finish{finish:<|\"|>done<|\"|>}<tool_call|>",
        "<|channel|>commentary to=functions.computer<|message|>{\"action\":\"wait\"}<|call|><|start|>assistant<|channel|>commentary to=functions.finish<|message|>{\"finish\":\"done\"}<|call|>",
    ] {
        assert_eq!(read(text), two, "{text}");
    }
    let numbers = json!([["skill_view", { "skill": "1", "page": 2 }]]);
    assert_eq!(
        read("<function=skill_view><parameter=skill>1</parameter><parameter=page>2</parameter></function>"),
        numbers
    );
}

#[test]
fn what_a_person_may_be_told_stays_words() {
    for text in [
        "42",
        "The total is $5 (see {a} and [b]).",
        "{\"name\": \"Ada\", \"age\": 36}",
        "[1, 2, 3]",
        "Use the computer to finish.",
        "5 < 7 and 8 > 3",
        "The function f(x) = x + 1",
        "5<|im_end|>",
        "I think so. <b>Bold</b>",
        "name: computer",
        "{}",
        "Finish (done) is the name of the button.",
    ] {
        assert_eq!(read(text), "words", "{text}");
    }
}

#[test]
fn marks_without_a_readable_call_are_refused() {
    for text in [
        "<tool_call>",
        "<tool_call>click the box</tool_call>",
        "<|from_later|>computer<|x|>",
        "<function=computer><parameter=action>left_click",
        "computer(left_click, 3)",
        "{\"name\": \"computer\", \"arguments\": {\"action\": \"left_",
        "[TOOL_CALLS]",
        "<invoke name=\"computer\">",
        "I call computer with \"computer\", \"arguments\"",
    ] {
        let read = read(text);
        let refused = read == "refused"
            || read.as_array().is_some_and(|calls| !calls.is_empty() && calls.iter().all(Value::is_string));
        assert!(refused, "{text}: {read}");
    }
}

#[test]
fn thoughts_are_taken_out_and_an_open_one_holds_nothing() {
    let check = |text: &str, thoughts: &[&str], words: &str, open: bool| {
        let split = split_thoughts(text);
        let split = (
            split.thoughts.iter().map(String::as_str).collect::<Vec<_>>(),
            split.text.trim().to_owned(),
            split.open,
        );
        assert_eq!(split, (thoughts.to_vec(), words.to_owned(), open), "{text}");
    };
    check("<think>a</think>5", &["a"], "5", false);
    check("a</think>5", &["a"], "5", false);
    check("<thinking>a</thinking>5", &["a"], "5", false);
    check("[THINK]a[/THINK]5", &["a"], "5", false);
    check("<seed:think>a</seed:think>5", &["a"], "5", false);
    check("<|START_THINKING|>a<|END_THINKING|>5", &["a"], "5", false);
    check("◁think▷a◁/think▷5", &["a"], "5", false);
    check("<think>a</think>5<think>b</think>6", &["a", "b"], "56", false);
    check("<think>a", &["a"], "", true);
    check("5 <think>a", &["a"], "5", true);
    check("<think>a</think>b<think>c", &["a", "c"], "b", true);
    check("<think></think>5", &[], "5", false);
    check(
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>5<|return|>",
        &["a"],
        "5",
        false,
    );
    check("<|channel|>analysis<|message|>a", &["a"], "", true);
    check("analysisa thought.assistantfinal5", &["a thought."], "5", false);
    check(
        "{\"action\": \"type\", \"text\": \"<think>\"}",
        &[],
        "{\"action\": \"type\", \"text\": \"<think>\"}",
        false,
    );
    assert_eq!(
        read(
            "<think>One could <tool_call>{\"name\":\"computer\",\"arguments\":{\"action\":\"wait\"}}</tool_call>"
        ),
        "open thought"
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[<>|{}\\[\\]\"':=,a-f/ \n｜▁_]{0,60}") {
        let _ = read(&text);
    }

    #[test]
    fn any_text_with_marks_is_read_or_refused(parts in proptest::collection::vec(0usize..12, 0..8)) {
        let words = [
            "<tool_call>", "</tool_call>", "<function=computer>", "<parameter=action>", "{\"name\":\"computer\"", "}",
            "<|channel|>", "to=computer", "<|message|>", "[TOOL_CALLS]", "<think>", "computer(",
        ];
        let text: String = parts.into_iter().map(|part| words[part]).collect();
        let _ = read(&text);
    }
}
