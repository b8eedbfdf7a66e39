//! The published schemas of what commands print with `--json` match the types, and every command that takes `--json` has one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::commands::printed::{OF_A_FLEET, PRINTED};
use crate::commands::{functions, skills};
use crate::{args, commands::forecast, runs::run_progress};

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

/// Returns the schema of what is written of a type: a field that is left out where it is empty is not required, and one that a
/// reader would make up for is.
fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

fn check(name: &str, schema: &Schema) {
    let mut differences = Differences::default();
    differences.check(name, schema);
    differences.end();
}

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
    let of_a_fleet = if cfg!(feature = "fleet") { OF_A_FLEET } else { &[] };
    let listed: BTreeMap<&str, &[&str]> = PRINTED.iter().chain(of_a_fleet).copied().collect();
    let unlisted: Vec<&String> =
        commands.iter().filter(|command| !listed.contains_key(command.as_str())).collect();
    assert!(unlisted.is_empty(), "name the schemas of these commands in PRINTED: {unlisted:?}");
    let gone: Vec<&&str> = listed.keys().filter(|command| !commands.contains(**command)).collect();
    assert!(gone.is_empty(), "PRINTED names commands that take no --json: {gone:?}");
    let missing: Vec<&&str> =
        listed.values().flat_map(|names| names.iter()).filter(|name| !path(name).is_file()).collect();
    assert!(missing.is_empty(), "schemas/ lacks {missing:?}");
}

#[test]
fn what_runs_is_as_published() {
    check("ps-1", &written::<crate::commands::watch::Listed<'_>>());
    check("run-summary-1", &written::<run_progress::Summary<'_>>());
}

#[test]
fn what_a_machine_offers_is_as_published() {
    check("doctor-1", &written::<crate::commands::doctor::Report>());
    check("models-list-1", &written::<crate::commands::installation::models::Listing<'_>>());
}

#[test]
fn what_a_suite_holds_is_as_published() {
    let mut found = Differences::default();
    found.check("tasks-1", &written::<crate::commands::tasks::Listing<'_>>());
    found.check("tasks-check-1", &written::<crate::commands::tasks::check::Report>());
    found.check("task-1", &written::<crate::commands::tasks::check::ShownTask<'_>>());
    found.check("tasks-metric-1", &written::<crate::commands::tasks::metric::MetricOutput<'_>>());
    found.check("split-show-1", &written::<crate::commands::installation::split::Shown<'_>>());
    found.check("audit-1", &written::<crate::commands::audit::Report<'_>>());
    found.end();
}

#[test]
fn forecasts_and_comparisons_are_as_published() {
    let mut found = Differences::default();
    found.check("forecast-1", &written::<forecast::ForecastJson<'_>>());
    found.check("bench-outline-1", &written::<crate::commands::bench::Outline>());
    found.check("compare-1", &written::<apprentice_results::compare::Comparison>());
    found.check("step-caps-1", &written::<apprentice_results::step_caps::StepCaps>());
    found.end();
}

#[test]
fn what_servers_say_when_they_answer_is_as_published() {
    check("serve-1", &written::<crate::commands::serve::address::Served>());
    check("view-1", &written::<crate::commands::look::view::Served>());
}

#[test]
fn examinations_are_as_published() {
    check("verify-1", &written::<crate::commands::look::bundle::Checked<'_>>());
}

#[cfg(feature = "fleet")]
#[test]
fn plans_are_as_published() {
    check("plan-1", &written::<crate::commands::plan::PlanOutput>());
}

#[cfg(feature = "fleet")]
#[test]
fn what_is_said_of_queues_is_as_published() {
    let mut found = Differences::default();
    found.check("queue-status-1", &written::<apprentice_fleet::QueueStatus>());
    found.check("submitted-1", &written::<crate::commands::fleet::Submitted<'_>>());
    found.end();
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
    let own = serde_json::to_value(written::<crate::commands::plan::PlanOutput>()).expect("JSON");
    assert_eq!(own, published, "schemas/plan-1.json; a test with the feature fleet writes it anew");
}

#[test]
fn answers_to_queries_are_as_published() {
    check("sql-1", &written::<apprentice_exports::SqlAnswer>());
}

#[test]
fn what_an_exploration_did_is_as_published() {
    check("explored-1", &written::<crate::commands::explore::Explored<'_>>());
}

#[test]
fn what_was_learned_is_as_published() {
    let mut found = Differences::default();
    found.check("learn-1", &written::<crate::commands::learn::Learned<'_>>());
    found.check("final-1", &written::<crate::commands::session::learning::Final<'_>>());
    found.check(
        "trace-read-1",
        &written::<crate::commands::trace::read::TracesRead<apprentice_transcripts::LogSummary<'_>>>(),
    );
    found.check("trace-review-1", &written::<crate::commands::trace::ReviewMaterial<'_>>());
    found.check("trace-event-1", &written::<crate::commands::trace::ExpandedEvent<'_>>());
    found.end();
}

#[test]
fn what_is_said_of_functions_is_as_published() {
    let mut found = Differences::default();
    found.check("functions-1", &written::<functions::Listing<'_>>());
    found.check("functions-show-1", &written::<functions::Card<'_>>());
    found.check("functions-check-1", &written::<functions::Checked<'_>>());
    found.check("functions-retire-1", &written::<functions::Retired<'_>>());
    found.check("functions-learn-1", &written::<functions::learn::Written<'_>>());
    found.check(
        "functions-admit-1",
        &written::<apprentice_evaluator::functions::admission::AdmissionReport>(),
    );
    found.end();
}

#[test]
fn what_a_skillbook_holds_is_as_published() {
    let mut found = Differences::default();
    found.check("skills-1", &written::<skills::show::Listing<'_>>());
    found.check("skill-1", &written::<skills::show::Card<'_>>());
    found.check("skills-search-1", &written::<skills::show::Hits<'_>>());
    found.check("skills-history-1", &written::<skills::history::History>());
    found.check("skills-diff-1", &written::<skills::history::Difference>());
    found.check("skills-blame-1", &written::<skills::history::Blame>());
    found.check("skills-events-1", &written::<skills::events::Events>());
    found.check("skills-learning-1", &written::<skills::events::LearningState<'_>>());
    found.check("skills-check-1", &written::<skills::check::CheckedPages>());
    found.check("skills-measure-1", &written::<skills::measure_output::Measured>());
    found.check("skills-measure-plan-1", &written::<skills::measure_output::MeasurePlan>());
    found.check("skills-certificate-1", &written::<skills::certificate::MadeCertificate>());
    found.check("skills-certificate-badge-1", &written::<skills::certificate::Badge>());
    found.check("skills-certificate-verify-1", &written::<skills::certificate::CheckedCertificate>());
    found.check("skills-proposals-1", &written::<skills::proposals::Waiting<'_>>());
    found.end();
}

#[test]
fn what_changes_a_skillbook_is_as_published() {
    let mut found = Differences::default();
    found.check("skills-sync-1", &written::<skills::Synced<'_>>());
    found.check("skills-resume-1", &written::<skills::history::Resumed>());
    found.check("skills-revert-1", &written::<skills::history::RevertOutcome>());
    found.check("skills-accepted-1", &written::<skills::proposals::Decisions<'_>>());
    found.check("skills-refused-1", &written::<skills::proposals::Decisions<'_>>());
    found.check("skills-add-figure-1", &written::<skills::figure::FigureAdded<'_>>());
    found.check("skills-apply-1", &written::<skills::curate::AppliedReviews<'_>>());
    found.check("skills-clean-1", &written::<skills::curate::CleanupOutput<'_>>());
    found.check("skills-learning-run-1", &written::<skills::learning::ReviewOutput<'_>>());
    found.check("skills-validate-1", &written::<skills::package::Validation<'_>>());
    found.check("skills-export-1", &written::<skills::export::Exported<'_>>());
    found.check("skills-import-1", &written::<skills::package::ImportReport<'_>>());
    found.end();
}
