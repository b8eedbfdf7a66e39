//! Questions in SQL about a run.

use std::fs;

use apprentice_exports::{SqlError, sql};
use apprentice_runs::StoredRun;
use serde_json::json;

use crate::exports::ATTEMPTS;
use crate::sample::Sample;

fn run(sample: &Sample) -> StoredRun {
    StoredRun::open(&sample.run()).expect("opens")
}

#[test]
fn attempts_and_their_events_are_tables() {
    let sample = Sample::of(&ATTEMPTS);
    let run = run(&sample);
    let found =
        sql(&run, "select verdict, count(*) as n, sum(input_tokens) from rows group by verdict order by 1")
            .expect("answers");
    assert_eq!(found.columns, ["verdict", "n", "sum(input_tokens)"]);
    let expected = json!([["fail", 1, 300], ["pass", 4, 1200], ["void", 1, 300]]);
    assert_eq!(serde_json::to_value(&found.rows).expect("json"), expected);
    let acts = sql(
        &run,
        "select rows.task, events.data ->> '$.asked.do', min(step) from rows join events using (trial, attempt) \
         where kind = 'action' and rows.task = 'shop-buy' group by 1, 2 order by 2",
    )
    .expect("answers");
    assert!(!acts.rows.is_empty() && acts.incomplete.is_empty(), "{acts:?}");
    assert!(acts.rows.iter().all(|row| row[1].is_string() && row[2].is_number()), "{acts:?}");
}

#[test]
fn a_question_changes_nothing_and_reads_no_other_file() {
    let sample = Sample::of(&ATTEMPTS);
    let run = run(&sample);
    let elsewhere = sample.out("other.db");
    for query in [
        "delete from rows".to_owned(),
        "create table mine (x)".to_owned(),
        "pragma temp_store = memory".to_owned(),
        format!("attach '{}' as other", elsewhere.display()),
        format!("vacuum into '{}'", elsewhere.display()),
        "select load_extension('/tmp/x')".to_owned(),
        "select 1; delete from rows".to_owned(),
        "select nothing from rows".to_owned(),
    ] {
        let error = sql(&run, &query).expect_err(&query);
        assert!(matches!(error, SqlError::Query(_)), "{query}: {error:?}");
        assert!(error.to_string().contains("create table rows"), "{query}: the tables are told");
    }
    assert!(!elsewhere.exists());
}

#[test]
fn a_trace_that_is_cut_off_or_missing_is_told_and_a_broken_one_refused() {
    let sample = Sample::of(&ATTEMPTS[..2]);
    let run = run(&sample);
    let events = |place: usize| run.events_of(&run.rows[place].trace).expect("inside");
    let text = fs::read_to_string(events(0)).expect("a trace");
    fs::write(events(0), text.trim_end()).expect("cut");
    fs::remove_file(events(1)).expect("removed");
    let found = sql(&run, "select count(*) from events").expect("answers");
    assert_eq!(found.rows[0][0], json!(text.lines().count() - 1));
    assert!(
        found.incomplete[0].contains("is cut off") && found.incomplete[1].contains("has no trace"),
        "{found:?}"
    );
    sql(&run, "select count(*) from rows").expect("needs no trace");
    fs::write(events(0), "{}\n").expect("written");
    let error = sql(&run, "select count(*) from events").expect_err("no event").to_string();
    assert!(error.contains("line 1: not an event"), "{error}");
}
