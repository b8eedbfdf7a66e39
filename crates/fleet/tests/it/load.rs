//! Many workers at once: every result counts once, and how fast the queue is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apprentice_evaluator::run::{RunFolder, RunPlan};
use apprentice_fleet::{Claimant, Queue, RunRecord, Stored, build};
use apprentice_protocol::{StopReason, Verdict};
use apprentice_results::row::TrialRow;
use tokio::task::JoinSet;

use crate::postgres::{Server, database};
use crate::scene;

/// Claims and delivers until nothing is left. Returns how long each claim took.
async fn work(address: String, name: String, plan: Arc<RunPlan>, rows: Arc<RunFolder>) -> Vec<Duration> {
    let queue = Queue::open(database(&address)).await.expect("a queue");
    let (build, mut took) = (build(&plan), Vec::new());
    let by = Claimant { worker: &name, build: &build, offers: &[], unfit: &[] };
    loop {
        let begun = now();
        let claimed = queue.claim(&by, Duration::from_secs(60)).await.expect("claims");
        took.push(begun.elapsed());
        let Some(one) = claimed else { return took };
        let row = TrialRow {
            verdict: Verdict::Pass,
            void_cause: None,
            stop_reason: Some(StopReason::Done),
            ..rows.lost_row(&one.trial, one.attempt)
        };
        let stored = queue.deliver(&name, &row, None).await.expect("delivers");
        assert_eq!(stored, Stored::Taken);
    }
}

#[expect(clippy::disallowed_methods, reason = "measures")]
fn now() -> Instant {
    Instant::now()
}

async fn load(workers: usize, seeds: u32) {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    scene::write_suite(folder.path());
    let plan = Arc::new(scene::planned(&scene::suite(folder.path()), seeds, "load"));
    let rows =
        Arc::new(RunFolder::create(&folder.path().join("runs"), RunPlan::clone(&plan)).expect("a folder"));
    let queue = server.queue().await;
    let record = RunRecord {
        plan: String::new(),
        plan_hash: String::new(),
        build: build(&plan),
        artifacts: String::new(),
        suite_list: String::new(),
        suite_path: String::new(),
        book_list: None,
        priority: 0,
        max_usd: None,
        trial_usd: None,
    };
    assert!(queue.add(&plan, &record, &|_| vec![]).await.expect("adds"));
    let begun = now();
    let mut running = JoinSet::new();
    for worker in 0..workers {
        let (address, plan, rows) = (server.owner(), Arc::clone(&plan), Arc::clone(&rows));
        running.spawn(work(address, format!("w{worker}"), plan, rows));
    }
    let mut took: Vec<Duration> = running.join_all().await.into_iter().flatten().collect();
    let seconds = begun.elapsed().as_secs_f64();
    took.sort();
    let trials = plan.trials.len();
    let at = |share: usize| took[(took.len() - 1) * share / 1000];
    println!(
        "{workers} workers, {trials} trials: {:.0} claims and finishes per second, {seconds:.1} s with {workers} connections opened; \
         a claim: median {:.1?}, p99 {:.1?}, longest {:.1?}",
        f64::from(u32::try_from(trials).expect("few")) / seconds,
        at(500),
        at(990),
        at(1000)
    );
    let counted = server.psql(
        "SELECT count(*), count(DISTINCT (trial, attempt)), count(DISTINCT trial), max(attempt) FROM apprentice_queue.attempts",
    );
    assert_eq!(counted, format!("{trials}|{trials}|{trials}|1"), "each result once");
    assert_eq!(server.psql("SELECT count(*) FROM apprentice_queue.refused"), "0");
    let states = server.psql("SELECT state || ' ' || count(*) FROM apprentice_queue.trials GROUP BY state");
    assert_eq!(states, format!("done {trials}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_workers_deliver_each_result_once() {
    load(20, 150).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: `just fleet`"]
async fn two_hundred_workers_deliver_five_thousand_results_once() {
    load(200, 2500).await;
}
