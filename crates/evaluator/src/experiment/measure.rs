//! The measuring half: the student in every arm, the teacher once, and the baselines, on test tasks only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::TaskId;
use apprentice_skills::book::Snapshot;

use super::{Experiment, ExperimentError, Laboratory};
use crate::arm::{Arm, ArmError, Lender, Provenance};
use crate::row::{Role, Split, TrialRow};
use crate::run::{ArmPlan, Contender, Lent, PlanRequest, RunDeps, RunSummary, TrialSpec, start};

/// Baselines by the name under which a run makes them.
const BASELINES: [&str; 3] = ["baseline/solution", "baseline/noop", "baseline/give-up"];

/// Runs the test tasks with the frozen book.
pub(super) async fn measure(
    experiment: &Experiment,
    laboratory: &Laboratory,
    (folder, book, learned): (&Path, Snapshot, &[TrialRow]),
) -> Result<RunSummary, ExperimentError> {
    let tasks: BTreeSet<TaskId> = experiment.tasks(Split::Test).into_iter().collect();
    if tasks.is_empty() {
        return Err(ExperimentError::Empty("test"));
    }
    let provenance = Provenance::trace(&book, learned, &experiment.suite);
    let lender = Lender::new(Arc::clone(&experiment.suite), book, provenance);
    let contenders = contenders(experiment, &lender, &tasks)?;
    let books = experiment.arms.iter().map(|arm| ArmPlan {
        arm: arm.to_string(),
        skillbook_hash: arm.needs_book().then(|| lender.hash().to_owned()),
    });
    let request = PlanRequest {
        suite: &experiment.suite,
        split: Some(&experiment.lock),
        tasks: Some(tasks),
        contenders,
        seeds: experiment.seeds,
        limits: None,
        attempts: experiment.attempts,
        order_seed: experiment.order_seed,
        command: experiment.command.clone(),
        books: books.collect(),
    };
    let lend = Arc::new(move |trial: &TrialSpec| lent(&lender, trial));
    let deps = RunDeps { lend, ..laboratory.deps.clone() };
    let place = (folder.join("measure"), experiment.program.as_str());
    let ends = (laboratory.progress.clone(), laboratory.cancel.clone());
    let summary = start(&request, (&place.0, place.1), laboratory.jobs, deps, ends).await?;
    if summary.interrupted { Err(ExperimentError::Stopped) } else { Ok(summary) }
}

fn lent(lender: &Lender, trial: &TrialSpec) -> Lent {
    let arm = if trial.role == Role::Student { Arm::parse(&trial.arm) } else { Ok(Arm::None) };
    let loan = arm.and_then(|arm| lender.lend(arm, &trial.task, trial.seed));
    // The plan holds eligible trials only, so that there is always a loan.
    loan.map_or_else(
        |_| Lent::default(),
        |loan| Lent { guidance: loan.guidance, skillbook_hash: loan.skillbook_hash },
    )
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
        if !eligible.is_empty() {
            contenders.push(Contender {
                role: Role::Student,
                model: experiment.student.clone(),
                arm: arm.to_string(),
                tasks: Some(eligible),
                seeds: None,
            });
        }
    }
    let once = |role, model: &str| Contender {
        role,
        model: model.to_owned(),
        arm: Arm::None.to_string(),
        tasks: None,
        seeds: Some(1),
    };
    contenders.push(once(Role::Teacher, &experiment.teacher));
    if experiment.baselines {
        contenders.extend(BASELINES.map(|name| once(Role::Baseline, name)));
    }
    Ok(contenders)
}

/// The tasks that an arm was not run on, by arm: for the report.
pub(super) fn not_eligible(measured: &RunSummary, experiment: &Experiment) -> BTreeMap<String, usize> {
    let tasks = experiment.tasks(Split::Test).len();
    let ran = |arm: &Arm| {
        let of_arm =
            measured.results.iter().filter(|row| row.role == Role::Student && row.arm == arm.as_str());
        of_arm.map(|row| &row.task).collect::<BTreeSet<_>>().len()
    };
    let left = experiment.arms.iter().map(|arm| (arm.to_string(), tasks - ran(arm).min(tasks)));
    left.filter(|(_, count)| *count > 0).collect()
}
