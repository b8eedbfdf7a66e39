//! A real Prometheus scrapes the metrics of a queue.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::run::RunFolder;
use apprentice_fleet::{Cap, CapKind, Claimant, Metered, Queue, RunRecord, build, metrics, serve_metrics};
use apprentice_protocol::{ChatModel as _, ChatRequest, Clock as _, StopReason, Verdict, VoidCause, Why};
use apprentice_runs::row::TrialRow;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::solution::FixedModel;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::postgres::{Server, database};
use crate::scene;

/// A Prometheus that ends with this value.
struct Prometheus {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    fn scraping(port: u16) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().expect("a folder");
        let config = format!(
            "scrape_configs:\n- job_name: apprentice\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  static_configs:\n  - targets: ['127.0.0.1:{port}']\n"
        );
        std::fs::write(folder.path().join("prometheus.yml"), config).expect("writes");
        let own =
            std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("a port").port();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", folder.path().join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{own}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus: scripts/setup --tests installs it");
        Self { process, port: own, _folder: folder }
    }

    /// The value of a query, once it has one.
    async fn value(&self, query: &str) -> f64 {
        let clock = SystemClock::default();
        let begun = clock.mono();
        let url = format!("http://127.0.0.1:{}/api/v1/query", self.port);
        let url = reqwest::Url::parse_with_params(&url, [("query", query)]).expect("an address");
        loop {
            if let Ok(answer) = reqwest::get(url.clone()).await
                && let Ok(text) = answer.text().await
                && let Ok(found) = serde_json::from_str::<Value>(&text)
                && let Some(value) = found["data"]["result"][0]["value"][1].as_str()
            {
                return value.parse().expect("a number");
            }
            assert!(clock.mono().saturating_sub(begun) < Duration::from_secs(60), "no value of {query}");
            clock.pause(Duration::from_millis(200), Why::PollFloor).await;
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A queue in which something of everything has happened.
async fn eventful(server: &Server, folder: &Path) -> Queue {
    scene::write_suite(folder);
    let plan = scene::planned(&scene::suite(folder), 3, "metrics");
    let rows = RunFolder::create(&folder.join("runs"), plan.clone()).expect("a folder");
    let queue = server.queue().await;
    let record = RunRecord {
        plan: "a \"quoted\"\nplan".into(),
        plan_hash: String::new(),
        build: build(&plan),
        artifacts: String::new(),
        suite_list: String::new(),
        suite_path: String::new(),
        book_list: None,
        priority: 0,
        max_usd: None,
        trial_usd: Some(1.0),
        experiment: None,
        guidance: None,
    };
    queue.add(&plan, &record, &|_| vec![]).await.expect("adds");
    queue.enter("w", &build(&plan), &[]).await.expect("enters");
    let cap = Cap { kind: CapKind::Day, name: String::new(), max_usd: Some(100.0) };
    queue.set_cap(&cap).await.expect("sets");
    let by = Claimant { worker: "w", build: &build(&plan), offers: &[], unfit: &[] };
    for number in 0..3 {
        let one = queue.claim(&by, Duration::from_secs(60)).await.expect("claims").expect("a trial");
        let row = match number {
            0 => TrialRow {
                void_cause: Some(VoidCause::Interrupted),
                ..rows.lost_row(&one.trial, one.attempt)
            },
            _ => TrialRow {
                verdict: Verdict::Pass,
                void_cause: None,
                stop_reason: Some(StopReason::Done),
                cost_usd: Some(0.25),
                ..rows.lost_row(&one.trial, one.attempt)
            },
        };
        queue.deliver("w", &row, None).await.expect("delivers");
    }
    let model =
        Metered::new(Arc::new(FixedModel::noop()), "baseline/noop", Arc::new(database(&server.owner())));
    model.reply(&ChatRequest::default()).await.expect("an answer");

    queue
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prometheus_scrapes_trials_voids_money_age_and_latency() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let queue = eventful(&server, folder.path()).await;
    // Prometheus' own tool reads the text without a complaint about its form.
    let text = metrics(&queue).await.expect("metrics");
    let file = folder.path().join("metrics");
    std::fs::write(&file, &text).expect("writes");
    let checked = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::fs::File::open(&file).expect("opens"))
        .output();
    let checked = checked.expect("promtool runs");
    assert!(checked.status.success(), "{}\n{text}", String::from_utf8_lossy(&checked.stderr));

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let port = listener.local_addr().expect("an address").port();
    let cancel = CancellationToken::new();
    let serving = tokio::spawn(serve_metrics(Arc::new(queue), listener, cancel.clone()));
    let prometheus = Prometheus::scraping(port);
    assert!((prometheus.value("sum(apprentice_attempts_total)").await - 3.0).abs() < 1e-9);
    for (query, expected) in [
        ("sum(apprentice_attempts_total{verdict=\"void\",void_cause=\"interrupted\"})", 1.0),
        ("sum(apprentice_trials{state=\"done\"})", 2.0),
        ("sum(apprentice_trials{state=\"waiting\"})", 4.0),
        ("sum(apprentice_cost_usd_total)", 0.5),
        ("apprentice_cap_usd{kind=\"day\"}", 100.0),
        ("apprentice_cap_spent_usd{kind=\"day\"}", 1.5),
        ("apprentice_workers{state=\"working\"}", 1.0),
        ("apprentice_model_latency_seconds_count{model=\"baseline/noop\"}", 1.0),
        ("apprentice_attempts_per_minute", 0.6),
        ("apprentice_trials_per_minute", 0.4),
        ("apprentice_runs{state=\"open\"}", 1.0),
        ("count(apprentice_model_latency_seconds_bucket)", 11.0),
    ] {
        let value = prometheus.value(query).await;
        assert!((value - expected).abs() < 1e-9, "{query}: {value}, expected {expected}\n{text}");
    }
    assert!(prometheus.value("apprentice_queue_age_seconds").await > 0.0);
    assert!(
        prometheus.value("histogram_quantile(0.9, apprentice_model_latency_seconds_bucket)").await <= 0.25
    );
    cancel.cancel();
    // A scraper keeps its connection open.
    drop(prometheus);
    serving.await.expect("ends").expect("ends well");
}

#[tokio::test]
async fn the_series_of_a_run_end_a_while_after_the_run() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let queue = eventful(&server, folder.path()).await;
    let shown = async || {
        let text = metrics(&queue).await.expect("metrics");
        text.lines().filter(|line| line.starts_with("apprentice_trials{")).count()
    };
    assert_eq!(shown().await, 2, "waiting and done");
    // All is done, an hour ago: the run is among the ended ones, and what it did still counts.
    server.psql("UPDATE apprentice_queue.trials SET state = 'done'");
    assert_eq!(shown().await, 1, "its last results are scraped");
    server.psql("UPDATE apprentice_queue.attempts SET delivered_at = delivered_at - interval '1 hour'");
    assert_eq!(shown().await, 0);
    let text = metrics(&queue).await.expect("metrics");
    for line in [
        "apprentice_runs{state=\"ended\"} 1",
        "apprentice_cost_usd_total{model=\"baseline/noop\"}",
        "apprentice_trials_per_minute 0",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // One that waits for days goes on.
    server.psql("UPDATE apprentice_queue.trials SET state = 'waiting' WHERE trial = (SELECT min(trial) FROM apprentice_queue.trials)");
    assert_eq!(shown().await, 2);
    server.psql("UPDATE apprentice_queue.runs SET state = 'cancelled'");
    assert_eq!(shown().await, 0);
}
