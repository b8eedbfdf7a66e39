//! `apprentice doctor`: lists missing programs, the effect of each, and the command that installs it.

mod requirement;
mod system;

use apprentice_protocol::counted;
use apprentice_sandbox::cells_have_control_groups;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::container::Engine;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::suite::preflight::Preflight;
use crate::{process_env, suite, suite::packages, terminal};
use requirement::{Group, NAMESPACES, REQUIREMENTS, Requirement};
use system::{Family, System};

/// Lists programs that are missing on this machine, what does not work without them, and how to install them.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Install missing packages with the system's package manager, as root or through sudo.
    #[arg(long)]
    fix: bool,
    /// Also require LibreOffice and GIMP, for `tasks/office`.
    #[arg(long)]
    office: bool,
    /// Also require tesseract, for the setting `ocr`.
    #[arg(long)]
    ocr: bool,
    /// Also require Xorg and its dummy driver, for desktops with several monitors.
    #[arg(long)]
    monitors: bool,
    /// Also require the programs of a suite's tasks, and say what else keeps tasks from running here.
    #[arg(long, value_name = "SUITE")]
    suite: Option<PathBuf>,
    /// Print one JSON object (`apprentice.doctor/1`).
    #[arg(long)]
    json: bool,
}

/// The result for one requirement.
#[derive(Debug, Serialize, JsonSchema)]
struct Finding {
    name: String,
    group: Group,
    ok: bool,
    found: Option<PathBuf>,
    /// The effect when it is missing.
    costs: String,
    /// The packages that hold it on this system, or what to do, if it is missing and that is known.
    remedy: Option<String>,
}

/// The report of all requirements.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    schema: &'static str,
    ok: bool,
    system: System,
    findings: Vec<Finding>,
    install: Option<String>,
    /// What bounds the programs of a cell together.
    cell_limits: String,
}

/// Runs the command.
pub(crate) fn run(
    arguments: &Doctor,
    config: impl FnOnce() -> Result<Config, Failure>,
) -> Result<(), Failure> {
    // Without a suite the settings do not matter, and may be what is broken.
    let suite = match &arguments.suite {
        Some(path) => Some((suite::load(path)?, config()?)),
        None => None,
    };
    let look = || suite.as_ref().map(|(suite, config)| Preflight::of(suite, suite.tasks.iter(), config));
    let mut tasks = look();
    let mut report = examine(arguments, tasks.as_ref());
    if arguments.fix && report.install.is_some() {
        install(report.system.family, &missing_packages(&report.findings))?;
        tasks = look();
        report = examine(arguments, tasks.as_ref());
    }
    if arguments.json {
        terminal::json(&report)?;
    } else {
        print(&report);
    }
    if let Some((tasks, path)) = tasks.zip(arguments.suite.as_deref()) {
        tasks.print(path);
    }
    if report.ok { Ok(()) } else { Err(failure(&report)) }
}

fn failure(report: &Report) -> Failure {
    let missing = report.findings.iter().filter(|finding| !finding.ok).count();
    let message = format!("this machine lacks {}", counted(missing, "requirement"));
    let failure = Failure::say(Kind::Environment, message);
    match &report.install {
        Some(line) => failure.hint(line.clone()).hint("or `apprentice doctor --fix`"),
        None => failure,
    }
}

/// Looks for what every machine needs, and for the programs that tasks of a suite lack.
fn examine(arguments: &Doctor, tasks: Option<&Preflight>) -> Report {
    let system = this_system();
    let wanted = |need: &&Requirement| match need.group {
        Group::Office => arguments.office,
        Group::Ocr => arguments.ocr,
        Group::Monitors => arguments.monitors,
        Group::Isolation | Group::Desktop | Group::Browser | Group::Starter => true,
        Group::Suite => false,
    };
    let mut findings: Vec<Finding> =
        REQUIREMENTS.iter().filter(wanted).map(|need| look_for(need, &system)).collect();
    findings.push(try_namespaces(system.container.as_ref()));
    let lacked = tasks.into_iter().flat_map(|tasks| &tasks.programs);
    findings.extend(lacked.map(|(program, count)| Finding {
        name: program.clone(),
        group: Group::Suite,
        ok: false,
        found: None,
        costs: format!("{} of the suite", counted(*count, "task")),
        // The packages of other systems were not looked up.
        remedy: packages::package_of(program).filter(|_| system.family == Family::Debian).map(str::to_owned),
    }));
    let packages = missing_packages(&findings);
    let line = if packages.is_empty() { None } else { system.install(&packages) };
    Report {
        schema: "apprentice.doctor/1",
        ok: findings.iter().all(|finding| finding.ok),
        system,
        findings,
        install: line.map(|line| format!("{}{line}", as_root())),
        cell_limits: cell_limits(),
    }
}

/// Says what bounds the programs of a cell together.
fn cell_limits() -> String {
    match cells_have_control_groups() {
        Ok(()) => "the kernel bounds each cell by a control group of its own".to_owned(),
        Err(why) => format!(
            "the kernel bounds each process; what a cell's programs take together is added up twice a second, as there are no \
             control groups for cells: {why}"
        ),
    }
}

/// Reads which system this is. A file that cannot be read says as little as one that is missing.
fn this_system() -> System {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let release = text("/etc/os-release").or_else(|| text("/usr/lib/os-release")).unwrap_or_default();
    System::of(&release, Engine::of_this_process())
}

fn look_for(need: &Requirement, system: &System) -> Finding {
    let found = need.any_of.iter().find_map(|name| process_env::find_program(name));
    let packages = || need.packages.on(system.family).map(str::to_owned);
    Finding {
        name: need.name.to_owned(),
        group: need.group,
        ok: found.is_some(),
        remedy: if found.is_some() { None } else { packages() },
        found,
        costs: need.costs.to_owned(),
    }
}

/// Returns the prefix that a normal user needs for a root command.
fn as_root() -> &'static str {
    if rustix::process::geteuid().is_root() { "" } else { "sudo " }
}

/// Describes why user namespaces are unavailable, and how to allow them.
fn namespace_remedy(problem: &str, container: Option<&Engine>) -> String {
    let is = |setting: &str, value: &str| {
        let path = format!("/proc/sys/{}", setting.replace('.', "/"));
        std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value)
    };
    let settings = [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "15000"),
    ];
    let barring = settings.into_iter().find(|(setting, value, _)| is(setting, value));
    let mend = match barring {
        Some((setting, value, allowed)) => format!(
            "{setting} is {value}; allow them: `{}sysctl -w {setting}={allowed}` (to last, put the same into a file \
             below /etc/sysctl.d)",
            as_root()
        ),
        None => match container {
            Some(engine) => engine.rights(),
            None => "no setting of the system says so".to_owned(),
        },
    };
    let without = match container {
        Some(_) => "or let the container be the boundary: `--isolation container`",
        None => "or choose `--isolation plain` knowingly",
    };
    format!("{problem}: {mend}; {without}")
}

/// Tests whether a process can create a user namespace and mount `/proc` in it, as a cell does. Some systems forbid the first by
/// a setting; containers whose `/proc` has masked parts forbid the second.
fn try_namespaces(container: Option<&Engine>) -> Finding {
    let tried = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "--pid",
            "--fork",
            "mount",
            "-t",
            "proc",
            "proc",
            "/proc",
        ])
        .stdin(Stdio::null())
        .output();
    let problem = match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare (package util-linux) does not run: {error}")),
    };
    let remedy = problem.as_deref().map(|problem| namespace_remedy(problem, container));
    Finding {
        name: NAMESPACES.into(),
        group: Group::Isolation,
        ok: problem.is_none(),
        found: None,
        costs:
            "no isolated worlds; only `--isolation container` or `plain`, which share files, network and processes with \
             you"
                .into(),
        remedy,
    }
}

fn missing_packages(findings: &[Finding]) -> Vec<String> {
    let missing = findings.iter().filter(|finding| !finding.ok && finding.name != NAMESPACES);
    missing.filter_map(|finding| finding.remedy.clone()).flat_map(|names| words(&names)).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Installs packages by the system's package manager.
fn install(family: Family, packages: &[String]) -> Result<(), Failure> {
    let Some(words) = system::install_words(family) else {
        return Err(Failure::say(Kind::Environment, "the package manager of this system is not known"));
    };
    let mut line: Vec<&str> = words.iter().copied().chain(packages.iter().map(String::as_str)).collect();
    if family == Family::Debian {
        // Another installation that is under way is waited for.
        let patient = ["apt-get", "-o", "DPkg::Lock::Timeout=300"];
        as_administrator(&[&patient[..], &["update", "-q"]].concat())?;
        line.splice(..1, patient);
    }
    as_administrator(&line)
}

/// Runs a command as root, or through sudo.
fn as_administrator(words: &[&str]) -> Result<(), Failure> {
    let root = rustix::process::geteuid().is_root();
    let mut command = Command::new(if root { words[0] } else { "sudo" });
    let arguments = if root { &words[1..] } else { words };
    let status = command.args(arguments).status();
    if status.kind(Kind::Environment)?.success() {
        Ok(())
    } else {
        Err(Failure::say(Kind::Environment, format!("`{}` failed", words.join(" "))))
    }
}

fn print(report: &Report) {
    let inside = match &report.system.container {
        Some(engine) => format!(", in a container ({})", engine.name()),
        None => String::new(),
    };
    terminal::line(format_args!("{}{inside}", report.system.name));
    if let Some(advice) = &report.system.advice {
        terminal::line(format_args!("{advice}"));
    }
    for finding in &report.findings {
        let mark = if finding.ok { "ok     " } else { "MISSING" };
        let place = finding.found.as_deref().map(|path| format!(" ({})", path.display())).unwrap_or_default();
        terminal::line(format_args!("{mark} {}{place}", finding.name));
        if !finding.ok {
            terminal::line(format_args!("        effect: {}", finding.costs));
            if let Some(remedy) = &finding.remedy {
                let kind = if finding.name == NAMESPACES { "" } else { "package " };
                terminal::line(format_args!("        fix:    {kind}{remedy}"));
            }
        }
    }
    terminal::line(format_args!("limits: {}", report.cell_limits));
    if let Some(line) = &report.install {
        terminal::line(format_args!("\n{line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Group, missing_packages};

    #[test]
    fn packages_of_missing_programs_are_named_one_by_one() {
        let finding = |name: &str, ok: bool, remedy: &str| Finding {
            name: name.into(),
            group: Group::Desktop,
            ok,
            found: None,
            costs: String::new(),
            remedy: (!ok).then(|| remedy.to_owned()),
        };
        let findings = [
            finding("virtual display", false, "xvfb"),
            finding("trash", false, "gvfs gvfs-daemons"),
            finding("editor", true, "mousepad"),
            finding("user namespaces", false, "a sentence"),
        ];
        assert_eq!(missing_packages(&findings), ["xvfb", "gvfs", "gvfs-daemons"]);
    }
}
