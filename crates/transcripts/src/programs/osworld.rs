//! The folder of a task in OSWorld's result tree: `traj.jsonl`, a screenshot per step, `result.txt`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{at, has, is_true, some_text, text};
use crate::lines::Lines;
use crate::model::{Call, Ending, Log, Program, Target, Verdict};
use crate::pictures::of_bytes;
use crate::texts::Texts;

const PROGRAM: &str = Program::Osworld.name();
/// The name of the file of steps.
pub(crate) const STEPS_FILE: &str = "traj.jsonl";
/// Maximum number of files that are looked at for pictures.
const MAX_FILES: usize = 10_000;

/// Reads a task.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let mut log = Log::new(Program::Osworld, path);
    let mut draft = Draft::new(texts);
    draft.out.name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = |name: &str| optional(&path.join(name));
    let status: Value =
        aside("status.json").and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    draft.prompt(text(&status, "/instruction").unwrap_or_default());
    draft.out.exit_status = some_text(&status, "/stop_reason").map(str::to_owned);
    draft.out.model = model(path);
    steps(path, &mut draft, &mut log.notes)?;
    pictures(path, &mut draft)?;
    let result = aside("result.txt").and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(reward) = result.and_then(|result| result.trim().parse::<f64>().ok()) {
        draft.out.verdict = Some(Verdict::Reward(reward));
        draft.out.judge = Some("the task's checks (result.txt)".to_owned());
    }
    if draft.out.prompts.is_empty() {
        draft.out.missing.push("the instruction: OSWorld keeps it with the task".to_owned());
    }
    log.transcripts.push(draft.finish());
    Ok(log)
}

fn optional(path: &Path) -> Option<Vec<u8>> {
    apprentice_files::read_at_most(path, document::MAX_DOCUMENT_BYTES).ok()
}

/// The model: from the arguments of the run, or by the place in the tree, `<model>/<application>/<task>`.
fn model(path: &Path) -> Option<String> {
    let whole = path.canonicalize().ok()?;
    let folder = whole.ancestors().nth(2)?;
    let arguments: Option<Value> =
        optional(&folder.join("args.json")).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    arguments.and_then(|arguments| some_text(&arguments, "/model").map(str::to_owned))
}

fn steps(path: &Path, draft: &mut Draft<'_>, notes: &mut Vec<String>) -> Result<(), ReadError> {
    let mut lines = Lines::open(&path.join(STEPS_FILE))?;
    let mut last = None;
    while let Some(found) = lines.next()? {
        let line: Value = match serde_json::from_slice(found.bytes) {
            Ok(line) => line,
            Err(error) => {
                notes.push(found.broken(path, PROGRAM, &error)?);
                continue;
            }
        };
        if has(&line, "/Error") {
            draft.out.ended = Some(Ending::Error);
            continue;
        }
        let step = line["step_num"].clone();
        let turn = match last.as_ref() {
            Some((known, turn)) if *known == step => *turn,
            _ => {
                let turn = draft.new_turn(None);
                draft.say(turn, &response(&line["response"]));
                turn
            }
        };
        last = Some((step, turn));
        action(draft, turn, &line);
        if is_true(&line, "/done") && text(&line, "/action") == Some("FAIL") {
            draft.out.own_claim = Some(false);
        } else if is_true(&line, "/done") && text(&line, "/action") == Some("DONE") {
            draft.out.own_claim = Some(true);
            draft.out.final_answer = Some(draft.at(turn).text.clone()).filter(|text| !text.is_empty());
        }
    }
    Ok(())
}

/// What the model said, which some agents keep as a list.
fn response(told: &Value) -> String {
    match told {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn action(draft: &mut Draft<'_>, turn: usize, line: &Value) {
    let place = draft.at(turn).calls.len();
    let id = format!("{turn}.{place}");
    let told = &line["action"];
    let (name, arguments) = match told {
        Value::String(word) if matches!(word.as_str(), "DONE" | "FAIL" | "WAIT") => {
            (word.clone(), Map::new())
        }
        Value::String(code) => ("pyautogui".to_owned(), Map::from_iter([("code".to_owned(), json!(code))])),
        other => {
            let name = text(other, "/action_type").unwrap_or("action").to_owned();
            (name, other["parameters"].as_object().cloned().unwrap_or_default())
        }
    };
    let info = &line["info"];
    let of = |axis: &str| at(info, &format!("/point/{axis}")).and_then(Value::as_f64);
    let target = Target {
        role: some_text(info, "/target_role").map(str::to_owned),
        name: some_text(info, "/target_name").map(str::to_owned),
        point: of("x").zip(of("y")),
    };
    let target = (target != Target::default()).then_some(target);
    draft.call(turn, Call { id: id.clone(), name, arguments: Some(arguments), target, ..Call::default() });
    let failed = some_text(info, "/fail");
    draft.answer(&id, &Answer { text: failed.unwrap_or_default().to_owned(), failed: failed.is_some() });
}

fn pictures(path: &Path, draft: &mut Draft<'_>) -> Result<(), ReadError> {
    let entries = std::fs::read_dir(path).map_err(|error| ReadError::file(path, error))?;
    let files: BTreeSet<_> = entries.flatten().take(MAX_FILES).map(|entry| entry.path()).collect();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "png")) {
        draft.pictures.add(of_bytes(&document::bytes(file)?));
    }
    Ok(())
}
