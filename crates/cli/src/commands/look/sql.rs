//! `apprentice sql`: a question about a run, in SQL.

use std::path::PathBuf;

use apprentice_exports::{SQL_TABLES, SqlAnswer, SqlError, sql};
use apprentice_runs::{StoredRun, Wanted};
use clap::Args;
use serde_json::Value;

use crate::failure::{Failure, Kind};
use crate::runs::run_place::RunPlace;
use crate::terminal;

/// The most characters of a cell in the printed table.
const CELL: usize = 60;

/// Answers a query in SQLite's SQL about a run: its attempts are the table `rows`, their events the table `events`.
///
/// `apprentice sql runs/ID "select arm, avg(verdict = 'pass'), count(*) from rows group by arm"`. Without a query, the tables
/// with their columns are printed. A query can read and change nothing.
#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// The run's folder.
    run: PathBuf,
    /// The query.
    query: Option<String>,
    /// Print one JSON object (`apprentice.sql/1`).
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Sql) -> Result<(), Failure> {
    let Some(query) = &arguments.query else {
        SQL_TABLES.lines().for_each(|line| terminal::line(format_args!("{line}")));
        return Ok(());
    };
    let place = RunPlace::of(&arguments.run, Wanted::Run)?;
    let run = StoredRun::open_from(place.folder(), place.source()).map_err(|error| failure(error.into()))?;
    let answer = sql(&run, query).map_err(failure)?;
    if arguments.json {
        return terminal::json(&answer);
    }
    for line in table(&answer) {
        terminal::verbatim(&line);
    }
    for missing in &answer.incomplete {
        terminal::note(format_args!("note: {missing}"));
    }
    Ok(())
}

fn failure(error: SqlError) -> Failure {
    match error {
        SqlError::Query(_) | SqlError::TooLarge => Failure::new(Kind::Usage, error),
        SqlError::Fill(_) => Failure::new(Kind::Environment, error),
        SqlError::Run(_) | SqlError::Read { .. } | SqlError::Event { .. } => {
            Failure::new(Kind::Config, error)
        }
    }
}

/// The answer in columns as wide as their widest cell, numbers at the right.
fn table(answer: &SqlAnswer) -> Vec<String> {
    let cells = |row: &Vec<Value>| row.iter().map(shown).collect::<Vec<String>>();
    let rows: Vec<Vec<String>> = std::iter::once(answer.columns.iter().map(|name| cut(name)).collect())
        .chain(answer.rows.iter().map(cells))
        .collect();
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..answer.columns.len()).map(wide).collect();
    let numeric = |column: usize| {
        let mut values =
            answer.rows.iter().map(|row| &row[column]).filter(|value| !value.is_null()).peekable();
        values.peek().is_some() && values.all(Value::is_number)
    };
    let right: Vec<bool> = (0..answer.columns.len()).map(numeric).collect();
    rows.iter().map(|row| line(row, &widths, &right)).collect()
}

fn line(row: &[String], widths: &[usize], right: &[bool]) -> String {
    let placed = row.iter().zip(widths).zip(right);
    let cells: Vec<String> = placed
        .map(
            |((cell, width), right)| {
                if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            },
        )
        .collect();
    cells.join("  ").trim_end().to_owned()
}

/// A cell on one line; nothing for null.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => cut(text),
        other => other.to_string(),
    }
}

fn cut(text: &str) -> String {
    let flat = text.replace(['\n', '\t', '\r'], " ");
    match flat.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &flat[..end]),
        None => flat,
    }
}

#[cfg(test)]
mod tests {
    use apprentice_exports::SqlAnswer;
    use serde_json::{Value, json};

    use super::{CELL, table};

    #[test]
    fn an_answer_is_a_table_of_aligned_lines() {
        let long = "x".repeat(CELL + 1);
        let answer = SqlAnswer {
            schema: String::new(),
            columns: vec!["arm".into(), "passed".into()],
            rows: vec![
                vec![json!("pull"), json!(0.5)],
                vec![json!(long), Value::Null],
                vec![json!("a\nb"), json!(12)],
            ],
            incomplete: Vec::new(),
        };
        let lines = table(&answer);
        let at = |text: &str| lines[0].find(text).expect("there");
        assert_eq!(
            lines[1].chars().count(),
            at("passed") + "passed".len(),
            "numbers end where their name ends"
        );
        assert!(lines[2].ends_with('…') && lines[3].starts_with("a b "), "{lines:?}");
    }
}
