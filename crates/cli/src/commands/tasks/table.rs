//! `apprentice tasks check --table`: the table of a suite's tasks for a document, the same on every machine.
//!
//! It asks what a task needs rather than what this machine has: the programs that `scripts/setup --osworld` installs are
//! taken as there, and files as in a mirror.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use apprentice_protocol::AllowedHost;
use apprentice_tasks::suite;
use apprentice_tasks::suite::requirements::{HostCapabilities, MissingRequirements, missing};
use apprentice_tasks::world_io::Mirror;
use serde_json::{Map, Value};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// The programs that `scripts/setup --osworld` installs, by the names under which tasks ask for them.
const PROGRAMS: &[&str] = &[
    "chromium",
    "libreoffice",
    "soffice",
    "localc",
    "lowriter",
    "loimpress",
    "gimp",
    "vlc",
    "thunderbird",
    "nautilus",
    "xfce4-terminal",
    "gnome-terminal",
    "code",
    "eog",
    "evince",
    "mutool",
    "ffmpeg",
    "tesseract",
    "git",
    "unzip",
    "zip",
    "jq",
    "killall",
    "xsel",
    "pip",
    "wmctrl",
    "gsettings",
    "xdg-open",
    "update-desktop-database",
];
/// Programs that every Debian has, in packages that are essential or that each of the above needs.
const EVERYWHERE: &[&str] = &[
    "apt", "apt-get", "bash", "chmod", "cp", "diff", "grep", "ls", "mkdir", "mv", "pkill", "python3", "rm",
    "sed", "sh", "sleep", "su", "tar",
];

/// One line of the table.
struct Line {
    app: String,
    id: String,
    loads: bool,
    grades: String,
    cell: String,
    vm: String,
    is_solved: bool,
}

/// Prints the table of a suite. `solved` are files with solutions by task.
pub(in crate::commands) fn print(path: &Path, solved: &[PathBuf]) -> Result<(), Failure> {
    let mut solutions = BTreeSet::new();
    for file in solved {
        solutions.extend(solved_in(file)?);
    }
    let lines: Vec<Line> =
        suite::survey(path).kind(Kind::Config)?.into_iter().map(|one| line(one, &solutions)).collect();
    terminal::line(format_args!(
        "| application | tasks | load | graded | in a cell | with a mirror | on a VM | solved by hand |"
    ));
    terminal::line(format_args!("|---|---|---|---|---|---|---|---|"));
    let mut apps: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    lines.iter().for_each(|line| apps.entry(&line.app).or_default().push(line));
    for (app, lines) in
        apps.iter().map(|(app, lines)| (*app, lines.clone())).chain([("all", lines.iter().collect())])
    {
        total(app, &lines);
    }
    terminal::line(format_args!("\n| task | loads | graded | in a cell | on a VM | solved |"));
    terminal::line(format_args!("|---|---|---|---|---|---|"));
    for line in &lines {
        terminal::line(format_args!(
            "| {} {} | {} | {} | {} | {} | {} |",
            line.app,
            line.id.split('-').next().unwrap_or(&line.id),
            word(line.loads),
            line.grades,
            line.cell,
            line.vm,
            if line.is_solved { "yes" } else { "" },
        ));
    }
    Ok(())
}

fn total(app: &str, lines: &[&Line]) {
    let count = |holds: &dyn Fn(&Line) -> bool| lines.iter().filter(|line| holds(line)).count();
    terminal::line(format_args!(
        "| {app} | {} | {} | {} | {} | {} | {} | {} |",
        lines.len(),
        count(&|line| line.loads),
        count(&|line| line.grades == "yes"),
        count(&|line| line.cell == "yes"),
        count(&|line| line.cell == "yes" || line.cell == "mirror"),
        count(&|line| line.vm == "yes" || line.vm == "mirror"),
        count(&|line| line.is_solved),
    ));
}

fn word(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

/// Reads the ids of a file of solutions.
fn solved_in(path: &Path) -> Result<BTreeSet<String>, Failure> {
    let text = apprentice_files::read(path).kind(Kind::Usage)?;
    let solutions: Map<String, Value> = serde_json::from_slice(&text).kind(Kind::Usage)?;
    Ok(solutions.into_iter().map(|(id, _)| id).collect())
}

fn line(one: suite::SurveyedTask, solutions: &BTreeSet<String>) -> Line {
    let no = || "no".to_owned();
    let mut line = Line {
        is_solved: solutions.contains(&one.id),
        app: one.app,
        id: one.id,
        loads: false,
        grades: no(),
        cell: no(),
        vm: no(),
    };
    let Ok(task) = one.task else { return line };
    let has_program = |name: &str| {
        let name = name.rsplit('/').next().unwrap_or(name);
        PROGRAMS.contains(&name) || EVERYWHERE.contains(&name) || apprentice_sandbox::cell_brings(name)
    };
    let may_reach = |_: &[AllowedHost], _: &str| false;
    let needs = |mirror: Option<&Mirror>| {
        missing(
            &task,
            &HostCapabilities { has_program: &has_program, mirror, may_reach: &may_reach, has_judge: false },
        )
    };
    let (without, with): (MissingRequirements, MissingRequirements) =
        (needs(None), needs(Some(&Mirror::Origin)));
    line.loads = with.unknown.is_empty();
    line.grades = if with.grades.is_empty() { "yes".into() } else { with.grades.join("; ") };
    line.cell = runs(&without.cell, &with.cell);
    line.vm = runs(&without.vm, &with.vm);
    line
}

/// Says in a word whether a task runs: as it is, with a mirror of its files, or what speaks against it.
fn runs(without_mirror: &[String], with_mirror: &[String]) -> String {
    if without_mirror.is_empty() {
        return "yes".into();
    }
    if with_mirror.is_empty() {
        return "mirror".into();
    }
    let kinds: BTreeSet<&str> = with_mirror.iter().map(|reason| kind(reason)).collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    kinds.join(", ")
}

/// The kind of an obstacle, in a word or two.
fn kind(reason: &str) -> &str {
    if reason.starts_with("network") {
        "network"
    } else if reason.contains("Google account") {
        "account"
    } else if reason.starts_with("program \"") {
        "program"
    } else {
        "other"
    }
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn obstacles_are_told_in_a_word() {
        let text = |reasons: &[&str]| reasons.iter().map(|reason| (*reason).to_owned()).collect::<Vec<_>>();
        let missing = text(&["program \"zoom\" is not installed", "program \"zotero\" is not installed"]);
        assert_eq!(runs(&[], &[]), "yes");
        assert_eq!(runs(&text(&["files: the task downloads files"]), &[]), "mirror");
        assert_eq!(runs(&missing, &missing), "program");
        let both = text(&[
            "network: it opens a.example",
            "program \"zoom\" is not installed",
            "setup step \"x\": y",
        ]);
        assert_eq!(runs(&both, &both), "network, other, program");
    }
}
