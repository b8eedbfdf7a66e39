//! Logs of Inspect, version 2: a ZIP of JSON, whose members are packed by Zstandard or deflate, or one JSON document.
//!
//! Measured with 0.3.285: pictures are `attachment://<hash>` and stand in the sample's attachments; tokens of an attempt that failed
//! are in the header alone; a sample that ended by an error has no score and says that it is complete.

mod zip;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use self::zip::Archive;
use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, at, content, count, has, list, some_text, text};
use crate::model::{Accuracy, Call, Ending, Log, Program, Tokens, Transcript, Verdict};
use crate::texts::Texts;

pub(crate) use self::zip::is_log;

const PROGRAM: &str = Program::Inspect.name();
/// The version of the format that is known.
const KNOWN: u64 = 2;

/// A log as one JSON document.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    samples: Option<Vec<&'a RawValue>>,
}

/// A sample. Its events repeat the messages, and are left out.
#[derive(Deserialize)]
struct Sample<'a> {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    epoch: u64,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    scores: Value,
    #[serde(default)]
    model_usage: Value,
    #[serde(default)]
    error: Value,
    #[serde(borrow, default)]
    error_retries: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    attachments: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    #[serde(default)]
    started_at: Value,
    #[serde(default)]
    limit: Value,
}

/// Reads a packed log.
pub(crate) fn read_packed(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let mut archive = Archive::open(path)?;
    let mut log = Log::new(Program::Inspect, path);
    let header = match archive.member("header.json")? {
        Some(header) => document::parse(path, PROGRAM, &header)?,
        None => {
            log.notes.push("the evaluation was not written to its end".to_owned());
            let start = archive.member("_journal/start.json")?.unwrap_or_default();
            document::parse(path, PROGRAM, &start)?
        }
    };
    head(&mut log, &header)?;
    let scorer = scorer(&header);
    for name in archive.samples()? {
        let bytes = archive.member(&name)?.unwrap_or_default();
        log.transcripts.push(sample(path, &bytes, scorer.as_deref(), texts)?);
    }
    Ok(log)
}

/// Reads a log that is one document.
pub(crate) fn read_document(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let bytes = document::bytes(path)?;
    let mut log = Log::new(Program::Inspect, path);
    let mut header = document::parse(path, PROGRAM, &bytes)?;
    if let Some(header) = header.as_object_mut() {
        header.remove("samples");
    }
    head(&mut log, &header)?;
    let parsed: Document<'_> = serde_json::from_slice(&bytes).map_err(|error| damaged(path, &error))?;
    let scorer = scorer(&header);
    for raw in parsed.samples.unwrap_or_default() {
        log.transcripts.push(sample(path, raw.get().as_bytes(), scorer.as_deref(), texts)?);
    }
    Ok(log)
}

fn damaged(path: &Path, error: &serde_json::Error) -> ReadError {
    ReadError::Damaged { path: path.to_owned(), program: PROGRAM, line: None, why: error.to_string() }
}

/// Takes what the header says of the whole.
fn head(log: &mut Log, header: &Value) -> Result<(), ReadError> {
    let version = count(header, "/version");
    if version != KNOWN {
        let found = format!("version {version} of its format");
        return Err(ReadError::Unknown {
            path: log.path.clone(),
            program: PROGRAM,
            found,
            known: "version 2",
        });
    }
    log.sampled = true;
    log.version = some_text(header, "/eval/packages/inspect_ai").map(str::to_owned);
    log.model = some_text(header, "/eval/model").map(str::to_owned);
    log.tokens_of_the_header = usage(&header["stats"]["model_usage"]);
    if let Some(status) = some_text(header, "/status").filter(|status| *status != "success") {
        log.notes.push(format!("the evaluation's status is {status}"));
    }
    let results = &header["results"];
    let (of, samples) = (count(results, "/completed_samples"), count(results, "/total_samples"));
    let told = at(results, "/scores/0/metrics/accuracy/value").and_then(Value::as_f64);
    log.accuracy = told.filter(|_| of != samples).map(|told| Accuracy { told, of, samples });
    Ok(())
}

/// The scorer whose score counts.
fn scorer(header: &Value) -> Option<String> {
    let headline = some_text(header, "/results/headline/scorer");
    headline.or_else(|| some_text(header, "/results/scores/0/scorer")).map(str::to_owned)
}

/// Tokens of all models. Whether input holds the cache is told by the total, as providers differ.
fn usage(told: &Value) -> Option<Tokens> {
    let models = told.as_object()?;
    Some(models.values().fold(Tokens::default(), |sum, usage| {
        let (input, output) = (count(usage, "/input_tokens"), count(usage, "/output_tokens"));
        let cached = count(usage, "/input_tokens_cache_read") + count(usage, "/input_tokens_cache_write");
        let whole = has(usage, "/total_tokens") && count(usage, "/total_tokens") == input + output;
        sum.plus(Tokens { input: if whole { input } else { input + cached }, output })
    }))
}

fn sample(path: &Path, bytes: &[u8], scorer: Option<&str>, texts: &Texts) -> Result<Transcript, ReadError> {
    let document: Sample<'_> = serde_json::from_slice(bytes).map_err(|error| damaged(path, &error))?;
    let mut draft = Draft::new(texts);
    let name = document.id.as_str().map_or_else(|| document.id.to_string(), str::to_owned);
    draft.out.name = if document.epoch > 1 { format!("{name}, epoch {}", document.epoch) } else { name };
    draft.out.started = document.started_at.as_str().map(str::to_owned);
    for message in &document.messages {
        add(&mut draft, message, &document.attachments);
    }
    if document.messages.is_empty() {
        let text = content(&document.input, &mut draft.pictures);
        draft.prompt(&text);
    }
    let pictures = document.attachments.values().filter(|held| held.starts_with("data:image/"));
    pictures.for_each(|picture| draft.pictures.add_url(picture));
    draft.out.tokens = usage(&document.model_usage);
    draft.out.retried_errors = document.error_retries.as_ref().map_or(0, Vec::len);
    draft.out.exit_status = some_text(&document.limit, "/type").map(|limit| format!("limit: {limit}"));
    if document.error.is_null() {
        let score = score(&document.scores, scorer);
        draft.out.verdict = score.as_ref().map(|(verdict, _)| *verdict);
        draft.out.judge = score.map(|(_, scorer)| format!("the scorer {scorer}"));
    } else {
        draft.out.ended = Some(Ending::Error);
    }
    Ok(draft.finish())
}

/// The score that counts, and its scorer. Letters are those of Inspect: correct, incorrect, partly, no answer.
fn score(scores: &Value, scorer: Option<&str>) -> Option<(Verdict, String)> {
    let scores = scores.as_object()?;
    let chosen = scorer.and_then(|scorer| scores.get_key_value(scorer));
    let (name, told) = chosen.or_else(|| scores.iter().next())?;
    let verdict = match told.get("value")? {
        Value::String(letter) => match letter.as_str() {
            "C" => Verdict::Passed(true),
            "I" | "N" => Verdict::Passed(false),
            "P" => Verdict::Reward(0.5),
            number => Verdict::Reward(number.parse().ok()?),
        },
        Value::Bool(passed) => Verdict::Passed(*passed),
        Value::Number(number) => Verdict::Reward(number.as_f64()?),
        _ => return None,
    };
    Some((verdict, name.clone()))
}

fn add(draft: &mut Draft<'_>, message: &Value, attachments: &BTreeMap<Cow<'_, str>, Cow<'_, str>>) {
    let content_text = resolved(&message["content"], attachments);
    match text(message, "/role") {
        Some("user") => {
            let words = content(&content_text, &mut draft.pictures);
            draft.prompt(&words);
        }
        // What a solver put there is no reply.
        Some("assistant") if text(message, "/source") != Some("input") => {
            reply(draft, message, &content_text);
        }
        Some("tool") => {
            let error = some_text(message, "/error/message");
            let said = content(&content_text, &mut draft.pictures);
            let text_of = if said.is_empty() { error.unwrap_or_default().to_owned() } else { said };
            let failed = has(message, "/error");
            draft.answer(
                text(message, "/tool_call_id").unwrap_or_default(),
                &Answer { text: text_of, failed },
            );
        }
        _ => {}
    }
}

fn reply(draft: &mut Draft<'_>, message: &Value, told: &Value) {
    let turn = draft.new_turn(text(message, "/id"));
    for part in told.as_array().into_iter().flatten().filter(|part| text(*part, "/type") == Some("reasoning"))
    {
        let hidden = part["redacted"] == true;
        let thought =
            some_text(part, "/reasoning").filter(|_| !hidden).or_else(|| some_text(part, "/summary"));
        draft.think(turn, thought.unwrap_or_default());
    }
    let words = content(told, &mut draft.pictures);
    draft.say(turn, &words);
    for call in list(message, "/tool_calls") {
        let id = text(call, "/id").unwrap_or_default().to_owned();
        let name = text(call, "/function").unwrap_or_default().to_owned();
        let lost = has(call, "/parse_error");
        let arguments = arguments(&call["arguments"]).filter(|_| !lost);
        // How Inspect's own agents end.
        let answer = arguments.as_ref().filter(|_| name == "submit").and_then(|told| told.get("answer"));
        let answer = answer.and_then(Value::as_str).map(|answer| draft.texts.keep(answer));
        draft.out.final_answer = answer.or(draft.out.final_answer.take());
        draft.call(turn, Call { id, name, arguments, ..Call::default() });
    }
}

/// A message's content with what was put aside.
fn resolved(told: &Value, attachments: &BTreeMap<Cow<'_, str>, Cow<'_, str>>) -> Value {
    match told {
        Value::String(text) => {
            match text.strip_prefix("attachment://").and_then(|hash| attachments.get(hash)) {
                Some(held) => Value::String(held.clone().into_owned()),
                None => told.clone(),
            }
        }
        Value::Array(items) => items.iter().map(|item| resolved(item, attachments)).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, value)| (name.clone(), resolved(value, attachments))).collect(),
        ),
        other => other.clone(),
    }
}
