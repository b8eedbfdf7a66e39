//! Experiments of a queue: who may lead, what ends them, and what becomes of their runs.

use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::experiment::{RunsElsewhere as _, SharedRun};
use apprentice_evaluator::run::{RunControl, RunFolder, RunSummary};
use apprentice_fleet::{
    Artifacts, Claimant, Depth, ExperimentRecord, ExperimentRuns, FetchError, LeaderPlace, Leadership,
    Leaving, RunRecord, StoreSettings, Submission, SubmitError, build, fetch, submit,
};
use apprentice_protocol::{Clock as _, RunId, VoidCause, Why};
use apprentice_sandbox::SystemClock;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::postgres::artifacts_in;
use crate::queue::{Fixture, LEASE, OVER, fixture};
use crate::scene::{self, EXPERIMENT};

/// No wait of these tests is longer.
const DEADLINE: Duration = Duration::from_secs(60);

/// An experiment of a queue, with its artifacts.
struct Led {
    fixture: Fixture,
    artifacts: TempDir,
}

impl Led {
    async fn submitted(seeds: u32) -> Self {
        let led = Self { fixture: fixture(seeds).await, artifacts: tempfile::tempdir().expect("a folder") };
        assert!(led.fixture.queue.add_experiment(&led.record()).await.expect("adds"));
        led
    }

    fn record(&self) -> ExperimentRecord {
        scene::experiment(&self.fixture.plan, artifacts_in(self.artifacts.path()))
    }

    /// Becomes its leader; `None` if it has one, or has ended.
    async fn lead(&self) -> Option<Leadership> {
        let build = build(&self.fixture.plan);
        let by = Claimant { worker: "leader", build: &build, offers: &[], unfit: &[] };
        self.fixture.queue.lead(&by, LEASE).await.expect("asks")
    }

    async fn leave(&self, leaving: Leaving) {
        let clock = SystemClock::default();
        let begun = clock.mono();
        // The connection of the leader before may still be ending.
        let leadership = loop {
            match self.lead().await {
                Some(leadership) => break leadership,
                None => clock.pause(Duration::from_millis(20), Why::PollFloor).await,
            }
            assert!(clock.mono().saturating_sub(begun) < DEADLINE, "nobody can lead");
        };
        self.fixture.queue.leave_experiment(&leadership, &leaving).await.expect("leaves");
    }

    async fn state(&self) -> String {
        self.fixture.queue.experiment(EXPERIMENT).await.expect("asks").expect("an experiment").state
    }

    /// Adds its run. Returns whether it was added.
    async fn add_run(&self) -> bool {
        let record = RunRecord {
            experiment: Some(EXPERIMENT.into()),
            artifacts: artifacts_in(self.artifacts.path()),
            ..self.fixture.record()
        };
        self.fixture.queue.add(&self.fixture.plan, &record, &|_| vec![]).await.expect("adds")
    }

    fn run_state(&self) -> String {
        self.fixture.server.psql("SELECT state FROM apprentice_queue.runs")
    }

    /// Has its run carried out by the workers of the queue.
    async fn carry_out(&self, record: ExperimentRecord, leadership: Leadership) -> RunSummary {
        let folder = self.artifacts.path().join("folder");
        let suite = self.artifacts.path().join("suite");
        std::fs::create_dir(&suite).expect("a folder");
        scene::write_suite(&suite);
        let (progress, _reader) = unbounded_channel();
        let lost = leadership.lost.clone();
        let place = LeaderPlace {
            folder: folder.clone(),
            suite: suite.join("tick.json"),
            needs: Box::new(|_| Vec::new()),
            control: RunControl::new(progress, lost),
        };
        let queue = Arc::new(self.fixture.server.queue().await);
        let runs = ExperimentRuns::new(queue, record, Arc::new(leadership), place).expect("opens");
        let guidance = json!({ "schema": "apprentice.shared-guidance/1", "learned": [], "demonstrations": [], "suppress": {}, "auto": {} });
        let run = SharedRun {
            folder: RunFolder::create(&folder.join("measure"), self.fixture.plan.clone()).expect("a folder"),
            suite: Arc::new(scene::suite(&suite)),
            deps: scene::deps(Duration::ZERO),
            guidance: serde_json::from_value(guidance).expect("guidance"),
        };
        let carried_out = tokio::time::timeout(DEADLINE, runs.carry_out(run)).await;
        carried_out.expect("ends by itself").expect("carries out")
    }

    /// Claims and delivers until nothing more is handed out. Begins when something is.
    async fn work(&self) -> usize {
        let (clock, mut done) = (SystemClock::default(), 0);
        let begun = clock.mono();
        loop {
            match self.fixture.claim("w", LEASE).await {
                Some(one) => {
                    self.fixture.deliver("w", &one, None).await;
                    done += 1;
                }
                None if done > 0 => return done,
                None => {
                    assert!(clock.mono().saturating_sub(begun) < DEADLINE, "nothing was submitted");
                    clock.pause(Duration::from_millis(50), Why::PollFloor).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn the_runs_of_an_experiment_that_failed_or_was_cancelled_end_with_it() {
    let failed = Led::submitted(2).await;
    let leadership = failed.lead().await.expect("a term");
    assert!(failed.add_run().await);
    let why = Leaving::Failed("cannot be done".into());
    failed.fixture.queue.leave_experiment(&leadership, &why).await.expect("leaves");
    assert_eq!((failed.state().await.as_str(), failed.run_state().as_str()), ("failed", "cancelled"));
    assert_eq!(failed.fixture.claim("w", LEASE).await, None, "nobody would collect its result");
    // One that a program of an earlier version has left open.
    failed.fixture.server.psql("UPDATE apprentice_queue.runs SET state = 'open'");
    assert!(failed.fixture.queue.cancel(&RunId::new(EXPERIMENT)).await.expect("cancels"));
    assert_eq!((failed.state().await.as_str(), failed.run_state().as_str()), ("failed", "cancelled"));

    let cancelled = Led::submitted(2).await;
    assert!(cancelled.add_run().await);
    assert!(cancelled.fixture.queue.cancel(&RunId::new(EXPERIMENT)).await.expect("cancels"));
    assert_eq!(
        (cancelled.state().await.as_str(), cancelled.run_state().as_str()),
        ("cancelled", "cancelled")
    );
    // What was done is kept as done.
    let done = Led::submitted(2).await;
    assert!(done.add_run().await);
    done.leave(Leaving::Done).await;
    assert!(!done.fixture.queue.cancel(&RunId::new(EXPERIMENT)).await.expect("answers"));
    assert_eq!(done.state().await, "done");
}

#[tokio::test]
async fn an_experiment_that_has_ended_takes_no_run_and_says_so() {
    let led = Led::submitted(1).await;
    led.fixture.queue.cancel(&RunId::new(EXPERIMENT)).await.expect("cancels");
    assert!(!led.add_run().await);
    let suite = led.artifacts.path().join("suite");
    std::fs::create_dir(&suite).expect("a folder");
    scene::write_suite(&suite);
    let artifacts = Artifacts::open(&artifacts_in(led.artifacts.path()), &StoreSettings::default());
    let submission = Submission {
        plan: &led.fixture.plan,
        suite: &suite,
        suite_path: "tick.json",
        book: None,
        priority: 0,
        max_usd: None,
        experiment: Some(EXPERIMENT.into()),
        guidance: None,
        needs: &|_| Vec::new(),
    };
    let submitted = submit(&led.fixture.queue, &artifacts.expect("opens"), &submission, None).await;
    assert!(matches!(submitted, Err(SubmitError::Ended(ended)) if ended == EXPERIMENT));
    assert_eq!(led.fixture.server.psql("SELECT count(*) FROM apprentice_queue.runs"), "0");
}

#[tokio::test]
async fn a_run_that_is_just_submitted_does_not_outlive_its_cancelled_experiment() {
    let led = Led::submitted(1).await;
    for round in 0..10 {
        led.fixture.server.psql(
            "DELETE FROM apprentice_queue.trials; DELETE FROM apprentice_queue.runs;
             UPDATE apprentice_queue.experiments SET state = 'open'",
        );
        let canceller = led.fixture.server.queue().await;
        let experiment = RunId::new(EXPERIMENT);
        let (added, cancelled) = tokio::join!(led.add_run(), canceller.cancel(&experiment));
        assert!(cancelled.expect("cancels"));
        assert!(!added || led.run_state() == "cancelled", "round {round}");
        assert_eq!(led.fixture.claim("w", LEASE).await, None);
    }
}

#[tokio::test]
async fn machines_that_lack_something_and_troubles_with_progress_between_do_not_fail_an_experiment() {
    let led = Led::submitted(1).await;
    for _ in 0..8 {
        led.leave(Leaving::Unable("no key".into())).await;
        led.leave(Leaving::StepDown).await;
    }
    assert_eq!(led.state().await, "open");
    assert!(led.add_run().await);
    for _ in 0..4 {
        led.leave(Leaving::Trouble("the store is away".into())).await;
    }
    let one = led.fixture.claim("w", LEASE).await.expect("a trial");
    led.fixture.deliver("w", &one, None).await;
    for number in 0..5 {
        assert_eq!(led.state().await, "open", "{number} troubles since a trial ended");
        led.leave(Leaving::Trouble("the store is away".into())).await;
    }
    assert_eq!((led.state().await.as_str(), led.run_state().as_str()), ("failed", "cancelled"));
    assert_eq!(led.fixture.claim("w", LEASE).await, None);
    assert!(led.lead().await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_goes_on_when_the_cap_of_its_run_leaves_no_money() {
    let led = Led::submitted(4).await;
    let leadership = led.lead().await.expect("a term");
    let record = ExperimentRecord { max_usd: Some(1.0), trial_usd: Some(0.4), ..led.record() };
    let (summary, done) = tokio::join!(led.carry_out(record, leadership), led.work());
    assert_eq!(done, 3, "0.75 is spent, 0.40 more could pass 1.00");
    assert_eq!((summary.not_run, summary.interrupted), (5, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_ends_its_experiment_and_its_leader() {
    let led = Led::submitted(4).await;
    let leadership = led.lead().await.expect("a term");
    let lost = leadership.lost.clone();
    let cancelling = async {
        let clock = SystemClock::default();
        let begun = clock.mono();
        while led.run_state() != "open" {
            assert!(clock.mono().saturating_sub(begun) < DEADLINE, "nothing was submitted");
            clock.pause(Duration::from_millis(50), Why::PollFloor).await;
        }
        assert!(led.fixture.queue.cancel(&led.fixture.plan.run).await.expect("cancels"));
    };
    let (summary, ()) = tokio::join!(led.carry_out(led.record(), leadership), cancelling);
    assert_eq!(summary.not_run, led.fixture.plan.trials.len());
    assert_eq!(led.state().await, "cancelled");
    assert!(!led.fixture.has_work(&[]).await, "no worker waits for it");
    drop(lost);
}

#[tokio::test]
async fn a_followed_fetch_ends_for_what_is_cancelled_and_goes_on_for_what_is_tried_again() {
    let led = Led::submitted(1).await;
    assert!(led.add_run().await);
    let runs = led.artifacts.path().join("runs");
    let run = &led.fixture.plan.run;
    let fetched = async || fetch(&led.fixture.queue, run, &runs, Depth::Rows).await.expect("fetches");
    // Lost as often as the plan allows void attempts, it is tried again all the same.
    let one = led.fixture.claim("w", LEASE).await.expect("a trial");
    led.fixture.deliver("w", &one, Some(VoidCause::Interrupted)).await;
    for _ in 0..3 {
        assert!(led.fixture.claim("w", OVER).await.is_some());
        led.fixture.queue.expire().await.expect("expires");
    }
    let lost = fetched().await;
    assert_eq!((lost.open, lost.experiment), (2, None), "both trials wait");
    let held = led.fixture.claim("w", LEASE).await.expect("a trial");
    assert!(led.fixture.queue.cancel(run).await.expect("cancels"));
    assert_eq!(fetched().await.open, 1, "one runs");
    led.fixture.deliver("w", &held, None).await;
    let last = fetched().await;
    assert_eq!((last.open, last.missing), (0, 1));
    let status = led.fixture.queue.status().await.expect("a status").runs.remove(0);
    assert_eq!((status.waiting, status.waits_for), (1, vec![]), "what is cancelled waits for nobody");
    // The experiment went with it, and is not waited for either.
    let experiment =
        fetch(&led.fixture.queue, &RunId::new(EXPERIMENT), &runs, Depth::Files).await.expect("fetches");
    assert_eq!((experiment.open, experiment.experiment.as_deref()), (0, Some("cancelled")));
    let none = fetch(&led.fixture.queue, &RunId::new("none"), &runs, Depth::Files).await;
    assert!(matches!(none, Err(FetchError::NoRun(_))));
}

#[tokio::test]
async fn a_term_that_was_taken_is_lost_when_the_experiment_is_cancelled() {
    let led = Led::submitted(1).await;
    let build = build(&led.fixture.plan);
    let by = Claimant { worker: "leader", build: &build, offers: &[], unfit: &[] };
    let lease = Duration::from_secs(1);
    let leadership = led.fixture.queue.lead(&by, lease).await.expect("asks").expect("a term");
    let lost: CancellationToken = leadership.lost.clone();
    led.fixture.queue.cancel(&RunId::new(EXPERIMENT)).await.expect("cancels");
    tokio::time::timeout(DEADLINE, lost.cancelled()).await.expect("is told");
    assert!(!led.fixture.queue.keep_copy(&leadership, "list").await.expect("answers"));
}
