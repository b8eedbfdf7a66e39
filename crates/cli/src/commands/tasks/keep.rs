//! `apprentice tasks keep-solution`: keeps the actions of a passed attempt as its task's solution.

use std::path::{Path, PathBuf};

use apprentice_evaluator::run::read_run;
use apprentice_protocol::{BlobHash, Verdict};
use apprentice_runs::layout::{BLOBS_FOLDER, EVENTS_FILE, PLAN_FILE};
use apprentice_runs::row::TrialRow;
use apprentice_tasks::solution::{Script, kept_steps, with_placeholders};
use apprentice_tasks::suite::{Suite, with_solution};
use apprentice_tasks::variation::drawn_values;
use apprentice_trace::{Trace, blob_path};
use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Keeps the actions of a passed attempt as its task's solution: by role and name, with the placeholders of the task in
/// place of the values of the attempt's variation.
///
/// Refused are attempts that failed, and those with an action whose target has no name.
#[derive(Debug, Args)]
pub(crate) struct KeepSolution {
    /// The attempt's folder, for example `runs/ID/trials/TRIAL/attempt-01`.
    attempt: PathBuf,
    /// The suite of the attempt's task.
    #[arg(long, value_name = "PATH")]
    suite: PathBuf,
    /// Replace a solution that is there.
    #[arg(long)]
    replace: bool,
    /// Print the solution and change no file.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &KeepSolution) -> Result<(), Failure> {
    let suite = crate::suite::load(&arguments.suite)?;
    let (run, row) = row_of(&arguments.attempt)?;
    if row.verdict != Verdict::Pass {
        return Err(Failure::say(
            Kind::Config,
            format!("{} did not pass: a solution must be known to be good", arguments.attempt.display()),
        ));
    }
    let task = suite
        .task(row.task.as_str())
        .ok_or_else(|| Failure::say(Kind::NothingMatched, format!("the suite has no task {}", row.task)))?;
    let steps = steps(&run, &row, &suite)?;
    if arguments.dry_run {
        return terminal::json(&steps);
    }
    let has_one = task.apprentice.as_ref().is_some_and(|ours| !ours.solution.is_empty());
    if has_one && !arguments.replace {
        return Err(
            Failure::say(Kind::Usage, format!("{} has a solution already", row.task)).hint("--replace")
        );
    }
    let listed = suite.root.join("examples").join(&task.app).join(format!("{}.json", row.task));
    let path = if arguments.suite.is_file() && suite.tasks.len() == 1 { &arguments.suite } else { &listed };
    let place = path.display();
    let text = apprentice_files::read_to_string(path)
        .map_err(|error| Failure::say(Kind::Config, format!("{place}: {error}")))?;
    let changed = with_solution(&text, &steps).kind(Kind::Config)?;
    write(path, &changed)?;
    terminal::line(format_args!(
        "{place}: {} steps kept; `apprentice tasks audit` tries them in fresh worlds",
        steps.len()
    ));
    Ok(())
}

/// The run of an attempt's folder, and the attempt's row.
fn row_of(attempt: &Path) -> Result<(PathBuf, TrialRow), Failure> {
    let place = attempt.display();
    let whole =
        attempt.canonicalize().map_err(|error| Failure::say(Kind::Config, format!("{place}: {error}")))?;
    let run = whole.ancestors().find(|folder| folder.join(PLAN_FILE).is_file()).ok_or_else(|| {
        Failure::say(Kind::Config, format!("{place} belongs to no run"))
            .hint("an attempt's folder is runs/ID/trials/TRIAL/attempt-NN")
    })?;
    let (_, rows) = read_run(run).kind(Kind::Config)?;
    let row = rows.into_iter().find(|row| run.join(&row.trace) == whole).ok_or_else(|| {
        Failure::say(Kind::NothingMatched, format!("{place} is no finished attempt of its run"))
    })?;
    Ok((run.to_owned(), row))
}

fn steps(run: &Path, row: &TrialRow, suite: &Suite) -> Result<Vec<serde_json::Value>, Failure> {
    let trace = Trace::read(&run.join(&row.trace).join(EVENTS_FILE)).kind(Kind::Config)?;
    let blobs = run.join(BLOBS_FOLDER);
    let text_of = |hash: &BlobHash| apprentice_files::read_to_string(blob_path(&blobs, hash, "txt")).ok();
    let kept = kept_steps(&trace.events, &text_of);
    if !kept.unnamed.is_empty() {
        let told = kept.unnamed.join("\n  ");
        return Err(Failure::say(
            Kind::Config,
            format!("{} actions name no element:\n  {told}", kept.unnamed.len()),
        )
        .hint("write these steps by hand, with a key or the role and name of an element"));
    }
    let task = suite.task(row.task.as_str());
    let drawn = task.map(|task| drawn_values(task, &row.suite, row.seed)).transpose().kind(Kind::Config)?;
    let steps = with_placeholders(&kept.steps, &drawn.unwrap_or_default());
    Script::read(&steps).kind(Kind::Config)?;
    Ok(steps)
}

/// Replaces a file: readers see the old text or the new one.
pub(in crate::commands) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).kind(Kind::Environment)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).kind(Kind::Environment)?;
    file.persist(path).kind(Kind::Environment)?;
    Ok(())
}
