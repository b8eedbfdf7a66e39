//! `apprentice tasks record`: a person does a task, and the attempt is kept like a model's.

use std::path::{Path, PathBuf};

use apprentice_control::PERSON;
use apprentice_protocol::Verdict;
use clap::Args;

use crate::commands::forecast::SpendingArgs;
use crate::commands::run::{CollectedRun, Run, execute};
use crate::failure::Failure;
use crate::settings::config::Config;
use crate::{runs::run_progress, terminal};

/// Opens the world of a task for a person, who does it on the page Live of `apprentice view`; the attempt is kept and judged like a
/// model's.
///
/// Take over on the page, do the task, and hand back: then it is judged. `tasks keep-solution` keeps what was done as the task's
/// solution, and `learn` writes skills from it. The same as `run SUITE --task TASK --model person`.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The task's id.
    task: String,
    /// The suite's folder, its suite file, or the task's own file.
    #[arg(long, value_name = "PATH")]
    suite: PathBuf,
    /// The most actions of the person.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_steps: u32,
    /// Print one JSON object (`apprentice.run-summary/1`).
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(in crate::commands) fn run(arguments: &Record, config: &Config) -> Result<(), Failure> {
    terminal::note(format_args!(
        "`apprentice view` in another terminal shows the screen on its page Live: take over, do the task, hand back"
    ));
    let recording = Run::for_collection(CollectedRun {
        suite: arguments.suite.clone(),
        model: PERSON.to_owned(),
        seeds: 1,
        tries: 1,
        tasks: vec![arguments.task.clone()],
        max_steps: Some(arguments.max_steps),
        consent: SpendingArgs::default(),
        json: arguments.json,
    });
    let Some(summary) = execute(&recording, config)? else { return Ok(()) };
    if let Some(row) =
        summary.results.iter().find(|row| row.verdict == Verdict::Pass).filter(|_| !arguments.json)
    {
        let attempt = summary.folder.join(&row.trace);
        terminal::note(format_args!("{}", next_steps(&attempt, &arguments.suite)));
    }
    run_progress::conclude(&summary, arguments.json)
}

/// What a recorded attempt that passed is good for.
fn next_steps(attempt: &Path, suite: &Path) -> String {
    let (attempt, suite) = (attempt.display(), suite.display());
    format!(
        "its solution: apprentice tasks keep-solution {attempt} --suite {suite}\n\
         skills of it: apprentice learn RUN --skillbook DIR --suite {suite}"
    )
}
