//! What it costs to see: the time from an action to a settled picture, how often a view was taken too early, and the
//! size of the texts that a model gets, on real programs in a cell.
//!
//! `cargo bench -p apprentice-harness --bench seeing -- [PROGRAM…] [--trees FOLDER]`; with `--trees` each first tree is
//! kept as JSON.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and may panic")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::agent::{OUTLINE_BUDGET, ViewTexts};
use apprentice_harness::env::desktop::{DesktopConfig, DesktopSource};
use apprentice_protocol::{
    Action, Button, Chord, Clock, Command, EnvironmentKind, EnvironmentSource, Observation, ScreenPoint,
    Size, Target, TreeBudget, UiTree, View, Want, Why, World, WorldSpec, outline,
};
use apprentice_sandbox::{CellIsolation, CellLimits, SystemClock};

const SCREEN: Size = Size::new(1280, 800);
/// How long a program may take until its first view is whole.
const OPEN: Duration = Duration::from_secs(60);
/// A change that comes within this time after a view was missed by it.
const LATER: Duration = Duration::from_millis(700);
/// Looks in a row that must agree before a fresh program counts as open.
const AGREE: u32 = 3;

/// A program, and the actions that are measured in it. The first is repeated for the median.
struct Program {
    name: &'static str,
    argv: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    /// Keys that bring the program to where it is measured.
    before: &'static [&'static str],
    acts: fn() -> Vec<Action<ScreenPoint>>,
}

fn click(x: i32, y: i32) -> Action<ScreenPoint> {
    let at = Target::Point(ScreenPoint::new(x, y));
    Action::Click { at, button: Button::Left, count: 1, hold: None }
}

fn key(chord: &str) -> Action<ScreenPoint> {
    Action::Key { chord: Chord::parse(chord).expect("a chord"), hold_ms: None }
}

fn text(text: &str) -> Action<ScreenPoint> {
    Action::Type { text: text.into() }
}

const TABLE: &str = "Name,Town,Sum\nOrder 1,Kiel,12\nOrder 2,Bonn,30\nOrder 3,Kiel,7\nOrder 4,Jena,19\n";
const PAGE: &str = "<!doctype html><title>Shop</title><h1>Cups</h1><p>Twelve kinds.</p><button \
                    onclick=\"document.title='Added';this.textContent='In the basket'\">Add to basket</button>";

const PROGRAMS: &[Program] = &[
    Program {
        name: "calc",
        argv: &["soffice", "--norestore", "--calc", "/home/user/orders.csv"],
        files: &[("/home/user/orders.csv", TABLE)],
        before: &["Return", "ctrl+Home"],
        acts: || {
            vec![
                key("Escape"),
                key("Down"),
                text("7"),
                key("Return"),
                key("alt+o"),
                key("Escape"),
                key("ctrl+b"),
            ]
        },
    },
    Program {
        name: "writer",
        argv: &["soffice", "--norestore", "--writer", "/home/user/letter.txt"],
        files: &[("/home/user/letter.txt", "Dear Ms Ott,\n\nthe cups have come.\n")],
        before: &[],
        acts: || {
            vec![
                key("Left"),
                text("word "),
                key("ctrl+b"),
                key("alt+f"),
                key("Escape"),
                key("ctrl+h"),
                key("Escape"),
            ]
        },
    },
    Program {
        name: "gimp",
        argv: &["gimp", "--no-splash"],
        files: &[],
        before: &[],
        acts: || vec![click(640, 400), key("ctrl+n"), key("Escape"), key("alt+f"), key("Escape")],
    },
    Program {
        name: "thunar",
        argv: &["thunar", "/home/user"],
        files: &[("/home/user/notes.txt", "one"), ("/home/user/more.txt", "two")],
        before: &[],
        acts: || {
            vec![click(900, 700), key("ctrl+a"), key("Escape"), key("F10"), key("Escape"), key("alt+Up")]
        },
    },
    Program {
        name: "chromium",
        argv: &["chromium", "--force-renderer-accessibility", "/home/user/shop.html"],
        files: &[("/home/user/shop.html", PAGE)],
        before: &[],
        acts: || vec![click(900, 700), key("Tab"), key("Return"), key("ctrl+t"), key("ctrl+w")],
    },
];

async fn open() -> (World, tempfile::TempDir) {
    let state = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(state.path(), std::fs::Permissions::from_mode(0o755)).expect("open");
    let config = DesktopConfig {
        network: apprentice_sandbox::NetworkPolicy::None,
        isolation: CellIsolation::Bubblewrap,
        program: PathBuf::from(env!("CARGO_BIN_EXE_apprentice-world")),
        argument: "cell-supervisor".into(),
        state: state.path().to_owned(),
        golden: None,
        limits: CellLimits::default(),
        sight: apprentice_harness::env::desktop::Sight::default(),
    };
    let source = DesktopSource::new(config, Arc::new(SystemClock::new()));
    let environment = EnvironmentKind::Desktop;
    let spec = WorldSpec::new(environment, SCREEN);
    (source.open(&spec).await.expect("a world"), state)
}

async fn see(world: &mut World, tree: bool) -> Observation {
    let want = Want { screenshot: true, tree: tree.then(TreeBudget::default) };
    world.environment.observe(want).await.expect("the world stands")
}

fn hash(seen: &Observation) -> String {
    seen.screenshot.as_ref().map(|image| image.hash.to_string()).unwrap_or_default()
}

/// What a later view shows that the earlier one missed, references aside.
fn difference(view: &Observation, later: &Observation) -> Option<String> {
    let lines = |seen: &Observation| -> Vec<String> {
        let nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes
            .map(|node| format!("{} {:?} {:?} {:?}", node.role.as_str(), node.name, node.value, node.states))
            .collect()
    };
    let (before, after) = (lines(view), lines(later));
    let new = after.iter().find(|line| !before.contains(line)).map(|line| format!("+ {line}"));
    let gone = || before.iter().find(|line| !after.contains(line)).map(|line| format!("- {line}"));
    let windows = || (view.windows != later.windows).then(|| "windows".to_owned());
    new.or_else(gone).or_else(windows)
}

/// The texts that a model gets of a program's screens, and their lengths in characters.
#[derive(Default)]
struct Texts {
    told: ViewTexts,
    all: String,
    /// Characters of each view as a whole outline, and as it is sent.
    lengths: Vec<[usize; 2]>,
}

impl Texts {
    fn note(&mut self, act: &str) {
        self.all.push_str("===== ");
        self.all.push_str(act);
        self.all.push('\n');
    }

    fn add(&mut self, tree: &UiTree) {
        let view = View::whole(SCREEN);
        let text = self.told.next(tree, &view);
        let whole = outline(tree, &view, OUTLINE_BUDGET);
        self.lengths.push([whole.as_str().chars().count(), text.chars().count()]);
        self.all.push_str(&text);
    }

    fn print(&self) {
        let sum = |column: usize| self.lengths.iter().map(|lengths| lengths[column]).sum::<usize>();
        let mean = |column: usize| sum(column) / self.lengths.len().max(1);
        let share = |now: usize, before: usize| now * 100 / before.max(1);
        let first = self.lengths.first().copied().unwrap_or_default();
        println!(
            "          first view {} characters, was {} ({} %); mean of {} views {}, was {} ({} %)",
            first[1],
            first[0],
            share(first[1], first[0]),
            self.lengths.len(),
            mean(1),
            mean(0),
            share(mean(1), mean(0)),
        );
    }
}

/// The median in milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}

/// Starts a program in a world and returns its first view once it is open.
async fn start(program: &Program, world: &mut World, clock: &SystemClock) -> Observation {
    for (path, content) in program.files {
        world.machine.write(path, content.as_bytes()).await.expect("written");
    }
    world.machine.launch(&Command::new(program.argv.iter().copied())).await.expect("launched");
    let begun = clock.mono();
    let (mut agreed, mut last) = (0, Observation::default());
    let mut before = program.before.iter();
    while agreed < AGREE && clock.mono() - begun < OPEN {
        let seen = see(world, true).await;
        let whole = !seen.windows.is_empty() && seen.tree.as_ref().is_some_and(|tree| tree.nodes.len() > 5);
        agreed = if whole && (hash(&seen), &seen.tree) == (hash(&last), &last.tree) { agreed + 1 } else { 0 };
        last = seen;
        if agreed == AGREE
            && let Some(chord) = before.next()
        {
            world.environment.act(&key(chord)).await.expect("acts");
            agreed = 0;
        }
        clock.pause(LATER, Why::PollFloor).await;
    }
    last
}

async fn measure(program: &Program, trees: Option<&PathBuf>) {
    let clock = SystemClock::new();
    let (mut world, _state) = open().await;
    let last = start(program, &mut world, &clock).await;
    let mut texts = Texts::default();
    texts.add(last.tree.as_ref().expect("a tree"));
    if let (Some(folder), Some(tree)) = (trees, &last.tree) {
        let path = folder.join(format!("{}.json", program.name));
        std::fs::write(path, serde_json::to_vec(tree).expect("JSON")).expect("written");
    }
    let acts = (program.acts)();
    let first = acts.first().expect("an action").clone();
    let (mut settled, mut seen) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let begun = clock.mono();
        world.environment.act(&first).await.expect("acts");
        settled.push(clock.mono() - begun);
        see(&mut world, false).await;
        seen.push(clock.mono() - begun);
        clock.pause(Duration::from_millis(100), Why::PollFloor).await;
    }
    let (mut stale, mut times) = (Vec::new(), Vec::new());
    for act in acts.iter().chain(&acts) {
        let begun = clock.mono();
        world.environment.act(act).await.expect("acts");
        let view = see(&mut world, true).await;
        times.push(clock.mono() - begun);
        texts.note(&format!("{act:?}"));
        texts.add(view.tree.as_ref().expect("a tree"));
        clock.pause(LATER, Why::PollFloor).await;
        let later = see(&mut world, true).await;
        if let Some(difference) = difference(&view, &later) {
            stale.push(format!("{act:?}: {difference}"));
        }
    }
    println!(
        "{:9} first act settled {:6.1} ms, seen {:6.1} ms; acts seen with the tree {:7.1} ms; stale {} of {}",
        program.name,
        median(settled),
        median(seen),
        median(times),
        stale.len(),
        acts.len() * 2,
    );
    texts.print();
    if let Some(folder) = trees {
        std::fs::write(folder.join(format!("{}.txt", program.name)), &texts.all).expect("written");
    }
    stale.iter().for_each(|act| println!("          too early after {act}"));
    world.environment.close(Duration::from_secs(10)).await.expect("closes");
}

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let trees = words.iter().position(|word| word == "--trees").map(|place| {
        words.remove(place);
        PathBuf::from(words.remove(place))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for program in PROGRAMS {
        if words.is_empty() || words.iter().any(|word| word == program.name) {
            runtime.block_on(measure(program, trees.as_ref()));
        }
    }
}
