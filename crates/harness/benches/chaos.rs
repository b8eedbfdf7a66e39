//! Many random faults in a row over trials on desktops and in browsers: `just chaos [COUNT] [SEED]`.
#![expect(clippy::expect_used, reason = "a test may panic")]

#[path = "../tests/it/cell.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod cell;
#[path = "../tests/it/chaos.rs"]
mod chaos;
#[path = "../tests/it/held.rs"]
mod held;
#[path = "../tests/it/sources.rs"]
mod sources;

use apprentice_protocol::Clock as _;
use apprentice_sandbox::SystemClock;

/// Faults without a number on the command line.
const COUNT: usize = 500;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |place: usize| words.get(place).map(|word| word.parse::<u64>().expect("a number"));
    let count = number(0).map_or(COUNT, |count| usize::try_from(count).expect("a count"));
    // Another seed each time, printed, so that a run can be repeated.
    let seed = number(1).unwrap_or_else(|| SystemClock::new().now().as_second().unsigned_abs());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(chaos::run(seed, count));
}
