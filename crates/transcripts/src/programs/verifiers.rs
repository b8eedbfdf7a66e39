//! Traces of verifiers: `outputs/<run>/traces.jsonl`, an episode with its traces per line.
//!
//! Measured with 0.4.0: a trace is a graph of messages by index, so nodes before a fork stand on several paths; prompt tokens are
//! without cached ones; that a tool raised is told by words alone.

use std::path::Path;

use serde_json::Value;

use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, at, content, count, has, is_true, list, some_text, tells_failure, text};
use crate::lines::Lines;
use crate::model::{Branch, Call, Ending, Log, Program, Tokens, Transcript, Verdict};
use crate::texts::Texts;
use crate::tree::Tree;

const PROGRAM: &str = Program::Verifiers.name();
/// The version of a trace that is known.
const KNOWN: u64 = 1;

/// Reads a file of episodes.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let mut log = Log::new(Program::Verifiers, path);
    let mut lines = Lines::open(path)?;
    while let Some(found) = lines.next()? {
        match serde_json::from_slice::<Value>(found.bytes) {
            Ok(episode) => {
                for trace in list(&episode, "/traces") {
                    let version = count(trace, "/version");
                    if version != KNOWN {
                        let found = format!("version {version} of its trace");
                        let (program, known) = (PROGRAM, "version 1");
                        return Err(ReadError::Unknown { path: path.to_owned(), program, found, known });
                    }
                    log.version = some_text(trace, "/verifiers/version").map(str::to_owned).or(log.version);
                    log.transcripts.push(read_trace(&episode, trace, texts));
                }
                if list(&episode, "/traces").is_empty() {
                    log.notes.push(format!("line {}: an episode without a trace", found.number));
                }
            }
            Err(error) => log.notes.push(found.broken(path, PROGRAM, &error)?),
        }
    }
    log.sampled = log.transcripts.len() > 1;
    Ok(log)
}

fn read_trace(episode: &Value, trace: &Value, texts: &Texts) -> Transcript {
    let nodes = list(trace, "/nodes");
    let mut tree = Tree::default();
    for (place, node) in nodes.iter().enumerate() {
        let parent = node.get("parent").and_then(Value::as_u64).map(|parent| parent.to_string());
        tree.add(&place.to_string(), parent.as_deref());
    }
    let Some(last) = tree.last() else { return head(episode, trace) };
    let mut out = on_path(trace, &tree.path(last), texts);
    let told = head(episode, trace);
    out.name = told.name;
    out.model = told.model;
    out.verdict = told.verdict;
    out.judge = told.judge;
    out.exit_status = told.exit_status;
    out.ended = told.ended;
    let leaves = tree.leaves();
    if leaves.len() > 1 {
        out.spent = spent(trace, None);
        out.branches = leaves
            .iter()
            .map(|leaf| Branch {
                leaf: (*leaf).to_owned(),
                transcript: on_path(trace, &tree.path(leaf), texts),
            })
            .collect();
    }
    out
}

/// What an episode says of a trace as a whole.
fn head(episode: &Value, trace: &Value) -> Transcript {
    let model = some_text(trace, "/agent/config/model").or_else(|| some_text(trace, "/calls/0/model"));
    let failed = !list(trace, "/errors").is_empty() || has(trace, "/error") || is_true(trace, "/is_timeout");
    let task = at(episode, "/task/data/idx").or_else(|| at(episode, "/task/data/id"));
    let task = task.map(|task| task.as_str().map_or_else(|| task.to_string(), str::to_owned));
    let verdict = reward(trace);
    Transcript {
        name: task.unwrap_or_else(|| text(trace, "/id").unwrap_or_default().to_owned()),
        model: model.map(str::to_owned),
        judge: verdict.map(|_| "the environment's rewards".to_owned()),
        verdict,
        exit_status: some_text(trace, "/stop_condition").map(str::to_owned),
        ended: failed.then_some(Ending::Error),
        ..Transcript::default()
    }
}

/// The reward: scores times their weights. `None` where scoring did not run.
fn reward(trace: &Value) -> Option<Verdict> {
    let rewards = trace.get("rewards")?.as_object().filter(|rewards| !rewards.is_empty())?;
    let mut sum = 0.0;
    for told in rewards.values() {
        let score = told.get("score").unwrap_or(told).as_f64()?;
        sum += score * told.get("weight").and_then(Value::as_f64).unwrap_or(1.0);
    }
    Some(Verdict::Reward(sum))
}

fn on_path(trace: &Value, path: &[usize], texts: &Texts) -> Transcript {
    let mut draft = Draft::new(texts);
    let nodes = list(trace, "/nodes");
    for node in path.iter().filter_map(|place| nodes.get(*place)) {
        let message = &node["message"];
        match text(message, "/role") {
            Some("assistant") if is_true(node, "/sampled") => reply(&mut draft, message),
            Some("user") => {
                let words = content(&message["content"], &mut draft.pictures);
                draft.prompt(&words);
            }
            Some("tool") => {
                let content_text = content(&message["content"], &mut draft.pictures);
                let failed = tells_failure(&content_text);
                let id = text(message, "/tool_call_id").unwrap_or_default();
                draft.answer(id, &Answer { text: content_text, failed });
            }
            _ => {}
        }
    }
    draft.out.tokens = spent(trace, Some(path));
    draft.finish()
}

fn reply(draft: &mut Draft<'_>, message: &Value) {
    let turn = draft.new_turn(None);
    draft.think(turn, text(message, "/reasoning_content").unwrap_or_default());
    let words = content(&message["content"], &mut draft.pictures);
    draft.say(turn, &words);
    for call in list(message, "/tool_calls") {
        let name = text(call, "/name").or_else(|| text(call, "/function/name")).unwrap_or_default();
        let told = call.get("arguments").or_else(|| at(call, "/function/arguments"));
        let id = text(call, "/id").unwrap_or_default().to_owned();
        let arguments = arguments(told.unwrap_or(&Value::Null));
        draft.call(turn, Call { id, name: name.to_owned(), arguments, ..Call::default() });
    }
}

/// What the calls of the model cost: all of them, or those that made the nodes of a path.
fn spent(trace: &Value, path: Option<&[usize]>) -> Option<Tokens> {
    let of_path = |call: &&Value| {
        let node = call.get("node").and_then(Value::as_u64).and_then(|node| usize::try_from(node).ok());
        path.is_none_or(|path| node.is_none_or(|node| path.contains(&node)))
    };
    let usages: Vec<&Value> = list(trace, "/calls")
        .iter()
        .filter(of_path)
        .filter_map(|call| call.get("usage").filter(|usage| usage.is_object()))
        .collect();
    let tokens = |usage: &&Value| Tokens {
        input: count(*usage, "/prompt_tokens") + count(*usage, "/cached_input_tokens"),
        output: count(*usage, "/completion_tokens"),
    };
    (!usages.is_empty()).then(|| usages.iter().map(tokens).fold(Tokens::default(), Tokens::plus))
}
