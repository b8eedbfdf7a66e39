//! The learning half: learns the book on training tasks, and resumes where it was interrupted.

use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::Clock;
use apprentice_skills::LearnerModels;
use apprentice_skills::book::{Gateway, GatewayOptions};

use super::logged_model::LoggedModel;
use super::{Experiment, ExperimentDeps, ExperimentError, LearningPlan, latest_run, measure};
use crate::learn::{
    CycleContext, HeldOutTasks, LearningRecord, LearningRun, Roles, cycle, last_attempts, learning_plan,
    lock_book,
};
use crate::run::{Contender, Conversations, PlanRequest, Progress, RunError, RunFolder, RunPlan, plan};
use crate::split::SplitLock;
use apprentice_results::arm::Arm;
use apprentice_results::row::{Role, Split, TrialRow};

/// Learns the book in `folder/skillbook` and returns the rows behind it.
pub(super) async fn learn(
    (experiment, lessons): (&Experiment, &LearningPlan),
    laboratory: &ExperimentDeps,
    folder: &Path,
) -> Result<Vec<TrialRow>, ExperimentError> {
    let lock = experiment.lock.as_ref().ok_or(ExperimentError::NoSplit)?;
    let clock: &dyn Clock = laboratory.deps.clock.as_ref();
    let tasks = experiment.tasks(Split::Train);
    if tasks.is_empty() {
        return Err(ExperimentError::NoTasks("training"));
    }
    let leaks = Arc::new(HeldOutTasks::build(lock, &experiment.suite));
    let options = GatewayOptions { leaks: leaks.clone(), ..GatewayOptions::at(clock.now()) };
    let book = folder.join("skillbook");
    let (mut gateway, _) = Gateway::open(&book, options)?;
    lock_book(&book, lock, &leaks)?;
    gateway.set_embedding(laboratory.meaning.clone());
    gateway.set_readers(laboratory.readers.clone());
    let run = opened((experiment, lessons, lock), laboratory, &folder.join("learning")).await?;
    let kept = run.folder().path().join("learning");
    let noted = |name| {
        let (model, cancel) = (Arc::clone(&lessons.learner), laboratory.cancel.clone());
        LoggedModel::new(model, kept.clone(), name, cancel)
    };
    let staff = LearnerModels { reflector: Arc::new(noted("reflect")), manager: Arc::new(noted("manage")) };
    let room = CycleContext { lock, tasks: &tasks, attempts: &run, staff: &staff };
    let mut tell = |worked: &LearningRecord| {
        // The receiver is optional.
        let _ = laboratory.lessons.send(worked.clone());
    };
    announce(run.folder(), laboratory);
    let worked = cycle(&mut gateway, &room, &lessons.cycle, &mut tell).await;
    if laboratory.cancel.is_cancelled() {
        return Err(ExperimentError::Stopped);
    }
    worked?;
    Ok(last_attempts(run.folder()))
}

/// Announces the plan and how much of it has already finished.
fn announce(folder: &RunFolder, laboratory: &ExperimentDeps) {
    let plan = folder.plan();
    // The receiver is optional.
    let _ = laboratory.progress.send(Progress::Planned {
        run: plan.run.clone(),
        folder: folder.path().to_owned(),
        trials: plan.trials.len(),
        finished: plan.trials.iter().filter(|trial| folder.is_finished(&trial.trial)).count(),
    });
}

/// Opens the latest learning run below `root`, or plans a new one.
async fn opened(
    (experiment, lessons, lock): (&Experiment, &LearningPlan, &SplitLock),
    laboratory: &ExperimentDeps,
    root: &Path,
) -> Result<LearningRun, ExperimentError> {
    let folder = match latest_run(root) {
        Some(path) => {
            let folder = RunFolder::open(&path)?;
            measure::refuse_drift(&folder, laboratory.deps.model_drift(folder.plan()).await)?;
            folder
        }
        None => {
            let plan = planned((experiment, lessons, lock), laboratory)?;
            RunFolder::create(root, laboratory.deps.resolve_runtime(plan).await)?
        }
    };
    let ends = (laboratory.progress.clone(), laboratory.cancel.clone());
    let run = LearningRun::new(folder, &experiment.suite, laboratory.deps.clone(), ends);
    Ok(run.with_tools(experiment.tools.clone()))
}

fn planned(
    (experiment, lessons, lock): (&Experiment, &LearningPlan, &SplitLock),
    laboratory: &ExperimentDeps,
) -> Result<RunPlan, ExperimentError> {
    let pupils = Roles { teacher: lessons.teacher.clone(), student: experiment.student.clone() };
    let request = PlanRequest {
        suite: &experiment.suite,
        split: Some(lock),
        tasks: None,
        contenders: vec![Contender {
            role: Role::Teacher,
            model: lessons.teacher.clone(),
            arm: Arm::Pull.to_string(),
            tasks: None,
            seeds: Some(1),
        }],
        seeds: 1,
        limits: experiment.limits,
        attempts: experiment.attempts,
        order_seed: experiment.order_seed,
        conversations: Conversations::Dropped,
        command: experiment.command.clone(),
        books: Vec::new(),
    };
    let base = plan(&request, laboratory.deps.clock.now(), &experiment.program).map_err(RunError::from)?;
    let tasks = experiment.tasks(Split::Train);
    Ok(learning_plan(base, (&experiment.suite, lock, &tasks), &pupils, &lessons.cycle))
}
