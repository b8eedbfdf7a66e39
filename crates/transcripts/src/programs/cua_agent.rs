//! Trajectories of cua-agent: a folder with `metadata.json` and `turn_NNN/NNNN_<what>.json`.
//!
//! Measured with 0.9.1: a reply and its action are two folders; requests repeat the whole talk, `api_result` and `agent_response` one
//! reply; pictures stand inline in `new_items` and as files. An action that raises ends the run without a line, and the status stays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, content, count, list, some_text, text};
use crate::model::{Call, Ending, Log, Program, Tokens};
use crate::pictures::{Pictures, of_bytes};
use crate::texts::Texts;

const PROGRAM: &str = Program::CuaAgent.name();
/// The name of the file about the whole.
pub(crate) const METADATA_FILE: &str = "metadata.json";
/// Maximum number of files of a trajectory.
const MAX_FILES: usize = 20_000;
/// 100 ns between 1582-10-15, where a UUID's time begins, and 1970 (RFC 9562, 5.1).
const UUID_EPOCH: i64 = 0x01B2_1DD2_1381_4000;

/// Reads a trajectory.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let metadata = document::read(&path.join(METADATA_FILE), PROGRAM)?;
    let mut log = Log::new(Program::CuaAgent, path);
    let mut talk = Talk { draft: Draft::new(texts), replies: BTreeSet::new(), told: None, waiting: 0 };
    talk.draft.out.model = some_text(&metadata, "/kwargs/model").map(str::to_owned);
    talk.draft.out.name = text(&metadata, "/trajectory_id").unwrap_or_default().to_owned();
    talk.draft.out.started = some_text(&metadata, "/created_at").map(time);
    prompts(&mut talk.draft, &metadata["kwargs"]["messages"]);
    let files = files(path)?;
    for file in &files {
        talk.file(file)?;
    }
    let items = list(&metadata, "/new_items");
    if talk.replies.is_empty() {
        talk.items(items);
    } else {
        items.iter().for_each(|item| talk.answer(item));
    }
    let status = text(&metadata, "/status").unwrap_or_default();
    let mut draft = talk.draft;
    fail_unanswered(&mut draft, status);
    if metadata["total_usage"].is_object() {
        draft.out.tokens = Some(tokens(&metadata["total_usage"]));
    }
    draft.out.exit_status = Some(status.to_owned()).filter(|status| !status.is_empty());
    log.transcripts.push(draft.finish());
    Ok(log)
}

fn prompts(draft: &mut Draft<'_>, messages: &Value) {
    let messages = messages.as_array().map_or(&[] as &[Value], Vec::as_slice);
    let asked = messages.iter().filter(|message| text(*message, "/role") == Some("user"));
    for message in asked {
        let words = content(&message["content"], &mut draft.pictures);
        draft.prompt(&words);
    }
}

/// Calls without a result failed: what raises ends the run.
fn fail_unanswered(draft: &mut Draft<'_>, status: &str) {
    let calls = draft.out.turns.iter_mut().flat_map(|turn| &mut turn.calls);
    let mut open = false;
    for call in calls.filter(|call| !call.answered) {
        call.failed = true;
        open = true;
    }
    draft.out.ended = match status {
        "completed" => None,
        "failed" | "error" => Some(Ending::Error),
        // `running` stays for ever where a run was killed or raised.
        _ if open || status == "running" => Some(Ending::Crashed),
        _ => None,
    };
}

/// The files of the turns, in the order of their numbers.
fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let mut found = Vec::new();
    let folders = std::fs::read_dir(path).map_err(|error| ReadError::file(path, error))?;
    let mut folders: Vec<PathBuf> = folders.flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| {
        folder.is_dir() && folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("turn_"))
    });
    folders.sort();
    for folder in folders {
        let files = std::fs::read_dir(&folder).map_err(|error| ReadError::file(&folder, error))?;
        found.extend(files.flatten().map(|entry| entry.path()));
        if found.len() > MAX_FILES {
            let (what, most) = (format!("{} files", found.len()), MAX_FILES.to_string());
            return Err(ReadError::TooLarge { path: path.to_owned(), what, most });
        }
    }
    found.sort();
    Ok(found)
}

/// The talk under way.
struct Talk<'t> {
    draft: Draft<'t>,
    /// Ids of replies that were read.
    replies: BTreeSet<String>,
    /// The reply that an `api_result` told, until the `agent_response` repeats it.
    told: Option<Value>,
    /// Requests without a result since the last one.
    waiting: usize,
}

impl Talk<'_> {
    fn file(&mut self, file: &Path) -> Result<(), ReadError> {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".png") {
            let bytes = document::bytes(file)?;
            self.draft.pictures.add(of_bytes(&bytes));
            return Ok(());
        }
        let what = name.split_once('_').map_or("", |(_, what)| what);
        match what {
            "api_start.json" => {
                self.draft.out.retried_requests += usize::from(self.waiting > 0);
                self.waiting += 1;
            }
            "api_result.json" => {
                self.waiting = 0;
                self.flush();
                self.told = Some(document::read(file, PROGRAM)?["result"].take());
            }
            "agent_response.json" => {
                self.told = None;
                let mut document = document::read(file, PROGRAM)?;
                self.reply(&document["response"].take());
            }
            "computer_call_result.json" | "function_call_result.json" => {
                let document = document::read(file, PROGRAM)?;
                self.flush();
                list(&document, "/result").iter().for_each(|item| self.answer(item));
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes a reply that no `agent_response` repeated.
    fn flush(&mut self) {
        if let Some(told) = self.told.take() {
            self.reply(&told);
        }
    }

    fn reply(&mut self, response: &Value) {
        let id = text(response, "/id").map_or_else(|| format!("reply {}", self.replies.len()), str::to_owned);
        if !self.replies.insert(id.clone()) {
            return;
        }
        let turn = self.draft.new_turn(Some(&id));
        list(response, "/output").iter().for_each(|item| self.item(turn, item));
        if response["usage"].is_object() {
            self.draft.at(turn).tokens = Some(tokens(&response["usage"]));
        }
    }

    /// Takes the items of a talk whose replies have no files: results part them.
    fn items(&mut self, items: &[Value]) {
        let mut open = None;
        for item in items {
            if text(item, "/type").is_some_and(|kind| kind.ends_with("_output")) {
                self.answer(item);
                open = None;
                continue;
            }
            let turn = *open.get_or_insert_with(|| self.draft.new_turn(None));
            self.item(turn, item);
        }
    }

    fn item(&mut self, turn: usize, item: &Value) {
        let id = text(item, "/call_id").or_else(|| text(item, "/id")).unwrap_or_default().to_owned();
        match text(item, "/type") {
            Some("reasoning") => {
                let thoughts = list(item, "/summary").iter().filter_map(|part| some_text(part, "/text"));
                thoughts.for_each(|thought| self.draft.think(turn, thought));
            }
            Some("message") => {
                let words = content(&item["content"], &mut self.draft.pictures);
                self.draft.say(turn, &words);
            }
            Some("computer_call") => {
                let action = item["action"].as_object().cloned().unwrap_or_else(Map::new);
                let name = action.get("type").and_then(Value::as_str).unwrap_or("computer").to_owned();
                let arguments: Map<String, Value> =
                    action.into_iter().filter(|(field, _)| field != "type").collect();
                self.draft.call(turn, Call { id, name, arguments: Some(arguments), ..Call::default() });
            }
            Some("function_call") => {
                let name = text(item, "/name").unwrap_or_default().to_owned();
                let arguments = arguments(&item["arguments"]);
                self.draft.call(turn, Call { id, name, arguments, ..Call::default() });
            }
            _ => {}
        }
    }

    fn answer(&mut self, item: &Value) {
        let Some(id) = text(item, "/call_id")
            .filter(|_| text(item, "/type").is_some_and(|kind| kind.ends_with("_output")))
        else {
            return;
        };
        let mut pictures = Pictures::default();
        let content_text = content(&item["output"], &mut pictures);
        self.draft.pictures.join(pictures);
        self.draft
            .answer(id, &Answer { failed: crate::json::tells_failure(&content_text), text: content_text });
    }
}

fn tokens(usage: &Value) -> Tokens {
    let of = |names: [&str; 2]| names.iter().map(|name| count(usage, name)).max().unwrap_or_default();
    Tokens {
        input: of(["/input_tokens", "/prompt_tokens"]),
        output: of(["/output_tokens", "/completion_tokens"]),
    }
}

/// A time that is counted as in a UUID, in ISO 8601.
fn time(told: &str) -> String {
    let seconds = told.parse::<i64>().map(|count| (count - UUID_EPOCH).div_euclid(10_000_000));
    let time = seconds.ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(|| told.to_owned(), |time| time.to_string())
}
