//! What can be known of a run before its first trial: which of its tasks cannot run here, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use apprentice_protocol::{AllowedHost, EnvironmentKind, Monitors, TaskId, counted};
use apprentice_tasks::suite::requirements::{HostCapabilities, MissingRequirements, missing};
use apprentice_tasks::suite::{Suite, faults};
use apprentice_tasks::task::Task;
use apprentice_tasks::world_io::programs_of_line;
use serde_json::Value;

use crate::failure::{Failure, Kind};
use crate::settings::config::{Config, IsolationChoice, WorldChoice};
use crate::suite::packages;
use crate::{process_env, terminal};

/// Reasons of a kind that are named; the others are counted.
const MAX_NAMED: usize = 3;

/// Returns which hosts the cells of a task may reach, by the settings.
pub(crate) fn may_reach(config: &Config) -> impl Fn(&[AllowedHost], &str) -> bool {
    |named, host| config.network.allows(named, host)
}

/// Returns what a task lacks on this machine, by the settings. `root` is the base folder of its files.
pub(crate) fn lacks(task: &Task, root: &Path, config: &Config) -> MissingRequirements {
    let reading = config.reading();
    let may_reach = may_reach(config);
    let here = HostCapabilities {
        has_program: &process_env::is_in_cell,
        mirror: reading.mirror.as_ref(),
        may_reach: &may_reach,
        has_judge: config.role.judge.model.is_some(),
    };
    let mut missing = missing(task, &here);
    missing.unknown.extend(faults(task, root));
    if task.environment() == EnvironmentKind::Desktop {
        missing.cell.extend(cell_gaps());
        missing.cell.extend(monitors_gap(task));
    }
    missing
}

/// Refuses a command line for a cell whose program is not on this machine. On other machines nothing is known of it.
pub(crate) fn check_app(line: &str, config: &Config) -> Result<(), Failure> {
    if config.world == WorldChoice::Vm || config.isolation != IsolationChoice::Cell {
        return Ok(());
    }
    let programs = programs_of_line(line);
    let Some(missing) = programs.iter().find(|name| !process_env::is_in_cell(name)) else { return Ok(()) };
    let failure = Failure::say(Kind::Environment, format!("there is no program {missing:?} on this machine"));
    if let Some(package) = packages::package_of(missing) {
        return Err(failure.hint(format!("`apt-get install {package}`")));
    }
    let mut known = process_env::programs_in_cells();
    known.extend(packages::known().map(str::to_owned));
    Err(failure.hint_nearest(missing, known.iter().map(String::as_str)))
}

/// Programs without which no desktop cell starts, each with a reason if it is missing.
fn cell_gaps() -> impl Iterator<Item = String> {
    let needed = ["bwrap", "unshare", "dbus-daemon", "Xvfb", "openbox"].into_iter();
    let missing = needed.filter(|name| !process_env::is_in_cell(name));
    missing.map(|name| format!("cells need {name:?}: see `apprentice doctor`"))
}

/// What this machine lacks for a task's several monitors.
fn monitors_gap(task: &Task) -> Option<String> {
    let ours = task.apprentice.as_ref()?;
    let drawn = ours.vary.get("screen").and_then(Value::as_array).into_iter().flatten();
    let drawn = drawn.filter_map(|screen| serde_json::from_value::<Monitors>(screen.clone()).ok());
    let screens = ours.screen.iter().cloned().chain(drawn).filter(|screen| !screen.several().is_empty());
    let lacking = screens.filter_map(|screen| apprentice_sandbox::need_display(&screen).err()).next()?;
    Some(format!("{}; see `apprentice doctor --monitors`", lacking.message))
}

/// The tasks of a selection that cannot run here, or be graded, by reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Preflight {
    /// How many tasks were looked at.
    tasks: usize,
    /// Those that lack something.
    lacking: BTreeSet<TaskId>,
    /// Missing programs, with the number of tasks that want each.
    pub(crate) programs: BTreeMap<String, usize>,
    wanting_programs: usize,
    files: Reasons,
    network: Reasons,
    faults: Reasons,
    other: Reasons,
}

/// Reasons of one kind, with the number of tasks that have any.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reasons {
    tasks: usize,
    by_text: BTreeMap<String, usize>,
}

impl Reasons {
    fn add<'a>(&mut self, reasons: impl Iterator<Item = &'a str>) {
        let reasons: BTreeSet<&str> = reasons.collect();
        self.tasks += usize::from(!reasons.is_empty());
        for reason in reasons {
            *self.by_text.entry(reason.to_owned()).or_default() += 1;
        }
    }

    /// The most frequent reasons.
    fn named(&self) -> String {
        let mut all: Vec<(&String, &usize)> = self.by_text.iter().collect();
        all.sort_by_key(|(text, count)| (std::cmp::Reverse(**count), (*text).clone()));
        let named: Vec<String> = all.iter().take(MAX_NAMED).map(|(text, _)| (*text).clone()).collect();
        match all.len().saturating_sub(MAX_NAMED) {
            0 => named.join("; "),
            more => format!("{}; and {more} more", named.join("; ")),
        }
    }
}

impl Preflight {
    /// Looks at these tasks of a suite.
    pub(crate) fn of<'a>(suite: &Suite, tasks: impl Iterator<Item = &'a Task>, config: &Config) -> Self {
        let mut found = Self::default();
        for task in tasks {
            found.add(task, &lacks(task, &suite.root, config), runs_on_vm(task, config));
        }
        found
    }

    fn add(&mut self, task: &Task, lacks: &MissingRequirements, on_vm: bool) {
        self.tasks += 1;
        let reasons = if on_vm { &lacks.vm } else { &lacks.cell };
        let reasons: Vec<&str> = reasons.iter().chain(&lacks.grades).map(String::as_str).collect();
        if reasons.is_empty() && lacks.unknown.is_empty() {
            return;
        }
        self.lacking.insert(task.id.clone());
        if !on_vm && !lacks.programs.is_empty() {
            self.wanting_programs += 1;
            for name in &lacks.programs {
                *self.programs.entry(name.clone()).or_default() += 1;
            }
        }
        let begins =
            |start: &'static str| reasons.iter().copied().filter(move |reason| reason.starts_with(start));
        self.files.add(begins("files: ").map(|reason| reason.trim_start_matches("files: ")));
        self.network.add(begins("network: ").map(|reason| reason.trim_start_matches("network: ")));
        self.faults.add(lacks.unknown.iter().map(String::as_str));
        let known = |reason: &&str| {
            let starts = ["files: ", "network: ", "program \""];
            starts.iter().any(|start| reason.starts_with(start)) || reason.contains("needs the program")
        };
        self.other.add(reasons.iter().copied().filter(|reason| !known(reason)));
    }

    /// Says which tasks cannot run here, in a line per reason; nothing where all can.
    pub(crate) fn lines(&self, suite: &Path) -> Vec<String> {
        if self.lacking.is_empty() {
            return Vec::new();
        }
        let all = counted(self.tasks, "task");
        let mut lines = vec![match self.lacking.len() {
            lacking if lacking == self.tasks => format!("none of {all} can run and be graded here:"),
            lacking => format!("{lacking} of {all} cannot run or be graded here:"),
        }];
        if !self.programs.is_empty() {
            let named: Vec<String> =
                self.programs.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            let verb = if self.wanting_programs == 1 { "lacks" } else { "lack" };
            lines.push(format!("{:>5} {verb} a program: {}", self.wanting_programs, named.join(", ")));
            let advice = packages::install_line(self.programs.keys().map(String::as_str));
            lines.extend(advice.into_iter().map(|line| format!("      {line}")));
        }
        for (one, many, reasons) in [
            ("needs files", "need files", &self.files),
            ("needs the network", "need the network", &self.network),
            ("has a fault", "have a fault", &self.faults),
            ("lacks something else", "lack something else", &self.other),
        ] {
            if reasons.tasks > 0 {
                let what = if reasons.tasks == 1 { one } else { many };
                lines.push(format!("{:>5} {what}: {}", reasons.tasks, reasons.named()));
            }
        }
        let rest = if self.lacking.len() < self.tasks { "`--runnable-here` leaves them out; " } else { "" };
        lines.push(format!("{rest}`apprentice tasks check {}` names each", suite.display()));
        lines
    }

    /// Prints [`Self::lines`].
    pub(crate) fn print(&self, suite: &Path) {
        self.lines(suite).iter().for_each(|line| terminal::note(format_args!("{line}")));
    }
}

/// Whether a task runs on a machine that is not asked for its programs here.
fn runs_on_vm(task: &Task, config: &Config) -> bool {
    let kind = task.environment();
    kind == EnvironmentKind::Vm || (kind == EnvironmentKind::Desktop && config.world == WorldChoice::Vm)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use apprentice_tasks::suite::load::read_task;
    use apprentice_tasks::suite::requirements::MissingRequirements;

    use super::Preflight;

    #[test]
    fn what_tasks_lack_is_said_by_kind_and_counted() {
        let text = r#"{"id":"t","instruction":"i","config":[],"evaluator":{"func":"infeasible"}}"#;
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let lacks = |unknown: &[&str], cell: &[&str], programs: &[&str]| MissingRequirements {
            unknown: texts(unknown),
            cell: texts(cell),
            programs: texts(programs),
            ..MissingRequirements::default()
        };
        let mut found = Preflight::default();
        let no_mirror = "files: the task downloads files, and no mirror is set (--mirror)";
        for (at, lacks) in [
            lacks(&[], &[], &[]),
            lacks(&[], &["program \"vlc\" is not installed"], &["vlc"]),
            lacks(&[], &["program \"vlc\" is not installed", no_mirror], &["vlc"]),
            lacks(&[], &["program \"nosuch\" is not installed"], &["nosuch"]),
            lacks(&["unknown setup step \"lauch\"; did you mean \"launch\"?"], &[], &[]),
            lacks(&[], &["network: it opens a.org, which `network` does not allow (--network a.org)"], &[]),
            lacks(&[], &["cells need \"bwrap\": see `apprentice doctor`"], &[]),
        ]
        .iter()
        .enumerate()
        {
            let text = text.replace("\"t\"", &format!("\"t{at}\""));
            found.add(&read_task(Path::new("t.json"), &text).expect("loads"), lacks, false);
        }
        let lines = found.lines(Path::new("mine"));
        let lines: Vec<&str> =
            lines.iter().map(String::as_str).filter(|line| !line.starts_with("      ")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        6 of 7 tasks cannot run or be graded here:
            3 lack a program: nosuch (1), vlc (2)
            1 needs files: the task downloads files, and no mirror is set (--mirror)
            1 needs the network: it opens a.org, which `network` does not allow (--network a.org)
            1 has a fault: unknown setup step "lauch"; did you mean "launch"?
            1 lacks something else: cells need "bwrap": see `apprentice doctor`
        `--runnable-here` leaves them out; `apprentice tasks check mine` names each
        "#);
        assert_eq!(Preflight::default().lines(Path::new("mine")), [""; 0]);
    }
}
