//! Reads a log by the module of its program.

use std::path::Path;

use crate::error::ReadError;
use crate::find::Found;
use crate::model::{Log, Program};
use crate::programs::{
    atif, browser_use, claude_code, codex, conversations, cua_agent, gemini_cli, inspect, mini_swe_agent,
    opencode, openhands, osworld, pi, verifiers,
};
use crate::texts::Texts;

/// Reads a log.
///
/// # Errors
/// It is damaged, too large, or of a version that is not known.
pub fn read(found: &Found) -> Result<Log, ReadError> {
    let path = found.paths.first().map_or_else(|| Path::new(""), |path| path.as_path());
    let texts = Texts::default();
    let packed = path.extension().is_none_or(|end| end != "json");
    let mut log = match found.program {
        Program::ClaudeCode => claude_code::read(path, &texts),
        Program::Codex => codex::read(path, &texts),
        Program::GeminiCli => gemini_cli::read(&found.paths, &texts),
        Program::Opencode => opencode::read(path, &texts),
        Program::Pi => pi::read(path, &texts),
        Program::MiniSweAgent => mini_swe_agent::read(path, &texts),
        Program::BrowserUse => browser_use::read(path, &texts),
        Program::Verifiers => verifiers::read(path, &texts),
        Program::OpenHands => openhands::read(path, &texts),
        Program::CuaAgent => cua_agent::read(path, &texts),
        Program::Inspect if packed => inspect::read_packed(path, &texts),
        Program::Inspect => inspect::read_document(path, &texts),
        Program::Atif => atif::read(path, &texts),
        Program::Osworld => osworld::read(path, &texts),
        Program::OpenAi | Program::ShareGpt => conversations::read(path, found.program, &texts),
    }?;
    log.notes.extend(texts.cut());
    if log.transcripts.iter().all(|transcript| transcript.turns.is_empty()) {
        log.notes.push("no reply of a model is in it".to_owned());
    }
    Ok(log)
}
