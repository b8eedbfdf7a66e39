//! Many trials in one process: its memory, descriptors and threads stay as they were.

use serde_json::json;

use crate::bench::{Bench, acts, done, editor};

/// Trials of a soak, and those after which memory is first read: an allocator keeps what it once got.
const TRIALS: usize = 2000;
const WARM: usize = 400;
/// So many kilobytes more may be held at the end.
const GROWTH: u64 = 4 << 10;

/// What this process holds: kilobytes of memory, descriptors, threads.
fn held() -> [u64; 3] {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("descriptors").count();
    [field("VmRSS:"), descriptors as u64, field("Threads:")]
}

#[ignore = "takes minutes, and counts what its process holds, so it runs alone and by name"]
#[tokio::test]
async fn two_thousand_trials_leave_memory_as_it_was() {
    let mut before = held();
    for number in 0..TRIALS {
        let menu = |id: &str| acts(json!([{ "do": "click", "at": { "ref": id } }]));
        let left = Bench::new(editor(), vec![menu("n2"), menu("n4"), menu("n5"), done()]).run().await;
        assert_eq!(left.ended.spent.turns, 4);
        if number == WARM {
            before = held();
        }
        if number % WARM == 0 {
            println!("{number}: memory (kB), descriptors, threads: {:?}", held());
        }
    }
    let after = held();
    println!("{TRIALS}: {after:?}, {before:?} after the first {WARM}");
    assert!(
        after[0] <= before[0] + GROWTH,
        "memory in kB: {} after {WARM}, {} at the end",
        before[0],
        after[0]
    );
    assert_eq!(after[1..], before[1..], "descriptors and threads");
}
