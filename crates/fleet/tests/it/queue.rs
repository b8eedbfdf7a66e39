//! The rules of the queue: each result once, fencing, caps, needs, priorities, order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::run::{RunFolder, RunPlan};
use apprentice_fleet::{
    Cap, CapKind, Claimant, Claimed, Metered, Queue, RateLimit, RateUnit, RunRecord, Stored, build,
};
use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Clock as _, ModelError, ModelProfile, RunId, StopReason,
    Verdict, VoidCause, Why,
};
use apprentice_runs::row::TrialRow;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::solution::FixedModel;
use tempfile::TempDir;

use crate::postgres::{Server, database};
use crate::scene;

pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// A lease that has run out when the next statement arrives.
pub(crate) const OVER: Duration = Duration::ZERO;

pub(crate) struct Fixture {
    pub(crate) server: Server,
    pub(crate) queue: Queue,
    pub(crate) plan: RunPlan,
    pub(crate) rows: RunFolder,
    _folder: TempDir,
}

pub(crate) async fn fixture(seeds: u32) -> Fixture {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    scene::write_suite(folder.path());
    let plan = scene::planned(&scene::suite(folder.path()), seeds, "test");
    let rows = RunFolder::create(&folder.path().join("runs"), plan.clone()).expect("a folder");
    let queue = server.queue().await;
    Fixture { server, queue, plan, rows, _folder: folder }
}

impl Fixture {
    pub(crate) fn record(&self) -> RunRecord {
        RunRecord {
            plan: serde_json::to_string(&self.plan).expect("text"),
            plan_hash: "hash".into(),
            build: build(&self.plan),
            artifacts: "file:///nowhere".into(),
            suite_list: "none".into(),
            suite_path: String::new(),
            book_list: None,
            priority: 0,
            max_usd: None,
            trial_usd: None,
            experiment: None,
            guidance: None,
        }
    }

    pub(crate) async fn claim(&self, worker: &str, lease: Duration) -> Option<Claimed> {
        self.offer(worker, &[], lease).await
    }

    async fn offer(&self, worker: &str, offers: &[&str], lease: Duration) -> Option<Claimed> {
        let offers: Vec<String> = offers.iter().map(ToString::to_string).collect();
        let by = Claimant { worker, build: &build(&self.plan), offers: &offers, unfit: &[] };
        self.queue.claim(&by, lease).await.expect("claims")
    }

    pub(crate) async fn has_work(&self, offers: &[&str]) -> bool {
        let offers: Vec<String> = offers.iter().map(ToString::to_string).collect();
        let by = Claimant { worker: "one", build: &build(&self.plan), offers: &offers, unfit: &[] };
        self.queue.has_work(&by).await.expect("asks")
    }

    pub(crate) fn row(&self, claimed: &Claimed, void: Option<VoidCause>) -> TrialRow {
        let blank = self.rows.lost_row(&claimed.trial, claimed.attempt);
        match void {
            Some(_) => TrialRow { run: claimed.run.clone(), void_cause: void, ..blank },
            None => TrialRow {
                run: claimed.run.clone(),
                verdict: Verdict::Pass,
                void_cause: None,
                stop_reason: Some(StopReason::Done),
                score: 1.0,
                cost_usd: Some(0.25),
                ..blank
            },
        }
    }

    pub(crate) async fn deliver(&self, worker: &str, claimed: &Claimed, void: Option<VoidCause>) -> Stored {
        self.queue.deliver(worker, &self.row(claimed, void), None).await.expect("delivers")
    }
}

#[tokio::test]
async fn a_late_result_is_refused_and_kept_apart() {
    let fixture = fixture(1).await;
    assert!(fixture.queue.add(&fixture.plan, &fixture.record(), &|_| vec![]).await.expect("adds"));
    let zombie = fixture.claim("zombie", OVER).await.expect("a trial");
    assert_eq!(zombie.attempt, 1);
    assert_eq!(fixture.queue.expire().await.expect("expires"), 1);
    let next = fixture.claim("next", LEASE).await.expect("the trial again");
    assert_eq!((&next.trial, next.attempt), (&zombie.trial, 2));

    assert_eq!(fixture.deliver("zombie", &zombie, None).await, Stored::Refused);
    assert_eq!(fixture.deliver("zombie", &zombie, None).await, Stored::Refused, "the same answer again");
    assert_eq!(fixture.deliver("zombie", &next, None).await, Stored::Refused, "not its attempt");
    assert_eq!(fixture.deliver("next", &next, None).await, Stored::Taken);
    assert_eq!(
        fixture.deliver("next", &next, None).await,
        Stored::Taken,
        "a repeated delivery changes nothing"
    );
    assert_eq!(fixture.deliver("zombie", &zombie, None).await, Stored::Refused);

    let count = |table: &str| fixture.server.psql(&format!("SELECT count(*) FROM apprentice_queue.{table}"));
    assert_eq!(
        (count("refused").as_str(), count("attempts").as_str()),
        ("2", "2"),
        "one lost, one delivered"
    );
    let status = fixture.queue.status().await.expect("a status");
    assert_eq!((status.runs[0].done, status.runs[0].waiting, status.runs[0].refused), (1, 1, 2));
    assert_eq!(status.runs[0].void["worker_lost"], 1);
}

#[tokio::test]
async fn void_attempts_are_repeated_as_in_a_folder_and_lost_ones_until_the_trial_is_dead() {
    let fixture = fixture(1).await;
    fixture.queue.add(&fixture.plan, &fixture.record(), &|_| vec![]).await.expect("adds");
    let first = fixture.claim("one", LEASE).await.expect("a trial").trial.trial;
    let interrupted =
        Claimed { run: fixture.plan.run.clone(), trial: fixture.plan.trials[0].clone(), attempt: 1 };
    assert_eq!(interrupted.trial.trial, first);
    fixture.deliver("one", &interrupted, Some(VoidCause::Interrupted)).await;
    for attempt in 2..=4 {
        let again = fixture.claim("one", LEASE).await.expect("the same trial");
        assert_eq!(
            (&again.trial.trial, again.attempt),
            (&first, attempt),
            "an interrupted attempt does not count"
        );
        fixture.deliver("one", &again, Some(VoidCause::WorldStart)).await;
    }
    let other = fixture.claim("one", OVER).await.expect("the other trial");
    assert_ne!(other.trial.trial, first, "three void attempts are all that the plan allows");
    for lost in 2..=5 {
        fixture.queue.expire().await.expect("expires");
        assert_eq!(fixture.claim("one", OVER).await.expect("again").attempt, lost);
    }
    fixture.queue.expire().await.expect("expires");
    assert_eq!(fixture.claim("one", LEASE).await, None);
    let status = fixture.queue.status().await.expect("a status");
    assert_eq!((status.runs[0].done, status.runs[0].dead), (1, 1));
    assert!(!fixture.has_work(&[]).await);
}

#[tokio::test]
async fn workers_together_never_pass_a_cap() {
    let fixture = fixture(4).await;
    let capped = RunRecord { max_usd: Some(1.0), trial_usd: Some(0.4), ..fixture.record() };
    fixture.queue.add(&fixture.plan, &capped, &|_| vec![]).await.expect("adds");
    let claims = futures_util::future::join_all((0..8).map(|worker| {
        let (fixture, address) = (&fixture, fixture.server.owner());
        async move {
            let queue = Queue::open(database(&address)).await.expect("a queue");
            let (worker, build) = (format!("w{worker}"), build(&fixture.plan));
            let by = Claimant { worker: &worker, build: &build, offers: &[], unfit: &[] };
            queue.claim(&by, LEASE).await.expect("claims")
        }
    }));
    let held: Vec<(usize, Claimed)> =
        claims.await.into_iter().enumerate().filter_map(|(at, one)| Some((at, one?))).collect();
    assert_eq!(held.len(), 2, "two may cost 0.80, a third could pass 1.00");
    let status = fixture.queue.status().await.expect("a status");
    assert!(status.runs[0].waits_for.iter().any(|why| why.contains("cap")), "{:?}", status.runs[0].waits_for);
    for (worker, one) in &held {
        assert_eq!(fixture.deliver(&format!("w{worker}"), one, None).await, Stored::Taken);
    }
    let third = fixture.claim("late", LEASE).await.expect("0.50 is spent, 0.40 fits");
    assert_eq!(fixture.claim("late", LEASE).await, None, "0.50 is spent and 0.40 reserved");
    fixture.queue.give_back("late", &third).await.expect("gives back");
    assert_eq!(
        fixture.claim("late", OVER).await.map(|one| one.attempt),
        Some(1),
        "an attempt not begun keeps its number"
    );
    fixture.queue.expire().await.expect("expires");
    assert_eq!(
        fixture.claim("late", LEASE).await,
        None,
        "a lost attempt is booked with all it may have cost"
    );
}

#[tokio::test]
async fn a_trial_waits_for_a_worker_that_can_run_it_and_higher_priority_goes_first() {
    let fixture = fixture(1).await;
    let needs = |_: &_| vec!["program:gimp".to_owned(), "world:desktop".to_owned()];
    fixture.queue.add(&fixture.plan, &fixture.record(), &needs).await.expect("adds");
    assert_eq!(fixture.offer("small", &["world:desktop"], LEASE).await, None);
    assert!(
        !fixture.has_work(&["world:desktop"]).await
            && fixture.has_work(&["world:desktop", "program:gimp"]).await
    );
    fixture.queue.enter("small", &build(&fixture.plan), &["world:desktop".into()]).await.expect("enters");
    let why = fixture.queue.status().await.expect("a status").runs[0].waits_for.clone();
    assert_eq!(why, ["2 wait for a worker that offers program:gimp, world:desktop"]);
    let old = Claimant { worker: "old", build: "another build", offers: &[], unfit: &[] };
    assert_eq!(fixture.queue.claim(&old, LEASE).await.expect("claims"), None);

    let urgent = RunPlan { run: RunId::new("20260101T000000Z-0001"), ..fixture.plan.clone() };
    let record = RunRecord { priority: 5, ..fixture.record() };
    fixture.queue.add(&urgent, &record, &|_| vec!["world:desktop".to_owned()]).await.expect("adds");
    let all = ["world:desktop", "program:gimp"];
    let runs = [
        fixture.offer("big", &all, LEASE).await.expect("a trial").run,
        fixture.offer("big", &all, LEASE).await.expect("a trial").run,
        fixture.offer("big", &all, LEASE).await.expect("a trial").run,
    ];
    assert_eq!(runs, [urgent.run.clone(), urgent.run.clone(), fixture.plan.run.clone()]);

    assert!(fixture.queue.cancel(&fixture.plan.run).await.expect("cancels"));
    assert_eq!(fixture.offer("big", &all, LEASE).await, None, "nothing of a cancelled run is handed out");
    assert_eq!(fixture.queue.drain(None).await.expect("drains"), ["small"]);
    assert!(fixture.queue.is_draining("small").await.expect("asks"));
}

#[tokio::test]
async fn a_run_is_queued_once_whoever_submits_it_and_however_often() {
    let fixture = fixture(3).await;
    let adding = (0..4).map(|_| {
        let (fixture, address) = (&fixture, fixture.server.owner());
        async move {
            let queue = Queue::open_and_migrate(database(&address)).await.expect("a queue");
            queue.add(&fixture.plan, &fixture.record(), &|_| vec![]).await.expect("adds")
        }
    });
    let added = futures_util::future::join_all(adding).await;
    assert_eq!(added.iter().filter(|added| **added).count(), 1, "{added:?}");
    assert_eq!(
        fixture.server.psql("SELECT count(*) FROM apprentice_queue.trials"),
        fixture.plan.trials.len().to_string()
    );

    let mut seen = BTreeSet::new();
    while let Some(one) = fixture.claim("one", LEASE).await {
        assert!(seen.insert(one.trial.trial.clone()));
    }
    assert_eq!(seen.len(), fixture.plan.trials.len());
}

#[tokio::test]
async fn one_bucket_limits_the_calls_of_all_workers() {
    let server = Server::start();
    let queue = server.queue().await;
    let limit = RateLimit { key: "provider".into(), unit: RateUnit::Calls, per_minute: 60 };
    limit.set(queue.database()).await.expect("sets");
    server.psql("UPDATE apprentice_queue.buckets SET tokens = 2, filled_at = clock_timestamp()");
    let calls = (0..4).map(|_| {
        let database = Arc::new(database(&server.owner()));
        async move { database.take_token("provider").await.expect("a token") }
    });
    let mut waited = futures_util::future::join_all(calls).await;
    waited.sort();
    assert!(
        waited[3] > Duration::from_millis(500),
        "two tokens were there, one comes each second: {waited:?}"
    );
    let tokens: f64 = server.psql("SELECT tokens FROM apprentice_queue.buckets").parse().expect("a number");
    assert!((0.0..1.5).contains(&tokens), "{tokens}");
    assert!(queue.database().take_token("another").await.expect("no limit") < Duration::from_secs(5));
}

#[tokio::test]
async fn caps_of_a_day_a_model_and_a_key_hold_over_all_workers_and_runs() {
    let fixture = fixture(6).await;
    let record = RunRecord { trial_usd: Some(0.4), ..fixture.record() };
    fixture.queue.add(&fixture.plan, &record, &|_| vec![]).await.expect("adds");
    let cap = |kind, name: &str, max_usd| Cap { kind, name: name.to_owned(), max_usd };
    let claims = async || {
        let claims = (0..8).map(|worker| {
            let (fixture, address) = (&fixture, fixture.server.owner());
            async move {
                let queue = Queue::open(database(&address)).await.expect("a queue");
                let (worker, build) = (format!("w{worker}"), build(&fixture.plan));
                let by = Claimant { worker: &worker, build: &build, offers: &[], unfit: &[] };
                Some((worker.clone(), queue.claim(&by, LEASE).await.expect("claims")?))
            }
        });
        futures_util::future::join_all(claims).await.into_iter().flatten().collect::<Vec<_>>()
    };
    // Of everything: two may cost 0.80, a third could pass 1.00, whoever asks at once.
    fixture.queue.set_cap(&cap(CapKind::Day, "", Some(1.0))).await.expect("sets");
    let held = claims().await;
    assert_eq!(held.len(), 2, "{held:?}");
    let why = fixture.queue.status().await.expect("a status").runs[0].waits_for.clone();
    assert!(why.iter().any(|why| why.contains("cap of the day")), "{why:?}");
    for (worker, one) in &held {
        assert_eq!(fixture.deliver(worker, one, None).await, Stored::Taken);
    }
    let caps = fixture.queue.status().await.expect("a status").caps;
    assert!((caps[0].spent_usd - 0.5).abs() < 1e-9 && caps[0].reserved_usd < 1e-9, "{caps:?}");
    let held = claims().await;
    assert_eq!(held.len(), 1, "0.50 is spent, one more fits");
    // Yesterday's spending does not count today; what runs on is still reserved.
    fixture.server.psql("UPDATE apprentice_queue.caps SET day = day - 1, spent_usd = 99");
    assert_eq!(claims().await.len(), 1, "0.40 is reserved, and 99 were yesterday's");
    fixture.queue.give_back(&held[0].0, &held[0].1).await.expect("gives back");
    assert_eq!(claims().await.len(), 1, "0.40 is reserved again");
    // Of a model and of a key; lifted again.
    fixture.queue.set_cap(&cap(CapKind::Day, "", None)).await.expect("lifts");
    fixture.queue.set_cap(&cap(CapKind::Model, "baseline/solution", Some(0.0))).await.expect("sets");
    let others = claims().await;
    assert!(!others.is_empty() && others.iter().all(|(_, one)| one.trial.model == "baseline/noop"));
    fixture.queue.set_cap(&cap(CapKind::Key, "baseline", Some(0.0))).await.expect("sets");
    assert!(claims().await.is_empty());
    assert_ne!(
        fixture.server.psql("SELECT count(*) FROM apprentice_queue.trials WHERE state = 'waiting'"),
        "0"
    );
}

#[tokio::test]
async fn a_bucket_of_tokens_is_emptied_by_what_calls_used_and_fills_again() {
    let server = Server::start();
    let queue = server.queue().await;
    let limit = RateLimit { key: "baseline".into(), unit: RateUnit::Tokens, per_minute: 60_000 };
    limit.set(queue.database()).await.expect("sets");
    // A debt of half a second.
    server.psql("UPDATE apprentice_queue.buckets SET tokens = -500, filled_at = clock_timestamp()");
    let database = Arc::new(database(&server.owner()));
    let model = Metered::new(Arc::new(FixedModel::noop()), "baseline/noop", database);
    let request = ChatRequest::default();
    let reply = model.reply(&request).await.expect("an answer");
    assert!(reply.timing.waiting_ms >= 300, "the debt is waited for: {:?}", reply.timing);
    let counted = server.psql("SELECT model, sum(calls) FROM apprentice_queue.model_latency GROUP BY 1");
    assert_eq!(counted, "baseline/noop|1", "the answer's time is counted");
}

/// A model that waited for its provider before it answered.
struct Waited(FixedModel);

impl ChatModel for Waited {
    fn profile(&self) -> &ModelProfile {
        self.0.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            SystemClock::default().pause(Duration::from_millis(600), Why::Backoff).await;
            let mut reply = self.0.reply(request).await?;
            reply.timing.waiting_ms += 600;
            Ok(reply)
        })
    }
}

#[tokio::test]
async fn the_time_of_an_answer_holds_no_waits_and_an_answer_that_cannot_be_booked_is_kept() {
    let server = Server::start();
    let _queue = server.queue().await;
    let database = Arc::new(database(&server.owner()));
    let model = Metered::new(Arc::new(Waited(FixedModel::noop())), "baseline/noop", database);
    let request = ChatRequest::default();
    model.reply(&request).await.expect("an answer");
    let seconds: f64 =
        server.psql("SELECT sum(seconds) FROM apprentice_queue.model_latency").parse().expect("a number");
    assert!(seconds < 0.5, "{seconds}");
    server.psql("DROP TABLE apprentice_queue.model_latency");
    model.reply(&request).await.expect("a paid answer");
}
