//! Reads the conversation: the instruction, and the observations turn by turn.
//!
//! The conversation is a policy's only memory. Each call replays the policy over all turns; no state is kept between
//! calls.

use apprentice_protocol::{ActionOutcome, CallBody, ChatRequest, Content, Message};

use serde::de::DeserializeOwned;

use super::scene::Scene;

/// The input that precedes one reply of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turn {
    /// The current scene; carried over from the previous turn if this turn has no observation.
    pub(super) scene: Scene,
    /// Results of function tools, in order.
    pub(super) answers: Vec<ToolResult>,
    /// Error messages of failed actions.
    pub(super) problems: Vec<String>,
    /// Number of world actions requested in the previous turn.
    pub(super) actions: u32,
}

/// The result of one function tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolResult {
    /// The name of the tool.
    pub(super) tool: String,
    /// The text of the result.
    pub(super) text: String,
    /// Whether the tool reported an error.
    pub(super) is_error: bool,
}

/// A parsed conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Transcript {
    pub(super) instruction: String,
    /// The rest of the first message, including advice.
    pub(super) opening: String,
    /// The turns; the current one is last.
    pub(super) turns: Vec<Turn>,
    /// The names of the available tools.
    pub(super) tools: Vec<String>,
    /// Whether the environment is a browser without a desktop.
    pub(super) browser: bool,
}

/// Returns the first fenced `json` block in the user messages that deserializes as `T`: so requests pass material.
pub(super) fn block<T: DeserializeOwned>(request: &ChatRequest) -> Option<T> {
    let fenced = |text: &str| {
        let inside = text.split("```json").nth(1)?;
        serde_json::from_str(inside.rsplit_once("```").map_or(inside, |(body, _)| body)).ok()
    };
    request.messages.iter().find_map(|message| {
        let Message::User { content } = message else { return None };
        content.iter().filter_map(Content::as_text).find_map(fenced)
    })
}

fn text_of(content: &[Content]) -> String {
    content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
}

impl Transcript {
    /// Parses a request.
    pub(super) fn read(request: &ChatRequest) -> Self {
        let mut found = Self {
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            browser: request.world.is_some_and(|world| world.browser),
            ..Self::default()
        };
        let mut asked: &[apprentice_protocol::Call] = &[];
        for message in &request.messages {
            match message {
                Message::User { content } => found.add_user_message(content),
                Message::Assistant { calls, .. } => asked = calls,
                Message::Results { notices, .. } if is_instruction(notices) => {
                    found.add_user_message(notices);
                }
                Message::Results { results, .. } => {
                    let mut turn = Turn { scene: found.last_scene(), ..Turn::default() };
                    for result in results {
                        let call = asked.iter().find(|call| call.id == result.id).map(|call| &call.body);
                        turn.take(call, result);
                    }
                    found.turns.push(turn);
                }
            }
        }
        found
    }

    fn last_scene(&self) -> Scene {
        self.turns.last().map(|turn| turn.scene.clone()).unwrap_or_default()
    }

    /// Reads a user message. The first one holds the instruction, advice and the first observation. A later one with an
    /// instruction begins a further turn of the person, which is worked on as a task of its own; others hold text only.
    fn add_user_message(&mut self, content: &[Content]) {
        let text = text_of(content);
        let scene = Scene::read(&text);
        if self.turns.is_empty() || is_instruction(content) {
            self.turns.clear();
            self.instruction = instruction_of(content);
            if self.opening.is_empty() {
                self.opening = scene.notes.join("\n");
            }
        }
        let scene = if scene.elements.is_empty() { self.last_scene() } else { scene };
        self.turns.push(Turn { scene, ..Turn::default() });
    }
}

impl Turn {
    fn take(&mut self, call: Option<&CallBody>, result: &apprentice_protocol::CallResult) {
        let text = text_of(&result.content);
        match call {
            Some(CallBody::Tool { name, .. }) => {
                self.answers.push(ToolResult { tool: name.clone(), text, is_error: result.is_error });
            }
            Some(CallBody::World { .. } | CallBody::Finish(_) | CallBody::Unusable { .. }) | None => {
                self.actions += u32::try_from(result.per_action.len()).unwrap_or(u32::MAX);
                let failed = result.per_action.iter().filter_map(|action| match action {
                    ActionOutcome::Failed { problem } => Some(problem.clone()),
                    ActionOutcome::Done { .. } | ActionOutcome::NotExecuted => None,
                });
                self.problems.extend(failed);
                let scene = Scene::read(&text);
                if !scene.elements.is_empty() {
                    self.scene = scene;
                }
            }
        }
    }
}

/// Returns whether a message holds an instruction in tags, as the first one does.
fn is_instruction(content: &[Content]) -> bool {
    content.iter().filter_map(Content::as_text).any(|text| text.contains("<task>"))
}

/// Returns the instruction: the text inside `<task>` tags; else the first text part, up to a line that starts another
/// block.
fn instruction_of(content: &[Content]) -> String {
    let all = text_of(content);
    if let Some(inside) = all.split_once("<task>").and_then(|(_, rest)| rest.split_once("</task>")) {
        return inside.0.trim().to_owned();
    }
    let first = content.iter().filter_map(Content::as_text).find(|text| !text.trim().is_empty());
    let text = first.unwrap_or_default().trim();
    let end = ["\n<", "\n#", "\n["].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
    text[..end].trim().to_owned()
}
