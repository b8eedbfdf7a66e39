//! What a worker does when something that a run needs does not work.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_evaluator::run::{
    Contender, Conversations, PlanRequest, RunControl, RunPlan, plan as planned,
};
use apprentice_fleet::{
    Artifacts, Claimant, ExperimentRecord, LeadExperiment, Leaving, Led, PrepareRun, Prepared, Queue,
    RunRecord, StoreSettings, UnfitRun, Worker, WorkerLimits, build,
};
use apprentice_protocol::{BoxFuture, Clock as _, RunId, StopReason, Verdict, Why};
use apprentice_runs::row::{Role, TrialRow};
use apprentice_sandbox::SystemClock;
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::child::limits;
use crate::postgres::{Server, artifacts_in, database};
use crate::scene;

/// No wait of these tests is longer.
const DEADLINE: Duration = Duration::from_secs(90);

struct Place {
    server: Server,
    queue: Queue,
    folder: TempDir,
}

impl Place {
    async fn new() -> Self {
        let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
        std::fs::create_dir(folder.path().join("suite")).expect("a folder");
        scene::write_suite(&folder.path().join("suite"));
        let queue = server.queue().await;
        Self { server, queue, folder }
    }

    fn suite(&self) -> PathBuf {
        self.folder.path().join("suite")
    }

    fn artifacts(&self) -> Artifacts {
        let address = artifacts_in(&self.folder.path().join("artifacts"));
        Artifacts::open(&address, &StoreSettings::default()).expect("opens")
    }

    async fn worker(
        &self,
        limits: WorkerLimits,
        prepare: Box<dyn PrepareRun>,
        cancel: &CancellationToken,
    ) -> Arc<Worker> {
        self.worker_of(&self.server.owner(), limits, prepare, cancel).await
    }

    /// A worker that has the database by this address.
    async fn worker_of(
        &self,
        address: &str,
        limits: WorkerLimits,
        prepare: Box<dyn PrepareRun>,
        cancel: &CancellationToken,
    ) -> Arc<Worker> {
        let (progress, _reader) = unbounded_channel();
        let queue = Queue::open(database(address)).await.expect("a queue");
        let scratch = self.folder.path().join(&limits.name);
        Worker::new(queue, limits, prepare, scratch, RunControl::new(progress, cancel.clone()))
    }
}

/// Makes runs ready from the test's folder, after this many failures.
#[derive(Default)]
struct Ready {
    suite: PathBuf,
    failures: Arc<AtomicUsize>,
    /// The runs that have ended.
    forgotten: Arc<Mutex<Vec<RunId>>>,
    /// Where the results of trials stand that must end before others.
    prerequisites: Option<PathBuf>,
}

impl PrepareRun for Ready {
    fn prepare<'a>(&'a self, record: &'a RunRecord) -> BoxFuture<'a, Result<Prepared, UnfitRun>> {
        Box::pin(async move {
            let left =
                self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            if left.is_ok() {
                return Err(UnfitRun { why: "the store does not answer".into(), passing: true });
            }
            Ok(Prepared {
                plan: Arc::new(serde_json::from_str(&record.plan).expect("a plan")),
                suite: scene::suite(&self.suite),
                deps: scene::deps(Duration::ZERO),
                artifacts: Artifacts::open(&record.artifacts, &StoreSettings::default()).expect("opens"),
                prerequisites: self.prerequisites.clone(),
            })
        })
    }

    fn offers(&self, _need: &str) -> bool {
        true
    }

    fn forget(&self, run: &RunId) {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).push(run.clone());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_store_was_away_is_taken_up_again_and_is_work_until_then() {
    let place = Place::new().await;
    let plan = scene::planned(&scene::suite(&place.suite()), 1, "passing");
    assert!(scene::submitted(&place.queue, &place.artifacts(), &plan, &place.suite()).await);
    let failures = Arc::new(AtomicUsize::new(2));
    let prepare = Ready { suite: place.suite(), failures: Arc::clone(&failures), ..Ready::default() };
    let limits = WorkerLimits { jobs: 1, retry: Duration::from_millis(300), ..limits("w", &plan) };
    let worker = place.worker(limits, Box::new(prepare), &CancellationToken::new()).await;
    tokio::time::timeout(DEADLINE, worker.run()).await.expect("ends").expect("works");
    assert_eq!(failures.load(Ordering::SeqCst), 0, "it was asked again");
    let run = place.queue.status().await.expect("a status").runs.remove(0);
    assert_eq!((run.done, run.waiting), (2, 0), "{run:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_made_ready_for_a_run_is_removed_when_the_run_has_ended() {
    let place = Place::new().await;
    let first = scene::planned(&scene::suite(&place.suite()), 1, "ended");
    let second = RunPlan { run: RunId::new("20990101T000000Z-0001"), ..first.clone() };
    for plan in [&first, &second] {
        assert!(scene::submitted(&place.queue, &place.artifacts(), plan, &place.suite()).await);
    }
    let forgotten = Arc::new(Mutex::default());
    let prepare = Ready { suite: place.suite(), forgotten: Arc::clone(&forgotten), ..Ready::default() };
    let limits = WorkerLimits { jobs: 1, ..limits("w", &first) };
    let worker = place.worker(limits, Box::new(prepare), &CancellationToken::new()).await;
    tokio::time::timeout(DEADLINE, worker.run()).await.expect("ends").expect("works");
    assert_eq!(*forgotten.lock().unwrap_or_else(PoisonError::into_inner), [first.run]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_may_not_store_results_says_so_before_it_claims_anything() {
    let place = Place::new().await;
    let plan = scene::planned(&scene::suite(&place.suite()), 1, "rights");
    assert!(scene::submitted(&place.queue, &place.artifacts(), &plan, &place.suite()).await);
    place.server.psql(
        "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA apprentice_queue TO clerk;
         GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA apprentice_queue TO clerk;
         REVOKE INSERT ON apprentice_queue.attempts, apprentice_queue.refused FROM clerk",
    );
    let run = async || {
        let prepare = Ready { suite: place.suite(), ..Ready::default() };
        let address = place.server.address("clerk", "postgres");
        let cancel = CancellationToken::new();
        let worker = place.worker_of(&address, limits("w", &plan), Box::new(prepare), &cancel).await;
        tokio::time::timeout(DEADLINE, worker.run()).await.expect("ends")
    };
    let error = run().await.expect_err("it may not");
    let mut told = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        told.push_str(&cause.to_string());
        source = cause.source();
    }
    for part in ["clerk lacks INSERT on attempts, INSERT on refused", "GRANT SELECT, INSERT, UPDATE"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let states = "SELECT DISTINCT state, attempt FROM apprentice_queue.trials";
    assert_eq!(place.server.psql(states), "waiting|0");
    // The remedy that was told is enough.
    place.server.psql("GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA apprentice_queue TO clerk");
    run().await.expect("works");
    assert_eq!(place.server.psql("SELECT count(*) FROM apprentice_queue.attempts"), "2");
}

/// Plans a trial of `inline` and the one of `pull` that must end before it.
fn inline_plan(place: &Place) -> RunPlan {
    let contender = |arm: &str| Contender {
        role: Role::Student,
        model: "baseline/solution".into(),
        arm: arm.into(),
        tasks: None,
        seeds: None,
    };
    let request = PlanRequest {
        suite: &scene::suite(&place.suite()),
        split: None,
        tasks: None,
        contenders: vec![contender("pull"), contender("inline")],
        seeds: 1,
        limits: None,
        attempts: 2,
        order_seed: 1,
        conversations: Conversations::Dropped,
        command: vec!["inline".into()],
        program: "0.0.0".into(),
        books: Vec::new(),
    };
    planned(&request, SystemClock::default().now()).expect("a plan")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_trace_makes_the_trial_void_that_needs_it_and_ends_no_worker() {
    let place = Place::new().await;
    let (plan, artifacts) = (inline_plan(&place), place.artifacts());
    assert!(scene::submitted(&place.queue, &artifacts, &plan, &place.suite()).await);
    let offers = ["world:scene".to_owned()];
    let by = Claimant { worker: "before", build: &build(&plan), offers: &offers, unfit: &[] };
    let pull = place.queue.claim(&by, DEADLINE).await.expect("claims").expect("the trial of pull");
    assert_eq!(pull.trial.arm, "pull");
    let trace = place.folder.path().join("trace");
    std::fs::create_dir(&trace).expect("a folder");
    std::fs::write(trace.join("events.jsonl"), "what happened").expect("writes");
    let list = artifacts.put_files(&trace, &["events.jsonl".to_owned()]).await.expect("stores");
    let hash = artifacts.list(&list).await.expect("a list").files["events.jsonl"].clone();
    let object = place.folder.path().join("artifacts/objects").join(&hash[..2]).join(&hash);
    std::fs::write(object, "changed").expect("writes");
    let rows = apprentice_evaluator::run::RunFolder::create(&place.folder.path().join("rows"), plan.clone());
    let row = TrialRow {
        verdict: Verdict::Pass,
        void_cause: None,
        stop_reason: Some(StopReason::Done),
        ..rows.expect("a folder").lost_row(&pull.trial, pull.attempt)
    };
    place.queue.deliver("before", &row, Some(&list)).await.expect("delivers");

    let prepare = Ready {
        suite: place.suite(),
        prerequisites: Some(place.folder.path().join("before")),
        ..Ready::default()
    };
    let worker = place.worker(limits("w", &plan), Box::new(prepare), &CancellationToken::new()).await;
    tokio::time::timeout(DEADLINE, worker.run()).await.expect("ends").expect("works");
    let voids =
        "SELECT count(*), min(void_cause), min(files) FROM apprentice_queue.attempts WHERE worker = 'w'";
    let voids = place.server.psql(voids);
    let list =
        voids.strip_prefix("2|setup|").unwrap_or_else(|| panic!("void as often as the plan allows: {voids}"));
    let files = artifacts.list(list).await.expect("a list").files;
    let (_, trace) = files.iter().find(|(path, _)| path.ends_with("events.jsonl")).expect("a trace");
    let trace = String::from_utf8(artifacts.get(trace).await.expect("a trace")).expect("text");
    assert!(trace.contains(&hash), "it says what is damaged: {trace}");
}

/// Meets trouble with every experiment.
struct Troubled(Arc<AtomicUsize>);

impl LeadExperiment for Troubled {
    fn lead(&self, _led: Led) -> BoxFuture<'_, Leaving> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Leaving::Trouble("the scratch disk is full".into()) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_met_trouble_leaves_the_experiment_to_others_for_a_while() {
    let place = Place::new().await;
    let plan = scene::planned(&scene::suite(&place.suite()), 1, "trouble");
    let inputs = place.artifacts().put_files(&place.suite(), &["tick.json".into()]).await.expect("stores");
    let record = ExperimentRecord { inputs, ..scene::experiment(&plan, place.artifacts().address()) };
    place.queue.add_experiment(&record).await.expect("adds");
    let failures = async |wanted: &str| {
        let clock = SystemClock::default();
        let begun = clock.mono();
        let sql = "SELECT failures FROM apprentice_queue.experiments WHERE leader IS NULL";
        while place.server.psql(sql) != wanted {
            assert!(clock.mono().saturating_sub(begun) < DEADLINE, "{wanted} troubles do not come");
            clock.pause(Duration::from_millis(50), Why::PollFloor).await;
        }
    };
    let (cancel, mut counts, mut working) = (CancellationToken::new(), Vec::new(), Vec::new());
    for (name, wanted) in [("one", "1"), ("two", "2"), ("three", "3")] {
        let limits = WorkerLimits { lease: Duration::from_secs(600), ..limits(name, &plan) };
        let prepare = Ready { suite: place.suite(), ..Ready::default() };
        let count = Arc::new(AtomicUsize::new(0));
        let worker = place.worker(limits, Box::new(prepare), &cancel).await;
        let worker = worker.leading(Box::new(Troubled(Arc::clone(&count))));
        working.push(AbortOnDropHandle::new(tokio::spawn(async move { worker.run().await })));
        counts.push(count);
        failures(wanted).await;
        // The news of the queue wake each that waits.
        place.server.psql("NOTIFY apprentice_queue");
    }
    let led: Vec<usize> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    assert_eq!(led, [1, 1, 1], "each has tried once");
    let left = place.folder.path().join("one/experiments/distill-1");
    assert!(!left.exists(), "nothing of the experiment is left on the machine");
    cancel.cancel();
    for worker in working {
        tokio::time::timeout(DEADLINE, worker).await.expect("ends").expect("ends").expect("works");
    }
}
