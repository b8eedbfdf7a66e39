//! What worlds need on a machine: programs and files, the packages that hold them, and the effect of each absence.

use schemars::JsonSchema;
use serde::Serialize;

use super::system::Family;

/// The packages that hold a program, by the family of the system; several are separated by blanks.
pub(super) struct Packages {
    debian: &'static str,
    fedora: &'static str,
    arch: &'static str,
}

impl Packages {
    /// The packages on a system, if it is of a known family.
    pub(super) fn on(&self, family: Family) -> Option<&'static str> {
        match family {
            Family::Debian => Some(self.debian),
            Family::Fedora => Some(self.fedora),
            Family::Arch => Some(self.arch),
            Family::Unknown => None,
        }
    }
}

/// A program or file that worlds need on this machine.
pub(super) struct Requirement {
    pub(super) name: &'static str,
    /// Alternatives: one of these programs or files is enough.
    pub(super) any_of: &'static [&'static str],
    pub(super) packages: Packages,
    /// The effect when it is missing.
    pub(super) costs: &'static str,
    pub(super) group: Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Group {
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
    /// What the setting `ocr` needs.
    Ocr,
    /// What desktops with several monitors need.
    Monitors,
    /// What tasks of the suite of `--suite` start.
    Suite,
}

/// The one requirement that no package installs.
pub(super) const NAMESPACES: &str = "user namespaces";

pub(super) const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "bubblewrap",
        any_of: &["bwrap"],
        packages: Packages { debian: "bubblewrap", fedora: "bubblewrap", arch: "bubblewrap" },
        costs: "no isolated worlds; only `--isolation plain`, which shares files, network and processes with you",
        group: Group::Isolation,
    },
    Requirement {
        name: "unshare",
        any_of: &["unshare"],
        packages: Packages { debian: "util-linux", fedora: "util-linux", arch: "util-linux" },
        costs: "no isolated worlds; only `--isolation plain`",
        group: Group::Isolation,
    },
    Requirement {
        name: "virtual display",
        any_of: &["Xvfb"],
        packages: Packages { debian: "xvfb", fedora: "xorg-x11-server-Xvfb", arch: "xorg-server-xvfb" },
        costs: "no desktop worlds; browser worlds still run",
        group: Group::Desktop,
    },
    Requirement {
        name: "window manager",
        any_of: &["openbox"],
        packages: Packages { debian: "openbox", fedora: "openbox", arch: "openbox" },
        costs: "no desktop worlds; browser worlds still run",
        group: Group::Desktop,
    },
    Requirement {
        name: "session bus",
        any_of: &["dbus-daemon"],
        packages: Packages { debian: "dbus", fedora: "dbus-daemon", arch: "dbus" },
        costs: "no worlds of any kind",
        group: Group::Isolation,
    },
    Requirement {
        name: "accessibility bus",
        any_of: &["/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher"],
        packages: Packages { debian: "at-spi2-core", fedora: "at-spi2-core", arch: "at-spi2-core" },
        costs: "no desktop worlds; browser worlds still run",
        group: Group::Desktop,
    },
    Requirement {
        name: "window tool",
        any_of: &["wmctrl"],
        packages: Packages { debian: "wmctrl", fedora: "wmctrl", arch: "wmctrl" },
        costs: "tasks that activate or close windows are void",
        group: Group::Desktop,
    },
    Requirement {
        name: "text reader",
        any_of: &["tesseract"],
        packages: Packages {
            debian: "tesseract-ocr",
            fedora: "tesseract",
            arch: "tesseract tesseract-data-eng",
        },
        costs: "with `ocr = \"on\"`, windows that list no elements are not read",
        group: Group::Ocr,
    },
    Requirement {
        name: "display for several monitors",
        any_of: &["/usr/lib/xorg/Xorg", "/usr/libexec/Xorg", "/usr/lib/Xorg"],
        packages: Packages {
            debian: "xserver-xorg-core",
            fedora: "xorg-x11-server-Xorg",
            arch: "xorg-server",
        },
        costs: "no desktops with several monitors",
        group: Group::Monitors,
    },
    Requirement {
        name: "its driver",
        any_of: &[
            "/usr/lib/xorg/modules/drivers/dummy_drv.so",
            "/usr/lib64/xorg/modules/drivers/dummy_drv.so",
        ],
        packages: Packages {
            debian: "xserver-xorg-video-dummy",
            fedora: "xorg-x11-drv-dummy",
            arch: "xf86-video-dummy",
        },
        costs: "no desktops with several monitors",
        group: Group::Monitors,
    },
    Requirement {
        name: "settings store",
        any_of: &["/usr/libexec/dconf-service", "/usr/lib/dconf/dconf-service"],
        packages: Packages { debian: "dconf-gsettings-backend", fedora: "dconf", arch: "dconf" },
        costs: "desktop programs forget their settings; tasks that check them fail",
        group: Group::Desktop,
    },
    Requirement {
        name: "settings tool",
        any_of: &["gsettings"],
        packages: Packages { debian: "libglib2.0-bin", fedora: "glib2", arch: "glib2" },
        costs: "tasks that check desktop settings are void",
        group: Group::Desktop,
    },
    Requirement {
        name: "browser",
        any_of: crate::wire::BROWSERS,
        packages: Packages { debian: "chromium", fedora: "chromium", arch: "chromium" },
        costs: "no browser worlds, and no Chromium tasks on desktops",
        group: Group::Browser,
    },
    Requirement {
        name: "editor",
        any_of: &["mousepad"],
        packages: Packages { debian: "mousepad", fedora: "mousepad", arch: "mousepad" },
        costs: "the starter suite's editor tasks are void",
        group: Group::Starter,
    },
    Requirement {
        name: "file manager",
        any_of: &["thunar"],
        packages: Packages { debian: "thunar", fedora: "Thunar", arch: "thunar" },
        costs: "the starter suite's file tasks are void",
        group: Group::Starter,
    },
    Requirement {
        name: "trash of the file manager",
        any_of: &["/usr/libexec/gvfsd", "/usr/lib/gvfs/gvfsd"],
        packages: Packages { debian: "gvfs gvfs-daemons", fedora: "gvfs", arch: "gvfs" },
        costs: "deleting in the file manager is permanent there",
        group: Group::Starter,
    },
    Requirement {
        name: "terminal",
        any_of: &["xfce4-terminal"],
        packages: Packages { debian: "xfce4-terminal", fedora: "xfce4-terminal", arch: "xfce4-terminal" },
        costs: "the starter suite's terminal tasks are void",
        group: Group::Starter,
    },
    Requirement {
        name: "spreadsheet and writer",
        any_of: &["soffice", "libreoffice"],
        packages: Packages {
            debian: "libreoffice-calc libreoffice-writer libreoffice-gtk3",
            fedora: "libreoffice-calc libreoffice-writer libreoffice-gtk3",
            arch: "libreoffice-fresh",
        },
        costs: "the office suite's document tasks are void",
        group: Group::Office,
    },
    Requirement {
        name: "image editor",
        any_of: &["gimp"],
        packages: Packages { debian: "gimp", fedora: "gimp", arch: "gimp" },
        costs: "the office suite's picture tasks are void",
        group: Group::Office,
    },
    Requirement {
        name: "accessibility of GTK 2",
        any_of: &[
            "/usr/lib/x86_64-linux-gnu/gtk-2.0/modules/libatk-bridge.so",
            "/usr/lib/aarch64-linux-gnu/gtk-2.0/modules/libatk-bridge.so",
        ],
        packages: Packages { debian: "libatk-adaptor libgail-common", fedora: "gtk2", arch: "gtk2" },
        costs: "the image editor has no accessibility tree: its tasks fail for models without image input",
        group: Group::Office,
    },
    Requirement {
        name: "reader of documents",
        any_of: &["mutool"],
        packages: Packages { debian: "mupdf-tools", fedora: "mupdf", arch: "mupdf-tools" },
        costs: "checks of PDF documents are void",
        group: Group::Office,
    },
    Requirement {
        name: "reader of sound and films",
        any_of: &["ffmpeg"],
        packages: Packages { debian: "ffmpeg", fedora: "ffmpeg-free", arch: "ffmpeg" },
        costs: "checks of sound, films and the text in pictures are void",
        group: Group::Office,
    },
    Requirement {
        name: "reader of text in pictures",
        any_of: &["tesseract"],
        packages: Packages {
            debian: "tesseract-ocr tesseract-ocr-eng",
            fedora: "tesseract tesseract-langpack-eng",
            arch: "tesseract tesseract-data-eng",
        },
        costs: "checks of the text in pictures are void",
        group: Group::Office,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Group, REQUIREMENTS};
    use crate::commands::doctor::system::Family;

    /// The packages that a field of the Debian package's metadata names.
    fn named(field: &str) -> BTreeSet<String> {
        let manifest: toml::Table = include_str!("../../../Cargo.toml").parse().expect("toml");
        let text = manifest["package"]["metadata"]["deb"][field].as_str().expect("a text").to_owned();
        text.split(',').map(|name| name.trim().to_owned()).collect()
    }

    #[test]
    fn the_debian_package_brings_what_doctor_looks_for() {
        let (depends, recommends, suggests) = (named("depends"), named("recommends"), named("suggests"));
        for need in REQUIREMENTS {
            let within = match need.group {
                Group::Isolation | Group::Desktop => &depends,
                Group::Browser | Group::Starter => &recommends,
                Group::Office | Group::Ocr | Group::Monitors | Group::Suite => &suggests,
            };
            for package in need.packages.on(Family::Debian).expect("known").split_whitespace() {
                assert!(within.contains(package), "{package}, for {}, is not in {within:?}", need.name);
            }
        }
    }
}
