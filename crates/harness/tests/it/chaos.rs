//! Faults of the machine in the midst of trials: each trial ends in time, as a verdict or void with its cause, and leaves
//! nothing behind.
//!
//! A seed decides the faults and their moments. The short form is a test; `just chaos` runs the long one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    Action, Button, Chord, Clock, Command, EnvironmentKind, Machine, MachineError, ScreenPoint, Size, Target,
    TreeBudget, Want, Why, World, WorldError, WorldErrorKind,
};
use apprentice_sandbox::CellLimits;
use futures_util::StreamExt as _;
use rustix::process::{Pid, Signal, kill_process};

use crate::cell;
use crate::held::{Held, Running, leaks, processes};
use crate::sources::Sources;

/// Trials at once.
const AT_ONCE: usize = 4;
/// Turns of a trial.
const TURNS: u64 = 6;
/// A trial takes no longer than this, whatever happens in it.
const DEADLINE: Duration = Duration::from_secs(240);
const CLOSE: Duration = Duration::from_secs(20);
const FILE: &str = "/home/user/note.txt";

/// Whom a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// A process by its name, and a word of its arguments.
    Process(&'static str, &'static str),
    Disk,
    Memory,
}

/// What a trial may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// The world is lost, and one of these words is in its cause.
    Void(&'static [&'static str]),
    /// The world goes on, so that the trial is judged.
    Verdict,
    /// The world goes on, and one of these words is told to the model.
    Told(&'static [&'static str]),
    /// Either, as the moment decides.
    Either,
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    world: EnvironmentKind,
    name: &'static str,
    victim: Victim,
    signal: Signal,
    expected: Expected,
}

const fn fault(
    world: EnvironmentKind,
    name: &'static str,
    victim: Victim,
    signal: Signal,
    expected: Expected,
) -> Fault {
    Fault { world, name, victim, signal, expected }
}

use EnvironmentKind::{Browser, Desktop};
use Expected::{Either, Told, Verdict, Void};
use Victim::Process;

const BUS: &[&str] = &["bus", "accessibility registry"];
const CHROMIUM: &[&str] = &["chromium", "browser", "page"];
const SUPERVISOR: &[&str] = &["supervisor", "answer"];

const FAULTS: &[Fault] = &[
    fault(Desktop, "kill the display", Process("Xvfb", ""), Signal::KILL, Void(&["Xvfb"])),
    fault(Desktop, "stop the display", Process("Xvfb", ""), Signal::STOP, Void(&["Xvfb"])),
    fault(Desktop, "kill the window manager", Process("openbox", ""), Signal::KILL, Void(&["openbox"])),
    fault(Desktop, "stop the window manager", Process("openbox", ""), Signal::STOP, Void(&["openbox"])),
    fault(
        Desktop,
        "kill the session bus",
        Process("dbus-daemon", "--print-address=1"),
        Signal::KILL,
        Void(BUS),
    ),
    fault(
        Desktop,
        "stop the session bus",
        Process("dbus-daemon", "--print-address=1"),
        Signal::STOP,
        Void(BUS),
    ),
    fault(
        Desktop,
        "kill the accessibility bus",
        Process("dbus-daemon", "accessibility"),
        Signal::KILL,
        Void(BUS),
    ),
    fault(
        Desktop,
        "stop the accessibility bus",
        Process("dbus-daemon", "accessibility"),
        Signal::STOP,
        Void(BUS),
    ),
    fault(Desktop, "kill the supervisor", Process("", "cell-supervisor"), Signal::KILL, Void(SUPERVISOR)),
    fault(Desktop, "stop the supervisor", Process("", "cell-supervisor"), Signal::STOP, Void(SUPERVISOR)),
    fault(Desktop, "kill the program", Process("mousepad", ""), Signal::KILL, Void(&["mousepad"])),
    fault(Desktop, "stop the program", Process("mousepad", ""), Signal::STOP, Told(&["mousepad"])),
    fault(Desktop, "fill the disk", Victim::Disk, Signal::KILL, Either),
    fault(Desktop, "fill the memory", Victim::Memory, Signal::KILL, Told(&["perl"])),
    fault(
        Browser,
        "kill the browser",
        Process("chromium", "--remote-debugging"),
        Signal::KILL,
        Void(CHROMIUM),
    ),
    fault(
        Browser,
        "stop the browser",
        Process("chromium", "--remote-debugging"),
        Signal::STOP,
        Void(CHROMIUM),
    ),
    fault(Browser, "kill the page", Process("chromium", "--type=renderer"), Signal::KILL, Void(CHROMIUM)),
    // A stopped page does not differ from one that is busy without end, and such a page a model can open by itself.
    fault(Browser, "stop the page", Process("chromium", "--type=renderer"), Signal::STOP, Either),
    fault(Browser, "kill the GPU process", Process("chromium", "--type=gpu-process"), Signal::KILL, Verdict),
    fault(Browser, "stop the GPU process", Process("chromium", "--type=gpu-process"), Signal::STOP, Either),
    fault(Browser, "kill the supervisor", Process("", "cell-supervisor"), Signal::KILL, Void(SUPERVISOR)),
    fault(Browser, "stop the supervisor", Process("", "cell-supervisor"), Signal::STOP, Void(SUPERVISOR)),
    fault(Browser, "fill the disk", Victim::Disk, Signal::KILL, Either),
    // Seldom the notice comes after the last view.
    fault(Browser, "fill the memory", Victim::Memory, Signal::KILL, Either),
];

/// How a trial ended.
#[derive(Debug)]
enum End {
    /// It can be judged; with what was told to the model about the machine.
    Verdict(String),
    Void(String),
}

/// A small generator of numbers: the same seed gives the same faults on every machine.
#[derive(Clone, Copy)]
struct Seed(u64);

impl Seed {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }
}

/// The processes of the cell with this process namespace, those of its own inner namespaces too.
fn in_cell(all: &HashMap<i32, Running>, namespace: &Path) -> Vec<i32> {
    let belongs = |mut pid: i32| {
        while let Some(process) = all.get(&pid) {
            if process.namespace.as_deref() == Some(namespace) {
                return true;
            }
            pid = process.parent;
        }
        false
    };
    all.keys().copied().filter(|pid| belongs(*pid)).collect()
}

/// Does the harm. Returns whether there was somebody to do it to.
async fn strike(fault: &Fault, machine: &dyn Machine, namespace: &Path) -> bool {
    let line = match fault.victim {
        Victim::Process(name, word) => {
            let all = processes();
            let mut hit: Vec<i32> = in_cell(&all, namespace)
                .into_iter()
                .filter(|pid| {
                    let process = &all[pid];
                    (name.is_empty() || process.name.starts_with(name)) && process.arguments.contains(word)
                })
                .collect();
            hit.sort_unstable();
            // A browser has several renderers: all of them. Of other programs there is one.
            let several = word == "--type=renderer";
            let hit = if several { hit } else { hit.into_iter().take(1).collect() };
            for pid in &hit {
                let _ = Pid::from_raw(*pid).map(|pid| kill_process(pid, fault.signal));
            }
            return !hit.is_empty();
        }
        Victim::Disk => "head -c 1G /dev/zero > /home/user/full 2>/dev/null; true",
        // It holds what it takes, in several processes, because one is bounded by the kernel.
        Victim::Memory => {
            "for i in 1 2 3 4 5 6 7 8; do perl -e '$x .= \"x\" x 50000000 for 1..10; sleep 20' & done >/dev/null 2>&1
             sleep 5"
        }
    };
    let _ = machine.run(&Command::shell(line)).await;
    true
}

/// One trial: a program, some turns, a fault in the midst of them, and what a check would read.
async fn trial(sources: &Sources, fault: &Fault, mut seed: Seed) -> End {
    let mut world = sources.open(fault.world, Size::new(1280, 720)).await.expect("a world");
    let ended = match work(sources, fault, &mut world, &mut seed).await {
        Ok(told) => End::Verdict(told),
        Err(error) => End::Void(format!("{:?}: {}", error.fault, error.message)),
    };
    // A world that is lost may not end in good order, but it ends.
    let _ = world.environment.close(CLOSE).await;
    ended
}

fn void(error: MachineError) -> WorldError {
    match error {
        MachineError::Lost(story) => WorldError::new(WorldErrorKind::Lost, story),
        other => WorldError::new(WorldErrorKind::Lost, format!("the check could not read: {other}")),
    }
}

async fn work(
    sources: &Sources,
    fault: &Fault,
    world: &mut World,
    seed: &mut Seed,
) -> Result<String, WorldError> {
    let inside = world.machine.run(&Command::shell("readlink /proc/self/ns/pid")).await.map_err(void)?;
    let namespace = PathBuf::from(inside.stdout_text().trim());
    world.machine.write(FILE, b"one\n").await.map_err(void)?;
    match fault.world {
        EnvironmentKind::Browser => {
            let page = "<title>page</title><input autofocus><button>Go</button>";
            world.machine.write("/home/user/page.html", page.as_bytes()).await.map_err(void)?;
            let open = Action::Navigate { url: "file:///home/user/page.html".into() };
            world.environment.act(&open).await?;
        }
        _ => {
            world.machine.launch(&Command::new(["mousepad", FILE])).await.map_err(void)?;
            while world.environment.observe(Want::default()).await?.windows.is_empty() {
                sources.clock.pause(Duration::from_millis(50), Why::PollFloor).await;
            }
        }
    }
    let (moment, during, mut told) = (seed.next(TURNS - 2), seed.next(2), String::new());
    for turn in 0..TURNS {
        // The harm comes before an action, or while it goes on.
        let (before, within) = (turn == moment && during == 0, turn == moment && during == 1);
        let machine = Arc::clone(&world.machine);
        let harm = async |now: bool| {
            if now {
                assert!(strike(fault, machine.as_ref(), &namespace).await, "nobody to hit: {}", fault.name);
            }
        };
        harm(before).await;
        let action = match seed.next(3) {
            0 => Action::Type { text: "word".into() },
            1 => Action::Key { chord: Chord::parse("Right").expect("a key"), hold_ms: None },
            _ => {
                let at = Target::Point(ScreenPoint::new(640, 300));
                Action::Click { at, button: Button::Left, count: 1, hold: None }
            }
        };
        let (report, ()) = tokio::join!(world.environment.act(&action), harm(within));
        told.push_str(&report?.text.unwrap_or_default());
        let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
        let seen = world.environment.observe(want).await?;
        told.push_str(&seen.remarks.join(" "));
    }
    world.machine.read(FILE).await.map_err(void)?;
    Ok(told)
}

/// What is wrong with an end, if anything.
fn complaint(fault: &Fault, end: &End) -> Option<String> {
    let has = |story: &str, words: &[&str]| {
        words.iter().any(|word| story.to_lowercase().contains(&word.to_lowercase()))
    };
    let right = match (fault.expected, end) {
        (Void(words), End::Void(story)) => has(story, words),
        (Told(words), End::Verdict(told)) => has(told, words),
        (Verdict | Either, End::Verdict(_)) => true,
        (Either, End::Void(story)) => !story.is_empty(),
        (Void(_), End::Verdict(_)) | (Verdict | Told(_), End::Void(_)) => false,
    };
    (!right).then(|| format!("{:?}: {}: {end:?}", fault.world, fault.name))
}

/// Runs so many trials with faults that a seed chooses, each kind of fault once before any comes again.
#[expect(clippy::print_stdout, reason = "a run is repeated by its seed")]
pub(crate) async fn run(seed: u64, count: usize) {
    println!("seed {seed}, {count} faults");
    let state = cell::state();
    let limits = CellLimits { memory: 2 << 30, files: 600 << 20, ..CellLimits::default() };
    let sources = Sources::new(state.path(), limits);
    let before = Held::now();
    let mut order = Seed(seed);
    let mut left: Vec<usize> = Vec::new();
    let plan: Vec<(usize, &Fault, Seed)> = (0..count)
        .map(|number| {
            if left.is_empty() {
                left = (0..FAULTS.len()).collect();
            }
            let place = usize::try_from(order.next(left.len() as u64)).unwrap_or(0);
            (number, &FAULTS[left.swap_remove(place)], Seed(order.next(u64::MAX)))
        })
        .collect();
    let trials = plan.into_iter().map(|(number, fault, seed)| {
        let sources = &sources;
        async move {
            let begun = sources.clock.mono();
            let ended = tokio::time::timeout(DEADLINE, trial(sources, fault, seed)).await;
            let seconds = (sources.clock.mono() - begun).as_secs_f64();
            let complaint = match &ended {
                Ok(end) => complaint(fault, end),
                Err(_) => Some(format!("{:?}: {}: not ended after {DEADLINE:?}", fault.world, fault.name)),
            };
            println!("{number:4} {seconds:6.1} s {:?} {}: {ended:?}", fault.world, fault.name);
            complaint
        }
    });
    let ends: Vec<Option<String>> =
        futures_util::stream::iter(trials).buffer_unordered(AT_ONCE).collect().await;
    let mut wrong: Vec<String> = ends.into_iter().flatten().collect();
    wrong.extend(leaks(&sources.state, before).await.into_iter().map(|leak| format!("left: {leak}")));
    assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
}

#[ignore = "counts what its process holds, so it runs alone: a lane of scripts/test"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_breaks_a_trial_ends_with_its_cause_and_leaves_nothing() {
    run(20_261_123, FAULTS.len()).await;
}
