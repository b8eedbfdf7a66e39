//! Faults while real workers run: killed, stopped and woken, the database crashed, connections cut. Nothing is lost,
//! nothing counts twice, and the fetched run equals one of this machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use apprentice_evaluator::grading::grade::grade;
use apprentice_evaluator::run::{PlannedRun, RunControl, RunPlan, start_plan};
use apprentice_fleet::{Artifacts, Depth, FetchError, Queue, StoreSettings, Worker, WorkerLimits, fetch};
use apprentice_protocol::{Clock as _, RunId, Why};
use apprentice_runs::row::TrialRow;
use apprentice_sandbox::SystemClock;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::child::{LEASE, Ready, ended, limits, start};
use crate::postgres::{Server, artifacts_in};
use crate::scene;

/// No step of these tests may take longer.
const DEADLINE: Duration = Duration::from_secs(240);

struct Fleet {
    server: Server,
    queue: Queue,
    plan: RunPlan,
    artifacts: Artifacts,
    folder: TempDir,
}

impl Fleet {
    async fn submitted(seeds: u32) -> Self {
        let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
        let suite = folder.path().join("suite");
        std::fs::create_dir(&suite).expect("a folder");
        scene::write_suite(&suite);
        let plan = scene::planned(&scene::suite(&suite), seeds, "fleet");
        let artifacts =
            Artifacts::open(&artifacts_in(&folder.path().join("artifacts")), &StoreSettings::default())
                .expect("artifacts");
        let queue = server.queue().await;
        assert!(scene::submitted(&queue, &artifacts, &plan, &suite).await);
        assert!(
            !scene::submitted(&queue, &artifacts, &plan, &suite).await,
            "submitted again, it changes nothing"
        );
        Self { server, queue, plan, artifacts, folder }
    }

    fn worker(&self, name: &str) -> Child {
        start(&self.server.owner(), self.folder.path(), name)
    }

    /// Waits until at least this many trials have a result.
    async fn until_done(&self, trials: i64) {
        let clock = SystemClock::default();
        let begun = clock.mono();
        loop {
            let run = self.queue.status().await.expect("a status").runs.remove(0);
            assert_eq!(run.dead, 0, "{run:?}");
            if run.done >= trials {
                return;
            }
            assert!(clock.mono().saturating_sub(begun) < DEADLINE, "hangs: {run:?}");
            clock.pause(Duration::from_millis(50), Why::PollFloor).await;
        }
    }

    async fn fetch(&self, to: &str) -> Result<apprentice_fleet::Fetched, FetchError> {
        fetch(&self.queue, &self.plan.run, &self.folder.path().join(to), Depth::Files).await
    }
}

/// A row without what differs between two runs of the same trial.
pub(crate) fn timeless(row: TrialRow) -> TrialRow {
    let blank = jiff::Timestamp::UNIX_EPOCH;
    TrialRow { started_at: blank, wall_s: 0.0, working_s: 0.0, attempt: 0, trace: String::new(), ..row }
}

pub(crate) fn results(folder: &Path) -> BTreeMap<String, TrialRow> {
    let (_, rows) = apprentice_evaluator::run::read_run(folder).expect("a run");
    let results = apprentice_evaluator::run::final_results(rows);
    results.into_iter().map(|row| (row.trial.to_string(), timeless(row))).collect()
}

fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).expect("signals");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_stopped_and_cut_off_workers_lose_nothing_and_count_nothing_twice() {
    let mut fleet = Fleet::submitted(60).await;
    let all = i64::try_from(fleet.plan.trials.len()).expect("few");
    let mut workers: Vec<Child> = (0..4).map(|at| fleet.worker(&format!("w{at}"))).collect();
    fleet.until_done(5).await;

    // Killed: its attempts expire.
    signal(&workers[0], Signal::KILL);
    workers[0].wait().expect("ends");
    workers.push(fleet.worker("w4"));
    fleet.until_done(15).await;

    // Stopped past its leases, and woken: its late results are refused.
    signal(&workers[1], Signal::STOP);
    SystemClock::default().pause(LEASE * 2, Why::TaskStep).await;
    let held = "SELECT count(*) FROM apprentice_queue.trials WHERE worker = 'w1'";
    assert_eq!(fleet.server.psql(held), "0", "others' leases were returned to the queue");
    signal(&workers[1], Signal::CONT);

    // Connections cut, and the database crashed and started again.
    fleet
        .server
        .psql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
    fleet.until_done(30).await;
    fleet.server.stop(Signal::QUIT);
    SystemClock::default().pause(Duration::from_millis(500), Why::TaskStep).await;
    fleet.server.launch();

    fleet.until_done(all).await;
    for worker in &mut workers[1..] {
        assert!(ended(worker, DEADLINE).await.success(), "workers end by themselves when all is done");
    }
    let twice = "SELECT count(*) FROM (SELECT FROM apprentice_queue.attempts WHERE result::jsonb ->> 'verdict' <> 'void'
                 GROUP BY trial HAVING count(*) <> 1) twice";
    assert_eq!(fleet.server.psql(twice), "0");
    let status = fleet.queue.status().await.expect("a status").runs.remove(0);
    assert_eq!((status.done, status.waiting, status.running, status.dead), (all, 0, 0, 0), "{status:?}");
    assert!(status.void.get("worker_lost").is_some_and(|lost| *lost >= 2), "{status:?}");
    assert!(status.refused >= 1, "the woken worker's results were refused: {status:?}");

    let fetched = fleet.fetch("runs").await.expect("fetches");
    assert_eq!(fetched.open, 0);
    equals_a_run_of_this_machine(&fleet, &fetched.folder).await;
}

async fn equals_a_run_of_this_machine(fleet: &Fleet, folder: &Path) {
    let suite = scene::suite(&fleet.folder.path().join("suite"));
    let (progress, _reader) = unbounded_channel();
    let control = RunControl::new(progress, CancellationToken::new());
    let planned = PlannedRun { plan: fleet.plan.clone(), suite: &suite, book: None };
    let local = fleet.folder.path().join("local");
    let summary = start_plan(planned, &local, 4, scene::deps(Duration::ZERO), control).await.expect("runs");
    assert_eq!(results(folder), results(&summary.folder));
    let graded = grade(folder, Some(&suite)).expect("grades");
    assert_eq!((graded.same, graded.differs, graded.missing), (fleet.plan.trials.len() as u64, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_fetched_bit_by_bit_and_never_mixed_with_another() {
    let fleet = Fleet::submitted(3).await;
    let work = async |name: &str, cancel: CancellationToken| {
        let (progress, _reader) = unbounded_channel();
        let queue = Queue::open(crate::postgres::database(&fleet.server.owner())).await.expect("a queue");
        let folder = fleet.folder.path().join(name);
        let ready = Box::new(Ready(folder.clone(), Duration::ZERO, StoreSettings::default()));
        let limits = WorkerLimits { jobs: 2, ..limits(name, &fleet.plan) };
        let control = RunControl::new(progress, cancel);
        let worker = Worker::new(queue, limits, ready, folder.join("attempts"), control);
        worker.run().await.expect("works");
        let left = std::fs::read_dir(folder.join("attempts")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "delivered attempts leave nothing behind");
    };
    let early = fleet.fetch("runs").await.expect("fetches");
    assert_eq!((early.added, early.open), (0, 6));
    work("one", CancellationToken::new()).await;
    let all = fleet.fetch("runs").await.expect("fetches");
    assert_eq!((all.added, all.open), (6, 0));
    assert_eq!(fleet.fetch("runs").await.expect("fetches").added, 0, "again, nothing is added");

    // Rows alone first, which the numbers of a report need, and the files later.
    let to = fleet.folder.path().join("rows");
    let rows = fetch(&fleet.queue, &fleet.plan.run, &to, Depth::Rows).await.expect("fetches");
    assert_eq!((rows.added, rows.open, rows.folder.join("trials").exists()), (6, 0, false));
    let files = fetch(&fleet.queue, &fleet.plan.run, &to, Depth::Files).await.expect("fetches");
    assert_eq!((files.added, files.folder.join("trials").is_dir()), (0, true));
    assert_eq!(results(&files.folder), results(&all.folder));

    // A lost trace is brought again; a damaged artifact is told.
    let row = results(&all.folder).into_values().next().expect("a row");
    let trials = all.folder.join("trials");
    std::fs::remove_dir_all(&trials).expect("removes");
    fleet.fetch("runs").await.expect("fetches");
    assert!(trials.is_dir(), "{row:?}");
    let list = fleet.server.psql("SELECT files FROM apprentice_queue.attempts ORDER BY id LIMIT 1");
    let object = fleet.folder.path().join("artifacts/objects").join(&list[..2]).join(&list);
    std::fs::write(object, "changed").expect("writes");
    let error = fleet.fetch("elsewhere").await.expect_err("is damaged");
    assert!(error.to_string().contains(&list), "{error}");

    // What was continued here is not overwritten.
    let folder = apprentice_evaluator::run::RunFolder::open(&all.folder).expect("opens");
    let own = folder.lost_row(&fleet.plan.trials[0], 9);
    folder.append(&own).expect("appends");
    drop(folder);
    assert!(matches!(fleet.fetch("runs").await, Err(FetchError::Continued(_))));
    let none = fetch(&fleet.queue, &RunId::new("none"), fleet.folder.path(), Depth::Files).await;
    assert!(matches!(none, Err(FetchError::NoRun(_))));
    assert!(fleet.artifacts.address().starts_with("file://"));
}
