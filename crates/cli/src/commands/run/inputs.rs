//! What a run is made from: its suite, split, skillbook and guidance.

use std::path::{Path, PathBuf};

use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::arms::auto::AutoArms;
use apprentice_evaluator::run::{AdmissionCounts, ArmPlan, RunPlan, frozen_book};
use apprentice_evaluator::split::SplitLock;
use apprentice_protocol::counted;
use apprentice_results::arm::Arm;
use apprentice_results::auto_arm::choose_auto;
use apprentice_runs::{Wanted, check, read_rows};
use apprentice_skillbook::Snapshot;
use apprentice_skillbook::verification::{Admission, AdmissionPolicy, admit};
use apprentice_tasks::suite::Suite;

use super::{ParseCommand, RecordedCommand, Run, StartedBy};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::options::guidance_args::GuidanceArgs;
use crate::settings::config::Config;
use crate::terminal;

/// What a run is made from: `run` takes it from its arguments, `resume` from the stored plan and command.
pub(super) struct RunInputs {
    suite: PathBuf,
    /// The suite's name in a stored plan; its folder may have been renamed since.
    suite_name: Option<String>,
    split: Option<PathBuf>,
    arm: Arm,
    skillbook: Option<PathBuf>,
    only_skills: AdmissionPolicy,
    guidance: GuidanceArgs,
    model: String,
    dev_runs: Vec<PathBuf>,
}

impl RunInputs {
    /// Takes the inputs from the arguments of `run`.
    pub(super) fn given(run: &Run) -> Self {
        Self {
            suite: run.suite.clone(),
            suite_name: None,
            split: run.split.clone(),
            arm: run.arm,
            skillbook: run.skillbook.clone(),
            only_skills: run.only_skills,
            guidance: run.guidance.clone(),
            model: run.model.clone(),
            dev_runs: run.dev_run.clone(),
        }
    }

    /// The inputs of a run that a worker carries out: as given, but with the suite and the skillbook that were brought to
    /// this machine. The plan has each trial's split.
    #[cfg(feature = "fleet")]
    pub(super) fn brought(run: &Run, plan: &RunPlan, suite: PathBuf, book: Option<PathBuf>) -> Self {
        let (suite_name, split) = (Some(plan.suite.clone()), None);
        Self { suite, suite_name, split, skillbook: book, ..Self::given(run) }
    }

    /// The same inputs, with the suite at another place if one is given.
    pub(super) fn with_suite(self, suite: Option<&PathBuf>) -> Self {
        Self { suite: suite.cloned().unwrap_or(self.suite), ..self }
    }

    /// Reads the inputs of a stored run, and the command line that started it. The plan fixes the trials, models,
    /// caps and seeds, the arm and its admission policy, and the run's folder holds its skillbook. They do not hold where
    /// other files are or how services are reached, so that exactly the following comes from the stored command: the
    /// paths of the suite, of the split, and of the skillbook of a run that kept none, the tool servers and their rules, the hidden skills, and the overrides of settings (for example
    /// a model's address). Nothing else of the stored command is used.
    pub(super) fn stored(
        run: &Path,
        plan: &RunPlan,
        parse: ParseCommand,
    ) -> Result<(Self, RecordedCommand), Failure> {
        let command = parse(&plan.command)?;
        // Further tries have arms of their own, without help, that follow from the plan.
        let first: Vec<&ArmPlan> = plan.arms.iter().filter(|arm| arm.try_number.is_none()).collect();
        let (StartedBy::Run(given), [arm]) = (&command.started, first.as_slice()) else {
            return Err(Failure::say(Kind::Usage, "this run was not started by `apprentice run`")
                .hint(format!("start it again: {}", plan.command.join(" "))));
        };
        let inputs = Self {
            suite_name: Some(plan.suite.clone()),
            suite: from_run(run, &given.suite),
            arm: Arm::parse(&arm.arm).kind(Kind::Config)?,
            only_skills: arm.admission.as_ref().map_or(given.only_skills, |admission| admission.policy),
            skillbook: frozen_book(run)
                .or_else(|| given.skillbook.as_deref().map(|book| from_run(run, book))),
            split: given.split.as_deref().map(|split| from_run(run, split)),
            ..Self::given(given)
        };
        Ok((inputs, command))
    }
}

/// Returns a path of the command that started a run. It may be relative to another working folder: then it is looked for
/// from the run's folder upwards, as a run usually lies below the folder that it was started in.
fn from_run(run: &Path, path: &Path) -> PathBuf {
    if path.is_absolute() || path.exists() {
        return path.to_owned();
    }
    let run = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    let found = run.ancestors().skip(1).map(|folder| folder.join(path)).find(|path| path.exists());
    found.unwrap_or_else(|| path.to_owned())
}

/// The suite, split and skillbook of a run, loaded.
pub(super) struct Loaded {
    pub(super) suite: Suite,
    pub(super) split: Option<SplitLock>,
    pub(super) provider: GuidanceProvider,
    pub(super) books: Vec<ArmPlan>,
    /// The skillbook, before the admission policy; `None` for an arm without one.
    pub(super) book: Option<Snapshot>,
}

pub(super) fn load(inputs: &RunInputs, config: &Config, models: &Models) -> Result<Loaded, Failure> {
    if inputs.arm == Arm::Inline {
        let failure = "the arm inline inserts the guidance that the arm pull retrieved: `run` has one arm";
        return Err(Failure::say(Kind::Usage, failure).hint("use `bench` with the arms pull and inline"));
    }
    let loaded = crate::suite::load(&inputs.suite)?;
    let suite = Suite { name: inputs.suite_name.clone().unwrap_or(loaded.name), ..loaded };
    let split = inputs.split.as_deref().map(SplitLock::read).transpose().kind(Kind::Config)?;
    let (whole, book, admission) = if inputs.arm.needs_book() {
        let folder = inputs.skillbook.as_ref().unwrap_or(&config.skillbook);
        // A run needs a frozen skillbook; one with unrecorded edits has no hash to identify it.
        let whole = crate::commands::skills::open(folder)?.clean().kind(Kind::Config)?;
        let (book, counts) = admitted(&whole, inputs.only_skills)?;
        (Some(whole), book.with_embedding(models.embedding()?), Some(counts))
    } else {
        (None, Snapshot::empty(), None)
    };
    let provider = inputs.guidance.provider(&suite, book, models.clock())?;
    let provider = provider.with_auto(chosen_arm(inputs, models)?);
    let books = vec![ArmPlan { admission, ..ArmPlan::of(inputs.arm, &provider) }];
    Ok(Loaded { suite, split, provider, books, book: whole })
}

/// Returns the arm that `auto` stands for, by the dev runs given; none for every other arm.
fn chosen_arm(inputs: &RunInputs, models: &Models) -> Result<AutoArms, Failure> {
    if inputs.arm != Arm::Auto {
        return Ok(AutoArms::default());
    }
    let mut known = Vec::new();
    for run in &inputs.dev_runs {
        check(run, Wanted::RunOrRows).kind(Kind::Config)?;
        known.extend(read_rows(run).kind(Kind::Config)?.rows);
    }
    let choice = choose_auto(&known, models.resolve(&inputs.model)?).map_err(|error| {
        let hint = "run the dev tasks in these arms first and name the runs: --split FILE --only dev --arm push, \
                    then --arm auto --dev-run RUN --dev-run RUN";
        Failure::say(Kind::NothingMatched, error.to_string()).hint(hint)
    })?;
    let passed = choice.passed.iter().map(|(arm, passed)| format!("{arm} {passed}"));
    let passed = passed.collect::<Vec<_>>().join(", ");
    terminal::note(format_args!("auto: {}; passed of {} dev trials: {passed}", choice.arm, choice.trials));
    Ok([(models.resolve(&inputs.model)?.to_owned(), choice.arm)].into_iter().collect())
}

/// Returns the skills that the admission policy accepts; prints a note if some are in quarantine.
fn admitted(book: &Snapshot, policy: AdmissionPolicy) -> Result<(Snapshot, AdmissionCounts), Failure> {
    let (through, Admission { eligible, quarantined, .. }) = admit(book, policy);
    if !quarantined.is_empty() {
        terminal::note(format_args!(
            "{} admitted, {} in quarantine",
            counted(eligible, "skill"),
            quarantined.len()
        ));
    }
    if eligible == 0 && !quarantined.is_empty() {
        return Err(Failure::say(Kind::NothingMatched, "the admission policy accepts no skill").hint(
            "`apprentice learn` on training runs that used a skill verifies it; --only-skills auto accepts all",
        ));
    }
    let counts = AdmissionCounts { policy, eligible, quarantined: quarantined.len() };
    Ok((through, counts))
}
