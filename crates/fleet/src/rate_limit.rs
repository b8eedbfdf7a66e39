//! Rate limits of one key over all workers: a token bucket in the database.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelProfile, PortFuture, Why,
};

use crate::database::{Database, DatabaseError};

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

/// A limit of calls per minute to one provider, shared by all workers.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimit {
    /// The provider, as in `provider/model`.
    pub key: String,
    /// Calls per minute; they may come at once.
    pub per_minute: u32,
}

impl RateLimit {
    /// Sets the limit, in place of the one before.
    pub async fn set(&self, database: &Database) -> Result<(), DatabaseError> {
        let capacity = f64::from(self.per_minute.max(1));
        let sql = "INSERT INTO buckets (key, capacity, per_second, tokens) VALUES ($1, $2, $3, $2)
                   ON CONFLICT (key) DO UPDATE SET capacity = $2, per_second = $3, tokens = least(buckets.tokens, $2)";
        database.query(sql, &[&self.key, &capacity, &(capacity / 60.0)]).await.map(drop)
    }
}

impl Database {
    /// Waits for a token of a key. Returns the time waited. A key without a bucket has no limit.
    pub async fn take_token(&self, key: &str) -> Result<Duration, DatabaseError> {
        let begun = self.clock().mono();
        loop {
            let rows = self.query(TAKE, &[&key]).await?;
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
    key: String,
    database: Arc<Database>,
}

impl Metered {
    /// Wraps a model; `name` is its name as `provider/model`.
    pub fn new(inner: Arc<dyn ChatModel>, name: &str, database: Arc<Database>) -> Self {
        let key = name.split('/').next().unwrap_or_default().to_owned();
        Self { inner, key, database }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        // Without the bucket, the limit could not be kept.
        let unavailable =
            |error: DatabaseError| ModelError::never(ModelErrorKind::Unavailable, error.to_string());
        let waited = self.database.take_token(&self.key).await.map_err(unavailable)?;
        let mut reply = self.inner.reply(request).await?;
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        reply.timing.waiting_ms = reply.timing.waiting_ms.saturating_add(waited);
        Ok(reply)
    }
}

impl ChatModel for Metered {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}
