//! Queries an SQLite file that was saved as evidence, with limits on time, memory and rows.

use std::io::Write as _;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// Maximum number of SQLite virtual-machine instructions per query, in thousands.
const INSTRUCTION_LIMIT: u32 = 20_000;
const ROW_LIMIT: usize = 100_000;
/// Maximum size of one cell and of all cells together, in bytes.
const CELL_LIMIT: i32 = 8 << 20;
const TOTAL_LIMIT: usize = 32 << 20;
/// Heap limit for all open databases together, in bytes. Queries sort and group in memory, never on disk.
const HEAP_LIMIT: i64 = 128 << 20;

/// Runs a query and returns its rows with cells as JSON values. Blobs become text with invalid bytes replaced.
///
/// # Errors
///
/// Fails if the bytes are no database, if the query is refused, or if it takes more steps, rows or memory than are allowed.
pub fn rows(bytes: &[u8], sql: &str) -> Result<Vec<Vec<Value>>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("the database cannot be read: {error}");
    let mut file = tempfile::NamedTempFile::new().map_err(|error| failed(&error))?;
    file.write_all(bytes).map_err(|error| failed(&error))?;
    let read = || -> rusqlite::Result<Vec<Vec<Value>>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(file.path(), flags)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, CELL_LIMIT)?;
        connection.execute_batch(&format!(
            "pragma temp_store = memory; pragma hard_heap_limit = {HEAP_LIMIT}; pragma trusted_schema = off"
        ))?;
        let mut left = INSTRUCTION_LIMIT;
        connection.progress_handler(
            1000,
            Some(move || {
                left = left.saturating_sub(1);
                left == 0
            }),
        )?;
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let (mut found, mut size) = (Vec::new(), 0);
        while let Some(row) = rows.next()?
            && found.len() < ROW_LIMIT
        {
            let cells: Vec<_> = (0..columns).map(|at| row.get_ref(at)).collect::<Result<_, _>>()?;
            size += cells.iter().map(|cell| cell_size(*cell)).sum::<usize>();
            if size > TOTAL_LIMIT {
                return Err(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_TOOBIG),
                    Some(format!("its rows hold more than {TOTAL_LIMIT} bytes")),
                ));
            }
            found.push(cells.into_iter().map(value_of).collect());
        }
        Ok(found)
    };
    read().map_err(|error| failed(&error))
}

/// Returns the memory size of a cell in bytes.
fn cell_size(cell: ValueRef<'_>) -> usize {
    match cell {
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => size_of::<Value>(),
        ValueRef::Text(text) | ValueRef::Blob(text) => size_of::<Value>() + text.len(),
    }
}

fn value_of(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(whole) => whole.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::rows;

    #[test]
    fn rows_are_read_and_a_query_without_end_is_stopped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.sqlite");
        let connection = rusqlite::Connection::open(&path).expect("opens");
        connection
            .execute_batch("create table t(a, b); insert into t values (1, 'x'), (2.5, null)")
            .expect("fills");
        drop(connection);
        let bytes = std::fs::read(&path).expect("reads");
        assert_eq!(
            rows(&bytes, "select * from t"),
            Ok(vec![vec![json!(1), json!("x")], vec![json!(2.5), json!(null)]])
        );
        let endless =
            "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n";
        assert!(rows(&bytes, endless).is_err());
        let large = "with recursive n(x) as (select 1 union all select x + 1 from n limit 1000) select zeroblob(1000000) from n";
        assert!(rows(&bytes, large).is_err_and(|why| why.contains("more than")));
        let sorted = format!("{large} order by 1, x");
        assert!(rows(&bytes, &sorted).is_err());
        assert!(rows(&bytes, "select zeroblob(100000000)").is_err());
        assert!(rows(b"no database", "select 1 from t").is_err());
        assert!(rows(&bytes, "delete from t").is_err());
    }
}
