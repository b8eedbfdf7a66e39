//! Narrows a suite to tasks of a program, with ids that begin alike, or that run on this machine.

use std::collections::BTreeSet;

use apprentice_protocol::TaskId;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use clap::Args;

use crate::failure::{Failure, Kind};
use crate::settings::config::Config;
use crate::suite::preflight::lacks;

/// Options that select tasks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Pick {
    /// Only tasks of this program, for example `gimp`; may be repeated.
    #[arg(long = "app", value_name = "PROGRAM")]
    apps: Vec<String>,
    /// Only tasks of this domain: of one folder of the suite, such as OSWorld's `os` or `multi_apps`; may be repeated.
    #[arg(long = "domain", value_name = "NAME")]
    domains: Vec<String>,
    /// Only tasks whose ids begin with this; may be repeated.
    #[arg(long = "prefix", value_name = "ID")]
    prefixes: Vec<String>,
    /// Only tasks that a cell on this machine can run and grade (see `tasks check`).
    #[arg(long)]
    runnable_here: bool,
    /// Only one part of the selected tasks, such as 3/50: each of 50 machines runs another part.
    #[arg(long, value_name = "PART/PARTS", value_parser = crate::options::count::part_of)]
    partition: Option<(usize, usize)>,
}

impl Pick {
    /// Whether what is selected depends on the machine.
    #[cfg(feature = "fleet")]
    pub(crate) fn is_of_this_machine(&self) -> bool {
        self.runnable_here
    }

    fn is_everything(&self) -> bool {
        let lists = [&self.apps, &self.domains, &self.prefixes];
        lists.iter().all(|list| list.is_empty()) && !self.runnable_here && self.partition.is_none()
    }

    /// Refuses a name that no task of the suite has.
    fn check_names(&self, suite: &Suite) -> Result<(), Failure> {
        let programs: BTreeSet<String> = suite.tasks.iter().flat_map(programs_of).collect();
        let domains: BTreeSet<String> = suite.tasks.iter().map(|task| task.app.clone()).collect();
        for (wanted, known, what, all) in
            [(&self.apps, &programs, "program", "programs"), (&self.domains, &domains, "domain", "domains")]
        {
            if let Some(name) = wanted.iter().find(|name| !known.contains(*name)) {
                let failure = Failure::say(
                    Kind::NothingMatched,
                    format!("the suite has no task of the {what} {name:?}"),
                );
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                let all = format!("its {all} are {}", names.join(", "));
                return Err(failure.hint_nearest_or(name, names, &all));
            }
        }
        let ids = || suite.tasks.iter().map(|task| task.id.as_str());
        match self.prefixes.iter().find(|prefix| !ids().any(|id| id.starts_with(prefix.as_str()))) {
            Some(prefix) => {
                let failure =
                    Failure::say(Kind::NothingMatched, format!("no id of a task begins with {prefix:?}"));
                let hint = format!("`apprentice tasks list {}` prints the ids", suite.root.display());
                Err(failure.hint_nearest_or(prefix, ids(), &hint))
            }
            None => Ok(()),
        }
    }

    /// Returns the ids of the tasks that are left; `None` if nothing narrows the suite. `among` is an earlier selection.
    pub(crate) fn narrow(
        &self,
        suite: &Suite,
        config: &Config,
        among: Option<BTreeSet<TaskId>>,
    ) -> Result<Option<BTreeSet<TaskId>>, Failure> {
        if self.is_everything() {
            return Ok(among);
        }
        self.check_names(suite)?;
        let runs = |task: &Task| {
            let gaps = lacks(task, &suite.root, config);
            gaps.unknown.is_empty() && gaps.grades.is_empty() && gaps.cell.is_empty()
        };
        let of_domain = |task: &Task| self.domains.is_empty() || self.domains.contains(&task.app);
        let of_app =
            |task: &Task| self.apps.is_empty() || programs_of(task).iter().any(|one| self.apps.contains(one));
        let begins = |task: &Task| {
            self.prefixes.is_empty() || self.prefixes.iter().any(|one| task.id.as_str().starts_with(one))
        };
        let left = suite
            .tasks
            .iter()
            .filter(|task| among.as_ref().is_none_or(|among| among.contains(&task.id)))
            .filter(|task| of_app(task) && of_domain(task) && begins(task))
            .filter(|task| !self.runnable_here || runs(task));
        let left: BTreeSet<TaskId> = left.map(|task| task.id.clone()).collect();
        let left = match self.partition {
            // Neighbours in the order of ids are often alike: each part gets some of all kinds.
            Some((part, of)) => left.into_iter().skip(part - 1).step_by(of).collect(),
            None => left,
        };
        match left.is_empty() {
            true => Err(self.nothing_left(suite)),
            false => Ok(Some(left)),
        }
    }

    fn nothing_left(&self, suite: &Suite) -> Failure {
        let failure = Failure::say(Kind::NothingMatched, "no task is selected: none fits all of the options");
        match self.runnable_here {
            true => failure
                .hint(format!("`apprentice tasks check {}` says why none runs here", suite.root.display())),
            false => failure,
        }
    }
}

/// The programs of a task: the one that it is listed under, and those that its file names.
fn programs_of(task: &Task) -> Vec<String> {
    let listed = (!task.app.is_empty()).then(|| task.app.clone());
    task.apps().into_iter().chain(listed).collect()
}
