//! `apprentice demo`: the whole loop on real programs, without any key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arm::Arm;
use apprentice_evaluator::experiment::{BookSource, Experiment, Lessons, Primary};
use apprentice_evaluator::learn::{CycleOptions, Phase, Worked};
use clap::Args;

use super::study;
use crate::config::Config;
use crate::failure::{Failure, Kind};
use crate::models::Models;
use crate::stage::Voice;
use crate::{args, terminal, wire};

/// Attempts side by side over one state of the book. It shapes the book, so that it must not depend on the
/// machine.
const BATCH: usize = 2;

/// Variations of each test task for the student.
const SEEDS: u32 = 3;

/// Shows the whole loop: a capable agent works and fills a skillbook, a weak one is measured with and without it.
///
/// Both agents are rule-based policies, not language models: the demo checks the mechanism, on real programs,
/// and says nothing about what a skillbook does for a language model.
///
/// A demo that was stopped goes on where it was, in learning and in measuring: give the same command with the
/// same `--out`, or `apprentice resume DIR`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Demo {
    /// Folder for the runs, the book and the report; must be new or empty, or hold this demo
    /// [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The suite.
    #[arg(long, default_value = "tasks/starter", value_name = "PATH")]
    suite: PathBuf,
    /// Its locked split [default: `split.json` beside the suite].
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    /// The tasks that take part [default: `demo.json` beside the suite, if there is one].
    #[arg(long, value_name = "FILE", conflicts_with = "full")]
    select: Option<PathBuf>,
    /// The capable model.
    #[arg(long, default_value = "builtin/explorer")]
    teacher: String,
    /// The weak model.
    #[arg(long, default_value = "builtin/novice")]
    student: String,
    /// Variations of each test task for the student.
    #[arg(long, default_value_t = SEEDS)]
    seeds: u32,
    /// All tasks, more arms, and the baselines.
    #[arg(long)]
    full: bool,
}

impl Demo {
    /// The same below another folder.
    pub(crate) fn within(&self, out: PathBuf) -> Self {
        Self { out: Some(out), ..self.clone() }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Demo, config: &Config) -> Result<(), Failure> {
    let clock = study::clock();
    let models = wire::models(config, Arc::clone(&clock))?;
    let experiment = experiment(arguments, config, &models)?;
    let folder = study::folder(arguments.out.as_ref(), "demo", config, &*clock);
    introduce(arguments, &folder);
    let began = clock.mono();
    let outcome = wire::runtime()?.block_on(study::perform(
        &experiment,
        (config, Arc::clone(&clock), &models),
        &folder,
        Voice::Aloud,
    ))?;
    study::conclude(&outcome, &folder);
    terminal::line(format_args!("took {} s", (clock.mono() - began).as_secs()));
    Ok(())
}

fn introduce(arguments: &Demo, folder: &Path) {
    let Demo { teacher, student, .. } = arguments;
    terminal::note(format_args!(
        "{teacher} learns how to work in real programs and writes a skillbook;\n\
         then {student} is measured on other tasks, alone, with the book, and with irrelevant skills."
    ));
    if [teacher, student].iter().all(|model| model.starts_with("builtin/")) {
        terminal::note(format_args!("Both are rule-based policies, not language models."));
    }
    terminal::note(format_args!("Everything is kept in {}\n", folder.display()));
}

fn experiment(arguments: &Demo, config: &Config, models: &Models) -> Result<Experiment, Failure> {
    let suite = super::tasks::load(&arguments.suite)?;
    let Some(lock) = study::split(arguments.split.as_ref(), &suite)? else {
        let story = format!("{} has no locked split", suite.root.display());
        return Err(Failure::say(Kind::Config, story).hint("name one with --split FILE"));
    };
    let beside = suite.root.join("demo.json");
    let selection = match &arguments.select {
        _ if arguments.full => None,
        Some(path) => Some(path),
        None => Some(&beside).filter(|path| path.is_file()),
    };
    models.check(&arguments.student)?;
    let teacher = models.resolve(&arguments.teacher)?.to_owned();
    let mut arms = vec![Arm::None, Arm::Pull, Arm::PlaceboInert];
    if arguments.full {
        arms.extend([Arm::PlaceboWrong, Arm::ToolsOnly, Arm::All]);
    }
    Ok(Experiment {
        tasks: selection.map(|path| study::selected(path, &suite)).transpose()?,
        suite: Arc::new(suite),
        lock: Some(lock),
        book: BookSource::Learned(Lessons {
            teacher: teacher.clone(),
            learner: models.get(&arguments.teacher, "learn")?,
            cycle: CycleOptions { epochs: config.epochs, batch: BATCH, ..CycleOptions::default() },
        }),
        teacher: Some(teacher),
        student: models.resolve(&arguments.student)?.to_owned(),
        others: Vec::new(),
        arms,
        primary: Primary::default(),
        seeds: arguments.seeds.max(1),
        baselines: arguments.full,
        attempts: config.attempts.max(1),
        order_seed: 0,
        limits: None,
        registered: None,
        command: args::given(),
        program: env!("CARGO_PKG_VERSION").into(),
    })
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
