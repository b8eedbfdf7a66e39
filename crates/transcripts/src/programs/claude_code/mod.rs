//! Sessions of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, with a file for each agent that it started.
//!
//! Measured with 2.1.332: one reply is several lines with the whole usage each, so lines are joined by `message.id`. Results of two
//! calls are two lines, of which the talk goes on from the last alone, so the order of the file counts and `parentUuid` does not.
//! Only lines of the types `assistant`, `user` and `cost-state` are read: the others hold requests once more.

mod line;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value};

use self::line::{AgentResult, Line, Sieve};
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{
    Json as _, arguments, borrowed_content, content_of, count, is_true, list, some_text, text,
};
use crate::lines::Lines;
use crate::model::{Call, Ending, Helper, Log, Program, Tokens, Transcript};
use crate::node::Node;
use crate::texts::Texts;
use crate::unpacked::{has_ending, unpacked_path};

const PROGRAM: &str = Program::ClaudeCode.name();
/// Versions whose lines are known.
const KNOWN: &str = "versions 1 and 2";
/// Maximum number of helpers of a session.
const MAX_HELPERS: usize = 1000;
/// How the program begins texts that stand in lines of the user.
const OWN_WORDS: [&str; 9] = [
    "<task-notification>",
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "<system-reminder>",
    "<bash-",
    "[Request interrupted by user",
    "Caveat: The messages below",
    "This session is being continued from",
];

/// Reads a session.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let mut log = Log::new(Program::ClaudeCode, path);
    let mut session = Session::read(path, texts, true)?;
    log.version = session.version.take();
    if let Some(version) = log.version.as_deref()
        && !matches!(version.split('.').next(), Some("1" | "2"))
    {
        let found = format!("version {version}");
        return Err(ReadError::Unknown { path: path.to_owned(), program: PROGRAM, found, known: KNOWN });
    }
    log.notes.append(&mut session.notes);
    log.transcripts.push(session.finish(path, texts)?);
    Ok(log)
}

/// A session under way.
struct Session<'t> {
    draft: Draft<'t>,
    version: Option<String>,
    notes: Vec<String>,
    /// Lines that were read, each once.
    known: HashSet<u128>,
    lines: usize,
    session: Option<String>,
    copied: Option<String>,
    cost: Option<Tokens>,
    /// Calls that started an agent, by the agent's id.
    agents: BTreeMap<String, String>,
    /// Calls whose agent works in the background.
    waiting: HashSet<String>,
    /// Agents whose lines stand among those of the session, as versions before 2.1 wrote them.
    inside: BTreeMap<String, Draft<'t>>,
}

impl<'t> Session<'t> {
    fn read(path: &Path, texts: &'t Texts, main: bool) -> Result<Self, ReadError> {
        let mut session = Self {
            draft: Draft::new(texts),
            version: None,
            notes: Vec::new(),
            known: HashSet::new(),
            lines: 0,
            session: None,
            copied: None,
            cost: None,
            agents: BTreeMap::new(),
            waiting: HashSet::new(),
            inside: BTreeMap::new(),
        };
        let sieve = Sieve::new();
        let mut lines = Lines::open(path)?;
        let mut all_inside = None;
        while let Some(found) = lines.next()? {
            if !sieve.takes(found.bytes) {
                continue;
            }
            match serde_json::from_slice::<Line<'_>>(found.bytes) {
                Ok(line) => {
                    let inside = line.is_sidechain == Some(true);
                    // The file of a helper holds nothing but a side chain.
                    let own = *all_inside.get_or_insert(inside);
                    session.take(&line, main && inside && !own);
                }
                Err(error) => session.notes.push(found.broken(path, PROGRAM, &error)?),
            }
        }
        Ok(session)
    }

    fn take(&mut self, line: &Line<'_>, inside: bool) {
        let kind = line.kind.as_deref();
        if let Some(usage) = line.model_usage.as_ref().filter(|_| kind == Some("cost-state")) {
            self.cost = Some(usage.values().fold(Tokens::default(), |sum, usage| {
                let input =
                    usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
                sum.plus(Tokens { input, output: usage.output_tokens })
            }));
        }
        if !matches!(kind, Some("assistant" | "user")) {
            return;
        }
        let id = line.uuid.as_deref().and_then(|uuid| u128::from_str_radix(&uuid.replace('-', ""), 16).ok());
        if id.is_some_and(|id| !self.known.insert(id)) {
            return;
        }
        self.version = line.version.as_deref().map(str::to_owned).or(self.version.take());
        if self.draft.out.started.is_none() {
            self.draft.out.started = line.timestamp.as_deref().map(str::to_owned);
        }
        if let Some(session) = line.session_id.as_deref() {
            self.session = Some(session.to_owned());
        }
        let Some(message) = &line.message else { return };
        if inside {
            let agent = line.agent_id.as_deref().unwrap_or("sidechain");
            let texts = self.draft.texts;
            let draft = self.inside.entry(agent.to_owned()).or_insert_with(|| Draft::new(texts));
            match kind {
                Some("assistant") => add_reply(draft, line, message),
                _ => drop(add_results(draft, message)),
            }
            return;
        }
        match kind {
            Some("assistant") => self.reply(line, message),
            _ => self.user(line, message),
        }
    }

    fn reply(&mut self, line: &Line<'_>, message: &Node<'_>) {
        let asked = line.request_session_id.as_deref();
        let copied =
            asked.filter(|asked| line.session_id.as_deref().is_some_and(|session| session != *asked));
        if is_synthetic(line, message) {
            if line.is_api_error_message == Some(true) {
                self.draft.out.ended = Some(Ending::Error);
            }
            return;
        }
        self.lines += 1;
        self.draft.out.ended = None;
        add_reply(&mut self.draft, line, message);
        if let (Some(copied), Some(turn)) = (copied, self.draft.out.turns.last_mut()) {
            turn.copied = true;
            self.copied = Some(copied.to_owned());
        }
        if line.is_aborted_mid_stream == Some(true) {
            self.draft.out.ended = Some(Ending::Interrupted);
        }
    }

    fn user(&mut self, line: &Line<'_>, message: &Node<'_>) {
        let results = add_results(&mut self.draft, message);
        if let [call] = results.as_slice() {
            self.note_agent(line, call);
        }
        let words = said(message, &mut self.draft);
        if words.starts_with("[Request interrupted by user") {
            self.draft.out.ended = Some(Ending::Interrupted);
        }
        let of_agents = line.origin.as_ref().and_then(|origin| origin.kind.as_deref());
        if of_agents == Some("task-notification") || words.starts_with("<task-notification>") {
            return self.notified(&words);
        }
        if results.is_empty() && is_persons(line, &words) {
            self.draft.prompt(&words);
        }
    }

    /// Notes that a call started an agent. In the background, its result only says so.
    fn note_agent(&mut self, line: &Line<'_>, call: &str) {
        let Some(raw) = line.tool_use_result.map(|raw| raw.get()).filter(|raw| raw.starts_with('{')) else {
            return;
        };
        // A picture's result is long, and no agent's.
        if !raw.contains("\"agentId\"") {
            return;
        }
        let Ok(AgentResult { status, agent_id: Some(agent) }) = serde_json::from_str(raw) else { return };
        self.agents.insert(agent, call.to_owned());
        if status.as_deref() == Some("async_launched") {
            self.waiting.insert(call.to_owned());
            if let Some(call) = self.draft.call_mut(call) {
                call.result = None;
                call.answered = false;
            }
        }
    }

    /// Takes what agents in the background answered: it stands in a line that looks like a person's.
    fn notified(&mut self, words: &str) {
        for note in words.split("<task-notification>").skip(1) {
            let call = between(note, "tool-use-id").map(str::to_owned);
            let call = call.or_else(|| self.agents.get(between(note, "task-id")?).cloned());
            let Some(call) = call else { continue };
            let failed = between(note, "status").is_some_and(|status| status != "completed");
            let told = between(note, "result").or_else(|| between(note, "summary")).unwrap_or_default();
            self.draft.answer(&call, &Answer { text: told.to_owned(), failed });
            self.waiting.remove(&call);
        }
    }

    fn finish(mut self, path: &Path, texts: &Texts) -> Result<Transcript, ReadError> {
        let helpers = helpers(path, texts, &self.agents)?;
        let inside = std::mem::take(&mut self.inside).into_iter().map(|(agent, draft)| Helper {
            file: None,
            of_call: self.agents.get(&agent).cloned(),
            agent_id: agent,
            transcript: draft.finish(),
        });
        let (waiting, cost, lines) = (self.waiting.len(), self.cost, self.lines);
        let name = self.session.take().unwrap_or_default();
        let copied =
            self.copied.take().map(|session| crate::neighbours::beside(path, &session).unwrap_or(session));
        let mut out = self.draft.finish();
        out.name = name;
        out.copied_from = copied;
        out.lines_of_replies = Some(lines);
        out.helpers = inside.chain(helpers).collect();
        let order: Vec<String> = out.calls().map(|call| call.id.clone()).collect();
        out.helpers.sort_by_key(|helper| order.iter().position(|call| Some(call) == helper.of_call.as_ref()));
        let with_helpers = out
            .helpers
            .iter()
            .filter_map(|helper| helper.transcript.tokens)
            .fold(out.tokens, |sum, tokens| Some(sum.unwrap_or_default().plus(tokens)));
        let told = with_helpers.unwrap_or_default();
        out.cost_state = cost.filter(|cost| cost.input > told.input || cost.output > told.output);
        if out.cost_state.is_some() {
            out.missing.push("replies without a line: the program's own sum of tokens is larger".to_owned());
        }
        if waiting > 0 {
            out.missing.push(format!("what {waiting} agents in the background answered"));
        }
        Ok(out)
    }
}

/// Returns whether a line of the assistant is the program's own.
fn is_synthetic(line: &Line<'_>, message: &Node<'_>) -> bool {
    line.is_api_error_message == Some(true) || word(message, "model") == Some("<synthetic>")
}

/// Adds a line of a reply.
fn add_reply(draft: &mut Draft<'_>, line: &Line<'_>, message: &Node<'_>) {
    if draft.out.model.is_none() {
        draft.out.model = word(message, "model").filter(|model| !model.is_empty()).map(str::to_owned);
    }
    let id = word(message, "id").or(line.uuid.as_deref()).unwrap_or_default();
    let turn = draft.turn(id);
    for block in list(message, "/content") {
        let kind = word(block, "type").unwrap_or_default();
        match kind {
            "thinking" => draft.think(turn, word(block, "thinking").unwrap_or_default()),
            "text" => draft.say(turn, word(block, "text").unwrap_or_default()),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let id = word(block, "id").unwrap_or_default();
                if id.is_empty() || !draft.knows(id) {
                    let name = word(block, "name").unwrap_or_default().to_owned();
                    let arguments = block.field("input").map_or_else(|| Some(Map::new()), arguments);
                    draft.call(turn, Call { id: id.to_owned(), name, arguments, ..Call::default() });
                }
            }
            _ if kind.ends_with("_tool_result") => add_result(draft, block),
            _ => {}
        }
    }
    if let Some(text) = word(message, "content") {
        draft.say(turn, text);
    }
    if let Some(usage) = message.field("usage").filter(|usage| matches!(usage, Node::Fields(_))) {
        let input = count(usage, "/input_tokens")
            + count(usage, "/cache_creation_input_tokens")
            + count(usage, "/cache_read_input_tokens");
        let (known, output) = (draft.at(turn).tokens.unwrap_or_default(), count(usage, "/output_tokens"));
        let tokens = Tokens { input: known.input.max(input), output: known.output.max(output) };
        draft.at(turn).tokens = Some(tokens);
    }
    draft.at(turn).unfinished = line.is_aborted_mid_stream == Some(true);
}

/// Adds the results of a line, and returns the ids of their calls.
fn add_results(draft: &mut Draft<'_>, message: &Node<'_>) -> Vec<String> {
    let results = list(message, "/content").iter().filter(|block| word(block, "type") == Some("tool_result"));
    let mut calls = Vec::new();
    for block in results {
        add_result(draft, block);
        calls.extend(word(block, "tool_use_id").map(str::to_owned));
    }
    calls
}

fn add_result(draft: &mut Draft<'_>, block: &Node<'_>) {
    let told = block.field("content");
    let told = told.map_or_else(Cow::default, |told| borrowed_content(told, &mut draft.pictures));
    let failed = is_true(block, "/is_error")
        || text(block, "/content/type").is_some_and(|kind| kind.ends_with("_error"));
    draft.answer_with(word(block, "tool_use_id").unwrap_or_default(), &told, failed);
}

/// What stands in a line of the user beside results.
fn said<'n>(message: &'n Node<'_>, draft: &mut Draft<'_>) -> Cow<'n, str> {
    match message.field("content") {
        Some(Node::List(blocks)) => {
            let blocks = blocks.iter().filter(|block| word(block, "type") != Some("tool_result"));
            content_of(blocks, &mut draft.pictures)
        }
        Some(other) => borrowed_content(other, &mut draft.pictures),
        None => Cow::default(),
    }
}

/// Returns whether a person wrote a line of the user.
fn is_persons(line: &Line<'_>, words: &str) -> bool {
    let marked = line.is_meta == Some(true)
        || line.is_compact_summary == Some(true)
        || line.is_visible_in_transcript_only == Some(true);
    let of_program = line.row_source.as_deref() == Some("harness")
        || line.prompt_source.as_deref() == Some("system")
        || line.origin.as_ref().and_then(|origin| origin.kind.as_deref()).is_some_and(|kind| kind != "human");
    !marked && !of_program && !OWN_WORDS.iter().any(|words_of| words.trim_start().starts_with(words_of))
}

/// The text in an element of a notification.
fn between<'a>(note: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = note.split_once(&format!("<{tag}>"))?;
    // What an agent answered may hold the same words.
    let end = format!("</{tag}>");
    let at = if tag == "result" { rest.rfind(&end) } else { rest.find(&end) };
    Some(at.map_or(rest, |at| &rest[..at]).trim())
}

/// The text of a field.
fn word<'n>(node: &'n Node<'_>, name: &str) -> Option<&'n str> {
    node.field(name)?.words()
}

/// Reads the files of agents that a session started.
fn helpers(path: &Path, texts: &Texts, agents: &BTreeMap<String, String>) -> Result<Vec<Helper>, ReadError> {
    let folder = unpacked_path(path).with_extension("").join("subagents");
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| has_ending(file, "jsonl"));
    files.sort();
    if files.len() > MAX_HELPERS {
        let (what, most) = (format!("{} files of agents", files.len()), MAX_HELPERS.to_string());
        return Err(ReadError::TooLarge { path: folder, what, most });
    }
    let mut found = Vec::new();
    for file in files {
        let stem = unpacked_path(&file);
        let stem = stem.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let agent = stem.strip_prefix("agent-").unwrap_or(&stem).to_owned();
        let meta = apprentice_files::read_at_most(file.with_file_name(format!("{stem}.meta.json")), 1 << 20);
        let meta: Value = meta.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let of_call =
            some_text(&meta, "/toolUseId").map(str::to_owned).or_else(|| agents.get(&agent).cloned());
        let transcript = Session::read(&file, texts, false)?.draft.finish();
        found.push(Helper { file: Some(file), agent_id: agent, of_call, transcript });
    }
    Ok(found)
}
