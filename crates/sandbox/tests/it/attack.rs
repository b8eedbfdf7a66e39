//! What a hostile program in a cell, or a hostile user beside it, tries and must not achieve.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Command, Machine, MachineError, Size};
use apprentice_sandbox::{Cell, CellIsolation, CellLimits, CellSpec, SystemClock, reap};

use crate::cell::{owner, shell, spec, state};

/// Starts of programs for the attacker: system calls by number, as a program without a C library makes them.
const CALLS: &str = "import ctypes, errno, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n\
    def call(*a):\n    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])\n    \
    return errno.errorcode[ctypes.get_errno()] if r < 0 else r\n";

/// A cell with limits of its own.
async fn cell_with(state: &Path, limits: CellLimits) -> Cell {
    let spec = CellSpec { limits, ..spec(state) };
    Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell")
}

/// Runs a Python program that must succeed and gives its output.
async fn python(machine: &dyn Machine, program: &str) -> String {
    let output =
        machine.run(&Command::new(["python3", "-c", &format!("{CALLS}{program}")])).await.expect("runs");
    assert_eq!(output.code, 0, "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout_text().trim_end().to_owned()
}

#[tokio::test]
async fn a_state_folder_that_another_user_can_change_is_used_by_nobody() {
    let place = state();
    let folder = place.path().join("state");
    let refused = async |why: &str| {
        let started = Cell::start(&spec(&folder), Arc::new(SystemClock::new())).await;
        let told = started.err().expect("it is refused").message;
        assert!(told.contains("cannot hold the state of cells") && told.contains(why), "{told}");
        reap(&folder).expect_err("it is not cleared either");
    };
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("open");
    refused("other users can write to it").await;
    fs::remove_dir(&folder).expect("removed");
    // A link to a folder of ours, in which everything named like a cell would be removed.
    let ours = place.path().join("ours");
    fs::create_dir_all(ours.join("cell-precious")).expect("a folder");
    symlink(&ours, &folder).expect("linked");
    refused("is not a folder").await;
    assert!(ours.join("cell-precious").exists());
    if rustix::process::geteuid().is_root() {
        fs::remove_file(&folder).expect("removed");
        fs::create_dir(&folder).expect("a folder");
        chown(&folder, Some(61_700), Some(61_700)).expect("given");
        refused("it belongs to user 61700").await;
        // Its owner could put another folder in its place at any time.
        chown(&folder, Some(0), Some(0)).expect("given");
        chown(place.path(), Some(61_700), Some(61_700)).expect("given");
        refused("it belongs to user 61700").await;
    }
}

#[tokio::test]
async fn roots_cells_own_no_folder_of_the_host_and_no_two_share_a_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let state = state();
    let cells = [
        cell_with(state.path(), CellLimits::default()).await,
        cell_with(state.path(), CellLimits::default()).await,
    ];
    let mut users = Vec::new();
    for entry in fs::read_dir(state.path()).expect("a folder").flatten() {
        let facts = entry.metadata().expect("facts");
        let (name, owner) = (entry.file_name(), std::os::unix::fs::MetadataExt::uid(&facts));
        assert_eq!((owner, facts.permissions().mode() & 0o022), (0, 0), "{name:?}");
        users.extend(
            name.to_str().and_then(|name| name.strip_prefix("cell-")?.split('-').next()?.parse::<u32>().ok()),
        );
    }
    users.dedup();
    assert_eq!(users.len(), 2, "{users:?}");
    for cell in cells {
        cell.close(Duration::from_secs(5)).await.expect("closes");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_key_of_the_owners_session_is_neither_seen_nor_read_inside() {
    // Joins a session keyring, puts a key into it, shows that a child can read it, and becomes the owner of a cell.
    let before = format!(
        "{CALLS}call(250, 1, 0)\nkey = call(248, b'user', b'apprentice:planted', b'planted-value', 13, -3)\n\
         buffer = ctypes.create_string_buffer(99)\nassert call(250, 11, key, buffer, 99) == 13, key\n\
         os.execv(sys.argv[1], sys.argv[1:])"
    );
    let inside = format!(
        "python3 - <<'EOF'\n{CALLS}buffer = ctypes.create_string_buffer(99)\n\
         key = call(249, b'user', b'apprentice:planted', 0, 0)\nprint(key, call(250, 11, -3, buffer, 99))\n\
         print('planted' in open('/proc/keys').read())\n\
         ids = [int(line.split()[0], 16) for line in open('/proc/keys')]\n\
         print({{call(250, 11, key, buffer, 99) for key in ids}} - {{'EPERM'}}, b'planted' in buffer.raw)\nEOF"
    );
    for isolation in ["cell", "plain"] {
        let state = state();
        let mut started = process::Command::new("python3");
        started.args(["-c", &before]).arg(owner()).arg(isolation).arg(state.path()).arg(&inside);
        let output = started.output().expect("ran");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        if isolation == "cell" {
            assert_eq!(told, "EPERM EPERM\nFalse\nset() False\n", "{errors}");
        } else {
            // Without namespaces there is no filter, but another session: the key's name is seen, its value is not.
            assert!(
                told.starts_with("ENOKEY ") && told.contains("'EACCES'") && told.ends_with(" False\n"),
                "{told} {errors}"
            );
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn what_desktop_programs_never_ask_of_the_kernel_is_barred() {
    let state = state();
    let cell = cell_with(state.path(), CellLimits::default()).await;
    let machine = cell.machine();
    let barred = "add_key:248 request_key:249 keyctl:250 io_uring_setup:425 io_uring_enter:426 io_uring_register:427 \
        bpf:321 perf_event_open:298 userfaultfd:323 kexec_load:246 kexec_file_load:320 init_module:175 \
        finit_module:313 delete_module:176 mount:165 umount2:166 pivot_root:155 move_mount:429 fsopen:430 \
        open_tree:428 mount_setattr:442 setns:308 ptrace:101 process_vm_readv:310 process_vm_writev:311 \
        pidfd_getfd:438 open_by_handle_at:304 syslog:103 reboot:169 swapon:167";
    for (name, number) in barred.split_whitespace().filter_map(|pair| pair.split_once(':')) {
        // Under its number, and under the one that the same kernel may take for another width of pointers.
        for number in
            [number.parse::<i64>().expect("a number"), number.parse::<i64>().expect("a number") + 0x4000_0000]
        {
            let answer = python(&*machine, &format!("print(call({number}, 0, 0, 0, 0, 0))")).await;
            assert_eq!(answer, "EPERM", "{name} ({number})");
        }
    }
    let sockets = "import socket\nfor family in [40, 38, 17, 44, 21, 31, 1, 2, 10, 16]:\n    try:\n        \
        socket.socket(family, socket.SOCK_STREAM if family in [1, 2, 10, 40] else socket.SOCK_RAW).close(); print(family, 'open')\n    \
        except OSError as error:\n        print(family, errno.errorcode[error.errno])";
    let told = python(&*machine, sockets).await;
    let expected: Vec<String> =
        [40, 38, 17, 44, 21, 31].iter().map(|family| format!("{family} EAFNOSUPPORT")).collect();
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told[..6], expected, "of vsock, crypto, packets, express data, and older ones");
    assert_eq!(told[6..], ["1 open", "2 open", "10 open", "16 open"]);
    // Namespaces: those of Chromium's sandbox, and no others.
    let unshare = "import signal\nfor flags in [0x10000000, 0x70000000, 0x10020000, 0x12000000, 0x14000000, 0x18000000, 0x10000080]:\n    \
        pid = os.fork()\n    if pid == 0:\n        print(hex(flags), call(272, flags), flush=True); os._exit(0)\n    os.waitpid(pid, 0)";
    let told = python(&*machine, unshare).await;
    assert_eq!(
        told,
        "0x10000000 0\n0x70000000 0\n0x10020000 EPERM\n0x12000000 EPERM\n0x14000000 EPERM\n0x18000000 EPERM\n0x10000080 EPERM"
    );
    assert_eq!(python(&*machine, "print(call(435, 0, 0))").await, "ENOSYS", "clone3");
    assert_eq!(
        shell(
            &*machine,
            "grep -c . /proc/self/status; grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status | xargs"
        )
        .await
        .lines()
        .last(),
        Some("NoNewPrivs: 1 Seccomp: 2")
    );
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn no_program_gets_at_the_supervisor() {
    let state = state();
    let cell = cell_with(state.path(), CellLimits::default()).await;
    let machine = cell.machine();
    let attack = "def attempt(what):\n    try:\n        return what()\n    except OSError as error:\n        \
        return errno.errorcode[error.errno]\n\
        pid = call(434, 1, 0)\nprint('attach', call(101, 16, 1, 0, 0), 'seize', call(101, 0x4206, 1, 0, 0))\n\
        print('descriptor', {call(438, pid, number, 0) for number in range(64)})\n\
        print('files', attempt(lambda: os.listdir('/proc/1/fd')), attempt(lambda: os.readlink('/proc/1/exe')))\n\
        for name in ['mem', 'environ', 'maps', 'syscall', 'auxv']:\n    \
            print(name, attempt(lambda: open('/proc/1/' + name, 'rb').read(1)))\n\
        print('write', attempt(lambda: open('/proc/1/mem', 'r+b').close()), attempt(lambda: open('/proc/1/oom_score_adj', 'w').close()))\n\
        attempt(lambda: os.kill(1, 9)); attempt(lambda: os.kill(1, 19)); attempt(lambda: os.kill(1, 6))\n\
        print('sockets', [number for number in range(256) if attempt(lambda: os.readlink(f'/proc/self/fd/{number}')).startswith('socket')])";
    let denied = "attach EPERM seize EPERM\ndescriptor {'EPERM'}\nfiles EACCES EACCES\nmem EACCES\nenviron EACCES\n\
        maps EACCES\nsyscall EACCES\nauxv EACCES\nwrite EACCES EACCES\nsockets []";
    // As the agent's programs are, as the commands of checks are, and as `sudo` makes itself root.
    let argv = ["python3".to_owned(), "-c".to_owned(), format!("{CALLS}{attack}")];
    let sudo: Vec<String> = ["sudo".to_owned()].into_iter().chain(argv.clone()).collect();
    for command in [Command::new(argv.clone()), Command::new(argv).apart(), Command::new(sudo)] {
        let output = machine.run(&command).await.expect("runs");
        let told = output.stdout_text().replace("EPERM", "EACCES");
        assert_eq!(
            told.trim_end(),
            denied.replace("EPERM", "EACCES"),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert_eq!(shell(&*machine, "echo still here").await, "still here");
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn neither_the_supervisor_nor_the_display_is_starved() {
    let state = state();
    let spec = CellSpec { screen: Some(Size::new(800, 600).into()), ..spec(state.path()) };
    let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
    let machine = cell.machine();
    // Limits of files and times, the scheduler's choices, and the same for a process of one's own.
    let starve = "none = (ctypes.c_ulong * 2)(0, 0)\nmask = (ctypes.c_ulong * 16)(1)\nzero = ctypes.c_int(0)\n\
        for pid in [1, os.getpid()]:\n    print(call(302, pid, 4, none, 0), call(141, 0, pid, 19), call(203, pid, 8, mask), \
        call(144, pid, 5, ctypes.byref(zero)), call(251, 1, pid, 3 << 13))";
    assert_eq!(python(&*machine, starve).await, "EPERM EPERM EPERM EPERM EPERM\n0 0 0 0 0");
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn what_the_display_shares_with_the_owner_cannot_be_shrunk_under_its_hands() {
    for (screen, server) in [("800x600", "Xvfb"), ("800x600+640x480", "Xorg")] {
        let state = state();
        let spec = CellSpec { screen: Some(screen.parse().expect("a screen")), ..spec(state.path()) };
        let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
        let machine = cell.machine();
        let look = format!(
            "display=$(pgrep -x {server}); manager=$(pgrep -x openbox); \
            for pid in $display $manager; do (: < /proc/$pid/fd/0) 2> /dev/null; echo $?; (: < /proc/$pid/mem) 2> /dev/null; echo $?; done"
        );
        assert_eq!(shell(&*machine, &look).await, "2\n2\n0\n0", "the window manager shares nothing");
        machine.screenshot().await.expect("a picture");
        cell.close(Duration::from_secs(5)).await.expect("closes");
    }
}

#[tokio::test]
async fn a_command_that_decides_a_verdict_cannot_be_altered_by_the_agents_programs() {
    let state = state();
    let cell = cell_with(state.path(), CellLimits::default()).await;
    let machine = cell.machine();
    // Looks for `cat` processes for as long as it lives, and tells of each whose memory it could have written.
    let attacker = "import os, time\nseen = {}\nprint('ready', flush=True)\nwhile True:\n    for pid in filter(str.isdigit, os.listdir('/proc')):\n        \
        try:\n            if open(f'/proc/{pid}/comm').read() != 'cat\\n' or pid in seen: continue\n        except OSError: continue\n        \
        try:\n            open(f'/proc/{pid}/mem', 'r+b').close(); seen[pid] = 'open'\n        except OSError: seen[pid] = 'shut'\n        \
        print(seen[pid], flush=True)";
    let mut attacker = machine.spawn(&Command::new(["python3", "-c", attacker])).await.expect("starts");
    assert_eq!(attacker.read().await.expect("ready"), b"ready\n");
    for (apart, expected) in [(false, &b"open\n"[..]), (true, &b"shut\n"[..])] {
        let line = "mkfifo pipe; cat pipe & sleep 2; kill $!; rm pipe";
        let command = if apart { Command::shell(line).apart() } else { Command::shell(line) };
        let (ran, seen) = tokio::join!(machine.run(&command), attacker.read());
        assert!(!ran.expect("runs").timed_out);
        assert_eq!(seen.expect("seen"), expected, "apart: {apart}");
    }
    // It hands nothing on that would let the agent's programs do as much.
    let mark = "grep -E '^Cap(Prm|Eff|Amb|Inh)' /proc/self/status | cut -f2 | sort -u | xargs";
    assert_eq!(shell(&*machine, mark).await, "0000000000000000 0000000800000000");
    let mut command = Command::shell(mark);
    command.apart = true;
    let told = machine.run(&command).await.expect("runs").stdout_text();
    assert_eq!(told, "0000000800000000\n");
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn the_programs_that_checks_use_are_not_the_agents() {
    let state = state();
    let cell = cell_with(state.path(), CellLimits::default()).await;
    let machine = cell.machine();
    let plant = "for name in sudo python python3 cat google-chrome; do echo 'echo FORGED' > .local/bin/$name; \
        chmod +x .local/bin/$name; done; folder=$(python3 -m site --user-site); mkdir -p $folder; \
        echo \"print('FORGED')\" > $folder/usercustomize.py; \
        (echo 'echo FORGED' > /run/programs/python) 2> /dev/null; (rm -rf /run/programs; mv /run/programs /run/x) 2> /dev/null; \
        echo 'echo FORGED' | tee .profile .bashrc > .bash_profile";
    machine.run(&Command::shell(plant)).await.expect("runs");
    let check = "python -c 'print(1)'; python3 -c 'print(2)'; sudo echo 3; echo 4 | cat; bash -c 'echo 5'; command -v google-chrome";
    let output = machine.run(&Command::shell(check).apart()).await.expect("runs");
    assert_eq!(output.stdout_text(), "1\n2\n3\n4\n5\n/run/programs/google-chrome\n");
    // The agent's own programs do run what lies in the home.
    assert_eq!(shell(&*machine, "python3 -c 'print(2)'").await, "FORGED\n2");
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

/// Five more ways, tried while the check runs: into its output, under its feet, by its modules, by its settings, by its end.
#[tokio::test]
async fn what_a_check_prints_is_its_own_whatever_the_agents_programs_do_meanwhile() {
    let state = state();
    let cell = cell_with(state.path(), CellLimits::default()).await;
    let machine = cell.machine();
    let plant = "folder=$(python3 -m site --user-site); mkdir -p $folder .config/environment.d; \
        echo \"import sys; sys.stdout.write('FORGED')\" > $folder/forge.pth; echo \"print('FORGED')\" > $folder/sitecustomize.py; \
        for name in json os encodings site; do echo \"print('FORGED')\" > $name.py; done; \
        echo \"print('FORGED')\" > .pythonrc.py; printf 'home = /home/user\\n' > pyvenv.cfg; \
        echo \"PYTHONSTARTUP=$HOME/.pythonrc.py PYTHONPATH=$HOME LD_PRELOAD=$HOME/x.so BASH_ENV=$HOME/.bashrc\" | tr ' ' '\\n' \
        | tee .pam_environment .config/environment.d/forge.conf > .env; echo 'echo FORGED' | tee .bashrc .kshrc .zshenv > .shrc; \
        printf '#!/bin/sh\\necho FORGED\\n' | tee python cat sh > bash; chmod +x python cat sh bash";
    machine.run(&Command::shell(plant)).await.expect("runs");
    // Writes into whatever standard output of another process can be opened, and says which.
    let attacker = "import os\nprint('ready', flush=True)\nwhile True:\n    for pid in filter(str.isdigit, os.listdir('/proc')):\n        \
        try:\n            if int(pid) == os.getpid() or open(f'/proc/{pid}/comm').read().strip() not in ('python3', 'python', 'cat', 'bash', 'sleep'): continue\n            \
        with open(f'/proc/{pid}/fd/1', 'w') as out: out.write('FORGED')\n        except OSError: pass";
    let mut attacker = machine.spawn(&Command::new(["python3", "-I", "-c", attacker])).await.expect("starts");
    assert_eq!(attacker.read().await.expect("ready"), b"ready\n");
    let check = "python3 -c 'import json, time; time.sleep(1); print(json.dumps(1))'; bash -c 'sleep 1; echo 2'; echo 3 | cat; \
        python -c 'import os; print(os.path.basename(\"/a/4\"))'; sh -c 'echo 5'";
    let output = machine.run(&Command::shell(check).apart()).await.expect("runs");
    assert_eq!(output.stdout_text(), "1\n2\n3\n4\n5\n", "{}", String::from_utf8_lossy(&output.stderr));
    // The same attack reaches the agent's own programs: it is one that works.
    let output =
        machine.run(&Command::shell("python3 -I -c 'import time; time.sleep(1)'")).await.expect("runs");
    assert!(output.stdout_text().contains("FORGED"), "{}", output.stdout_text());
    attacker.kill().await.expect("ends");
    attacker.wait().await.expect("ended");
    // To end a check is possible, and never gives the expected output.
    let killer = "import os\nprint('ready', flush=True)\nwhile True:\n    for pid in filter(str.isdigit, os.listdir('/proc')):\n        \
        try:\n            if open(f'/proc/{pid}/comm').read() == 'sleep\\n': os.kill(int(pid), 9)\n        except OSError: pass";
    let mut killer = machine.spawn(&Command::new(["python3", "-I", "-c", killer])).await.expect("starts");
    assert_eq!(killer.read().await.expect("ready"), b"ready\n");
    let output = machine.run(&Command::shell("sleep 5 && echo GOOD").apart()).await.expect("runs");
    assert_eq!((output.stdout_text().as_str(), output.timed_out), ("", false));
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn no_file_holds_up_whoever_reads_it() {
    let state = state();
    let cell = cell_with(state.path(), CellLimits::default()).await;
    let machine = cell.machine();
    let make = "mkfifo silent endless; (exec > endless; yes) & ln -s /dev/zero zero; ln -s /dev/tty terminal; \
        ln -s /proc/self/mem memory; ln -s /proc/kmsg kernel; ln -s /proc/uptime clock; truncate -s 1T sparse; \
        ln -s loop loop; ln -s /proc/self/fd/0 input; mkdir -p deep; yes > grows & true";
    machine.run(&Command::shell(make)).await.expect("runs");
    let deadline = Duration::from_secs(20);
    for path in [
        "silent", "endless", "zero", "terminal", "memory", "kernel", "clock", "sparse", "loop", "input",
        "deep",
    ] {
        let read = tokio::time::timeout(deadline, machine.read(path)).await.expect("nobody waits");
        assert!(
            matches!(read, Err(MachineError::Refused { .. } | MachineError::NotFound(_))),
            "{path}: {:?}",
            read.map(|bytes| bytes.len())
        );
    }
    for path in ["silent", "endless", "zero", "terminal", "clock", "deep", "/dev/null", "/proc/self/comm"] {
        let written = tokio::time::timeout(deadline, machine.write(path, &[b'x'; 200_000]))
            .await
            .expect("nobody waits");
        assert!(matches!(written, Err(MachineError::Refused { .. })), "{path}: {written:?}");
    }
    tokio::time::timeout(deadline, machine.read("grows")).await.expect("nobody waits").ok();
    let crowd = "mkdir crowd; cd crowd; seq 1 110000 | xargs touch";
    machine.run(&Command::shell(crowd)).await.expect("runs");
    assert!(matches!(machine.list("crowd").await, Err(MachineError::Refused { .. })));
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

/// Waits until a cell tells that it ended a program.
async fn notice(cell: &Cell) -> String {
    let look = async {
        loop {
            if let Some(told) = cell.take_notices().pop() {
                return told;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), look).await.expect("it is told")
}

#[tokio::test]
async fn a_fork_bomb_ends_and_its_neighbour_does_not_notice() {
    let state = state();
    let limits = CellLimits { processes: 300, ..CellLimits::default() };
    let (cell, neighbour) = (cell_with(state.path(), limits).await, cell_with(state.path(), limits).await);
    let (machine, beside) = (cell.machine(), neighbour.machine());
    // One whose processes go on when no new one can be started, each in a group of its own.
    let bomb = "#!/usr/bin/python3\nimport os\nwhile True:\n    try:\n        if os.fork() == 0: os.setsid()\n    \
        except OSError: pass\n";
    machine.write("bomb", bomb.as_bytes()).await.expect("written");
    machine.launch(&Command::shell("chmod +x bomb; exec ./bomb")).await.expect("starts");
    let told = notice(&cell).await;
    assert!(told.starts_with("bomb was ended: with ") && told.contains("limit of 300 was reached"), "{told}");
    // Both work on, the one with the bomb too: the owner's commands have a reserve.
    assert_eq!(shell(&*beside, "seq 1 3 | xargs").await, "1 2 3");
    assert_eq!(shell(&*machine, "seq 1 3 | xargs").await, "1 2 3");
    assert!(cell.loss().is_none() && neighbour.loss().is_none());
    let most = python(&*beside, "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))").await;
    assert_eq!(most, "(300, 300)");
    for cell in [cell, neighbour] {
        cell.close(Duration::from_secs(5)).await.expect("closes");
    }
}

#[tokio::test]
async fn programs_that_take_too_much_memory_end_and_the_cell_stays() {
    let state = state();
    let limits = CellLimits { memory: 300 << 20, ..CellLimits::default() };
    let (cell, neighbour) = (cell_with(state.path(), limits).await, cell_with(state.path(), limits).await);
    let (machine, beside) = (cell.machine(), neighbour.machine());
    // One program alone: the kernel refuses it what is over the limit.
    let line = "kept = []\nwhile True: kept.append(bytearray(10 << 20))";
    let output = machine.run(&Command::new(["python3", "-c", line])).await.expect("runs");
    assert!(
        output.code != 0 && String::from_utf8_lossy(&output.stderr).contains("MemoryError"),
        "{output:?}"
    );
    // Several, each below it; and memory that is shared, which no limit of one process counts.
    let many = "for _ in 1 2 3 4; do python3 -c 'x = bytearray(100 << 20); import time; time.sleep(1000)' & done; wait";
    let shared = "exec python3 -c 'import mmap, time\nx = mmap.mmap(-1, 600 << 20)\nfor at in range(0, 600 << 20, 4096): x[at] = 1\ntime.sleep(1000)'";
    // Files without a name, and segments that no process has mapped.
    let unnamed = "exec python3 -c 'import os, time\nx = os.memfd_create(\"x\")\nfor _ in range(600): os.write(x, bytes(1 << 20))\ntime.sleep(1000)'";
    let segments = "exec python3 -c 'import ctypes, time\nc = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p\n\
        x = c.shmget(0, ctypes.c_size_t(600 << 20), 0o1600); at = c.shmat(x, None, 0)\n\
        ctypes.memset(ctypes.c_void_p(at), 1, 600 << 20); c.shmdt(ctypes.c_void_p(at)); time.sleep(1000)'";
    for line in [many, shared, unnamed, segments] {
        machine.launch(&Command::shell(line)).await.expect("starts");
        let told = notice(&cell).await;
        assert!(
            told.starts_with("python3 was ended: the programs here used ") && told.contains("300 MB"),
            "{told}"
        );
        machine.run(&Command::shell("pkill python3; true")).await.expect("runs");
        cell.take_notices();
    }
    assert!(cell.loss().is_none(), "what went over a limit is the attempt's own doing: {:?}", cell.loss());
    assert_eq!(shell(&*machine, "echo on").await, "on");
    assert_eq!(shell(&*beside, "echo on").await, "on");
    assert!(neighbour.take_notices().is_empty());
    for cell in [cell, neighbour] {
        cell.close(Duration::from_secs(5)).await.expect("closes");
    }
}

#[tokio::test]
async fn every_place_that_can_be_written_to_is_bounded() {
    let state = state();
    let limits = CellLimits { shared_memory: 20 << 20, files: 60 << 20, ..CellLimits::default() };
    let (cell, neighbour) = (cell_with(state.path(), limits).await, cell_with(state.path(), limits).await);
    let machine = cell.machine();
    let fill = |folder: &str| {
        format!(
            "dd if=/dev/zero of={folder}/fill bs=1M count=200 2>&1 | tail -n 1 | cut -d' ' -f1; rm -f {folder}/fill"
        )
    };
    for (folder, most) in [
        ("/dev/shm", 20 << 20),
        ("$HOME", 60 << 20),
        ("/tmp", 60 << 20),
        ("/run/user/1000", 60 << 20),
        ("/var/tmp", 60 << 20),
        ("/home", 60 << 20),
    ] {
        let written = shell(&*machine, &fill(folder)).await.parse::<u64>().unwrap_or(0);
        assert!((1..=most).contains(&written), "{folder}: {written}");
    }
    // Every other mount is read-only, or holds no files.
    let open = "while read -r _ _ _ _ place options _; do case $options in rw*) [ -d $place ] && [ -w $place ] && echo $place;; esac; done < /proc/self/mountinfo | sort -u | xargs";
    assert_eq!(
        shell(&*machine, open).await,
        "/dev/pts /dev/shm /home /home/user /run/user/1000 /tmp /var/tmp"
    );
    assert_eq!(shell(&*machine, "touch /dev/x 2>&1 | grep -c Read-only; echo x > /dev/null").await, "1");
    assert_eq!(shell(&*neighbour.machine(), "echo on").await, "on");
    for cell in [cell, neighbour] {
        cell.close(Duration::from_secs(5)).await.expect("closes");
    }
}

#[tokio::test]
async fn without_namespaces_the_supervisor_is_closed_and_the_largest_program_ends_too() {
    let state = state();
    let limits = CellLimits { memory: 300 << 20, ..CellLimits::default() };
    let spec = CellSpec { isolation: CellIsolation::Plain, limits, ..spec(state.path()) };
    let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
    let machine = cell.machine();
    // Root may look at every process.
    if !rustix::process::geteuid().is_root() {
        let look = "cat /proc/$PPID/comm; for name in environ mem fd/0; do (: < /proc/$PPID/$name) 2>/dev/null; echo $?; done";
        assert_eq!(shell(&*machine, look).await, "apprentice-cell\n2\n2\n2");
    }
    let many = "for _ in 1 2 3 4; do python3 -c 'x = bytearray(100 << 20); import time; time.sleep(1000)' & done; wait";
    machine.launch(&Command::shell(many)).await.expect("starts");
    let told = notice(&cell).await;
    assert!(told.starts_with("python3 was ended: ") && told.contains("300 MB"), "{told}");
    assert!(cell.loss().is_none());
    cell.close(Duration::from_secs(5)).await.expect("closes");
}
