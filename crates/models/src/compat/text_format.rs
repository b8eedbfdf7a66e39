//! The action formats that students write as text: their instructions, and the schema that enforces one.

use apprentice_protocol::{
    ChatRequest, CoordinateSpace, ImageRule, NamedSchema, Prompt, ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use super::named;
use super::profile::{ActionFormat, StudentProfile};
use super::references::listed_references;
use crate::action_format::{FINISH, computer_tool, computer_tool_without_pictures};

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
pub(crate) const PROMPTS: [Prompt; 8] =
    [QWEN, BOXES, PYAUTOGUI, JSON, COMPUTER_13, TOOLS, named::PROMPTS[0], named::PROMPTS[1]];
/// Enough for a thought of some sentences; a small model without a bound fills its whole output with one.
const MAX_THOUGHT_CHARS: u32 = 600;

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
        ActionFormat::Named => return named::instructions(),
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
    let mut own = own_tool(student, world);
    let references = listed_references(request);
    if !references.is_empty() {
        own.schema["properties"]["ref"]["enum"] = references.into();
    }
    let forms: Vec<Value> = std::iter::once(&own)
        .chain(&request.tools)
        .map(|tool| {
            json!({
                "type": "object",
                "properties": {
                    "thought": { "type": "string", "maxLength": MAX_THOUGHT_CHARS },
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

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ChatRequest, Content, Message, Size, ToolSpec, WorldTool};
    use serde_json::json;

    use super::{instructions, own_tool, turn_schema};
    use crate::compat::StudentProfile;
    use crate::http::{SchemaSubset, enforced_schema, ordered};

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
    fn a_turn_is_enforced_in_its_order_and_within_bounds() {
        let student = StudentProfile::load("holo1.5").expect("is sound");
        let world = WorldTool { browser: false, display: Size::new(1260, 700) };
        let view = Message::User { content: vec![Content::text("button \"Save\" #n4")] };
        let request = ChatRequest { world: Some(world), messages: vec![view], ..ChatRequest::default() };
        let schema = turn_schema(&student, &request, world).schema;
        let text = serde_json::to_string(&ordered(&enforced_schema(&schema, SchemaSubset::Bounded)))
            .expect("writes");
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(
            place("\"thought\":") < place("\"tool\":") && place("\"tool\":") < place("\"arguments\":{"),
            "{text}"
        );
        for bound in [
            "\"maxLength\":600",
            "\"minItems\":2",
            "\"maxItems\":4",
            "\"enum\":[\"n4\"]",
            "\"required\":[\"action\"]",
        ] {
            place(bound);
        }
        assert!(!text.contains("\"null\""), "optional properties may be absent: {text}");
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
