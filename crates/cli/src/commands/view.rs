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
            if let Some(text) = event_printer::describe(&event.kind) {
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
    // A trial's folder is named `TASK-ID`; an id contains no hyphen.
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let has_id = |path: &PathBuf| {
        let name = name(path);
        !trial.is_empty() && name.rsplit_once('-').map_or(name.as_str(), |(_, id)| id) == trial
    };
    let missing =
        || Failure::say(Kind::NothingMatched, format!("{} contains no trial {trial:?}", trials.display()));
    let found: Vec<PathBuf> = folders(&trials).into_iter().filter(has_id).collect();
    let folder = match found.as_slice() {
        [] => return Err(missing()),
        [folder] => folder,
        several => {
            let names: Vec<String> = several.iter().map(|path| name(path)).collect();
            let message =
                format!("{} contains several trials {trial:?}: {}", trials.display(), names.join(", "));
            return Err(Failure::say(Kind::Usage, message)
                .hint("give the folder of the attempt instead of `--trial`"));
        }
    };
    folders(folder).pop().ok_or_else(missing)
}

/// Returns the folder of an attempt's pictures: its own, or its run's.
fn blobs_of(attempt: &Path) -> PathBuf {
    let above = attempt.ancestors().map(|folder| folder.join("blobs"));
    above.take(4).find(|folder| folder.is_dir()).unwrap_or_else(|| attempt.join("blobs"))
}

#[cfg(test)]
mod tests {
    use super::last_attempt;

    #[test]
    fn a_trial_is_matched_by_its_whole_id() {
        let run = tempfile::tempdir().expect("a folder");
        for attempt in
            ["bake-bread-0a1b2c/attempt-01", "bake-bread-0a1b2c/attempt-02", "bake-rye-ff0a1b2c/attempt-01"]
        {
            std::fs::create_dir_all(run.path().join("trials").join(attempt)).expect("creates");
        }
        let found = |trial: &str| last_attempt(run.path(), trial).map_err(|failure| failure.to_string());
        assert_eq!(found("0a1b2c"), Ok(run.path().join("trials/bake-bread-0a1b2c/attempt-02")));
        assert_eq!(found("ff0a1b2c"), Ok(run.path().join("trials/bake-rye-ff0a1b2c/attempt-01")));
        for part in ["2c", "a1b2c", "bread-0a1b2c", ""] {
            assert!(found(part).expect_err("is no id").contains("contains no trial"), "{part}");
        }
    }

    #[test]
    fn an_id_of_several_trials_is_refused_with_their_names() {
        let run = tempfile::tempdir().expect("a folder");
        for trial in ["bake-bread-0a1b2c", "bake-rye-0a1b2c"] {
            std::fs::create_dir_all(run.path().join("trials").join(trial).join("attempt-01"))
                .expect("creates");
        }
        let told = last_attempt(run.path(), "0a1b2c").expect_err("which of them?").to_string();
        assert!(told.contains("several") && told.contains("bake-bread-0a1b2c, bake-rye-0a1b2c"), "{told}");
    }
}
