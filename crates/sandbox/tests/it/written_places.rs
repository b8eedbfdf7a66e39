//! What programs in a cell can write to, as the kernel tells it, and that nothing of it is what a check runs.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Command, Machine, MachineError, Size};
use apprentice_sandbox::{Cell, CellSpec, SystemClock};

use crate::cell::{shell, spec, state};

/// The places that are there to be written to. Whoever adds one has to show that no check runs what lies there.
const PLACES: [&str; 6] = ["/dev/shm", "/home", "/home/user", "/run/user/1000", "/tmp", "/var/tmp"];

/// Devices that keep nothing, and the folder of terminals, in which the kernel alone makes files.
const DEVICES: &str =
    "/dev/full /dev/null /dev/pts /dev/pts/ptmx /dev/random /dev/tty /dev/urandom /dev/zero";

async fn cell(screen: Option<Size>) -> (tempfile::TempDir, Cell) {
    let state = state();
    let spec = CellSpec { screen: screen.map(Into::into), ..spec(state.path()) };
    let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
    (state, cell)
}

/// Runs a command as the agent's programs are, as `sudo` makes them root, and as the commands of checks are.
async fn by_everybody(machine: &dyn Machine, argv: &[&str]) -> [String; 3] {
    let plain = Command::new(argv.iter().copied());
    let sudo = Command::new(["sudo"].into_iter().chain(argv.iter().copied()));
    let check = plain.clone().apart();
    let mut told = Vec::new();
    for command in [plain, sudo, check] {
        let output = machine.run(&command.within(Duration::from_secs(120))).await.expect("runs");
        told.push(output.stdout_text().trim_end().to_owned());
    }
    told.try_into().expect("three")
}

#[tokio::test]
async fn what_is_writable_in_a_cell_is_a_written_list() {
    let (_state, cell) = cell(Some(Size::new(800, 600))).await;
    let machine = cell.machine();
    // `find` asks the kernel (faccessat) whether this user, with what it has, may write to each file and folder.
    let places = PLACES.map(|place| format!("-path {place}")).join(" -o ");
    let look = format!(
        "find / \\( -path /proc {} \\) -prune -o ! -type l -writable -print 2>/dev/null | sort | xargs",
        format_args!("-o {places}")
    );
    assert_eq!(by_everybody(&*machine, &["sh", "-c", &look]).await, [DEVICES; 3]);
    // Of what the kernel answers, a process may write to its own and its fellows' settings alone.
    // The files of pressure take orders of those alone who have a right that nobody has inside.
    let kernel = "find /proc \\( -path '/proc/[0-9]*' -o -path /proc/pressure \\) -prune -o ! -type l -writable -print 2>/dev/null | sort | xargs";
    assert_eq!(by_everybody(&*machine, &["sh", "-c", kernel]).await, [""; 3]);
    // Each mount that is not read-only, whether or not anybody may write to it now.
    let mounts = "while read -r _ _ _ _ place options _; do case $options in rw*) [ -d $place ] && echo $place;; esac; \
        done < /proc/self/mountinfo | sort -u | xargs";
    let expected = "/dev/pts /dev/shm /home /home/user /proc /run/user/1000 /tmp /var/tmp";
    assert_eq!(by_everybody(&*machine, &["sh", "-c", mounts]).await, [expected; 3]);
    for place in PLACES {
        assert_eq!(
            shell(&*machine, &format!("mkdir {place}/new && rmdir {place}/new && echo made")).await,
            "made"
        );
    }
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn no_place_is_made_writable_moved_or_covered() {
    let (_state, cell) = cell(None).await;
    let machine = cell.machine();
    let tries = "for place in / /etc /run /run/user /var /var/lib /usr /lib64/ /bin/ /run/programs /run/checks /dev; do \
          (: > $place/new) 2>/dev/null && echo wrote $place; (mkdir $place/newer) 2>/dev/null && echo made $place; done; \
        for place in /etc /run /run/programs /run/user /run/user/1000 /var /var/tmp /home /home/user /tmp /bin /lib64; do \
          mv $place $place.old 2>/dev/null && echo moved $place; \
          ln -sfT /home/user $place 2>/dev/null && echo linked $place; \
          mount --bind /home/user $place 2>/dev/null && echo covered $place; \
          mount -o remount,rw $place 2>/dev/null && echo opened $place; \
          umount -l $place 2>/dev/null && echo uncovered $place; done; \
        for flags in --mount '--user --map-root-user --mount'; do unshare $flags true 2>/dev/null && echo new mounts; done; true";
    assert_eq!(by_everybody(&*machine, &["sh", "-c", tries]).await, [""; 3]);
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

/// What an agent may try so that a check's programs print what it likes. Harmless: at most, a check would print `FORGED` or
/// complain.
const FORGERIES: [(&str, &str); 7] = [
    ("the loader", "echo /home/user/none.so > /etc/ld.so.preload"),
    ("the loader's list", "echo /home/user > /etc/ld.so.conf; ldconfig"),
    (
        "the folder above the programs",
        "mv /run /run.old; mkdir -p /run/programs/first; for name in python sudo google-chrome; do \
         printf '#!/bin/sh\\necho FORGED\\n' > /run/programs/$name; chmod +x /run/programs/$name; done",
    ),
    (
        "the folder above Python's settings",
        "mv /etc /etc.old; cp -r /etc.old /etc; echo \"print('FORGED')\" > /etc/python3.11/sitecustomize.py",
    ),
    (
        "links of the root",
        "for name in bin lib64; do ln -sfT /home/user/$name /$name; mkdir -p $name; \
         printf '#!/home/user/forged\\n' > $name/sh; chmod +x $name/sh; done",
    ),
    (
        "the search path",
        "mkdir -p .local/bin; printf '#!/bin/sh\\necho FORGED\\n' > .local/bin/not-installed; chmod +x .local/bin/not-installed; \
         cp .local/bin/not-installed .local/bin/python3; cp .local/bin/not-installed .local/bin/cat; cp .local/bin/not-installed cat",
    ),
    (
        "modules in the folder that a check runs in",
        "for name in json subprocess os re sitecustomize usercustomize; do echo \"print('FORGED')\" > $name.py; done",
    ),
];

#[tokio::test]
async fn no_forgery_reaches_what_a_check_reads() {
    for sudo in [false, true] {
        let (_state, cell) = cell(None).await;
        let machine = cell.machine();
        for (kind, line) in FORGERIES {
            let words = ["sudo", "sh", "-c", line];
            let forged = Command::new(words.into_iter().skip(usize::from(!sudo)));
            machine.run(&forged).await.expect("runs");
            let check = "python -c 'import json, subprocess, re; print(1)'; python3 -c 'print(2)'; sudo echo 3; \
                echo 4 | cat; sh -c 'echo 5'; command -v google-chrome";
            let output = machine.run(&Command::shell(check).apart()).await.expect("runs");
            assert_eq!(
                (output.stdout_text().as_str(), String::from_utf8_lossy(&output.stderr).as_ref()),
                ("1\n2\n3\n4\n5\n/run/programs/google-chrome\n", ""),
                "{kind}, sudo: {sudo}"
            );
            let direct = ["python", "-c", "import json, subprocess, re; print('true')"];
            let output = machine.run(&Command::new(direct).apart()).await.expect("runs");
            assert_eq!(output.stdout_text(), "true\n", "{kind}");
            let missing = machine.run(&Command::new(["not-installed"]).apart()).await;
            assert!(matches!(missing, Err(MachineError::MissingProgram(_))), "{kind}: {missing:?}");
        }
        cell.close(Duration::from_secs(5)).await.expect("closes");
    }
}

#[tokio::test]
async fn a_checks_python_still_finds_what_lies_beside_it() {
    let (_state, cell) = cell(None).await;
    let machine = cell.machine();
    shell(
        &*machine,
        "mkdir -p p; echo 'print(\"beside\")' > p/beside.py; echo 'import beside' > p/script.py",
    )
    .await;
    for line in [
        "python3 p/script.py",
        "cd p && python3 -c 'import beside'",
        "cd p && python3 -m beside",
        "cd p && echo 'import beside' | python3",
    ] {
        let output = machine.run(&Command::shell(line).apart()).await.expect("runs");
        assert_eq!(output.stdout_text(), "beside\n", "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn a_folder_of_too_many_long_paths_is_refused_in_time() {
    let (_state, cell) = cell(None).await;
    let machine = cell.machine();
    let crowd = "import os\nos.mkdir('deep'); os.chdir('deep')\nfor _ in range(12): os.mkdir('d' * 240); os.chdir('d' * 240)\n\
        for name in range(20000): open(f'{name}\\udcff' + 'n' * 200, 'w').close()";
    let made = machine.run(&Command::new(["python3", "-c", crowd])).await.expect("runs");
    assert_eq!(made.code, 0, "{}", String::from_utf8_lossy(&made.stderr));
    let listed = machine.list("deep").await;
    assert!(matches!(&listed, Err(MachineError::Refused { why, .. }) if why.contains("16 MB")), "{listed:?}");
    assert_eq!(shell(&*machine, "echo on").await, "on");
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn a_task_gets_the_folders_that_it_names_and_no_other() {
    let state = state();
    let folders = vec!["/app".parse().expect("a folder"), "/logs".parse().expect("a folder")];
    let spec = CellSpec { screen: None, folders, ..spec(state.path()) };
    let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
    let machine = cell.machine();
    let made = "mkdir -p /app/a && echo x > /logs/b && cat /logs/b; mkdir /other 2>/dev/null || echo refused";
    assert_eq!(by_everybody(&*machine, &["sh", "-c", made]).await, ["x\nrefused"; 3]);
    let mounts =
        "awk '$6 ~ /^rw/ && $5 !~ /^\\/(dev|proc)/ {print $5}' /proc/self/mountinfo | sort -u | xargs";
    let expected = "/app /home /home/user /logs /run/user/1000 /tmp /var/tmp";
    assert_eq!(shell(&*machine, mounts).await.trim(), expected);
}
