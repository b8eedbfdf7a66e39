//! `apprentice resume`: continues a stopped run or experiment with what its plan and its command line say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_control::PersonActs;
use apprentice_evaluator::experiment::Definition;
use apprentice_evaluator::run::{
    ResumeInputs, RunDeps, RunPlan, RunSummary, final_results, read_run, resume,
};
use apprentice_evaluator::split::SplitLock;
use apprentice_protocol::Clock;
use apprentice_runs::{Wanted, check, read_plan};
use apprentice_sandbox::SystemClock;
use clap::Args;

use super::inputs::{Loaded, RunInputs, load};
use super::{ParseCommand, StartedBy};
use crate::commands::ci::{self, CiArgs};
use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::run_progress::{RunProgress, run_failure};
use crate::settings::config::Config;
use crate::settings::overrides::{self, Overrides};
use crate::{commands, wire};

/// Continues a run or an experiment that was stopped.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The folder of the run or of the experiment (`demo`, `bench`).
    run: PathBuf,
    /// Continue although the suite, skillbook, prompts, split, program or a server's model has changed; later rows
    /// record it.
    #[arg(long)]
    accept_drift: bool,
    /// The suite of the run, if it is not where it was.
    #[arg(long, value_name = "PATH")]
    suite: Option<PathBuf>,
    #[command(flatten)]
    consent: SpendingArgs,
    #[command(flatten)]
    ci: CiArgs,
    /// Print one JSON object (`apprentice.run-summary/1`; of an experiment, `apprentice.report/1`).
    #[arg(long)]
    json: bool,
}

/// Runs `apprentice resume`: executes the unfinished trials of the stored plan.
pub(crate) fn run_resume(arguments: &Resume, flags: &Overrides, parse: ParseCommand) -> Result<(), Failure> {
    check(&arguments.run, Wanted::RunOrExperiment).kind(Kind::Config)?;
    if let Some((folder, definition)) = experiment_of(&arguments.run)? {
        return resume_experiment(arguments, &folder, &definition, flags, parse);
    }
    let plan = read_plan::<RunPlan>(&arguments.run).kind(Kind::Config)?;
    let (inputs, given) = RunInputs::stored(&arguments.run, &plan, parse)?;
    let inputs = inputs.with_suite(arguments.suite.as_ref());
    // Flags of the original command apply unless this command overrides them.
    let config = &overrides::settings(&[&given.flags, flags])?.config()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, Arc::clone(&clock))?;
    plan.models.iter().try_for_each(|one| models.check(&one.model))?;
    if plan.judge.is_some() {
        models.check_judge()?;
    }
    let loaded = load(&inputs, config, &models)?;
    let (_, rows) = read_run(&arguments.run).kind(Kind::Config)?;
    let forecast = Forecast::of_plan(&models, &plan, &loaded.suite, &final_results(rows))?;
    if forecast.agree(config, arguments.consent.in_json(arguments.json))? == Proceed::Off {
        return Ok(());
    }
    let deps = wire::deps(config, wire::guidance(loaded.provider.clone()), &models)?;
    let summary = resume_with(arguments, loaded, deps, models.acts(), config)?;
    ci::conclude(&arguments.ci, &summary, arguments.json)
}

/// Returns the experiment in a folder, or the one that a run's folder belongs to.
fn experiment_of(folder: &Path) -> Result<Option<(PathBuf, Definition)>, Failure> {
    for folder in folder.ancestors().take(3).filter(|folder| !folder.as_os_str().is_empty()) {
        if let Some(definition) = Definition::read(folder).kind(Kind::Config)? {
            return Ok(Some((folder.to_owned(), definition)));
        }
    }
    Ok(None)
}

/// Continues an experiment with the command line that started it.
fn resume_experiment(
    arguments: &Resume,
    folder: &Path,
    definition: &Definition,
    flags: &Overrides,
    parse: ParseCommand,
) -> Result<(), Failure> {
    if arguments.accept_drift {
        return Err(Failure::say(Kind::Usage, "--accept-drift does not apply to experiments")
            .hint("start the experiment again in another folder"));
    }
    if let Some(option) = arguments.suite.as_ref().map(|_| "--suite").or_else(|| arguments.ci.given()) {
        return Err(Failure::say(Kind::Usage, format!("{option} is for runs, and this is an experiment"))
            .hint("its folder holds the results: `apprentice report DIR --json`"));
    }
    let given = parse(&definition.command)?;
    let config = &overrides::settings(&[&given.flags, flags])?.config()?;
    let (out, consent, json) = (folder.to_owned(), arguments.consent, arguments.json);
    match given.started {
        StartedBy::Demo(_) if json => {
            let told = Failure::say(Kind::Usage, "a demo prints no JSON");
            Err(told.hint("resume it without --json; then `apprentice report DIR --json` prints its report"))
        }
        StartedBy::Demo(demo) => commands::demo::run(&demo.again(out, consent), config),
        StartedBy::Bench(bench) => commands::bench::run(&bench.again(out, consent, json), config),
        StartedBy::Distill(distill) => commands::distill::run(&distill.again(out, consent, json), config),
        StartedBy::Measure(measure) => {
            let measure = measure.again(folder, consent);
            commands::skills::measure::run(&measure, json, config)
        }
        StartedBy::Run(_) | StartedBy::Other => {
            let command = definition.command.join(" ");
            Err(Failure::say(Kind::Config, format!("{command:?} is not an experiment command")))
        }
    }
}

fn resume_with(
    arguments: &Resume,
    loaded: Loaded,
    deps: RunDeps,
    acts: Arc<PersonActs>,
    config: &Config,
) -> Result<RunSummary, Failure> {
    wire::runtime()?.block_on(async {
        let mut display = RunProgress::show(arguments.json);
        let (control, _socket) = display.offer(config, "resume");
        control.live.take_acts(acts);
        let current = ResumeInputs {
            suite: loaded.suite,
            split_hash: loaded.split.as_ref().map(SplitLock::hash),
            books: loaded.books,
            program: env!("CARGO_PKG_VERSION").into(),
            accept_drift: arguments.accept_drift,
        };
        let ended = resume(&arguments.run, current, wire::jobs(config), deps, control).await;
        display.finish().await;
        ended.map_err(|error| run_failure(error, arguments.json))
    })
}
