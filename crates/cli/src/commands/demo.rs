//! `apprentice demo`: the example experiment on real programs, without an API key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::experiment::experiment_config::Located;
use apprentice_evaluator::experiment::{Experiment, ExperimentConfig};
use apprentice_results::arm::Arm;
use apprentice_skillbook::review::ReflectMode;
use clap::Args;

use crate::commands::distill::{LoadedExperiment, ModelUse, load_experiment_with};
use crate::commands::experiment_command;
use crate::commands::forecast::{Proceed, SpendingArgs};
use crate::commands::learn::Reflection;
use crate::failure::Failure;
use crate::options::servers::Servers;
use crate::runs::experiment_progress::Verbosity;
use crate::settings::config::Config;
use crate::{process_env, terminal, wire};

/// Checks the mechanism: one rule-based policy fills a skillbook, another is measured with and without it.
///
/// Same as `apprentice distill tasks/starter/experiment.toml`; options given here override the file. Both agents are
/// rule-based policies, not language models, and read instructions worded near the labels on the screen. The demo shows
/// that the parts work together on real programs. It does not show what a skillbook does for a language model.
///
/// To continue a demo that was stopped, repeat the command with the same `--out`, or run `apprentice resume DIR`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Demo {
    /// Folder for the runs, the skillbook and the report; must be new, empty, or the folder of this demo
    /// [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The suite whose `experiment.toml` to run.
    #[arg(long, default_value = "tasks/starter", value_name = "PATH")]
    suite: PathBuf,
    /// The suite's locked split.
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    /// File that selects the tasks.
    #[arg(long, value_name = "FILE", conflicts_with = "full")]
    select: Option<PathBuf>,
    /// The model that fills the skillbook.
    #[arg(long)]
    teacher: Option<String>,
    /// The model that is measured.
    #[arg(long)]
    student: Option<String>,
    /// Number of variations per test task for the student.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: Option<u32>,
    /// How attempts are reviewed while learning [default: as in the file].
    #[arg(long, value_enum, value_name = "MODE")]
    reflection: Option<Reflection>,
    /// Run all tasks, more arms, and the baselines.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    servers: Servers,
    #[command(flatten)]
    consent: SpendingArgs,
}

impl Demo {
    /// The path of the suite.
    pub(crate) fn suite(&self) -> &Path {
        &self.suite
    }

    /// Returns the same arguments with an output folder, for `apprentice resume`.
    pub(crate) fn again(&self, out: PathBuf, consent: SpendingArgs) -> Self {
        Self { out: Some(out), consent, ..self.clone() }
    }

    /// Returns the path of the experiment file.
    fn file(&self) -> PathBuf {
        let above = self.suite.parent().filter(|_| self.suite.is_file());
        let folder = above.unwrap_or(&self.suite);
        folder.join("experiment.toml")
    }

    /// Overrides the file's values with those of the command line.
    fn apply_to(&self, file: &mut ExperimentConfig) {
        let path = |path: &PathBuf| {
            Located::without_position(std::path::absolute(path).unwrap_or_else(|_| path.clone()))
        };
        file.split = self.split.as_ref().map(path).or(file.split.take());
        file.select = self.select.as_ref().map(path).or(file.select.take());
        file.teacher = self.teacher.clone().map(Located::without_position).or(file.teacher.take());
        if let Some(student) = &self.student {
            file.students = vec![Located::without_position(student.clone())];
        }
        file.learning.reflection = self.reflection.map_or(file.learning.reflection, ReflectMode::from);
        file.seeds = self.seeds.unwrap_or(file.seeds);
        if self.full {
            file.select = None;
            file.baselines = true;
            for arm in [Arm::PlaceboWrong, Arm::ToolsOnly, Arm::All].map(|arm| arm.to_string()) {
                if !file.arms.iter().any(|known| known.value == arm) {
                    file.arms.push(Located::without_position(arm));
                }
            }
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Demo, config: &Config) -> Result<(), Failure> {
    let clock = experiment_command::clock();
    let change = |file: &mut ExperimentConfig| arguments.apply_to(file);
    let purpose = ModelUse::from(arguments.consent);
    let loaded = load_experiment_with(&arguments.file(), config, Arc::clone(&clock), purpose, change)?;
    let tools = arguments.servers.tool_box(&clock)?;
    let experiment = loaded.experiment(process_env::command_line(), tools)?;
    if loaded.confirm_cost(&experiment, arguments.out.as_deref(), arguments.consent)? == Proceed::Off {
        return Ok(());
    }
    let LoadedExperiment { config, models, .. } = loaded;
    let folder = experiment_command::folder(arguments.out.as_ref(), "demo", &config, &*clock);
    introduce(&experiment, &folder);
    let began = clock.mono();
    let outcome = wire::runtime()?.block_on(experiment_command::perform(
        &experiment,
        &config,
        &models,
        &folder,
        Verbosity::Aloud,
    ))?;
    experiment_command::conclude(&outcome, &folder);
    terminal::line(format_args!("took {} s", (clock.mono() - began).as_secs()));
    experiment_command::verdict(&outcome)
}

fn introduce(experiment: &Experiment, folder: &Path) {
    let (teacher, student) = (experiment.teacher.as_deref().unwrap_or_default(), &experiment.student);
    terminal::note(format_args!(
        "{teacher} learns to work in real programs and writes a skillbook;\n\
         then {student} is measured on other tasks: alone, with the skillbook, and with irrelevant skills."
    ));
    if [teacher, student].iter().all(|model| model.starts_with("builtin/")) {
        terminal::note(format_args!(
            "Both are rule-based policies, not language models: this checks the mechanism."
        ));
    }
    terminal::note(format_args!("All files are in {}\n", folder.display()));
}
