//! Marks of templates in a model's words: those that end a turn, and those of a call.

use std::borrow::Cow;

use super::CallableTools;

/// Marks at the beginning of a turn that say nothing.
const TURN_BEGINS: &[&str] = &[
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<start_of_turn>model",
    "<|turn>model",
    "<|assistant|>",
    "<|START_RESPONSE|>",
    "<|START_TEXT|>",
    "<|open|>response<|sep|>",
    "<response>",
    "<answer>",
    "<|begin_of_text|>",
    "<s>",
    "<bos>",
];
/// Marks at the end of a turn that say nothing.
const TURN_ENDS: &[&str] = &[
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|return|>",
    "<|eos|>",
    "<|eot|>",
    "<|eom|>",
    "<|end_of_sentence|>",
    "<|END_RESPONSE|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|END_TEXT|>",
    "<|close|>response<|sep|>",
    "<|close|>message<|sep|>",
    "<|end_message|>",
    "<|user|>",
    "<|observation|>",
    "<end_of_turn>",
    "<turn|>",
    "</response>",
    "</answer>",
    "</s>",
    "<eos>",
    "[EOS]",
];

/// What stands in a call and hardly anywhere else; compared in lower case.
const CALL_MARKS: &[&str] = &[
    "<tool_call",
    "</tool_call",
    "<tool_use",
    "<tool_code",
    "<toolcall",
    "<function",
    "</function",
    "<invoke",
    ":invoke",
    "<parameter",
    "<arg_key",
    "<arg_value",
    "tool_call>",
    "tool_calls>",
    "[tool_calls]",
    "[args]",
    "start_function_call",
    "functools[",
    "to=functions.",
    "✿function✿",
    "action input:",
    "```tool_",
    "\"tool_calls\"",
    "\"function_call\"",
    "function call<",
];
/// The longest mark between `<|` and `|>`.
const MAX_MARK_BYTES: usize = 48;

/// Writes the marks of DeepSeek and others, `<｜tool▁call▁begin｜>`, with plain characters.
pub(super) fn plain_marks(text: &str) -> Cow<'_, str> {
    if !text.contains('｜') && !text.contains('▁') && !text.contains("]<]") {
        return Cow::Borrowed(text);
    }
    // MiniMax-M3 writes `]<]minimax[>[` before each tag.
    let text = text.replace("]<]minimax[>[", "");
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find('<') {
        plain.push_str(&rest[..start]);
        let mark = &rest[start..];
        let end = mark.find('>').filter(|end| *end <= 2 * MAX_MARK_BYTES + 100).map_or(1, |end| end + 1);
        plain.push_str(&mark[..end].replace('｜', "|").replace('▁', "_"));
        rest = &mark[end..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Removes the marks around a turn.
pub(crate) fn without_turn_marks(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let before = text;
        for mark in TURN_BEGINS {
            text = text.strip_prefix(mark).unwrap_or(text).trim_start();
        }
        for mark in TURN_ENDS {
            text = text.strip_suffix(mark).unwrap_or(text).trim_end();
        }
        if text == before {
            return text;
        }
    }
}

/// Returns the mark of a call in a text that counts as no answer for it.
pub(super) fn call_mark(text: &str, tools: &CallableTools<'_>) -> Option<String> {
    let lower = text.to_lowercase();
    if let Some(mark) = CALL_MARKS.iter().find(|mark| lower.contains(*mark)) {
        return Some((*mark).to_owned());
    }
    if let Some(mark) = template_mark(text) {
        return Some(mark.to_owned());
    }
    // The beginning of a call of which the rest is missing.
    if text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde_json::Value>(text.trim()).is_err()
    {
        let opened =
            ["\"name\"", "\"tool\"", "\"arguments\"", "\"parameters\"", "\"action\"", "\"function\""];
        if let Some(field) = opened.iter().find(|field| text.contains(*field)) {
            return Some((*field).to_owned());
        }
    }
    tools.names().find_map(|name| named_with_arguments(text, name))
}

/// Returns the first `<|…|>` of a text.
fn template_mark(text: &str) -> Option<&str> {
    let mut at = 0;
    while let Some(start) = text.get(at..)?.find("<|").map(|found| at + found) {
        let inside = &text[start + 2..];
        let end = inside.find('>').filter(|end| *end > 0 && *end <= MAX_MARK_BYTES);
        if let Some(end) = end
            && inside[..end]
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '|' | '"' | '-' | ':' | '/'))
        {
            return Some(&text[start..start + 2 + end + 1]);
        }
        at = start + 2;
    }
    None
}

/// Returns a tool's name where arguments follow it in a way that prose does not.
fn named_with_arguments(text: &str, name: &str) -> Option<String> {
    text.match_indices(name).find_map(|(at, _)| {
        let after = &text[at + name.len()..];
        let begins = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let arguments = after.trim_start_matches(['"', '\'', '`', ' ', ':', ',']).trim_start();
        let call = begins
            && (after.starts_with('(') && after.contains('=')
                || after.trim_start().starts_with('{')
                || ["arguments\"", "parameters\"", "args\"", "input\"", "action\""]
                    .iter()
                    .any(|field| arguments.starts_with(field)));
        call.then(|| name.to_owned())
    })
}
