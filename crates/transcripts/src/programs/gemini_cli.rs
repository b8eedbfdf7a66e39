//! Chats of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, and the one JSON document of older versions.
//!
//! Measured with 0.61.0: a reply with calls is written twice with one id, and a session that is resumed writes all records anew
//! (`$set`), at times without model, tokens, thoughts and calls. So records are merged by id, and nothing that an earlier line told is
//! lost. A session that is resumed in a later minute leaves a second file without a reply.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, content, count, has, list, some_text, text};
use crate::lines::Lines;
use crate::model::{Call, Ending, Log, Program, Tokens};
use crate::pictures::of_base64;
use crate::texts::Texts;
use crate::unpacked::has_ending;

const PROGRAM: &str = Program::GeminiCli.name();

/// Reads the files of one session, in the order of their times.
pub(crate) fn read(paths: &[PathBuf], texts: &Texts) -> Result<Log, ReadError> {
    let first = paths.first().map(PathBuf::as_path).unwrap_or_else(|| Path::new(""));
    let mut log = Log::new(Program::GeminiCli, first);
    let mut chat = Chat::new(texts);
    for path in paths {
        if has_ending(path, "json") {
            chat.document(&document::read(path, PROGRAM)?);
        } else {
            chat.lines(path, &mut log.notes)?;
        }
    }
    if paths.len() > 1 {
        log.notes.push(format!("one session in {} files", paths.len()));
    }
    log.transcripts.push(chat.finish());
    Ok(log)
}

/// A record, as far as it was told.
#[derive(Debug, Default)]
struct Record {
    kind: String,
    text: String,
    thoughts: Vec<String>,
    tokens: Option<Tokens>,
    calls: Vec<Call>,
    /// Whether a line of its own held it. What `$set` alone holds is the program's.
    own_line: bool,
    answers: Vec<(String, Answer)>,
}

/// A session under way.
struct Chat<'t> {
    draft: Draft<'t>,
    records: Vec<Record>,
    places: HashMap<String, usize>,
}

impl<'t> Chat<'t> {
    fn new(texts: &'t Texts) -> Self {
        Self { draft: Draft::new(texts), records: Vec::new(), places: HashMap::new() }
    }

    fn lines(&mut self, path: &Path, notes: &mut Vec<String>) -> Result<(), ReadError> {
        let mut lines = Lines::open(path)?;
        while let Some(found) = lines.next()? {
            match serde_json::from_slice::<Value>(found.bytes) {
                Ok(line) => self.line(&line),
                Err(error) => notes.push(found.broken(path, PROGRAM, &error)?),
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &Value) {
        if let Some(set) = line.get("$set") {
            list(set, "/messages").iter().for_each(|record| self.record(record, false));
        } else if has(line, "/type") {
            self.record(line, true);
        } else {
            self.header(line);
        }
    }

    fn document(&mut self, document: &Value) {
        self.header(document);
        list(document, "/messages").iter().for_each(|record| self.record(record, true));
    }

    fn header(&mut self, header: &Value) {
        let out = &mut self.draft.out;
        if out.name.is_empty() {
            out.name = text(header, "/sessionId").unwrap_or_default().to_owned();
            out.started = some_text(header, "/startTime").map(str::to_owned);
        }
    }

    fn record(&mut self, told: &Value, own_line: bool) {
        let id = text(told, "/id").unwrap_or_default();
        let place = match self.places.get(id) {
            Some(place) if !id.is_empty() => *place,
            _ => {
                self.records.push(Record::default());
                self.places.insert(id.to_owned(), self.records.len() - 1);
                self.records.len() - 1
            }
        };
        let texts = self.draft.texts;
        let record = &mut self.records[place];
        record.own_line |= own_line;
        if let Some(kind) = some_text(told, "/type") {
            record.kind = kind.to_owned();
        }
        if self.draft.out.model.is_none() && record.kind == "gemini" {
            self.draft.out.model = some_text(told, "/model").map(str::to_owned);
        }
        let parts = list(told, "/content");
        let spoken: Vec<Value> = parts.iter().filter(|part| part["thought"] != true).cloned().collect();
        let words = match told.get("content") {
            Some(Value::Array(_)) => content(&Value::Array(spoken), &mut self.draft.pictures),
            Some(other) => content(other, &mut self.draft.pictures),
            None => String::new(),
        };
        if !words.is_empty() {
            record.text = texts.keep(&words);
        }
        let thoughts = thoughts(told, parts);
        if !thoughts.is_empty() {
            record.thoughts = thoughts.iter().map(|thought| texts.keep(thought)).collect();
        }
        if let Some(tokens) = told.get("tokens").filter(|tokens| tokens.is_object()) {
            record.tokens = Some(Tokens {
                input: count(tokens, "/input") + count(tokens, "/tool"),
                output: count(tokens, "/output") + count(tokens, "/thoughts"),
            });
        }
        self.calls(told, place);
        self.pictures(told);
    }

    /// Takes calls: from `toolCalls`, or from the parts of a record that has none.
    fn calls(&mut self, told: &Value, place: usize) {
        let texts = self.draft.texts;
        let record = &mut self.records[place];
        let calls = list(told, "/toolCalls");
        for told in calls {
            let mut call = call_of(&told["args"], told);
            call.arguments = call.arguments.map(|arguments| texts.arguments(arguments));
            let status = text(told, "/status").unwrap_or_default();
            let result = list(told, "/result").iter().find_map(|part| part.get("functionResponse"));
            call.answered = result.is_some();
            call.result = result.map(response).filter(|text| !text.is_empty()).map(|text| texts.keep(&text));
            call.failed = matches!(status, "error" | "cancelled")
                || result.is_some_and(|told| has(told, "/response/error"));
            match record.calls.iter_mut().find(|known| known.id == call.id) {
                Some(known) if call.answered || !known.answered => *known = call,
                Some(_) => {}
                None => record.calls.push(call),
            }
        }
        for part in list(told, "/content") {
            if let Some(told) = part.get("functionCall") {
                let mut call = call_of(&told["args"], told);
                call.arguments = call.arguments.map(|arguments| texts.arguments(arguments));
                if !record.calls.iter().any(|known| known.id == call.id) {
                    record.calls.push(call);
                }
            }
            if let Some(told) = part.get("functionResponse") {
                let id = text(told, "/id").unwrap_or_default().to_owned();
                let answer =
                    Answer { text: texts.keep(&response(told)), failed: has(told, "/response/error") };
                record.answers.push((id, answer));
            }
        }
    }

    /// Counts pictures, wherever they stand in a record.
    fn pictures(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                let data = fields.get("inlineData");
                if let Some(data) = data.and_then(|data| some_text(data, "/data")) {
                    self.draft.pictures.add(of_base64(data));
                }
                fields.values().for_each(|value| self.pictures(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.pictures(item)),
            _ => {}
        }
    }

    fn finish(mut self) -> crate::model::Transcript {
        for record in self.records {
            let answers = record.answers;
            match record.kind.as_str() {
                "gemini" => {
                    self.draft.out.ended = None;
                    let turn = self.draft.new_turn(None);
                    record.thoughts.iter().for_each(|thought| self.draft.think(turn, thought));
                    self.draft.say(turn, &record.text);
                    record.calls.into_iter().for_each(|call| self.draft.call(turn, call));
                    self.draft.at(turn).tokens = record.tokens;
                }
                "user" if answers.is_empty() && record.own_line => {
                    self.draft.out.ended = None;
                    self.draft.prompt(&record.text);
                }
                "error" => self.draft.out.ended = Some(Ending::Error),
                "info" if record.text.to_lowercase().contains("cancelled") => {
                    self.draft.out.ended = Some(Ending::Interrupted);
                }
                _ => {}
            }
            for (id, answer) in answers {
                if self.draft.call_mut(&id).is_some_and(|call| !call.answered) {
                    self.draft.answer(&id, &answer);
                }
            }
        }
        let last = self.draft.out.turns.last();
        let stopped = last.is_some_and(|turn| {
            !turn.calls.is_empty() && turn.calls.iter().all(|call| call.failed && !call.answered)
        });
        if stopped && self.draft.out.ended.is_none() {
            self.draft.out.ended = Some(Ending::Interrupted);
        }
        self.draft.finish()
    }
}

fn call_of(args: &Value, told: &Value) -> Call {
    let (id, name) = (text(told, "/id").unwrap_or_default(), text(told, "/name").unwrap_or_default());
    Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments(args), ..Call::default() }
}

/// The visible thoughts of a record: a list of its own, or parts of its content.
fn thoughts(told: &Value, parts: &[Value]) -> Vec<String> {
    let listed = list(told, "/thoughts").iter().map(|thought| {
        let of = |field: &str| some_text(thought, field);
        [of("/subject"), of("/description")].into_iter().flatten().collect::<Vec<_>>().join(": ")
    });
    let listed: Vec<String> = listed.filter(|thought| !thought.is_empty()).collect();
    if !listed.is_empty() {
        return listed;
    }
    let spoken = parts.iter().filter(|part| part["thought"] == true);
    spoken.filter_map(|part| some_text(part, "/text")).map(str::to_owned).collect()
}

/// The text of a function's response.
fn response(told: &Value) -> String {
    let response = &told["response"];
    let text_of = ["/output", "/error"].iter().find_map(|place| text(response, place));
    match text_of {
        Some(text) => text.to_owned(),
        None if response.as_object().is_none_or(serde_json::Map::is_empty) => String::new(),
        None => response.to_string(),
    }
}
