//! The action formats that students write as text: their instructions, and the parsing of replies.

use apprentice_protocol::{
    Call, CallBody, CallId, ChatRequest, CoordinateSpace, ImageRule, NamedSchema, Prompt, ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use super::profile::{ActionFormat, StudentProfile};
use crate::model::action_format::{
    ModelOutput, computer_tool, computer_tool_without_pictures, read_computer, read_computer_13,
    read_pyautogui, read_ui_tars,
};

const QWEN: Prompt = Prompt::new("student/qwen", include_str!("prompts/qwen.md"), &["width", "height"]);
const BOXES: Prompt = Prompt::new("student/boxes", include_str!("prompts/boxes.md"), &["width", "height"]);
const PYAUTOGUI: Prompt =
    Prompt::new("student/pyautogui", include_str!("prompts/pyautogui.md"), &["width", "height"]);
const JSON: Prompt =
    Prompt::new("student/json", include_str!("prompts/json.md"), &["width", "height", "tools"]);
const COMPUTER_13: Prompt =
    Prompt::new("student/computer_13", include_str!("prompts/computer_13.md"), &["width", "height"]);
const TOOLS: Prompt = Prompt::new("student/tools", include_str!("prompts/tools.md"), &["tools"]);
/// The instructions for students.
pub(crate) const PROMPTS: [Prompt; 6] = [QWEN, BOXES, PYAUTOGUI, JSON, COMPUTER_13, TOOLS];
/// The loop's own tool. Most formats have words of their own for it.
const FINISH: &str = "finish";

/// Returns the text below the system prompt; empty when the server itself presents the tools.
pub(super) fn instructions(student: &StudentProfile, request: &ChatRequest) -> String {
    let Some(world) = request.world else { return String::new() };
    let (text, ends_by_tool) = match student.dialect {
        ActionFormat::Tools => return String::new(),
        ActionFormat::Qwen => (QWEN, false),
        ActionFormat::Boxes => (BOXES, false),
        ActionFormat::Pyautogui => (PYAUTOGUI, false),
        ActionFormat::Json => (JSON, true),
        ActionFormat::Computer13 => (COMPUTER_13, false),
    };
    let (width, height) = resolution(student, world);
    let mut lent: Vec<ToolSpec> =
        request.tools.iter().filter(|tool| ends_by_tool || tool.name != FINISH).cloned().collect();
    if student.dialect == ActionFormat::Json {
        lent.insert(0, own_tool(student, world));
    }
    let lines = lent.iter().map(line_of).collect::<Vec<_>>().join("\n");
    let told = text.fill(&[("width", &width), ("height", &height), ("tools", &lines)]);
    match student.dialect {
        _ if lent.is_empty() => told,
        ActionFormat::Json => told,
        _ => format!("{told}\n\n{}", TOOLS.fill(&[("tools", &lines)])),
    }
}

/// Returns our tool for the world, as far as the student can use it.
pub(super) fn own_tool(student: &StudentProfile, world: WorldTool) -> ToolSpec {
    match student.images {
        ImageRule::None => computer_tool_without_pictures(world),
        ImageRule::AsIs | ImageRule::Within { .. } | ImageRule::Factor { .. } => computer_tool(world),
    }
}

/// Returns the size of the coordinate space in which the student answers.
fn resolution(student: &StudentProfile, world: WorldTool) -> (String, String) {
    match student.space {
        CoordinateSpace::ImagePixels => (world.display.width.to_string(), world.display.height.to_string()),
        CoordinateSpace::Grid { max } => (max.to_string(), max.to_string()),
        CoordinateSpace::Unit => ("1.0".into(), "1.0".into()),
    }
}

fn line_of(tool: &ToolSpec) -> String {
    json!({ "name": tool.name, "description": tool.description, "arguments": tool.schema }).to_string()
}

/// Returns the schema of the JSON format, for servers that can enforce one.
pub(super) fn turn_schema(student: &StudentProfile, request: &ChatRequest, world: WorldTool) -> NamedSchema {
    let own = own_tool(student, world);
    let forms: Vec<Value> = std::iter::once(&own)
        .chain(&request.tools)
        .map(|tool| {
            json!({
                "type": "object",
                "properties": {
                    "thought": { "type": "string" },
                    "tool": { "type": "string", "enum": [tool.name] },
                    "arguments": tool.schema,
                },
                "required": ["thought", "tool", "arguments"],
                "additionalProperties": false,
            })
        })
        .collect();
    NamedSchema { name: "turn".into(), schema: json!({ "anyOf": forms }) }
}

/// Splits a reply into its words and its calls, whose ids contain `turn`.
pub(super) fn read_text(dialect: ActionFormat, text: &str, turn: usize) -> (Vec<String>, Vec<Call>) {
    let words = without_thoughts(text);
    let tagged = tagged_calls(words);
    let bodies = if tagged.is_empty() { native_format(dialect, words) } else { tagged };
    let calls =
        (1..).zip(bodies).map(|(place, body)| Call { id: CallId::new(format!("call_{turn}_{place}")), body });
    let calls: Vec<Call> = calls.collect();
    let say = if words.trim().is_empty() { Vec::new() } else { vec![words.trim().to_owned()] };
    (say, calls)
}

fn native_format(dialect: ActionFormat, words: &str) -> Vec<CallBody> {
    match dialect {
        ActionFormat::Qwen => Vec::new(),
        ActionFormat::Tools => match object_of(words) {
            Some(value) if value.get("name").is_some() || value.get("tool").is_some() => vec![named(&value)],
            Some(_) | None => Vec::new(),
        },
        ActionFormat::Boxes => {
            let script = words.rsplit_once("Action:").map(|(_, script)| script);
            script.map(|script| ModelOutput::body(read_ui_tars(script))).into_iter().collect()
        }
        ActionFormat::Pyautogui => match fence(words) {
            Some(code) => vec![ModelOutput::body(read_pyautogui(code))],
            None => Vec::new(),
        },
        ActionFormat::Json => object_of(words).map(|value| named(&value)).into_iter().collect(),
        ActionFormat::Computer13 => match fence(words).unwrap_or(words).trim() {
            word @ ("DONE" | "FAIL" | "WAIT") => vec![ModelOutput::body(read_computer_13(&word.into()))],
            other => object_of(other)
                .map(|value| ModelOutput::body(read_computer_13(&value)))
                .into_iter()
                .collect(),
        },
    }
}

/// Removes a model's reasoning when it stands in tags.
fn without_thoughts(text: &str) -> &str {
    text.rsplit_once("</think>").map_or(text, |(_, rest)| rest)
}

/// Reads calls in `<tool_call>` tags; the last one may lack its end tag.
fn tagged_calls(text: &str) -> Vec<CallBody> {
    let parts = text.split("<tool_call>").skip(1);
    parts
        .map(|part| {
            let inner = part.split("</tool_call>").next().unwrap_or(part).trim();
            match serde_json::from_str::<Value>(inner) {
                Ok(value) => named(&value),
                Err(error) => CallBody::Unusable { problem: format!("the tool call is no JSON: {error}") },
            }
        })
        .collect()
}

/// Reads a call that names its tool, in the spellings that models use.
fn named(value: &Value) -> CallBody {
    let name = ["tool", "name"].iter().find_map(|field| value.get(*field).and_then(Value::as_str));
    let arguments = ["arguments", "parameters"].iter().find_map(|field| value.get(*field));
    match (name, arguments) {
        (Some(name), _) => body_of(name, arguments.cloned().unwrap_or_else(|| json!({}))),
        // A bare action, or one nested in `action`.
        (None, _) => match value.get("action") {
            Some(inner @ Value::Object(_)) => body_of("computer", inner.clone()),
            Some(_) => body_of("computer", value.clone()),
            None => CallBody::Unusable { problem: "the object names neither a tool nor an action".into() },
        },
    }
}

/// Builds a call: our own computer tool becomes actions, any other tool goes to the loop.
pub(super) fn body_of(name: &str, arguments: Value) -> CallBody {
    match name {
        "computer" | "computer_use" => match arguments.get("action").and_then(Value::as_str) {
            Some(action) => ModelOutput::body(read_computer(action, &arguments)),
            None => CallBody::Unusable { problem: "action is missing".into() },
        },
        _ => CallBody::Tool { name: name.to_owned(), arguments },
    }
}

/// Returns the content of the last fenced block.
fn fence(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once("```")?;
    let (_, inside) = before.rsplit_once("```")?;
    // The word after the opening marks names a language.
    Some(match inside.split_once('\n') {
        Some((word, rest)) if word.trim().chars().all(char::is_alphanumeric) => rest,
        Some(_) | None => inside,
    })
}

/// Finds the JSON object in a text: in a fence, or from its first brace to its last.
fn object_of(text: &str) -> Option<Value> {
    let fenced = fence(text).and_then(|inside| serde_json::from_str(inside.trim()).ok());
    fenced.or_else(|| {
        let (start, end) = (text.find('{')?, text.rfind('}')?);
        serde_json::from_str(text.get(start..=end)?).ok()
    })
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ChatRequest, Size, ToolSpec, WorldTool};
    use serde_json::{Value, json};

    use super::{ActionFormat, instructions, own_tool, read_text};
    use crate::model::compat::StudentProfile;

    fn check(dialect: ActionFormat, text: &str, expected: impl Into<Value>) {
        let (_, calls) = read_text(dialect, text, 1);
        let found: Vec<Value> =
            calls.iter().map(|call| serde_json::to_value(&call.body).expect("writes")).collect();
        assert_eq!(Value::from(found), expected.into(), "{text}");
    }

    #[test]
    fn replies_are_read_in_each_dialect() {
        let click = json!({ "call": "world", "actions": [
            { "do": "click", "at": { "point": { "x": 3.0, "y": 4.0 } }, "button": "left", "count": 1 }
        ] });
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
    fn other_tools_words_and_broken_calls() {
        check(
            ActionFormat::Boxes,
            "<tool_call>{\"name\":\"skill_view\",\"arguments\":{\"skill\":\"os/x\"}}</tool_call>",
            json!([{ "call": "tool", "name": "skill_view", "arguments": { "skill": "os/x" } }]),
        );
        check(ActionFormat::Computer13, "DONE", json!([{ "call": "finish", "finish": "done" }]));
        check(ActionFormat::Qwen, "Just words, {\"no\": \"call\"}.", json!([]));
        check(ActionFormat::Tools, "Just words, {\"no\": \"call\"}.", json!([]));
        let (_, calls) = read_text(ActionFormat::Qwen, "<tool_call>{\"name\": </tool_call>", 4);
        assert_eq!(calls[0].id.as_str(), "call_4_1");
        assert!(
            matches!(&calls[0].body, apprentice_protocol::CallBody::Unusable { problem } if problem.contains("no JSON"))
        );
    }

    #[test]
    fn students_are_told_their_space_and_lent_tools() {
        let tool =
            |name: &str| ToolSpec { name: name.into(), description: "Lent.".into(), schema: json!({}) };
        let request = ChatRequest {
            world: Some(WorldTool { browser: false, display: Size::new(1260, 700) }),
            tools: vec![tool("finish"), tool("skill_list")],
            ..ChatRequest::default()
        };
        for name in ["qwen3-vl", "qwen2.5-vl", "ui-tars-1.5", "opencua", "holo1.5"] {
            let told = instructions(&StudentProfile::load(name).expect("is sound"), &request);
            insta::assert_snapshot!(format!("instructions-{name}"), told);
            assert!(told.contains("skill_list") && !told.contains("{tools}") && !told.contains("{width}"));
        }
        let generic = StudentProfile::load("generic").expect("is sound");
        assert_eq!(instructions(&generic, &request), "");
    }

    #[test]
    fn only_a_student_with_pictures_is_offered_to_enlarge_them() {
        let world = WorldTool { browser: false, display: Size::new(1260, 700) };
        let offered = |name: &str| {
            let student = StudentProfile::load(name).expect("is sound");
            own_tool(&student, world).schema.to_string()
        };
        let (blind, seeing) = (offered("text"), offered("generic"));
        assert!(
            !blind.contains("zoom") && !blind.contains("region") && blind.contains("screenshot"),
            "{blind}"
        );
        assert!(seeing.contains("zoom") && seeing.contains("region"), "{seeing}");
    }
}
