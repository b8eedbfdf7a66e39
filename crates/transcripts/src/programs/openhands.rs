//! Conversations of the OpenHands SDK: a folder with `base_state.json` and `events/event-00000-<id>.json`.
//!
//! Measured with 1.58.2: calls of one reply are events with one `llm_response_id`; a malformed call has no `action` and its arguments
//! are lost; tokens stand in `base_state.json` alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, at, content, count, has, is_true, list, some_text, text};
use crate::model::{Branch, Call, Ending, Log, Program, Tokens, Transcript};
use crate::texts::Texts;
use crate::tree::Tree;

const PROGRAM: &str = Program::OpenHands.name();
/// Maximum number of events.
const MAX_EVENTS: usize = 20_000;
/// The name of the state's file.
pub(crate) const STATE_FILE: &str = "base_state.json";
/// The folder of events.
pub(crate) const EVENTS_FOLDER: &str = "events";

/// Reads a conversation.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let state = document::read(&path.join(STATE_FILE), PROGRAM)?;
    let mut log = Log::new(Program::OpenHands, path);
    let events = events(path)?;
    let mut tree = Tree::default();
    for event in &events {
        tree.add(text(event, "/id").unwrap_or_default(), text(event, "/parent_id"));
    }
    let leaf = some_text(&state, "/leaf_event_id").or_else(|| tree.last()).unwrap_or_default();
    let mut out = transcript(&events, &active(&tree, leaf, events.len()), texts);
    let leaves = tree.leaves();
    if leaves.len() > 1 && leaves.iter().all(|leaf| !tree.path(leaf).is_empty()) && chained(&events) {
        out.spent = spent(&state, None);
        let branch = |leaf: &&str| Branch {
            leaf: (*leaf).to_owned(),
            transcript: transcript(&events, &active(&tree, leaf, events.len()), texts),
        };
        out.branches = leaves.iter().map(branch).collect();
    }
    whole(&mut out, &state);
    log.transcripts.push(out);
    Ok(log)
}

/// The events, in the order of their numbers.
fn events(path: &Path) -> Result<Vec<Value>, ReadError> {
    let folder = path.join(EVENTS_FOLDER);
    let entries = std::fs::read_dir(&folder).map_err(|error| ReadError::file(&folder, error))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("event-") && name.ends_with(".json")
    });
    files.sort();
    if files.len() > MAX_EVENTS {
        let (what, most) = (format!("{} events", files.len()), MAX_EVENTS.to_string());
        return Err(ReadError::TooLarge { path: folder, what, most });
    }
    files.iter().map(|file| document::read(file, PROGRAM)).collect()
}

/// Returns whether the events name the ones before them.
fn chained(events: &[Value]) -> bool {
    events.iter().skip(1).all(|event| has(event, "/parent_id"))
}

/// The places of the events on the path to a leaf; all of them where they are no chain.
fn active(tree: &Tree, leaf: &str, all: usize) -> BTreeSet<usize> {
    let path = tree.path(leaf);
    match path.first() {
        Some(0) => path.into_iter().collect(),
        _ => (0..all).collect(),
    }
}

/// What the state says of the whole.
fn whole(out: &mut Transcript, state: &Value) {
    out.name = text(state, "/id").unwrap_or_default().to_owned();
    out.model = some_text(state, "/agent/llm/model").map(str::to_owned);
    out.tokens = spent(state, Some("agent")).or_else(|| spent(state, None));
    let all = spent(state, None).unwrap_or_default();
    let told = out.spent.or(out.tokens).unwrap_or_default();
    out.cost_state = (all.input > told.input || all.output > told.output).then_some(all);
    // Who ends in a branch paid for the other one, too.
    if out.spent.is_some() {
        let replies: Vec<&str> = out.turns.iter().filter_map(|turn| turn.id.as_deref()).collect();
        out.tokens = of_replies(state, &replies).or(out.tokens);
        let of_branch = |branch: &mut Branch| {
            let replies: Vec<&str> =
                branch.transcript.turns.iter().filter_map(|turn| turn.id.as_deref()).collect();
            branch.transcript.tokens = of_replies(state, &replies);
        };
        out.branches.iter_mut().for_each(of_branch);
    }
    let status = some_text(state, "/execution_status");
    out.exit_status = status.map(str::to_owned);
    out.ended = match status {
        Some("paused") => Some(Ending::Interrupted),
        Some("error" | "stuck") => Some(Ending::Error),
        Some("running") => Some(Ending::Crashed),
        _ => out.ended,
    };
}

/// The records of tokens, of one use of a model or of all.
fn usages<'s>(state: &'s Value, of: Option<&str>) -> Vec<&'s Value> {
    let uses = at(state, "/stats/usage_to_metrics").and_then(Value::as_object);
    let uses = uses.into_iter().flatten().filter(|(name, _)| of.is_none_or(|of| of == *name));
    let mut seen = BTreeSet::new();
    uses.flat_map(|(_, metrics)| list(metrics, "/token_usages"))
        .filter(|usage| {
            let id = text(*usage, "/response_id").unwrap_or_default();
            id.is_empty() || seen.insert(id.to_owned())
        })
        .collect()
}

fn sum(usages: &[&Value]) -> Option<Tokens> {
    let tokens = |usage: &&Value| Tokens {
        input: count(*usage, "/prompt_tokens"),
        output: count(*usage, "/completion_tokens"),
    };
    (!usages.is_empty()).then(|| usages.iter().map(tokens).fold(Tokens::default(), Tokens::plus))
}

fn spent(state: &Value, of: Option<&str>) -> Option<Tokens> {
    sum(&usages(state, of))
}

fn of_replies(state: &Value, replies: &[&str]) -> Option<Tokens> {
    let all = usages(state, None);
    let told =
        all.into_iter().filter(|usage| text(*usage, "/response_id").is_some_and(|id| replies.contains(&id)));
    sum(&told.collect::<Vec<_>>())
}

fn transcript(events: &[Value], active: &BTreeSet<usize>, texts: &Texts) -> Transcript {
    let mut draft = Draft::new(texts);
    for (_, event) in events.iter().enumerate().filter(|(place, _)| active.contains(place)) {
        add(&mut draft, event);
    }
    draft.finish()
}

fn add(draft: &mut Draft<'_>, event: &Value) {
    let call_id = text(event, "/tool_call_id").unwrap_or_default();
    match text(event, "/kind").unwrap_or_default() {
        "ActionEvent" => action(draft, event),
        "MessageEvent" => message(draft, event),
        "ObservationEvent" => {
            let content_text = content(&event["observation"]["content"], &mut draft.pictures);
            let failed = is_true(event, "/observation/is_error");
            let id = text(event, "/action_id").filter(|id| draft.knows(id)).unwrap_or(call_id);
            draft.answer(id, &Answer { text: content_text, failed });
        }
        "AgentErrorEvent" => {
            let error_text = text(event, "/error").unwrap_or_default().to_owned();
            draft.answer(call_id, &Answer { text: error_text, failed: true });
        }
        "UserRejectObservation" => {
            let told = text(event, "/rejection_reason").unwrap_or_default().to_owned();
            draft.answer(call_id, &Answer { text: told, failed: true });
        }
        "PauseEvent" | "InterruptEvent" => draft.out.ended = Some(Ending::Interrupted),
        "ConversationErrorEvent" => draft.out.ended = Some(Ending::Error),
        _ => {}
    }
}

fn action(draft: &mut Draft<'_>, event: &Value) {
    draft.out.ended = None;
    let reply = text(event, "/llm_response_id").or_else(|| text(event, "/id")).unwrap_or_default();
    let turn = draft.turn(reply);
    think(draft, turn, event);
    let words = content(&event["thought"], &mut draft.pictures);
    draft.say(turn, &words);
    let name = text(event, "/tool_name").unwrap_or_default().to_owned();
    let told = arguments(&event["tool_call"]["arguments"]);
    let lost = !has(event, "/action")
        || told.as_ref().is_some_and(|told| told.contains_key("_openhands_malformed_tool_call"));
    let arguments = told.filter(|_| !lost);
    let id = text(event, "/tool_call_id").unwrap_or_default().to_owned();
    let answer = arguments.as_ref().filter(|_| name == "finish").and_then(|told| told.get("message"));
    draft.out.final_answer = answer.and_then(Value::as_str).map(|answer| draft.texts.keep(answer));
    draft.call(turn, Call { id, name, arguments, ..Call::default() });
    draft.also(turn, text(event, "/id").unwrap_or_default());
}

fn think(draft: &mut Draft<'_>, turn: usize, event: &Value) {
    match some_text(event, "/reasoning_content") {
        Some(thought) => draft.think(turn, thought),
        None => {
            let blocks =
                list(event, "/thinking_blocks").iter().filter_map(|block| some_text(block, "/thinking"));
            blocks.for_each(|thought| draft.think(turn, thought));
        }
    }
}

fn message(draft: &mut Draft<'_>, event: &Value) {
    let words = content(&event["llm_message"]["content"], &mut draft.pictures);
    match text(event, "/source") {
        Some("user") => draft.prompt(&words),
        Some("agent") => {
            let reply = text(event, "/llm_response_id").or_else(|| text(event, "/id")).unwrap_or_default();
            let turn = draft.turn(reply);
            think(draft, turn, &event["llm_message"]);
            draft.say(turn, &words);
            draft.out.final_answer = None;
        }
        _ => {}
    }
}
