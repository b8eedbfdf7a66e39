//! Random faults while workers work: killed, stopped past their leases and woken, with wrong clocks; the database crashed or
//! restarted, connections cut; an object store that fails, stalls or is slow; runs submitted by two at once and again. Nothing is
//! lost, nothing counts twice, late results are refused, nothing hangs. The seed is printed; FLEET_SEED repeats a series.

use std::collections::BTreeMap;
use std::process::Child;
use std::time::Duration;

use apprentice_evaluator::run::RunPlan;
use apprentice_fleet::{Artifacts, Depth, Queue, fetch};
use apprentice_protocol::{Clock as _, RunId, Why};
use apprentice_sandbox::SystemClock;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::child::{Told, ended, lease_here, start_told};
use crate::faults::results;
use crate::gate::Passage;
use crate::postgres::{Server, database};
use crate::s3::Store;
use crate::scene;

/// Nothing of a series may stand still for longer.
const STANDSTILL: Duration = Duration::from_secs(150);
/// Workers at a time.
const WORKERS: usize = 4;

/// What is done to a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Kill,
    Sleep,
    CutConnections,
    CrashDatabase,
    RestartDatabase,
    FailStore,
    StallStore,
    SlowStore,
    SubmitTwice,
    SkewedWorker,
}

const FAULTS: [Fault; 10] = [
    Fault::Kill,
    Fault::Sleep,
    Fault::CutConnections,
    Fault::CrashDatabase,
    Fault::RestartDatabase,
    Fault::FailStore,
    Fault::StallStore,
    Fault::SlowStore,
    Fault::SubmitTwice,
    Fault::SkewedWorker,
];

struct Turmoil {
    server: Server,
    store: Store,
    queue: Queue,
    artifacts: Artifacts,
    plan: RunPlan,
    folder: TempDir,
    workers: Vec<Child>,
    /// Workers that sleep, and will be woken.
    asleep: Vec<Child>,
    begun: u32,
    lease: Duration,
    runs: Vec<RunPlan>,
    random: StdRng,
}

impl Turmoil {
    async fn begin(seed: u64) -> Self {
        let (server, store) = (Server::start().ready().await, Store::start().await);
        // As a program of the version before has left it, with a run of its own.
        server.psql(&format!(
            "CREATE SCHEMA apprentice_queue; SET search_path TO apprentice_queue;
             CREATE TABLE queue_version (version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT clock_timestamp());
             INSERT INTO queue_version (version) VALUES (1), (2); {} {}
             INSERT INTO runs (run, plan, plan_hash, build, artifacts, suite_list, suite_path, priority, attempts)
             VALUES ('old', '', '', 'old build', '', '', '', 0, 3);
             INSERT INTO trials (run, trial, seq, ord, priority, spec, needs) VALUES ('old', 't', 0, 0, 0, '{{\"model\": \"m\"}}', '{{}}')",
            include_str!("../../src/migrations/0001_queue.sql"),
            include_str!("../../src/migrations/0002_rate_limits.sql")
        ));
        let folder = tempfile::tempdir().expect("a folder");
        let suite = folder.path().join("suite");
        std::fs::create_dir(&suite).expect("a folder");
        scene::write_suite(&suite);
        let plan = scene::planned(&scene::suite(&suite), 12, "turmoil");
        let queue = server.queue().await.with_stores(crate::child::store_settings(&store.gate.url()));
        let (artifacts, random) = (store.artifacts(), StdRng::seed_from_u64(seed));
        let mut turmoil = Self {
            server,
            store,
            queue,
            artifacts,
            plan,
            folder,
            workers: Vec::new(),
            asleep: Vec::new(),
            begun: 0,
            lease: lease_here(),
            runs: Vec::new(),
            random,
        };
        turmoil.submit().await;
        for _ in 0..WORKERS {
            turmoil.start(0);
        }
        turmoil
    }

    /// Submits another run: by two at once, and once more later.
    async fn submit(&mut self) {
        let run = RunId::new(format!("20260101T000000Z-{:04x}", self.runs.len()));
        let plan = RunPlan { run, ..self.plan.clone() };
        let suite = self.folder.path().join("suite");
        let second = Queue::open_and_migrate(database(&self.server.owner())).await.expect("a queue");
        let (one, two) = tokio::join!(
            scene::submitted(&self.queue, &self.artifacts, &plan, &suite),
            scene::submitted(&second, &self.artifacts, &plan, &suite),
        );
        assert!(one != two, "one of them has queued it");
        assert!(
            !scene::submitted(&self.queue, &self.artifacts, &plan, &suite).await,
            "nobody queues it again"
        );
        self.runs.push(plan);
    }

    fn start(&mut self, skew: i64) {
        self.begun += 1;
        let told = Told { lease: self.lease, skew, store: &self.store.gate.url() };
        let name = format!("w{}", self.begun);
        self.workers.push(start_told(&self.server.owner(), self.folder.path(), &name, told));
    }

    fn take_worker(&mut self) -> Child {
        let at = self.random.random_range(0..self.workers.len());
        self.workers.swap_remove(at)
    }

    /// Replaces workers that have ended, as nothing was left for them.
    fn replace(&mut self) {
        self.workers.retain_mut(|worker| worker.try_wait().expect("asks").is_none());
        while self.workers.len() < WORKERS {
            self.start(0);
        }
    }

    async fn strike(&mut self, fault: Fault) {
        let clock = SystemClock::default();
        let moment = Duration::from_millis(self.random.random_range(200..1500));
        match fault {
            Fault::Kill => {
                let mut worker = self.take_worker();
                worker.kill().expect("kills");
                worker.wait().expect("ends");
            }
            Fault::Sleep => {
                let worker = self.take_worker();
                kill_process(Pid::from_child(&worker), Signal::STOP).expect("stops");
                self.asleep.push(worker);
            }
            Fault::CutConnections => {
                self.server.psql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
            }
            Fault::CrashDatabase | Fault::RestartDatabase => {
                let crash = fault == Fault::CrashDatabase;
                self.server.stop(if crash { Signal::QUIT } else { Signal::INT });
                clock.pause(moment.min(Duration::from_millis(600)), Why::TaskStep).await;
                self.server.launch();
            }
            Fault::FailStore => self.through(Passage::Failing, moment).await,
            Fault::StallStore => self.through(Passage::Stalled, moment).await,
            Fault::SlowStore => self.through(Passage::Slow(moment / 4), moment).await,
            Fault::SubmitTwice => self.submit().await,
            Fault::SkewedWorker => {
                let skew = if self.random.random_bool(0.5) { 60 } else { -60 };
                self.start(skew);
            }
        }
    }

    async fn through(&self, passage: Passage, time: Duration) {
        self.store.gate.set(passage);
        SystemClock::default().pause(time, Why::TaskStep).await;
        self.store.gate.set(Passage::Open);
    }

    /// Wakes one that has slept past its leases.
    fn wake(&mut self) {
        let worker = self.asleep.remove(0);
        kill_process(Pid::from_child(&worker), Signal::CONT).expect("wakes");
        self.workers.push(worker);
    }

    /// How many trials of all runs have a result, of how many.
    async fn done(&self) -> (i64, i64) {
        let runs = self.queue.status().await.expect("a status").runs;
        let runs: Vec<_> = runs.into_iter().filter(|run| run.run != "old").collect();
        assert!(runs.iter().all(|run| run.dead == 0), "{runs:?}");
        let all = runs.iter().map(|run| run.done + run.waiting + run.running).sum();
        (runs.iter().map(|run| run.done).sum(), all)
    }

    /// Waits until all is done. What has ended is replaced, as more may be left.
    async fn finish(&mut self) {
        let clock = SystemClock::default();
        let (mut last, mut since) = (self.done().await, clock.mono());
        while last.0 < last.1 {
            self.replace();
            clock.pause(Duration::from_millis(200), Why::PollFloor).await;
            let now = self.done().await;
            if now != last {
                (last, since) = (now, clock.mono());
            }
            assert!(clock.mono().saturating_sub(since) < STANDSTILL, "stands still at {last:?}");
        }
        while !self.asleep.is_empty() {
            self.wake();
        }
        for mut worker in std::mem::take(&mut self.workers) {
            ended(&mut worker, STANDSTILL).await;
        }
    }

    async fn holds(&self) {
        let twice = "SELECT count(*) FROM (SELECT FROM apprentice_queue.attempts WHERE verdict <> 'void'
                     GROUP BY run, trial HAVING count(*) <> 1) twice";
        assert_eq!(self.server.psql(twice), "0", "no trial has two results");
        let lost = "SELECT count(*) FROM apprentice_queue.trials t WHERE run <> 'old' AND (SELECT count(*)
                    FROM apprentice_queue.attempts a WHERE (a.run, a.trial) = (t.run, t.trial) AND a.verdict <> 'void') <> 1";
        assert_eq!(self.server.psql(lost), "0", "every trial has its result");
        assert_eq!(
            self.server.psql("SELECT state FROM apprentice_queue.trials WHERE run = 'old'"),
            "waiting"
        );
        // A fetched run has what an undisturbed one has, with all its files.
        let mut all: BTreeMap<String, usize> = BTreeMap::new();
        for plan in &self.runs {
            let to = self.folder.path().join("fetched");
            let fetched = fetch(&self.queue, &plan.run, &to, Depth::Files).await.expect("fetches");
            let rows = results(&fetched.folder);
            assert_eq!(rows.len(), plan.trials.len());
            for row in rows.values() {
                *all.entry(format!("{} {:?}", row.model, row.verdict)).or_default() += 1;
            }
            let suite = scene::suite(&self.folder.path().join("suite"));
            let graded =
                apprentice_evaluator::grading::grade::grade(&fetched.folder, Some(&suite)).expect("grades");
            assert_eq!((graded.differs, graded.missing), (0, 0), "{}", plan.run);
        }
        let half = self.runs.len() * self.plan.trials.len() / 2;
        let expected = [("baseline/noop Fail".to_owned(), half), ("baseline/solution Pass".to_owned(), half)];
        assert_eq!(all, expected.into_iter().collect());
    }
}

async fn turmoil(faults: u32, seed: u64) {
    println!("seed {seed}, {faults} faults; FLEET_SEED={seed} repeats them");
    let clock = SystemClock::default();
    let mut turmoil = Turmoil::begin(seed).await;
    println!("leases of {:.1?}", turmoil.lease);
    let (mut struck, mut slept) = (BTreeMap::new(), Vec::new());
    for number in 0..faults {
        turmoil.replace();
        // The first ones are one of each kind.
        let at = if (number as usize) < FAULTS.len() {
            number as usize
        } else {
            turmoil.random.random_range(0..FAULTS.len())
        };
        let fault = FAULTS[at];
        *struck.entry(fault).or_insert(0) += 1;
        turmoil.strike(fault).await;
        if fault == Fault::Sleep {
            slept.push(clock.mono());
        }
        let calm = turmoil.random.random_range(300..1200);
        clock.pause(Duration::from_millis(calm), Why::TaskStep).await;
        if slept.first().is_some_and(|since| clock.mono().saturating_sub(*since) > turmoil.lease * 2) {
            slept.remove(0);
            turmoil.wake();
        }
        let (done, all) = turmoil.done().await;
        if done + 8 > all {
            turmoil.submit().await;
        }
    }
    turmoil.finish().await;
    turmoil.holds().await;
    let refused = turmoil.server.psql("SELECT count(*) FROM apprentice_queue.refused");
    let lost = turmoil
        .server
        .psql("SELECT count(*) FROM apprentice_queue.attempts WHERE void_cause = 'worker_lost'");
    println!(
        "{} runs of {} trials, {} workers; {lost} attempts lost, {refused} late results refused; {struck:?}",
        turmoil.runs.len(),
        turmoil.plan.trials.len(),
        turmoil.begun
    );
}

#[expect(clippy::disallowed_methods, reason = "a person may repeat a series")]
fn seed() -> u64 {
    std::env::var("FLEET_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| rand::random_range(0..1_000_000))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_random_faults_lose_nothing() {
    Box::pin(turmoil(20, seed())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a quarter of an hour: `just fleet`"]
async fn three_hundred_random_faults_lose_nothing() {
    Box::pin(turmoil(300, seed())).await;
}
