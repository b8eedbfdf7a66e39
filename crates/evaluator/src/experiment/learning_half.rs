//! The learning half: learns the book on training tasks, and resumes where it was interrupted.

use std::path::Path;
use std::sync::Arc;

use apprentice_learning::LearnerModels;
use apprentice_protocol::Clock;
use apprentice_skillbook::{Gateway, GatewayOptions};

use super::logged_model::LoggedModel;
use super::{Experiment, ExperimentDeps, ExperimentError, LearningPlan, open_run};
use crate::learn::{
    CycleContext, HeldOutTasks, LearningRecord, LearningRun, Roles, TrainingTasks, cycle, last_attempts,
    learning_plan, lock_book,
};
use crate::run::{Contender, Conversations, PlanRequest, Progress, RunError, RunFolder, RunPlan, plan};
use crate::split::SplitLock;
use apprentice_results::arm::Arm;
use apprentice_runs::latest_run;
use apprentice_runs::layout::{LEARNING_FOLDER, SKILLBOOK_FOLDER};
use apprentice_runs::row::{Role, Split, TrialRow};

/// Learns the book in `folder/skillbook` and returns the rows behind it.
pub(super) async fn learn(
    experiment: &Experiment,
    learning: &LearningPlan,
    deps: &ExperimentDeps,
    folder: &Path,
) -> Result<Vec<TrialRow>, ExperimentError> {
    let lock = experiment.lock.as_ref().ok_or(ExperimentError::NoSplit)?;
    let clock: &dyn Clock = deps.run.clock.as_ref();
    let tasks = experiment.tasks(Split::Train);
    if tasks.is_empty() {
        return Err(ExperimentError::NoTasks("training"));
    }
    let (leaks, effects) = (Arc::new(HeldOutTasks::build(lock, &experiment.suite)), deps.effects);
    let options = GatewayOptions { leaks: leaks.clone(), effects, ..GatewayOptions::at(clock.now()) };
    let book = folder.join(SKILLBOOK_FOLDER);
    let (mut gateway, _) = Gateway::open(&book, options)?;
    lock_book(&book, lock, &leaks)?;
    gateway.set_embedding(deps.embedding.clone());
    gateway.set_readers(deps.readers.clone());
    let run = opened(experiment, learning, lock, deps, &folder.join(LEARNING_FOLDER)).await?;
    let run = copied(run, deps);
    let kept = run.folder().path().join(LEARNING_FOLDER);
    let noted = |name| {
        let (model, cancel) = (Arc::clone(&learning.learner), deps.control.cancel.clone());
        LoggedModel::new(model, kept.clone(), name, cancel)
    };
    let learners =
        LearnerModels { reflector: Arc::new(noted("reflect")), manager: Arc::new(noted("manage")) };
    let context = CycleContext { lock, tasks: &tasks, attempts: &run, learners: &learners };
    let mut on_record = |record: &LearningRecord| {
        // The receiver may be closed.
        let _ = deps.records.send(record.clone());
    };
    announce(run.folder(), deps);
    let finished = cycle(&mut gateway, &context, &learning.cycle, &mut on_record).await;
    if deps.control.cancel.is_cancelled() {
        return Err(ExperimentError::Stopped);
    }
    finished?;
    Ok(last_attempts(run.folder()))
}

/// Has a copy of the experiment's folder kept between attempts, if somebody keeps copies.
fn copied(run: LearningRun, deps: &ExperimentDeps) -> LearningRun {
    let Some(keeper) = deps.elsewhere.clone() else { return run };
    run.with_between(Box::new(move || {
        let keeper = Arc::clone(&keeper);
        Box::pin(async move { keeper.keep_copy().await })
    }))
}

/// Announces the plan and how much of it has already finished.
fn announce(folder: &RunFolder, deps: &ExperimentDeps) {
    let plan = folder.plan();
    deps.control.report(Progress::Planned {
        run: plan.run.clone(),
        folder: folder.path().to_owned(),
        trials: plan.trials.len(),
        finished: plan.trials.iter().filter(|trial| folder.is_finished(&trial.trial)).count(),
    });
}

/// Opens the latest learning run below `root`, or plans a new one.
async fn opened(
    experiment: &Experiment,
    learning: &LearningPlan,
    lock: &SplitLock,
    deps: &ExperimentDeps,
    root: &Path,
) -> Result<LearningRun, ExperimentError> {
    let folder = match latest_run(root) {
        Some(path) => {
            let folder = RunFolder::open(&path)?;
            open_run::refuse_drift(&folder, deps.run.model_drift(folder.plan()).await)?;
            folder
        }
        None => {
            let plan = planned(experiment, learning, lock, deps)?;
            RunFolder::create(root, deps.run.resolve_runtime(plan).await)?
        }
    };
    let run = LearningRun::new(folder, &experiment.suite, deps.run.clone(), deps.control.clone());
    Ok(run.with_tools(experiment.tools.clone()))
}

fn planned(
    experiment: &Experiment,
    learning: &LearningPlan,
    lock: &SplitLock,
    deps: &ExperimentDeps,
) -> Result<RunPlan, ExperimentError> {
    let roles = Roles { teacher: learning.teacher.clone(), student: experiment.student.clone() };
    let request = PlanRequest {
        suite: &experiment.suite,
        split: Some(lock),
        tasks: None,
        contenders: vec![Contender {
            role: Role::Teacher,
            model: learning.teacher.clone(),
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
        program: experiment.program.clone(),
        books: Vec::new(),
    };
    let base = experiment.capped(plan(&request, deps.run.clock.now()).map_err(RunError::from)?);
    let tasks = experiment.tasks(Split::Train);
    let training = TrainingTasks { suite: &experiment.suite, lock, tasks: &tasks };
    Ok(learning_plan(base, training, &roles, &learning.cycle))
}
