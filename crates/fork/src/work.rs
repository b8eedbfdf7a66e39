//! Runs the attempts of a fork: one run folder per replicate with one trial of each arm, judged like any other trial.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_harness::fork::{ForkPoint, ForkedModel, Parting, PriorTurns};
use apprentice_models::identity::ModelIdentity;
use apprentice_protocol::{BoxFuture, ChatModel};
use apprentice_results::arm::Arm;
use apprentice_tasks::suite::Suite;
use jiff::Timestamp;

use super::error::ForkError;
use super::load::ForkSite;
use super::report::{FORK_SCHEMA, ForkAttempt, ForkReport, History, PartingRecord, RecordedAttempt};
use super::variant::{Variant, help};
use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::arms::guidance::TrialHelp;
use apprentice_evaluator::run::{
    ArmPlan, AttemptOf, Contender, Conversations, ModelSource, PlanRequest, PlannedRun, RunControl, RunDeps,
    RunPlan, RunSummary, TrialSpec, plan, start_plan,
};

/// A fork to work.
pub struct Fork {
    /// The place of the fork.
    pub site: ForkSite,
    /// The suite of the recorded run.
    pub suite: Suite,
    /// The help, over the book of the recorded run.
    pub provider: GuidanceProvider,
    /// What the second arm changes; `None` for one arm.
    pub variant: Option<Variant>,
    /// The model that goes on.
    pub model: String,
    /// The number of attempts of each arm.
    pub times: u32,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The version of the program.
    pub program: String,
    /// Notes on differences from the recorded run, for the report.
    pub notes: Vec<String>,
}

/// The outcome of a fork.
#[derive(Debug)]
pub struct ForkOutcome {
    /// The report, as written to `fork.json`.
    pub report: ForkReport,
    /// The runs of the replicates that began.
    pub runs: Vec<RunSummary>,
    /// The folder of the report.
    pub folder: PathBuf,
}

impl Fork {
    /// Refuses what cannot be forked: before a world opens and before anything is written.
    pub fn check(&self) -> Result<(), ForkError> {
        self.site.check_suite(&self.suite)?;
        self.site.live_model(Some(&self.model))?;
        if self.times == 0 {
            return Err(ForkError::NoTimes);
        }
        let own = &self.site.trial.arm;
        let failed = |arm: &str, error| ForkError::Help { arm: arm.to_owned(), source: Box::new(error) };
        let recorded = TrialHelp::of_arm(own).map_err(|error| failed(own, error.into()))?;
        if let Some(variant) = &self.variant {
            variant.check(&recorded, self.provider.book())?;
        }
        for arm in self.arms() {
            let trial = TrialSpec { arm: arm.clone(), ..self.site.trial.clone() };
            help(&self.provider, own, self.variant.as_ref(), &trial).map_err(|error| failed(&arm, error))?;
        }
        Ok(())
    }

    /// The names of the arms: the recorded help first.
    fn arms(&self) -> Vec<String> {
        let variant = self.variant.as_ref().map(Variant::arm);
        std::iter::once(self.site.trial.arm.clone()).chain(variant).collect()
    }

    /// Plans one replicate, from 1. A model that accepts a seed gets another one in each; the order of the arms is
    /// drawn anew.
    pub fn plan(&self, replicate: u32, now: Timestamp) -> Result<RunPlan, ForkError> {
        let trial = &self.site.trial;
        let contender = |arm: String| Contender {
            role: trial.role,
            model: self.model.clone(),
            arm,
            tasks: None,
            seeds: None,
        };
        let request = PlanRequest {
            suite: &self.suite,
            split: None,
            tasks: Some(BTreeSet::from([trial.task.clone()])),
            contenders: self.arms().into_iter().map(contender).collect(),
            seeds: trial.seed.saturating_add(1),
            limits: Some(self.site.header.brief.limits.into()),
            attempts: 1,
            order_seed: u64::from(replicate),
            conversations: Conversations::Dropped,
            command: self.command.clone(),
            program: self.program.clone(),
            books: self.arms().into_iter().map(|arm| self.arm_plan(arm, replicate)).collect(),
        };
        let mut planned = plan(&request, now)?;
        planned.trials.retain(|one| one.seed == trial.seed);
        for (order, one) in (0..).zip(&mut planned.trials) {
            (one.order, one.split) = (order, trial.split);
        }
        Ok(planned)
    }

    fn arm_plan(&self, arm: String, replicate: u32) -> ArmPlan {
        let trial = TrialSpec { arm: arm.clone(), ..self.site.trial.clone() };
        let help = help(&self.provider, &self.site.trial.arm, self.variant.as_ref(), &trial);
        let skillbook_hash = help.ok().and_then(|help| help.skillbook_hash);
        let aids = skillbook_hash.as_ref().map(|_| self.provider.inputs(Arm::Pull)).unwrap_or_default();
        let try_number = (replicate > 1).then_some(replicate);
        ArmPlan { arm, skillbook_hash, aids, try_number, ..ArmPlan::default() }
    }

    fn history(&self) -> History {
        if self.model == self.site.row.model { History::OwnTurns } else { History::AsText }
    }

    fn report(&self) -> ForkReport {
        let (site, count) = (&self.site, |number: usize| u32::try_from(number).unwrap_or(u32::MAX));
        ForkReport {
            schema: FORK_SCHEMA.to_owned(),
            recorded: RecordedAttempt {
                run: site.row.run.clone(),
                trial: site.row.trial.clone(),
                attempt: site.row.attempt,
                suite: site.row.suite.clone(),
                task: site.row.task.clone(),
                seed: site.row.seed,
                role: site.row.role,
                model: site.row.model.clone(),
                arm: site.row.arm.clone(),
                verdict: site.row.verdict,
            },
            step: site.point.step,
            repeated_turns: count(site.point.turns.len()),
            repeated_actions: site.repeated_actions,
            model: self.model.clone(),
            history: self.history(),
            times: self.times,
            arms: Vec::new(),
            effect: None,
            attempts: Vec::new(),
            notes: self.notes.clone(),
        }
    }

    /// Works the fork in a new folder, with up to `jobs` worlds at a time.
    pub async fn work(
        self,
        folder: &Path,
        jobs: usize,
        deps: RunDeps,
        control: RunControl,
    ) -> Result<ForkOutcome, ForkError> {
        self.check()?;
        create_new(folder)?;
        let (arms, is_treatment) = (self.arms(), self.variant.as_ref().is_some_and(Variant::is_treatment));
        let (mut report, mut runs) = (self.report(), Vec::new());
        report.compute(&arms, is_treatment);
        report.write(folder)?;
        for replicate in 1..=self.times {
            if control.cancel.is_cancelled() {
                break;
            }
            let name = format!("{replicate:02}");
            let partings = Arc::new(Mutex::new(BTreeMap::new()));
            let planned = self.plan(replicate, deps.clock.now())?;
            let inputs = self.deps(deps.clone(), &partings);
            let planned = PlannedRun { plan: planned, suite: &self.suite, book: None };
            let summary = start_plan(planned, &folder.join(&name), jobs, inputs, control.clone()).await?;
            let run = format!("{name}/{}", summary.run);
            let parted = partings.lock().unwrap_or_else(PoisonError::into_inner);
            for row in &summary.results {
                let parted = parted.get(&row.arm).cloned();
                report.attempts.push(ForkAttempt::of(row, replicate, &run, parted));
            }
            drop(parted);
            runs.push(summary);
            report.compute(&arms, is_treatment);
            report.write(folder)?;
        }
        Ok(ForkOutcome { report, runs, folder: folder.to_owned() })
    }

    /// The dependencies of one replicate: models that repeat the recorded turns first, and the help of the two arms.
    fn deps(&self, deps: RunDeps, partings: &Partings) -> RunDeps {
        let models = ForkedModels {
            live: Arc::clone(&deps.models),
            point: Arc::clone(&self.site.point),
            prior: match self.history() {
                History::OwnTurns => PriorTurns::Own,
                History::AsText => PriorTurns::AsText,
            },
            partings: Arc::clone(partings),
        };
        let (provider, own, variant) =
            (self.provider.clone(), self.site.trial.arm.clone(), self.variant.clone());
        let guidance = move |trial: &TrialSpec| help(&provider, &own, variant.as_ref(), trial);
        RunDeps { models: Arc::new(models), guidance: Arc::new(guidance), ..deps }
    }
}

/// Creates a folder that must be new or empty.
fn create_new(folder: &Path) -> Result<(), ForkError> {
    let failed = |source| ForkError::Write { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    match std::fs::read_dir(folder).map_err(failed)?.next() {
        None => Ok(()),
        Some(_) => Err(failed(std::io::Error::new(
            std::io::ErrorKind::AlreadyExists,
            "the folder is not empty; a fork needs a new one",
        ))),
    }
}

/// Where the attempts of one replicate parted from the record, by arm.
type Partings = Arc<Mutex<BTreeMap<String, PartingRecord>>>;

/// Wraps each trial's model so that it repeats the recorded turns first.
struct ForkedModels {
    live: Arc<dyn ModelSource>,
    point: Arc<ForkPoint>,
    prior: PriorTurns,
    partings: Partings,
}

impl ForkedModels {
    /// Wraps the model of a trial.
    fn forked(&self, trial: &TrialSpec, live: Arc<dyn ChatModel>) -> Result<Arc<dyn ChatModel>, String> {
        let (partings, arm) = (Arc::clone(&self.partings), trial.arm.clone());
        let parted = move |Parting { step, difference }: Parting| {
            let mut partings = partings.lock().unwrap_or_else(PoisonError::into_inner);
            partings.insert(arm.clone(), PartingRecord { step, difference });
        };
        let forked = ForkedModel::new(Arc::clone(&self.point), live, self.prior, Arc::new(parted));
        forked.map(|model| Arc::new(model) as _).map_err(|error| error.to_string())
    }
}

impl ModelSource for ForkedModels {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        self.forked(trial, self.live.model(trial)?)
    }

    fn model_of_attempt(&self, attempt: AttemptOf<'_>) -> Result<Arc<dyn ChatModel>, String> {
        self.forked(attempt.trial, self.live.model_of_attempt(attempt)?)
    }

    fn identity<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Option<ModelIdentity>> {
        self.live.identity(model)
    }

    fn judge(&self) -> Option<String> {
        self.live.judge()
    }

    fn judge_model(&self, name: &str, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        self.live.judge_model(name, trial)
    }
}
