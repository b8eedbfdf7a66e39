//! `apprentice skills measure`: whether a skill helps a model, on the evaluations that its package brings or on a suite.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::function_scope::FunctionScope;
use apprentice_evaluator::arms::hidden_skills::HiddenSkills;
use apprentice_evaluator::arms::tool_servers::ToolSettings;
use apprentice_evaluator::experiment::{BookSource, Definition, Experiment, finished_rows, plan_measurement};
use apprentice_evaluator::run::ModelSource as _;
use apprentice_measure::{Offer, PageSource, SkillPage, markdown, skill_page};
use apprentice_models::compat::SkillReading;
use apprentice_protocol::{CapOverrides, counted};
use apprentice_results::ablations::Ablations;
use apprentice_results::arm::Arm;
use apprentice_results::stats::{Design, MIN_TEMPLATES, PowerAssumptions, smallest_effect};
use apprentice_runs::latest_run;
use apprentice_runs::layout::MEASURE_FOLDER;
use apprentice_tasks::suite::Suite;
use clap::Args;

use super::measure_output::{
    MeasurePlan, Measured, MeasuredFolder, PAGE_TEXT, PlannedSkill, RefusedSkill, tell, tell_pages,
    tell_refused,
};
use super::measure_plan::{Ground, Prepared, Preparing, Subject, subjects};
use crate::commands::experiment_command;
use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::runs::experiment_progress::Verbosity;
use crate::settings::config::Config;
use crate::{process_env, terminal, wire};

/// The folders below that of a skill.
pub(super) const EXPERIMENT: &str = "experiment";
const TRIGGERS: &str = "triggers";
const PAGE_JSON: &str = "page.json";

/// Measures whether a skill helps a model: the same tasks without it, with it, and with an unrelated text of the same
/// length.
///
/// The model gets the description and asks for the text (`--offer read`), or the text stands in its prompt (`--offer prompt`).
/// Without `--offer` its profile decides: a model of few parameters asks for nothing.
///
/// The tasks are those of `evals/evals.json` in the package, or of a suite. Each attempt has a world of its own without a
/// network: a desktop with a terminal, or the page or program that the evaluation names. What files, commands and the wording of answers show is checked without a model;
/// statements are judged by the model of `--judge`, and both are kept apart. With fewer than eight evaluations there
/// is no verdict.
///
/// To go on after a stop, repeat the command with the same `--out`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Measure {
    /// A package (a folder with a SKILL.md, or a `.skill` archive), a folder of packages, or a skillbook.
    #[arg(value_name = "PACKAGE|BOOK|FOLDER")]
    place: PathBuf,
    /// The model that gets the skill.
    #[arg(long, short)]
    model: String,
    /// Measure on the tasks of this suite instead of the package's own evaluations.
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// How the model gets the skill [default: what its profile says].
    #[arg(long, value_enum)]
    offer: Option<OfferArg>,
    /// Repeat each evaluation N times in each arm. More evaluations tell more than more repetitions.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::options::count::at_least_one::<u32>)]
    repeats: u32,
    /// Largest number of actions of an attempt.
    #[arg(long, value_name = "N", value_parser = crate::options::count::at_least_one::<u32>)]
    max_steps: Option<u32>,
    /// Measure packages that would make an agent run code, send data or the like although the worlds have a network, or are no
    /// cells. In cells without a network they are measured, and the page names the sentences.
    #[arg(long)]
    accept_effects: bool,
    /// Folder for all files: one below it for each skill; must be new, or that of the same measurement [default: a new
    /// folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    consent: SpendingArgs,
}

/// How a skill is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OfferArg {
    /// Its description, and its text when the model asks for it.
    Read,
    /// Its text, in the prompt of every attempt.
    Prompt,
}

impl From<OfferArg> for Offer {
    fn from(wanted: OfferArg) -> Self {
        match wanted {
            OfferArg::Read => Self::Read,
            OfferArg::Prompt => Self::Prompt,
        }
    }
}

impl Measure {
    /// Returns the same arguments with the folder of an experiment of it, for `apprentice resume`.
    pub(crate) fn again(&self, experiment: &Path, consent: SpendingArgs) -> Self {
        // DIR/SKILL/experiment
        let out = experiment.ancestors().nth(2).map(Path::to_owned);
        Self { out: out.or_else(|| self.out.clone()), consent, ..self.clone() }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Measure, json: bool, config: &Config) -> Result<(), Failure> {
    let clock = experiment_command::clock();
    let models = wire::models(config, Arc::clone(&clock))?;
    match arguments.consent.dry_run {
        true => models.check_name(&arguments.model)?,
        false => models.check(&arguments.model)?,
    }
    let suite = arguments.suite.as_deref().map(crate::suite::load).transpose()?;
    if suite.is_none() && process_env::find_program("xfce4-terminal").is_none() {
        return Err(Failure::say(
            Kind::Environment,
            "evaluations of packages need the program xfce4-terminal",
        )
        .hint("apt install xfce4-terminal"));
    }
    let ground = match arguments.consent.dry_run {
        true => Ground::Scratch(Arc::new(tempfile::tempdir().kind(Kind::Environment)?)),
        false => Ground::Kept(experiment_command::folder(arguments.out.as_ref(), "skills", config, &*clock)),
    };
    let offer = chosen_offer(arguments, &models, ground.path())?;
    let work =
        Work { arguments, config, models: &models, suite: suite.as_ref(), json, ground: &ground, offer };
    let (prepared, refused) = work.prepare()?;
    if arguments.consent.dry_run {
        return work.tell_plan(&prepared, refused);
    }
    work.measure(&prepared, refused)
}

/// How the model gets a skill, with the reason: as the command says, else as a measurement that was begun did, else as the profile of
/// the model says. What the server tells of the model can decide its profile, so that the server is asked here, too.
fn chosen_offer(arguments: &Measure, models: &Models, folder: &Path) -> Result<(Offer, String), Failure> {
    if let Some(wanted) = arguments.offer {
        return Ok((wanted.into(), "--offer says so".to_owned()));
    }
    if let Some(begun) = begun_offer(folder)? {
        return Ok((begun, "the measurement that was begun does so".to_owned()));
    }
    let name = models.resolve(&arguments.model)?;
    wire::runtime()?.block_on(async { Ok(models.identify(name).await) })?;
    Ok(match models.skill_reading(name)? {
        Some((SkillReading::Prompt, profile)) => {
            let why = format!(
                "models of the profile {profile} ask for no skill; --offer read offers it for reading"
            );
            (Offer::Prompt, why)
        }
        Some((SkillReading::Asks, profile)) => {
            (Offer::Read, format!("models of the profile {profile} ask for a skill that they want"))
        }
        None => (
            Offer::Read,
            "nothing is said of this model; --offer prompt puts the text into its prompt".to_owned(),
        ),
    })
}

/// The offer of the measurements that a folder holds already; `None` without any.
fn begun_offer(folder: &Path) -> Result<Option<Offer>, Failure> {
    if !folder.is_dir() {
        return Ok(None);
    }
    for entry in std::fs::read_dir(folder).kind(Kind::Environment)? {
        let experiment = entry.kind(Kind::Environment)?.path().join(EXPERIMENT);
        if let Some(definition) = Definition::read(&experiment).kind(Kind::Config)? {
            return Ok(Offer::of(&definition.primary));
        }
    }
    Ok(None)
}

/// A measurement with all that it needs.
struct Work<'a> {
    arguments: &'a Measure,
    config: &'a Config,
    models: &'a Arc<Models>,
    suite: Option<&'a Suite>,
    json: bool,
    ground: &'a Ground,
    /// How the model gets a skill, and why so.
    offer: (Offer, String),
}

impl Work<'_> {
    /// Prepares every skill. One of several that cannot be measured keeps the others from nothing; a lone one is an error, and
    /// leaves nothing behind.
    fn prepare(&self) -> Result<(Vec<Prepared>, Vec<RefusedSkill>), Failure> {
        let all = subjects(&self.arguments.place)?;
        let with = Preparing {
            models: self.models,
            suite: self.suite,
            accept_effects: self.arguments.accept_effects,
            is_sealed: wire::has_sealed_worlds(self.config),
            offer: self.offer.0,
        };
        let alone = all.len() == 1;
        let names: BTreeSet<String> = all.iter().map(Subject::name).collect();
        if names.len() < all.len() {
            return Err(Failure::say(
                Kind::Config,
                "two packages have the same folder name; measure them one by one",
            ));
        }
        let (mut prepared, mut refused) = (Vec::new(), Vec::new());
        for subject in all {
            let (name, folder) = (subject.name(), self.ground.path().join(subject.name()));
            let was_there = folder.exists();
            match subject.prepare(&folder, &with) {
                Ok(one) => prepared.push(Prepared { is_new: !was_there, ..one }),
                Err(failure) => {
                    if !was_there && folder.exists() {
                        std::fs::remove_dir_all(&folder).kind(Kind::Environment)?;
                    }
                    if alone {
                        // The folder above holds nothing then; a folder that holds something stays.
                        let _ = std::fs::remove_dir(self.ground.path());
                        return Err(failure);
                    }
                    refused.push(RefusedSkill { name, why: format!("{:#}", failure.source) });
                }
            }
        }
        match prepared.is_empty() {
            true => {
                let _ = std::fs::remove_dir(self.ground.path());
                let failure = Failure::say(Kind::Config, "none of the packages can be measured");
                let told = refused.iter().take(20).map(|one| one.why.clone());
                Err(told.fold(failure, |failure, why| failure.hint(why)))
            }
            false => Ok((prepared, refused)),
        }
    }

    /// The experiment of a skill: all arms, or for evaluations that only ask whether it is read, the skill alone.
    fn experiment(&self, one: &Prepared, suite: &Suite, arms: Vec<Arm>) -> Result<Experiment, Failure> {
        let lock = match self.suite {
            Some(_) => experiment_command::split(None, suite)?,
            None => None,
        };
        let steps = self
            .arguments
            .max_steps
            .map(|steps| CapOverrides { world_steps: Some(steps), ..CapOverrides::default() });
        Ok(Experiment {
            suite: Arc::new(suite.clone()),
            lock,
            tasks: None,
            book: BookSource::Given(one.book.clone()),
            teacher: None,
            judge: self.models.judge(),
            student: self.models.resolve(&self.arguments.model)?.to_owned(),
            others: Vec::new(),
            arms,
            primary: self.offer.0.primary(),
            seeds: self.arguments.repeats,
            baselines: false,
            attempts: self.config.attempts.max(1),
            order_seed: 0,
            limits: steps,
            student_limits: None,
            ablations: Ablations::default(),
            suppress: HiddenSkills::default(),
            functions: FunctionScope::default(),
            demonstrations: Vec::new(),
            replicates: 1,
            tools: ToolSettings::default(),
            registered: None,
            command: process_env::command_line(),
            program: env!("CARGO_PKG_VERSION").into(),
        })
    }

    fn main_experiment(&self, one: &Prepared) -> Result<Experiment, Failure> {
        self.experiment(one, &one.suite, self.offer.0.arms().to_vec())
    }

    /// What would be measured of a skill, and what the size can show.
    fn planned(&self, one: &Prepared) -> Result<(PlannedSkill, Forecast), Failure> {
        let experiment = self.main_experiment(one)?;
        let plan = plan_measurement(&experiment, self.models.clock().now());
        let plan = plan.map_err(experiment_command::failure)?;
        let Some(plan) = plan else {
            return Err(Failure::say(Kind::Bug, "the book of a measurement is given"));
        };
        let done = finished_rows(&self.ground.path().join(&one.name).join(EXPERIMENT));
        let forecast = Forecast::of_plan(self.models, &plan, &one.suite, &done)?;
        let templates: BTreeSet<_> = plan.trials.iter().map(|trial| &trial.template).collect();
        let design = Design { templates: templates.len(), seeds: self.arguments.repeats };
        let planned = PlannedSkill {
            name: one.name.clone(),
            offer: self.offer.0,
            offer_because: self.offer.1.clone(),
            evals: templates.len(),
            needed: MIN_TEMPLATES,
            smallest_effect: smallest_effect(design, PowerAssumptions::default()),
            trials: plan.trials.len(),
            triggers: one.triggers.as_ref().map_or(0, |suite| suite.tasks.len()),
            left_out: one.skill.left_out.clone(),
            remarks: one.skill.remarks.clone(),
        };
        Ok((planned, forecast))
    }

    fn tell_plan(&self, prepared: &[Prepared], refused: Vec<RefusedSkill>) -> Result<(), Failure> {
        let mut skills = Vec::new();
        for one in prepared {
            let (planned, forecast) = self.planned(one)?;
            if !self.json {
                tell(&planned);
                forecast.agree(self.config, self.arguments.consent)?;
            }
            skills.push(planned);
        }
        if self.json {
            let schema = "apprentice.skills.measure-plan/1";
            return terminal::json(&MeasurePlan { schema, skills, refused });
        }
        tell_refused(&refused);
        Ok(())
    }

    /// Removes what was prepared and never begun, as where the model's server does not answer.
    fn remove_unused(&self, prepared: &[Prepared]) {
        for one in prepared {
            let folder = self.ground.path().join(&one.name);
            if one.is_new && latest_run(&folder.join(EXPERIMENT).join(MEASURE_FOLDER)).is_none() {
                // The error that led here says more than one of a folder that stays.
                let _ = std::fs::remove_dir_all(&folder);
            }
        }
        let _ = std::fs::remove_dir(self.ground.path());
    }

    fn measure(&self, prepared: &[Prepared], refused: Vec<RefusedSkill>) -> Result<(), Failure> {
        let verbosity = if self.json { Verbosity::Silent } else { Verbosity::Aloud };
        for one in prepared {
            let (planned, forecast) = self.planned(one)?;
            if !self.json {
                tell(&planned);
            }
            if forecast.agree(self.config, self.arguments.consent)? == Proceed::Off {
                return Ok(());
            }
        }
        tell_refused(&refused);
        let runtime = wire::runtime()?;
        let (mut skills, mut void) = (Vec::new(), Ok(()));
        for one in prepared {
            let folder = self.ground.path().join(&one.name);
            let place = folder.join(EXPERIMENT);
            let experiment = self.main_experiment(one)?;
            let done = experiment_command::perform(&experiment, self.config, self.models, &place, verbosity);
            let done = runtime.block_on(done).inspect_err(|_| self.remove_unused(prepared))?;
            one.skill.write(&place).kind(Kind::Environment)?;
            if let Some(triggers) = &one.triggers {
                let place = folder.join(TRIGGERS);
                let experiment = self.experiment(one, triggers, vec![Arm::Pull])?;
                // Nothing is checked in them, so that a verdict beside each would say that it failed.
                let asked = experiment_command::perform(
                    &experiment,
                    self.config,
                    self.models,
                    &place,
                    Verbosity::Silent,
                );
                terminal::note(format_args!(
                    "Asking whether {} is read when it should be: {}",
                    one.name,
                    counted(triggers.tasks.len(), "attempt")
                ));
                runtime.block_on(asked)?;
            }
            let page = page_of(&folder)?;
            void = void.and(experiment_command::verdict(&done));
            skills.push(MeasuredFolder { folder, page });
        }
        match self.json {
            true => {
                let schema = "apprentice.skills.measure/1";
                terminal::json(&Measured { schema, skills, refused })?;
            }
            false => tell_pages(&skills),
        }
        void
    }
}

/// Makes the page of a measured skill, and writes it beside its experiment.
pub(super) fn page_of(folder: &Path) -> Result<SkillPage, Failure> {
    let experiment = folder.join(EXPERIMENT);
    let triggers = latest_run(&folder.join(TRIGGERS).join(MEASURE_FOLDER));
    let source = PageSource { experiment: &experiment, triggers: triggers.as_deref() };
    let page = skill_page(source).kind(Kind::Config)?;
    std::fs::write(folder.join(PAGE_TEXT), markdown(&page)).kind(Kind::Environment)?;
    let json = serde_json::to_string_pretty(&page).kind(Kind::Bug)?;
    std::fs::write(folder.join(PAGE_JSON), json + "\n").kind(Kind::Environment)?;
    Ok(page)
}
