//! Rollouts of Codex CLI: `~/.codex/sessions/Y/M/D/rollout-<time>-<id>.jsonl`.
//!
//! Measured with 0.171.0: each text stands as `response_item` and in an event, of which only the first is read; whether a command
//! failed stands in the event alone. A `token_usage_record` ends a reply. A fork holds none of what was said before.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, at, content, count, has, list, some_text, text};
use crate::lines::Lines;
use crate::model::{Call, Continues, Ending, Log, Program, Tokens, Transcript};
use crate::pictures::Pictures;
use crate::texts::Texts;

const PROGRAM: &str = Program::Codex.name();
/// Types of lines that are read, beside events.
const KINDS: [&str; 4] = ["response_item", "session_meta", "turn_context", "token_usage_record"];
const EVENT: &str = "event_msg";
/// Bytes of a line in which its type usually stands.
const HEAD_BYTES: usize = 160;
/// How many forks of forks are followed.
const MAX_FORKS: usize = 8;
/// How the program begins texts that stand in messages of the user.
const OWN_WORDS: [&str; 7] = [
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions",
    "<skill",
    "# AGENTS.md instructions",
    "<user_action>",
];

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
struct Line<'a, P> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    ordinal: Option<u64>,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(default = "none")]
    payload: Option<P>,
}

fn none<P>() -> Option<P> {
    None
}

#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    item: Option<EventItem<'a>>,
    #[serde(default)]
    info: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct EventItem<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    status: Option<Cow<'a, str>>,
    #[serde(default)]
    exit_code: Option<i64>,
}

/// One line of the talk.
#[derive(Debug)]
enum Item {
    Prompt(String),
    Thoughts(Vec<String>),
    Text(String),
    Call(Box<Call>),
    Answer(String, Answer),
    Usage(Tokens),
    Ended(Option<Ending>),
}

/// Reads a rollout.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let mut log = Log::new(Program::Codex, path);
    let rollout = Rollout::read(path, None, texts)?;
    log.version.clone_from(&rollout.version);
    log.notes.clone_from(&rollout.notes);
    let base = rollout.base.clone();
    let mut transcript = rollout.clone_into_transcript(texts);
    if let Some((session, ordinal)) = base {
        let file = crate::neighbours::file_of_session(path, &session);
        let whole = match &file {
            Some(_) => whole(path, texts, 0)?.map(|whole| Box::new(whole.clone_into_transcript(texts))),
            None => None,
        };
        if whole.is_none() {
            transcript.missing.push(format!("what was said before: session {session} was not found"));
        }
        transcript.continues = Some(Continues { session, file, ordinal_exclusive: ordinal, whole });
    }
    log.transcripts.push(transcript);
    Ok(log)
}

/// Reads a fork with what was said before it.
fn whole(path: &Path, texts: &Texts, depth: usize) -> Result<Option<Rollout>, ReadError> {
    let own = Rollout::read(path, None, texts)?;
    let Some((session, ordinal)) = own.base.clone() else { return Ok(Some(own)) };
    let file = crate::neighbours::file_of_session(path, &session).filter(|_| depth < MAX_FORKS);
    let Some(file) = file else { return Ok(None) };
    let mut before = Rollout::read(&file, ordinal, texts)?;
    if before.base.is_some() {
        let Some(older) = whole(&file, texts, depth + 1)? else { return Ok(None) };
        before = older.until(ordinal);
    }
    Ok(Some(before.then(own)))
}

/// What one or several files hold, in order.
#[derive(Debug, Default)]
struct Rollout {
    id: String,
    version: Option<String>,
    model: Option<String>,
    started: Option<String>,
    base: Option<(String, Option<u64>)>,
    items: Vec<(u64, Item)>,
    /// Sums of older versions, which have no record per reply.
    counted: Vec<(u64, Tokens, Value)>,
    failed: HashMap<String, bool>,
    pictures: Pictures,
    notes: Vec<String>,
}

impl Rollout {
    fn read(path: &Path, until: Option<u64>, texts: &Texts) -> Result<Self, ReadError> {
        let mut rollout = Self::default();
        let finders = KINDS.map(|kind| memmem::Finder::new(kind.as_bytes()));
        let event = memmem::Finder::new(EVENT.as_bytes());
        let mut lines = Lines::open(path)?;
        while let Some(found) = lines.next()? {
            // The type stands before the payload, after a time and a number; where it does not, the whole line is searched.
            let head = &found.bytes[..found.bytes.len().min(HEAD_BYTES)];
            let holds = |bytes: &[u8]| finders.iter().any(|finder| finder.find(bytes).is_some());
            let read = match event.find(head) {
                Some(_) => serde_json::from_slice::<Line<'_, Event<'_>>>(found.bytes).ok(),
                None if !holds(head) && event.find(found.bytes).is_none() && !holds(found.bytes) => continue,
                None => None,
            };
            // Of an event, little is read: most of it stands in an item, too.
            if let Some(line) = read.filter(|line| line.kind == EVENT) {
                if let Some(place) = rollout.place(&line, found.number, until) {
                    rollout.event(line.payload, place);
                }
                continue;
            }
            match serde_json::from_slice::<Line<'_, Value>>(found.bytes) {
                Ok(line) => {
                    if let Some(place) = rollout.place(&line, found.number, until) {
                        rollout.take(&line.kind, line.payload, place, texts);
                    }
                }
                Err(error) => rollout.notes.push(found.broken(path, PROGRAM, &error)?),
            }
        }
        rollout.items.sort_by_key(|(place, _)| *place);
        Ok(rollout)
    }

    /// The place of a line, if it is part of what is read.
    fn place<P>(&mut self, line: &Line<'_, P>, number: usize, until: Option<u64>) -> Option<u64> {
        let place = line.ordinal.unwrap_or(number as u64);
        if until.is_some_and(|until| place >= until) {
            return None;
        }
        if self.started.is_none() {
            self.started = line.timestamp.as_deref().map(str::to_owned);
        }
        Some(place)
    }

    fn take(&mut self, kind: &str, payload: Option<Value>, place: u64, texts: &Texts) {
        let Some(payload) = payload else { return };
        match kind {
            EVENT => self.event(Event::deserialize(&payload).ok(), place),
            "response_item" => {
                let found = item_of(&payload, &mut self.pictures, texts);
                self.items.extend(found.map(|item| (place, item)));
            }
            _ => self.meta(&payload, kind, place),
        }
    }

    fn meta(&mut self, payload: &Value, kind: &str, place: u64) {
        match kind {
            "token_usage_record" if has(payload, "/usage") => {
                self.items.push((place, Item::Usage(tokens(&payload["usage"]))));
            }
            "turn_context" if self.model.is_none() => {
                self.model = some_text(payload, "/model").map(str::to_owned);
            }
            // A fork of older versions repeats the first line of the session before.
            "session_meta" if self.id.is_empty() => {
                self.id = text(payload, "/id").unwrap_or_default().to_owned();
                self.version = some_text(payload, "/cli_version").map(str::to_owned);
                let base = some_text(payload, "/history_base/thread_id");
                let from = base.or_else(|| some_text(payload, "/forked_from_id").filter(|_| place > 1));
                let ordinal = at(payload, "/history_base/end_ordinal_exclusive");
                let ordinal = ordinal.or_else(|| payload.get("forked_from_ordinal_exclusive"));
                let ordinal = ordinal.and_then(Value::as_u64);
                self.base = from.map(|from| (from.to_owned(), ordinal));
            }
            _ => {}
        }
    }

    fn event(&mut self, event: Option<Event<'_>>, place: u64) {
        let Some(event) = event else { return };
        match event.kind.as_ref() {
            "turn_aborted" => self.items.push((place, Item::Ended(Some(Ending::Interrupted)))),
            "task_complete" => self.items.push((place, Item::Ended(None))),
            "error" | "stream_error" => self.items.push((place, Item::Ended(Some(Ending::Error)))),
            "token_count" => {
                if let Some(info) = event.info.filter(|info| has(info, "/last_token_usage")) {
                    self.counted.push((
                        place,
                        tokens(&info["last_token_usage"]),
                        info["total_token_usage"].clone(),
                    ));
                }
            }
            _ => {
                let Some(EventItem { id: Some(id), status, exit_code }) = &event.item else { return };
                let failed = exit_code.is_some_and(|code| code != 0)
                    || matches!(status.as_deref(), Some("failed" | "declined"));
                if exit_code.is_some() || status.is_some() {
                    self.failed.insert(id.clone().into_owned(), failed);
                }
            }
        }
    }

    /// Without what comes after a place.
    fn until(mut self, ordinal: Option<u64>) -> Self {
        if let Some(ordinal) = ordinal {
            self.items.retain(|(place, _)| *place < ordinal);
        }
        self
    }

    /// Goes on with another file.
    fn then(mut self, next: Self) -> Self {
        self.items.extend(next.items);
        self.failed.extend(next.failed);
        self.counted.extend(next.counted);
        self.pictures.join(next.pictures);
        self
    }

    fn clone_into_transcript(mut self, texts: &Texts) -> Transcript {
        let recorded = self.items.iter().any(|(_, item)| matches!(item, Item::Usage(_)));
        if !recorded {
            let mut last = Value::Null;
            for (place, tokens, total) in std::mem::take(&mut self.counted) {
                // The same sum is told again when a limit changes.
                if total != last {
                    self.items.push((place, Item::Usage(tokens)));
                }
                last = total;
            }
            self.items.sort_by_key(|(place, _)| *place);
        }
        let mut talk =
            Talk { draft: Draft::new(texts), open: false, answered: false, recorded, unseen: None };
        talk.draft.pictures = self.pictures;
        talk.draft.out.model = self.model;
        talk.draft.out.started = self.started;
        talk.draft.out.name = self.id;
        for (_, item) in self.items {
            talk.take(item);
        }
        for (id, failed) in self.failed {
            if let Some(call) = talk.draft.call_mut(&id) {
                call.failed = failed || (call.failed && call.result.as_deref().is_some_and(is_aborted));
            }
        }
        let unseen = talk.unseen;
        let mut out = talk.draft.finish();
        out.cost_state = unseen.map(|unseen| unseen.plus(out.tokens.unwrap_or_default()));
        out
    }
}

/// The talk under way.
struct Talk<'t> {
    draft: Draft<'t>,
    /// Whether the last turn may go on.
    open: bool,
    /// Whether a result came since it began.
    answered: bool,
    /// Whether records say where replies end.
    recorded: bool,
    /// What replies without a line cost.
    unseen: Option<Tokens>,
}

impl Talk<'_> {
    fn take(&mut self, item: Item) {
        match item {
            Item::Prompt(text) => {
                self.open = false;
                self.draft.prompt(&text);
            }
            Item::Thoughts(thoughts) => {
                let turn = self.turn();
                thoughts.iter().for_each(|thought| self.draft.think(turn, thought));
            }
            Item::Text(text) => {
                let turn = self.turn();
                self.draft.say(turn, &text);
            }
            Item::Call(call) => {
                let turn = self.turn();
                self.draft.call(turn, *call);
            }
            Item::Answer(id, answer) => {
                self.answered = true;
                self.draft.answer(&id, &answer);
            }
            Item::Usage(tokens) => self.used(tokens),
            Item::Ended(ending) => self.draft.out.ended = ending,
        }
    }

    /// The turn to which an item of the model belongs.
    fn turn(&mut self) -> usize {
        if !self.open || (self.answered && !self.recorded) {
            self.draft.new_turn(None);
            (self.open, self.answered) = (true, false);
        }
        self.draft.out.ended = None;
        self.draft.out.turns.len() - 1
    }

    fn used(&mut self, tokens: Tokens) {
        let last = self.draft.out.turns.last_mut();
        match last.filter(|turn| turn.tokens.is_none()) {
            Some(turn) => turn.tokens = Some(tokens),
            // A reply without a line, as of a compaction.
            None => {
                self.unseen = Some(self.unseen.unwrap_or_default().plus(tokens));
            }
        }
        self.open &= !self.recorded;
    }
}

fn tokens(usage: &Value) -> Tokens {
    Tokens { input: count(usage, "/input_tokens"), output: count(usage, "/output_tokens") }
}

/// What an item of a response says.
fn item_of(item: &Value, pictures: &mut Pictures, texts: &Texts) -> Option<Item> {
    Some(match text(item, "/type")? {
        "message" => {
            let words = content(&item["content"], pictures);
            match text(item, "/role")? {
                "assistant" => Item::Text(texts.keep(&words)),
                "user" if is_persons(item, &words) => Item::Prompt(texts.keep(&words)),
                _ => return None,
            }
        }
        "reasoning" => Item::Thoughts(thoughts(item).map(|thought| texts.keep(thought)).collect()),
        kind @ ("function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call") => {
            Item::Call(Box::new(call(item, kind, texts)))
        }
        "function_call_output" | "custom_tool_call_output" => {
            let (text_of, failed) = result(&item["output"], pictures);
            let answer = Answer { text: texts.keep(&text_of), failed };
            Item::Answer(text(item, "/call_id")?.to_owned(), answer)
        }
        _ => return None,
    })
}

fn thoughts(item: &Value) -> impl Iterator<Item = &str> {
    let summary = list(item, "/summary");
    let parts = if summary.is_empty() { list(item, "/content") } else { summary };
    parts.iter().filter_map(|part| some_text(part, "/text"))
}

fn call(item: &Value, kind: &str, texts: &Texts) -> Call {
    let (name, arguments) = match kind {
        "function_call" => (text(item, "/name").unwrap_or_default(), arguments(&item["arguments"])),
        "custom_tool_call" => {
            let input = Map::from_iter([("input".to_owned(), item["input"].clone())]);
            (text(item, "/name").unwrap_or_default(), Some(input))
        }
        "local_shell_call" => ("local_shell", arguments(&item["action"])),
        _ => ("web_search", arguments(&item["action"])),
    };
    let id = text(item, "/call_id").or_else(|| text(item, "/id")).unwrap_or_default();
    let arguments = arguments.map(|arguments| texts.arguments(arguments));
    Call { id: id.to_owned(), name: name.to_owned(), arguments, ..Call::default() }
}

/// The text of a result, and whether it failed by what it says itself.
fn result(output: &Value, pictures: &mut Pictures) -> (String, bool) {
    let whole = content(output, pictures);
    if let Some(said) = output.get("content").filter(|_| output.is_object()) {
        return (content(said, pictures), output["success"] == false);
    }
    // Before 0.60 or so, a result was an object in a string.
    if whole.starts_with('{')
        && let Ok(told) = serde_json::from_str::<Value>(&whole)
        && let Some(text_of) = text(&told, "/output")
    {
        let failed = at(&told, "/metadata/exit_code").is_some_and(|code| *code != json!(0));
        return (text_of.to_owned(), failed);
    }
    let headed =
        ["Chunk ID", "Wall time", "Exit code", "Process "].iter().any(|head| whole.starts_with(head));
    if let Some((head, rest)) = whole.split_once("\nOutput:\n").filter(|_| headed) {
        let code = ["Process exited with code ", "Exit code: "]
            .iter()
            .find_map(|words| head.lines().find_map(|line| line.strip_prefix(words)));
        return (rest.to_owned(), code.is_some_and(|code| code.trim() != "0"));
    }
    let failed = is_aborted(&whole);
    (whole, failed)
}

fn is_aborted(text: &str) -> bool {
    text.lines().take(3).any(|line| line.starts_with("aborted"))
}

/// Returns whether a person wrote a message of the user.
fn is_persons(item: &Value, said: &str) -> bool {
    let kinds = list(item, "/internal_chat_message_metadata_passthrough/content_item_kinds");
    if !kinds.is_empty() {
        return kinds.iter().all(|kind| kind.as_str().is_some_and(|kind| kind.starts_with("user.")));
    }
    !OWN_WORDS.iter().any(|words| said.trim_start().starts_with(words))
}
