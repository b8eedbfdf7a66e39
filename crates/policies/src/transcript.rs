//! The conversation as a built-in model reads it: what was asked, and what was seen turn by turn.
//!
//! It is the only memory: a policy is run again over all turns at each call and keeps nothing between calls.

use apprentice_protocol::{CallBody, ChatRequest, Content, Message, PerAction};

use super::perceive::Scene;

/// What came back before one reply of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turn {
    /// What can be seen; the last scene when a turn brought none.
    pub(super) scene: Scene,
    /// Answers of function tools, in order.
    pub(super) answers: Vec<Answer>,
    /// What went wrong with actions.
    pub(super) problems: Vec<String>,
    /// How many world actions the turn before asked for.
    pub(super) actions: u32,
}

/// One function tool's answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// The tool.
    pub(super) tool: String,
    /// Its words.
    pub(super) text: String,
    /// Whether it refused.
    pub(super) is_error: bool,
}

/// A conversation, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Transcript {
    /// The instruction.
    pub(super) instruction: String,
    /// Everything else that was said at the start: advice above all.
    pub(super) opening: String,
    /// The turns, the present one last.
    pub(super) turns: Vec<Turn>,
    /// The tools that can be called.
    pub(super) tools: Vec<String>,
    /// Whether the world is a browser without a desktop around it.
    pub(super) browser: bool,
}

fn text_of(content: &[Content]) -> String {
    content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
}

impl Transcript {
    /// Reads a request.
    pub(super) fn read(request: &ChatRequest) -> Self {
        let mut found = Self {
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            browser: request.world.is_some_and(|world| world.browser),
            ..Self::default()
        };
        let mut asked: &[apprentice_protocol::Call] = &[];
        for message in &request.messages {
            match message {
                Message::User { content } => found.hear(content),
                Message::Assistant { calls, .. } => asked = calls,
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

    /// The first user turn holds the instruction, advice and the first observation; a later one is words.
    fn hear(&mut self, content: &[Content]) {
        let text = text_of(content);
        let scene = Scene::read(&text);
        if self.turns.is_empty() {
            self.instruction = instruction_of(content);
            self.opening = scene.notes.join("\n");
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
                self.answers.push(Answer { tool: name.clone(), text, is_error: result.is_error });
            }
            Some(CallBody::World { .. } | CallBody::Finish(_) | CallBody::Unusable { .. }) | None => {
                self.actions += u32::try_from(result.per_action.len()).unwrap_or(u32::MAX);
                let failed = result.per_action.iter().filter_map(|action| match action {
                    PerAction::Failed { problem } => Some(problem.clone()),
                    PerAction::Done { .. } | PerAction::NotExecuted => None,
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

/// The instruction: what stands between `<task>` marks; else the first part that is words, up to a block
/// that is marked as something else.
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
