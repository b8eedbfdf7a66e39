//! The files that a cell sees, and the few places among them that its programs can write to.

use std::fs;
use std::path::Path;

use apprentice_protocol::RootFolder;

use super::home;
use super::package_settings;
use super::program_search::find;

/// The user id inside.
pub(super) const USER: u32 = 1000;
/// The home folder inside a cell with namespaces.
pub(super) const HOME: &str = "/home/user";
/// The folder for the session's sockets inside (`XDG_RUNTIME_DIR`).
pub(super) const RUNTIME: &str = "/run/user/1000";
/// The folder of the programs that a cell adds to the system's. Nobody inside can change them, as checks use them, too.
pub(super) const PROGRAMS: &str = "/run/programs";
/// The folder of what Python runs in checks alone.
pub(super) const CHECKS: &str = "/run/checks";

/// The places that programs inside can write to, each on a folder of the cell's own memory. Everything else is read-only,
/// also what the cell has of its own: who can write to `/etc`, `/run` or `/` decides what the loader, the search path and
/// Python take for theirs, and with that what a check reads.
const WRITABLE: [(&str, &str); 5] = [
    // OSWorld's task 5812b315-e7bd-4265-b51f-863c02174c28 makes /home/test1.
    ("homes", "/home"),
    ("home", HOME),
    ("tmp", "/tmp"),
    ("lasting", "/var/tmp"),
    ("run", RUNTIME),
];

/// Entries of the host's `/etc` that the cell sees: what programs need, and no file that may hold a secret. Those of other programs are
/// [found](package_settings::names).
const ETC: &[&str] = &[
    "ImageMagick-6",
    "X11",
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "chromium",
    "chromium.d",
    "dbus-1",
    "dconf",
    "debian_version",
    "fonts",
    "gimp",
    "glvnd",
    "gtk-2.0",
    "gtk-3.0",
    "host.conf",
    "inputrc",
    "java-17-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "libreoffice",
    "locale.alias",
    "localtime",
    "magic",
    "magic.mime",
    "mailcap",
    "mime.types",
    "os-release",
    "papersize",
    "perl",
    "profile",
    "protocols",
    "pulse",
    "python3",
    "python3.11",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "thunderbird",
    "timezone",
    "vim",
    "vlc",
    "xdg",
    "xml",
];

/// Entries of the host's `/var` that the cell sees: caches that programs need, and the package database, which tells
/// the installed versions. The files of those packages are visible anyway.
const VAR: &[&str] = &[
    "/var/cache/fontconfig",
    "/var/lib/openbox",
    "/var/lib/dpkg/info",
    "/var/lib/dpkg/status",
    "/var/lib/pacman/local",
    "/var/lib/rpm",
];

/// What the cell sees of the host and of its own folder, as arguments of bubblewrap. Everything that programs can write to
/// lies in memory of a fixed size. The root is still writable after them, for further mount points.
pub(super) fn mounts(folder: &Path, shared_memory: u64, folders: &[RootFolder]) -> Vec<String> {
    let mut argv = Vec::new();
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    let own = |name: &str| folder.join(name).to_string_lossy().into_owned();
    add(&["--bind", &own("root"), "/", "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/opt", "/opt"]);
    add(&["--proc", "/proc", "--dev", "/dev"]);
    // Where root is the only user that there is, the kernel would let it change settings.
    add(&["--ro-bind-try", "/proc/sys", "/proc/sys"]);
    // It would list the keys of whoever has the same user id outside; the other file is empty.
    if Path::new("/proc/keys").exists() {
        add(&["--ro-bind", &own("etc/fstab"), "/proc/keys"]);
    }
    let shared_memory = shared_memory.to_string();
    add(&["--size", &shared_memory, "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]);
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        let place = format!("/{name}");
        match fs::read_link(&place) {
            Ok(target) => add(&["--symlink", &target.to_string_lossy(), &place]),
            Err(_) => add(&["--ro-bind-try", &place, &place]),
        }
    }
    let brought = package_settings::names().iter().map(String::as_str);
    // A folder of which a part is listed is not shown whole.
    let brought = brought.filter(|name| !ETC.iter().any(|shown| shown.split('/').next() == Some(*name)));
    for name in ETC.iter().copied().chain(brought) {
        let place = format!("/etc/{name}");
        add(&["--ro-bind-try", &place, &place]);
    }
    for place in VAR {
        add(&["--ro-bind-try", place, place]);
    }
    for (name, _) in etc() {
        add(&["--ro-bind", &own(&format!("etc/{name}")), &format!("/etc/{name}")]);
    }
    add(&["--ro-bind", &own("programs"), PROGRAMS, "--ro-bind", &own("checks"), CHECKS]);
    add(&["--ro-bind", &own("etc/machine-id"), "/var/lib/dbus/machine-id", "--symlink", "/run", "/var/run"]);
    for (name, place) in WRITABLE {
        add(&["--bind", &own(name), place]);
    }
    for named in folders {
        add(&["--bind", &own(&format!("folders/{}", named.name())), &format!("/{}", named.name())]);
    }
    // A mount cannot cover a symbolic link, only the link's target.
    let sudo = find("sudo").and_then(|sudo| sudo.canonicalize().ok());
    if let Some(sudo) = sudo.filter(|sudo| sudo.starts_with("/usr")) {
        add(&["--ro-bind", &own(&format!("programs/{}", home::SUDO)), &sudo.to_string_lossy()]);
    }
    argv
}

/// Files of `/etc` that the cell has its own version of, as name and content.
pub(super) fn etc() -> Vec<(String, String)> {
    let files = [
        ("passwd", format!("root:x:0:0:root:/root:/bin/sh\nuser:x:{USER}:{USER}:User:{HOME}:/bin/bash\n")),
        ("group", format!("root:x:0:\nuser:x:{USER}:\n")),
        ("hosts", "127.0.0.1 localhost cell\n::1 localhost\n".to_owned()),
        ("hostname", "cell\n".to_owned()),
        ("machine-id", "5f3b8f0e2b6c4c0f9d5d0a1e7c2b4a96\n".to_owned()),
        ("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n".to_owned()),
        ("resolv.conf", String::new()),
        ("fstab", String::new()),
    ];
    files.map(|(name, text)| (name.to_owned(), text)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::{ETC, etc};

    #[test]
    fn nothing_of_etc_that_may_hold_a_secret_is_shown() {
        for barred in
            ["passwd", "shadow", "ssl", "ssl/private", "ssh", "environment", "sudoers", "hosts", "apt"]
        {
            assert!(!ETC.contains(&barred), "{barred}");
        }
        assert!(ETC.is_sorted(), "kept in order, so that a doubled entry shows");
        assert!(etc().iter().all(|(name, _)| !ETC.contains(&name.as_str())));
    }
}
