//! The published schemas of what commands print with `--json` match the types.

use std::fs;
use std::path::Path;

use schemars::{Schema, schema_for};

use crate::{forecast, run_progress};

fn check(name: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.json"));
    let mut text = serde_json::to_string_pretty(schema).expect("writes");
    text.push('\n');
    if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
        return;
    }
    fs::write(path.with_extension("json.new"), text).expect("writes");
    panic!("schemas/{name}.json is not what the types say; look at {name}.json.new, then move it there");
}

#[test]
fn what_runs_is_as_published() {
    check("ps-1", &schema_for!(super::watch::Listed<'_>));
    check("run-summary-1", &schema_for!(run_progress::Summary<'_>));
}

#[test]
fn what_a_machine_offers_is_as_published() {
    check("doctor-1", &schema_for!(super::doctor::Report));
    check("models-list-1", &schema_for!(super::models::Listing<'_>));
}

#[test]
fn what_a_suite_holds_is_as_published() {
    check("tasks-1", &schema_for!(super::tasks::Listing<'_>));
    check("tasks-check-1", &schema_for!(super::tasks_check::Report));
    check("split-show-1", &schema_for!(super::split::Shown<'_>));
    check("audit-1", &schema_for!(super::audit::Report<'_>));
}

#[test]
fn forecasts_are_as_published() {
    check("forecast-1", &schema_for!(forecast::ForecastJson<'_>));
    check("bench-outline-1", &schema_for!(super::bench::Outline));
}

#[test]
fn what_servers_say_when_they_answer_is_as_published() {
    check("serve-1", &schema_for!(super::serve::Served));
    check("view-1", &schema_for!(super::view::Served));
}

#[test]
fn answers_to_queries_are_as_published() {
    check("sql-1", &schema_for!(apprentice_exports::SqlAnswer));
}

#[test]
fn what_an_exploration_did_is_as_published() {
    check("explored-1", &schema_for!(super::explore::Explored<'_>));
}
