//! What becomes of a cell when its owner is killed, and what it sees of its owner's secrets.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use apprentice_sandbox::{Reaped, reap};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::cell::{owner, state};

/// Starts an owner and waits until its cell stands.
fn own(isolation: &str, state: &Path) -> Child {
    let mut owner =
        Command::new(owner()).arg(isolation).arg(state).stdout(Stdio::piped()).spawn().expect("an owner");
    let mut line = String::new();
    BufReader::new(owner.stdout.as_mut().expect("its output")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    owner
}

/// Every process below one, by name, with a descriptor that tells its end.
fn below(root: u32) -> Vec<(String, OwnedFd)> {
    let mut parents: HashMap<u32, (u32, String)> = HashMap::new();
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(status) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let (name, rest) = status.rsplit_once(") ").expect("a name");
        let name = name.split_once('(').expect("a name").1.to_owned();
        let parent = rest.split(' ').nth(1).and_then(|parent| parent.parse().ok()).expect("a parent");
        parents.insert(pid, (parent, name));
    }
    let descends = |mut pid: u32| {
        while let Some((parent, _)) = parents.get(&pid) {
            if *parent == root {
                return true;
            }
            pid = *parent;
        }
        false
    };
    let below = parents.iter().filter(|(pid, _)| descends(**pid));
    let open = |pid: u32| {
        let pid = Pid::from_raw(pid.cast_signed()).expect("a process id");
        pidfd_open(pid, PidfdFlags::empty()).ok()
    };
    // One that ended since the look was brief anyhow.
    below.filter_map(|(pid, (_, name))| Some((name.clone(), open(*pid)?))).collect()
}

/// Waits for the end of every process, a deadline for each.
fn await_ends(processes: &[(String, OwnedFd)]) {
    let deadline = Timespec { tv_sec: 5, tv_nsec: 0 };
    for (name, process) in processes {
        let ended = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&deadline)).expect("polled");
        assert_eq!(ended, 1, "{name} still runs");
    }
}

#[test]
fn a_killed_owner_leaves_nothing_behind() {
    let state = state();
    let mut owner = own("cell", state.path());
    let processes = below(owner.id());
    let names: Vec<&str> = processes.iter().map(|(name, _)| name.as_str()).collect();
    for part in ["bwrap", "Xvfb", "openbox", "dbus-daemon", "at-spi-bus-laun"] {
        assert!(names.contains(&part), "{part} is among {names:?}");
    }
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    await_ends(&processes);
    let mounts = fs::read_to_string("/proc/mounts").expect("mounts");
    assert!(!mounts.contains(&*state.path().to_string_lossy()), "{mounts}");
    assert_eq!(reap(state.path()).expect("reaped"), Reaped { cells: 1, processes: 0 });
    assert_eq!(reap(state.path()).expect("reaped"), Reaped::default());
}

#[test]
fn a_killed_owner_without_namespaces_leaves_nothing_either() {
    let state = state();
    let mut owner = own("plain", state.path());
    let processes = below(owner.id());
    assert!(processes.iter().any(|(name, _)| name == "Xvfb"));
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    await_ends(&processes);
    assert_eq!(reap(state.path()).expect("reaped").cells, 1);
}

#[test]
fn what_a_killed_supervisor_leaves_is_reaped_at_the_next_start() {
    let state = state();
    let mut owner = own("plain", state.path());
    let processes = below(owner.id());
    // What depended on another may fall with it; a sleep depends on nothing.
    assert!(processes.iter().any(|(name, _)| name == "sleep"));
    for (_, supervisor) in processes.iter().filter(|(name, _)| name == "apprentice-cell") {
        rustix::process::pidfd_send_signal(supervisor, rustix::process::Signal::KILL).expect("sent");
    }
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    let reaped = reap(state.path()).expect("reaped");
    assert_eq!(reaped.cells, 1);
    assert!(reaped.processes >= 1, "{reaped:?}");
    await_ends(&processes);
}

#[test]
fn an_owners_secret_is_found_nowhere_inside() {
    let state = state();
    let look = "grep -lsaE 'plan[t]ed-value' /proc/*/environ /proc/*/cmdline
        grep -rlsaE 'plan[t]ed-value' /home /tmp /run /etc /var /dev/shm
        for name in $(dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus / \
            org.freedesktop.DBus.ListNames); do
          dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
            org.freedesktop.DBus.GetConnectionCredentials string:$name 2>&1 | grep -aE 'plan[t]ed-value'
        done
        ls /proc/self/fd | xargs; echo looked";
    let mut owner = Command::new(owner());
    owner.arg("cell").arg(state.path()).arg(look).env("ANTHROPIC_API_KEY", "sk-planted-value");
    let output = owner.output().expect("ran");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 1 2 3\nlooked\n");
}

#[test]
fn an_ordinary_user_gets_the_same_cell() {
    let state = state();
    let line = "id -u; echo $HOME; pgrep -c Xvfb; touch ~/x && ls -l ~/x | cut -d' ' -f3";
    let mut owner = if rustix::process::geteuid().is_root() {
        // A copy that any user may start, below a folder of that user's own.
        let program = state.path().join("owner");
        fs::copy(owner(), &program).expect("copied");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("open");
        let own = state.path().join("state");
        fs::create_dir(&own).expect("a folder");
        std::os::unix::fs::chown(&own, Some(61_700), Some(61_700)).expect("given");
        let mut owner = Command::new("setpriv");
        owner.args(["--reuid", "61700", "--regid", "61700", "--clear-groups", "--"]).arg(program);
        owner.arg("cell").arg(own);
        owner
    } else {
        let mut owner = Command::new(owner());
        owner.arg("cell").arg(state.path());
        owner
    };
    let output = owner.arg(line).current_dir("/").output().expect("ran");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1000\n/home/user\n1\nuser\n");
}

#[test]
fn a_root_that_is_alone_starts_cells_as_itself_where_that_is_allowed() {
    let state = state();
    let run = |before: &str| {
        let line = format!("{before} exec \"$0\" cell \"$1\" 'id -u'");
        let mut alone = Command::new("unshare");
        alone.args(["--user", "--map-root-user", "sh", "-c", &line]).arg(owner()).arg(state.path());
        String::from_utf8_lossy(&alone.output().expect("ran").stdout).into_owned()
    };
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(state.path(), Some(0), Some(0)).expect("given");
    }
    assert_eq!(run(""), "1000\n");
    let barred = run("echo 0 > /proc/sys/user/max_user_namespaces;");
    assert!(barred.starts_with("Start: the cell did not start: "), "{barred}");
    assert!(
        barred.contains("this system bars user namespaces") && barred.contains("--isolation plain"),
        "{barred}"
    );
}
