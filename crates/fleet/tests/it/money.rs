//! Caps per day: what counts for them, and who waits for them.

use std::sync::Arc;
use std::time::Duration;

use apprentice_fleet::{Cap, CapKind, CapStatus, Metered, RunRecord, Stored};
use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Clock as _, ModelError, ModelProfile, TrialId, Why,
};
use apprentice_runs::row::TrialRow;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::solution::FixedModel;

use crate::postgres::database;
use crate::queue::{Fixture, LEASE, OVER, fixture};

fn day(max_usd: Option<f64>) -> Cap {
    Cap { kind: CapKind::Day, name: String::new(), max_usd }
}

async fn caps(fixture: &Fixture) -> Vec<CapStatus> {
    fixture.queue.status().await.expect("a status").caps
}

/// What is spent and reserved, of a cap by its place in the list.
async fn counted(fixture: &Fixture, at: usize) -> (f64, f64) {
    let cap = caps(fixture).await.remove(at);
    (cap.spent_usd, cap.reserved_usd)
}

#[tokio::test]
async fn a_new_cap_knows_what_was_spent_today_and_what_runs() {
    let fixture = fixture(6).await;
    let record = RunRecord { trial_usd: Some(5.0), ..fixture.record() };
    fixture.queue.add(&fixture.plan, &record, &|_| vec![]).await.expect("adds");
    // Delivered yesterday, delivered today, lost today, and two under way.
    for _ in 0..2 {
        let one = fixture.claim("w", LEASE).await.expect("a trial");
        fixture.deliver("w", &one, None).await;
        fixture.server.psql(
            "UPDATE apprentice_queue.attempts SET delivered_at = delivered_at - interval '1 day'
             WHERE (SELECT count(*) FROM apprentice_queue.attempts) = 1",
        );
    }
    fixture.claim("lost", OVER).await.expect("a trial");
    fixture.queue.expire().await.expect("expires");
    let held =
        [fixture.claim("w", LEASE).await, fixture.claim("w", LEASE).await].map(|one| one.expect("a trial"));

    fixture.queue.set_cap(&day(Some(20.0))).await.expect("sets");
    assert_eq!(counted(&fixture, 0).await, (5.25, 10.0), "0.25 today, 5 lost, two at 5 under way");
    assert_eq!(fixture.claim("w", LEASE).await, None, "a third could pass 20");
    for one in &held {
        assert_eq!(fixture.deliver("w", one, None).await, Stored::Taken);
    }
    assert_eq!(counted(&fixture, 0).await, (5.75, 0.0));
    // Lifted and set again, it forgets nothing; changed, it stays as it is.
    fixture.queue.set_cap(&day(None)).await.expect("lifts");
    let under_way = fixture.claim("w", LEASE).await.expect("a trial");
    fixture.queue.set_cap(&day(Some(12.0))).await.expect("sets");
    assert_eq!(counted(&fixture, 0).await, (5.75, 5.0));
    assert_eq!(fixture.claim("w", LEASE).await, None);
    fixture.queue.set_cap(&day(Some(50.0))).await.expect("sets");
    assert_eq!(counted(&fixture, 0).await, (5.75, 5.0));
    // A model's cap counts what is the model's, a key's all of its models.
    let of = |kind, name: &str| Cap { kind, name: name.into(), max_usd: Some(50.0) };
    fixture.queue.set_cap(&of(CapKind::Model, &under_way.trial.model)).await.expect("sets");
    fixture.queue.set_cap(&of(CapKind::Key, "baseline")).await.expect("sets");
    fixture.queue.set_cap(&of(CapKind::Key, "another")).await.expect("sets");
    let of_model = fixture.server.psql(&format!(
        "SELECT coalesce(sum(coalesce(cost_usd, 5)), 0) FROM apprentice_queue.attempts JOIN apprentice_queue.trials USING (run, trial)
         WHERE model = '{}' AND delivered_at > clock_timestamp() - interval '1 hour'",
        under_way.trial.model
    ));
    let found: Vec<(String, f64, f64)> = caps(&fixture)
        .await
        .into_iter()
        .skip(1)
        .map(|cap| (cap.name, cap.spent_usd, cap.reserved_usd))
        .collect();
    let expected = [
        ("another".to_owned(), 0.0, 0.0),
        ("baseline".to_owned(), 5.75, 5.0),
        (under_way.trial.model.clone(), of_model.parse().expect("a number"), 5.0),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn what_waits_for_money_of_a_day_is_no_work_for_a_worker_that_ends_when_all_is_done() {
    let fixture = fixture(1).await;
    let record = RunRecord { trial_usd: Some(0.4), ..fixture.record() };
    fixture.queue.add(&fixture.plan, &record, &|_| vec![]).await.expect("adds");
    fixture.queue.set_cap(&day(Some(0.5))).await.expect("sets");
    assert!(fixture.has_work(&[]).await, "one fits");
    let one = fixture.claim("w", LEASE).await.expect("a trial");
    assert!(fixture.has_work(&[]).await, "what runs may leave money");
    fixture.deliver("w", &one, None).await;
    assert!(!fixture.has_work(&[]).await, "0.25 is spent, another does not fit today");
    // A trial whose cost is unknown never begins while a cap holds.
    fixture.queue.set_cap(&day(Some(1000.0))).await.expect("sets");
    assert!(fixture.has_work(&[]).await);
    fixture.server.psql("UPDATE apprentice_queue.runs SET trial_usd = NULL");
    assert!(!fixture.has_work(&[]).await);
    assert_eq!(fixture.claim("w", LEASE).await, None);
}

#[tokio::test]
async fn the_late_result_of_a_lost_attempt_corrects_the_run_and_the_day() {
    let fixture = fixture(1).await;
    let record = RunRecord { max_usd: Some(100.0), trial_usd: Some(5.0), ..fixture.record() };
    fixture.queue.add(&fixture.plan, &record, &|_| vec![]).await.expect("adds");
    fixture.queue.set_cap(&day(Some(100.0))).await.expect("sets");
    let spent = || fixture.server.psql("SELECT spent_usd FROM apprentice_queue.runs");
    let slow = fixture.claim("slow", OVER).await.expect("a trial");
    fixture.queue.expire().await.expect("expires");
    assert_eq!((counted(&fixture, 0).await, spent()), ((5.0, 0.0), "5".to_owned()));
    for _ in 0..2 {
        assert_eq!(fixture.deliver("slow", &slow, None).await, Stored::Refused);
        assert_eq!((counted(&fixture, 0).await, spent()), ((0.25, 0.0), "0.25".to_owned()));
    }
    // Set anew, the cap counts the same.
    fixture.queue.set_cap(&day(None)).await.expect("lifts");
    fixture.queue.set_cap(&day(Some(100.0))).await.expect("sets");
    assert_eq!(counted(&fixture, 0).await, (0.25, 0.0));
    // A result of an attempt that this worker never held was never booked.
    let held = fixture.claim("next", LEASE).await.expect("a trial");
    assert_eq!(fixture.deliver("stranger", &held, None).await, Stored::Refused);
    let unknown = TrialRow { trial: TrialId::new("unknown"), ..fixture.row(&held, None) };
    assert_eq!(fixture.queue.deliver("slow", &unknown, None).await.expect("answers"), Stored::Refused);
    assert_eq!((counted(&fixture, 0).await, spent()), ((0.25, 5.0), "0.25".to_owned()));
}

/// A model whose calls cost a quarter of a dollar.
struct Dear(ModelProfile);

impl ChatModel for Dear {
    fn profile(&self) -> &ModelProfile {
        &self.0
    }

    fn reply<'a>(&'a self, _request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async {
            Ok(ChatReply { cost_usd: Some(0.25), ..FixedModel::noop().reply(&ChatRequest::default()).await? })
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_leader_learns_counts_for_the_caps_and_waits_for_money() {
    let fixture = fixture(1).await;
    let record = RunRecord { trial_usd: Some(0.3), ..fixture.record() };
    fixture.queue.add(&fixture.plan, &record, &|_| vec![]).await.expect("adds");
    fixture.server.psql(
        "INSERT INTO apprentice_queue.experiments (experiment, command, inputs, build, artifacts, priority, needs, led_until)
         VALUES ('e', '[]', '', '', '', 0, '{}', now() + interval '1 hour')",
    );
    let experiment = async || fixture.queue.status().await.expect("a status").experiments.remove(0);
    let model = |learns: bool| {
        let inner = Arc::new(Dear(FixedModel::noop().profile().clone()));
        let metered = Metered::new(inner, "dear/model", Arc::new(database(&fixture.server.owner())));
        if learns { metered.learning_for("e") } else { metered }
    };
    let (learner, request) = (model(true), ChatRequest::default());
    learner.reply(&request).await.expect("answers");
    // What a worker's trials call is booked with their results, and not twice.
    model(false).reply(&request).await.expect("answers");
    assert_eq!((experiment().await.learning_usd, experiment().await.learning_waits_for), (0.25, None));

    // A new cap knows what was learned today; a model's and a key's count what is theirs.
    fixture
        .server
        .psql("INSERT INTO apprentice_queue.learning VALUES ('e', 'dear/model', current_date - 2, 7)");
    fixture.queue.set_cap(&day(Some(0.6))).await.expect("sets");
    let of = |kind, name: &str, usd| Cap { kind, name: name.into(), max_usd: Some(usd) };
    fixture.queue.set_cap(&of(CapKind::Key, "dear", 50.0)).await.expect("sets");
    fixture.queue.set_cap(&of(CapKind::Model, "other/model", 50.0)).await.expect("sets");
    let spent: Vec<f64> = caps(&fixture).await.iter().map(|cap| cap.spent_usd).collect();
    assert_eq!(spent, [0.25, 0.25, 0.0]);
    learner.reply(&request).await.expect("answers");
    assert_eq!(counted(&fixture, 0).await, (0.5, 0.0));
    assert_eq!(fixture.claim("w", LEASE).await, None, "the learning leaves no 0.3 for a trial");

    // A call begins while money is left, and passes the cap by itself at most.
    learner.reply(&request).await.expect("answers");
    let mut waiting = std::pin::pin!(learner.reply(&request));
    let clock = SystemClock::default();
    let begun = clock.mono();
    let seen = loop {
        let tick = clock.pause(Duration::from_millis(50), Why::PollFloor);
        tokio::select! {
            _ = &mut waiting => panic!("a call without money"),
            () = tick => {}
        }
        if let Some(cap) = experiment().await.learning_waits_for {
            break cap;
        }
        assert!(clock.mono().saturating_sub(begun) < Duration::from_secs(60), "nobody tells that it waits");
    };
    assert_eq!(seen, "day");
    fixture.queue.set_cap(&day(Some(2.0))).await.expect("sets");
    let answered =
        tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("goes on").expect("answers");
    assert!(answered.timing.waiting_ms > 0);
    assert_eq!((counted(&fixture, 0).await.0, experiment().await.learning_usd), (1.0, 8.0));
}
