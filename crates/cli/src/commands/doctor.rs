//! `apprentice doctor`: lists missing programs, the effect of each, and the command that installs it.

use apprentice_protocol::counted;
use apprentice_sandbox::cells_have_control_groups;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use serde::Serialize;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::{process_env, terminal};

/// Lists programs that are missing on this machine, what does not work without them, and how to install them.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Install missing packages with the system's package manager, as root or through sudo.
    #[arg(long)]
    fix: bool,
    /// Also require LibreOffice and GIMP, for `tasks/office`.
    #[arg(long)]
    office: bool,
    /// Print one JSON object (`apprentice.doctor/1`).
    #[arg(long)]
    json: bool,
}

/// A program or file that worlds need on this machine.
struct Requirement {
    name: &'static str,
    /// Alternatives: one of these programs or files is enough.
    any_of: &'static [&'static str],
    package: &'static str,
    /// The effect when it is missing.
    costs: &'static str,
    group: Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Group {
    /// Every isolated world.
    Isolation,
    /// Desktop worlds.
    Desktop,
    /// Browser worlds, and Chromium on a desktop.
    Browser,
    /// Programs of the starter suite.
    Starter,
    /// Programs of the office suite.
    Office,
}

/// The one requirement that no package installs.
const NAMESPACES: &str = "user namespaces";

const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "bubblewrap",
        any_of: &["bwrap"],
        package: "bubblewrap",
        costs: "no isolated worlds; only `--isolation plain`, which shares files, network and processes with you",
        group: Group::Isolation,
    },
    Requirement {
        name: "unshare",
        any_of: &["unshare"],
        package: "util-linux",
        costs: "no isolated worlds; only `--isolation plain`",
        group: Group::Isolation,
    },
    Requirement {
        name: "virtual display",
        any_of: &["Xvfb"],
        package: "xvfb",
        costs: "no desktop worlds; browser worlds still run",
        group: Group::Desktop,
    },
    Requirement {
        name: "window manager",
        any_of: &["openbox"],
        package: "openbox",
        costs: "no desktop worlds; browser worlds still run",
        group: Group::Desktop,
    },
    Requirement {
        name: "session bus",
        any_of: &["dbus-daemon"],
        package: "dbus",
        costs: "no worlds of any kind",
        group: Group::Isolation,
    },
    Requirement {
        name: "accessibility bus",
        any_of: &["/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher"],
        package: "at-spi2-core",
        costs: "no desktop worlds; browser worlds still run",
        group: Group::Desktop,
    },
    Requirement {
        name: "window tool",
        any_of: &["wmctrl"],
        package: "wmctrl",
        costs: "tasks that activate or close windows are void",
        group: Group::Desktop,
    },
    Requirement {
        name: "settings store",
        any_of: &["/usr/libexec/dconf-service", "/usr/lib/dconf/dconf-service"],
        package: "dconf-gsettings-backend",
        costs: "desktop programs forget their settings; tasks that check them fail",
        group: Group::Desktop,
    },
    Requirement {
        name: "settings tool",
        any_of: &["gsettings"],
        package: "libglib2.0-bin",
        costs: "tasks that check desktop settings are void",
        group: Group::Desktop,
    },
    Requirement {
        name: "browser",
        any_of: &["chromium", "google-chrome", "chromium-browser"],
        package: "chromium",
        costs: "no browser worlds, and no Chromium tasks on desktops",
        group: Group::Browser,
    },
    Requirement {
        name: "editor",
        any_of: &["mousepad"],
        package: "mousepad",
        costs: "the starter suite's editor tasks are void",
        group: Group::Starter,
    },
    Requirement {
        name: "file manager",
        any_of: &["thunar"],
        package: "thunar",
        costs: "the starter suite's file tasks are void",
        group: Group::Starter,
    },
    Requirement {
        name: "trash of the file manager",
        any_of: &["/usr/libexec/gvfsd", "/usr/lib/gvfs/gvfsd"],
        package: "gvfs gvfs-daemons",
        costs: "deleting in the file manager is permanent there",
        group: Group::Starter,
    },
    Requirement {
        name: "terminal",
        any_of: &["xfce4-terminal"],
        package: "xfce4-terminal",
        costs: "the starter suite's terminal tasks are void",
        group: Group::Starter,
    },
    Requirement {
        name: "spreadsheet and writer",
        any_of: &["soffice", "libreoffice"],
        package: "libreoffice-calc libreoffice-writer libreoffice-gtk3",
        costs: "the office suite's document tasks are void",
        group: Group::Office,
    },
    Requirement {
        name: "image editor",
        any_of: &["gimp"],
        package: "gimp",
        costs: "the office suite's picture tasks are void",
        group: Group::Office,
    },
    Requirement {
        name: "accessibility of GTK 2",
        any_of: &[
            "/usr/lib/x86_64-linux-gnu/gtk-2.0/modules/libatk-bridge.so",
            "/usr/lib/aarch64-linux-gnu/gtk-2.0/modules/libatk-bridge.so",
        ],
        package: "libatk-adaptor libgail-common",
        costs: "the image editor has no accessibility tree: its tasks fail for models without image input",
        group: Group::Office,
    },
];

/// The result for one requirement.
#[derive(Debug, Serialize)]
struct Finding {
    name: String,
    group: Group,
    ok: bool,
    found: Option<PathBuf>,
    costs: String,
    remedy: Option<String>,
}

/// The report of all requirements.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    ok: bool,
    findings: Vec<Finding>,
    install: Option<String>,
    /// What bounds the programs of a cell together.
    cell_limits: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &Doctor) -> Result<(), Failure> {
    let mut report = examine(arguments.office);
    if arguments.fix && report.install.is_some() {
        install(&missing_packages(&report.findings))?;
        report = examine(arguments.office);
    }
    if arguments.json {
        terminal::json(&report)?;
    } else {
        print(&report);
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

fn examine(office: bool) -> Report {
    let wanted = |need: &&Requirement| office || need.group != Group::Office;
    let mut findings: Vec<Finding> = REQUIREMENTS.iter().filter(wanted).map(look_for).collect();
    findings.push(try_namespaces());
    let packages = missing_packages(&findings);
    let install = (!packages.is_empty())
        .then(|| format!("{}apt-get install -y --no-install-recommends {}", as_root(), packages.join(" ")));
    let ok = findings.iter().all(|finding| finding.ok);
    Report { schema: "apprentice.doctor/1", ok, findings, install, cell_limits: cell_limits() }
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

fn look_for(need: &Requirement) -> Finding {
    let found = need.any_of.iter().find_map(|name| process_env::find_program(name));
    Finding {
        name: need.name.to_owned(),
        group: need.group,
        ok: found.is_some(),
        remedy: found.is_none().then(|| need.package.to_owned()),
        found,
        costs: need.costs.to_owned(),
    }
}

/// Returns the prefix that a normal user needs for a root command.
fn as_root() -> &'static str {
    if rustix::process::geteuid().is_root() { "" } else { "sudo " }
}

/// Describes why user namespaces are unavailable, and how to allow them.
fn namespace_remedy(problem: &str) -> String {
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
        None => "no setting of the system says so, thus perhaps the container that this runs in: start it with \
                 `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or as its engine has it"
            .to_owned(),
    };
    format!("{problem}: {mend}; or choose `--isolation plain` knowingly")
}

/// Tests whether an unprivileged process can create a user namespace with mounts; some systems forbid it by a setting.
fn try_namespaces() -> Finding {
    let tried = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "true"])
        .stdin(Stdio::null())
        .output();
    let problem = match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare (package util-linux) does not run: {error}")),
    };
    let remedy = problem.as_deref().map(namespace_remedy);
    Finding {
        name: NAMESPACES.into(),
        group: Group::Isolation,
        ok: problem.is_none(),
        found: None,
        costs:
            "no isolated worlds; only `--isolation plain`, which shares files, network and processes with you"
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

fn install(packages: &[String]) -> Result<(), Failure> {
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.starts_with(b"0\n"));
    let run = |arguments: &[&str]| -> Result<(), Failure> {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.arg("apt-get");
        }
        let status = command.args(["-o", "DPkg::Lock::Timeout=300"]).args(arguments).status();
        match status.kind(Kind::Environment)?.success() {
            true => Ok(()),
            false => Err(Failure::say(Kind::Environment, format!("apt-get {} failed", arguments.join(" ")))),
        }
    };
    run(&["update", "-q"])?;
    let mut arguments = vec!["install", "-y", "-q", "--no-install-recommends"];
    arguments.extend(packages.iter().map(String::as_str));
    run(&arguments)
}

fn print(report: &Report) {
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
