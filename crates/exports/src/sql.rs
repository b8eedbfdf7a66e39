//! Answers a question in SQL about a run: its rows and events as tables of a temporary SQLite database.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_runs::row::TrialRow;
use apprentice_runs::{RunError, StoredRun};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Schema name of an answer.
pub const SQL_SCHEMA: &str = "apprentice.sql/1";

/// The tables. `data` and `skills_viewed` hold JSON, which SQLite's functions read: `data ->> '$.sent.do'`.
pub const SQL_TABLES: &str = "\
create table rows (run text, trial text, attempt integer, suite text, task text, template text, split text, role text, \
arm text, seed integer, model text, provider_model text, verdict text, score real, stop_reason text, void_cause text, \
world_steps integer, turns integer, input_tokens integer, output_tokens integer, cached_tokens integer, cost_usd real, \
wall_s real, working_s real, delivered_tokens integer, skills_viewed text, started_at text, isolation text, trace text);
create table events (trial text, attempt integer, id text, wall text, mono_us integer, step integer, kind text, data text);";

/// Rows of an answer that are kept in memory at most.
const ANSWER_LIMIT: usize = 1_000_000;

/// The reason a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// SQLite refuses the question.
    #[error("the query cannot be answered; the tables are:\n{SQL_TABLES}")]
    Query(#[source] rusqlite::Error),
    /// The tables could not be filled.
    #[error("the tables could not be filled")]
    Fill(#[source] rusqlite::Error),
    /// A trace cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A complete line is no event.
    #[error("{path}, line {line}: not an event")]
    Event {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The answer is too large.
    #[error("the answer has more than {ANSWER_LIMIT} rows: add a limit to the query")]
    TooLarge,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SqlAnswer {
    /// [`SQL_SCHEMA`].
    pub schema: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows; each cell is null, a number or a text.
    pub rows: Vec<Vec<Value>>,
    /// Attempts whose trace is missing, or ends in the midst of a line, so that the table `events` lacks something.
    pub incomplete: Vec<String>,
}

/// One line of a trace, with its data unread.
#[derive(Deserialize)]
struct EventLine<'a> {
    id: String,
    wall: String,
    mono_us: i64,
    #[serde(default)]
    step: Option<String>,
    kind: String,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// Answers one query about a run. Only tables that it reads are filled, and it can change nothing: other statements are refused.
///
/// # Errors
///
/// Fails if the query is no SQL that reads these tables, if a trace or the rows cannot be read, or if the answer is too long.
pub fn sql(run: &StoredRun, query: &str) -> Result<SqlAnswer, SqlError> {
    // An empty name is a database of its own on disk, which SQLite deletes: events may be larger than memory.
    let mut database = Connection::open("").map_err(SqlError::Fill)?;
    database.execute_batch(SQL_TABLES).map_err(SqlError::Fill)?;
    let tables = tables_of(&mut database, query).map_err(SqlError::Query)?;
    let mut incomplete = Vec::new();
    let filling = database.unchecked_transaction().map_err(SqlError::Fill)?;
    if tables.contains("rows") {
        add_rows(&database, &run.rows).map_err(SqlError::Fill)?;
    }
    if tables.contains("events") {
        for row in &run.rows {
            incomplete.extend(add_events(&database, run, row)?);
        }
    }
    filling.commit().map_err(SqlError::Fill)?;
    let (columns, rows) = answer(&mut database, query)?;
    Ok(SqlAnswer { schema: SQL_SCHEMA.into(), columns, rows, incomplete })
}

/// Allows reading alone.
fn allows(action: AuthAction<'_>) -> Authorization {
    match action {
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Recursive => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

/// The tables that a query reads.
fn tables_of(database: &mut Connection, query: &str) -> rusqlite::Result<BTreeSet<String>> {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&found);
    database.authorizer(Some(move |context: AuthContext<'_>| {
        if let AuthAction::Read { table_name, .. } = context.action {
            seen.lock().unwrap_or_else(PoisonError::into_inner).insert(table_name.to_lowercase());
        }
        allows(context.action)
    }))?;
    database.prepare(query)?;
    database.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    let tables = found.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(tables)
}

/// The word of a value that is written as one.
fn word(value: &impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

fn add_rows(database: &Connection, rows: &[TrialRow]) -> rusqlite::Result<()> {
    let marks = vec!["?"; 29].join(", ");
    let mut insert = database.prepare(&format!("insert into rows values ({marks})"))?;
    rows.iter().try_for_each(|row| insert.execute(cells(row)).map(drop))
}

/// The cells of a row, in the order of the columns.
fn cells(row: &TrialRow) -> impl rusqlite::Params {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let text = |text: &str| Cell::from(text.to_owned());
    rusqlite::params_from_iter::<[Cell; 29]>([
        text(row.run.as_str()),
        text(row.trial.as_str()),
        row.attempt.into(),
        text(&row.suite),
        text(row.task.as_str()),
        text(&row.template),
        word(&row.split).into(),
        word(&row.role).into(),
        text(&row.arm),
        row.seed.into(),
        text(&row.model),
        row.provider_model.clone().into(),
        word(&row.verdict).into(),
        row.score.into(),
        word(&row.stop_reason).into(),
        word(&row.void_cause).into(),
        row.world_steps.into(),
        row.turns.into(),
        count(row.tokens.input).into(),
        count(row.tokens.output).into(),
        count(row.tokens.cached).into(),
        row.cost_usd.into(),
        row.wall_s.into(),
        row.working_s.into(),
        count(row.delivered_tokens).into(),
        serde_json::to_string(&row.skills_viewed).unwrap_or_default().into(),
        row.started_at.to_string().into(),
        word(&row.isolation).into(),
        text(&row.trace),
    ])
}

/// Adds the events of an attempt, line by line. Returns what is missing of it.
fn add_events(database: &Connection, run: &StoredRun, row: &TrialRow) -> Result<Option<String>, SqlError> {
    let path = run.events_of(&row.trace)?;
    let file = match apprentice_files::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Some(format!("{} has no trace", row.trace)));
        }
        Err(source) => return Err(SqlError::Read { path, source }),
    };
    let mut insert =
        database.prepare("insert into events values (?, ?, ?, ?, ?, ?, ?, ?)").map_err(SqlError::Fill)?;
    let (mut lines, mut text) = (BufReader::new(file), String::new());
    for line in 1.. {
        text.clear();
        let read =
            lines.read_line(&mut text).map_err(|source| SqlError::Read { path: path.clone(), source })?;
        if read == 0 {
            break;
        }
        if !text.ends_with('\n') {
            return Ok(Some(format!("line {line} of the trace of {} is cut off", row.trace)));
        }
        if text.trim().is_empty() {
            continue;
        }
        let event: EventLine<'_> = serde_json::from_str(&text).map_err(|source| SqlError::Event {
            path: path.clone(),
            line,
            source,
        })?;
        let step: Option<i64> = event.step.and_then(|step| step.trim_start_matches('s').parse().ok());
        insert
            .execute(params![
                row.trial.as_str(),
                row.attempt,
                event.id,
                event.wall,
                event.mono_us,
                step,
                event.kind,
                event.data.map(RawValue::get),
            ])
            .map_err(SqlError::Fill)?;
    }
    Ok(None)
}

type Table = (Vec<String>, Vec<Vec<Value>>);

fn answer(database: &mut Connection, query: &str) -> Result<Table, SqlError> {
    database.authorizer(Some(|context: AuthContext<'_>| allows(context.action))).map_err(SqlError::Query)?;
    let mut statement = database.prepare(query).map_err(SqlError::Query)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = Vec::new();
    let mut rows = statement.query([]).map_err(SqlError::Query)?;
    while let Some(row) = rows.next().map_err(SqlError::Query)? {
        if found.len() == ANSWER_LIMIT {
            return Err(SqlError::TooLarge);
        }
        let cells: rusqlite::Result<Vec<Value>> =
            (0..columns.len()).map(|place| row.get_ref(place).map(cell)).collect();
        found.push(cells.map_err(SqlError::Query)?);
    }
    Ok((columns, found))
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned().into(),
    }
}
