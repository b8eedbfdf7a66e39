//! Runs trials of a practice task: a run like any other, found again and finished after an interruption.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::Limits;
use apprentice_results::arm::Arm;
use apprentice_runs::layout::PLAN_FILE;
use apprentice_runs::row::Role;
use apprentice_skillbook::{At, Snapshot};

use super::error::ExploreError;
use super::practice_suite::PracticeSuite;
use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::run::{
    ArmPlan, Contender, Conversations, PlanRequest, PlannedRun, ResumeInputs, RunControl, RunDeps,
    RunSummary, StoreError, TrialSpec, frozen_book, plan, resume, start_plan,
};

/// Trials of one practice task.
pub(super) struct TrialRun<'a> {
    pub(super) practice: &'a PracticeSuite,
    /// The folder for the run.
    pub(super) place: &'a Path,
    pub(super) role: Role,
    pub(super) model: &'a str,
    /// The book of the attempts.
    pub(super) book: &'a Snapshot,
    pub(super) seeds: BTreeSet<u32>,
    pub(super) limits: Limits,
    pub(super) command: &'a [String],
}

/// The arm in which attempts get a book: its notes and verified functions, as far as there are any.
fn arm_of(book: &Snapshot) -> Arm {
    let verified = book.skills().any(|skill| skill.functions.values().any(|one| one.is_verified()));
    match (verified, book.skills().next().is_some()) {
        (true, _) => Arm::CodePull,
        (false, true) => Arm::Pull,
        (false, false) => Arm::None,
    }
}

impl TrialRun<'_> {
    /// Runs the trials, or those that an earlier process left.
    pub(super) async fn finish(
        &self,
        deps: &RunDeps,
        control: &RunControl,
    ) -> Result<RunSummary, ExploreError> {
        let summary = match existing(self.place)? {
            Some(folder) => self.go_on(&folder, deps, control).await?,
            None => self.begin(deps, control).await?,
        };
        match summary.interrupted {
            true => Err(ExploreError::Interrupted),
            false => Ok(summary),
        }
    }

    fn baseline(&self) -> bool {
        self.role == Role::Baseline
    }

    fn arm(&self) -> Arm {
        if self.baseline() { Arm::None } else { arm_of(self.book) }
    }

    async fn begin(&self, deps: &RunDeps, control: &RunControl) -> Result<RunSummary, ExploreError> {
        let arm = self.arm();
        let book = (arm != Arm::None).then_some(self.book);
        let request = PlanRequest {
            suite: &self.practice.suite,
            split: Some(&self.practice.lock),
            tasks: None,
            contenders: vec![Contender {
                role: self.role,
                model: self.model.to_owned(),
                arm: arm.as_str().to_owned(),
                tasks: None,
                seeds: None,
            }],
            seeds: self.seeds.last().map_or(1, |seed| seed + 1),
            limits: Some(self.limits.into()),
            attempts: 2,
            order_seed: 0,
            conversations: Conversations::Dropped,
            command: self.command.to_vec(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            books: vec![arm_plan(arm, book)],
        };
        let mut plan = plan(&request, deps.clock.now())?;
        plan.trials.retain(|trial| self.seeds.contains(&trial.seed));
        let planned = PlannedRun { plan, suite: &self.practice.suite, book };
        let own = self.deps(deps, self.book);
        Ok(start_plan(planned, self.place, self.seeds.len(), own, control.clone()).await?)
    }

    async fn go_on(
        &self,
        folder: &Path,
        deps: &RunDeps,
        control: &RunControl,
    ) -> Result<RunSummary, ExploreError> {
        let kept = frozen_book(folder).map(|book| Snapshot::open(&book, At::Now)).transpose();
        let kept = kept.map_err(StoreError::from)?.unwrap_or_else(Snapshot::empty);
        let arm = if self.baseline() { Arm::None } else { arm_of(&kept) };
        let current = ResumeInputs {
            suite: self.practice.suite.clone(),
            split_hash: Some(self.practice.lock.hash()),
            books: vec![arm_plan(arm, (arm != Arm::None).then_some(&kept))],
            program: env!("CARGO_PKG_VERSION").to_owned(),
            accept_drift: false,
        };
        let own = self.deps(deps, &kept);
        Ok(resume(folder, current, self.seeds.len(), own, control.clone()).await?)
    }

    /// The dependencies of the run, with guidance from the book.
    fn deps(&self, deps: &RunDeps, book: &Snapshot) -> RunDeps {
        let provider = GuidanceProvider::new(Arc::new(self.practice.suite.clone()), book.clone(), None);
        let guidance =
            move |trial: &TrialSpec| provider.guidance_for(&trial.model, &trial.arm, &trial.task, trial.seed);
        RunDeps { guidance: Arc::new(guidance), ..deps.clone() }
    }
}

fn arm_plan(arm: Arm, book: Option<&Snapshot>) -> ArmPlan {
    ArmPlan {
        arm: arm.as_str().to_owned(),
        skillbook_hash: book.map(Snapshot::content_hash),
        ..ArmPlan::default()
    }
}

/// The run that an earlier process began here.
fn existing(place: &Path) -> Result<Option<PathBuf>, ExploreError> {
    if !place.is_dir() {
        return Ok(None);
    }
    let failed = |source| ExploreError::File { path: place.to_owned(), source };
    for entry in std::fs::read_dir(place).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.join(PLAN_FILE).is_file() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
