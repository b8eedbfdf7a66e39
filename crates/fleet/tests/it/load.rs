//! Many workers at once: every result counts once, and how fast the queue is beside `pgbench` with the same statements.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apprentice_evaluator::run::{RunFolder, RunPlan};
use apprentice_fleet::{
    Claimant, FleetQuestion, ObservedAttempt, Queue, RunRecord, Stored, build, forecast_fleet,
};
use apprentice_protocol::{Clock as _, RunId, StopReason, Verdict, Why};
use apprentice_runs::row::TrialRow;
use apprentice_sandbox::SystemClock;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::postgres::{Server, database};
use crate::scene;

/// What a worker of the test needs.
#[derive(Clone)]
struct Job {
    address: String,
    plan: Arc<RunPlan>,
    rows: Arc<RunFolder>,
    /// How long a trial takes.
    trial: Duration,
    /// Begins when all workers are connected.
    begin: Arc<tokio::sync::Barrier>,
}

/// How long the questions of one worker took.
struct Took {
    /// The first one, which found nothing: its connection plans the statement.
    first: Duration,
    claims: Vec<Duration>,
}

/// Claims and delivers until nothing is left, as a worker that has waited for work.
async fn work(job: Job, name: String) -> Took {
    let queue = Queue::open(database(&job.address)).await.expect("a queue");
    let (build, clock, mut took) = (build(&job.plan), SystemClock::default(), Vec::new());
    let by = Claimant { worker: &name, build: &build, offers: &[], unfit: &[] };
    let begun = now();
    let none = Claimant { build: "none", ..by };
    assert_eq!(queue.claim(&none, Duration::from_secs(60)).await.expect("claims"), None);
    let first = begun.elapsed();
    job.begin.wait().await;
    if !job.trial.is_zero() {
        // Not all in one moment, as trials do not begin together either.
        clock.pause(job.trial.mul_f64(rand::random_range(0.0..1.0)), Why::TaskStep).await;
    }
    loop {
        let begun = now();
        let claimed = queue.claim(&by, Duration::from_secs(60)).await.expect("claims");
        let Some(one) = claimed else { return Took { first, claims: took } };
        took.push(begun.elapsed());
        if !job.trial.is_zero() {
            clock.pause(job.trial.mul_f64(rand::random_range(0.5..1.5)), Why::TaskStep).await;
        }
        let row = TrialRow {
            verdict: Verdict::Pass,
            void_cause: None,
            stop_reason: Some(StopReason::Done),
            ..job.rows.lost_row(&one.trial, one.attempt)
        };
        let stored = queue.deliver(&name, &row, None).await.expect("delivers");
        assert_eq!(stored, Stored::Taken);
    }
}

#[expect(clippy::disallowed_methods, reason = "measures")]
fn now() -> Instant {
    Instant::now()
}

fn record(plan: &RunPlan) -> RunRecord {
    RunRecord {
        plan: String::new(),
        plan_hash: String::new(),
        build: build(plan),
        artifacts: String::new(),
        suite_list: String::new(),
        suite_path: String::new(),
        book_list: None,
        priority: 0,
        max_usd: None,
        trial_usd: None,
        experiment: None,
        guidance: None,
    }
}

struct Load {
    server: Server,
    queue: Queue,
    plan: RunPlan,
    folder: TempDir,
}

impl Load {
    async fn of(seeds: u32) -> Self {
        let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
        scene::write_suite(folder.path());
        let plan = scene::planned(&scene::suite(folder.path()), seeds, "load");
        let queue = server.queue().await;
        Self { server, queue, plan, folder }
    }

    /// Queues the trials once more, as another run.
    async fn submit(&self, run: &str) -> Arc<RunPlan> {
        let plan = RunPlan { run: RunId::new(run), ..self.plan.clone() };
        assert!(self.queue.add(&plan, &record(&plan), &|_| vec![]).await.expect("adds"));
        self.server.psql("VACUUM ANALYZE apprentice_queue.trials");
        Arc::new(plan)
    }

    /// Has workers carry out a run. Returns trials per second, the times of the claims, and those of the first questions, in order.
    async fn carry_out(
        &self,
        plan: &Arc<RunPlan>,
        workers: usize,
        trial: Duration,
    ) -> (f64, Vec<Duration>, Vec<Duration>) {
        let folder = RunFolder::create(&self.folder.path().join("runs"), RunPlan::clone(plan));
        let job = Job {
            address: self.server.owner(),
            plan: Arc::clone(plan),
            rows: Arc::new(folder.expect("a folder")),
            trial,
            begin: Arc::new(tokio::sync::Barrier::new(workers + 1)),
        };
        let mut running = JoinSet::new();
        for worker in 0..workers {
            running.spawn(work(job.clone(), format!("w{worker}")));
        }
        job.begin.wait().await;
        let begun = now();
        let (mut took, mut first) = (Vec::new(), Vec::new());
        for worker in running.join_all().await {
            took.extend(worker.claims);
            first.push(worker.first);
        }
        let seconds = begun.elapsed().as_secs_f64();
        took.sort();
        first.sort();
        let (trials, run) = (plan.trials.len(), &plan.run);
        let counted = self.server.psql(&format!(
            "SELECT count(*), count(DISTINCT (trial, attempt)), count(DISTINCT trial), max(attempt)
             FROM apprentice_queue.attempts WHERE run = '{run}'"
        ));
        assert_eq!(counted, format!("{trials}|{trials}|{trials}|1"), "each result once");
        (f64::from(u32::try_from(trials).expect("few")) / seconds, took, first)
    }

    /// The peer: PostgreSQL's own load generator claims and delivers with the same statements. Returns pairs per second.
    fn pgbench(&self, plan: &RunPlan, clients: usize) -> f64 {
        let filled = |sql: &str, values: &[(&str, &str)]| {
            let code: Vec<&str> =
                sql.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
            values.iter().fold(code.join(" "), |sql, (name, value)| sql.replace(name, value))
        };
        let build = format!("'{}'", build(plan));
        let claim = filled(
            include_str!("../../src/queue/claim.sql"),
            &[
                ("$1", "'p' || :client_id"),
                ("$2", &build),
                ("$3", "'{}'::text[]"),
                ("$4", "'{}'::text[]"),
                ("$5", "60::double precision"),
            ],
        )
        .replace("RETURNING t.run, t.spec, t.attempt", "RETURNING t.run, t.trial, t.attempt");
        // As long as a row. What looks like one would have colons, which pgbench reads.
        let row = "x".repeat(serde_json::to_string(&self.sample_row(plan)).expect("text").len());
        let deliver = filled(
            include_str!("../../src/queue/deliver.sql"),
            &[
                ("$10", "NULL::text"),
                ("$1", ":run"),
                ("$2", ":trial"),
                ("$3", ":attempt"),
                ("$4", "('p' || :client_id)"),
                ("$5", ":row"),
                ("$6", "NULL::text"),
                ("$7", "NULL::double precision"),
                ("$8", "'final'"),
                ("$9", "'pass'"),
            ],
        );
        let script = self.folder.path().join("pair.sql");
        std::fs::write(&script, format!("{claim} \\gset\n{deliver};\n")).expect("writes");
        let each = plan.trials.len() / clients;
        let output = self.server.pgbench(&script, clients, each, &row);
        let rate = output.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate = rate.and_then(|rate| rate.split(' ').next()?.parse().ok());
        rate.unwrap_or_else(|| panic!("{output}"))
    }

    fn sample_row(&self, plan: &RunPlan) -> TrialRow {
        let folder = RunFolder::create(&self.folder.path().join("sample"), plan.clone()).expect("a folder");
        folder.lost_row(&plan.trials[0], 1)
    }
}

async fn load(workers: usize, seeds: u32) {
    let load = Load::of(seeds).await;
    // Before and after, as the load of the machine changes.
    let peer = load.submit("peer-1").await;
    let before = load.pgbench(&peer, workers);
    let plan = load.submit("own").await;
    let (rate, took, _) = load.carry_out(&plan, workers, Duration::ZERO).await;
    let peer = load.submit("peer-2").await;
    let after = load.pgbench(&peer, workers);
    let peer = f64::midpoint(before, after);
    let at = |took: &[Duration], share: usize| took[(took.len() - 1) * share / 1000];
    println!(
        "{workers} workers without a pause, {} trials: {rate:.0} claims and finishes per second, pgbench {peer:.0} \
         ({before:.0} before, {after:.0} after), ratio {:.2}; a claim: median {:.1?}, p99 {:.1?}",
        plan.trials.len(),
        rate / peer,
        at(&took, 500),
        at(&took, 990),
    );
    // With two thirds of what it can do asked of it, no claim waits long.
    let plan = load.submit("paced").await;
    let trial = Duration::from_secs_f64(f64::from(u32::try_from(workers).expect("few")) / (rate * 2.0 / 3.0));
    let (rate, took, first) = load.carry_out(&plan, workers, trial).await;
    println!(
        "{workers} workers with trials of {trial:.1?}: {rate:.0} claims and finishes per second; a claim: median {:.1?}, \
         p99 {:.1?}, longest {:.1?}; the first question of a connection, all at once: median {:.1?}, longest {:.1?}",
        at(&took, 500),
        at(&took, 990),
        at(&took, 1000),
        at(&first, 500),
        at(&first, 1000)
    );
    assert_eq!(load.server.psql("SELECT count(*) FROM apprentice_queue.refused"), "0");
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

/// A forecast on paper beside the real queue: simulated workers, whose trials take no more than time, share a few connections.
async fn simulated(workers: usize, seeds: u32, trial: Duration) {
    let load = Load::of(seeds).await;
    let plan = load.submit("simulated").await;
    let folder = RunFolder::create(&load.folder.path().join("runs"), RunPlan::clone(&plan));
    let rows = Arc::new(folder.expect("a folder"));
    let mut queues = Vec::new();
    for _ in 0..16 {
        queues.push(Arc::new(Queue::open(database(&load.server.owner())).await.expect("a queue")));
    }
    let begun = now();
    let mut running = JoinSet::new();
    for worker in 0..workers {
        let (queue, plan, rows) =
            (Arc::clone(&queues[worker % queues.len()]), Arc::clone(&plan), Arc::clone(&rows));
        running.spawn(async move {
            let (name, build, clock) = (format!("s{worker}"), build(&plan), SystemClock::default());
            let by = Claimant { worker: &name, build: &build, offers: &[], unfit: &[] };
            while let Some(one) = queue.claim(&by, Duration::from_secs(60)).await.expect("claims") {
                clock.pause(trial, Why::TaskStep).await;
                let row = TrialRow {
                    verdict: Verdict::Pass,
                    void_cause: None,
                    stop_reason: Some(StopReason::Done),
                    ..rows.lost_row(&one.trial, one.attempt)
                };
                assert_eq!(queue.deliver(&name, &row, None).await.expect("delivers"), Stored::Taken);
            }
        });
    }
    running.join_all().await;
    let seconds = begun.elapsed().as_secs_f64();
    let one = ObservedAttempt {
        seconds: trial.as_secs_f64(),
        usd: None,
        calls: 1.0,
        void: false,
        row_bytes: 1000.0,
    };
    let question = FleetQuestion {
        trials: plan.trials.len(),
        workers,
        jobs: 1,
        attempts: 3,
        lease_s: 60.0,
        file_bytes: 0.0,
        calls_per_minute: None,
    };
    let paper = forecast_fleet(&[one], &question).expect("a forecast").hours * 3600.0;
    let done = load.server.psql("SELECT count(*) FROM apprentice_queue.attempts WHERE verdict = 'pass'");
    assert_eq!(done, plan.trials.len().to_string(), "each result once");
    let used = load.server.psql("SELECT count(DISTINCT worker) FROM apprentice_queue.attempts");
    println!(
        "{workers} simulated workers, {done} trials of {trial:.1?}: {seconds:.1} s, on paper {paper:.1} s, ratio {:.2}; {used} of them worked",
        seconds / paper
    );
    assert!(seconds >= paper * 0.99, "the queue is no faster than the trials");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_simulated_workers_drive_the_queue() {
    simulated(100, 200, Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: `just fleet`"]
async fn a_thousand_simulated_workers_drive_the_queue() {
    simulated(1000, 2500, Duration::from_secs(10)).await;
}
