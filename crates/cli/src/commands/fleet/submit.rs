//! `apprentice submit`: plans a run as `apprentice run` does, and leaves its trials to workers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use apprentice_evaluator::run::{ModelSource as _, RunPlan, TrialSpec};
use apprentice_fleet::{Artifacts, Submission, SubmitError, submit};
use apprentice_protocol::{EnvironmentKind, TaskId, counted};
use apprentice_skillbook::freeze;
use apprentice_tasks::suite::{self as suites, Suite};
use apprentice_tasks::task::Task;
use clap::Args;

use super::submitted::Submitted;
use crate::commands::bench::Measurement;
use crate::commands::run::{ParseCommand, PlannedCommand, Run, planned};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::queue_access::{QueueAddress, database_failure, store_settings};
use crate::settings::config::{Config, WorldChoice};
use crate::{process_env, suite, terminal, wire};

/// Puts the trials of a run, or an experiment, into a queue, from which workers take them.
///
/// SUITE is a suite, planned as by `apprentice run`; with `--student`, the options of `apprentice bench` apply. Or it is the file
/// of an experiment (`.toml`): then a worker learns the skillbook, all workers measure, and only the options of `apprentice
/// distill` apply. `--max-usd` caps what all workers together spend.
#[derive(Debug, Args)]
#[command(mut_arg("model", |model| model.required(false).default_value("").hide_default_value(true)))]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Measure this model in several arms, as `apprentice bench` does.
    #[arg(long, short, value_name = "MODEL", help_heading = BENCH)]
    student: Option<String>,
    #[command(flatten, next_help_heading = BENCH)]
    _measurement: Measurement,
    #[command(flatten)]
    pub(super) queue: QueueAddress,
    /// Where workers put traces and pictures: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or
    /// file:///FOLDER, a folder that all workers share.
    #[arg(long, value_name = "ADDRESS", help_heading = "Queue")]
    pub(super) artifacts: String,
    /// Runs of higher priority go first.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true,
        help_heading = "Queue"
    )]
    pub(super) priority: i32,
    /// What each trial needs besides its world; a worker says with --offers that it has it. May be repeated.
    #[arg(long, value_name = "NAME", help_heading = "Queue")]
    pub(super) needs: Vec<String>,
}

impl Submit {
    /// The command that does the same on one machine.
    pub(super) fn kind(&self) -> &'static str {
        match (&self.student, self.run.suite.extension()) {
            (_, Some(extension)) if extension == "toml" => "distill",
            (Some(_), _) => "bench",
            (None, _) => "run",
        }
    }
}

/// The heading of the options of a bench.
const BENCH: &str = "Options of a bench";

/// Options of `submit` that `run` does not have, all with a value.
const OWN_OPTIONS: [&str; 5] = ["--queue", "--queue-file", "--artifacts", "--priority", "--needs"];

/// Turns a command line of `submit` into that of the same run on one machine, which the plan records: so `resume` works
/// in every build, and no address of a queue stands in a run's folder.
fn as_run(command: &[String]) -> Vec<String> {
    without_queue(command, "run")
}

/// Turns a command line of `submit` into that of another command on one machine.
pub(super) fn without_queue(command: &[String], name: &str) -> Vec<String> {
    let (mut kept, mut skip, mut named) = (Vec::new(), false, false);
    for word in command {
        let own = |option: &&str| {
            word == *option || word.strip_prefix(*option).is_some_and(|rest| rest.starts_with('='))
        };
        if std::mem::take(&mut skip) {
            continue;
        }
        if OWN_OPTIONS.iter().any(own) {
            skip = !word.contains('=');
        } else if !named && word == "submit" {
            named = true;
            kept.push(name.to_owned());
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

/// The needs of each task: its world, and what was named. Which programs a run needs, a worker sees by the suite.
pub(super) fn needs(suite: &Suite, config: &Config, more: &[String]) -> BTreeMap<TaskId, Vec<String>> {
    let of = |task: &Task| {
        let on_vm = config.world == WorldChoice::Vm && task.environment() == EnvironmentKind::Desktop;
        let world = if on_vm { EnvironmentKind::Vm } else { task.environment() };
        let mut needs = vec![format!("world:{}", terminal::words(&world))];
        needs.extend(more.iter().cloned());
        needs
    };
    suite.tasks.iter().map(|task| (task.id.clone(), of(task))).collect()
}

/// Runs `submit`.
pub(super) fn run(arguments: &Submit, config: &Config, parse: ParseCommand) -> Result<(), Failure> {
    if arguments.run.model().is_empty() {
        return Err(Failure::say(Kind::Usage, "no model is named")
            .hint("give --model, for a bench --student, or the file of an experiment"));
    }
    if let Some((option, hint)) = arguments.run.bound_to_a_machine() {
        let message = format!("{option} does not apply to a run of a queue");
        return Err(Failure::say(Kind::Usage, message).hint(hint));
    }
    // What is wrong here is told before the database is asked for anything.
    let artifacts = Artifacts::open(&arguments.artifacts, &store_settings()).kind(Kind::Usage)?;
    let command = as_run(&process_env::command_line());
    // What workers could not read, such as an option that only a bench has, is an error of this command line.
    parse(&command).map_err(|failure| Failure { kind: Kind::Usage, ..failure })?;
    let Some(planned) = planned(&arguments.run, config, command)? else { return Ok(()) };
    let book = planned.book.as_ref().map(|book| {
        let folder = tempfile::tempdir().kind(Kind::Environment)?;
        freeze(book, folder.path()).kind(Kind::Environment)?;
        Ok::<_, Failure>(folder)
    });
    let book = book.transpose()?;
    let (folder, file) = place(&arguments.run.suite)?;
    wire::runtime()?.block_on(async {
        let PlannedCommand { models, plan, suite, provider, .. } = planned;
        let judge = plan.judge.as_ref().and_then(|_| models.judge());
        let names = plan.models.iter().map(|one| one.model.as_str()).chain(judge.as_deref());
        models.reach(names).await?;
        let trial_usd = models.trial_cap(arguments.run.model())?;
        let deps = wire::deps(config, wire::guidance(provider), &models)?;
        let plan: RunPlan = deps.resolve_runtime(plan).await;
        let needs = needs(&suite, config, &arguments.needs);
        let submission = Submission {
            plan: &plan,
            suite: &folder,
            suite_path: &file,
            book: book.as_ref().map(tempfile::TempDir::path),
            priority: arguments.priority,
            max_usd: config.cap.run_usd,
            experiment: None,
            guidance: None,
            needs: &|trial: &TrialSpec| needs.get(&trial.task).cloned().unwrap_or_default(),
        };
        let queue = arguments.queue.open(true).await?;
        submit(&queue, &artifacts, &submission, trial_usd).await.map_err(submit_failure)?;
        let trials = counted(plan.trials.len(), "trial");
        match arguments.run.json {
            true => terminal::json(&Submitted::run(&plan)),
            false => {
                terminal::line(format_args!("{}", plan.run));
                terminal::note(format_args!(
                    "submitted {trials}; `apprentice worker` carries them out, `apprentice fetch {}` brings the results",
                    plan.run
                ));
                Ok(())
            }
        }
    })
}

/// Returns a suite's folder, and its file below it; an empty name for the folder itself.
fn place(path: &Path) -> Result<(PathBuf, String), Failure> {
    let found = suite::found(path)?;
    let folder = suites::root_of(&found);
    let file = found.strip_prefix(&folder).kind(Kind::Bug)?.to_string_lossy().into_owned();
    Ok((folder, file))
}

fn submit_failure(error: SubmitError) -> Failure {
    match error {
        SubmitError::Database(error) => database_failure(error),
        SubmitError::NoTrialCap => Failure::new(Kind::Usage, error)
            .hint("set cap.trial_usd in apprentice.toml: what one attempt may cost"),
        other => Failure::new(Kind::Environment, other),
    }
}

#[cfg(test)]
mod tests {
    use super::as_run;

    #[test]
    fn the_recorded_command_is_that_of_the_same_run_without_the_queue() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let submitted = words(
            "apprentice --max-usd 3 submit tasks/submit --queue postgres://db/x --model m --artifacts=file:///a \
             --needs gpu --priority -3 --seeds 2 --queue-file f",
        );
        assert_eq!(as_run(&submitted), words("apprentice --max-usd 3 run tasks/submit --model m --seeds 2"));
    }
}
