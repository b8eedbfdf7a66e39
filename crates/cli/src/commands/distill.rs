//! `apprentice distill`: runs the experiment that a file describes: learning, freeze of the skillbook, measurement and
//! report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::tool_servers::ToolSettings;
use apprentice_evaluator::estimates::cost::Pricing;
use apprentice_evaluator::experiment::{
    BookSource, Experiment, ExperimentConfig, Prereg, ProgramDefaults, ResolveContext, ResolvedConfig,
    finished_rows, forecast,
};
use apprentice_evaluator::run::ModelSource as _;
use apprentice_learning::reflect::ReflectOptions;
use apprentice_protocol::Clock;
use apprentice_runs::layout::PREREG_FILE;
use apprentice_tasks::suite::requirements::needs_judge;
use clap::Args;

use crate::commands::forecast::{Forecast, Proceed, SpendingArgs, learning_models};
use crate::commands::{experiment_command, forecast_table};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::options::servers::Servers;
use crate::runs::experiment_progress::Verbosity;
use crate::settings::config::Config;
use crate::settings::role::RoleSettings;
use crate::{process_env, terminal, wire};

/// Runs the experiment that a file describes: a teacher fills a skillbook on training tasks, students are measured on
/// test tasks with and without it, and a report states which claims the results support.
///
/// docs/experiments.md documents the file format. `apprentice plan` forecasts cost and statistical power and
/// preregisters the experiment.
///
/// To continue an experiment that was stopped, repeat the command with the same `--out`, or run
/// `apprentice resume DIR`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Distill {
    /// The experiment file.
    #[arg(value_name = "EXPERIMENT")]
    file: PathBuf,
    /// Folder for the runs, the skillbook and the report; must be new, empty, or the folder of this experiment
    /// [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Largest number of pictures of an attempt for a reviewer that sees; 0 shows none.
    #[arg(long, default_value_t = ReflectOptions::default().pictures, value_name = "N")]
    reflector_pictures: usize,
    #[command(flatten)]
    servers: Servers,
    #[command(flatten)]
    consent: SpendingArgs,
    /// Print the report as one JSON object (`apprentice.report/1`).
    #[arg(long)]
    json: bool,
}

impl Distill {
    /// Returns the same arguments with an output folder, for `apprentice resume`.
    pub(crate) fn again(&self, out: PathBuf, consent: SpendingArgs, json: bool) -> Self {
        Self { out: Some(out), consent, json, ..self.clone() }
    }
}

#[cfg(feature = "fleet")]
impl Distill {
    /// The experiment file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// What may be spent without being asked.
    pub(crate) fn consent(&self) -> SpendingArgs {
        self.consent
    }

    /// The largest number of pictures for a reviewer that sees.
    pub(crate) fn reflector_pictures(&self) -> usize {
        self.reflector_pictures
    }

    /// Names an option that holds on one machine only, if it is given.
    pub(crate) fn bound_to_a_machine(&self, clock: &Arc<dyn Clock>) -> Result<Option<&'static str>, Failure> {
        experiment_command::bound_to_a_machine(self.out.is_some(), &self.servers, clock)
    }
}

/// A parsed experiment file with the settings and models to run it.
pub(crate) struct LoadedExperiment {
    /// The settings, with the file's cost cap applied.
    pub(crate) config: Config,
    /// The source of the models that the file names.
    pub(crate) models: Arc<Models>,
    /// The experiment with all references resolved.
    pub(crate) draft: ResolvedConfig,
    /// What the models are needed for.
    pub(crate) purpose: ModelUse,
}

/// Reads an experiment file and resolves its references.
pub(crate) fn load_experiment(
    path: &Path,
    config: &Config,
    clock: Arc<dyn Clock>,
    purpose: ModelUse,
) -> Result<LoadedExperiment, Failure> {
    load_experiment_with(path, config, clock, purpose, |_| {})
}

/// What the models of an experiment are needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelUse {
    /// A forecast alone: no key is needed.
    Forecast,
    /// Calls: every model must be usable.
    Calls,
}

impl From<SpendingArgs> for ModelUse {
    fn from(consent: SpendingArgs) -> Self {
        if consent.dry_run { Self::Forecast } else { Self::Calls }
    }
}

/// Like [`load_experiment`], with changes to the file's contents before its references are resolved.
pub(crate) fn load_experiment_with(
    path: &Path,
    config: &Config,
    clock: Arc<dyn Clock>,
    purpose: ModelUse,
    change: impl FnOnce(&mut ExperimentConfig),
) -> Result<LoadedExperiment, Failure> {
    let path = &crate::suite::found(path)?;
    let text = apprentice_files::read_to_string(path)
        .map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", path.display())))?;
    let mut file = ExperimentConfig::read(path, &text).kind(Kind::Config)?;
    for hint in &file.renamed {
        terminal::note(format_args!("hint: {}: {hint}", path.display()));
    }
    change(&mut file);
    let mut config = config.clone();
    // The lower of the file's cap and the command line's cap applies.
    let caps = [file.max_usd, config.cap.run_usd];
    config.cap.run_usd = caps.into_iter().flatten().reduce(f64::min);
    if let Some(judge) = &file.judge {
        // The settings of the role are of the model that the role names.
        let own = config.role.judge.model.as_ref() == Some(&judge.value);
        let other = || RoleSettings { model: Some(judge.value.clone()), ..RoleSettings::default() };
        config.role.judge = if own { config.role.judge.clone() } else { other() };
    }
    let models = wire::models(&config, clock)?;
    let model = |name: &str| {
        let check = |full: &str| match purpose {
            ModelUse::Forecast => models.check_name(full),
            ModelUse::Calls => models.check(full),
        };
        let known = models.resolve(name).and_then(|full| check(full).map(|()| full.to_owned()));
        known.map_err(|failure| {
            let message = format!("{:#}", failure.source);
            failure.hints.iter().fold(message, |message, hint| format!("{message}; {hint}"))
        })
    };
    let names_judge = file.judge.is_some();
    let names_learner = file.learning.learner.is_some();
    let draft = file.resolve(&ResolveContext { file: path, model: &model }).kind(Kind::Config)?;
    if let Some(learner) = draft.learner.as_deref().filter(|_| !names_learner) {
        check_learning_roles(&config, learner)?;
    }
    if names_judge || draft.suite.tasks.iter().any(needs_judge) {
        match purpose {
            ModelUse::Forecast => models.check_forecast_judge()?,
            ModelUse::Calls => models.check_judge()?,
        }
    }
    Ok(LoadedExperiment { config, models, draft, purpose })
}

/// Refuses an experiment without a learner of its own beside a role that names another one: the teacher would learn.
fn check_learning_roles(config: &Config, teacher: &str) -> Result<(), Failure> {
    for role in ["reflector", "manager"] {
        let Some(model) = config.role.of(role).flatten().filter(|model| *model != teacher) else { continue };
        let story = format!("role.{role} names {model}, and the teacher {teacher} learns in this experiment");
        let hint = format!("add `learner = {model:?}` (or the teacher) to the table [learning]");
        return Err(Failure::say(Kind::Config, story).hint(hint));
    }
    Ok(())
}

impl LoadedExperiment {
    /// Builds the experiment. `command` is the command line that starts it.
    pub(crate) fn experiment(
        &self,
        command: Vec<String>,
        tools: ToolSettings,
    ) -> Result<Experiment, Failure> {
        let build = |name: &str| match self.purpose {
            ModelUse::Forecast => self.models.sketch(name),
            ModelUse::Calls => self.models.get(name, "learn"),
        };
        let learner = self.draft.learner.as_deref().map(build).transpose()?;
        Ok(self.draft.clone().experiment(ProgramDefaults {
            learner,
            judge: self.models.judge(),
            attempts: self.config.attempts,
            epochs: self.config.epochs,
            cleanup_every: usize::try_from(self.config.cleanup_every).unwrap_or(usize::MAX),
            tools,
            command,
            program: env!("CARGO_PKG_VERSION").into(),
        }))
    }

    /// Forecasts the cost of the rest of the experiment in `folder` and decides whether to continue; high costs need
    /// the user's confirmation. A dry run prints the table of `plan` first.
    pub(crate) fn confirm_cost(
        &self,
        experiment: &Experiment,
        folder: Option<&Path>,
        consent: SpendingArgs,
    ) -> Result<Proceed, Failure> {
        let done = folder.map(finished_rows).unwrap_or_default();
        let learner = self.draft.learner.as_deref();
        if consent.tells_in_words() {
            let learning = learning_models(&self.models, learner)?;
            let quote = |model: &str| self.models.quote(model).unwrap_or_else(|_| Pricing::free());
            let told = forecast(experiment, self.draft.config.design, &learning, &quote, &done);
            forecast_table::print(&told.map_err(experiment_command::failure)?);
        }
        Forecast::of_experiment(&self.models, experiment, learner, &done)?.agree(&self.config, consent)
    }
}

/// Returns the path of an experiment file's preregistration, beside the file.
pub(crate) fn registration_of(file: &Path) -> PathBuf {
    match file.file_stem().and_then(|stem| stem.to_str()) {
        None | Some("experiment") => file.with_file_name(PREREG_FILE),
        Some(stem) => file.with_file_name(format!("{stem}.{PREREG_FILE}")),
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Distill, config: &Config) -> Result<(), Failure> {
    let clock = experiment_command::clock();
    let file = crate::suite::found(&arguments.file)?;
    let purpose = ModelUse::from(arguments.consent);
    let loaded = load_experiment(&file, config, Arc::clone(&clock), purpose)?;
    let registered = Prereg::read(&registration_of(&file)).kind(Kind::Config)?;
    let tools = arguments.servers.tool_box(&clock)?;
    let experiment = loaded.experiment(process_env::command_line(), tools)?;
    let mut experiment = Experiment { registered, ..experiment };
    if let BookSource::Learned(learning) = &mut experiment.book {
        learning.cycle.learn.reflect.pictures = arguments.reflector_pictures;
    }
    let consent = arguments.consent.in_json(arguments.json);
    if loaded.confirm_cost(&experiment, arguments.out.as_deref(), consent)? == Proceed::Off {
        return Ok(());
    }
    let LoadedExperiment { config, models, .. } = loaded;
    let folder = experiment_command::folder(arguments.out.as_ref(), "distill", &config, &*clock);
    let verbosity = if arguments.json { Verbosity::Silent } else { Verbosity::Aloud };
    if verbosity == Verbosity::Aloud {
        terminal::note(format_args!("All files are in {}\n", folder.display()));
    }
    let outcome = wire::runtime()?.block_on(experiment_command::perform(
        &experiment,
        &config,
        &models,
        &folder,
        verbosity,
    ))?;
    if arguments.json {
        terminal::json(&outcome.report)?;
    } else {
        experiment_command::conclude(&outcome, &folder);
    }
    experiment_command::verdict(&outcome)
}
