//! Settings in `/etc` that packages brought: programs look there for what they start with, and one that does not find its folder may
//! ignore what it is given, as Emacs ignores its file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

/// Where dpkg keeps the names of settings that packages brought, a file for each package.
const PACKAGES: &str = "/var/lib/dpkg/info";
const ETC: &str = "/etc";
/// A package whose settings are here, too, runs a service: those may hold passwords.
const OF_SERVICES: [&str; 3] = ["/etc/init.d/", "/etc/cron", "/etc/pam.d/"];
/// What no program of a desktop reads, and where accounts, keys and addresses of others are kept.
const LEFT_OUT: &[&str] = &[
    "NetworkManager",
    "apache2",
    "apt",
    "cni",
    "containers",
    "cups",
    "default",
    "docker",
    "environment",
    "environment.d",
    "fstab",
    "group",
    "hostname",
    "hosts",
    "kubernetes",
    "ldap",
    "libvirt",
    "lighttpd",
    "machine-id",
    "mysql",
    "netconfig",
    "nginx",
    "nsswitch.conf",
    "openvpn",
    "passwd",
    "postgresql",
    "postgresql-common",
    "ppp",
    "resolv.conf",
    "samba",
    "security",
    "ssh",
    "ssl",
    "sudoers",
    "sudoers.d",
    "systemd",
    "wireguard",
];

/// Names in `/etc` of what packages brought there, everybody may read, and nobody added to. They are read once.
pub(super) fn names() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| shown(Path::new(PACKAGES), Path::new(ETC)))
}

/// What packages brought to a folder, by their lists.
fn shown(packages: &Path, etc: &Path) -> Vec<String> {
    // Without dpkg there are no lists.
    let lists = fs::read_dir(packages).into_iter().flatten().flatten().map(|entry| entry.path());
    let lists = lists.filter(|path| path.extension().is_some_and(|end| end == "conffiles"));
    let mut brought: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for list in lists.filter_map(|path| fs::read_to_string(path).ok()) {
        // What a package no longer brings has a word before it.
        let files: Vec<&str> = list.lines().filter(|line| line.starts_with("/etc/")).collect();
        if files.iter().any(|file| OF_SERVICES.iter().any(|service| file.starts_with(service))) {
            continue;
        }
        for file in files.iter().filter_map(|file| file.strip_prefix("/etc/")) {
            let name = file.split('/').next().unwrap_or(file);
            brought.entry(name.to_owned()).or_default().insert(file.to_owned());
        }
    }
    let named = brought.into_iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
    named.filter(|(name, files)| holds_only(etc, name, files)).map(|(name, _)| name).collect()
}

/// Returns whether all files below a name are these, and everybody may read them.
fn holds_only(etc: &Path, name: &str, files: &BTreeSet<String>) -> bool {
    let Ok(facts) = fs::symlink_metadata(etc.join(name)) else { return false };
    if facts.is_symlink() {
        return true;
    }
    let everybody = if facts.is_dir() { 0o005 } else { 0o004 };
    if facts.permissions().mode() & everybody != everybody {
        return false;
    }
    if !facts.is_dir() {
        return files.contains(name);
    }
    let Ok(entries) = fs::read_dir(etc.join(name)) else { return false };
    entries.flatten().all(|entry| {
        let below = format!("{name}/{}", entry.file_name().to_string_lossy());
        holds_only(etc, &below, files)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::shown;

    #[test]
    fn settings_of_programs_are_shown_and_those_of_services_accounts_and_people_are_not() {
        let (packages, etc) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let brings = |package: &str, files: &[&str]| {
            let list: String = files.iter().map(|file| format!("/etc/{file}\n")).collect();
            fs::write(packages.path().join(format!("{package}.conffiles")), list).expect("written");
            for file in files {
                let place = etc.path().join(file);
                fs::create_dir_all(place.parent().expect("a folder")).expect("made");
                fs::write(place, "as it came").expect("written");
            }
        };
        brings("emacs", &["emacs/site-start.d/50a.el", "emacs/site-start.el"]);
        brings("reader", &["reader.conf"]);
        brings("server", &["server/server.conf", "init.d/server"]);
        brings("ssh-client", &["ssh/ssh_config"]);
        brings("mail", &["mail/mail.conf"]);
        brings("vault", &["vault/vault.conf"]);
        fs::write(etc.path().join("mail/password"), "a person's").expect("written");
        let closed = fs::Permissions::from_mode(0o640);
        fs::set_permissions(etc.path().join("vault/vault.conf"), closed).expect("closed");
        fs::write(packages.path().join("old.conffiles"), "remove-on-upgrade /etc/old\n").expect("written");
        assert_eq!(shown(packages.path(), etc.path()), ["emacs", "reader.conf"]);
        assert!(shown(&packages.path().join("none"), etc.path()).is_empty(), "another system");
    }
}
