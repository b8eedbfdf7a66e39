//! Measures the time to open and to search a book: `cargo bench -p apprentice-learning --bench book -- BOOK QUERIES`,
//! with one query per line. Prints medians in milliseconds, as JSON. `scripts/bench/book` creates the books and
//! compares the results with those of other programs.
//!
//! `… -- duplicates 10000` measures one scan for duplicates instead, in a book of so many skills in one domain.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, may panic, and takes the time"
)]

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use std::{env, fs, hint};

use apprentice_learning::cleanup::{CleanupOptions, SkillEmbeddings, find_cleanup_tasks};
use apprentice_skillbook::{At, Snapshot};
use apprentice_wording::EmbeddingModel;

const OPENINGS: usize = 5;
const HITS: usize = 3;

fn main() {
    // Cargo adds flags of its own.
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [book, queries] = arguments.as_slice() else {
        println!("usage: BOOK QUERIES | duplicates SKILLS");
        return;
    };
    if book == "duplicates" {
        return duplicates(queries.parse().expect("a number of skills"));
    }
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
    let book = book.with_embedding(Some(Arc::new(EmbeddingModel::builtin())));
    let find = |query| timed(|| drop(hint::black_box(at_once(book.find(query, HITS)))));
    let first_find = find("anything");
    let finding = median(queries.lines().map(find).collect());
    println!(
        r#"{{"open_ms":{opening:.2},"first_search_ms":{first:.2},"search_ms":{searching:.4},"first_find_ms":{first_find:.2},"find_ms":{finding:.4}}}"#
    );
}

/// Returns the result of a future that waits for nothing, as the built-in vectors need no server.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    }
}

/// Scans a book of skills with about sixty words each, some common and most rare; every hundredth repeats the one before.
fn duplicates(skills: u64) {
    let folder = tempfile::TempDir::new().expect("a folder");
    let domain = folder.path().join("program");
    fs::create_dir(&domain).expect("a folder");
    let mut last = String::new();
    let mut seed = 1u64;
    for number in 0..skills {
        let mut word = |_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let chance = seed >> 33;
            // A quarter of the words come from forty common ones.
            if chance.is_multiple_of(4) {
                format!("c{}", (chance >> 8) % 40)
            } else {
                format!("r{}", (chance >> 8) % 4000)
            }
        };
        let text = if number % 100 == 99 {
            last.clone()
        } else {
            (0..60).map(&mut word).collect::<Vec<_>>().join(" ")
        };
        let page =
            format!("## Situation\n\nYou need it.\n\n## Guidance\n\n{text}\n\n## Annotations\n\nNone\n");
        fs::write(domain.join(format!("skill-{number}.md")), page).expect("a page");
        last = text;
    }
    let book = Snapshot::open(folder.path(), At::Now).expect("a book");
    let mut found = 0;
    let options = CleanupOptions::default();
    let scan = timed(|| found = find_cleanup_tasks(book.state(), &options, None).len());
    let mut meant = 0;
    let by_meaning = timed(|| {
        let vectors =
            at_once(SkillEmbeddings::of(book.state(), &EmbeddingModel::builtin())).expect("vectors");
        meant = find_cleanup_tasks(book.state(), &options, Some(&vectors)).len();
    });
    println!(
        r#"{{"skills":{},"duplicates":{found},"scan_ms":{scan:.0},"duplicates_by_meaning":{meant},"scan_by_meaning_ms":{by_meaning:.0}}}"#,
        book.skills().count()
    );
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
