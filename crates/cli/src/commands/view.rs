//! `apprentice view`: shows one attempt, on the terminal or as an HTML page.

use std::path::{Path, PathBuf};

use apprentice_results::report::trace::{Pictures, render};
use apprentice_trace::Trace;
use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::{event_printer, terminal};

/// Shows the observations and actions of an attempt. Works offline.
#[derive(Debug, Args)]
pub(crate) struct View {
    /// The attempt's folder, or a run's folder with `--trial`.
    path: PathBuf,
    /// Trial of the run; its last attempt is shown.
    #[arg(long, value_name = "ID")]
    trial: Option<String>,
    /// Write a self-contained HTML page with all pictures.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &View) -> Result<(), Failure> {
    let attempt = match &arguments.trial {
        Some(trial) => last_attempt(&arguments.path, trial)?,
        None => arguments.path.clone(),
    };
    let trace = Trace::read(&attempt.join("events.jsonl")).kind(Kind::Config)?;
    if let Some(torn) = &trace.torn {
        terminal::note(format_args!("the last line is incomplete: skipped {} bytes", torn.len()));
    }
    let Some(file) = &arguments.html else {
        for event in &trace.events {
            if let Some(text) = event_printer::tell(&event.kind) {
                let step = event.step.map_or_else(|| "   ".into(), |step| format!("{step:>3}"));
                terminal::line(format_args!("{step} {text}"));
            }
        }
        return Ok(());
    };
    let page = render(&trace.events, &blobs_of(&attempt), Pictures::Inlined).kind(Kind::Bug)?;
    std::fs::write(file, page)
        .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", file.display())))?;
    terminal::line(format_args!("{}", file.display()));
    Ok(())
}

/// Returns the folder of a trial's last attempt.
pub(super) fn last_attempt(run: &Path, trial: &str) -> Result<PathBuf, Failure> {
    let trials = run.join("trials");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        found.sort();
        found
    };
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(trial));
    let missing =
        || Failure::say(Kind::NothingMatched, format!("{} contains no trial {trial:?}", trials.display()));
    let folder = folders(&trials).into_iter().find(named).ok_or_else(missing)?;
    folders(&folder).pop().ok_or_else(missing)
}

/// Returns the folder of an attempt's pictures: its own, or its run's.
fn blobs_of(attempt: &Path) -> PathBuf {
    let above = attempt.ancestors().map(|folder| folder.join("blobs"));
    above.take(4).find(|folder| folder.is_dir()).unwrap_or_else(|| attempt.join("blobs"))
}
