//! The rights of a worker on the tables of the queue, asked for before it claims anything: a trial whose result it may not store would
//! be carried out in vain.

use super::Queue;
use crate::database::DatabaseError;

/// What a worker changes, by table.
const LACKING: &str = "
    SELECT current_user || ' lacks ' || string_agg(needed.what || ' on ' || needed.place, ', ' ORDER BY needed.place, needed.what)
    FROM (VALUES ('runs', 'SELECT'), ('runs', 'UPDATE'), ('trials', 'SELECT'), ('trials', 'UPDATE'),
                 ('attempts', 'SELECT'), ('attempts', 'INSERT'), ('attempts', 'UPDATE'), ('refused', 'SELECT'),
                 ('refused', 'INSERT'), ('workers', 'SELECT'), ('workers', 'INSERT'), ('workers', 'UPDATE'),
                 ('caps', 'SELECT'), ('caps', 'UPDATE'), ('experiments', 'SELECT')) AS needed (place, what)
    WHERE NOT has_table_privilege(needed.place, needed.what)";

impl Queue {
    /// Fails unless the user may do all that a worker does.
    pub(crate) async fn check_rights(&self) -> Result<(), DatabaseError> {
        let rows = self.database.query(LACKING, &[]).await?;
        let Some(lacking) = rows.first().and_then(|row| row.get::<_, Option<String>>(0)) else {
            return Ok(());
        };
        Err(DatabaseError::Denied {
            address: self.database.address().to_string(),
            message: lacking,
            remedy: "as their owner: GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA apprentice_queue TO the user",
        })
    }
}
