//! Conversations, one per line or in a list: OpenAI's chat form (`messages`, or `prompt` and `completion`), and ShareGPT's
//! (`conversations`), such as `apprentice export` writes.

use std::path::Path;

use serde_json::Value;

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::export_index::ExportIndex;
use crate::json::{arguments, content, has, list, some_text, tells_failure, text};
use crate::lines::Lines;
use crate::model::{Call, Log, Program, Transcript, Verdict};
use crate::texts::Texts;

/// What stands around calls and answers in words.
const CALL: [&str; 2] = ["<tool_call>", "</tool_call>"];
const RESPONSE: [&str; 2] = ["<tool_response>", "</tool_response>"];
/// Stands in a text of ShareGPT's form for a picture of the list beside it.
const IMAGE: &str = "<image>";
const THOUGHT: [&str; 2] = ["<think>", "</think>"];

/// Reads conversations of one of both forms.
pub(crate) fn read(path: &Path, program: Program, texts: &Texts) -> Result<Log, ReadError> {
    let mut log = Log::new(program, path);
    let index = ExportIndex::beside(path)?;
    let conversation = |told: &Value| {
        let mut transcript = conversation(told, texts);
        let attempt = text(told, "/metadata/attempt").and_then(|attempt| attempt.parse().ok());
        index.complete(&mut transcript, attempt);
        transcript
    };
    if path.extension().is_some_and(|end| end == "json") {
        let document = document::read(path, program.name())?;
        let all = document.as_array().map_or_else(|| std::slice::from_ref(&document), Vec::as_slice);
        log.transcripts = all.iter().map(conversation).collect();
    } else {
        let mut lines = Lines::open(path)?;
        while let Some(found) = lines.next()? {
            match serde_json::from_slice::<Value>(found.bytes) {
                Ok(told) => {
                    let mut transcript = conversation(&told);
                    if transcript.name.is_empty() {
                        transcript.name = format!("line {}", found.number);
                    }
                    log.transcripts.push(transcript);
                }
                Err(error) => log.notes.push(found.broken(path, program.name(), &error)?),
            }
        }
    }
    log.sampled = log.transcripts.len() > 1;
    Ok(log)
}

fn conversation(told: &Value, texts: &Texts) -> Transcript {
    let mut talk = Talk { draft: Draft::new(texts), waiting: Vec::new(), next: 0 };
    let name =
        ["/id", "/metadata/trial", "/example_id", "/task"].iter().find_map(|place| some_text(told, place));
    talk.draft.out.name = name.unwrap_or_default().to_owned();
    talk.draft.out.model = some_text(told, "/model").map(str::to_owned);
    if has(told, "/conversations") {
        list(told, "/conversations").iter().for_each(|turn| talk.shared(turn));
        // LLaMA-Factory's form: the paths stand in a list, and a mark in the text for each.
        let images = list(told, "/images").iter().filter_map(Value::as_str);
        images.for_each(|image| talk.draft.pictures.add_url(image));
    } else {
        for field in ["/messages", "/prompt", "/completion"] {
            list(told, field).iter().for_each(|message| talk.message(message));
        }
        if let Some(words) = text(told, "/completion") {
            talk.draft.prompt(text(told, "/prompt").unwrap_or_default());
            talk.spoken(words);
        }
    }
    if let Some(reward) = told.get("reward").and_then(Value::as_f64) {
        talk.draft.out.verdict = Some(Verdict::Reward(reward));
        talk.draft.out.judge = Some("the environment's reward".to_owned());
    }
    talk.draft.finish()
}

/// A talk under way.
struct Talk<'t> {
    draft: Draft<'t>,
    /// Calls in words, which have no ids: they are answered in order.
    waiting: Vec<String>,
    next: usize,
}

impl Talk<'_> {
    fn message(&mut self, message: &Value) {
        let said = content(&message["content"], &mut self.draft.pictures);
        match text(message, "/role") {
            Some("user") => self.heard(&said),
            Some("tool" | "function") => {
                let failed = tells_failure(&said);
                let id = text(message, "/tool_call_id").unwrap_or_default().to_owned();
                self.draft.answer(&id, &Answer { text: said, failed });
            }
            Some("assistant") => {
                let turn = self.spoken(&said);
                let thought =
                    some_text(message, "/reasoning_content").or_else(|| some_text(message, "/reasoning"));
                self.draft.think(turn, thought.unwrap_or_default());
                for call in list(message, "/tool_calls") {
                    let id = text(call, "/id").unwrap_or_default().to_owned();
                    let name =
                        text(call, "/function/name").or_else(|| text(call, "/name")).unwrap_or_default();
                    let told = call.pointer("/function/arguments").or_else(|| call.get("arguments"));
                    let arguments = arguments(told.unwrap_or(&Value::Null));
                    self.draft.call(turn, Call { id, name: name.to_owned(), arguments, ..Call::default() });
                }
            }
            _ => {}
        }
    }

    fn shared(&mut self, turn: &Value) {
        let said = &text(turn, "/value").unwrap_or_default().replace(IMAGE, "");
        match text(turn, "/from") {
            Some("human" | "user") => self.heard(said),
            Some("gpt" | "assistant" | "chatgpt" | "model") => {
                self.spoken(said);
            }
            Some("function_call") => {
                self.spoken(&format!("{}{said}{}", CALL[0], CALL[1]));
            }
            Some("observation" | "tool" | "function_response") => self.told(said),
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
            let told: Option<Value> = serde_json::from_str(call.trim()).ok();
            let name = told.as_ref().and_then(|told| text(told, "/name")).unwrap_or_default().to_owned();
            let arguments = told.as_ref().and_then(|told| arguments(&told["arguments"]));
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
