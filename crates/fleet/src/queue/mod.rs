//! The statements of the queue: submit, claim, renew, deliver, expire. Each is one statement, so that it happens whole or
//! not at all, and none of them depends on a worker's clock.

mod entries;
mod experiments;
mod rights;

use std::time::Duration;

use apprentice_evaluator::run::{RunPlan, TrialSpec};
use apprentice_protocol::{RunId, TrialId, Why};
use apprentice_runs::row::TrialRow;
use tokio_postgres::Row;
use tokio_util::sync::CancellationToken;

use crate::artifacts::{ArtifactError, Artifacts};
use crate::database::{Database, DatabaseError};
use crate::schema::{self, SchemaError};
use crate::stores::StoreSettings;

pub use entries::{Claimant, Claimed, Outcome, Renewed, RunRecord, Stored, build, build_of};
pub use experiments::{ExperimentRecord, Leadership, Leaving};

/// Lost attempts after which a trial is dead: it may be what kills its workers.
const MOST_LOSSES: i32 = 5;

/// A queue in a database.
pub struct Queue {
    database: Database,
    stores: StoreSettings,
}

impl Queue {
    /// Opens the queue of a database whose tables have this program's version.
    ///
    /// # Errors
    ///
    /// Fails if the database holds no queue or one of another version, or cannot be reached.
    pub async fn open(database: Database) -> Result<Self, SchemaError> {
        schema::check(&database).await?;
        Ok(Self { database, stores: StoreSettings::default() })
    }

    /// Opens the queue of a database, and makes or changes the tables where needed.
    ///
    /// # Errors
    ///
    /// Fails if the queue is of a newer version, if its tables may not be changed, or if the database cannot be reached.
    pub async fn open_and_migrate(database: Database) -> Result<Self, SchemaError> {
        schema::migrate(&database).await?;
        Ok(Self { database, stores: StoreSettings::default() })
    }

    /// The same queue over a connection of its own.
    pub(crate) fn beside(&self) -> Self {
        Self { database: self.database.beside(), stores: self.stores.clone() }
    }

    /// Sets how object stores are reached from this machine.
    #[must_use]
    pub fn with_stores(self, stores: StoreSettings) -> Self {
        Self { stores, ..self }
    }

    /// Opens the artifacts at an address, with this machine's settings of object stores.
    ///
    /// # Errors
    ///
    /// Fails if the address has no known form, or if the store's settings are missing or wrong.
    pub fn artifacts(&self, address: &str) -> Result<Artifacts, ArtifactError> {
        Artifacts::open(address, &self.stores)
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Completes when the database tells of a change, after `longest`, or when `cancel` is cancelled.
    pub async fn changed_or(&self, longest: Duration, cancel: &CancellationToken) {
        tokio::select! {
            () = self.database.changed() => {}
            () = self.database.clock().pause(longest, Why::PollFloor) => {}
            () = cancel.cancelled() => {}
        }
    }

    /// Adds a run with its trials and what each needs. Returns `false` if a run of this id is there already; nothing is
    /// changed then.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn add(
        &self,
        plan: &RunPlan,
        record: &RunRecord,
        needs: &(dyn Fn(&TrialSpec) -> Vec<String> + Sync),
    ) -> Result<bool, DatabaseError> {
        let ids: Vec<String> = plan.trials.iter().map(|trial| trial.trial.to_string()).collect();
        let specs: Result<Vec<String>, _> = plan.trials.iter().map(serde_json::to_string).collect();
        let specs = specs.map_err(|source| DatabaseError::Json { what: "a trial", source })?;
        let needs: Vec<String> = plan.trials.iter().map(|trial| needs(trial).join("\n")).collect();
        let before = |trial: &TrialSpec| {
            plan.prerequisite(trial).map_or_else(String::new, |one| one.trial.to_string())
        };
        let after: Vec<String> = plan.trials.iter().map(before).collect();
        let models: Vec<&str> = plan.trials.iter().map(|trial| trial.model.as_str()).collect();
        let run = plan.run.to_string();
        let attempts = count(plan.attempts);
        let rows = self
            .database
            .query(
                include_str!("submit.sql"),
                &[
                    &run,
                    &record.plan,
                    &record.plan_hash,
                    &record.build,
                    &record.artifacts,
                    &record.suite_list,
                    &record.suite_path,
                    &record.book_list,
                    &record.priority,
                    &attempts,
                    &record.max_usd,
                    &record.trial_usd,
                    &ids,
                    &specs,
                    &needs,
                    &after,
                    &models,
                    &record.experiment,
                    &record.guidance,
                ],
            )
            .await?;
        Ok(rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0))
    }

    /// Returns a run's record; `None` if there is none of this id.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn record(&self, run: &RunId) -> Result<Option<RunRecord>, DatabaseError> {
        let rows = self
            .database
            .query(
                "SELECT plan, plan_hash, build, artifacts, suite_list, suite_path, book_list, priority, max_usd, trial_usd, experiment,
                        guidance
                 FROM runs WHERE run = $1",
                &[&run.as_str()],
            )
            .await?;
        Ok(rows.first().map(|row| RunRecord {
            plan: row.get(0),
            plan_hash: row.get(1),
            build: row.get(2),
            artifacts: row.get(3),
            suite_list: row.get(4),
            suite_path: row.get(5),
            book_list: row.get(6),
            priority: row.get(7),
            max_usd: row.get(8),
            trial_usd: row.get(9),
            experiment: row.get(10),
            guidance: row.get(11),
        }))
    }

    /// Enters a worker, or what it offers now. One that was asked to drain stays so until it has left.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn enter(&self, worker: &str, build: &str, offers: &[String]) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO workers (worker, build, offers) VALUES ($1, $2, $3)
                   ON CONFLICT (worker) DO UPDATE SET build = $2,
                     state = CASE WHEN workers.state = 'draining' THEN 'draining' ELSE 'working' END, offers = $3, seen_at = clock_timestamp()";
        self.database.query(sql, &[&worker, &build, &offers]).await.map(drop)
    }

    /// Returns everything that waiting trials of a build need.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn needs(&self, build: &str) -> Result<Vec<String>, DatabaseError> {
        let sql = "SELECT DISTINCT unnest(t.needs) FROM trials t JOIN runs r USING (run)
                   WHERE t.state = 'waiting' AND r.state = 'open' AND r.build = $1 ORDER BY 1";
        let rows = self.database.query(sql, &[&build]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Records that a worker has ended.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn leave(&self, worker: &str) -> Result<(), DatabaseError> {
        let sql = "UPDATE workers SET state = 'ended', seen_at = clock_timestamp() WHERE worker = $1";
        self.database.query(sql, &[&worker]).await.map(drop)
    }

    /// Returns whether a worker was asked to claim nothing more.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn is_draining(&self, worker: &str) -> Result<bool, DatabaseError> {
        let sql = "SELECT EXISTS (SELECT FROM workers WHERE worker = $1 AND state = 'draining')";
        let rows = self.database.query(sql, &[&worker]).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Claims the next attempt that a worker can carry out; `None` if there is none now.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn claim(&self, by: &Claimant<'_>, lease: Duration) -> Result<Option<Claimed>, DatabaseError> {
        let Claimant { worker, build, offers, unfit } = by;
        let seconds = lease.as_secs_f64();
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [worker, build, offers, unfit, &seconds];
        let rows = self.database.query(include_str!("claim.sql"), &parameters).await?;
        Ok(rows.first().and_then(claimed))
    }

    /// Gives back an attempt that was never begun, with its number.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn give_back(&self, worker: &str, one: &Claimed) -> Result<(), DatabaseError> {
        let sql = "WITH mine AS (
                     UPDATE trials SET state = 'waiting', attempt = attempt - 1, worker = NULL, lease_until = NULL
                     WHERE run = $1 AND trial = $2 AND attempt = $3 AND worker = $4
                     RETURNING run, model)
                   , daily AS (
                     UPDATE caps c SET reserved_usd = greatest(0, c.reserved_usd - coalesce(r.trial_usd, 0))
                     FROM mine JOIN runs r USING (run)
                     WHERE c.kind = 'day' OR (c.kind = 'model' AND c.name = mine.model)
                           OR (c.kind = 'key' AND c.name = split_part(mine.model, '/', 1))
                     RETURNING c.kind)
                   UPDATE runs r SET reserved_usd = greatest(0, r.reserved_usd - r.trial_usd)
                   FROM mine WHERE r.run = mine.run AND r.max_usd IS NOT NULL AND (SELECT count(*) FROM daily) >= 0";
        let (run, trial) = (one.run.as_str(), one.trial.trial.as_str());
        self.database.query(sql, &[&run, &trial, &count(one.attempt), &worker]).await.map(drop)
    }

    /// Renews a worker's leases. Returns those that it still holds, and whose runs are not cancelled.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn renew(
        &self,
        worker: &str,
        held: &[Renewed],
        lease: Duration,
    ) -> Result<Vec<Renewed>, DatabaseError> {
        let runs: Vec<&str> = held.iter().map(|one| one.run.as_str()).collect();
        let trials: Vec<&str> = held.iter().map(|one| one.trial.as_str()).collect();
        let attempts: Vec<i32> = held.iter().map(|one| count(one.attempt)).collect();
        let rows = self
            .database
            .query(include_str!("renew.sql"), &[&worker, &runs, &trials, &attempts, &lease.as_secs_f64()])
            .await?;
        let open = rows.iter().filter(|row| row.get(3));
        Ok(open
            .map(|row| Renewed {
                run: RunId::new(row.get::<_, String>(0)),
                trial: TrialId::new(row.get::<_, String>(1)),
                attempt: row.get::<_, i32>(2).unsigned_abs(),
            })
            .collect())
    }

    /// Stores a result. Repeated with the same result, it changes nothing and answers the same.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn deliver(
        &self,
        worker: &str,
        row: &TrialRow,
        files: Option<&str>,
    ) -> Result<Stored, DatabaseError> {
        self.deliver_as(Outcome::of(row), worker, row, files).await
    }

    /// Stores the result of an attempt that means this for its trial.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn deliver_as(
        &self,
        outcome: Outcome,
        worker: &str,
        row: &TrialRow,
        files: Option<&str>,
    ) -> Result<Stored, DatabaseError> {
        let (run, trial, attempt) = (row.run.as_str(), row.trial.as_str(), count(row.attempt));
        let unwritten = |source| DatabaseError::Json { what: "the result of a trial", source };
        let result = serde_json::to_string(row).map_err(unwritten)?;
        let outcome = outcome.as_str();
        let verdict = word(&row.verdict).map_err(unwritten)?;
        let cause = row.void_cause.as_ref().map(word).transpose().map_err(unwritten)?;
        let rows = self
            .database
            .query(
                include_str!("deliver.sql"),
                &[
                    &run,
                    &trial,
                    &attempt,
                    &worker,
                    &result,
                    &files,
                    &row.cost_usd,
                    &outcome,
                    &verdict,
                    &cause,
                ],
            )
            .await?;
        let taken = rows.first().is_some_and(|row| row.get::<_, &str>(0) == "taken");
        Ok(if taken { Stored::Taken } else { Stored::Refused })
    }

    /// Returns attempts whose lease has run out to the queue. One process at a time does so; returns their number.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn expire(&self) -> Result<u64, DatabaseError> {
        let rows = self.database.query(include_str!("expire.sql"), &[&MOST_LOSSES]).await?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0).unsigned_abs()))
    }

    /// Returns whether a trial that this worker could carry out waits or runs, or an experiment that it could lead is open. A trial that
    /// waits for money that is spent, or whose cost is unknown while a cap holds, does not count.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn has_work(&self, by: &Claimant<'_>) -> Result<bool, DatabaseError> {
        let sql = include_str!("has_work.sql");
        let rows = self.database.query(sql, &[&by.build, &by.offers, &by.unfit]).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Counts the trials of a run that will still end: those under way, and those that wait and may begin. Those of a cancelled
    /// run, and those for which its cap leaves no money, never begin.
    pub(crate) async fn open_trials(&self, run: &RunId) -> Result<usize, DatabaseError> {
        let sql = "SELECT count(*) FROM trials t JOIN runs r USING (run)
                   WHERE t.run = $1 AND (t.state = 'running' OR t.state = 'waiting' AND r.state = 'open'
                     AND (r.max_usd IS NULL OR r.spent_usd + r.reserved_usd + r.trial_usd <= r.max_usd))";
        let rows = self.database.query(sql, &[&run.as_str()]).await?;
        let open = rows.first().map_or(0, |row| row.get::<_, i64>(0));
        Ok(usize::try_from(open).unwrap_or(usize::MAX))
    }

    /// Returns those of these runs of which nothing runs or will begin.
    pub(crate) async fn ended(&self, runs: &[String]) -> Result<Vec<RunId>, DatabaseError> {
        let sql = "SELECT run FROM runs r WHERE run = ANY ($1) AND NOT EXISTS (
                     SELECT FROM trials t WHERE t.run = r.run AND (t.state = 'running' OR t.state = 'waiting' AND r.state = 'open'))
                   ORDER BY seq";
        let rows = self.database.query(sql, &[&runs]).await?;
        Ok(rows.iter().map(|row| RunId::new(row.get::<_, String>(0))).collect())
    }

    /// Cancels a run or an experiment: nothing of it is handed out any more, and what runs ends as void. A run takes the open
    /// experiment that it belongs to with it, as that could not end without it. Returns whether there is one.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn cancel(&self, run: &RunId) -> Result<bool, DatabaseError> {
        let sql = "WITH named AS (
                     SELECT experiment FROM experiments WHERE state <> 'done'
                       AND (experiment = $1 OR experiment = (SELECT experiment FROM runs WHERE run = $1))
                   ), ended AS (
                     UPDATE experiments SET state = 'cancelled'
                     WHERE state = 'open' AND experiment IN (SELECT experiment FROM named)
                   ), cancelled AS (
                     UPDATE runs SET state = 'cancelled'
                     WHERE run = $1 OR experiment IN (SELECT experiment FROM named) RETURNING run
                   ), safe AS (SELECT set_config('synchronous_commit', 'on', true)
                   ), told AS (SELECT pg_notify('apprentice_queue', ''))
                   SELECT (SELECT count(*) FROM named) + (SELECT count(*) FROM cancelled), (SELECT count(*) FROM safe),
                          (SELECT count(*) FROM told)";
        let rows = self.database.query(sql, &[&run.as_str()]).await?;
        self.stop_runs().await?;
        Ok(rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0))
    }

    /// Cancels the open runs of experiments that were cancelled or have failed. Asked after the experiment was ended, it finds
    /// also a run that its leader was just submitting.
    async fn stop_runs(&self) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET state = 'cancelled'
                   WHERE state = 'open' AND experiment IN (SELECT experiment FROM experiments WHERE state IN ('cancelled', 'failed'))";
        self.database.query(sql, &[]).await.map(drop)
    }

    /// Has workers finish what they have begun and claim nothing more: one by name, or all. Returns their names.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn drain(&self, worker: Option<&str>) -> Result<Vec<String>, DatabaseError> {
        let sql = "UPDATE workers SET state = 'draining'
                   WHERE state = 'working' AND ($1::text IS NULL OR worker = $1) RETURNING worker";
        let rows = self.database.query(sql, &[&worker]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

/// The word by which a row writes a value.
fn word(value: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string(value).map(|quoted| quoted.trim_matches('"').to_owned())
}

fn claimed(row: &Row) -> Option<Claimed> {
    let trial = serde_json::from_str(row.get(1));
    let trial = trial.map_err(|error| tracing::error!(%error, "a trial of the queue cannot be read")).ok()?;
    Some(Claimed {
        run: RunId::new(row.get::<_, String>(0)),
        trial,
        attempt: row.get::<_, i32>(2).unsigned_abs(),
    })
}

/// A small count as PostgreSQL takes it.
pub(crate) fn count(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
