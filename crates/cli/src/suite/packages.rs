//! The packages that hold the programs of suites, by the name of the program.

/// Programs whose package in Debian and Ubuntu has another name. Programs of both suites' tasks and of OSWorld's were looked
/// up in Debian 12.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("google-chrome", "chromium"),
    ("soffice", "libreoffice"),
    ("localc", "libreoffice-calc"),
    ("lowriter", "libreoffice-writer"),
    ("loimpress", "libreoffice-impress"),
    ("lodraw", "libreoffice-draw"),
    ("mutool", "mupdf-tools"),
    ("tesseract", "tesseract-ocr"),
    ("pdftotext", "poppler-utils"),
    ("pdftoppm", "poppler-utils"),
    ("convert", "imagemagick"),
    ("identify", "imagemagick"),
    ("ffprobe", "ffmpeg"),
    ("ffplay", "ffmpeg"),
    ("xwd", "x11-apps"),
    ("xprop", "x11-utils"),
    ("xdpyinfo", "x11-utils"),
    ("xrandr", "x11-xserver-utils"),
    ("xset", "x11-xserver-utils"),
    ("killall", "psmisc"),
    ("pkill", "procps"),
    ("pgrep", "procps"),
    ("pactl", "pulseaudio-utils"),
    ("gsettings", "libglib2.0-bin"),
    ("gio", "libglib2.0-bin"),
    ("dconf", "dconf-cli"),
    ("notify-send", "libnotify-bin"),
    ("Xvfb", "xvfb"),
    ("bwrap", "bubblewrap"),
    ("dbus-daemon", "dbus"),
    ("unshare", "util-linux"),
    ("pip", "python3-pip"),
    ("pip3", "python3-pip"),
    ("node", "nodejs"),
    ("ssh", "openssh-client"),
    ("nc", "netcat-openbsd"),
    ("7z", "p7zip-full"),
];
/// Programs that have a package of their own name.
const OWN_NAMES: &[&str] = &[
    "chromium",
    "libreoffice",
    "gimp",
    "vlc",
    "thunderbird",
    "nautilus",
    "gnome-terminal",
    "eog",
    "evince",
    "atril",
    "gedit",
    "geany",
    "mousepad",
    "thunar",
    "xfce4-terminal",
    "galculator",
    "ffmpeg",
    "git",
    "curl",
    "wget",
    "zip",
    "unzip",
    "tree",
    "jq",
    "scrot",
    "xclip",
    "wmctrl",
    "socat",
    "inkscape",
    "krita",
    "audacity",
    "shotcut",
    "kdenlive",
    "blender",
    "darktable",
    "freecad",
    "pcmanfm",
    "okular",
    "rsync",
    "make",
    "gcc",
    "g++",
    "openbox",
    "sudo",
    "bc",
    "file",
    "dos2unix",
    "expect",
    "tmux",
    "vim",
    "nano",
    "emacs",
    "gnome-control-center",
    "python3",
    "sqlite3",
    "unoconv",
    "xdotool",
    "xsel",
];
/// Programs that no package of Debian has, with where they come from.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "code",
        "Visual Studio Code is in no package of Debian: `deploy/code/install` of a checkout installs it",
    ),
    ("snap", "snaps do not run in cells"),
];

/// Returns the package of a program, if it is known.
pub(crate) fn package_of(program: &str) -> Option<&'static str> {
    let other = OTHER_NAMES.iter().find(|(name, _)| *name == program).map(|(_, package)| *package);
    other.or_else(|| OWN_NAMES.iter().copied().find(|name| *name == program))
}

/// The programs whose package is known.
pub(crate) fn known() -> impl Iterator<Item = &'static str> {
    OTHER_NAMES.iter().map(|(name, _)| *name).chain(OWN_NAMES.iter().copied())
}

/// Returns the line that installs programs on Debian and Ubuntu, and a line for each whose package is not known.
pub(crate) fn install_line<'a>(programs: impl Iterator<Item = &'a str>) -> Vec<String> {
    let (mut packages, mut unknown, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for program in programs {
        match (package_of(program), ELSEWHERE.iter().find(|(name, _)| *name == program)) {
            (Some(package), _) if packages.contains(&package) => {}
            (Some(package), _) => packages.push(package),
            (None, Some((_, from))) => lines.push((*from).to_owned()),
            (None, None) => unknown.push(program),
        }
    }
    if !unknown.is_empty() {
        lines.insert(0, format!("the package of {} is not known here", unknown.join(", ")));
    }
    if !packages.is_empty() {
        lines.insert(0, format!("`apt-get install {}`", packages.join(" ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::install_line;

    #[test]
    fn packages_are_in_one_line_and_what_has_none_is_said() {
        let lines = install_line(["code", "localc", "mutool", "nosuch", "vlc"].into_iter());
        assert_eq!(lines[0], "`apt-get install libreoffice-calc mupdf-tools vlc`");
        assert_eq!(lines[1], "the package of nosuch is not known here");
        assert!(lines[2].starts_with("Visual Studio Code"), "{lines:?}");
        assert_eq!(install_line(std::iter::empty()), [""; 0]);
    }
}
