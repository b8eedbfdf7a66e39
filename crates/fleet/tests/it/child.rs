//! A worker in a process of its own: the test program starts itself with this test alone.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::run::{RunControl, RunPlan};
use apprentice_fleet::{
    Artifacts, Database, Patience, PrepareRun, Prepared, Queue, RunRecord, StoreSettings, UnfitRun, Worker,
    WorkerLimits, build,
};
use apprentice_protocol::{BoxFuture, Clock, RunId, Why};
use apprentice_sandbox::SystemClock;
use jiff::Timestamp;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::scene;

const ADDRESS: &str = "FLEET_TEST_ADDRESS";
const FOLDER: &str = "FLEET_TEST_FOLDER";
const NAME: &str = "FLEET_TEST_NAME";
const SKEW: &str = "FLEET_TEST_SKEW";
const STORE: &str = "FLEET_TEST_STORE";
const LEASE_S: &str = "FLEET_TEST_LEASE";

/// The lease of the workers: short, so that a test can wait for its end.
pub(crate) const LEASE: Duration = Duration::from_secs(3);
/// A lease that a busy machine does not end by itself: longer, the more wants to run at once than it has cores for.
pub(crate) fn lease_here() -> Duration {
    let load = std::fs::read_to_string("/proc/loadavg").expect("the load");
    let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).expect("a number");
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| f64::from(cores.get() as u32));
    LEASE.mul_f64((load / cores).clamp(1.0, 5.0))
}

/// How long a world of theirs takes to open, so that faults meet attempts under way.
const DELAY: Duration = Duration::from_millis(1500);

/// Makes runs ready from the test's folder.
pub(crate) struct Ready(pub(crate) PathBuf, pub(crate) Duration, pub(crate) StoreSettings);

impl PrepareRun for Ready {
    fn prepare<'a>(&'a self, record: &'a RunRecord) -> BoxFuture<'a, Result<Prepared, UnfitRun>> {
        Box::pin(async move {
            let unfit = |error: &dyn std::fmt::Display| UnfitRun { why: error.to_string(), passing: false };
            let plan: RunPlan = serde_json::from_str(&record.plan).map_err(|error| unfit(&error))?;
            let artifacts = Artifacts::open(&record.artifacts, &self.2).map_err(|error| unfit(&error))?;
            let folder = self.0.join("suite");
            artifacts.get_files(&record.suite_list, &folder).await.map_err(|error| unfit(&error))?;
            let suite = scene::suite(&folder);
            if suite.hash != plan.suite_hash {
                return Err(UnfitRun { why: "the suite is another one".into(), passing: false });
            }
            Ok(Prepared {
                plan: Arc::new(plan),
                suite,
                deps: scene::deps(self.1),
                artifacts,
                prerequisites: None,
            })
        })
    }

    fn offers(&self, need: &str) -> bool {
        need == "world:scene"
    }

    fn forget(&self, _run: &RunId) {}
}

/// How the workers of the tests claim.
pub(crate) fn limits(name: &str, plan: &RunPlan) -> WorkerLimits {
    WorkerLimits {
        name: name.into(),
        build: build(plan),
        jobs: 2,
        cpu: 4,
        lease: LEASE,
        retry: LEASE,
        until_done: true,
    }
}

/// What a worker process is told.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) lease: Duration,
    /// Seconds by which its clock is wrong.
    pub(crate) skew: i64,
    /// The address of the S3 server; empty for none.
    pub(crate) store: &'a str,
}

/// How an S3 server of a test is reached.
pub(crate) fn store_settings(endpoint: &str) -> StoreSettings {
    let values = [
        ("AWS_ENDPOINT", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ];
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    StoreSettings { values: values.collect(), patience: Some(Duration::from_secs(20)) }
}

/// A clock whose time of day is wrong.
#[derive(Debug)]
struct SkewedClock(SystemClock, i64);

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        self.0.now() + jiff::SignedDuration::from_secs(self.1)
    }

    fn mono(&self) -> Duration {
        self.0.mono()
    }

    fn pause(&self, duration: Duration, why: Why) -> BoxFuture<'_, ()> {
        self.0.pause(duration, why)
    }
}

/// Starts a worker process.
pub(crate) fn start(address: &str, folder: &Path, name: &str) -> Child {
    start_told(address, folder, name, Told { lease: LEASE, skew: 0, store: "" })
}

/// Starts a worker process that is told more.
pub(crate) fn start_told(address: &str, folder: &Path, name: &str, told: Told<'_>) -> Child {
    Command::new(std::env::current_exe().expect("the test program"))
        .args(["--exact", "child::a_worker_process", "--ignored", "--nocapture"])
        .env(ADDRESS, address)
        .env(FOLDER, folder)
        .env(NAME, name)
        .env(SKEW, told.skew.to_string())
        .env(STORE, told.store)
        .env(LEASE_S, told.lease.as_secs_f64().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

/// Waits until a worker process ends by itself, as it does when all is done.
pub(crate) async fn ended(worker: &mut Child, deadline: Duration) -> ExitStatus {
    let clock = SystemClock::default();
    let begun = clock.mono();
    loop {
        if let Some(status) = worker.try_wait().expect("asks") {
            return status;
        }
        assert!(clock.mono().saturating_sub(begun) < deadline, "a worker does not end");
        clock.pause(Duration::from_millis(50), Why::PollFloor).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "how the test passes arguments to its other self")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Not a test by itself: what [`start`] runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by other tests as a process of its own"]
async fn a_worker_process() {
    let Some(address) = variable(ADDRESS) else { return };
    let (folder, name) = (variable(FOLDER).expect("a folder"), variable(NAME).expect("a name"));
    let skew = variable(SKEW).and_then(|skew| skew.parse().ok()).unwrap_or(0);
    let clock = Arc::new(SkewedClock(SystemClock::default(), skew));
    let database =
        Database::new(address.parse().expect("an address"), Patience(Duration::from_secs(60)), clock);
    let queue = Queue::open(database).await.expect("a queue");
    let store = variable(STORE).unwrap_or_default();
    let suite = tempfile::tempdir().expect("a folder");
    scene::write_suite(suite.path());
    let plan = scene::planned(&scene::suite(suite.path()), 1, "build");
    let (progress, _reader) = unbounded_channel();
    let control = RunControl::new(progress, CancellationToken::new());
    let folder = PathBuf::from(folder).join(&name);
    let ready = Box::new(Ready(folder.clone(), DELAY, store_settings(&store)));
    let lease = variable(LEASE_S).and_then(|lease| lease.parse().ok()).map_or(LEASE, Duration::from_secs_f64);
    let limits = WorkerLimits { lease, retry: lease, ..limits(&name, &plan) };
    let worker = Worker::new(queue, limits, ready, folder.join("attempts"), control);
    worker.run().await.expect("works");
}
