//! The conversation of an attempt, independent of a format: as it was sent, cut to a range of steps, with or without
//! guidance.

use std::collections::BTreeSet;

use apprentice_protocol::{
    ActionOutcome, Call, CallBody, CallResult, Content, Image, Message, Size, ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use crate::episode::{Episode, Seen, Turn};
use crate::select::{Guidance, StepRange};
use apprentice_trace::{BlobError, Blobs, PictureRef};

/// The function under which an export offers the acts in the world.
pub(crate) const COMPUTER: &str = "computer";
/// The function that ends an attempt.
const FINISH: &str = "finish";
/// Begins the names of the tools that lend skills to an agent.
const SKILL_TOOLS: &str = "skill_";

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Picture(PictureRef),
}

/// A call of a function, as chat APIs have it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FunctionCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// The answer to one call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) call: String,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) pictures: Vec<PictureRef>,
    pub(crate) is_error: bool,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    User(Vec<Part>),
    Assistant {
        /// The place of the turn in the episode.
        turn: usize,
        text: String,
        calls: Vec<FunctionCall>,
    },
    Answers {
        answers: Vec<Answer>,
        /// What was added below the answers.
        below: Vec<Part>,
    },
}

/// A conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conversation {
    /// The system prompt; `None` if the trace does not hold it.
    pub(crate) system: Option<String>,
    /// The tools in the form of OpenAI's API, the acts in the world among them.
    pub(crate) tools: Vec<Value>,
    pub(crate) entries: Vec<Entry>,
}

/// Reads the conversation as it was sent. `None` if the trace does not hold it.
pub(crate) fn read(
    episode: &Episode<'_>,
    blobs: &Blobs,
    steps: StepRange,
    guidance: Guidance,
) -> Result<Option<Conversation>, BlobError> {
    let (Some(request), true) = (&episode.request, episode.has_conversation()) else { return Ok(None) };
    let request = blobs.request(request)?;
    let cut = Cut { episode, guidance };
    let mut messages = Vec::new();
    for turn in &episode.turns {
        let read: Result<Vec<Message>, BlobError> =
            turn.messages.iter().map(|hash| blobs.message(hash)).collect();
        messages.push(read?);
    }
    let opening = messages.first().and_then(|messages| messages.first()).cloned();
    let mut entries = Vec::new();
    let mut answered = None;
    for (place, turn) in episode.turns.iter().enumerate() {
        if !steps.contains(turn.step) {
            continue;
        }
        let new = messages.get(place).map(Vec::as_slice).unwrap_or_default();
        match (entries.is_empty(), &opening) {
            // The attempt began earlier: its task, and what was on the screen when this part begins.
            (true, Some(opening)) if place > 0 => entries.push(cut.opening(opening, new)),
            _ => entries.extend(new.iter().filter_map(|message| cut.message(message, answered))),
        }
        entries.extend(cut.reply(place, turn));
        answered = Some(turn);
    }
    // The last answers were never sent; they are in the trace alone.
    if let Some(last) = answered.filter(|last| !last.answers.is_empty()) {
        let answers = cut.answers(&last.answers, Some(last));
        entries.extend((!answers.is_empty()).then_some(Entry::Answers { answers, below: Vec::new() }));
    }
    let tools = tools(&request.tools, request.world, guidance);
    Ok(Some(Conversation { system: Some(request.system), tools, entries }))
}

/// Puts a conversation together from the events of an older trace, for formats that are read and not trained on: the
/// instruction, the outlines and pictures, the replies and the answers.
pub(crate) fn rebuild(
    episode: &Episode<'_>,
    blobs: &Blobs,
    steps: StepRange,
) -> Result<Conversation, BlobError> {
    let cut = Cut { episode, guidance: Guidance::Kept };
    let mut opening = vec![Part::Text(episode.header.brief.instruction.clone())];
    let mut entries = Vec::new();
    for (place, turn) in episode.turns.iter().enumerate().filter(|(_, turn)| steps.contains(turn.step)) {
        if entries.is_empty() {
            opening
                .extend(turn.before.as_ref().map(|seen| view(seen, blobs)).transpose()?.unwrap_or_default());
            entries.push(Entry::User(std::mem::take(&mut opening)));
        }
        entries.extend(cut.reply(place, turn));
        let below = turn.after.as_ref().map(|seen| view(seen, blobs)).transpose()?.unwrap_or_default();
        let answers = cut.answers(&turn.answers, Some(turn));
        if !answers.is_empty() || !below.is_empty() {
            entries.push(Entry::Answers { answers, below });
        }
    }
    if entries.is_empty() {
        entries.push(Entry::User(opening));
    }
    let world = WorldTool { browser: false, display: Size::new(0, 0) };
    Ok(Conversation { system: None, tools: tools(&[], Some(world), Guidance::Kept), entries })
}

fn view(seen: &Seen, blobs: &Blobs) -> Result<Vec<Part>, BlobError> {
    let outline = seen.outline.as_ref().map(|hash| blobs.text(hash)).transpose()?;
    let text = format!("Screen: {:?}\n{}", seen.title, outline.unwrap_or_default());
    let picture = seen.screenshot.as_ref().map(|hash| Part::Picture(PictureRef::screenshot(hash)));
    Ok(std::iter::once(Part::Text(text.trim_end().to_owned())).chain(picture).collect())
}

/// Turns messages into entries and leaves out what the export does not want.
struct Cut<'a> {
    episode: &'a Episode<'a>,
    guidance: Guidance,
}

impl Cut<'_> {
    fn removes(&self, name: &str) -> bool {
        self.guidance == Guidance::Removed && name.starts_with(SKILL_TOOLS)
    }

    fn parts(&self, content: &[Content]) -> Vec<Part> {
        let is_guidance = |text: &str| self.episode.guidance.contains(text);
        let kept = content
            .iter()
            .filter(|part| self.guidance == Guidance::Kept || !part.as_text().is_some_and(is_guidance));
        kept.map(part).collect()
    }

    fn message(&self, message: &Message, answered: Option<&Turn>) -> Option<Entry> {
        match message {
            Message::User { content } => Some(Entry::User(self.parts(content))).filter(has_content),
            Message::Assistant { .. } => None,
            Message::Results { results, notices } => {
                let (answers, below) = (self.answers(results, answered), self.parts(notices));
                Some(Entry::Answers { answers, below }).filter(has_content)
            }
        }
    }

    /// The first message of a part that begins in the middle: the task, and the last view before that part.
    fn opening(&self, opening: &Message, new: &[Message]) -> Entry {
        let mut parts = Vec::new();
        if let Message::User { content } = opening {
            // The task is the first part; guidance may follow it.
            parts.extend(content.first().map(part));
            let is_guidance = |content: &&Content| {
                content.as_text().is_some_and(|text| self.episode.guidance.contains(text))
            };
            if self.guidance == Guidance::Kept {
                parts.extend(content.iter().filter(is_guidance).map(part));
            }
        }
        for message in new {
            match message {
                Message::User { content } => parts.extend(self.parts(content)),
                Message::Results { results, notices } => {
                    parts.extend(results.iter().flat_map(|result| self.parts(&result.content)));
                    parts.extend(self.parts(notices));
                }
                Message::Assistant { .. } => {}
            }
        }
        Entry::User(parts)
    }

    fn reply(&self, place: usize, turn: &Turn) -> Option<Entry> {
        let calls: Vec<FunctionCall> =
            turn.calls.iter().filter_map(function).filter(|call| !self.removes(&call.name)).collect();
        let text = turn.say.join("\n");
        let entry = Entry::Assistant { turn: place, text, calls };
        Some(entry).filter(has_content)
    }

    /// The answers to calls that the conversation keeps. What an unreadable call was told has no call to answer.
    fn answers(&self, results: &[CallResult], turn: Option<&Turn>) -> Vec<Answer> {
        let calls: Vec<FunctionCall> =
            turn.map(|turn| turn.calls.iter().filter_map(function).collect()).unwrap_or_default();
        let mut found = Vec::new();
        for result in results {
            let name = calls.iter().find(|call| call.id == result.id.as_str()).map(|call| call.name.clone());
            if name.as_ref().is_some_and(|name| self.removes(name)) {
                continue;
            }
            let parts = self.parts(&result.content);
            let (mut texts, mut pictures) = (outcomes(result), Vec::new());
            for part in parts {
                match part {
                    Part::Text(text) => texts.push(text),
                    Part::Picture(picture) => pictures.push(picture),
                }
            }
            let (call, text) = (result.id.as_str().to_owned(), texts.join("\n"));
            let name = name.unwrap_or_default();
            found.push(Answer { call, name, text, pictures, is_error: result.is_error });
        }
        found
    }
}

fn has_content(entry: &Entry) -> bool {
    match entry {
        Entry::User(parts) => !parts.is_empty(),
        Entry::Assistant { text, calls, .. } => !text.is_empty() || !calls.is_empty(),
        Entry::Answers { answers, below } => !answers.is_empty() || !below.is_empty(),
    }
}

fn part(content: &Content) -> Part {
    match content {
        Content::Text { text } => Part::Text(text.clone()),
        Content::Image { image } => Part::Picture(picture(image)),
    }
}

fn picture(image: &Image) -> PictureRef {
    PictureRef::of(image)
}

/// The outcomes of a batch in words, without those that need none.
fn outcomes(result: &CallResult) -> Vec<String> {
    let numbered = (1..).zip(&result.per_action);
    let told = numbered.filter_map(|(number, outcome): (u32, _)| match outcome {
        ActionOutcome::Done { text } => text.as_ref().map(|text| format!("action {number}: {text}")),
        ActionOutcome::Failed { problem } => Some(format!("action {number} failed: {problem}")),
        ActionOutcome::NotExecuted => Some(format!("action {number} was not tried")),
    });
    told.collect()
}

/// Returns a call as a function; `None` for one that could not be read.
pub(crate) fn function(call: &Call) -> Option<FunctionCall> {
    let (name, arguments) = match &call.body {
        CallBody::World { actions } => (COMPUTER.to_owned(), json!({ "actions": actions })),
        CallBody::Tool { name, arguments } => (name.clone(), arguments.clone()),
        CallBody::Finish(finish) => (FINISH.to_owned(), serde_json::to_value(finish).unwrap_or_default()),
        CallBody::Unusable { .. } => return None,
    };
    Some(FunctionCall { id: call.id.as_str().to_owned(), name, arguments })
}

/// The tools in the form of OpenAI's API.
fn tools(specs: &[ToolSpec], world: Option<WorldTool>, guidance: Guidance) -> Vec<Value> {
    let removed = |spec: &&ToolSpec| guidance == Guidance::Removed && spec.name.starts_with(SKILL_TOOLS);
    let kept = specs.iter().filter(|spec| !removed(spec));
    let lent = kept.map(|spec| {
        json!({ "type": "function", "function": {
            "name": spec.name, "description": spec.description, "parameters": spec.schema,
        } })
    });
    world.map(|_| computer()).into_iter().chain(lent).collect()
}

/// The tool of the acts. Its whole schema stands beside the data, once, as `actions.schema.json`.
fn computer() -> Value {
    json!({ "type": "function", "function": {
        "name": COMPUTER,
        "description": "Acts in the world: a batch of actions, in order. Points are in the coordinate space that the \
                        data card names.",
        "parameters": {
            "type": "object",
            "properties": { "actions": { "type": "array", "items": {
                "type": "object",
                "properties": { "do": { "type": "string" } },
                "required": ["do"],
            } } },
            "required": ["actions"],
        },
    } })
}

/// The ids of the calls of a conversation, for formats in which each answer must name one.
pub(crate) fn call_ids(conversation: &Conversation) -> BTreeSet<&str> {
    let mut ids = BTreeSet::new();
    for entry in &conversation.entries {
        if let Entry::Assistant { calls, .. } = entry {
            ids.extend(calls.iter().map(|call| call.id.as_str()));
        }
    }
    ids
}
