//! Terminal output of a run: a line per finished attempt, on a terminal a line per running trial, and a summary.

use std::path::PathBuf;
use std::time::Duration;

use apprentice_evaluator::run::{Progress, RunControl, RunError, RunSummary, read_run};
use apprentice_protocol::{RunId, Verdict, counted};
use apprentice_runs::row::TrialRow;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::failure::{Failure, Kind};
use crate::runs::control_socket::{ControlSocket, offered_run};
use crate::settings::config::Config;
use crate::suite::task_words::TaskWords;
use crate::terminal::live_lines::LiveLines;
use crate::{terminal, wire};

/// Prints the progress of a run: a line per finished attempt, and on a terminal what runs.
pub(crate) struct RunProgress {
    sender: UnboundedSender<Progress>,
    task: JoinHandle<()>,
    quiet: bool,
    lines: Option<LiveLines>,
    /// Whether the words of the run's model take the place of the lines.
    words: bool,
}

impl RunProgress {
    /// Starts the display; with `quiet` it prints no output.
    pub(crate) fn show(quiet: bool) -> Self {
        let (sender, mut progress) = unbounded_channel();
        let task = tokio::spawn(async move {
            let mut tasks = TaskWords::default();
            while let Some(message) = progress.recv().await {
                if let Progress::Planned { folder, .. } = &message {
                    tasks = TaskWords::of_run(folder);
                }
                if !quiet {
                    show(&message, &tasks);
                }
            }
        });
        Self { sender, task, quiet, lines: None, words: false }
    }

    /// Leaves the terminal to the words of the run's model, if they are shown.
    #[must_use]
    pub(crate) fn with_words(self, words: bool) -> Self {
        Self { words, ..self }
    }

    /// Returns the control of a run of this command, which reports here, and the socket at which the run can be watched.
    /// On a terminal, its trials have their lines from now on.
    pub(crate) fn offer(&mut self, config: &Config, command: &str) -> (RunControl, ControlSocket) {
        let (control, socket) = offered_run(config, command, self.sender.clone());
        self.lines = (!self.quiet && !self.words).then(|| LiveLines::show(&control.live));
        (control, socket)
    }

    /// Waits until all messages are printed. The run must have dropped its senders.
    pub(crate) async fn finish(self) {
        drop((self.sender, self.lines));
        // The task ends with the channel; a run that keeps a sender must not delay the exit.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.task).await;
    }
}

fn show(message: &Progress, tasks: &TaskWords) {
    match message {
        Progress::Planned { run, folder, trials, finished } => terminal::note(format_args!(
            "run {run}: {}, {finished} finished; {}",
            counted(*trials, "trial"),
            folder.display()
        )),
        Progress::Started { .. } => {}
        Progress::Finished { row, message } => {
            let message = message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
            terminal::note(format_args!("{}{message}", line(row, tasks)));
        }
    }
}

/// Describes a finished attempt in one line.
pub(crate) fn line(row: &TrialRow, tasks: &TaskWords) -> String {
    let verdict = match row.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Void => "void",
    };
    let why = match (row.stop_reason, row.void_cause) {
        (_, Some(cause)) => terminal::words(&cause),
        (Some(reason), None) => terminal::words(&reason),
        (None, None) => String::new(),
    };
    let skills = match row.skills_viewed.len() {
        0 => String::new(),
        count => format!(", {}", counted(count, "skill")),
    };
    let person = match row.person_acts {
        0 => String::new(),
        count => format!(", {} of a person", counted(count, "act")),
    };
    format!(
        "{verdict} {} {}/{} seed {}: {}{skills}{person}, {:.1} s, {why}",
        tasks.named(&row.task),
        row.model,
        row.arm,
        row.seed,
        counted(row.world_steps, "step"),
        row.wall_s
    )
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Summary<'a> {
    schema: &'static str,
    run: &'a RunId,
    folder: &'a PathBuf,
    planned: usize,
    passed: usize,
    failed: usize,
    void: usize,
    not_run: usize,
    interrupted: bool,
}

/// Prints the summary of a run and turns it into an exit code.
pub(crate) fn conclude(summary: &RunSummary, json: bool) -> Result<(), Failure> {
    print(summary, json)?;
    bug_or_interrupt(summary)?;
    let missing = summary.count(Verdict::Void) + summary.not_run;
    if missing > 0 {
        let missing = counted(missing, "trial");
        return Err(Failure::say(Kind::TrialsVoid, format!("{missing} without a result")));
    }
    match summary.count(Verdict::Fail) {
        0 => Ok(()),
        failed => Err(Failure::say(Kind::TasksFailed, format!("{} failed", counted(failed, "trial")))),
    }
}

/// Prints the summary of a run.
pub(crate) fn print(summary: &RunSummary, json: bool) -> Result<(), Failure> {
    let shown = Summary {
        schema: "apprentice.run-summary/1",
        run: &summary.run,
        folder: &summary.folder,
        planned: summary.planned,
        passed: summary.count(Verdict::Pass),
        failed: summary.count(Verdict::Fail),
        void: summary.count(Verdict::Void),
        not_run: summary.not_run,
        interrupted: summary.interrupted,
    };
    if json {
        terminal::json(&shown)?;
    } else {
        terminal::line(format_args!(
            "{} of {} passed, {} failed, {} void, {} not run; {}",
            shown.passed,
            shown.planned,
            shown.failed,
            shown.void,
            shown.not_run,
            summary.folder.display()
        ));
    }
    Ok(())
}

/// Turns the error of a run into a failure of the command. Of a run that was stopped because its model cannot be used, what
/// is there is printed.
pub(crate) fn run_failure(error: RunError, json: bool) -> Failure {
    if let RunError::Lasting { folder, .. } = &error
        && let Ok((plan, rows)) = read_run(folder)
        && let Err(failed) = print(&RunSummary::of_rows(&plan, folder, rows, false), json)
    {
        return failed;
    }
    wire::run_failure(error)
}

/// Fails if a bug ended an attempt, or if the run was interrupted.
pub(crate) fn bug_or_interrupt(summary: &RunSummary) -> Result<(), Failure> {
    if summary.has_bug() {
        return Err(Failure::say(Kind::Bug, "a bug in this program ended an attempt"));
    }
    if summary.interrupted {
        let hint = format!("apprentice resume {}", summary.folder.display());
        return Err(Failure::say(Kind::Interrupted, "interrupted").hint(hint));
    }
    Ok(())
}
