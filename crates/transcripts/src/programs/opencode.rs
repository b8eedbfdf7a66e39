//! What `opencode export` writes: `{info, messages: [{info, parts}]}`.
//!
//! Measured with 1.18.33: call and result are one part; tokens of a message stand again in its `step-finish` part; input is without the
//! cache and output without reasoning.

use std::path::Path;

use serde_json::Value;

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, count, has, is_true, list, some_text, text};
use crate::model::{Call, Ending, Log, Program, Tokens};
use crate::texts::Texts;

/// Reads an export.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let export = document::read(path, Program::Opencode.name())?;
    let mut log = Log::new(Program::Opencode, path);
    log.version = some_text(&export, "/info/version").map(str::to_owned);
    let mut draft = Draft::new(texts);
    draft.out.name = text(&export, "/info/id").unwrap_or_default().to_owned();
    for message in list(&export, "/messages") {
        match text(message, "/info/role") {
            Some("assistant") => reply(&mut draft, message),
            Some("user") => prompt(&mut draft, message),
            _ => {}
        }
    }
    log.transcripts.push(draft.finish());
    Ok(log)
}

fn prompt(draft: &mut Draft<'_>, message: &Value) {
    // Files that the program read for the person are parts with this mark.
    let parts = list(message, "/parts").iter().filter(|part| !is_true(*part, "/synthetic"));
    let words: Vec<&str> = parts.filter_map(|part| some_text(part, "/text")).collect();
    let words = words.join("\n");
    // `opencode run "two words"` keeps the quotes of its argument.
    let bare = words.strip_prefix('"').and_then(|words| words.strip_suffix('"'));
    draft.prompt(bare.unwrap_or(&words));
    files(draft, list(message, "/parts"));
}

/// Counts pictures among files.
fn files(draft: &mut Draft<'_>, files: &[Value]) {
    let pictures =
        files.iter().filter(|file| text(*file, "/mime").is_some_and(|mime| mime.starts_with("image/")));
    pictures.filter_map(|file| some_text(file, "/url")).for_each(|url| draft.pictures.add_url(url));
}

fn reply(draft: &mut Draft<'_>, message: &Value) {
    if draft.out.model.is_none() {
        let of = |field: &str| some_text(message, field);
        draft.out.model = match (of("/info/providerID"), of("/info/modelID")) {
            (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
            (_, model) => model.map(str::to_owned),
        };
    }
    let turn = draft.new_turn(text(message, "/info/id"));
    for part in list(message, "/parts") {
        match text(part, "/type") {
            Some("reasoning") => draft.think(turn, text(part, "/text").unwrap_or_default()),
            Some("text") if !is_true(part, "/synthetic") => {
                draft.say(turn, text(part, "/text").unwrap_or_default());
            }
            Some("tool") => tool(draft, turn, part),
            _ => {}
        }
    }
    let told = &message["info"]["tokens"];
    if told.is_object() {
        draft.at(turn).tokens = Some(Tokens {
            input: count(told, "/input") + count(told, "/cache/read") + count(told, "/cache/write"),
            output: count(told, "/output") + count(told, "/reasoning"),
        });
    }
    let error = text(message, "/info/error/name");
    draft.out.ended = match error {
        Some("MessageAbortedError") => Some(Ending::Interrupted),
        Some(_) => Some(Ending::Error),
        None => None,
    };
    draft.at(turn).unfinished = error.is_some();
}

fn tool(draft: &mut Draft<'_>, turn: usize, part: &Value) {
    let (id, name) = (text(part, "/callID").unwrap_or_default(), text(part, "/tool").unwrap_or_default());
    let arguments = arguments(&part["state"]["input"]);
    draft.call(turn, Call { id: id.to_owned(), name: name.to_owned(), arguments, ..Call::default() });
    let status = text(part, "/state/status").unwrap_or_default();
    let told =
        some_text(part, "/state/output").or_else(|| some_text(part, "/state/error")).unwrap_or_default();
    let failed = status == "error";
    if status == "completed" || failed || has(part, "/state/output") {
        draft.answer(id, &Answer { text: told.to_owned(), failed });
    }
    files(draft, list(part, "/state/attachments"));
}
