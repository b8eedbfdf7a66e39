//! The tables of the queue and their version. They are made and changed by one process at a time.

use crate::address::SCHEMA;
use crate::database::{Database, DatabaseError};

/// The changes from one version to the next, in order. A change that was released is never edited.
const MIGRATIONS: [&str; 5] = [
    include_str!("migrations/0001_queue.sql"),
    include_str!("migrations/0002_rate_limits.sql"),
    include_str!("migrations/0003_experiments_and_caps.sql"),
    include_str!("migrations/0004_caps_from_the_start.sql"),
    include_str!("migrations/0005_learning_counts.sql"),
];

/// The reason the tables cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// There are none.
    #[error("the database {0} holds no queue; `apprentice submit` makes one")]
    Missing(String),
    /// They are of an older version.
    #[error(
        "the queue in {address} has version {found}, this program has {expected}; `apprentice submit` or `apprentice queue --migrate` of this version brings it there"
    )]
    Older {
        /// The address, without password.
        address: String,
        /// Their version.
        found: i32,
        /// The program's version.
        expected: i32,
    },
    /// They are of a newer version.
    #[error(
        "the queue in {address} has version {found}, this program knows {expected}: install the newer program on this machine"
    )]
    Newer {
        /// The address, without password.
        address: String,
        /// Their version.
        found: i32,
        /// The program's version.
        expected: i32,
    },
    /// The schema's name is taken.
    #[error(
        "the schema {SCHEMA} in {0} is not a queue of this program: nothing was changed; rename it, or use another database"
    )]
    Foreign(String),
}

/// The version of the tables that this program uses.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a handful of migrations")]
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// Checks that the tables have this program's version.
pub(crate) async fn check(database: &Database) -> Result<(), SchemaError> {
    let address = database.address().to_string();
    match found(database).await? {
        None => Err(SchemaError::Missing(address)),
        Some(found) if found < VERSION => Err(SchemaError::Older { address, found, expected: VERSION }),
        Some(found) if found > VERSION => Err(SchemaError::Newer { address, found, expected: VERSION }),
        Some(_) => Ok(()),
    }
}

/// Makes the tables, or changes them to this program's version.
pub(crate) async fn migrate(database: &Database) -> Result<(), SchemaError> {
    match found(database).await? {
        Some(found) if found > VERSION => {
            let address = database.address().to_string();
            return Err(SchemaError::Newer { address, found, expected: VERSION });
        }
        Some(VERSION) => return Ok(()),
        _ => {}
    }
    database.batch(&migration_to(MIGRATIONS.len())).await?;
    check(database).await
}

/// The statements that bring any older version to this one, sent at once and so one transaction. Each step runs only if nobody else has made it meanwhile.
fn migration_to(version: usize) -> String {
    let begin = format!(
        "SET LOCAL statement_timeout TO '10min';
         SELECT pg_advisory_xact_lock(hashtextextended('{SCHEMA}.migrate', 0));
         CREATE SCHEMA IF NOT EXISTS {SCHEMA};
         CREATE TABLE IF NOT EXISTS {SCHEMA}.queue_version (
             version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT clock_timestamp());"
    );
    let steps = (1..).zip(&MIGRATIONS[..version]).map(|(at, step)| {
        format!(
            "DO $migrate$ BEGIN
               IF NOT EXISTS (SELECT FROM {SCHEMA}.queue_version WHERE version >= {at}) THEN
                 {step}
                 INSERT INTO {SCHEMA}.queue_version (version) VALUES ({at});
               END IF;
             END $migrate$;"
        )
    });
    std::iter::once(begin).chain(steps).collect()
}

/// Returns the version of the tables; `None` where there are none.
async fn found(database: &Database) -> Result<Option<i32>, SchemaError> {
    // Asks the catalogue first, as a missing table is an error. Another program's table may have the same name.
    let rows = database
        .query(
            "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname::text = $1::text),
                    to_regclass($1::text || '.trials') IS NOT NULL AND EXISTS (
                      SELECT FROM pg_attribute
                      WHERE attrelid = to_regclass($1::text || '.queue_version') AND attname = 'version'
                        AND atttypid = 'integer'::regtype AND NOT attisdropped)",
            &[&SCHEMA],
        )
        .await?;
    let (schema, table) = rows.first().map_or((false, false), |row| (row.get(0), row.get(1)));
    match (schema, table) {
        (false, _) => Ok(None),
        (true, false) => Err(SchemaError::Foreign(database.address().to_string())),
        (true, true) => {
            let rows = database.query("SELECT max(version) FROM queue_version", &[]).await?;
            Ok(Some(rows.first().and_then(|row| row.get::<_, Option<i32>>(0)).unwrap_or(0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::migration_to;

    #[test]
    fn a_migration_takes_turns_and_repeats_no_step() {
        let sql = migration_to(2);
        assert_eq!(sql.matches("IF NOT EXISTS (SELECT FROM apprentice_queue.queue_version").count(), 2);
        assert!(
            sql.find("pg_advisory_xact_lock").expect("a lock")
                < sql.find("CREATE TABLE runs").expect("a table")
        );
    }
}
