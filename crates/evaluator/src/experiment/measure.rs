//! The measuring half: runs the student in every arm, the teacher once, and the baselines, on test tasks only. Resumes
//! an interrupted run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::TaskId;
use apprentice_skillbook::Snapshot;

use super::open_run::open_or_create;
use super::trial_guidance::trial_guidance;
use super::{Experiment, ExperimentDeps, ExperimentError, SharedGuidance, SharedRun, dev_trials};
use crate::arms::GuidanceProvider;
use crate::arms::demonstration::Demonstration;
use crate::learn::demonstrations;
use crate::run::{
    ArmPlan, Contender, PlanRequest, PlannedArm, RunDeps, RunError, RunSummary, TrialSpec, final_results,
    plan, read_run,
};
use apprentice_results::ablations::AblationArm;
use apprentice_results::arm::Arm;
use apprentice_runs::latest_run;
use apprentice_runs::layout::{LEARNING_FOLDER, MEASURE_FOLDER};
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_tasks::suite::wordings_hash;

/// The baselines, by model name.
const BASELINES: [&str; 3] = ["baseline/solution", "baseline/noop", "baseline/give-up"];

/// Runs the test tasks with the frozen book.
pub(super) async fn measure(
    experiment: &Experiment,
    deps: &ExperimentDeps,
    folder: &Path,
    book: &Snapshot,
    learned: &[TrialRow],
) -> Result<RunSummary, ExperimentError> {
    let shared = shared_guidance(experiment, folder, learned)?;
    let provider = provider(experiment, book, &shared)?;
    let dev = dev_trials::DevGuidance { provider: provider.clone(), shared: shared.clone() };
    let auto = Box::pin(dev_trials::choose(experiment, deps, folder, dev)).await?;
    let (provider, shared) = (provider.with_auto(auto.clone()), shared.with_auto(auto));
    let request = request(experiment, &provider)?;
    let wanted = experiment.capped(plan(&request, deps.run.clock.now()).map_err(RunError::from)?);
    let run = open_or_create(deps, &folder.join(MEASURE_FOLDER), wanted).await?;
    run.keep_book(book)?;
    let place = run.path().to_owned();
    let guidance = Arc::new(move |trial: &TrialSpec| trial_guidance(&provider, &place, trial));
    let run_deps = RunDeps { guidance, ..deps.run.clone() };
    deps.keep_copy().await?;
    let suite = Arc::clone(&experiment.suite);
    let summary = deps.carry_out(SharedRun { folder: run, suite, deps: run_deps, guidance: shared }).await?;
    if summary.interrupted { Err(ExperimentError::Stopped) } else { Ok(summary) }
}

/// Builds the plan request for a given book before anything has run: `auto` is assumed to be its first candidate.
pub(super) fn assumed_request<'a>(
    experiment: &'a Experiment,
    book: &Snapshot,
) -> Result<PlanRequest<'a>, ExperimentError> {
    let shared = shared_guidance(experiment, Path::new(""), &[])?;
    let provider = provider(experiment, book, &shared)?;
    request(experiment, &provider.with_auto(dev_trials::assumed(experiment)))
}

/// Builds the guidance provider.
fn provider(
    experiment: &Experiment,
    book: &Snapshot,
    shared: &SharedGuidance,
) -> Result<GuidanceProvider, ExperimentError> {
    Ok(shared.provider(&experiment.suite, book)?.with_tools(&experiment.tools))
}

/// Collects the demonstrations and the rows behind the book.
fn shared_guidance(
    experiment: &Experiment,
    folder: &Path,
    learned: &[TrialRow],
) -> Result<SharedGuidance, ExperimentError> {
    Ok(SharedGuidance::new(experiment, learned, demonstrated(experiment, folder, learned)?))
}

/// The training attempts that the arm `raw-trace` shows.
fn demonstrated(
    experiment: &Experiment,
    folder: &Path,
    learned: &[TrialRow],
) -> Result<Vec<Demonstration>, ExperimentError> {
    let attempts = match (latest_run(&folder.join(LEARNING_FOLDER)), &experiment.lock) {
        // Only this arm shows attempts; the others need no readable traces.
        (Some(run), Some(lock)) if experiment.arms.contains(&Arm::RawTrace) => {
            demonstrations(&run, learned, &experiment.suite, lock)?
        }
        _ => Vec::new(),
    };
    Ok([attempts, named_demonstrations(experiment)?].concat())
}

/// Collects the training attempts that passed in the runs that the experiment names, if an arm shows them.
fn named_demonstrations(experiment: &Experiment) -> Result<Vec<Demonstration>, ExperimentError> {
    let Some(lock) = experiment.lock.as_ref().filter(|_| experiment.arms.contains(&Arm::RawTrace)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for run in &experiment.demonstrations {
        let (_, rows) = read_run(run)?;
        found.extend(demonstrations(run, &final_results(rows), &experiment.suite, lock)?);
    }
    Ok(found)
}

/// Builds the plan request.
fn request<'a>(
    experiment: &'a Experiment,
    provider: &GuidanceProvider,
) -> Result<PlanRequest<'a>, ExperimentError> {
    let tasks: BTreeSet<TaskId> = experiment.tasks(Split::Test).into_iter().collect();
    let planned = experiment.arms.iter().map(|arm| PlannedArm::new(*arm, provider, &tasks));
    let planned: Vec<PlannedArm> = planned.collect::<Result<_, _>>()?;
    let contenders = contenders(experiment, provider, &planned, &tasks)?;
    let books = planned.into_iter().map(|arm| arm.entry);
    let more = ablation_arms(experiment, provider);
    let books = books.chain(more.iter().map(|arm| ablation_entry(experiment, provider, arm)));
    Ok(experiment.plan_request(tasks, contenders, books.collect()))
}

fn contenders(
    experiment: &Experiment,
    provider: &GuidanceProvider,
    planned: &[PlannedArm],
    tasks: &BTreeSet<TaskId>,
) -> Result<Vec<Contender>, ExperimentError> {
    let mut contenders = Vec::new();
    for PlannedArm { arm, tasks, .. } in planned {
        for student in experiment.students() {
            let tasks = match (arm, provider.auto().of(student)) {
                (Arm::Auto, Some(chosen)) => provider.eligible_tasks(chosen, tasks)?,
                (Arm::Auto, None) => BTreeSet::new(),
                _ => tasks.clone(),
            };
            let (model, arm) = (student.clone(), arm.to_string());
            let contender = Contender { role: Role::Student, model, arm, tasks: Some(tasks), seeds: None };
            contenders.extend(Some(contender).filter(has_tasks));
        }
    }
    for arm in ablation_arms(experiment, provider) {
        let on = match &arm {
            AblationArm::Without(skill) => {
                tasks.iter().filter(|task| provider.applies_to(skill, task)).cloned().collect()
            }
            AblationArm::Reworded(arm) => provider.eligible_tasks(*arm, tasks)?,
            AblationArm::MoreSteps | AblationArm::Retry(_) => tasks.clone(),
        };
        contenders.extend(Some(with_student(experiment, &arm, on)).filter(has_tasks));
    }
    contenders.extend(single_run_contenders(experiment));
    Ok(contenders)
}

fn has_tasks(contender: &Contender) -> bool {
    contender.tasks.as_ref().is_none_or(|tasks| !tasks.is_empty())
}

fn with_student(experiment: &Experiment, arm: &AblationArm, tasks: BTreeSet<TaskId>) -> Contender {
    let seeds = match arm {
        AblationArm::Reworded(_) => experiment.ablations.wordings,
        AblationArm::Without(_) | AblationArm::MoreSteps | AblationArm::Retry(_) => None,
    };
    let (model, arm) = (experiment.student.clone(), arm.to_string());
    Contender { role: Role::Student, model, arm, tasks: Some(tasks), seeds }
}

/// The additional arms: ablations and compute-matched baselines.
fn ablation_arms(experiment: &Experiment, provider: &GuidanceProvider) -> Vec<AblationArm> {
    let skills = provider.most_requested(experiment.ablations.leave_one_out.unwrap_or(0));
    let known = experiment.ablations.without_book().chain(reworded_arms(experiment));
    known.chain(skills.into_iter().map(AblationArm::Without)).collect()
}

/// The arms `none` and `pull` in other wordings, if both the wordings and the arm are requested.
fn reworded_arms(experiment: &Experiment) -> impl Iterator<Item = AblationArm> {
    let arms = [Arm::None, Arm::Pull].into_iter().filter(|arm| experiment.arms.contains(arm));
    arms.filter(|_| experiment.ablations.wordings.is_some()).map(AblationArm::Reworded)
}

fn ablation_entry(experiment: &Experiment, provider: &GuidanceProvider, arm: &AblationArm) -> ArmPlan {
    let plan = ArmPlan { arm: arm.to_string(), ..ArmPlan::default() };
    match arm {
        AblationArm::Without(skill) => {
            let left = provider.book().without(&BTreeSet::from([skill.clone()]));
            ArmPlan { skillbook_hash: Some(left.content_hash()), aids: provider.inputs(Arm::Pull), ..plan }
        }
        AblationArm::MoreSteps => ArmPlan { cap_factor: experiment.ablations.more_steps, ..plan },
        AblationArm::Retry(number) => ArmPlan { try_number: Some(*number), ..plan },
        AblationArm::Reworded(like) => {
            let wordings_hash = Some(wordings_hash(&experiment.suite.tasks));
            ArmPlan { arm: plan.arm, wordings_hash, ..ArmPlan::of(*like, provider) }
        }
    }
}

/// The same arms while the book is yet to be learned and the skills to leave out are unknown.
pub(super) fn ablations_upper_bound(experiment: &Experiment) -> Vec<Contender> {
    let left_out = 1..=experiment.ablations.leave_one_out.unwrap_or(0);
    let tasks: BTreeSet<TaskId> = experiment.tasks(Split::Test).into_iter().collect();
    let known = experiment.ablations.without_book().chain(reworded_arms(experiment));
    let known = known.map(|arm| with_student(experiment, &arm, tasks.clone()));
    let unknown = left_out.map(|number| Contender {
        role: Role::Student,
        model: experiment.student.clone(),
        arm: format!("{UNKNOWN_SKILL_ARM} {number}"),
        tasks: Some(tasks.clone()),
        seeds: None,
    });
    known.chain(unknown).collect()
}

/// Placeholder name of an ablation arm whose skill is not known yet.
pub(super) const UNKNOWN_SKILL_ARM: &str = "without skill";

/// The contenders that run without a book: the teacher, also in other wordings, and the baselines if requested.
pub(super) fn single_run_contenders(experiment: &Experiment) -> Vec<Contender> {
    let alone = |role, model: &str, arm: String, seeds| Contender {
        role,
        model: model.to_owned(),
        arm,
        tasks: None,
        seeds: Some(seeds),
    };
    let once = |role, model: &str| alone(role, model, Arm::None.to_string(), 1);
    let mut contenders: Vec<Contender> =
        experiment.teacher.iter().map(|teacher| once(Role::Teacher, teacher)).collect();
    if let (Some(teacher), Some(wordings)) = (&experiment.teacher, experiment.ablations.wordings) {
        let arm = AblationArm::Reworded(Arm::None).to_string();
        contenders.push(alone(Role::Teacher, teacher, arm, wordings));
    }
    if experiment.baselines {
        contenders.extend(BASELINES.map(|name| once(Role::Baseline, name)));
    }
    contenders
}
