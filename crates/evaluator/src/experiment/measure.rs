//! The measuring half: runs the student in every arm, the teacher once, and the baselines, on test tasks only. Resumes
//! an interrupted run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::{EventKind, SkillHappening, TaskId};
use apprentice_skills::book::Snapshot;
use apprentice_trace::Trace;

use super::{Experiment, ExperimentError, Laboratory, existing, keep};
use crate::arm::{ArmError, Lender, Provenance, aids, spare_of};
use crate::demonstration::precedents;
use crate::run::{
    ArmPlan, Contender, Conversations, Lent, PlanRequest, RunDeps, RunError, RunFolder, RunPlan, RunSummary,
    Runner, TrialSpec, carry_out, plan,
};
use apprentice_results::ablations::Further;
use apprentice_results::arm::Arm;
use apprentice_results::row::{Role, Split, TrialRow};
use apprentice_results::rows;

/// The baselines, by model name.
const BASELINES: [&str; 3] = ["baseline/solution", "baseline/noop", "baseline/give-up"];

/// Runs the test tasks with the frozen book.
pub(super) async fn measure(
    experiment: &Experiment,
    laboratory: &Laboratory,
    (folder, book, learned): (&Path, &Snapshot, &[TrialRow]),
) -> Result<RunSummary, ExperimentError> {
    let (request, lender) = request(experiment, book, (folder, learned))?;
    let now = laboratory.deps.clock.now();
    let wanted = plan(&request, now, &experiment.program).map_err(RunError::from)?;
    let root = folder.join("measure");
    let run = match existing(&root) {
        Some(path) => {
            let run = RunFolder::open(&path)?;
            let mut differing = differing(run.plan(), &wanted);
            differing.extend(run.plan().changed_models(&laboratory.deps).await);
            undrifted(&run, differing)?;
            run
        }
        None => RunFolder::create(&root, wanted.settle(&laboratory.deps).await)?,
    };
    keep(book, &run)?;
    let place = run.path().to_owned();
    let lend = Arc::new(move |trial: &TrialSpec| lent(&lender, &place, trial));
    let deps = RunDeps { lend, ..laboratory.deps.clone() };
    let (progress, cancel) = (laboratory.progress.clone(), laboratory.cancel.clone());
    let runner = Runner::new(run, experiment.suite.as_ref().clone(), deps, progress, cancel);
    let summary = carry_out(runner, laboratory.jobs).await?;
    if summary.interrupted { Err(ExperimentError::Stopped) } else { Ok(summary) }
}

/// Builds the plan request and the guidance provider.
pub(super) fn request<'a>(
    experiment: &'a Experiment,
    book: &Snapshot,
    (folder, learned): (&Path, &[TrialRow]),
) -> Result<(PlanRequest<'a>, Lender), ExperimentError> {
    let tasks: BTreeSet<TaskId> = experiment.tasks(Split::Test).into_iter().collect();
    let provenance = Provenance::trace(book, learned, &experiment.suite);
    let spare = spare_of(&experiment.suite)?;
    let attempts = match (existing(&folder.join("learning")), &experiment.lock) {
        (Some(run), Some(lock)) => precedents(&run, learned, (&experiment.suite, lock)),
        _ => Vec::new(),
    };
    let lender = Lender::new(Arc::clone(&experiment.suite), book.clone(), provenance);
    let lender = lender.with_spare(spare).with_precedents(attempts).with_tools(&experiment.tools);
    let lender = lender.with_suppressed(experiment.suppress.clone());
    let contenders = contenders(experiment, &lender, &tasks)?;
    let books = experiment.arms.iter().map(|arm| ArmPlan {
        arm: arm.to_string(),
        skillbook_hash: arm.needs_book().then(|| lender.hash().to_owned()),
        aids: if arm.needs_book() { aids_of(experiment, book) } else { BTreeMap::new() },
        ..ArmPlan::default()
    });
    let more = further(experiment, &lender);
    let books = books.chain(more.iter().map(|arm| arm_plan(experiment, book, arm)));
    let request = PlanRequest {
        suite: &experiment.suite,
        split: experiment.lock.as_ref(),
        tasks: Some(tasks),
        contenders,
        seeds: experiment.seeds,
        limits: experiment.limits,
        attempts: experiment.attempts,
        order_seed: experiment.order_seed,
        conversations: Conversations::Dropped,
        command: experiment.command.clone(),
        books: books.collect(),
    };
    Ok((request, lender))
}

/// Names the settings in which a stored plan differs from the current one.
fn differing(begun: &RunPlan, wanted: &RunPlan) -> Vec<String> {
    let same = [
        ("suite", begun.suite_hash == wanted.suite_hash),
        ("split", begun.split_hash == wanted.split_hash),
        ("book", begun.arms == wanted.arms),
        ("prompts", begun.prompt_hash == wanted.prompt_hash),
        ("program version", begun.program == wanted.program),
        ("trials", begun.trials == wanted.trials),
    ];
    same.iter().filter(|(_, same)| !same).map(|(name, _)| (*name).to_owned()).collect()
}

/// Refuses to resume a run that was planned with different settings.
pub(super) fn undrifted(run: &RunFolder, fields: Vec<String>) -> Result<(), ExperimentError> {
    match fields.is_empty() {
        true => Ok(()),
        false => Err(ExperimentError::Drift { run: run.path().to_owned(), fields }),
    }
}

fn lent(lender: &Lender, run: &Path, trial: &TrialSpec) -> Lent {
    if let (Role::Student, Some(Further::Without(skill))) = (trial.role, Further::parse(&trial.arm)) {
        return lender
            .lend_without(&skill, &trial.task, trial.seed)
            .map_or_else(|_| Lent::default(), Lent::from);
    }
    let arm = if trial.role == Role::Student { Arm::parse(&trial.arm) } else { Ok(Arm::None) };
    let loan = arm.map_err(ArmError::from).and_then(|arm| match arm {
        Arm::Inline => lender.inline(&trial.task, &looked_at(run, trial)),
        arm => lender.lend(arm, &trial.task, trial.seed),
    });
    // The plan contains only eligible trials, so lending succeeds; other arms get no guidance.
    loan.map_or_else(|_| Lent::default(), Lent::from)
}

/// The guidance text that the same model retrieved in the matching trial of the arm `pull`, which runs first.
fn looked_at(run: &Path, trial: &TrialSpec) -> String {
    let Ok(read) = rows::read(&run.join("trials.jsonl")) else { return String::new() };
    let same = |row: &&TrialRow| {
        row.arm == Arm::Pull.as_str()
            && (row.role, &row.model, &row.task, row.seed)
                == (trial.role, &trial.model, &trial.task, trial.seed)
    };
    let Some(row) = read.rows.iter().rfind(same) else { return String::new() };
    let trace = Trace::read(&run.join(&row.trace).join("events.jsonl"));
    let events = trace.map(|trace| trace.events).unwrap_or_default();
    let texts = events.iter().filter_map(|event| match &event.kind {
        EventKind::Skill(skill) if skill.happening == SkillHappening::Viewed => skill.text.as_deref(),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn contenders(
    experiment: &Experiment,
    lender: &Lender,
    tasks: &BTreeSet<TaskId>,
) -> Result<Vec<Contender>, ExperimentError> {
    let mut contenders = Vec::new();
    for arm in &experiment.arms {
        let mut eligible = BTreeSet::new();
        for task in tasks {
            match lender.lend(*arm, task, 0) {
                Ok(_) => drop(eligible.insert(task.clone())),
                Err(ArmError::Nothing { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let students = [&experiment.student].into_iter().chain(&experiment.others);
        contenders.extend(students.filter(|_| !eligible.is_empty()).map(|student| Contender {
            role: Role::Student,
            model: student.clone(),
            arm: arm.to_string(),
            tasks: Some(eligible.clone()),
            seeds: None,
        }));
    }
    for arm in further(experiment, lender) {
        let on = match &arm {
            Further::Without(skill) => {
                tasks.iter().filter(|task| lender.concerns(skill, task)).cloned().collect()
            }
            Further::MoreSteps | Further::Again(_) => tasks.clone(),
        };
        contenders.extend(Some(with_student(experiment, &arm.to_string(), on)).filter(has_tasks));
    }
    contenders.extend(once_each(experiment));
    Ok(contenders)
}

fn has_tasks(contender: &Contender) -> bool {
    contender.tasks.as_ref().is_none_or(|tasks| !tasks.is_empty())
}

fn with_student(experiment: &Experiment, arm: &str, tasks: BTreeSet<TaskId>) -> Contender {
    let (model, arm) = (experiment.student.clone(), arm.to_owned());
    Contender { role: Role::Student, model, arm, tasks: Some(tasks), seeds: None }
}

/// The additional arms: ablations and compute-matched baselines.
fn further(experiment: &Experiment, lender: &Lender) -> Vec<Further> {
    let skills = lender.most_asked_for(experiment.further.leave_one_out.unwrap_or(0));
    experiment.further.unhelped().chain(skills.into_iter().map(Further::Without)).collect()
}

fn aids_of(experiment: &Experiment, book: &Snapshot) -> BTreeMap<String, String> {
    aids(book, experiment.tools.list.as_deref(), &experiment.suppress)
}

fn arm_plan(experiment: &Experiment, book: &Snapshot, arm: &Further) -> ArmPlan {
    let plan = ArmPlan { arm: arm.to_string(), ..ArmPlan::default() };
    match arm {
        Further::Without(skill) => {
            let left = book.without(&BTreeSet::from([skill.clone()]));
            ArmPlan { skillbook_hash: Some(left.content_hash()), aids: aids_of(experiment, book), ..plan }
        }
        Further::MoreSteps => ArmPlan { budget: experiment.further.more_steps, ..plan },
        Further::Again(number) => ArmPlan { again: Some(*number), ..plan },
    }
}

/// The same arms while the book is yet to be learned and the skills to leave out are unknown.
pub(super) fn further_at_most(experiment: &Experiment) -> Vec<Contender> {
    let left_out = 1..=experiment.further.leave_one_out.unwrap_or(0);
    let names = experiment.further.unhelped().map(|arm| arm.to_string());
    let names = names.chain(left_out.map(|number| format!("{LEFT_OUT} {number}")));
    let tasks: BTreeSet<TaskId> = experiment.tasks(Split::Test).into_iter().collect();
    names.map(|arm| with_student(experiment, &arm, tasks.clone())).collect()
}

/// Placeholder name of an ablation arm whose skill is not known yet.
pub(super) const LEFT_OUT: &str = "without skill";

/// The contenders that run once without a book: the teacher, and the baselines if requested.
pub(super) fn once_each(experiment: &Experiment) -> Vec<Contender> {
    let once = |role, model: &str| Contender {
        role,
        model: model.to_owned(),
        arm: Arm::None.to_string(),
        tasks: None,
        seeds: Some(1),
    };
    let mut contenders: Vec<Contender> =
        experiment.teacher.iter().map(|teacher| once(Role::Teacher, teacher)).collect();
    if experiment.baselines {
        contenders.extend(BASELINES.map(|name| once(Role::Baseline, name)));
    }
    contenders
}
