//! The loop's own prompt texts. They are files, so that a change is visible in review.

use apprentice_protocol::{
    BoundedText, Content, EventKind, Guidance, ModelProfile, Prompt, TextBudget, ToolSpec, ViewRule, counted,
    replaced_prompts,
};
use apprentice_trace::hex;
use serde_json::json;
use sha2::{Digest as _, Sha256};

const SYSTEM: Prompt = Prompt::new("agent/system", include_str!("prompts/system.md"), &[]);
const FINISH: Prompt = Prompt::new("agent/finish", include_str!("prompts/finish.md"), &[]);
const TASK: Prompt = Prompt::new("agent/task", include_str!("prompts/task.md"), &["instruction"]);
const FOLLOW_UP: Prompt =
    Prompt::new("agent/follow_up", include_str!("prompts/follow_up.md"), &["instruction"]);
const ADVICE: Prompt = Prompt::new("agent/advice", include_str!("prompts/advice.md"), &["advice"]);
const CUT: Prompt = Prompt::new("agent/cut", include_str!("prompts/cut.md"), &["tokens"]);
const UNREAD_CALL: Prompt = Prompt::new("agent/unread_call", include_str!("prompts/unread_call.md"), &[]);
const UNUSABLE: Prompt = Prompt::new("agent/unusable", include_str!("prompts/unusable.md"), &[]);
const REPEAT: Prompt = Prompt::new("agent/repeat", include_str!("prompts/repeat.md"), &["repeats"]);
const PERSON: Prompt = Prompt::new("agent/person", include_str!("prompts/person.md"), &["actions"]);

const LIMITS: Prompt = Prompt::new("agent/limits", include_str!("prompts/limits.md"), &[]);
const CHANGES: Prompt = Prompt::new("agent/changes", include_str!("prompts/changes.md"), &[]);
const SMALL: Prompt = Prompt::new("agent/small", include_str!("prompts/small.md"), &[]);

/// All prompt texts of the loop.
pub(crate) const PROMPTS: [Prompt; 13] = [
    SYSTEM,
    FINISH,
    TASK,
    FOLLOW_UP,
    ADVICE,
    UNUSABLE,
    CUT,
    UNREAD_CALL,
    REPEAT,
    PERSON,
    LIMITS,
    CHANGES,
    SMALL,
];
/// The name prefix of the loop's own texts.
const OWN_PREFIX: &str = "agent/";

/// The tool that a model calls to finish.
pub(super) const FINISH_TOOL: &str = "finish";
const INSTRUCTION_BUDGET: TextBudget = TextBudget(MAX_INSTRUCTION_CHARS);

/// The longest instruction that a model gets whole, in characters.
pub const MAX_INSTRUCTION_CHARS: usize = 20_000;

/// Returns the SHA-256 in hexadecimal over every text that the loop sends to a model, and every other text that a user
/// has replaced.
pub fn prompt_hash() -> String {
    let own = PROMPTS.iter().map(|prompt| (prompt.name.trim_start_matches(OWN_PREFIX), prompt.text()));
    let replaced = replaced_prompts().filter(|(name, _)| !name.starts_with(OWN_PREFIX));
    let mut hash = Sha256::new();
    for (label, text) in own.chain(replaced) {
        hash.update(format!("{label}:{}:", text.len()));
        hash.update(text);
    }
    hex(&hash.finalize())
}

/// Returns the system prompt, with what a model must know of its views.
pub(super) fn system(profile: &ModelProfile) -> String {
    if profile.views == ViewRule::Short {
        return SMALL.text().trim_end().to_owned();
    }
    let changes = profile.views == ViewRule::Changes;
    let parts = [Some(SYSTEM), changes.then_some(LIMITS), (changes && profile.outline).then_some(CHANGES)];
    let parts: Vec<&str> = parts.iter().flatten().map(|prompt| prompt.text().trim_end()).collect();
    parts.join("\n\n")
}

/// Returns the advice that opens a conversation, with the events to record.
pub(super) fn opening<'a>(
    guidance: &'a Guidance,
    profile: &ModelProfile,
) -> (&'a BoundedText, &'a [EventKind]) {
    match &guidance.opening_briefly {
        Some((text, events)) if profile.views == ViewRule::Short => (text, events),
        _ => (&guidance.opening, &guidance.opening_events),
    }
}

pub(super) fn task(instruction: &str) -> Content {
    let bounded = BoundedText::cut(instruction, INSTRUCTION_BUDGET);
    Content::text(TASK.fill(&[("instruction", bounded.as_str())]))
}

/// The instruction of a later turn.
pub(super) fn follow_up(instruction: &str) -> Content {
    let bounded = BoundedText::cut(instruction, INSTRUCTION_BUDGET);
    Content::text(FOLLOW_UP.fill(&[("instruction", bounded.as_str())]))
}

/// Wraps guidance in the text that marks it as advice.
pub(super) fn advice(text: &BoundedText) -> Content {
    Content::text(ADVICE.fill(&[("advice", text.as_str().trim_end())]))
}

pub(super) fn unusable() -> Content {
    Content::text(UNUSABLE.text().trim_end())
}

/// Says that a reply was cut off, and where its limit lies.
pub(super) fn cut(tokens: u32) -> Content {
    Content::text(CUT.fill(&[("tokens", &tokens.to_string())]).trim_end())
}

pub(super) fn unread_call() -> Content {
    Content::text(UNREAD_CALL.text().trim_end())
}

pub(super) fn repeat(repeats: u32) -> Content {
    Content::text(REPEAT.fill(&[("repeats", &repeats.to_string())]))
}

/// Tells the model that a person has acted.
pub(super) fn person(actions: usize) -> Content {
    Content::text(PERSON.fill(&[("actions", &counted(actions, "action"))]).trim_end())
}

pub(super) fn finish_tool() -> ToolSpec {
    ToolSpec {
        name: FINISH_TOOL.into(),
        description: FINISH.text().trim_end().into(),
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
