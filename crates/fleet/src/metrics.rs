//! What a monitoring system asks of a fleet, in the text form of Prometheus.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_postgres::Row;
use tokio_util::sync::CancellationToken;

use crate::database::DatabaseError;
use crate::queue::Queue;
use crate::rate_limit::BOUNDS;

/// A scrape waits no longer than this.
const LONGEST_ANSWER: Duration = Duration::from_secs(8);

/// A run is shown while it is open or something of it runs, and for a quarter of an hour after its last result: its series end.
const TRIALS: &str = "
    WITH shown AS (
        SELECT run FROM attempts WHERE delivered_at > statement_timestamp() - interval '15 min'
        UNION SELECT run FROM trials WHERE state = 'running'
        UNION SELECT r.run FROM runs r
        WHERE r.state = 'open' AND EXISTS (SELECT FROM trials t WHERE t.run = r.run AND t.state = 'waiting')
    )
    SELECT t.run, t.state, count(*) FROM trials t JOIN shown USING (run) GROUP BY 1, 2 ORDER BY 1, 2";
const ATTEMPTS: &str = "
    SELECT coalesce(verdict, ''), coalesce(void_cause, ''), count(*) FROM attempts GROUP BY 1, 2 ORDER BY 1, 2";
const CAPS: &str = "
    SELECT kind, name, max_usd,
           CASE WHEN day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN spent_usd ELSE 0 END
    FROM caps ORDER BY 1, 2";
/// A family whose statement gives one label and a number.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    label: &'static str,
    sql: &'static str,
}

const BY_ONE_LABEL: [Family; 5] = [
    Family {
        name: "apprentice_runs",
        kind: "gauge",
        help: "Runs by state: open, ended or cancelled.",
        label: "state",
        sql: "
            SELECT CASE WHEN r.state = 'open' AND NOT EXISTS (
                        SELECT FROM trials t WHERE t.run = r.run AND t.state IN ('waiting', 'running')) THEN 'ended' ELSE r.state END,
                   count(*)::double precision
            FROM runs r GROUP BY 1 ORDER BY 1",
    },
    Family {
        name: "apprentice_cost_usd_total",
        kind: "counter",
        help: "What attempts cost in US dollars, by model.",
        label: "model",
        sql: "SELECT t.model, coalesce(sum(a.cost_usd), 0) FROM attempts a JOIN trials t USING (run, trial) GROUP BY 1 ORDER BY 1",
    },
    Family {
        name: "apprentice_learning_cost_usd_total",
        kind: "counter",
        help: "What leaders spent on learning in US dollars, by model.",
        label: "model",
        sql: "SELECT model, sum(usd) FROM learning GROUP BY 1 ORDER BY 1",
    },
    Family {
        name: "apprentice_workers",
        kind: "gauge",
        help: "Workers by state; silent ones gave no sign for 10 minutes.",
        label: "state",
        sql: "
            SELECT CASE WHEN state <> 'ended' AND seen_at < clock_timestamp() - interval '10 min' THEN 'silent' ELSE state END,
                   count(*)::double precision
            FROM workers GROUP BY 1 ORDER BY 1",
    },
    Family {
        name: "apprentice_experiments",
        kind: "gauge",
        help: "Experiments by state.",
        label: "state",
        sql: "SELECT state, count(*)::double precision FROM experiments GROUP BY 1 ORDER BY 1",
    },
];
const ONES: &str = "
    WITH lately AS (
        SELECT count(*)::double precision AS attempts, count(*) FILTER (WHERE verdict <> 'void')::double precision AS trials
        FROM attempts WHERE delivered_at > statement_timestamp() - interval '5 min')
    SELECT (SELECT attempts FROM lately) / 5,
           (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(r.submitted_at)), 0)
            FROM runs r WHERE r.state = 'open' AND EXISTS (
                SELECT FROM trials t WHERE t.run = r.run AND t.state = 'waiting'))::double precision,
           (SELECT count(*) FROM refused), (SELECT trials FROM lately) / 5";
const LATENCY: &str = "SELECT model, le, calls, seconds FROM model_latency ORDER BY model, le";

/// Writes the state of a queue as metrics.
///
/// # Errors
///
/// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
pub async fn metrics(queue: &Queue) -> Result<String, DatabaseError> {
    let database = queue.database();
    let mut text = String::new();
    let rows = database.query(TRIALS, &[]).await?;
    family(
        &mut text,
        "apprentice_trials",
        "gauge",
        "Trials by run and state, of runs that go on or had a result in the last 15 minutes.",
    );
    for row in &rows {
        sample(&mut text, "apprentice_trials", &[("run", row.get(0)), ("state", row.get(1))], count(row, 2));
    }
    family(
        &mut text,
        "apprentice_attempts_total",
        "counter",
        "Ended attempts by verdict, and by cause if void.",
    );
    for row in &database.query(ATTEMPTS, &[]).await? {
        let labels = [("verdict", row.get(0)), ("void_cause", row.get(1))];
        sample(&mut text, "apprentice_attempts_total", &labels, count(row, 2));
    }
    for one in &BY_ONE_LABEL {
        family(&mut text, one.name, one.kind, one.help);
        for row in &database.query(one.sql, &[]).await? {
            sample(&mut text, one.name, &[(one.label, row.get(0))], row.get(1));
        }
    }
    family(&mut text, "apprentice_cap_usd", "gauge", "Caps per UTC day in US dollars.");
    let caps = database.query(CAPS, &[]).await?;
    for row in &caps {
        sample(&mut text, "apprentice_cap_usd", &[("kind", row.get(0)), ("name", row.get(1))], row.get(2));
    }
    family(&mut text, "apprentice_cap_spent_usd", "gauge", "What counts for a cap today, in US dollars.");
    for row in &caps {
        let labels = [("kind", row.get(0)), ("name", row.get(1))];
        sample(&mut text, "apprentice_cap_spent_usd", &labels, row.get(3));
    }
    single_values(&mut text, &database.query(ONES, &[]).await?);
    latency(&mut text, &database.query(LATENCY, &[]).await?);
    Ok(text)
}

fn single_values(text: &mut String, rows: &[Row]) {
    let Some(row) = rows.first() else { return };
    family(text, "apprentice_attempts_per_minute", "gauge", "Ended attempts per minute, over the last five.");
    sample(text, "apprentice_attempts_per_minute", &[], row.get(0));
    family(
        text,
        "apprentice_trials_per_minute",
        "gauge",
        "Trials that passed or failed per minute, over the last five.",
    );
    sample(text, "apprentice_trials_per_minute", &[], row.get(3));
    family(
        text,
        "apprentice_queue_age_seconds",
        "gauge",
        "How long ago the oldest run was submitted whose trials wait.",
    );
    sample(text, "apprentice_queue_age_seconds", &[], row.get(1));
    family(text, "apprentice_refused_total", "counter", "Late results that were refused.");
    sample(text, "apprentice_refused_total", &[], count(row, 2));
}

/// A histogram per model, with all of its buckets from the first call on: what appears later has no rate. The table counts each
/// call once; a bucket of Prometheus counts those of smaller ones, too.
fn latency(text: &mut String, rows: &[Row]) {
    let name = "apprentice_model_latency_seconds";
    family(text, name, "histogram", "How long models took to answer, by model, without waits and retries.");
    for model in rows.chunk_by(|one, next| one.get::<_, &str>(0) == next.get::<_, &str>(0)) {
        let label = ("model", model.first().map_or("", |row| row.get(0)));
        let up_to = |bound: f64| -> f64 {
            model.iter().filter(|row| row.get::<_, f64>(1) <= bound).map(|row| count(row, 2)).sum()
        };
        for bound in BOUNDS {
            let labels = [label, ("le", &bound.to_string())];
            sample(text, &format!("{name}_bucket"), &labels, up_to(bound));
        }
        let calls = up_to(f64::INFINITY);
        sample(text, &format!("{name}_bucket"), &[label, ("le", "+Inf")], calls);
        sample(text, &format!("{name}_sum"), &[label], model.iter().map(|row| row.get::<_, f64>(3)).sum());
        sample(text, &format!("{name}_count"), &[label], calls);
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows")]
fn count(row: &Row, column: usize) -> f64 {
    row.get::<_, i64>(column) as f64
}

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let quoted = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(text, "{name}{labels} {value}");
}

/// Serves the metrics of a queue at `/metrics` until it is cancelled. While the database is away, the answer says so.
///
/// # Errors
///
/// Fails if the listener breaks.
pub async fn serve_metrics(
    queue: Arc<Queue>,
    listener: TcpListener,
    cancel: CancellationToken,
) -> io::Result<()> {
    let answer = move || {
        let queue = Arc::clone(&queue);
        async move {
            match tokio::time::timeout(LONGEST_ANSWER, metrics(&queue)).await {
                Ok(Ok(text)) => (StatusCode::OK, [(CONTENT_TYPE, "text/plain; version=0.0.4")], text),
                Ok(Err(error)) => {
                    (StatusCode::SERVICE_UNAVAILABLE, [(CONTENT_TYPE, "text/plain")], error.to_string())
                }
                Err(_) => {
                    let text = "the database does not answer".to_owned();
                    (StatusCode::SERVICE_UNAVAILABLE, [(CONTENT_TYPE, "text/plain")], text)
                }
            }
        }
    };
    let router = Router::new().route("/metrics", get(answer));
    axum::serve(listener, router).with_graceful_shutdown(cancel.cancelled_owned()).await
}
