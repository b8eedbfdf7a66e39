//! Reads rows out of an SQLite file that was kept as evidence, within bounds.

use std::io::Write as _;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// Instructions that one query may take, in thousands.
const BUDGET: u32 = 200_000;
const ROWS: usize = 100_000;

/// The rows of a query, each cell as a JSON value (bytes as text, broken ones replaced).
pub(super) fn rows(bytes: &[u8], sql: &str) -> Result<Vec<Vec<Value>>, String> {
    let told = |error: &dyn std::fmt::Display| format!("the database cannot be read: {error}");
    let mut file = tempfile::NamedTempFile::new().map_err(|error| told(&error))?;
    file.write_all(bytes).map_err(|error| told(&error))?;
    let read = || -> rusqlite::Result<Vec<Vec<Value>>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(file.path(), flags)?;
        connection.set_limit(rusqlite::limits::Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        let mut left = BUDGET;
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
        let mut found = Vec::new();
        while let Some(row) = rows.next()?
            && found.len() < ROWS
        {
            let cells = (0..columns).map(|at| row.get_ref(at).map(value_of)).collect::<Result<_, _>>()?;
            found.push(cells);
        }
        Ok(found)
    };
    read().map_err(|error| told(&error))
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
        assert!(rows(b"no database", "select 1 from t").is_err());
        assert!(rows(&bytes, "delete from t").is_err());
    }
}
