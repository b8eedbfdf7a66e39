//! Which system this machine runs, whether in a container, and what of the program works there; decided from files alone.

use schemars::JsonSchema;
use serde::Serialize;

use crate::container::Engine;

/// A family of systems that share package names and their package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Family {
    /// Debian, Ubuntu and their descendants.
    Debian,
    /// Fedora, Red Hat Enterprise Linux and their descendants.
    Fedora,
    /// Arch Linux and its descendants.
    Arch,
    /// Any other.
    Unknown,
}

/// The system of this machine.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct System {
    /// Its own name, such as `Debian GNU/Linux 12 (bookworm)`.
    pub(super) name: String,
    /// Its family.
    pub(super) family: Family,
    /// The engine of the container that this process runs in, if it runs in one.
    pub(super) container: Option<Engine>,
    /// Whether the program's tests run on a system of this family.
    pub(super) tested: bool,
    /// What works on a system that is not tested, and what to do.
    pub(super) advice: Option<String>,
}

/// Where everything works that is tested.
const ELSEWHERE: &str = "the container of deploy/container, or a virtual machine with Debian or Ubuntu";

impl System {
    /// Decides from the text of `/etc/os-release` (empty where there is none), and the container that was found.
    pub(super) fn of(os_release: &str, container: Option<Engine>) -> Self {
        let family = family(os_release);
        let name = field(os_release, "PRETTY_NAME").or_else(|| field(os_release, "NAME"));
        Self {
            name: name.unwrap_or_else(|| "a Linux without /etc/os-release".to_owned()),
            family,
            container,
            tested: family == Family::Debian,
            advice: advice(family),
        }
    }

    /// The command line that installs packages here, without the right to.
    pub(super) fn install(&self, packages: &[String]) -> Option<String> {
        let words = install_words(self.family)?;
        Some(format!("{} {}", words.join(" "), packages.join(" ")))
    }
}

/// The words that install packages on a system of this family.
pub(super) fn install_words(family: Family) -> Option<&'static [&'static str]> {
    match family {
        Family::Debian => Some(&["apt-get", "install", "-y", "--no-install-recommends"]),
        Family::Fedora => Some(&["dnf", "install", "-y"]),
        Family::Arch => Some(&["pacman", "-S", "--needed", "--noconfirm"]),
        Family::Unknown => None,
    }
}

/// The value of a field, without quotation marks.
fn field(os_release: &str, name: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// The family: by the system's own id, or else by those that it says it is like.
fn family(os_release: &str) -> Family {
    let ids = [field(os_release, "ID"), field(os_release, "ID_LIKE")];
    let words = ids.iter().flatten().flat_map(|ids| ids.split_whitespace());
    words
        .map(|id| match id {
            "debian" | "ubuntu" => Family::Debian,
            "fedora" | "rhel" | "centos" => Family::Fedora,
            "arch" | "archlinux" => Family::Arch,
            _ => Family::Unknown,
        })
        .find(|family| *family != Family::Unknown)
        .unwrap_or(Family::Unknown)
}

fn advice(family: Family) -> Option<String> {
    let works = "What needs no world works anywhere (view, report, compare, grade, verify, export, skills), and so \
                 do worlds on other machines (`--world vm --vm-url URL`).";
    match family {
        Family::Debian => None,
        Family::Fedora => Some(format!(
            "Worlds are tested on Debian and Ubuntu only. The packages below have the same programs here; if worlds \
             do not start, use {ELSEWHERE}. {works}"
        )),
        Family::Arch => Some(format!(
            "Worlds are tested on Debian and Ubuntu only. Cells look for the accessibility bus in /usr/libexec and \
             /usr/lib/at-spi2-core, and this system has it in /usr/lib, so desktop worlds do not start: use \
             {ELSEWHERE}. {works}"
        )),
        Family::Unknown => Some(format!(
            "Worlds are tested on Debian and Ubuntu only, and the names of this system's packages are not known: \
             install what is missing by its program's name, or use {ELSEWHERE}. {works}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, System};

    const DEBIAN: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n\
        VERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n\
        HOME_URL=\"https://www.debian.org/\"\n";
    const UBUNTU: &str = "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\n\
        VERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=noble\n";
    const MINT: &str = "NAME=\"Linux Mint\"\nVERSION=\"22 (Wilma)\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n\
        PRETTY_NAME=\"Linux Mint 22\"\n";
    const FEDORA: &str = "NAME=\"Fedora Linux\"\nVERSION=\"41 (Workstation Edition)\"\nRELEASE_TYPE=stable\n\
        ID=fedora\nVERSION_ID=41\nPLATFORM_ID=\"platform:f41\"\nPRETTY_NAME=\"Fedora Linux 41 (Workstation Edition)\"\n";
    const ROCKY: &str = "NAME=\"Rocky Linux\"\nVERSION=\"9.4 (Blue Onyx)\"\nID=\"rocky\"\n\
        ID_LIKE=\"rhel centos fedora\"\nPRETTY_NAME=\"Rocky Linux 9.4 (Blue Onyx)\"\n";
    const ARCH: &str = "NAME=\"Arch Linux\"\nPRETTY_NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n\
        ANSI_COLOR=\"38;2;23;147;209\"\nLOGO=archlinux-logo\n";
    const MANJARO: &str = "NAME=\"Manjaro Linux\"\nPRETTY_NAME=\"Manjaro Linux\"\nID=manjaro\nID_LIKE=arch\n";
    const ALPINE: &str =
        "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME=\"Alpine Linux v3.20\"\n";

    #[test]
    fn the_family_of_a_system_is_read_from_its_release_file() {
        for (text, name, family) in [
            (DEBIAN, "Debian GNU/Linux 12 (bookworm)", Family::Debian),
            (UBUNTU, "Ubuntu 24.04.1 LTS", Family::Debian),
            (MINT, "Linux Mint 22", Family::Debian),
            (FEDORA, "Fedora Linux 41 (Workstation Edition)", Family::Fedora),
            (ROCKY, "Rocky Linux 9.4 (Blue Onyx)", Family::Fedora),
            (ARCH, "Arch Linux", Family::Arch),
            (MANJARO, "Manjaro Linux", Family::Arch),
            (ALPINE, "Alpine Linux v3.20", Family::Unknown),
            ("", "a Linux without /etc/os-release", Family::Unknown),
        ] {
            let system = System::of(text, None);
            assert_eq!((system.name.as_str(), system.family), (name, family));
            assert_eq!(system.tested, system.advice.is_none(), "{name}: what is not tested has advice");
            assert_eq!(system.install(&["x".into()]).is_some(), family != Family::Unknown, "{name}");
        }
    }

    #[test]
    fn packages_are_installed_by_the_systems_own_manager() {
        let line = |text| System::of(text, None).install(&["openbox".into(), "wmctrl".into()]);
        assert_eq!(
            line(UBUNTU).as_deref(),
            Some("apt-get install -y --no-install-recommends openbox wmctrl")
        );
        assert_eq!(line(FEDORA).as_deref(), Some("dnf install -y openbox wmctrl"));
        assert_eq!(line(MANJARO).as_deref(), Some("pacman -S --needed --noconfirm openbox wmctrl"));
        assert_eq!(line(ALPINE), None);
    }
}
