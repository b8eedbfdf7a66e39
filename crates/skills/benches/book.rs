//! Measures the time to open and to search a book: `cargo bench -p apprentice-skills --bench book -- BOOK QUERIES`,
//! with one query per line. Prints medians in milliseconds, as JSON. `scripts/bench-book` creates the books and
//! compares the results with those of other programs.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, may panic, and takes the time"
)]

use std::path::Path;
use std::time::Instant;
use std::{env, fs, hint};

use apprentice_skills::book::{At, Snapshot};

const OPENINGS: usize = 5;
const HITS: usize = 3;

fn main() {
    // Cargo adds flags of its own.
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [book, queries] = arguments.as_slice() else {
        println!("usage: BOOK QUERIES");
        return;
    };
    let open = || Snapshot::open(Path::new(book), At::Now).expect("a book");
    let opened = |_| {
        let mut book = None;
        let time = timed(|| book = Some(open()));
        // Closing is left out.
        drop(hint::black_box(book));
        time
    };
    let opening = median((0..OPENINGS).map(opened).collect());
    let book = open();
    let first = timed(|| drop(book.search("anything", HITS)));
    let queries = fs::read_to_string(queries).expect("queries");
    let search = |query| timed(|| drop(hint::black_box(book.search(query, HITS))));
    let searching = median(queries.lines().map(search).collect());
    println!(r#"{{"open_ms":{opening:.2},"first_search_ms":{first:.2},"search_ms":{searching:.4}}}"#);
}

/// Returns the duration in milliseconds.
fn timed(deed: impl FnOnce()) -> f64 {
    let began = Instant::now();
    deed();
    1000.0 * began.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
