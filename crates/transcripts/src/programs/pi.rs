//! Sessions of the pi coding agent: `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`, version 3.
//!
//! Measured with 1.6.0: a session is a tree. Who goes back writes the next entry with an older `parentId`, and nothing else tells; the
//! last line is the active leaf.

use std::path::Path;

use serde_json::Value;

use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, content, count, is_true, list, some_text, text};
use crate::lines::Lines;
use crate::model::{Branch, Call, Ending, Log, Program, Tokens, Transcript, Turn};
use crate::pictures::Pictures;
use crate::texts::Texts;
use crate::tree::Tree;

const PROGRAM: &str = Program::Pi.name();
/// Versions of the format that are known: 3 differs from 2 in names of entries that are not read.
const KNOWN: [u64; 2] = [2, 3];

/// What an entry says.
#[derive(Debug)]
enum Entry {
    Prompt(String, Pictures),
    Reply(Box<Turn>, Option<Ending>),
    Answer(String, Answer, Pictures),
    Other,
}

/// Reads a session.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let mut log = Log::new(Program::Pi, path);
    let mut session =
        Session { texts, tree: Tree::default(), entries: Vec::new(), head: Transcript::default() };
    let mut lines = Lines::open(path)?;
    while let Some(found) = lines.next()? {
        match serde_json::from_slice::<Value>(found.bytes) {
            Ok(line) if text(&line, "/type") == Some("session") => {
                let version = count(&line, "/version");
                if !KNOWN.contains(&version) {
                    let found = format!("version {version} of its format");
                    let known = "versions 2 and 3";
                    return Err(ReadError::Unknown { path: path.to_owned(), program: PROGRAM, found, known });
                }
                log.version = Some(version.to_string());
                session.head.name = text(&line, "/id").unwrap_or_default().to_owned();
                session.head.started = some_text(&line, "/timestamp").map(str::to_owned);
                session.head.copied_from = some_text(&line, "/parentSession").map(str::to_owned);
            }
            Ok(line) => session.entry(&line),
            Err(error) => log.notes.push(found.broken(path, PROGRAM, &error)?),
        }
    }
    log.transcripts.push(session.finish());
    Ok(log)
}

/// A session under way.
struct Session<'t> {
    texts: &'t Texts,
    tree: Tree,
    entries: Vec<Entry>,
    head: Transcript,
}

impl Session<'_> {
    fn entry(&mut self, line: &Value) {
        let Some(id) = text(line, "/id") else { return };
        if !self.tree.add(id, text(line, "/parentId")) {
            return;
        }
        if text(line, "/type") == Some("model_change") && self.head.model.is_none() {
            self.head.model = model(text(line, "/provider"), text(line, "/modelId"));
        }
        let entry = match text(line, "/type") {
            Some("message") => self.message(&line["message"]),
            _ => Entry::Other,
        };
        self.entries.push(entry);
    }

    fn message(&mut self, message: &Value) -> Entry {
        let mut pictures = Pictures::default();
        match text(message, "/role") {
            Some("user") => {
                let words = content(&message["content"], &mut pictures);
                Entry::Prompt(self.texts.keep(&words), pictures)
            }
            Some("toolResult") => {
                let content_text = content(&message["content"], &mut pictures);
                let id = text(message, "/toolCallId").unwrap_or_default().to_owned();
                let answer =
                    Answer { text: self.texts.keep(&content_text), failed: is_true(message, "/isError") };
                Entry::Answer(id, answer, pictures)
            }
            Some("assistant") => {
                if let Some(model) = model(text(message, "/provider"), text(message, "/model")) {
                    // The model that answered counts, not the one that was chosen before.
                    if !self.entries.iter().any(|entry| matches!(entry, Entry::Reply(..))) {
                        self.head.model = Some(model);
                    }
                }
                self.reply(message)
            }
            _ => Entry::Other,
        }
    }

    fn reply(&self, message: &Value) -> Entry {
        let mut draft = Draft::new(self.texts);
        let turn = draft.new_turn(text(message, "/responseId"));
        for part in list(message, "/content") {
            match text(part, "/type") {
                Some("thinking") => draft.think(turn, text(part, "/thinking").unwrap_or_default()),
                Some("text") => draft.say(turn, text(part, "/text").unwrap_or_default()),
                Some("toolCall") => {
                    let (id, name) = (text(part, "/id"), text(part, "/name"));
                    let (id, name) = (id.unwrap_or_default().to_owned(), name.unwrap_or_default().to_owned());
                    let arguments = arguments(&part["arguments"]);
                    draft.call(turn, Call { id, name, arguments, ..Call::default() });
                }
                _ => {}
            }
        }
        if let Some(usage) = message.get("usage").filter(|usage| usage.is_object()) {
            let input = count(usage, "/input") + count(usage, "/cacheRead") + count(usage, "/cacheWrite");
            draft.at(turn).tokens = Some(Tokens { input, output: count(usage, "/output") });
        }
        let ending = match text(message, "/stopReason") {
            Some("aborted") => Some(Ending::Interrupted),
            Some("error") => Some(Ending::Error),
            _ => None,
        };
        draft.at(turn).unfinished = ending.is_some();
        let turn = draft.out.turns.remove(turn);
        Entry::Reply(Box::new(turn), ending)
    }

    /// The talk from the root to an entry.
    fn on_path(&self, leaf: &str) -> Transcript {
        let mut draft = Draft::new(self.texts);
        draft.out = self.head.clone();
        for place in self.tree.path(leaf) {
            match &self.entries[place] {
                Entry::Prompt(text, pictures) => {
                    draft.prompt(text);
                    draft.pictures.join(pictures.clone());
                }
                Entry::Reply(told, ending) => {
                    let turn = draft.new_turn(told.id.as_deref());
                    let prompt = draft.at(turn).prompt.take();
                    let calls = told.calls.clone();
                    *draft.at(turn) = Turn { prompt, calls: Vec::new(), ..(**told).clone() };
                    calls.into_iter().for_each(|call| draft.call(turn, call));
                    draft.out.ended = *ending;
                }
                Entry::Answer(id, answer, pictures) => {
                    draft.answer(id, answer);
                    draft.pictures.join(pictures.clone());
                }
                Entry::Other => {}
            }
        }
        draft.finish()
    }

    fn finish(self) -> Transcript {
        let Some(last) = self.tree.last() else { return self.head };
        let mut out = self.on_path(last);
        let leaves = self.tree.leaves();
        if leaves.len() > 1 {
            let branch = |leaf: &&str| Branch { leaf: (*leaf).to_owned(), transcript: self.on_path(leaf) };
            out.branches = leaves.iter().map(branch).collect();
            let replies = self.entries.iter().filter_map(|entry| match entry {
                Entry::Reply(turn, _) => turn.tokens,
                Entry::Prompt(..) | Entry::Answer(..) | Entry::Other => None,
            });
            let counts: Vec<Tokens> = replies.collect();
            out.spent = (!counts.is_empty())
                .then(|| counts.iter().fold(Tokens::default(), |sum, tokens| sum.plus(*tokens)));
        }
        out
    }
}

fn model(provider: Option<&str>, model: Option<&str>) -> Option<String> {
    Some(match (provider, model?) {
        (Some(provider), model) => format!("{provider}/{model}"),
        (None, model) => model.to_owned(),
    })
}
