//! Cells: their start and end, what is seen from inside, files, commands, ports.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Command, EntryKind, Machine, MachineError};
use apprentice_sandbox::SystemClock;
use apprentice_sandbox::{Cell, CellIsolation, CellLimits, CellSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The program that owns cells: the copy beside this test where somebody else is to run both, else as built.
pub(crate) fn owner() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_apprentice-cell"));
    let copied = std::env::current_exe().ok().map(|test| test.with_file_name("apprentice-cell"));
    copied.filter(|program| program.is_file()).unwrap_or(built)
}

/// A cell's definition, with its state below a folder.
pub(crate) fn spec(state: &Path) -> CellSpec {
    CellSpec {
        screen: None,
        bare: false,
        isolation: CellIsolation::Bubblewrap,
        program: owner(),
        argument: "cell-supervisor".into(),
        state: state.to_owned(),
        golden: None,
        limits: CellLimits::default(),
        network: Vec::new(),
        folders: Vec::new(),
    }
}

/// A state folder that a cell's user can reach.
pub(crate) fn state() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let state = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(state.path(), std::fs::Permissions::from_mode(0o755)).expect("open");
    state
}

/// A cell without a screen.
async fn bare(state: &Path) -> Cell {
    Cell::start(&spec(state), Arc::new(SystemClock::new())).await.expect("a cell")
}

/// Runs a shell line that must succeed and gives its output.
pub(crate) async fn shell(machine: &dyn Machine, line: &str) -> String {
    let output = machine.run(&Command::shell(line)).await.expect("runs");
    assert_eq!(output.code, 0, "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout_text().trim_end().to_owned()
}

#[tokio::test]
async fn inside_there_is_one_user_with_a_home_and_no_network() {
    let state = state();
    let cell = bare(state.path()).await;
    let machine = cell.machine();
    let sh = async |line: &str| shell(&*machine, line).await;
    assert_eq!(sh("id -u; id -un; pwd; hostname").await, "1000\nuser\n/home/user\ncell");
    assert_eq!(machine.offers().home, "/home/user");
    let names =
        sh("for name in python google-chrome; do command -v $name; done | wc -l; python -c 'print(6 * 7)'")
            .await;
    assert_eq!(names, "2\n42", "programs that tasks expect by these names");
    assert_eq!(machine.offers().screen, None);
    assert_eq!(sh("ls /sys /root 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | xargs").await, "lo");
    assert!(sh("ps -e -o pid= | wc -l").await.parse::<u32>().expect("a number") < 12);
    assert!(sh("touch /usr/x /etc/x 2>&1 || true").await.contains("Read-only file system"));
    cell.close(Duration::from_secs(5)).await.expect("closes");
    let left: Vec<_> = std::fs::read_dir(state.path()).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "only the lock is left: {left:?}");
}

#[tokio::test]
async fn files_are_written_read_listed_and_removed() {
    let state = state();
    let cell = bare(state.path()).await;
    let machine = cell.machine();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|index| (index % 251) as u8).collect();
    machine.write("notes/deep/a.bin", &bytes).await.expect("written");
    machine.write("/home/user/notes/b.txt", "häß".as_bytes()).await.expect("written");
    assert_eq!(machine.read("~/notes/deep/a.bin").await.expect("read"), bytes);
    machine.write("notes/b.txt", b"b").await.expect("written again, shorter");
    assert_eq!(machine.read("notes/b.txt").await.expect("read"), b"b");
    shell(&*machine, "ln -s b.txt notes/link; mkfifo notes/pipe").await;
    let listed = machine.list("notes").await.expect("listed");
    let listed: Vec<_> = listed.iter().map(|entry| (entry.path.as_str(), entry.kind, entry.size)).collect();
    let expected = [
        ("b.txt", EntryKind::File, 1),
        ("deep", EntryKind::Directory, 0),
        ("deep/a.bin", EntryKind::File, 3_000_000),
        ("link", EntryKind::Link, 0),
        ("pipe", EntryKind::Other, 0),
    ];
    assert_eq!(listed, expected);
    for path in ["notes/none", "notes/b.txt/c", "nowhere/at/all"] {
        assert!(machine.read(path).await.is_err(), "{path}");
    }
    assert!(
        matches!(machine.read("notes/none").await, Err(MachineError::NotFound(path)) if path == "notes/none")
    );
    assert!(matches!(machine.read("notes").await, Err(MachineError::Refused { .. })));
    assert!(matches!(machine.read("notes/pipe").await, Err(MachineError::Refused { .. })));
    assert!(matches!(machine.write("/usr/x", b"").await, Err(MachineError::Refused { .. })));
    assert!(matches!(machine.list("none").await, Err(MachineError::NotFound(_))));
    machine.remove("notes").await.expect("removed");
    assert!(matches!(machine.remove("notes").await, Err(MachineError::NotFound(_))));
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn commands_have_input_output_and_a_deadline() {
    let state = state();
    let cell = bare(state.path()).await;
    let machine = cell.machine();
    let mut command = Command::shell("tr a-z A-Z; echo fine >&2; pwd; echo $WORD; exit 3");
    command.stdin = "x".repeat(1 << 20).into_bytes();
    command.cwd = Some("Documents".into());
    command.env = vec![("WORD".into(), "word".into())];
    let output = machine.run(&command).await.expect("runs");
    assert_eq!(output.stdout_text(), format!("{}/home/user/Documents\nword\n", "X".repeat(1 << 20)));
    assert_eq!((output.code, output.stderr.as_slice()), (3, &b"fine\n"[..]));

    command = Command::shell("head -c 5000 /dev/zero");
    command.output_limit = 1000;
    let output = machine.run(&command).await.expect("runs");
    assert_eq!((output.stdout.len(), output.cut, output.timed_out), (1000, true, false));

    // What it leaves in the background lives on, and is not waited for.
    let output = machine.run(&Command::shell("sleep 1000 & echo left")).await.expect("runs");
    assert_eq!(output.stdout_text(), "left\n");
    shell(&*machine, "pgrep -f '^sleep 1000'").await;

    // A deadline takes everything along, a daemon in a session of its own too.
    let line = "setsid sh -c 'sleep 2000 & exec sleep 3000' & sleep 4000";
    let output = machine.run(&Command::shell(line).within(Duration::from_millis(300))).await.expect("runs");
    assert_eq!((output.code, output.timed_out), (124, true));
    assert_eq!(shell(&*machine, "pgrep -f '^sleep [234]000' || true").await, "");

    let missing = machine.run(&Command::new(["no-such-program"])).await;
    assert!(matches!(missing, Err(MachineError::MissingProgram(program)) if program == "no-such-program"));
    let killed = machine.run(&Command::shell("kill -9 $$")).await.expect("runs");
    assert_eq!(killed.code, 137);
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn piped_processes_talk_and_end_with_their_handle() {
    let state = state();
    let cell = bare(state.path()).await;
    let machine = cell.machine();
    let mut child = machine.spawn(&Command::new(["cat"])).await.expect("starts");
    child.write(b"one").await.expect("written");
    assert_eq!(child.read().await.expect("read"), b"one");
    child.close_input().await.expect("closed");
    assert_eq!(child.read().await.expect("read"), b"");
    assert_eq!(child.wait().await.expect("ends"), 0);
    let child = machine.spawn(&Command::shell("sleep 1000 & sleep 1000")).await.expect("starts");
    drop(child);
    shell(&*machine, "while pgrep -f '^sleep 1000'; do :; done").await;
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn ports_inside_are_reached_directly_and_by_a_loopback_address() {
    let state = state();
    let cell = bare(state.path()).await;
    let machine = cell.machine();
    let serve = "import socket as s\nl=s.create_server(('127.0.0.1',7777));print(flush=True)\nwhile 1:\n \
                 c,_=l.accept();c.sendall(c.recv(99).upper());c.close()";
    let mut server = machine.spawn(&Command::new(["python3", "-c", serve])).await.expect("starts");
    server.read().await.expect("it listens");
    let mut direct = cell.connect(7777).await.expect("connects");
    let dial = machine.dial(7777).await.expect("dials");
    let mut relayed = tokio::net::TcpStream::connect(dial.address).await.expect("connects");
    for stream in [&mut direct, &mut relayed] {
        stream.write_all(b"hello").await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("answered");
        assert_eq!(answer, "HELLO");
    }
    assert!(matches!(cell.connect(7778).await, Err(MachineError::Refused { .. })));
    drop(dial.guard);
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn a_golden_home_is_changed_in_the_cell_alone() {
    use std::fs;
    let state = state();
    // Whoever owns it: laid under the cell's home, or copied into it.
    let owners: &[u32] = if rustix::process::geteuid().is_root() { &[0, 61_500] } else { &[] };
    for owner in owners.iter().copied().map(Some).chain([None]) {
        let golden = state.path().join(format!("golden-{owner:?}"));
        fs::create_dir_all(golden.join("Documents")).expect("a folder");
        fs::write(golden.join("Documents/kept.txt"), "golden").expect("written");
        fs::write(golden.join(".gtkrc-2.0"), "mine").expect("written");
        for path in ["", "Documents", "Documents/kept.txt", ".gtkrc-2.0"] {
            std::os::unix::fs::chown(golden.join(path), owner, owner).expect("given");
        }
        let mut spec = spec(state.path());
        spec.golden = Some(golden.clone());
        let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
        let machine = cell.machine();
        assert_eq!(machine.read("Documents/kept.txt").await.expect("read"), b"golden");
        assert_eq!(machine.read(".gtkrc-2.0").await.expect("read"), b"mine", "it stands before the seeds");
        machine.read(".config/openbox/rc.xml").await.expect("the seeds are there");
        machine.write("Documents/kept.txt", b"changed").await.expect("written");
        shell(&*machine, "echo new > Documents/new.txt; rm .gtkrc-2.0").await;
        cell.close(Duration::from_secs(5)).await.expect("closes");
        assert_eq!(fs::read_to_string(golden.join("Documents/kept.txt")).expect("read"), "golden");
        assert!(golden.join(".gtkrc-2.0").exists() && !golden.join("Documents/new.txt").exists());
    }
}

#[tokio::test]
async fn what_bars_a_cell_is_told_with_its_remedy() {
    let state = state();
    let start = async |spec: CellSpec| {
        let started = Cell::start(&spec, Arc::new(SystemClock::new())).await;
        started.err().expect("it cannot start").message
    };
    let mut wrong = spec(state.path());
    wrong.program = "/usr/bin/false".into();
    let problem = start(wrong).await;
    assert_eq!(problem, "the cell did not start: the supervisor ended (exit status: 1)");
    let mut wrong = spec(state.path());
    wrong.golden = Some("/no/such/home".into());
    let problem = start(wrong).await;
    assert!(problem.contains("the golden home: No such file or directory"), "{problem}");
    let mut wrong = spec(state.path());
    wrong.program = "/no/such/program".into();
    assert_eq!(start(wrong).await, "our own program: No such file or directory (os error 2)");
    assert_eq!(std::fs::read_dir(state.path()).expect("a folder").count(), 1, "only the lock is left");
}

/// Prints medians of what a cell costs; run by name, with `--ignored --nocapture`.
#[tokio::test]
#[ignore = "a measurement"]
async fn what_a_cell_costs() {
    let state = state();
    let mut with_screen = spec(state.path());
    with_screen.screen = Some(apprentice_protocol::Size::new(1920, 1080).into());
    for spec in [spec(state.path()), with_screen] {
        let (mut starts, mut ends, mut runs, mut pictures) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let clock = Arc::new(SystemClock::new());
        let now = || apprentice_protocol::Clock::mono(&*clock);
        for _ in 0..20 {
            let start = now();
            let cell = Cell::start(&spec, clock.clone()).await.expect("a cell");
            starts.push(now() - start);
            let start = now();
            shell(&*cell.machine(), "true").await;
            runs.push(now() - start);
            if spec.screen.is_some() {
                let start = now();
                cell.machine().screenshot().await.expect("a picture");
                pictures.push(now() - start);
            }
            let start = now();
            cell.close(Duration::from_secs(5)).await.expect("closes");
            ends.push(now() - start);
        }
        let median = |mut times: Vec<Duration>| {
            times.sort();
            times.get(times.len() / 2).copied()
        };
        println!(
            "screen {:?}: start {:?}, run {:?}, picture {:?}, end {:?}",
            spec.screen.is_some(),
            median(starts),
            median(runs),
            median(pictures),
            median(ends)
        );
    }
}

/// Prints what large programs use of a cell's limits; run by name, with `--ignored --nocapture`.
#[tokio::test]
#[ignore = "a measurement"]
async fn what_large_programs_use() {
    let state = state();
    let mut spec = spec(state.path());
    spec.screen = Some(apprentice_protocol::Size::new(1920, 1080).into());
    let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
    let machine = cell.machine();
    let table = "open('sheet.csv', 'w').write('\\n'.join(','.join(str(a * b) for b in range(30)) for a in range(20000)))\n\
        for page in range(8): open(f'page{page}.html', 'w').write('<script>let a = []; for (let i = 0; i < 3e6; i++) \
        a.push({i});</script>' + '<p>text</p>' * 20000)";
    machine.run(&Command::new(["python3", "-c", table])).await.expect("written");
    let sum = "cat /proc/[0-9]*/status 2>/dev/null | awk '/^RssAnon/ { own += $2 } /^RssShmem/ && $2 > shared { shared = $2 } \
        /^VmData/ && $2 > data { data = $2 } /^Threads/ { threads += $2; processes++ } END { printf \"%d MB own, %d MB \
        shared, %d MB data of one, %d processes, %d threads\", own / 1024, shared / 1024, data / 1024, processes, threads }'; \
        df -m --output=used /dev/shm | tail -n 1";
    let clock = SystemClock::new();
    for line in [
        "true",
        "soffice --norestore --nologo --calc sheet.csv",
        "chromium --no-first-run --disable-gpu page0.html page1.html page2.html page3.html page4.html page5.html page6.html page7.html",
        "gimp",
    ] {
        machine.launch(&Command::shell(format!("exec {line}"))).await.expect("starts");
        let mut most = String::new();
        for _ in 0..20 {
            apprentice_protocol::Clock::pause(
                &clock,
                Duration::from_secs(2),
                apprentice_protocol::Why::PollFloor,
            )
            .await;
            let now = shell(&*machine, sum).await;
            let own =
                |line: &str| line.split(' ').next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            if own(&now) > own(&most) {
                most = now;
            }
        }
        println!(
            "with {}: {} MB in /dev/shm",
            line.split(' ').next().unwrap_or_default(),
            most.replace('\n', ",")
        );
        assert!(cell.take_notices().is_empty(), "the limits leave room for them");
    }
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

/// Every process that has the folder's path among its arguments.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy();
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&*folder))
        .collect()
}

/// Gives starts up after ever longer times. On a thread, so that one that hangs fails instead of hanging too.
fn check_abandoned_starts(isolation: CellIsolation) {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let state = state();
            let spec = CellSpec { isolation, ..spec(state.path()) };
            let moments = (0..12u64).map(|step| 20 << step);
            let starts = moments.map(|micros| {
                let (spec, patience) = (spec.clone(), Duration::from_micros(micros));
                tokio::spawn(async move {
                    let start = Cell::start(&spec, Arc::new(SystemClock::new()));
                    tokio::time::timeout(patience, start).await.map(|started| started.is_ok())
                })
            });
            let starts: Vec<_> = starts.collect();
            for start in starts {
                // One that stood in time ends here, as its owner drops it.
                start.await.expect("no panic").unwrap_or(true).then_some(()).expect("started or given up");
            }
            let left: Vec<_> = std::fs::read_dir(state.path()).expect("a folder").flatten().collect();
            let names: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
            assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("cell-")), "{names:?}");
            // What was killed takes a moment to go.
            let gone = async {
                while !processes_of(state.path()).is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            if tokio::time::timeout(Duration::from_secs(20), gone).await.is_err() {
                assert_eq!(processes_of(state.path()), [""; 0], "nothing runs on");
            }
        });
        done.send(()).expect("somebody waits");
    });
    ended.recv_timeout(Duration::from_secs(60)).expect("no start that is given up hangs");
}

#[test]
fn a_start_that_is_given_up_at_any_moment_leaves_nothing() {
    check_abandoned_starts(CellIsolation::Bubblewrap);
    check_abandoned_starts(CellIsolation::Plain);
}

#[tokio::test]
async fn sudo_is_root_over_what_is_the_users_own_and_over_nothing_else() {
    let state = state();
    let cell = bare(state.path()).await;
    let machine = cell.machine();
    let sh = async |line: &str| shell(&*machine, line).await;
    assert_eq!(sh("echo password | sudo -S mkdir -p made/below && ls -d made/below").await, "made/below");
    assert_eq!(sh("(echo word; echo rest) | sudo -kS cat").await, "rest", "one line is the password");
    assert_eq!(
        sh("sudo -n id -u; sudo -u user id -u; sudo A=b sh -c 'echo $A $SUDO_USER'").await,
        "0\n1000\nb user"
    );
    assert_eq!(sh("sudo -- echo -S; sudo -v; echo $?").await, "-S\n0");
    for (line, why) in [
        ("sudo touch /usr/x", "Read-only file system"),
        ("sudo -u nobody id", "unknown user"),
        ("sudo", "usage"),
        ("sudo sh -c 'exit 3'", ""),
    ] {
        let output = machine.run(&Command::shell(line)).await.expect("runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.code != 0 && told.contains(why), "{line}: {} {told}", output.code);
    }
    cell.close(Duration::from_secs(5)).await.expect("closes");
}
