//! What a queue holds: runs, how far they are, and why trials wait; and the workers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tokio_postgres::Row;

use crate::database::DatabaseError;
use crate::queue::Queue;

/// The schema name of the status.
const STATUS_SCHEMA: &str = "apprentice.queue-status/1";

/// The state of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueStatus {
    /// `apprentice.queue-status/1`.
    pub schema: &'static str,
    /// The runs, in the order in which they were submitted.
    pub runs: Vec<RunStatus>,
    /// The experiments, in the order in which they were submitted.
    pub experiments: Vec<ExperimentStatus>,
    /// The caps per day.
    pub caps: Vec<CapStatus>,
    /// The workers that have not ended, by name.
    pub workers: Vec<WorkerStatus>,
}

/// The state of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExperimentStatus {
    /// The experiment.
    pub experiment: String,
    /// `open`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// The worker that leads it; null if none does.
    pub leader: Option<String>,
    /// Whether a leader has left a copy of its folder.
    pub copied: bool,
    /// Why the last leader gave it up.
    pub trouble: Option<String>,
    /// What its leaders have spent on learning, in US dollars.
    pub learning_usd: f64,
    /// The cap for which its learning waits; null if it waits for none.
    pub learning_waits_for: Option<String>,
}

/// What a cap per UTC day leaves.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapStatus {
    /// `day` for everything, `model` or `key`.
    pub kind: String,
    /// The model, or the provider whose key it is; empty for everything.
    pub name: String,
    /// The cap in US dollars.
    pub max_usd: f64,
    /// What was spent today.
    pub spent_usd: f64,
    /// What trials under way may cost.
    pub reserved_usd: f64,
}

/// The state of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunStatus {
    /// The run.
    pub run: String,
    /// `open` or `cancelled`.
    pub state: String,
    /// Runs of higher priority go first.
    pub priority: i32,
    /// Trials that wait.
    pub waiting: i64,
    /// Trials under way.
    pub running: i64,
    /// Trials with a result.
    pub done: i64,
    /// Trials that were given up because workers were lost over them.
    pub dead: i64,
    /// Void attempts by cause; `worker_lost` for those without a result.
    pub void: BTreeMap<String, i64>,
    /// Late results that were refused.
    pub refused: i64,
    /// What the delivered attempts cost in US dollars; null if none has a price.
    pub cost_usd: Option<f64>,
    /// The cap in US dollars.
    pub max_usd: Option<f64>,
    /// Why trials wait, as far as it is not for a free worker.
    pub waits_for: Vec<String>,
}

/// The state of one worker.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkerStatus {
    /// The worker.
    pub worker: String,
    /// `working` or `draining`.
    pub state: String,
    /// What it offers.
    pub offers: Vec<String>,
    /// Attempts that it holds.
    pub running: i64,
    /// Seconds since its last sign of life.
    pub silent_s: f64,
}

const RUNS: &str = "
    SELECT r.run, r.state, r.priority,
           count(*) FILTER (WHERE t.state = 'waiting'), count(*) FILTER (WHERE t.state = 'running'),
           count(*) FILTER (WHERE t.state = 'done'), count(*) FILTER (WHERE t.state = 'dead'),
           (SELECT coalesce(jsonb_object_agg(cause, number), '{}')::text FROM (
               SELECT coalesce(a.void_cause, '') AS cause, count(*) AS number
               FROM attempts a WHERE a.run = r.run AND a.verdict = 'void' GROUP BY 1) void),
           (SELECT count(*) FROM refused f WHERE f.run = r.run),
           (SELECT sum(a.cost_usd) FROM attempts a WHERE a.run = r.run),
           r.max_usd,
           r.max_usd IS NOT NULL AND r.spent_usd + r.reserved_usd + r.trial_usd > r.max_usd,
           EXISTS (SELECT FROM workers w WHERE w.state = 'working' AND w.build = r.build
                   AND w.seen_at > clock_timestamp() - interval '10 min'), r.build,
           (SELECT min(c.kind || ' ' || c.name) FROM caps c
            WHERE EXISTS (SELECT FROM trials t WHERE t.run = r.run AND t.state = 'waiting'
                          AND (c.kind = 'day' OR (c.kind = 'model' AND c.name = t.model)
                               OR (c.kind = 'key' AND c.name = split_part(t.model, '/', 1))))
              AND (r.trial_usd IS NULL OR r.trial_usd > c.max_usd - c.reserved_usd - CASE
                   WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd ELSE 0 END)),
           r.trial_usd IS NULL
    FROM runs r JOIN trials t USING (run) GROUP BY r.run ORDER BY r.seq";

const LACKING: &str = "
    SELECT t.run, array_to_string(t.needs, ', '), count(*)
    FROM trials t JOIN runs r USING (run)
    WHERE t.state = 'waiting' AND r.state = 'open' AND NOT EXISTS (
        SELECT FROM workers w WHERE w.state = 'working' AND w.build = r.build AND t.needs <@ w.offers
          AND w.seen_at > clock_timestamp() - interval '10 min')
    GROUP BY 1, 2 ORDER BY 1, 2";

const EXPERIMENTS: &str = "
    SELECT e.experiment, e.state, CASE WHEN e.led_until > clock_timestamp() THEN e.leader END, e.trouble, e.copy IS NOT NULL,
           (SELECT coalesce(sum(l.usd), 0) FROM learning l WHERE l.experiment = e.experiment),
           (SELECT min(c.kind || ' ' || c.name) FROM caps c JOIN learning l
              ON c.kind = 'day' OR (c.kind = 'model' AND c.name = l.model) OR (c.kind = 'key' AND c.name = split_part(l.model, '/', 1))
            WHERE l.experiment = e.experiment AND l.day = (clock_timestamp() AT TIME ZONE 'UTC')::date
              AND e.led_until > clock_timestamp() AND c.max_usd <= c.reserved_usd + CASE
                  WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd ELSE 0 END)
    FROM experiments e ORDER BY e.seq";

const CAPS: &str = "
    SELECT kind, name, max_usd,
           CASE WHEN day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN spent_usd ELSE 0 END, reserved_usd
    FROM caps ORDER BY kind, name";

const WORKERS: &str = "
    SELECT w.worker, w.state, w.offers,
           (SELECT count(*) FROM trials t WHERE t.worker = w.worker AND t.state = 'running'),
           extract(epoch FROM clock_timestamp() - w.seen_at)::double precision
    FROM workers w WHERE w.state <> 'ended' ORDER BY w.worker";

impl Queue {
    /// Reads the state of the queue.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn status(&self) -> Result<QueueStatus, DatabaseError> {
        let mut lacking: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in self.database().query(LACKING, &[]).await? {
            let (run, needs, trials): (String, String, i64) = (row.get(0), row.get(1), row.get(2));
            let needs = if needs.is_empty() { "nothing in particular".to_owned() } else { needs };
            lacking.entry(run).or_default().push(format!("{trials} wait for a worker that offers {needs}"));
        }
        let rows = self.database().query(RUNS, &[]).await?;
        let runs = rows.iter().map(|row| run_status(row, &mut lacking)).collect::<Result<_, _>>()?;
        let workers = self.database().query(WORKERS, &[]).await?;
        let worker = |row: &Row| WorkerStatus {
            worker: row.get(0),
            state: row.get(1),
            offers: row.get(2),
            running: row.get(3),
            silent_s: row.get(4),
        };
        let workers = workers.iter().map(worker).collect();
        let experiments = self.database().query(EXPERIMENTS, &[]).await?;
        let experiment = |row: &Row| ExperimentStatus {
            experiment: row.get(0),
            state: row.get(1),
            leader: row.get(2),
            trouble: row.get(3),
            copied: row.get(4),
            learning_usd: row.get(5),
            learning_waits_for: row.get::<_, Option<String>>(6).map(|cap| cap.trim().to_owned()),
        };
        let experiments = experiments.iter().map(experiment).collect();
        let caps = self.database().query(CAPS, &[]).await?;
        let cap = |row: &Row| CapStatus {
            kind: row.get(0),
            name: row.get(1),
            max_usd: row.get(2),
            spent_usd: row.get(3),
            reserved_usd: row.get(4),
        };
        let caps = caps.iter().map(cap).collect();
        Ok(QueueStatus { schema: STATUS_SCHEMA, runs, experiments, caps, workers })
    }
}

/// Reads the state of a run; `lacking` says for which workers trials wait.
fn run_status(row: &Row, lacking: &mut BTreeMap<String, Vec<String>>) -> Result<RunStatus, DatabaseError> {
    let run: String = row.get(0);
    let (at_cap, has_worker, waiting): (bool, bool, i64) = (row.get(11), row.get(12), row.get(3));
    // Those of a cancelled run wait for nothing.
    let waits = waiting > 0 && row.get::<_, &str>(1) == "open";
    let mut waits_for = Vec::new();
    if waits && at_cap {
        waits_for.push("the cap of the run leaves no money for another trial".to_owned());
    }
    if let Some(cap) = row.get::<_, Option<String>>(14).filter(|_| waits) {
        let cap = cap.trim();
        waits_for.push(match row.get(15) {
            true => format!(
                "the cap of the {cap} holds, and a trial's cost is unknown: submit with cap.trial_usd"
            ),
            false => format!("the cap of the {cap} leaves no money for another trial today"),
        });
    }
    if waits && !has_worker {
        waits_for.push(format!("no worker of build {:?} works", row.get::<_, String>(13)));
    } else {
        waits_for.extend(lacking.remove(&run).unwrap_or_default());
    }
    Ok(RunStatus {
        run,
        state: row.get(1),
        priority: row.get(2),
        waiting,
        running: row.get(4),
        done: row.get(5),
        dead: row.get(6),
        void: counts(row.get(7))?,
        refused: row.get(8),
        cost_usd: row.get(9),
        max_usd: row.get(10),
        waits_for,
    })
}

fn counts(json: &str) -> Result<BTreeMap<String, i64>, DatabaseError> {
    serde_json::from_str(json)
        .map_err(|source| DatabaseError::Json { what: "the number of void attempts", source })
}
