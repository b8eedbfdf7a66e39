//! What a leader spends on learning: each call counts for the caps per day, and none begins when they leave no money.

use std::time::Duration;

use apprentice_protocol::Why;

use crate::database::{Database, DatabaseError};

/// The longest wait between two looks at the caps.
const POLL: Duration = Duration::from_secs(10);

/// Counts the caps that leave nothing for a call of a model.
const SPENT: &str = "
    SELECT count(*) FROM caps c
    WHERE (c.kind = 'day' OR (c.kind = 'model' AND c.name = $1) OR (c.kind = 'key' AND c.name = split_part($1, '/', 1)))
      AND c.max_usd <= c.reserved_usd + CASE
          WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd ELSE 0 END";

/// Books a call. Repeated after its answer was lost, it counts twice: a cap is then reached early, and never late.
const BOOK: &str = "
    WITH booked AS (
        INSERT INTO learning (experiment, model, day, usd)
        VALUES ($1, $2, (clock_timestamp() AT TIME ZONE 'UTC')::date, $3)
        ON CONFLICT (experiment, model, day) DO UPDATE SET usd = learning.usd + excluded.usd
    ), daily AS (
        UPDATE caps c
        SET spent_usd = CASE WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd ELSE 0 END + $3,
            day = (clock_timestamp() AT TIME ZONE 'UTC')::date
        WHERE c.kind = 'day' OR (c.kind = 'model' AND c.name = $2) OR (c.kind = 'key' AND c.name = split_part($2, '/', 1))
        RETURNING c.kind
    ), safe AS (SELECT set_config('synchronous_commit', 'on', true))
    SELECT (SELECT count(*) FROM daily), (SELECT count(*) FROM safe)";

impl Database {
    /// Waits until the caps leave money for a call of a model. Returns the time waited.
    pub(crate) async fn wait_for_money(
        &self,
        experiment: &str,
        model: &str,
    ) -> Result<Duration, DatabaseError> {
        let begun = self.clock().mono();
        let mut told = false;
        loop {
            let rows = self.query(SPENT, &[&model]).await?;
            if rows.first().is_none_or(|row| row.get::<_, i64>(0) == 0) {
                return Ok(self.clock().mono().saturating_sub(begun));
            }
            if !std::mem::replace(&mut told, true) {
                // `apprentice queue` tells then for which model the experiment waits.
                self.book_learning(experiment, model, 0.0).await?;
            }
            self.clock().pause(POLL, Why::Backoff).await;
        }
    }

    /// Books what a call has cost.
    pub(crate) async fn book_learning(
        &self,
        experiment: &str,
        model: &str,
        usd: f64,
    ) -> Result<(), DatabaseError> {
        self.query(BOOK, &[&experiment, &model, &usd]).await.map(drop)
    }
}
