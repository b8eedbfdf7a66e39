//! Reads a log by the module of its program.

use std::path::Path;

use crate::error::ReadError;
use crate::find::Found;
use crate::model::{Log, Program, Transcript};
use crate::programs::{
    atif, browser_use, claude_code, codex, conversations, cua_agent, gemini_cli, inspect, mini_swe_agent,
    opencode, openhands, osworld, pi, verifiers,
};
use crate::samples::Samples;
use crate::texts::Texts;
use crate::unpacked::has_ending;

/// Reads a log.
///
/// # Errors
/// It is damaged, too large, or of a version that is not known.
pub fn read(found: &Found) -> Result<Log, ReadError> {
    let mut all = Vec::new();
    let mut log = read_each(found, &mut |_, transcript| all.push(transcript))?;
    log.transcripts = all;
    Ok(log)
}

/// Reads a log and hands out each conversation as soon as it is read, with what is known of the log by then: whether its
/// conversations are samples of a list is always known. The log that is returned holds none of them, so that a file with very
/// many needs no more memory than its largest.
///
/// # Errors
/// It is damaged, too large, or of a version that is not known. Conversations before the damage were handed out.
pub fn read_each(found: &Found, take: &mut dyn FnMut(&Log, Transcript)) -> Result<Log, ReadError> {
    let path = found.paths.first().map_or_else(|| Path::new(""), |path| path.as_path());
    let texts = Texts::default();
    let mut replies = 0;
    let mut counted = |log: &Log, transcript: Transcript| {
        replies += transcript.turns.len();
        take(log, transcript);
    };
    let packed = !has_ending(path, "json");
    let mut log = match found.program {
        Program::OpenAi | Program::ShareGpt => {
            conversations::read(path, found.program, &texts, &mut Samples::new(&mut counted))?
        }
        Program::ClaudeCode => whole(claude_code::read(path, &texts)?, &mut counted),
        Program::Codex => whole(codex::read(path, &texts)?, &mut counted),
        Program::GeminiCli => whole(gemini_cli::read(&found.paths, &texts)?, &mut counted),
        Program::Opencode => whole(opencode::read(path, &texts)?, &mut counted),
        Program::Pi => whole(pi::read(path, &texts)?, &mut counted),
        Program::MiniSweAgent => whole(mini_swe_agent::read(path, &texts)?, &mut counted),
        Program::BrowserUse => whole(browser_use::read(path, &texts)?, &mut counted),
        Program::Verifiers => whole(verifiers::read(path, &texts)?, &mut counted),
        Program::OpenHands => whole(openhands::read(path, &texts)?, &mut counted),
        Program::CuaAgent => whole(cua_agent::read(path, &texts)?, &mut counted),
        Program::Inspect if packed => whole(inspect::read_packed(path, &texts)?, &mut counted),
        Program::Inspect => whole(inspect::read_document(path, &texts)?, &mut counted),
        Program::Atif => whole(atif::read(path, &texts)?, &mut counted),
        Program::Osworld => whole(osworld::read(path, &texts)?, &mut counted),
    };
    log.notes.extend(texts.cut());
    if replies == 0 {
        log.notes.push("no reply of a model is in it".to_owned());
    }
    Ok(log)
}

/// Hands out the conversations of a log that was read as a whole.
fn whole(mut log: Log, take: &mut dyn FnMut(&Log, Transcript)) -> Log {
    for transcript in std::mem::take(&mut log.transcripts) {
        take(&log, transcript);
    }
    log
}
