//! `apprentice collect`: runs a suite several times with one model, and exports what is worth keeping.

use std::path::PathBuf;

use apprentice_exports::ExportFormat;
use apprentice_protocol::Verdict;
use clap::Args;

use crate::commands::forecast::SpendingArgs;
use crate::commands::look::export::{self, ExportArgs, Place, collected};
use crate::commands::run::{CollectedRun, Run, execute};
use crate::failure::{Failure, Kind};
use crate::settings::config::Config;
use crate::{runs::run_progress, terminal};

/// Runs each task of a suite several times with one model, and exports the attempts that passed.
///
/// The run is kept: `apprentice export` exports it again in another way.
#[derive(Debug, Args)]
pub(crate) struct Collect {
    /// The suite's folder, its suite file, or one task file.
    suite: PathBuf,
    /// The model of the agent.
    #[arg(long, short)]
    model: String,
    /// Number of variations per task, for tasks whose world varies; others are attempted once.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1, value_parser = crate::options::count::at_least_one::<u32>)]
    count: u32,
    /// Number of tries at each variation; a model that accepts a seed gets another one in each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    tries: u32,
    /// The attempts to keep: passed, or judged (failed ones too).
    #[arg(long, value_name = "WHICH", default_value = "passed", value_parser = keep)]
    keep: Keep,
    /// The format; see `apprentice export`.
    #[arg(long, default_value = "openai", value_parser = export::format)]
    format: ExportFormat,
    /// The output folder; must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Run only this task; may be repeated.
    #[arg(long = "task", value_name = "ID")]
    tasks: Vec<String>,
    #[command(flatten)]
    which: ExportArgs,
    #[command(flatten)]
    consent: SpendingArgs,
    /// Print the manifest as one JSON object (`apprentice.export/1`).
    #[arg(long)]
    json: bool,
}

/// The attempts to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Passed,
    Judged,
}

fn keep(text: &str) -> Result<Keep, String> {
    match text {
        "passed" => Ok(Keep::Passed),
        "judged" => Ok(Keep::Judged),
        _ => Err("expected passed or judged".to_owned()),
    }
}

impl Collect {
    /// The run that collects, for `resume` too.
    pub(crate) fn run(&self) -> Run {
        Run::for_collection(CollectedRun {
            suite: self.suite.clone(),
            model: self.model.clone(),
            seeds: self.count,
            tries: self.tries,
            tasks: self.tasks.clone(),
            max_steps: None,
            consent: self.consent,
            json: self.json,
        })
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Collect, config: &Config) -> Result<(), Failure> {
    if std::fs::read_dir(&arguments.out).is_ok_and(|mut entries| entries.next().is_some()) {
        let failure = format!("{} exists and is not empty", arguments.out.display());
        return Err(Failure::say(Kind::Usage, failure).hint("give another --out"));
    }
    let Some(summary) = execute(&arguments.run(), config)? else { return Ok(()) };
    if !arguments.json {
        run_progress::print(&summary, false)?;
    }
    run_progress::bug_or_interrupt(&summary)?;
    let place = Place {
        run: &summary.folder,
        source: None,
        format: arguments.format,
        out: &arguments.out,
        for_profile: None,
    };
    let manifest = collected(&place, &arguments.which, arguments.keep == Keep::Passed)
        .map_err(|failure| failure.hint(format!("the run is kept: {}", summary.folder.display())))?;
    if arguments.json {
        terminal::json(&manifest)?;
    } else {
        export::show(&manifest, &arguments.out);
    }
    // Failed attempts are what a collection expects; trials without a result are not.
    match summary.count(Verdict::Void) + summary.not_run {
        0 => Ok(()),
        missing => Err(Failure::say(Kind::TrialsVoid, format!("{missing} trials without a result"))),
    }
}
