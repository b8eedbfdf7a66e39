//! Says which program wrote a file or a folder, or what else it seems to be.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::document;
use crate::error::ReadError;
use crate::lines::Lines;
use crate::model::Program;
use crate::programs::{cua_agent, inspect, openhands, osworld};
use crate::unpacked;

/// Bytes of a file that are read to say what it is.
const START_BYTES: u64 = 4096;
/// Lines that are read to say what a file is.
const LINES: usize = 40;
/// Types of lines of Claude Code that a session may begin with.
const CLAUDE_LINES: [&str; 12] = [
    "user",
    "assistant",
    "attachment",
    "system",
    "summary",
    "queue-operation",
    "last-prompt",
    "mode",
    "atis-latch",
    "tools-used",
    "progress",
    "file-history-snapshot",
];

/// What was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A log of a program.
    Of(Program),
    /// Something else, in words that follow "it".
    Other(String),
}

/// The fields by which files are told apart.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "type")]
    kind: Option<Value>,
    #[serde(rename = "sessionId")]
    session: Option<IgnoredAny>,
    #[serde(rename = "projectHash")]
    project: Option<IgnoredAny>,
    payload: Option<IgnoredAny>,
    cwd: Option<IgnoredAny>,
    traces: Option<IgnoredAny>,
    messages: Option<IgnoredAny>,
    prompt: Option<IgnoredAny>,
    completion: Option<IgnoredAny>,
    conversations: Option<IgnoredAny>,
    trajectory_format: Option<IgnoredAny>,
    history: Option<IgnoredAny>,
    trajectory: Option<IgnoredAny>,
    info: Option<Info>,
    schema_version: Option<Value>,
    eval: Option<IgnoredAny>,
    version: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Info {
    id: Option<IgnoredAny>,
    exit_status: Option<IgnoredAny>,
    model_stats: Option<IgnoredAny>,
}

/// Recognises a file or a folder. A folder of several logs is none itself.
///
/// # Errors
/// It cannot be opened, or is no plain file.
pub(crate) fn recognise(path: &Path) -> Result<Kind, ReadError> {
    let data = std::fs::metadata(path).map_err(|error| ReadError::file(path, error))?;
    if data.is_dir() {
        return Ok(folder(path));
    }
    let mut start = Vec::new();
    let read = unpacked::open(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    read.map_err(|error| ReadError::file(path, error))?;
    if start.starts_with(b"PK\x03\x04") {
        return Ok(if inspect::is_log(path)? {
            Kind::Of(Program::Inspect)
        } else {
            Kind::Other("is a ZIP file that holds no log of Inspect".to_owned())
        });
    }
    if let Some(what) = binary(&start) {
        return Ok(Kind::Other(what.to_owned()));
    }
    text(path, &start)
}

fn folder(path: &Path) -> Kind {
    let holds = |name: &str| path.join(name).exists();
    if holds(openhands::STATE_FILE) && holds(openhands::EVENTS_FOLDER) {
        return Kind::Of(Program::OpenHands);
    }
    if holds(osworld::STEPS_FILE) {
        return Kind::Of(Program::Osworld);
    }
    if holds(cua_agent::METADATA_FILE) {
        let told =
            apprentice_files::read_at_most(path.join(cua_agent::METADATA_FILE), document::MAX_DOCUMENT_BYTES);
        let told: Option<Value> = told.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if told.is_some_and(|told| told.get("trajectory_id").is_some()) || holds("turn_000") {
            return Kind::Of(Program::CuaAgent);
        }
    }
    Kind::Other("is a folder".to_owned())
}

/// What a file that is no text seems to be.
fn binary(start: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 11] = [
        (
            b"SQLite format 3\0",
            "is an SQLite database (opencode keeps one: `opencode export` writes what is read)",
        ),
        (b"\x1f\x8b", "is packed twice: unpack it first"),
        (b"\x28\xb5\x2f\xfd", "is packed twice: unpack it first"),
        (b"BZh", "is packed by bzip2: unpack it first"),
        (b"\xfd7zXZ", "is packed by xz: unpack it first"),
        (b"\x89PNG", "is a picture"),
        (b"\xff\xd8\xff", "is a picture"),
        (b"GIF8", "is a picture"),
        (b"PAR1", "is a Parquet file"),
        (b"%PDF", "is a PDF"),
        (b"\x7fELF", "is a program"),
    ];
    let found = known.into_iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, what)| what);
    let cut = |error: std::str::Utf8Error| error.error_len().is_none();
    found
        .or_else(|| start.is_empty().then_some("is empty"))
        .or_else(|| start.contains(&0).then_some("is no text"))
        .or_else(|| (!std::str::from_utf8(start).map_or_else(cut, |_| true)).then_some("is no text in UTF-8"))
}

fn text(path: &Path, start: &[u8]) -> Result<Kind, ReadError> {
    let first = start.trim_ascii_start().first();
    if !matches!(first, Some(b'{' | b'[')) {
        return Ok(Kind::Other("is text and no JSON".to_owned()));
    }
    let mut lines = Lines::open(path)?;
    let (mut whole, mut first) = (0, None);
    while let Some(line) = lines.next()? {
        let Some(fields) = fields_of(line.bytes) else {
            // A document over several lines, or a list of conversations.
            if whole == 0 {
                break;
            } else {
                continue;
            };
        };
        if let Some(program) = of_fields(&fields) {
            return Ok(Kind::Of(program));
        }
        if first.is_none() {
            first = serde_json::from_slice::<Value>(line.bytes).ok();
        }
        whole += 1;
        if whole == LINES {
            break;
        }
    }
    match whole {
        0 => of_document(path),
        lines => Ok(Kind::Other(seems(first.as_ref(), if lines == 1 { "JSON" } else { "lines of JSON" }))),
    }
}

fn of_document(path: &Path) -> Result<Kind, ReadError> {
    let bytes = document::bytes(path)?;
    if let Some(program) = fields_of(&bytes).as_ref().and_then(of_fields) {
        return Ok(Kind::Of(program));
    }
    if let Ok(all) = serde_json::from_slice::<Vec<Value>>(&bytes)
        && let Some(first) = all.first().filter(|first| first.is_object())
        && let Some(program) = Fields::deserialize(first).ok().as_ref().and_then(of_fields)
        && matches!(program, Program::OpenAi | Program::ShareGpt)
    {
        return Ok(Kind::Of(program));
    }
    Ok(Kind::Other(match serde_json::from_slice::<Value>(&bytes) {
        Ok(document) => seems(Some(&document), "JSON"),
        Err(error) if error.is_eof() => format!("is JSON that is cut off ({error})"),
        Err(error) => format!("is JSON that is damaged ({error})"),
    }))
}

/// The fields of an object. Serde takes a list for a structure, too, and its first items for the first fields.
fn fields_of(bytes: &[u8]) -> Option<Fields> {
    let is_object = bytes.trim_ascii_start().first() == Some(&b'{');
    is_object.then(|| serde_json::from_slice(bytes).ok()).flatten()
}

fn of_fields(fields: &Fields) -> Option<Program> {
    let kind = fields.kind.as_ref().and_then(Value::as_str);
    let schema = fields.schema_version.as_ref().and_then(Value::as_str);
    if schema.is_some_and(|schema| schema.starts_with("ATIF")) {
        return Some(Program::Atif);
    }
    if fields.project.is_some() && fields.session.is_some() {
        return Some(Program::GeminiCli);
    }
    if fields.session.is_some() && kind.is_some_and(|kind| CLAUDE_LINES.contains(&kind)) {
        return Some(Program::ClaudeCode);
    }
    let codex = ["session_meta", "response_item", "event_msg", "turn_context"];
    if fields.payload.is_some() && kind.is_some_and(|kind| codex.contains(&kind)) {
        return Some(Program::Codex);
    }
    if kind == Some("session") && fields.version.is_some() && fields.cwd.is_some() {
        return Some(Program::Pi);
    }
    if fields.traces.is_some() {
        return Some(Program::Verifiers);
    }
    let info = fields.info.as_ref();
    let swe = info.is_some_and(|info| info.exit_status.is_some() || info.model_stats.is_some());
    if fields.trajectory_format.is_some() || (swe && fields.messages.is_some()) {
        return Some(Program::MiniSweAgent);
    }
    if info.is_some_and(|info| info.id.is_some()) && fields.messages.is_some() {
        return Some(Program::Opencode);
    }
    if fields.eval.is_some() && fields.version.is_some() {
        return Some(Program::Inspect);
    }
    if fields.history.is_some() && fields.trajectory.is_none() {
        return Some(Program::BrowserUse);
    }
    if fields.conversations.is_some() {
        return Some(Program::ShareGpt);
    }
    let completed = fields.prompt.is_some() && fields.completion.is_some();
    (fields.messages.is_some() || completed).then_some(Program::OpenAi)
}

/// Forms of programs that are not read, by what their first object or item holds: SWE-agent 1, the first sessions of Codex CLI (before
/// `session_meta`), events of OpenHands before its SDK, a message in opencode's folder of files.
fn not_read(value: &Value) -> Option<&'static str> {
    let value = value.as_array().map_or(Some(value), |items| items.first())?;
    let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
    if has(&["trajectory", "history", "info"]) {
        Some("is a trajectory of SWE-agent (mini-swe-agent's are read)")
    } else if has(&["id", "timestamp", "instructions"]) && !has(&["payload"]) {
        Some("is a session of Codex CLI in the form of its first versions, before `session_meta`")
    } else if has(&["source"]) && (has(&["action", "args"]) || has(&["observation", "extras"])) {
        Some("is a list of events of OpenHands before its SDK (conversations of the SDK are read)")
    } else if has(&["sessionID"]) && has(&["id"]) {
        Some("is a part of opencode's own files (`opencode export` writes what is read)")
    } else {
        None
    }
}

/// What JSON of an unknown form holds, in words.
fn seems(value: Option<&Value>, what: &str) -> String {
    if let Some(known) = value.and_then(not_read) {
        return known.to_owned();
    }
    match value {
        Some(Value::Object(fields)) if fields.is_empty() => format!("is {what} without fields"),
        Some(Value::Object(fields)) => {
            let names: Vec<String> =
                fields.keys().take(6).map(|name| format!("{:?}", crate::texts::start(name, 40))).collect();
            format!("is {what} with the fields {}", names.join(", "))
        }
        Some(Value::Array(items)) => format!("is a list of {} in JSON", items.len()),
        _ => format!("is {what} without fields"),
    }
}
