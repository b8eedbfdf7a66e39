//! Histories of browser-use: `{history: [{model_output, result, state, metadata, state_message}]}`.
//!
//! Measured with 0.13.14: actions are paired with results by their place; an act on a thing that is not there has no `error` and
//! tells it in words; `success` is the agent's claim, `judgement` a second model's. Neither model nor tokens are in the file.

use std::path::Path;

use serde_json::{Map, Value};

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{at, has, is_true, list, some_text, tells_failure, text};
use crate::model::{Call, Log, Program, Target, Verdict};
use crate::pictures::of_base64;
use crate::texts::{Texts, start};

/// Actions whose result is text of a page or a file: its words tell nothing of the action.
const READERS: [&str; 8] = [
    "extract",
    "done",
    "read_file",
    "search",
    "search_page",
    "find_elements",
    "evaluate",
    "dropdown_options",
];
/// Words of an error that is no reply of the model.
const NO_REPLY: [&str; 6] = ["rate limit", "timed out", "timeout", "connection", "status code", "api key"];

/// Reads a history.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let document = document::read(path, Program::BrowserUse.name())?;
    let mut log = Log::new(Program::BrowserUse, path);
    let mut draft = Draft::new(texts);
    for (step, entry) in list(&document, "/history").iter().enumerate() {
        if step == 0 {
            let task = task(text(entry, "/state_message").unwrap_or_default());
            draft.prompt(task);
        }
        add_step(&mut draft, step, entry);
    }
    draft.out.missing.push("the model and its tokens: this program does not log them".to_owned());
    log.transcripts.push(draft.finish());
    Ok(log)
}

/// The task, which stands in the message about the first state.
fn task(message: &str) -> &str {
    let asked = message.split_once("<user_request>").and_then(|(_, rest)| rest.split_once("</user_request>"));
    asked.map_or_else(|| message.split("\n\n").next().unwrap_or_default(), |(asked, _)| asked).trim()
}

fn add_step(draft: &mut Draft<'_>, step: usize, entry: &Value) {
    let results = list(entry, "/result");
    pictures(draft, entry, results);
    let output = &entry["model_output"];
    if output.is_null() {
        let Some(error) = results.iter().find_map(|result| some_text(result, "/error")) else { return };
        let lower = error.to_lowercase();
        if NO_REPLY.iter().any(|words| lower.contains(words)) {
            draft.out.retried_errors += 1;
            return;
        }
        let turn = draft.new_turn(None);
        draft.at(turn).malformed = true;
        return;
    }
    let turn = draft.new_turn(None);
    draft.at(turn).seen =
        some_text(entry, "/state/title").or_else(|| some_text(entry, "/state/url")).map(str::to_owned);
    let fields = ["/thinking", "/evaluation_previous_goal", "/memory", "/next_goal"];
    let thought: Vec<&str> = fields.iter().filter_map(|field| some_text(output, field)).collect();
    draft.think(turn, &thought.join("\n"));
    for (place, action) in list(output, "/action").iter().enumerate() {
        let Some((name, arguments)) =
            action.as_object().and_then(|action| action.iter().find(|(_, value)| !value.is_null()))
        else {
            continue;
        };
        let id = format!("{step}.{place}");
        let arguments = Some(arguments.as_object().cloned().unwrap_or_else(Map::new));
        let element = at(entry, &format!("/state/interacted_element/{place}"));
        let target = target(element.unwrap_or(&Value::Null), results.get(place));
        // What was left out after an action that failed did not happen.
        let failed = results.get(place).is_none();
        draft.call(
            turn,
            Call { id: id.clone(), name: name.clone(), arguments, failed, target, ..Call::default() },
        );
        if let Some(result) = results.get(place) {
            draft.answer(&id, &answer(name, result));
            ending(draft, result);
        }
    }
}

fn answer(name: &str, result: &Value) -> Answer {
    let said = some_text(result, "/extracted_content").unwrap_or_default();
    if let Some(error) = some_text(result, "/error") {
        return Answer { text: error.to_owned(), failed: true };
    }
    let first = start(said.lines().next().unwrap_or_default(), 200).to_lowercase();
    let in_words = tells_failure(said) || first.contains(" not available") || first.contains(" not found");
    Answer { text: said.to_owned(), failed: in_words && !READERS.contains(&name) }
}

/// Takes what the result of the last action says of the whole.
fn ending(draft: &mut Draft<'_>, result: &Value) {
    if !is_true(result, "/is_done") {
        return;
    }
    draft.out.own_claim = result.get("success").and_then(Value::as_bool);
    draft.out.final_answer = some_text(result, "/extracted_content").map(|text| draft.texts.keep(text));
    if let Some(verdict) = at(result, "/judgement/verdict").and_then(Value::as_bool) {
        draft.out.verdict = Some(Verdict::Passed(verdict));
        draft.out.judge = Some("a model (judgement.verdict)".to_owned());
    }
}

fn pictures(draft: &mut Draft<'_>, entry: &Value, results: &[Value]) {
    if let Some(path) = some_text(entry, "/state/screenshot_path") {
        draft.pictures.add_path(path);
    }
    let inside = some_text(entry, "/state/screenshot").into_iter();
    let of_results = results
        .iter()
        .flat_map(|result| list(result, "/images"))
        .filter_map(|image| some_text(image, "/data"));
    inside.chain(of_results).for_each(|data| draft.pictures.add(of_base64(data)));
}

/// The element of an action: its role, name and point.
fn target(element: &Value, result: Option<&Value>) -> Option<Target> {
    let number = |value: &Value, pointer: &str| at(value, pointer).and_then(Value::as_f64);
    let point = result.and_then(|result| {
        let of = |act: &str| {
            let (x, y) = (
                number(result, &format!("/metadata/{act}_x"))?,
                number(result, &format!("/metadata/{act}_y"))?,
            );
            Some((x, y))
        };
        of("click").or_else(|| of("input"))
    });
    let middle = || {
        let (x, y) = (number(element, "/bounds/x")?, number(element, "/bounds/y")?);
        Some((x + number(element, "/bounds/width")? / 2.0, y + number(element, "/bounds/height")? / 2.0))
    };
    if !has(element, "/node_name") && point.is_none() {
        return None;
    }
    let name = some_text(element, "/ax_name").or_else(|| some_text(element, "/attributes/aria-label"));
    Some(Target {
        role: some_text(element, "/node_name").map(str::to_lowercase),
        name: name.map(str::to_owned),
        point: point.or_else(middle),
    })
}
