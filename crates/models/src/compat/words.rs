//! Reads a student's words: its thoughts, its actions in the notation that it was told, and calls in any other.

use apprentice_protocol::CallBody;
use serde_json::Value;

use super::profile::ActionFormat;
use crate::action_format::{
    ModelOutput, read_computer, read_computer_13, read_pyautogui, read_ui_tars, ui_tars_calls,
};
use crate::written_calls::{
    CallableTools, Notation, ReadCall, WrittenCalls, read_call_arguments, read_written_calls, split_thoughts,
    without_turn_marks,
};

/// The model's own fault when its reply ends within a thought.
const OPEN_THOUGHT: &str = "your reply ended within its thought, so nothing of it was carried out or taken as an answer; close the thought, then act";
/// The model's own fault when it wrote a remark to a call that is missing.
const COMMENTARY: &str = "your reply announces a call, but holds none; make the call, or call `finish`";

/// What stands in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StudentWords {
    /// Words for a person.
    pub(super) say: Vec<String>,
    /// Thoughts, in order.
    pub(super) thoughts: Vec<String>,
    /// The calls, in order.
    pub(super) calls: Vec<CallBody>,
    /// Why a text without calls is no answer either, for the model.
    pub(super) problem: Option<String>,
    /// Whether the text ends within a thought.
    pub(super) open_thought: bool,
    /// The notation of calls that the server should have read.
    pub(super) unparsed: Option<Unparsed>,
}

/// Calls that a server handed over as words.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unparsed {
    /// They were read here.
    Read(Notation),
    /// They could not be read; holds the mark by which they were known.
    Mark(String),
}

/// Takes a reply's text apart. Without tools nothing in it is a call.
pub(super) fn read_words(
    dialect: ActionFormat,
    text: &str,
    tools: Option<&CallableTools<'_>>,
) -> StudentWords {
    let words = split_thoughts(text);
    let said = without_turn_marks(&words.text).to_owned();
    let mut read = StudentWords {
        say: if said.is_empty() { Vec::new() } else { vec![said] },
        thoughts: words.thoughts,
        open_thought: words.open,
        ..StudentWords::default()
    };
    let Some(tools) = tools else { return read };
    if !words.calls.is_empty() {
        read.calls = words.calls.into_iter().map(|call| body(call, tools)).collect();
        read.unparsed = Some(Unparsed::Read(Notation::Harmony));
        return read;
    }
    // A tag names the notation of lent tools, whatever the student's own is.
    if !words.text.contains("<tool_call>") {
        read.calls = own_notation(dialect, &words.text);
    }
    if read.calls.is_empty() {
        match read_written_calls(&words.text, tools) {
            WrittenCalls::None => {}
            WrittenCalls::Found { notation, calls } => {
                read.calls = calls.into_iter().map(|call| body(call, tools)).collect();
                read.unparsed = Some(Unparsed::Read(notation));
            }
            WrittenCalls::Unreadable { mark } => {
                read.problem = Some(unreadable(&mark));
                read.unparsed = Some(Unparsed::Mark(mark));
            }
        }
    }
    if read.calls.is_empty() && read.problem.is_none() {
        read.problem = match () {
            () if read.open_thought => Some(OPEN_THOUGHT.to_owned()),
            () if words.commentary => Some(COMMENTARY.to_owned()),
            () => own_mark(dialect, &words.text).map(unreadable),
        };
    }
    read
}

fn unreadable(mark: &str) -> String {
    format!(
        "your reply holds {mark:?}, the mark of a call, but no call that can be read, so it was not taken as an answer; make the call in the form that you were told, or call `finish`"
    )
}

/// Builds the body of a call that was read from words.
fn body(call: ReadCall, tools: &CallableTools<'_>) -> CallBody {
    match call {
        Ok(call) => named_body(&tools.resolve(&call.name), &call.arguments),
        Err(problem) => CallBody::Unusable { problem },
    }
}

/// Builds the body of a call: our own computer tool becomes actions, any other tool goes to the loop.
pub(super) fn named_body(name: &str, arguments: &Value) -> CallBody {
    let arguments = match read_call_arguments(name, arguments) {
        Ok(arguments) => arguments,
        Err(problem) => return CallBody::Unusable { problem },
    };
    match name {
        "computer" | "computer_use" => match arguments.get("action") {
            Some(Value::String(action)) => ModelOutput::body(read_computer(action, &arguments)),
            Some(inner @ Value::Object(_)) if arguments.as_object().is_some_and(|all| all.len() == 1) => {
                named_body(name, inner)
            }
            Some(_) | None => CallBody::Unusable { problem: "action is missing".into() },
        },
        _ => CallBody::Tool { name: name.to_owned(), arguments },
    }
}

/// Reads the actions of a text in the student's own notation, with the small deviations that such models are known for.
fn own_notation(dialect: ActionFormat, words: &str) -> Vec<CallBody> {
    let one = |read| vec![ModelOutput::body(read)];
    match dialect {
        // What a label names, only the conversation says: see `named`.
        ActionFormat::Tools | ActionFormat::Named => Vec::new(),
        ActionFormat::Qwen => match object_of(words).filter(|_| !words.contains("tool_call>")) {
            Some(value) if value.get("action").is_some_and(Value::is_string) => vec![bare_action(&value)],
            Some(_) | None => Vec::new(),
        },
        ActionFormat::Boxes => match after_action(words).or_else(|| ui_tars_calls(words)) {
            Some(script) => one(read_ui_tars(script)),
            None => Vec::new(),
        },
        ActionFormat::Pyautogui => match ending(words).or_else(|| code(words)) {
            Some(code) => one(read_pyautogui(code)),
            None => Vec::new(),
        },
        ActionFormat::Json => match object_of(words) {
            Some(value) if value.get("tool").is_some() || value.get("name").is_some() => Vec::new(),
            Some(value) if value.get("action").is_some() => vec![bare_action(&value)],
            Some(_) | None => Vec::new(),
        },
        ActionFormat::Computer13 => match ending(words) {
            Some(word) => one(read_computer_13(&word.into())),
            None => match object_of(words).filter(|value| value.get("action_type").is_some()) {
                Some(value) => one(read_computer_13(&value)),
                None => Vec::new(),
            },
        },
    }
}

/// Reads an action without the name of its tool.
fn bare_action(value: &Value) -> CallBody {
    match value.get("action") {
        Some(inner @ Value::Object(_)) => named_body("computer", inner),
        Some(_) | None => named_body("computer", value),
    }
}

/// Returns the mark of an action of the student's notation in words that hold none.
fn own_mark(dialect: ActionFormat, words: &str) -> Option<&'static str> {
    let marks: &[&str] = match dialect {
        ActionFormat::Tools => &[],
        ActionFormat::Qwen => &["Action:"],
        ActionFormat::Boxes => &["Thought", "Action"],
        ActionFormat::Pyautogui => &["## Thought", "## Action", "## Code", "pyautogui."],
        ActionFormat::Json | ActionFormat::Named => &["{\""],
        ActionFormat::Computer13 => &["action_type", "{\""],
    };
    let lower = words.to_lowercase();
    marks
        .iter()
        .find(|mark| {
            lower.trim_start().starts_with(&mark.to_lowercase())
                || lower.contains(&format!("\n{}", mark.to_lowercase()))
        })
        .copied()
}

/// Returns what stands behind the last `Action:`, in any case and with a colon of any width: the last at the beginning of
/// a line, else the last of all.
fn after_action(words: &str) -> Option<&str> {
    // Lower case of these letters has the same length, so places agree.
    let lower = words.to_ascii_lowercase();
    let found = lower.match_indices("action").filter_map(|(at, word)| {
        let after = words[at + word.len()..].trim_start_matches([' ', '*']);
        let script = after.strip_prefix(':').or_else(|| after.strip_prefix('：'))?;
        let before = words[..at].trim_end_matches([' ', '*', '#', '\t']);
        Some((before.is_empty() || before.ends_with('\n'), script.trim_start_matches('*')))
    });
    let found: Vec<(bool, &str)> = found.collect();
    let lined = found.iter().rev().find(|(begins_line, _)| *begins_line);
    lined.or(found.last()).map(|(_, script)| *script)
}

/// The word that stands in place of an action in OSWorld's action sets (`desktop_env.py`, `step`), alone or in a fence.
fn ending(words: &str) -> Option<&str> {
    Some(fence(words).unwrap_or(words).trim()).filter(|word| ["DONE", "FAIL", "WAIT"].contains(word))
}

/// Returns the code of a reply: the last fenced block, an opened one, or the statements that stand alone.
fn code(words: &str) -> Option<&str> {
    let is_code = |text: &str| ["pyautogui.", "computer."].iter().any(|module| text.contains(module));
    if let Some(inside) = fence(words).filter(|inside| is_code(inside)) {
        return Some(inside);
    }
    let opened = words.rsplit_once("```").map(|(_, inside)| without_language(inside));
    if let Some(inside) = opened.filter(|inside| is_code(inside)) {
        return Some(inside);
    }
    let statement = |line: &str| {
        ["pyautogui.", "computer.", "import ", "time."].iter().any(|head| line.starts_with(head))
    };
    let mut at = 0;
    for line in words.split_inclusive('\n') {
        if statement(line.trim_start()) {
            let script = words[at..].trim_end();
            return Some(script.strip_suffix("```").unwrap_or(script)).filter(|script| is_code(script));
        }
        at += line.len();
    }
    None
}

/// Returns the content of the last fenced block.
fn fence(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once("```")?;
    let (_, inside) = before.rsplit_once("```")?;
    Some(without_language(inside))
}

/// Removes the word after the opening marks that names a language.
fn without_language(inside: &str) -> &str {
    match inside.split_once('\n') {
        Some((word, rest)) if word.trim().chars().all(char::is_alphanumeric) => rest,
        Some(_) | None => inside,
    }
}

/// Finds the JSON object in a text: in a fence, or from its first brace to its last.
fn object_of(text: &str) -> Option<Value> {
    let object = |text: &str| serde_json::from_str(text.trim()).ok().filter(Value::is_object);
    let fenced = fence(text).and_then(object);
    fenced.or_else(|| {
        let (start, end) = (text.find('{')?, text.rfind('}')?);
        object(text.get(start..=end)?)
    })
}

#[cfg(test)]
mod tests;
