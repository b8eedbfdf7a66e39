//! Conversations, one per line or in a list: OpenAI's chat form (`messages`, or `prompt` and `completion`), and ShareGPT's
//! (`conversations`), such as `apprentice export` writes.

use std::borrow::Cow;
use std::path::Path;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::export_index::ExportIndex;
use crate::json::{arguments, at, content, list, some_text, tells_failure, text};
use crate::lines::Lines;
use crate::model::{Call, Log, Program, Transcript, Verdict};
use crate::samples::Samples;
use crate::texts::Texts;
use crate::unpacked::has_ending;

/// What stands around calls and answers in words.
const CALL: [&str; 2] = ["<tool_call>", "</tool_call>"];
const RESPONSE: [&str; 2] = ["<tool_response>", "</tool_response>"];
/// Stands in a text of ShareGPT's form for a picture of the list beside it.
const IMAGE: &str = "<image>";
const THOUGHT: [&str; 2] = ["<think>", "</think>"];

/// Reads conversations of one of both forms.
pub(crate) fn read(
    path: &Path,
    program: Program,
    texts: &Texts,
    samples: &mut Samples<'_>,
) -> Result<Log, ReadError> {
    let mut log = Log::new(program, path);
    let index = ExportIndex::beside(path)?;
    let conversation = |told: &Told<'_>| {
        let (mut transcript, attempt) = conversation(told, texts);
        index.complete(&mut transcript, attempt);
        transcript
    };
    if has_ending(path, "json") {
        let bytes = document::bytes(path)?;
        for told in document::list_of::<Told<'_>>(path, program.name(), &bytes)? {
            samples.add(&mut log, conversation(&told));
        }
    } else {
        let mut lines = Lines::open(path)?;
        while let Some(found) = lines.next()? {
            match serde_json::from_slice::<Told<'_>>(found.bytes) {
                Ok(told) => {
                    let mut transcript = conversation(&told);
                    if transcript.name.is_empty() {
                        transcript.name = format!("line {}", found.number);
                    }
                    samples.add(&mut log, transcript);
                }
                Err(error) => log.notes.push(found.broken(path, program.name(), &error)?),
            }
        }
    }
    samples.end(&log);
    Ok(log)
}

/// A conversation, whose fields are parsed where they are read: most of a file is texts of which little is kept. Values of
/// `serde_json` take three times as long.
#[derive(Debug, Deserialize)]
struct Told<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    example_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    conversations: Option<&'a RawValue>,
    #[serde(borrow, default)]
    images: Option<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Option<Vec<Message<'a>>>,
    #[serde(borrow, default)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow, default)]
    completion: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reward: Option<&'a RawValue>,
}

/// A message of OpenAI's chat form.
#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: MessageContent<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
}

/// The content of a message, parsed in the one pass over its line.
#[derive(Debug, Default)]
enum MessageContent<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Parts(Value),
}

impl<'de: 'a, 'a> Deserialize<'de> for MessageContent<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = MessageContent<'de>;

    fn expecting(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        form.write_str("a text, a list of parts, one part, or null")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(MessageContent::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(MessageContent::Text(Cow::Owned(text.to_owned())))
    }

    // No content, and no reason to give up a file of many conversations.
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(MessageContent::None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(MessageContent::None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(MessageContent::None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(MessageContent::None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(MessageContent::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(parts)).map(MessageContent::Parts)
    }

    fn visit_map<A: MapAccess<'de>>(self, part: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(part)).map(MessageContent::Parts)
    }
}

/// A text of JSON, which is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text of a field, if it is one and not empty.
fn some<'a>(field: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    let raw = field?.get();
    let text = raw.starts_with('"').then(|| serde_json::from_str::<Text<'_>>(raw).ok()).flatten()?;
    (!text.0.is_empty()).then_some(text.0)
}

/// The value of a field; null where it is absent.
fn value(field: Option<&RawValue>) -> Value {
    field.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn conversation(told: &Told<'_>, texts: &Texts) -> (Transcript, Option<u32>) {
    let mut talk = Talk { draft: Draft::new(texts), waiting: Vec::new(), next: 0 };
    let metadata = value(told.metadata);
    let trial = some_text(&metadata, "/trial").map(|trial| Cow::Owned(trial.to_owned()));
    let name = some(told.id).or(trial).or_else(|| some(told.example_id)).or_else(|| some(told.task));
    talk.draft.out.name = name.unwrap_or_default().into_owned();
    talk.draft.out.model = some(told.model).map(Cow::into_owned);
    if let Some(turns) = told.conversations {
        list(&value(Some(turns)), "").iter().for_each(|turn| talk.shared(turn));
        // LLaMA-Factory's form: the paths stand in a list, and a mark in the text for each.
        let images = value(told.images);
        let images = list(&images, "").iter().filter_map(Value::as_str);
        images.for_each(|image| talk.draft.pictures.add_url(image));
    } else {
        told.messages.iter().flatten().for_each(|message| talk.message(message));
        for field in [told.prompt, told.completion].into_iter().flatten() {
            // A prompt or completion may be a text, too.
            if field.get().starts_with('[') {
                match serde_json::from_str::<Vec<Message<'_>>>(field.get()) {
                    Ok(messages) => messages.iter().for_each(|message| talk.message(message)),
                    Err(error) => {
                        talk.draft.out.missing.push(format!("messages that cannot be read: {error}"));
                    }
                }
            }
        }
        if let Some(words) = some(told.completion) {
            talk.draft.prompt(&some(told.prompt).unwrap_or_default());
            talk.spoken(&words);
        }
    }
    if let Some(reward) = value(told.reward).as_f64() {
        talk.draft.out.verdict = Some(Verdict::Reward(reward));
        talk.draft.out.judge = Some("the environment's reward".to_owned());
    }
    let attempt = text(&metadata, "/attempt").and_then(|attempt| attempt.parse().ok());
    (talk.draft.finish(), attempt)
}

/// A talk under way.
struct Talk<'t> {
    draft: Draft<'t>,
    /// Calls in words, which have no ids: they are answered in order.
    waiting: Vec<String>,
    next: usize,
}

impl Talk<'_> {
    fn message(&mut self, message: &Message<'_>) {
        let said: &str = match &message.content {
            MessageContent::None => "",
            MessageContent::Text(text) => text,
            MessageContent::Parts(parts) => &content(parts, &mut self.draft.pictures),
        };
        match message.role.as_deref() {
            Some("user") => self.heard(said),
            Some("tool" | "function") => {
                let failed = tells_failure(said);
                let id = some(message.tool_call_id).unwrap_or_default();
                self.draft.answer(&id, &Answer { text: said.to_owned(), failed });
            }
            Some("assistant") => {
                let turn = self.spoken(said);
                let thought = some(message.reasoning_content).or_else(|| some(message.reasoning));
                self.draft.think(turn, &thought.unwrap_or_default());
                for call in list(&value(message.tool_calls), "") {
                    let id = text(call, "/id").unwrap_or_default().to_owned();
                    let name =
                        text(call, "/function/name").or_else(|| text(call, "/name")).unwrap_or_default();
                    let told = at(call, "/function/arguments").or_else(|| call.get("arguments"));
                    let arguments = arguments(told.unwrap_or(&Value::Null));
                    self.draft.call(turn, Call { id, name: name.to_owned(), arguments, ..Call::default() });
                }
            }
            _ => {}
        }
    }

    fn shared(&mut self, turn: &Value) {
        let words = &text(turn, "/value").unwrap_or_default().replace(IMAGE, "");
        match text(turn, "/from") {
            Some("human" | "user") => self.heard(words),
            Some("gpt" | "assistant" | "chatgpt" | "model") => {
                self.spoken(words);
            }
            Some("function_call") => {
                self.spoken(&format!("{}{words}{}", CALL[0], CALL[1]));
            }
            Some("observation" | "tool" | "function_response") => self.told(words),
            _ => {}
        }
    }

    /// A reply: thoughts and calls may stand in its words.
    fn spoken(&mut self, said: &str) -> usize {
        let turn = self.draft.new_turn(None);
        let (thoughts, rest) = taken(said, THOUGHT);
        let (calls, rest) = taken(&rest, CALL);
        thoughts.iter().for_each(|thought| self.draft.think(turn, thought));
        self.draft.say(turn, rest.trim());
        for call in calls {
            let document: Option<Value> = serde_json::from_str(call.trim()).ok();
            let name =
                document.as_ref().and_then(|document| text(document, "/name")).unwrap_or_default().to_owned();
            let arguments = document.as_ref().and_then(|document| arguments(&document["arguments"]));
            let id = format!("call {}", self.next);
            self.next += 1;
            self.waiting.push(id.clone());
            self.draft.call(turn, Call { id, name, arguments, ..Call::default() });
        }
        turn
    }

    /// What a person said, or answers to calls in words.
    fn heard(&mut self, said: &str) {
        let (answers, rest) = taken(said, RESPONSE);
        answers.iter().for_each(|answer| self.told(answer.trim()));
        if !rest.trim().is_empty() {
            self.draft.prompt(rest.trim());
        }
        self.waiting.clear();
    }

    /// The answer to the first call that waits. Its tool's name may stand before it.
    fn told(&mut self, said: &str) {
        if self.waiting.is_empty() {
            return;
        }
        let id = self.waiting.remove(0);
        let name = self.draft.call_mut(&id).map(|call| format!("{}: ", call.name)).unwrap_or_default();
        let said = said.strip_prefix(name.as_str()).unwrap_or(said).to_owned();
        let failed = tells_failure(&said);
        self.draft.answer(&id, &Answer { text: said, failed });
    }
}

/// What stands between marks, and the text without it.
fn taken(text: &str, [open, close]: [&str; 2]) -> (Vec<String>, String) {
    let (mut found, mut rest, mut left) = (Vec::new(), String::new(), text);
    while let Some((before, after)) = left.split_once(open) {
        let Some((inside, after)) = after.split_once(close) else { break };
        rest.push_str(before);
        found.push(inside.to_owned());
        left = after;
    }
    rest.push_str(left);
    (found, rest)
}
