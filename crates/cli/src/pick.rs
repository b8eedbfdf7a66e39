//! Narrows a suite to tasks of a program, with ids that begin alike, or that run on this machine.

use std::collections::BTreeSet;

use apprentice_protocol::{AllowedHost, TaskId};
use apprentice_tasks::suite::requirements::{HostCapabilities, missing};
use apprentice_tasks::suite::{Suite, faults};
use apprentice_tasks::task::Task;
use clap::Args;

use crate::config::Config;
use crate::failure::{Failure, Kind};
use crate::process_env;

/// Options that select tasks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Pick {
    /// Only tasks of this program, for example `gimp`; may be repeated.
    #[arg(long = "app", value_name = "PROGRAM")]
    apps: Vec<String>,
    /// Only tasks whose ids begin with this; may be repeated.
    #[arg(long = "prefix", value_name = "ID")]
    prefixes: Vec<String>,
    /// Only tasks that a cell on this machine can run and grade (see `tasks check`).
    #[arg(long)]
    runnable_here: bool,
}

/// Returns which hosts the cells of a task may reach, by the settings.
pub(crate) fn may_reach(config: &Config) -> impl Fn(&[AllowedHost], &str) -> bool {
    |named, host| config.network.allows(named, host)
}

impl Pick {
    /// Whether what is selected depends on the machine.
    #[cfg(feature = "fleet")]
    pub(crate) fn is_of_this_machine(&self) -> bool {
        self.runnable_here
    }

    /// Returns the ids of the tasks that are left; `None` if nothing narrows the suite. `among` is an earlier selection.
    pub(crate) fn narrow(
        &self,
        suite: &Suite,
        config: &Config,
        among: Option<BTreeSet<TaskId>>,
    ) -> Result<Option<BTreeSet<TaskId>>, Failure> {
        if self.apps.is_empty() && self.prefixes.is_empty() && !self.runnable_here {
            return Ok(among);
        }
        let programs: BTreeSet<String> = suite.tasks.iter().flat_map(programs_of).collect();
        if let Some(app) = self.apps.iter().find(|app| !programs.contains(*app)) {
            let failure =
                Failure::say(Kind::NothingMatched, format!("the suite has no task of the program {app:?}"));
            let names: Vec<&str> = programs.iter().map(String::as_str).collect();
            let all = format!("its programs are {}", names.join(", "));
            return Err(failure.hint_nearest_or(app, names, &all));
        }
        let reading = config.reading();
        let may_reach = may_reach(config);
        let here = HostCapabilities {
            has_program: &process_env::is_in_cell,
            mirror: reading.mirror.as_ref(),
            may_reach: &may_reach,
            has_judge: config.role.judge.model.is_some(),
        };
        let runs = |task: &Task| {
            let gaps = missing(task, &here);
            gaps.unknown.is_empty()
                && gaps.grades.is_empty()
                && gaps.cell.is_empty()
                && faults(task, &suite.root).is_empty()
        };
        let of_app =
            |task: &Task| self.apps.is_empty() || programs_of(task).iter().any(|one| self.apps.contains(one));
        let begins = |task: &Task| {
            self.prefixes.is_empty() || self.prefixes.iter().any(|one| task.id.as_str().starts_with(one))
        };
        let left: BTreeSet<TaskId> = suite
            .tasks
            .iter()
            .filter(|task| among.as_ref().is_none_or(|among| among.contains(&task.id)))
            .filter(|task| of_app(task) && begins(task) && (!self.runnable_here || runs(task)))
            .map(|task| task.id.clone())
            .collect();
        match left.is_empty() {
            true => Err(Failure::say(Kind::NothingMatched, "no task is selected")),
            false => Ok(Some(left)),
        }
    }
}

/// The programs of a task: the one that it is listed under, and those that its file names.
fn programs_of(task: &Task) -> Vec<String> {
    let listed = (!task.app.is_empty()).then(|| task.app.clone());
    task.apps().into_iter().chain(listed).collect()
}
