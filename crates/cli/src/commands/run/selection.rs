//! The tasks of a run: those that its command selects, and those for which its arm has help.

use std::collections::BTreeSet;

use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::run::{ArmPlan, PlannedArm};
use apprentice_protocol::{TaskId, counted};
use apprentice_results::ablations::AblationArm;
use apprentice_results::arm::Arm;

use super::Run;
use super::inputs::Loaded;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::terminal;

/// Returns the selected tasks, or a failure that suggests the nearest id.
pub(super) fn selected(
    arguments: &Run,
    loaded: &Loaded,
    config: &Config,
) -> Result<BTreeSet<TaskId>, Failure> {
    let mut tasks = BTreeSet::new();
    for name in &arguments.tasks {
        let Some(task) = loaded.suite.task(name) else {
            let known = loaded.suite.tasks.iter().map(|task| task.id.as_str());
            let failure = Failure::say(Kind::NothingMatched, format!("the suite has no task {name:?}"));
            return Err(match beginning(name, loaded) {
                Some(hint) => failure.hint(hint),
                None => failure.hint_nearest_or(name, known, &list_of(arguments)),
            });
        };
        tasks.insert(task.id.clone());
    }
    if arguments.tasks.is_empty() {
        tasks = loaded.suite.tasks.iter().map(|task| task.id.clone()).collect();
    }
    if let (Some(lock), Some(only)) = (&loaded.split, arguments.only) {
        lock.check_suite(&loaded.suite).kind(Kind::Config)?;
        tasks.retain(|task| lock.split_of_task(task).is_ok_and(|split| split == only));
    }
    let tasks = arguments.pick.narrow(&loaded.suite, config, Some(tasks))?.unwrap_or_default();
    if tasks.is_empty() { Err(Failure::say(Kind::NothingMatched, "no task is selected")) } else { Ok(tasks) }
}

/// What selects the tasks whose ids begin with a name that is no task's.
fn beginning(name: &str, loaded: &Loaded) -> Option<String> {
    let prefix = name.trim_end_matches('*');
    let begins = |id: &str| !prefix.is_empty() && id.starts_with(prefix);
    let count = loaded.suite.tasks.iter().filter(|task| begins(task.id.as_str())).count();
    (count > 0)
        .then(|| format!("`--prefix {prefix}` selects the {} whose ids begin so", counted(count, "task")))
}

fn list_of(arguments: &Run) -> String {
    format!("`apprentice tasks list {}` prints the ids", arguments.suite.display())
}

/// Returns the tasks for which the arm has an eligible skill; prints the others.
pub(super) fn eligible(
    arm: Arm,
    provider: &GuidanceProvider,
    tasks: &BTreeSet<TaskId>,
) -> Result<BTreeSet<TaskId>, Failure> {
    let eligible = PlannedArm::new(arm, provider, tasks).kind(Kind::Config)?.tasks;
    for task in tasks.difference(&eligible) {
        terminal::note(format_args!("{task}: skipped, the arm {arm} has no eligible skill"));
    }
    match eligible.is_empty() {
        true => Err(Failure::say(
            Kind::NothingMatched,
            format!("the arm {arm} has no eligible skill for any task"),
        )),
        false => Ok(eligible),
    }
}

/// Adds an arm for each further try: the first is the arm `none`, the others are `try-2`, `try-3` and so on.
pub(super) fn with_tries(mut arms: Vec<ArmPlan>, arguments: &Run) -> Result<Vec<ArmPlan>, Failure> {
    if arguments.tries > 1 && arguments.arm != Arm::None {
        let failure = format!("--tries goes with the arm none, not with {}", arguments.arm);
        return Err(Failure::say(Kind::Usage, failure).hint("run the command once for each try"));
    }
    arms.extend((2..=arguments.tries).map(|number| ArmPlan {
        arm: AblationArm::Retry(number).to_string(),
        try_number: Some(number),
        ..ArmPlan::default()
    }));
    Ok(arms)
}
