//! The files of a fresh home: settings that stop animations, notifications and first-run dialogs.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Files written into a home unless they exist already, by path.
const SEEDS: &[(&str, &str)] = &[
    (".config/gtk-3.0/settings.ini", include_str!("seeds/gtk3.ini")),
    (".config/gtk-4.0/settings.ini", include_str!("seeds/gtk3.ini")),
    (".gtkrc-2.0", include_str!("seeds/gtk2.rc")),
    (".config/openbox/rc.xml", include_str!("seeds/openbox.xml")),
    (".config/user-dirs.dirs", include_str!("seeds/user-dirs.dirs")),
    (".config/user-dirs.locale", "C"),
    (".config/libreoffice/4/user/registrymodifications.xcu", include_str!("seeds/libreoffice.xcu")),
    (".config/xfce4/xfconf/xfce-perchannel-xml/thunar.xml", include_str!("seeds/thunar.xml")),
    // Sound without session services: PulseAudio starts on first use and then keeps running.
    (".config/pulse/client.conf", "autospawn = yes\n"),
    (".config/pulse/daemon.conf", "exit-idle-time = -1\n"),
    (".config/pulse/default.pa", include_str!("seeds/pulse.pa")),
    (".config/vlc/vlcrc", include_str!("seeds/vlcrc")),
    (".config/chromium/First Run", ""),
    (".config/chromium/Local State", include_str!("seeds/chromium-local-state.json")),
    (".config/chromium/Default/Preferences", include_str!("seeds/chromium-preferences.json")),
];

/// Default programs by file type. Each type lists several, best first; `xdg-open` considers only the first, so programs
/// that are not installed are removed from the list.
const OPENERS: (&str, &str) = (".config/mimeapps.list", include_str!("seeds/mimeapps.list"));
/// Folders with the `.desktop` files of installed programs.
const STARTERS: [&str; 2] = ["/usr/local/share/applications", "/usr/share/applications"];

/// Wrappers under program names that tasks written for other machines use. Their folder comes late in `PATH`, so a
/// program installed under that name wins.
const PROGRAMS: &[(&str, &str)] = &[
    ("google-chrome", include_str!("seeds/google-chrome.sh")),
    ("python", include_str!("seeds/python.sh")),
    (SUDO, include_str!("seeds/sudo.sh")),
    ("first/chromium", include_str!("seeds/chromium.sh")),
    ("first/xdg-open", include_str!("seeds/xdg-open.sh")),
];
/// Their folder in the home.
pub(super) const PROGRAM_FOLDER: &str = ".local/bin";
/// The folder among them of wrappers that go before the installed programs.
pub(super) const FIRST: &str = "first";

/// The cell's `sudo`. The system's own cannot work inside, because the user namespace grants no further rights; this
/// script replaces it.
pub(super) const SUDO: &str = "sudo";

/// What the Python of checks runs when it starts, in a folder of its own.
const CHECK_SITE: (&str, &str) = ("sitecustomize.py", include_str!("seeds/check_site.py"));

/// The usual folders of a desktop user.
const FOLDERS: &[&str] = &[
    "Desktop",
    "Documents",
    "Downloads",
    "Music",
    "Pictures",
    "Public",
    "Templates",
    "Videos",
    // Tasks write settings into it before the editor starts.
    ".config/Code/User",
];

/// Returns whether a cell brings a program with this name of its own, whatever is installed.
pub fn cell_brings(name: &str) -> bool {
    ["python", SUDO].contains(&name)
}

/// Writes the seed files that a home does not have yet.
pub(super) fn seed(home: &Path) -> io::Result<()> {
    for folder in FOLDERS {
        fs::create_dir_all(home.join(folder))?;
    }
    let openers =
        installed(OPENERS.1, |name| STARTERS.iter().any(|place| Path::new(place).join(name).exists()));
    for (path, text) in SEEDS.iter().copied().chain([(OPENERS.0, openers.as_str())]) {
        write_new(&home.join(path), text, 0o644)?;
    }
    write_programs(&home.join(PROGRAM_FOLDER))
}

/// Writes the wrappers that a folder does not have yet.
pub(super) fn write_programs(folder: &Path) -> io::Result<()> {
    PROGRAMS.iter().try_for_each(|(name, text)| write_new(&folder.join(name), text, 0o755))
}

/// Writes what only checks use.
pub(super) fn write_check_files(folder: &Path) -> io::Result<()> {
    write_new(&folder.join(CHECK_SITE.0), CHECK_SITE.1, 0o644)
}

/// Writes a file with its parent folders, unless it exists.
fn write_new(place: &Path, text: &str, mode: u32) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(place) {
        Ok(mut file) => io::Write::write_all(&mut file, text.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes uninstalled programs from a list of default programs, and file types for which no program is left.
fn installed(list: &str, is_there: impl Fn(&str) -> bool) -> String {
    let mut kept = String::new();
    for line in list.lines() {
        let Some((kind, names)) = line.split_once('=') else {
            kept.extend([line, "\n"]);
            continue;
        };
        let there: Vec<&str> = names.split(';').filter(|name| !name.is_empty() && is_there(name)).collect();
        if !there.is_empty() {
            kept.extend([kind, "=", &there.join(";"), ";\n"]);
        }
    }
    kept
}

/// Copies the contents of one home into another.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, place) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir_all(&place)?;
            copy(&entry.path(), &place)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &place)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &place)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{OPENERS, SEEDS, installed, seed};

    #[test]
    fn a_home_keeps_what_it_has() {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join(".gtkrc-2.0"), "mine").expect("written");
        seed(home.path()).expect("seeded");
        seed(home.path()).expect("seeded again");
        let read = |path: &str| std::fs::read_to_string(home.path().join(path)).expect("there");
        assert_eq!(read(".gtkrc-2.0"), "mine");
        assert!(read(".config/gtk-3.0/settings.ini").contains("gtk-cursor-blink=0"));
        let program = home.path().join(".local/bin/python");
        let mode = std::fs::metadata(program).expect("there").permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "programs can be started");
    }

    #[test]
    fn files_are_opened_by_what_is_installed() {
        let list = "[Default Applications]\na/b=one.desktop;two.desktop;\nc/d=one.desktop;\n";
        let kept = installed(list, |name| name == "two.desktop");
        assert_eq!(kept, "[Default Applications]\na/b=two.desktop;\n");
        assert_eq!(installed(list, |_| true), list);
    }

    #[test]
    fn seeds_in_json_can_be_read() {
        for (path, text) in SEEDS.iter().filter(|(_, text)| text.starts_with('{')) {
            serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }

    #[test]
    fn documents_open_in_the_office_that_tasks_expect_whatever_else_is_installed() {
        let opens = |kind: &str| {
            let line = OPENERS.1.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix('='));
            line.and_then(|programs| programs.split(';').next())
        };
        // AbiWord and Gnumeric, too, name themselves for these.
        assert_eq!(opens("application/vnd.oasis.opendocument.text"), Some("libreoffice-writer.desktop"));
        let sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
        assert_eq!(opens(sheet), Some("libreoffice-calc.desktop"));
    }
}
