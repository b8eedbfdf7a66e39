//! What worlds cost: pictures, actions until they are seen, fresh worlds, trees, and many cells at once.
//!
//! Each click of a row changes something, which is read back from the program or page that was clicked; a row whose click did nothing
//! is no row. Prints one line of JSON for each row. `scripts/bench/worlds` runs it beside the programs that it is compared with.
//! `cargo bench -p apprentice-harness --bench worlds -- --pages FOLDER [--rounds N] [ROW…]`.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and may panic")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::env::browser::PagePictures;
use apprentice_harness::env::warm_pool::WarmPool;
use apprentice_protocol::{
    Action, Button, ChangeWait, Chord, Clock as _, Command, EnvironmentKind, EnvironmentSource as _,
    Observation, ScreenPoint, Size, Target, TreeBudget, Want, World, WorldSpec,
};
use apprentice_sandbox::{CellLimits, SystemClock};

#[path = "../tests/it/cell.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod cell;
#[path = "worlds/clicks.rs"]
mod clicks;
#[path = "worlds/contexts.rs"]
mod contexts;
#[path = "../tests/it/sources.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod sources;
#[path = "worlds/typing.rs"]
mod typing;

use sources::Sources;

const HD: Size = Size::new(1920, 1080);
const PAGE: Size = Size::new(1280, 720);
/// How long a program may take until its window is whole.
const OPEN: Duration = Duration::from_secs(60);
/// Cells that stand at once in the row `many`.
const MANY: usize = 32;
/// A program that draws nothing for this long has ended its start.
const STILL: Duration = Duration::from_millis(500);
const CLOSE: Duration = Duration::from_secs(20);
/// An answer of a model.
const MODEL: Duration = Duration::from_secs(4);
/// What starts Calc.
const CALC: &str = "/usr/bin/localc";
/// A Chromium without windows.
const SHELL: &str = "chromium-headless-shell";
/// A tree without a limit that a page of 11,000 nodes reaches.
const WHOLE: TreeBudget =
    TreeBudget { nodes: 20_000, depth: 200, ms: 60_000, hidden: apprentice_protocol::HiddenNodes::Skip };

/// What was asked for on the command line.
struct Plan {
    pages: PathBuf,
    rounds: usize,
    rows: Vec<String>,
}

impl Plan {
    fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|wanted| wanted == row)
    }
}

/// The sources of worlds, and the folder that their cells lie in.
struct Bench {
    sources: Sources,
    // Outlives the cells.
    _state: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let state = cell::state();
        Self { sources: Sources::new(state.path(), CellLimits::default()), _state: state }
    }

    fn clock(&self) -> &SystemClock {
        &self.sources.clock
    }

    async fn desktop(&self) -> World {
        self.sources.open(EnvironmentKind::Desktop, HD).await.expect("a desktop")
    }

    async fn page(&self, plan: &Plan, name: &str) -> World {
        let world = self.sources.open(EnvironmentKind::Browser, PAGE).await.expect("a browser");
        self.show(world, plan, name).await
    }

    /// Opens a page in a fresh browser.
    async fn show(&self, mut world: World, plan: &Plan, name: &str) -> World {
        let path = format!("/home/user/{name}.html");
        let page = std::fs::read(plan.pages.join(format!("{name}.html"))).expect("the page");
        world.machine.write(&path, &page).await.expect("written");
        act(&mut world, &Action::Navigate { url: format!("file://{path}") }).await;
        world
    }

    /// Times an action, once for warming up and then so many times.
    async fn time<F: AsyncFnMut()>(&self, rounds: usize, mut action: F) -> Vec<f64> {
        action().await;
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let begun = self.clock().mono();
            action().await;
            times.push((self.clock().mono() - begun).as_secs_f64() * 1000.0);
        }
        times
    }
}

fn click(x: i32, y: i32) -> Action<ScreenPoint> {
    let at = Target::Point(ScreenPoint::new(x, y));
    Action::Click { at, button: Button::Left, count: 1, hold: None }
}

async fn act(world: &mut World, action: &Action<ScreenPoint>) {
    world.environment.act(action).await.expect("the world stands");
}

async fn see(world: &mut World, want: Want) -> Observation {
    world.environment.observe(want).await.expect("the world stands")
}

async fn close(world: World) {
    world.environment.close(CLOSE).await.expect("closes");
}

/// Waits until nothing is drawn for a while.
async fn rest(world: &mut World) {
    while world.environment.await_change(STILL).await.expect("the world stands") == ChangeWait::Changed {
        see(world, Want { screenshot: false, tree: Some(TreeBudget::default()) }).await;
    }
}

fn print(row: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let (least, most) = (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(0.0));
    let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
    let p90 = times.get(times.len() * 9 / 10).copied().unwrap_or(most);
    let line = serde_json::json!({
        "row": row, "median": median, "least": least, "p90": p90, "most": most, "count": times.len(),
    });
    println!("{line}");
}

/// Starts a program and waits until two whole views in a row are the same.
async fn launch(bench: &Bench, world: &mut World, argv: &[&str]) {
    world.machine.launch(&Command::new(argv.iter().copied())).await.expect("launched");
    let (begun, mut last) = (bench.clock().mono(), Observation::default());
    while bench.clock().mono() - begun < OPEN {
        let seen = see(world, Want { screenshot: true, tree: Some(TreeBudget::default()) }).await;
        let hash = |seen: &Observation| seen.screenshot.as_ref().map(|image| image.hash.clone());
        let nodes = seen.tree.as_ref().map_or(0, |tree| tree.nodes.len());
        if !seen.windows.is_empty() && nodes > 5 && (hash(&seen), &seen.tree) == (hash(&last), &last.tree) {
            return;
        }
        last = seen;
        // Nothing is drawn for a while, or the next look is taken at once.
        world.environment.await_change(STILL).await.expect("the world stands");
    }
}

/// Pictures and clicks on a desktop that shows a text in an editor.
async fn desktop(bench: &Bench, plan: &Plan) {
    let mut world = bench.desktop().await;
    let text = std::fs::read(plan.pages.join("text.txt")).expect("the text");
    world.machine.write("/home/user/text.txt", &text).await.expect("written");
    launch(bench, &mut world, &["mousepad", "/home/user/text.txt"]).await;
    let machine = Arc::clone(&world.machine);
    let pictures = bench.time(plan.rounds, async || {
        machine.screenshot().await.expect("a picture");
    });
    print("picture", pictures.await);
    clicks::into_text(bench, &mut world, plan.rounds).await;
    close(world).await;
}

/// A step in a browser: a click, the picture, and the whole tree.
async fn step(bench: &Bench, plan: &Plan, page: &str, row: &str) {
    let mut world = bench.page(plan, page).await;
    let want = Want { screenshot: true, tree: Some(WHOLE) };
    let nodes = see(&mut world, want).await.tree.map_or(0, |tree| tree.nodes.len());
    let mut clicks = Vec::new();
    let mut seen = Observation::default();
    let steps = bench.time(plan.rounds, async || {
        let begun = bench.clock().mono();
        act(&mut world, &click(160, 205)).await;
        clicks.push((bench.clock().mono() - begun).as_secs_f64() * 1000.0);
        seen = see(&mut world, want).await;
        assert_eq!(counted_clicks(&seen), Some(clicks.len()), "the page counts what was clicked on it");
    });
    let steps = steps.await;
    print(&format!("step-{row}"), steps);
    // The first round warms up.
    print(&format!("step-{row}-click"), clicks.split_off(1));
    println!("{}", serde_json::json!({ "row": format!("nodes-{row}"), "value": nodes }));
    close(world).await;
}

/// How many clicks a page says that it got.
fn counted_clicks(seen: &Observation) -> Option<usize> {
    let nodes = &seen.tree.as_ref()?.nodes;
    nodes.iter().find_map(|node| node.name.strip_suffix(" clicks")?.parse().ok())
}

/// What of a look is the picture, and what the tree. The page is at rest when an action returns, so a look that follows waits
/// for nothing.
async fn looks(bench: &Bench, plan: &Plan, page: &str) {
    let mut world = bench.page(plan, page).await;
    let looks = [
        ("picture", Want { screenshot: true, tree: None }),
        ("tree", Want { screenshot: false, tree: Some(WHOLE) }),
    ];
    let mut clicked = 0;
    for (name, want) in looks {
        let mut times = Vec::new();
        for _ in 0..=plan.rounds {
            act(&mut world, &click(160, 205)).await;
            let begun = bench.clock().mono();
            see(&mut world, want).await;
            times.push((bench.clock().mono() - begun).as_secs_f64() * 1000.0);
        }
        clicked += times.len();
        let seen = see(&mut world, Want { screenshot: false, tree: Some(WHOLE) }).await;
        assert_eq!(counted_clicks(&seen), Some(clicked), "the page counts what was clicked on it");
        print(&format!("step-{page}-{name}"), times.split_off(1));
    }
    close(world).await;
}

/// A step in a browser without windows, and a fresh one.
async fn shell(plan: &Plan) {
    let mut bench = Bench::new();
    bench.sources.browser.program = SHELL.to_owned();
    bench.sources.browser.pictures = PagePictures::Protocol;
    step(&bench, plan, "small", "headless-shell").await;
    let mut times = Vec::new();
    for _ in 0..plan.rounds.min(10) {
        times.push(fresh_browser(&bench, plan).await);
    }
    print("fresh-headless-shell", times);
}

/// The time until a fresh browser shows a page.
async fn fresh_browser(bench: &Bench, plan: &Plan) -> f64 {
    let begun = bench.clock().mono();
    let mut world = bench.page(plan, "small").await;
    see(&mut world, Want { screenshot: true, tree: Some(WHOLE) }).await;
    let time = (bench.clock().mono() - begun).as_secs_f64() * 1000.0;
    close(world).await;
    time
}

/// Fresh worlds, until they can be clicked in.
async fn fresh(bench: &Bench, plan: &Plan) {
    let (mut browsers, mut desktops) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds.min(10) {
        browsers.push(fresh_browser(bench, plan).await);
        let begun = bench.clock().mono();
        let mut world = bench.desktop().await;
        see(&mut world, Want { screenshot: true, tree: None }).await;
        desktops.push((bench.clock().mono() - begun).as_secs_f64() * 1000.0);
        close(world).await;
    }
    print("fresh-browser", browsers);
    print("fresh-desktop", desktops);
}

/// Fresh browsers as the trials of a run get them: started while the trial before waits for its model.
async fn started_ahead(bench: &Bench, plan: &Plan) {
    let state = cell::state();
    let browser = Sources::new(state.path(), CellLimits::default()).browser;
    let pool = WarmPool::new(Arc::new(browser), 1, Box::new(|| true));
    let spec = WorldSpec::new(EnvironmentKind::Browser, PAGE);
    let mut times = Vec::new();
    for _ in 0..=plan.rounds.min(10) {
        let begun = bench.clock().mono();
        let world = pool.open(&spec).await.expect("a browser");
        let mut world = bench.show(world, plan, "small").await;
        see(&mut world, Want { screenshot: true, tree: Some(WHOLE) }).await;
        times.push((bench.clock().mono() - begun).as_secs_f64() * 1000.0);
        // The page does nothing by itself, so this lasts as long as an answer of a model.
        world.environment.await_change(MODEL).await.expect("the world stands");
        close(world).await;
    }
    // Nobody could start the first one ahead.
    print("fresh-browser-ahead", times.split_off(1));
}

/// A desktop with a small table in a spreadsheet.
async fn spreadsheet(bench: &Bench) -> World {
    // Without Calc, LibreOffice shows something else.
    assert!(Path::new(CALC).is_file(), "{CALC} is missing: install the package libreoffice-calc");
    let mut world = bench.desktop().await;
    let table = "Name,Town,Sum\nOrder 1,Kiel,12\nOrder 2,Bonn,30\n";
    world.machine.write("/home/user/orders.csv", table.as_bytes()).await.expect("written");
    launch(bench, &mut world, &["soffice", "--norestore", "--calc", "/home/user/orders.csv"]).await;
    act(&mut world, &Action::Key { chord: Chord::parse("Return").expect("a key"), hold_ms: None }).await;
    rest(&mut world).await;
    world
}

/// The tree of a spreadsheet, here and by a script that stands in the folder of the pages.
async fn tree(bench: &Bench, plan: &Plan) {
    let mut world = spreadsheet(bench).await;
    let budget = TreeBudget { hidden: apprentice_protocol::HiddenNodes::Read, ..WHOLE };
    let mut nodes = 0;
    let rounds = plan.rounds.min(10);
    let machine = Arc::clone(&world.machine);
    let times = bench.time(rounds, async || {
        nodes = machine.tree(&budget).await.expect("a tree").nodes.len();
    });
    let times = times.await;
    print("tree", times);
    // The next view of an agent: what cannot have changed is not asked again.
    let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
    let (mut keys, mut seen) = (["Down", "Up"].into_iter().cycle(), Vec::new());
    for _ in 0..=rounds {
        let chord = Chord::parse(keys.next().unwrap_or("Down")).expect("a key");
        act(&mut world, &Action::Key { chord, hold_ms: None }).await;
        let begun = bench.clock().mono();
        see(&mut world, want).await;
        seen.push((bench.clock().mono() - begun).as_secs_f64() * 1000.0);
    }
    print("tree-again", seen.split_off(1));
    println!("{}", serde_json::json!({ "row": "nodes-tree", "value": nodes }));
    let script = std::fs::read(plan.pages.join("tree.py")).expect("the script");
    world.machine.write("/home/user/tree.py", &script).await.expect("written");
    let command = Command::new(["/usr/bin/python3", "/home/user/tree.py", &rounds.to_string()]);
    let done = world.machine.run(&command).await.expect("ran");
    // One line of JSON, or nothing where the peer is not installed.
    println!("{}", done.stdout_text().trim());
    close(world).await;
}

/// Desktop cells that stand at once: how many answer, and what each takes of memory.
async fn many(bench: &Bench) {
    let before = memory_below(std::process::id());
    let begun = bench.clock().mono();
    let worlds = futures_util::future::join_all((0..MANY).map(|_| bench.desktop())).await;
    let pictures = worlds.iter().map(|world| world.machine.screenshot());
    let answered = futures_util::future::join_all(pictures).await.into_iter().filter(Result::is_ok).count();
    let seconds = (bench.clock().mono() - begun).as_secs_f64();
    let each = memory_below(std::process::id()).saturating_sub(before) / MANY as u64;
    println!(
        "{}",
        serde_json::json!({ "row": "many", "cells": MANY, "answered": answered, "seconds": seconds, "kilobytes": each })
    );
    for world in worlds {
        close(world).await;
    }
}

/// Kilobytes of memory of all processes below one, each shared page divided among its users.
fn memory_below(root: u32) -> u64 {
    let field = |path: &Path, place: usize| -> Option<u32> {
        let stat = std::fs::read_to_string(path.join("stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(place)?.parse().ok()
    };
    let processes: Vec<(u32, u32, PathBuf)> = std::fs::read_dir("/proc")
        .expect("processes")
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, field(&entry.path(), 1)?, entry.path()))
        })
        .collect();
    let mut below = vec![root];
    let mut place = 0;
    while let Some(parent) = below.get(place).copied() {
        below.extend(processes.iter().filter(|(_, of, _)| *of == parent).map(|(pid, ..)| *pid));
        place += 1;
    }
    let size = |path: &Path| -> u64 {
        let text = std::fs::read_to_string(path.join("smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    let ours = processes.iter().filter(|(pid, ..)| *pid != root && below.contains(pid));
    ours.map(|(_, _, path)| size(path)).sum()
}

async fn measure(plan: &Plan) {
    let bench = Bench::new();
    if plan.wants("desktop") {
        desktop(&bench, plan).await;
    }
    if plan.wants("clicks") {
        clicks::at_files(&bench, plan).await;
        clicks::at_cells(&bench, plan).await;
    }
    for page in ["small", "big"] {
        if plan.wants(page) {
            step(&bench, plan, page, page).await;
        }
    }
    for page in ["small", "big"] {
        if plan.wants("looks") {
            looks(&bench, plan, page).await;
        }
    }
    if plan.wants("typing") {
        typing::into_page(&bench, plan).await;
    }
    if plan.wants("shell") {
        shell(plan).await;
    }
    if plan.wants("fresh") {
        fresh(&bench, plan).await;
        started_ahead(&bench, plan).await;
    }
    if plan.wants("contexts") {
        contexts::contexts(plan, "chromium").await;
    }
    if plan.wants("contexts-shell") {
        contexts::contexts(plan, SHELL).await;
    }
    if plan.wants("tree") {
        tree(&bench, plan).await;
    }
    if plan.wants("many") {
        many(&bench).await;
    }
}

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let mut take = |name: &str| {
        let place = words.iter().position(|word| word == name)?;
        words.remove(place);
        (place < words.len()).then(|| words.remove(place))
    };
    let pages = PathBuf::from(take("--pages").expect("--pages FOLDER, as scripts/bench/worlds makes it"));
    let rounds = take("--rounds").map_or(20, |count| count.parse().expect("a number of rounds"));
    let plan = Plan { pages, rounds, rows: words };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(measure(&plan));
}
