//! Chooses the arm that `auto` stands for: runs the students on dev tasks in each arm that `auto` may be, before the
//! test tasks are measured.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::{TaskId, counted};
use apprentice_results::arm::Arm;
use apprentice_results::auto_arm::{AUTO_CANDIDATES, AUTO_TRIALS, choose_auto};
use apprentice_runs::layout::DEV_FOLDER;
use apprentice_runs::row::{Role, Split};

use super::definition::Definition;
use super::open_run::open_or_create;
use super::stored_run::StoredRun;
use super::{Experiment, ExperimentDeps, ExperimentError, SharedGuidance, SharedRun};
use crate::arms::GuidanceProvider;
use crate::arms::auto::AutoArms;
use crate::run::{ArmPlan, Contender, PlanRequest, PlannedArm, RunDeps, RunError, TrialSpec, plan};

/// Too few dev trials are planned for `auto` to choose by.
#[derive(Debug, thiserror::Error)]
#[error(
    "the arm auto chooses by at least {AUTO_TRIALS} trials on dev tasks, and the experiment has {}: select more dev \
     tasks, raise the number of seeds, or name the arm that you want (pull, index+pull, push)",
    counted(*.planned, "such trial")
)]
pub struct TooFewDevTrials {
    planned: usize,
}

/// Whether the experiment measures the arm `auto`.
pub(super) fn are_needed(experiment: &Experiment) -> bool {
    experiment.arms.contains(&Arm::Auto)
}

/// Refuses an experiment with the arm `auto` and too few dev trials to choose by.
pub(super) fn check(experiment: &Experiment) -> Result<(), TooFewDevTrials> {
    let tasks = experiment.tasks(Split::Dev);
    let trials = |id: &TaskId| {
        let varies = experiment.suite.task(id.as_str()).is_some_and(|task| task.varies());
        if varies { experiment.seeds as usize } else { 1 }
    };
    let planned = tasks.iter().map(trials).sum();
    if are_needed(experiment) && planned < AUTO_TRIALS { Err(TooFewDevTrials { planned }) } else { Ok(()) }
}

/// Returns the choices that a plan assumes before any dev trial has run: the first candidate for every student.
pub(super) fn assumed(experiment: &Experiment) -> AutoArms {
    match are_needed(experiment) {
        true => experiment.students().map(|student| (student.clone(), AUTO_CANDIDATES[0])).collect(),
        false => AutoArms::default(),
    }
}

/// Builds the request of the dev trials. `arms` are the candidates with the tasks on which they have guidance; without
/// them, every candidate runs on every dev task.
pub(super) fn request(experiment: &Experiment, arms: Option<Vec<PlannedArm>>) -> PlanRequest<'_> {
    let tasks: BTreeSet<TaskId> = experiment.tasks(Split::Dev).into_iter().collect();
    let (mut contenders, mut books) = (Vec::new(), Vec::new());
    let candidates: Vec<(Arm, BTreeSet<TaskId>, ArmPlan)> = match arms {
        Some(arms) => arms.into_iter().map(|one| (one.arm, one.tasks, one.entry)).collect(),
        None => AUTO_CANDIDATES.iter().map(|arm| (*arm, tasks.clone(), ArmPlan::default())).collect(),
    };
    for (arm, on, entry) in candidates {
        contenders.extend(experiment.students().filter(|_| !on.is_empty()).map(|student| Contender {
            role: Role::Student,
            model: student.clone(),
            arm: arm.to_string(),
            tasks: Some(on.clone()),
            seeds: None,
        }));
        books.push(entry);
    }
    experiment.plan_request(tasks, contenders, books)
}

/// The guidance of dev trials: on this machine, and for others.
pub(super) struct DevGuidance {
    /// The provider on this machine.
    pub(super) provider: GuidanceProvider,
    /// What other machines need.
    pub(super) shared: SharedGuidance,
}

/// Runs the dev trials, or resumes them, and returns the arm that each student's trials choose. A student without
/// enough judged trials has no choice, and is not measured in the arm `auto`.
pub(super) async fn choose(
    experiment: &Experiment,
    deps: &ExperimentDeps,
    folder: &Path,
    dev: DevGuidance,
) -> Result<AutoArms, ExperimentError> {
    if !are_needed(experiment) {
        return Ok(AutoArms::default());
    }
    let DevGuidance { provider, shared } = dev;
    let tasks: BTreeSet<TaskId> = experiment.tasks(Split::Dev).into_iter().collect();
    let arms = AUTO_CANDIDATES.iter().map(|arm| PlannedArm::new(*arm, &provider, &tasks));
    let request = request(experiment, Some(arms.collect::<Result<_, _>>()?));
    let wanted = experiment.capped(plan(&request, deps.run.clock.now()).map_err(RunError::from)?);
    let run = open_or_create(deps, &folder.join(DEV_FOLDER), wanted).await?;
    run.keep_book(provider.book())?;
    let guidance = Arc::new(move |trial: &TrialSpec| {
        provider.guidance_for(&trial.model, &trial.arm, &trial.task, trial.seed)
    });
    let run_deps = RunDeps { guidance, ..deps.run.clone() };
    deps.keep_copy().await?;
    let suite = Arc::clone(&experiment.suite);
    let run = SharedRun { folder: run, suite, deps: run_deps, guidance: shared };
    let summary = Box::pin(deps.carry_out(run)).await?;
    if summary.interrupted {
        return Err(ExperimentError::Stopped);
    }
    let chosen = |student: &String| Some((student.clone(), choose_auto(&summary.results, student).ok()?.arm));
    Ok(experiment.students().filter_map(chosen).collect())
}

/// Says for each student which arm `auto` stands for and by which trials, or why it stands for none.
pub(super) fn notes(definition: &Definition, dev: Option<&StoredRun>) -> Vec<String> {
    let Some(dev) = dev else { return Vec::new() };
    let note = |model: &String| match choose_auto(&dev.rows, model) {
        Ok(choice) => {
            let passed = choice.passed.iter().map(|(arm, passed)| format!("{arm} {passed}"));
            let passed = passed.collect::<Vec<_>>().join(", ");
            format!("auto is {} for {model}: passed of {} dev trials: {passed}", choice.arm, choice.trials)
        }
        Err(why) => format!("{model} was not measured in the arm auto: {why}"),
    };
    [&definition.student].into_iter().chain(&definition.others).map(note).collect()
}
