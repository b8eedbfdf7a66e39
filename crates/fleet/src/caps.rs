//! Caps per day on the trials of all workers and runs: of everything, of one model, or of the key of one provider.

use crate::database::DatabaseError;
use crate::queue::Queue;

/// What a cap is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapKind {
    /// Everything.
    Day,
    /// One model, as `provider/name`.
    Model,
    /// The key of one provider.
    Key,
}

/// A cap per UTC day.
#[derive(Clone, Debug, PartialEq)]
pub struct Cap {
    /// What it is about.
    pub kind: CapKind,
    /// The model or the provider; empty for everything.
    pub name: String,
    /// US dollars per day; `None` lifts the cap.
    pub max_usd: Option<f64>,
}

impl Queue {
    /// Sets or lifts a cap. What was spent today, and what trials under way may cost, counts at once.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached for long, refuses the user or the statement, or has no room left.
    pub async fn set_cap(&self, cap: &Cap) -> Result<(), DatabaseError> {
        let kind = match cap.kind {
            CapKind::Day => "day",
            CapKind::Model => "model",
            CapKind::Key => "key",
        };
        let sql = "WITH safe AS (SELECT set_config('synchronous_commit', 'on', true)
                   ), told AS (SELECT pg_notify('apprentice_queue', '')
                   ), cap AS (SELECT set_cap($1, $2, $3))
                   SELECT (SELECT count(*) FROM safe), (SELECT count(*) FROM told), (SELECT count(*) FROM cap)";
        self.database().query(sql, &[&kind, &cap.name, &cap.max_usd]).await.map(drop)
    }
}
