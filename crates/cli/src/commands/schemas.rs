//! The published schemas of what commands print with `--json` match the types, and every command that takes `--json` has one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use schemars::{Schema, schema_for};

use super::{functions, skills};
use crate::{args, forecast, run_progress};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.json"))
}

/// Collects what differs, so that one run of a test names all of it.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn check(&mut self, name: &str, schema: &Schema) {
        let path = path(name);
        let mut text = serde_json::to_string_pretty(schema).expect("writes");
        text.push('\n');
        if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
            return;
        }
        fs::write(path.with_extension("json.new"), text).expect("writes");
        self.0.push(name.to_owned());
    }

    fn end(self) {
        assert!(
            self.0.is_empty(),
            "these files of schemas/ are not what the types say; look at their .json.new, then move it there: {:?}",
            self.0
        );
    }
}

fn check(name: &str, schema: &Schema) {
    let mut differences = Differences::default();
    differences.check(name, schema);
    differences.end();
}

/// What each command prints with `--json`, by the names of the schemas. Options decide which of several it is.
const PRINTED: &[(&str, &[&str])] = &[
    ("bench", &["bench-outline-1", "forecast-1", "report-1"]),
    ("bundle", &["bundle-1"]),
    ("collect", &["export-1"]),
    ("compare", &["compare-1"]),
    ("distill", &["forecast-1", "report-1"]),
    ("doctor", &["doctor-1"]),
    ("explore", &["explored-1", "forecast-1"]),
    ("export", &["export-1"]),
    ("fork", &["forecast-1", "fork-1"]),
    ("functions add", &["functions-show-1"]),
    ("functions admit", &["functions-admit-1"]),
    ("functions check", &["functions-check-1"]),
    ("functions learn", &["forecast-1", "functions-learn-1"]),
    ("functions list", &["functions-1"]),
    ("functions retire", &["functions-retire-1"]),
    ("functions show", &["functions-show-1"]),
    ("grade", &["grade-1"]),
    ("learn", &["forecast-1", "learn-1"]),
    ("models list", &["models-list-1"]),
    ("plan", &["plan-1"]),
    ("ps", &["ps-1"]),
    ("report", &["report-1", "step-caps-1"]),
    ("resume", &["report-1", "run-summary-1"]),
    ("run", &["forecast-1", "run-summary-1"]),
    ("selftest stats", &["selftest-1"]),
    ("serve", &["serve-1"]),
    ("skills accept", &["skills-accepted-1"]),
    ("skills add-figure", &["skills-add-figure-1"]),
    ("skills apply", &["forecast-1", "skills-apply-1"]),
    ("skills at", &["skill-1", "skills-1"]),
    ("skills blame", &["skills-blame-1"]),
    ("skills clean", &["forecast-1", "skills-clean-1"]),
    ("skills diff", &["skills-diff-1"]),
    ("skills events", &["skills-events-1"]),
    ("skills export", &["skills-export-1"]),
    ("skills history", &["skills-history-1"]),
    ("skills import", &["skills-import-1"]),
    ("skills learning", &["skills-learning-1"]),
    ("skills learning run", &["skills-learning-run-1"]),
    ("skills list", &["skills-1"]),
    ("skills proposals", &["skills-proposals-1"]),
    ("skills refuse", &["skills-refused-1"]),
    ("skills resume", &["skills-resume-1"]),
    ("skills revert", &["skills-revert-1"]),
    ("skills search", &["skills-search-1"]),
    ("skills show", &["skill-1"]),
    ("skills sync", &["skills-sync-1"]),
    ("skills validate", &["skills-validate-1"]),
    ("split draw", &["split-show-1"]),
    ("split lock", &["split-show-1"]),
    ("split show", &["split-show-1"]),
    ("sql", &["sql-1"]),
    ("tasks audit", &["audit-1"]),
    ("tasks check", &["tasks-check-1"]),
    ("tasks list", &["tasks-1"]),
    ("tasks metric", &["tasks-metric-1"]),
    ("tasks record", &["run-summary-1"]),
    ("tasks show", &["task-1"]),
    ("trace review", &["trace-event-1", "trace-review-1"]),
    ("verify", &["verify-1"]),
    ("view", &["view-1"]),
    ("watch", &["ps-1"]),
];

/// Commands that only the feature `fleet` builds. What they print has no schema yet.
const OF_A_FLEET: &[&str] = &["cancel", "drain", "fetch", "queue", "submit", "worker"];

/// Finds the commands below `command` that take `--json` and do something themselves.
fn commands_with_json(command: &clap::Command, name: &str, found: &mut BTreeSet<String>) {
    let runs = !command.is_subcommand_required_set();
    if runs && command.get_arguments().any(|argument| argument.get_long() == Some("json")) {
        found.insert(name.to_owned());
    }
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let name = format!("{name} {}", below.get_name());
        commands_with_json(below, name.trim_start(), found);
    }
}

#[test]
fn each_command_that_takes_json_has_a_schema() {
    let mut commands = BTreeSet::new();
    commands_with_json(&args::command(), "", &mut commands);
    let listed: BTreeMap<&str, &[&str]> = PRINTED.iter().copied().collect();
    let unlisted: Vec<&String> = commands
        .iter()
        .filter(|command| !listed.contains_key(command.as_str()) && !OF_A_FLEET.contains(&command.as_str()))
        .collect();
    assert!(unlisted.is_empty(), "name the schemas of these commands in PRINTED: {unlisted:?}");
    let gone: Vec<&&str> = listed.keys().filter(|command| !commands.contains(**command)).collect();
    assert!(gone.is_empty(), "PRINTED names commands that take no --json: {gone:?}");
    let missing: Vec<&&str> =
        listed.values().flat_map(|names| names.iter()).filter(|name| !path(name).is_file()).collect();
    assert!(missing.is_empty(), "schemas/ lacks {missing:?}");
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
    let mut found = Differences::default();
    found.check("tasks-1", &schema_for!(super::tasks::Listing<'_>));
    found.check("tasks-check-1", &schema_for!(super::tasks_check::Report));
    found.check("task-1", &schema_for!(super::tasks_check::ShownTask<'_>));
    found.check("tasks-metric-1", &schema_for!(super::tasks_metric::MetricOutput<'_>));
    found.check("split-show-1", &schema_for!(super::split::Shown<'_>));
    found.check("audit-1", &schema_for!(super::audit::Report<'_>));
    found.end();
}

#[test]
fn forecasts_and_comparisons_are_as_published() {
    let mut found = Differences::default();
    found.check("forecast-1", &schema_for!(forecast::ForecastJson<'_>));
    found.check("bench-outline-1", &schema_for!(super::bench::Outline));
    found.check("compare-1", &schema_for!(apprentice_results::compare::Comparison));
    found.check("step-caps-1", &schema_for!(apprentice_results::step_caps::StepCaps));
    found.end();
}

#[test]
fn what_servers_say_when_they_answer_is_as_published() {
    check("serve-1", &schema_for!(super::serve::Served));
    check("view-1", &schema_for!(super::view::Served));
}

#[test]
fn examinations_are_as_published() {
    check("verify-1", &schema_for!(super::bundle::Checked<'_>));
}

#[cfg(feature = "fleet")]
#[test]
fn plans_are_as_published() {
    check("plan-1", &schema_for!(super::plan::PlanOutput));
}

/// Without the feature `fleet`, plans say nothing of fleets; all else is as published.
#[cfg(not(feature = "fleet"))]
#[test]
fn plans_are_as_published() {
    let text = fs::read_to_string(path("plan-1")).expect("read");
    let mut published: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for (place, name) in [("properties", "fleet"), ("$defs", "FleetForecast")] {
        let gone = published[place].as_object_mut().and_then(|fields| fields.remove(name));
        assert!(gone.is_some(), "schemas/plan-1.json has no {name} in {place}");
    }
    let own = serde_json::to_value(schema_for!(super::plan::PlanOutput)).expect("JSON");
    assert_eq!(own, published, "schemas/plan-1.json; a test with the feature fleet writes it anew");
}

#[test]
fn answers_to_queries_are_as_published() {
    check("sql-1", &schema_for!(apprentice_exports::SqlAnswer));
}

#[test]
fn what_an_exploration_did_is_as_published() {
    check("explored-1", &schema_for!(super::explore::Explored<'_>));
}

#[test]
fn what_was_learned_is_as_published() {
    let mut found = Differences::default();
    found.check("learn-1", &schema_for!(super::learn::Learned<'_>));
    found.check("final-1", &schema_for!(super::do_learning::Final<'_>));
    found.check("trace-review-1", &schema_for!(super::trace::ReviewMaterial<'_>));
    found.check("trace-event-1", &schema_for!(super::trace::ExpandedEvent<'_>));
    found.end();
}

#[test]
fn what_is_said_of_functions_is_as_published() {
    let mut found = Differences::default();
    found.check("functions-1", &schema_for!(functions::Listing<'_>));
    found.check("functions-show-1", &schema_for!(functions::Card<'_>));
    found.check("functions-check-1", &schema_for!(functions::Checked<'_>));
    found.check("functions-retire-1", &schema_for!(functions::Retired<'_>));
    found.check("functions-learn-1", &schema_for!(functions::learn::Written<'_>));
    found.check("functions-admit-1", &schema_for!(apprentice_evaluator::function_admission::AdmissionReport));
    found.end();
}

#[test]
fn what_a_skillbook_holds_is_as_published() {
    let mut found = Differences::default();
    found.check("skills-1", &schema_for!(skills::show::Listing<'_>));
    found.check("skill-1", &schema_for!(skills::show::Card<'_>));
    found.check("skills-search-1", &schema_for!(skills::show::Hits<'_>));
    found.check("skills-history-1", &schema_for!(skills::history::History));
    found.check("skills-diff-1", &schema_for!(skills::history::Difference));
    found.check("skills-blame-1", &schema_for!(skills::history::Blame));
    found.check("skills-events-1", &schema_for!(skills::events::Events));
    found.check("skills-learning-1", &schema_for!(skills::events::LearningState<'_>));
    found.check("skills-proposals-1", &schema_for!(skills::proposals::Waiting<'_>));
    found.end();
}

#[test]
fn what_changes_a_skillbook_is_as_published() {
    let mut found = Differences::default();
    found.check("skills-sync-1", &schema_for!(skills::Synced<'_>));
    found.check("skills-resume-1", &schema_for!(skills::history::Resumed));
    found.check("skills-revert-1", &schema_for!(skills::history::RevertOutcome));
    found.check("skills-accepted-1", &schema_for!(skills::proposals::Decisions<'_>));
    found.check("skills-refused-1", &schema_for!(skills::proposals::Decisions<'_>));
    found.check("skills-add-figure-1", &schema_for!(skills::figure::FigureAdded<'_>));
    found.check("skills-apply-1", &schema_for!(skills::curate::AppliedReviews<'_>));
    found.check("skills-clean-1", &schema_for!(skills::curate::CleanupOutput<'_>));
    found.check("skills-learning-run-1", &schema_for!(skills::learning::ReviewOutput<'_>));
    found.check("skills-validate-1", &schema_for!(skills::package::Validation<'_>));
    found.check("skills-export-1", &schema_for!(skills::package::Exported<'_>));
    found.check("skills-import-1", &schema_for!(skills::package::ImportReport<'_>));
    found.end();
}
