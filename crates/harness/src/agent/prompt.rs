//! The words that the loop itself puts before a model. They are files, so that a change is seen.

use apprentice_protocol::{BoundedText, Content, TextBudget, ToolSpec};
use serde_json::json;
use sha2::{Digest as _, Sha256};

const SYSTEM: &str = include_str!("prompts/system.md");
const FINISH: &str = include_str!("prompts/finish.md");
const TASK: &str = include_str!("prompts/task.md");
const ADVICE: &str = include_str!("prompts/advice.md");
const UNUSABLE: &str = include_str!("prompts/unusable.md");
const REPEAT: &str = include_str!("prompts/repeat.md");

/// The tool by which a model says that it is finished.
pub(super) const FINISH_TOOL: &str = "finish";
const INSTRUCTION_BUDGET: TextBudget = TextBudget(20_000);

/// SHA-256 of everything that the loop says to a model, as hexadecimal text.
pub fn prompt_hash() -> String {
    let mut hash = Sha256::new();
    for (label, text) in [
        ("system", SYSTEM),
        ("finish", FINISH),
        ("task", TASK),
        ("advice", ADVICE),
        ("unusable", UNUSABLE),
        ("repeat", REPEAT),
    ] {
        hash.update(format!("{label}:{}:", text.len()));
        hash.update(text);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn system() -> String {
    SYSTEM.trim_end().to_owned()
}

pub(super) fn task(instruction: &str) -> Content {
    let bounded = BoundedText::cut(instruction, INSTRUCTION_BUDGET);
    Content::text(TASK.trim_end().replace("{instruction}", bounded.as_str()))
}

/// Guidance, marked as what it is.
pub(super) fn advice(text: &BoundedText) -> Content {
    Content::text(ADVICE.trim_end().replace("{advice}", text.as_str().trim_end()))
}

pub(super) fn unusable() -> Content {
    Content::text(UNUSABLE.trim_end())
}

pub(super) fn repeat(repeats: u32) -> Content {
    Content::text(REPEAT.trim_end().replace("{repeats}", &repeats.to_string()))
}

pub(super) fn finish_tool() -> ToolSpec {
    ToolSpec {
        name: FINISH_TOOL.into(),
        description: FINISH.trim_end().into(),
        schema: json!({
            "type": "object",
            "properties": {
                "finish": { "type": "string", "enum": ["done", "answer", "give_up"] },
                "text": { "type": "string", "description": "The answer, with `answer`." },
                "reason": { "type": "string", "description": "Why not, with `give_up`." },
            },
            "required": ["finish"],
            "additionalProperties": false,
        }),
    }
}
