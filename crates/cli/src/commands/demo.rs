//! `apprentice demo`: the whole loop on real programs, without any key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arm::Arm;
use apprentice_evaluator::experiment::{Experiment, ExperimentError, Laboratory, Outcome, distill};
use apprentice_evaluator::learn::{CycleOptions, Phase, Worked};
use apprentice_evaluator::run::Lent;
use apprentice_evaluator::split::SplitLock;
use apprentice_evaluator::suite::Suite;
use apprentice_harness::clock::SystemClock;
use apprentice_protocol::{Clock, Verdict};
use clap::Args;
use tokio::sync::mpsc::unbounded_channel;

use crate::config::Config;
use crate::failure::{Failure, Kind, Kinded as _};
use crate::progress::Board;
use crate::{args, terminal, wire};

/// Shows the whole loop: a capable agent works and fills a skillbook, a weak one is measured with and without it.
///
/// Both agents are rule-based policies, not language models: the demo checks the mechanism, on real programs,
/// and says nothing about what a skillbook does for a language model.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Folder for the runs, the book and the report; must be empty or hold an unfinished demo
    /// [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The suite.
    #[arg(long, default_value = "tasks/starter", value_name = "PATH")]
    suite: PathBuf,
    /// Its locked split [default: `split.json` beside the suite].
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    /// The capable model.
    #[arg(long, default_value = "builtin/explorer")]
    teacher: String,
    /// The weak model.
    #[arg(long, default_value = "builtin/novice")]
    student: String,
    /// Variations of each test task: the template is the unit of inference, so that more of them cost time
    /// and sharpen little.
    #[arg(long, default_value_t = 1)]
    seeds: u32,
    /// All arms and the baselines too, and at least three variations.
    #[arg(long)]
    full: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Demo, config: &Config) -> Result<(), Failure> {
    let suite = super::tasks::load(&arguments.suite)?;
    let split = arguments.split.clone().unwrap_or_else(|| suite.root.join("split.json"));
    let lock = SplitLock::read(&split).kind(Kind::Config)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let folder =
        arguments.out.clone().unwrap_or_else(|| config.runs.join(format!("demo-{}", wire::stamp(&*clock))));
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", folder.display())))?;
    let experiment = experiment(arguments, config, suite, lock);
    let began = clock.mono();
    let outcome = wire::runtime()?.block_on(carry_out(&experiment, config, Arc::clone(&clock), &folder))?;
    conclude(&outcome, &folder);
    terminal::line(format_args!("took {} s", (clock.mono() - began).as_secs()));
    Ok(())
}

fn experiment(arguments: &Demo, config: &Config, suite: Suite, lock: SplitLock) -> Experiment {
    let mut arms = vec![Arm::None, Arm::Pull, Arm::PlaceboInert];
    if arguments.full {
        arms.extend([Arm::PlaceboWrong, Arm::ToolsOnly, Arm::All]);
    }
    let learning = CycleOptions { epochs: config.epochs, batch: wire::cores(), ..CycleOptions::default() };
    Experiment {
        suite: Arc::new(suite),
        lock,
        teacher: arguments.teacher.clone(),
        student: arguments.student.clone(),
        arms,
        seeds: if arguments.full { arguments.seeds.max(3) } else { arguments.seeds },
        baselines: arguments.full,
        learning,
        attempts: config.attempts,
        order_seed: 0,
        command: args::given(),
        program: env!("CARGO_PKG_VERSION").into(),
    }
}

async fn carry_out(
    experiment: &Experiment,
    config: &Config,
    clock: Arc<dyn Clock>,
    folder: &Path,
) -> Result<Outcome, Failure> {
    let board = Board::show(false);
    let (lessons, mut told) = unbounded_channel::<Worked>();
    let teller = tokio::spawn(async move {
        while let Some(worked) = told.recv().await {
            tell(&worked);
        }
    });
    let laboratory = Laboratory {
        deps: wire::deps(config, clock, Arc::new(|_| Lent::default()))?,
        learner: wire::model(&experiment.teacher)?,
        jobs: match config.jobs {
            0 => wire::cores(),
            jobs => jobs,
        },
        progress: board.sender(),
        lessons,
        cancel: wire::cancel_on_interrupt(),
    };
    let outcome = distill(experiment, &laboratory, folder).await;
    drop(laboratory);
    board.finish().await;
    // The channel is closed, so that the teller is at its end.
    let _ = teller.await;
    outcome.map_err(|error| failure(error, folder))
}

/// What one worked-in trajectory did to the book, in a line.
pub(crate) fn tell(worked: &Worked) {
    let phase = match worked.phase {
        Phase::Teach { epoch } => format!("lesson, epoch {}", epoch + 1),
        Phase::Rehearse => "rehearsal".into(),
        Phase::Recorded => "recorded".into(),
    };
    let wrote: Vec<&str> = worked.decisions.iter().filter_map(|(_, tool)| tool.as_deref()).collect();
    let wrote = if wrote.is_empty() { "nothing to write".into() } else { wrote.join(", ") };
    terminal::note(format_args!(
        "  {phase}, {}: {} reviews, {} learnings; {wrote}; the book holds {} skills",
        worked.task, worked.reviews, worked.learnings, worked.skills
    ));
}

fn failure(error: ExperimentError, folder: &Path) -> Failure {
    let kind = match &error {
        ExperimentError::Stopped => Kind::Interrupted,
        ExperimentError::Split(_) | ExperimentError::Empty(_) | ExperimentError::Arm(_) => Kind::Config,
        ExperimentError::Run(_) | ExperimentError::Cycle(_) => Kind::Environment,
        ExperimentError::Store(_) | ExperimentError::Book(_) | ExperimentError::Write { .. } => {
            Kind::Environment
        }
        ExperimentError::Page(_) | ExperimentError::Json(_) => Kind::Bug,
    };
    Failure::new(kind, error).hint(format!("to go on: the same command with --out {}", folder.display()))
}

fn conclude(outcome: &Outcome, folder: &Path) {
    let report = &outcome.report;
    terminal::line(format_args!("\n{}\n{}", report.headline.title, report.headline.result));
    if !report.headline.claim.is_empty() {
        terminal::line(format_args!("{}", report.headline.claim));
    }
    for arm in &report.arms {
        let tally = &arm.tally;
        terminal::line(format_args!(
            "{:8} {:18} {:14} {:3} passed, {:3} failed, {:2} void of {}",
            arm.key.role.as_str(),
            arm.key.model,
            arm.key.arm,
            tally.passed,
            tally.failed,
            tally.void,
            tally.trials
        ));
    }
    let void = outcome.measured.count(Verdict::Void);
    if void > 0 {
        terminal::line(format_args!("{void} trials are void; the report lists their causes"));
    }
    terminal::line(format_args!("report: {}", folder.join("report.html").display()));
}
