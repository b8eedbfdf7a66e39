//! Many trials in one process: what it holds stays as it was. `just soak` runs the long form.

use apprentice_protocol::{Action, Chord, EnvironmentKind, Size, TreeBudget, Want};
use apprentice_sandbox::CellLimits;
use serde_json::json;

use crate::bench::{Bench, acts, done, editor};
use crate::cell;
use crate::held::{Held, leaks};
use crate::sources::Sources;

/// Trials of a soak, and those after which memory is first read: an allocator keeps what it once got.
const TRIALS: usize = 2000;
const WARM: usize = 400;
/// One trial in so many is one in a cell, in turns a desktop and a browser.
const CELL: usize = 40;
/// So many kilobytes more may be held at the end.
const GROWTH: u64 = 4 << 10;

/// A trial in an in-memory world.
async fn in_memory() {
    let menu = |id: &str| acts(json!([{ "do": "click", "at": { "ref": id } }]));
    let left = Bench::new(editor(), vec![menu("n2"), menu("n4"), menu("n5"), done()]).run().await;
    assert_eq!(left.ended.spent.turns, 4);
}

/// A trial in a cell: it is opened, acted in, seen and closed.
async fn in_cell(sources: &Sources, environment: EnvironmentKind) {
    let mut world = sources.open(environment, Size::new(640, 480)).await.expect("a world");
    for chord in ["Tab", "Down"] {
        let chord = Chord::parse(chord).expect("a chord");
        world.environment.act(&Action::Key { chord, hold_ms: None }).await.expect("acts");
        let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
        world.environment.observe(want).await.expect("the world stands");
    }
    world.environment.close(std::time::Duration::from_secs(20)).await.expect("closes");
}

#[ignore = "takes minutes, and counts what its process holds, so it runs alone and by name"]
#[tokio::test]
async fn two_thousand_trials_leave_everything_as_it_was() {
    let state = cell::state();
    let sources = Sources::new(state.path(), CellLimits::default());
    let mut before = Held::now();
    for number in 0..TRIALS {
        match (number % CELL, number % (2 * CELL)) {
            (0, 0) => in_cell(&sources, EnvironmentKind::Desktop).await,
            (0, _) => in_cell(&sources, EnvironmentKind::Browser).await,
            _ => in_memory().await,
        }
        if number == WARM {
            before = Held::now();
        }
        if number % WARM == 0 {
            println!("{number}: {:?}", Held::now());
        }
    }
    let after = Held::now();
    println!("{TRIALS}: {after:?}, {before:?} after the first {WARM}");
    let left = leaks(state.path(), before).await;
    assert!(left.is_empty(), "left: {left:?}");
    assert!(after.memory_kb <= before.memory_kb + GROWTH, "memory in kB: {before:?}, then {after:?}");
    assert_eq!((after.descriptors, after.threads), (before.descriptors, before.threads));
}
