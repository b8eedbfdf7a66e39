//! Trajectories in Harbor's Agent Trajectory Interchange Format, versions 1.0 to 1.8, such as `apprentice export` writes.

use std::path::Path;

use serde_json::Value;

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, at, content, count, list, some_text, tells_failure, text};
use crate::model::{Call, Ending, Log, Program, Target, Tokens, Verdict};
use crate::texts::Texts;

const PROGRAM: &str = Program::Atif.name();

/// Reads a trajectory.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let document = document::read(path, PROGRAM)?;
    let version = text(&document, "/schema_version").unwrap_or_default();
    let minor = version.strip_prefix("ATIF-v1.").and_then(|minor| minor.parse::<u32>().ok());
    if minor.is_none_or(|minor| minor > 8) {
        let (found, known) = (format!("version {version:?}"), "ATIF-v1.0 to ATIF-v1.8");
        return Err(ReadError::Unknown { path: path.to_owned(), program: PROGRAM, found, known });
    }
    let mut log = Log::new(Program::Atif, path);
    log.version = Some(version.to_owned());
    let mut draft = Draft::new(texts);
    draft.out.name = text(&document, "/session_id").unwrap_or_default().to_owned();
    draft.out.model = some_text(&document, "/agent/model_name").map(str::to_owned);
    for step in list(&document, "/steps") {
        if draft.out.started.is_none() {
            draft.out.started = some_text(step, "/timestamp").map(str::to_owned);
        }
        match text(step, "/source") {
            Some("agent") => reply(&mut draft, step),
            Some("user") => {
                let words = content(&step["message"], &mut draft.pictures);
                draft.prompt(&words);
            }
            _ => {}
        }
    }
    judged(&mut draft, &document);
    log.transcripts.push(draft.finish());
    Ok(log)
}

/// The verdict of `apprentice`, which stands among what the format leaves free.
fn judged(draft: &mut Draft<'_>, document: &Value) {
    let extra = &document["extra"];
    draft.out.exit_status = some_text(extra, "/stop_reason").map(str::to_owned);
    draft.out.verdict = match text(extra, "/verdict") {
        Some("pass") => Some(Verdict::Passed(true)),
        Some("fail") => Some(Verdict::Passed(false)),
        Some("void") => {
            draft.out.ended = Some(Ending::Error);
            None
        }
        _ => None,
    };
    draft.out.judge = draft.out.verdict.map(|_| "the task's checks".to_owned());
    let total = &document["final_metrics"];
    let told = total.get("total_prompt_tokens").is_some_and(Value::is_u64);
    if told && draft.out.turns.iter().all(|turn| turn.tokens.is_none()) {
        let (input, output) =
            (count(total, "/total_prompt_tokens"), count(total, "/total_completion_tokens"));
        draft.out.tokens = Some(Tokens { input, output });
    }
}

fn reply(draft: &mut Draft<'_>, step: &Value) {
    let turn = draft.new_turn(None);
    draft.think(turn, text(step, "/reasoning_content").unwrap_or_default());
    let words = content(&step["message"], &mut draft.pictures);
    draft.say(turn, &words);
    for (place, call) in list(step, "/tool_calls").iter().enumerate() {
        let id = text(call, "/tool_call_id").unwrap_or_default().to_owned();
        let name = text(call, "/function_name").unwrap_or_default().to_owned();
        let arguments = arguments(&call["arguments"]);
        let target = target(&step["extra"]["actions"][place]);
        draft.call(turn, Call { id, name, arguments, target, ..Call::default() });
    }
    if step["metrics"].get("prompt_tokens").is_some_and(Value::is_u64) {
        let (input, output) =
            (count(step, "/metrics/prompt_tokens"), count(step, "/metrics/completion_tokens"));
        draft.at(turn).tokens = Some(Tokens { input, output });
    }
    for result in list(step, "/observation/results") {
        let content_text = content(&result["content"], &mut draft.pictures);
        let Some(id) = text(result, "/source_call_id") else { continue };
        let failed = tells_failure(&content_text);
        draft.answer(id, &Answer { text: content_text, failed });
    }
}

/// What an action of `apprentice` was aimed at.
fn target(action: &Value) -> Option<Target> {
    let (role, name) = (some_text(action, "/target_role"), some_text(action, "/target_name"));
    let of = |axis: &str| at(action, &format!("/screen_point/{axis}")).and_then(Value::as_f64);
    let point = of("x").zip(of("y"));
    let target = Target { role: role.map(str::to_owned), name: name.map(str::to_owned), point };
    (target != Target::default()).then_some(target)
}
