//! `apprentice trace read PATH…`: shows what is read of traces of other programs.

use std::fmt;
use std::path::PathBuf;

use apprentice_protocol::counted;
use apprentice_transcripts::{
    Call, Found, Log, Out, ReadError, ReadSummary, Tokens, Transcript, Verdict, find, in_order, read_each,
};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Maximum number of calls of a conversation that are shown.
const SHOWN_CALLS: usize = 20;
/// Maximum number of characters of a line about a call or an answer.
const SHOWN_CHARS: usize = 160;

/// The traces to read.
#[derive(Debug, Args)]
pub(crate) struct ReadTraces {
    /// Files and folders that other programs wrote: sessions of Claude Code, Codex CLI, Gemini CLI, pi and opencode (export),
    /// trajectories of mini-swe-agent, OpenHands SDK, cua-agent and OSWorld, histories of browser-use, traces of verifiers, logs of
    /// Inspect, ATIF, conversations in OpenAI's or ShareGPT's form; or folders with such files below.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Print one JSON object (`apprentice.trace.read/1`).
    #[arg(long)]
    json: bool,
}

/// The output of `trace read --json`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct TracesRead<L> {
    schema: &'static str,
    traces: Vec<L>,
    /// Traces that could not be read, and why.
    unread: Vec<Unread>,
}

/// A trace that could not be read.
#[derive(Serialize, JsonSchema)]
struct Unread {
    file: String,
    why: String,
}

/// Runs the command.
pub(in crate::commands) fn run(asked: &ReadTraces) -> Result<(), Failure> {
    let mut found = Vec::new();
    for path in &asked.paths {
        found.extend(find(path).map_err(|error| Failure::new(Kind::Config, error))?);
    }
    let mut logs = Vec::new();
    let mut unread = Vec::new();
    let mut shown = Ok(());
    in_order(
        &found,
        |trace, out| read(trace, asked.json, out),
        |trace, part| match part {
            Part::Line(line) => terminal::line(format_args!("{line}")),
            Part::Shown(Ok(log)) => logs.push(log),
            Part::Shown(Err(error)) => shown = Err(error),
            Part::Unread(error) => unread.push((trace.paths[0].display().to_string(), error)),
        },
    );
    shown.kind(Kind::Bug)?;
    if asked.json {
        let why = |(file, error): &(String, ReadError)| Unread { file: file.clone(), why: chain(error) };
        let schema = "apprentice.trace.read/1";
        terminal::json(&TracesRead { schema, traces: logs, unread: unread.iter().map(why).collect() })?;
    }
    let count = unread.len();
    let Some((_, first)) = unread.into_iter().next() else { return Ok(()) };
    match (count, found.len()) {
        (_, 1) => Err(Failure::new(Kind::Config, first)),
        (count, of) => {
            let message = format!("{count} of {of} traces could not be read; the first: {}", chain(&first));
            Err(Failure::say(Kind::Config, message))
        }
    }
}

/// An error with its causes, in one line.
fn chain(error: &ReadError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// What comes of reading a trace.
enum Part {
    Line(String),
    /// All of it, as JSON.
    Shown(serde_json::Result<Box<RawValue>>),
    Unread(ReadError),
}

/// Reads a trace.
fn read(trace: &Found, json: bool, out: &Out<Part>) {
    let read = match json {
        // A log may be large, and what is shown of it is not.
        true => ReadSummary::read(trace).map(|log| out.put(Part::Shown(to_raw_value(&log.shown())))),
        false => print(trace, &|line| out.put(Part::Line(line.to_string()))),
    };
    if let Err(error) = read {
        out.put(Part::Unread(error));
    }
}

/// Prints lines.
type Print<'p> = &'p dyn Fn(fmt::Arguments<'_>);

/// Prints a log while it is read.
fn print(found: &Found, line: Print<'_>) -> Result<(), ReadError> {
    let mut begun = false;
    let log = read_each(found, &mut |log, transcript| {
        if !begun {
            print_head(log, line);
            begun = true;
        }
        if log.sampled {
            line(format_args!("  {}", transcript.name));
        }
        print_talk(&transcript, log.model.as_deref(), line);
    })?;
    if !begun {
        print_head(&log, line);
    }
    for note in &log.notes {
        line(format_args!("  note: {note}"));
    }
    Ok(())
}

fn print_head(log: &Log, line: Print<'_>) {
    let version = log.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    line(format_args!("{}: {}{version}", log.path.display(), log.program.name()));
}

fn print_talk(talk: &Transcript, model: Option<&str>, line: Print<'_>) {
    let model = talk.model.as_deref().or(model).unwrap_or("a model that is not named");
    let calls: Vec<&Call> = talk.calls().collect();
    let failed = calls.iter().filter(|call| call.failed).count();
    let malformed = talk.turns.iter().filter(|turn| turn.malformed).count();
    let malformed =
        if malformed == 0 { String::new() } else { format!(", {malformed} of them not readable") };
    line(format_args!(
        "  {model}: {}{malformed}; {}, {failed} failed; {}; {}",
        counted(talk.turns.len(), "reply"),
        counted(calls.len(), "call"),
        counted(talk.thoughts(), "thought"),
        talk.tokens.map_or_else(|| "tokens not logged".to_owned(), tokens),
    ));
    for call in calls.iter().take(SHOWN_CALLS) {
        line(format_args!("    {}", in_a_line(call)));
    }
    if let more @ 1.. = calls.len().saturating_sub(SHOWN_CALLS) {
        line(format_args!("    {more} more; --json shows all"));
    }
    let judge = talk.judge.as_deref().map(|judge| format!(", by {judge}")).unwrap_or_default();
    line(format_args!("  verdict: {}{judge}", verdict(talk.verdict)));
    if let Some(claim) = talk.own_claim {
        line(format_args!("  the agent's own claim: {}", if claim { "done" } else { "not done" }));
    }
    if let Some(answer) = &talk.final_answer {
        line(format_args!("  answer: {}", cut(answer)));
    }
    if let Some(ending) = talk.ended {
        line(format_args!("  ended: {}", format!("{ending:?}").to_lowercase()));
    }
    if talk.pictures + talk.picture_paths > 0 {
        let (inside, paths) = (counted(talk.pictures, "picture"), talk.picture_paths);
        line(format_args!("  {inside} inside, {paths} by path"));
    }
    print_others(talk, line);
    for missing in &talk.missing {
        line(format_args!("  missing: {missing}"));
    }
}

/// Prints what a trace has to do with others.
fn print_others(talk: &Transcript, line: Print<'_>) {
    if let Some(from) = &talk.copied_from {
        let own = talk.turns.iter().filter(|turn| !turn.copied).count();
        line(format_args!("  copied from {from}; {} new", counted(own, "reply")));
    }
    if let Some(continues) = &talk.continues {
        let whole = continues.whole.as_ref();
        let whole = whole.map(|whole| format!("; {} together", counted(whole.turns.len(), "reply")));
        line(format_args!("  continues session {}{}", continues.session, whole.unwrap_or_default()));
    }
    for helper in &talk.helpers {
        let replies = counted(helper.transcript.turns.len(), "reply");
        line(format_args!("  started agent {}: {replies}", helper.agent_id));
    }
    if let (others @ 1.., Some(spent)) = (talk.branches.len().saturating_sub(1), talk.spent) {
        line(format_args!("  other branches: {others}; {} on all branches", tokens(spent)));
    }
}

fn tokens(tokens: Tokens) -> String {
    format!("{} tokens read, {} written", tokens.input, tokens.output)
}

fn verdict(verdict: Option<Verdict>) -> String {
    match verdict {
        None => "none: nobody judged".to_owned(),
        Some(Verdict::Passed(true)) => "passed".to_owned(),
        Some(Verdict::Passed(false)) => "not passed".to_owned(),
        Some(Verdict::Reward(reward)) => format!("reward {reward}"),
    }
}

fn in_a_line(call: &Call) -> String {
    let arguments = match &call.arguments {
        Some(arguments) => serde_json::Value::from(arguments.clone()).to_string(),
        None => "(arguments lost)".to_owned(),
    };
    let result = match (&call.result, call.failed) {
        (Some(result), true) => format!(" failed: {result}"),
        (Some(result), false) => format!(" → {result}"),
        (None, true) => " failed".to_owned(),
        (None, false) => String::new(),
    };
    cut(&format!("{} {arguments}{result}", call.name))
}

/// The beginning of a text, in one line.
fn cut(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(SHOWN_CHARS) {
        line.truncate(end);
        line.push('…');
    }
    line
}
