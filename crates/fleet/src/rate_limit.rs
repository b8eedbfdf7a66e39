//! Rate limits of one key over all workers: a token bucket in the database.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelProfile, Why,
};

use tokio_postgres::types::ToSql;

use crate::database::{Database, DatabaseError};
use crate::error_chain::error_chain;

/// The longest wait between two looks at the bucket.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Takes a token if there is one, else tells in how many seconds there will be one.
const TAKE: &str = "
    WITH filled AS (
        SELECT key, least(capacity, tokens + per_second * extract(epoch FROM clock_timestamp() - filled_at)) AS tokens,
               per_second
        FROM buckets WHERE key = $1 FOR UPDATE
    ), taken AS (
        UPDATE buckets b SET tokens = f.tokens - 1, filled_at = clock_timestamp()
        FROM filled f WHERE b.key = f.key AND f.tokens >= 1 RETURNING b.key
    )
    SELECT CASE WHEN EXISTS (SELECT FROM taken) THEN 0 ELSE (1 - tokens) / per_second END::double precision FROM filled";

/// Tells in how many seconds there will be a token, if there is none; takes none.
const WAIT: &str = "
    SELECT (greatest(0, 1 - least(capacity, tokens + per_second * extract(epoch FROM clock_timestamp() - filled_at)))
            / per_second)::double precision
    FROM buckets WHERE key = $1";

/// Takes what a call has used, even if that leaves a debt, and counts how long it took.
const USED: &str = "
    WITH spent AS (
        UPDATE buckets
        SET tokens = least(capacity, tokens + per_second * extract(epoch FROM clock_timestamp() - filled_at)) - $2,
            filled_at = clock_timestamp()
        WHERE key = $1
    )
    INSERT INTO model_latency (model, le, calls, seconds)
    VALUES ($3, coalesce((SELECT min(le) FROM unnest($5::double precision[]) AS le WHERE le >= $4), 'infinity'), 1, $4)
    ON CONFLICT (model, le) DO UPDATE
    SET calls = model_latency.calls + 1, seconds = model_latency.seconds + excluded.seconds";

/// Upper bounds of the histogram of answers, in seconds.
pub(crate) const BOUNDS: [f64; 10] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Calls.
    Calls,
    /// Tokens of requests and answers. A call begins while some are left, and may use more than that.
    Tokens,
}

/// A limit per minute of one provider, shared by all workers.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimit {
    /// The provider, as in `provider/model`.
    pub key: String,
    /// What is counted.
    pub unit: RateUnit,
    /// How many per minute; they may come at once.
    pub per_minute: u32,
}

/// The bucket of a key's tokens, beside that of its calls.
fn token_bucket(key: &str) -> String {
    format!("{key} tokens")
}

impl RateLimit {
    /// Sets the limit, in place of the one before.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn set(&self, database: &Database) -> Result<(), DatabaseError> {
        let capacity = f64::from(self.per_minute.max(1));
        let sql = "INSERT INTO buckets (key, capacity, per_second, tokens) VALUES ($1, $2, $3, $2)
                   ON CONFLICT (key) DO UPDATE SET capacity = $2, per_second = $3, tokens = least(buckets.tokens, $2)";
        let key = match self.unit {
            RateUnit::Calls => self.key.clone(),
            RateUnit::Tokens => token_bucket(&self.key),
        };
        database.query(sql, &[&key, &capacity, &(capacity / 60.0)]).await.map(drop)
    }
}

impl Database {
    /// Waits for a token of a key. Returns the time waited. A key without a bucket has no limit.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn take_token(&self, key: &str) -> Result<Duration, DatabaseError> {
        self.wait_for(TAKE, key).await
    }

    async fn wait_for(&self, sql: &'static str, key: &str) -> Result<Duration, DatabaseError> {
        let begun = self.clock().mono();
        loop {
            let rows = self.query(sql, &[&key]).await?;
            let wait: f64 = rows.first().map_or(0.0, |row| row.get(0));
            if wait <= 0.0 {
                return Ok(self.clock().mono().saturating_sub(begun));
            }
            self.clock().pause(Duration::from_secs_f64(wait).min(LONGEST_WAIT), Why::Backoff).await;
        }
    }
}

/// A model whose calls take a token of its provider first.
pub struct Metered {
    inner: Arc<dyn ChatModel>,
    name: String,
    key: String,
    tokens: String,
    database: Arc<Database>,
    /// The experiment for which a leader learns.
    learns_for: Option<String>,
}

impl Metered {
    /// Wraps a model; `name` is its name as `provider/model`.
    pub fn new(inner: Arc<dyn ChatModel>, name: &str, database: Arc<Database>) -> Self {
        let key = name.split('/').next().unwrap_or_default().to_owned();
        let tokens = token_bucket(&key);
        Self { inner, name: name.to_owned(), key, tokens, database, learns_for: None }
    }

    /// Has its calls count for the caps per day, as what an experiment's leader learns.
    #[must_use]
    pub fn learning_for(self, experiment: &str) -> Self {
        Self { learns_for: Some(experiment.to_owned()), ..self }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        // Without the bucket, the limit could not be kept.
        let unavailable =
            |error: DatabaseError| ModelError::never(ModelErrorKind::Unavailable, error.to_string());
        let mut waited = Duration::ZERO;
        if let Some(experiment) = &self.learns_for {
            waited += self.database.wait_for_money(experiment, &self.name).await.map_err(unavailable)?;
        }
        waited += self.database.wait_for(WAIT, &self.tokens).await.map_err(unavailable)?;
        waited += self.database.take_token(&self.key).await.map_err(unavailable)?;
        let begun = self.database.clock().mono();
        let mut reply = self.inner.reply(request).await?;
        let took = self.database.clock().mono().saturating_sub(begun);
        // Waits for limits and before retries are not the model's.
        let seconds = took.saturating_sub(Duration::from_millis(reply.timing.waiting_ms)).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "tokens of one call")]
        let used = (reply.usage.input + reply.usage.output) as f64;
        let bounds = BOUNDS.as_slice();
        let parameters: [&(dyn ToSql + Sync); 5] = [&self.tokens, &used, &self.name, &seconds, &bounds];
        if let Err(error) = self.database.query(USED, &parameters).await {
            // The reply is good, and paid. If the database stays away, the next call does not begin.
            tracing::warn!(why = error_chain(&error), "what a call used was not booked");
        }
        if let Some((experiment, usd)) = self.learns_for.as_ref().zip(reply.cost_usd) {
            // A cap that does not know what was spent would not hold.
            self.database.book_learning(experiment, &self.name, usd).await.map_err(unavailable)?;
        }
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        reply.timing.waiting_ms = reply.timing.waiting_ms.saturating_add(waited);
        Ok(reply)
    }
}

impl ChatModel for Metered {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}
