//! Experiments of a queue: submitted with the files that they name, led by one worker at a time, whose copies of the folder are
//! taken only while its term lasts.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Clock, Why};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::Queue;
use super::entries::Claimant;
use crate::database::DatabaseError;

/// Troubles of leaders, with no trial that ended between them, after which an experiment is given up.
const MOST_FAILURES: i32 = 5;

/// An experiment as it is submitted, and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRecord {
    /// Its id.
    pub experiment: String,
    /// The command line as a JSON list.
    pub command: String,
    /// The list of the files that it names.
    pub inputs: String,
    /// The build whose workers may lead it.
    pub build: String,
    /// The address of the artifacts.
    pub artifacts: String,
    /// Experiments of higher priority go first.
    pub priority: i32,
    /// What each trial needs besides its world.
    pub needs: Vec<String>,
    /// The cap of its measurement over all workers, in US dollars.
    pub max_usd: Option<f64>,
    /// What one trial may cost at most, in US dollars.
    pub trial_usd: Option<f64>,
    /// The list of the files of its folder, as its leader has left it.
    pub copy: Option<String>,
    /// `open`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// Why leaders gave it up.
    pub trouble: Option<String>,
}

/// The right to lead an experiment. It ends when the database says so, when its connection is lost, or when it is dropped.
pub struct Leadership {
    /// The experiment.
    pub experiment: String,
    term: i64,
    /// Cancelled when the right is lost.
    pub lost: CancellationToken,
    _beating: AbortOnDropHandle<()>,
}

/// How a leader leaves an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It is done.
    Done,
    /// Another one may go on at once.
    StepDown,
    /// Something that it needs did not work; any worker may try again.
    Trouble(String),
    /// It cannot be carried out on this machine; another one may try.
    Unable(String),
    /// It cannot be carried out anywhere.
    Failed(String),
}

/// A leader that has shown no sign of life for its lease is cut off, even if its machine only sleeps: the lock is free then.
const CANDIDATES: &str = "
    SELECT e.experiment,
           (SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a
            WHERE a.pid = e.leader_pid AND a.usename = current_user AND a.application_name = 'apprentice leads ' || left(e.experiment, 40)
              AND e.led_until < clock_timestamp())
    FROM experiments e
    WHERE e.state = 'open' AND e.build = $1 AND e.experiment <> ALL ($2)
      AND (e.led_until IS NULL OR e.led_until < clock_timestamp())
    ORDER BY e.priority DESC, e.seq LIMIT 4";

const LEAD: &str = "
    UPDATE experiments
    SET term = term + 1, leader = $2, leader_pid = pg_backend_pid(),
        led_until = clock_timestamp() + make_interval(secs => $3)
    WHERE experiment = $1 AND state = 'open' AND (led_until IS NULL OR led_until < clock_timestamp())
      AND pg_try_advisory_lock(hashtextextended('apprentice_queue.lead.' || experiment, 0))
    RETURNING term";

const BEAT: &str = "
    UPDATE experiments SET led_until = clock_timestamp() + make_interval(secs => $3)
    WHERE experiment = $1 AND term = $2 AND state = 'open' RETURNING term";

impl Queue {
    /// Adds an experiment. Returns `false` if one of this id is there already.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn add_experiment(&self, record: &ExperimentRecord) -> Result<bool, DatabaseError> {
        let sql = "WITH added AS (
                     INSERT INTO experiments (experiment, command, inputs, build, artifacts, priority, needs, max_usd, trial_usd)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (experiment) DO NOTHING RETURNING experiment
                   ), safe AS (SELECT set_config('synchronous_commit', 'on', true)
                   ), told AS (SELECT pg_notify('apprentice_queue', '') FROM added)
                   SELECT (SELECT count(*) FROM added), (SELECT count(*) FROM safe), (SELECT count(*) FROM told)";
        let rows = self
            .database()
            .query(
                sql,
                &[
                    &record.experiment,
                    &record.command,
                    &record.inputs,
                    &record.build,
                    &record.artifacts,
                    &record.priority,
                    &record.needs,
                    &record.max_usd,
                    &record.trial_usd,
                ],
            )
            .await?;
        Ok(rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0))
    }

    /// Returns an experiment; `None` if there is none of this id.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn experiment(&self, id: &str) -> Result<Option<ExperimentRecord>, DatabaseError> {
        let mut found = self.experiments_where(Some(id)).await?;
        Ok(found.pop())
    }

    /// Returns all experiments, in the order in which they were submitted.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn experiments(&self) -> Result<Vec<ExperimentRecord>, DatabaseError> {
        self.experiments_where(None).await
    }

    async fn experiments_where(&self, id: Option<&str>) -> Result<Vec<ExperimentRecord>, DatabaseError> {
        const SQL: &str = "SELECT experiment, command, inputs, build, artifacts, priority, needs, max_usd, trial_usd, copy, state, trouble
                           FROM experiments WHERE $1::text IS NULL OR experiment = $1 ORDER BY seq";
        let rows = self.database().query(SQL, &[&id]).await?;
        let read = |row: &tokio_postgres::Row| ExperimentRecord {
            experiment: row.get(0),
            command: row.get(1),
            inputs: row.get(2),
            build: row.get(3),
            artifacts: row.get(4),
            priority: row.get(5),
            needs: row.get(6),
            max_usd: row.get(7),
            trial_usd: row.get(8),
            copy: row.get(9),
            state: row.get(10),
            trouble: row.get(11),
        };
        Ok(rows.iter().map(read).collect())
    }

    /// Becomes the leader of an experiment that has none; `None` if there is no such experiment.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn lead(
        &self,
        by: &Claimant<'_>,
        lease: Duration,
    ) -> Result<Option<Leadership>, DatabaseError> {
        for row in self.database().query(CANDIDATES, &[&by.build, &by.unfit]).await? {
            let experiment: String = row.get(0);
            let lost = CancellationToken::new();
            let client = self.database().dedicated(&lost).await?;
            let name = format!("SET application_name TO 'apprentice leads {}'", named(&experiment));
            let set = client.batch_execute(&name).await;
            let begun = client.query(LEAD, &[&experiment, &by.worker, &lease.as_secs_f64()]).await;
            let begun = set.and(begun);
            let term = match begun {
                Ok(rows) => rows.first().map(|row| row.get::<_, i64>(0)),
                Err(error) => {
                    tracing::debug!(%error, experiment, "the lead could not be taken");
                    None
                }
            };
            match term {
                Some(term) => {
                    let mine = Term { experiment: experiment.clone(), term, lease };
                    let beating = beat(client, mine, lost.clone(), Arc::clone(self.database().clock()));
                    let _beating = AbortOnDropHandle::new(tokio::spawn(beating));
                    return Ok(Some(Leadership { experiment, term, lost, _beating }));
                }
                None => lost.cancel(),
            }
        }
        Ok(None)
    }

    /// Stores the copy of an experiment's folder. Returns whether its leader's term still lasted.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn keep_copy(&self, by: &Leadership, list: &str) -> Result<bool, DatabaseError> {
        let sql = "WITH kept AS (
                     UPDATE experiments SET copy = $3 WHERE experiment = $1 AND term = $2 AND state = 'open' RETURNING term
                   ), safe AS (SELECT set_config('synchronous_commit', 'on', true))
                   SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM safe)";
        let rows = self.database().query(sql, &[&by.experiment, &by.term, &list]).await?;
        Ok(rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0))
    }

    /// Ends a leader's term. One that has ended already changes nothing.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn leave_experiment(&self, by: &Leadership, leaving: &Leaving) -> Result<(), DatabaseError> {
        let (state, trouble) = match leaving {
            Leaving::Done => ("done", None),
            Leaving::StepDown => ("open", None),
            Leaving::Trouble(why) | Leaving::Unable(why) => ("open", Some(why)),
            Leaving::Failed(why) => ("failed", Some(why)),
        };
        // A machine that lacks something says nothing about the experiment.
        let troubled = matches!(leaving, Leaving::Trouble(_));
        let sql = "WITH ended AS (
                     SELECT count(*) AS trials FROM trials t JOIN runs r USING (run) WHERE r.experiment = $1 AND t.state = 'done'
                   ), counted AS (
                     SELECT trials, CASE WHEN NOT $4 THEN e.failures WHEN trials > e.ended THEN 1 ELSE e.failures + 1 END AS failures
                     FROM experiments e, ended WHERE e.experiment = $1
                   ), mine AS (
                     UPDATE experiments e
                     SET term = term + 1, leader = NULL, leader_pid = NULL, led_until = NULL, failures = counted.failures,
                         ended = CASE WHEN $4 THEN counted.trials ELSE e.ended END, trouble = coalesce($5, trouble),
                         state = CASE WHEN $3 = 'open' AND counted.failures >= $6 THEN 'failed' ELSE $3 END
                     FROM counted
                     WHERE experiment = $1 AND term = $2 AND state = 'open' RETURNING experiment, state
                   ), stopped AS (
                     UPDATE runs SET state = 'cancelled'
                     WHERE state = 'open' AND experiment IN (SELECT experiment FROM mine WHERE state = 'failed')
                   ), safe AS (SELECT set_config('synchronous_commit', 'on', true)
                   ), told AS (SELECT pg_notify('apprentice_queue', '') FROM mine)
                   SELECT (SELECT count(*) FROM safe), (SELECT count(*) FROM told)";
        let parameters: [&(dyn ToSql + Sync); 6] =
            [&by.experiment, &by.term, &state, &troubled, &trouble, &MOST_FAILURES];
        self.database().query(sql, &parameters).await?;
        self.stop_runs().await
    }
}

/// The part of an id that a connection's name has room for, without what would end a string.
fn named(experiment: &str) -> String {
    experiment.chars().filter(|c| *c != '\'' && *c != '\\').take(40).collect()
}

/// A term that is kept.
struct Term {
    experiment: String,
    term: i64,
    lease: Duration,
}

/// Keeps a leadership until it is lost. The connection holds the advisory lock, and so ends with the leader.
async fn beat(client: Client, mine: Term, lost: CancellationToken, clock: Arc<dyn Clock>) {
    loop {
        tokio::select! {
            () = lost.cancelled() => return,
            () = clock.pause(mine.lease / 3, Why::PollFloor) => {}
        }
        let seconds = mine.lease.as_secs_f64();
        let parameters: [&(dyn ToSql + Sync); 3] = [&mine.experiment, &mine.term, &seconds];
        let beaten = tokio::time::timeout(mine.lease / 2, client.query(BEAT, &parameters)).await;
        if !beaten.is_ok_and(|answer| answer.is_ok_and(|rows| !rows.is_empty())) {
            lost.cancel();
            return;
        }
    }
}
