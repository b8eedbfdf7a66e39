//! The published schemas match the types.

use std::fs;
use std::path::Path;

use apprentice_evaluator::experiment::{Definition, Prereg, SharedGuidance};
use apprentice_evaluator::grading::grade::GradeReport;
use apprentice_evaluator::run::{ConversationFile, RunPlan};
use apprentice_explore::{Episode, ExplorePlan, StoredProposal};
use apprentice_fork::ForkReport;
use apprentice_harness::env::scene::Scene;
use apprentice_learning::reflect::{Material, OutcomeBlock};
use apprentice_protocol::EventKind;
use apprentice_results::contamination::Contamination;
use apprentice_results::report::Report;
use apprentice_results::selftest::Selftest;
use apprentice_runs::bundle::Manifest;
use apprentice_runs::row::TrialRow;
use apprentice_tasks::check::{Evidence, JudgeInput};
use apprentice_tasks::suite::{Selection, task_schema};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, schema_for};

/// Returns the schema of what commands print of a type; the others say what is read.
fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

fn check(name: &str, schema: &Schema) {
    check_file(&format!("schemas/{name}.json"), schema);
}

fn check_file(name: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let mut text = serde_json::to_string_pretty(schema).expect("writes");
    text.push('\n');
    if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
        return;
    }
    let draft = path.with_extension("json.new");
    fs::write(&draft, text).expect("writes");
    panic!("{name} is not what the types say; look at {name}.new, then move it there");
}

#[test]
fn events_are_as_published() {
    // An event's line is the envelope `v`, `id`, `wall`, `mono_us`, `step` around this kind and its data.
    check("event-1", &schema_for!(EventKind));
}

#[test]
fn rows_are_as_published() {
    check("trial-1", &schema_for!(TrialRow));
}

#[test]
fn plans_are_as_published() {
    check("run-1", &schema_for!(RunPlan));
}

#[test]
fn the_folder_of_an_exploration_is_as_published() {
    check("explore-1", &schema_for!(ExplorePlan));
    check("explore-episode-1", &schema_for!(Episode));
    check("explore-proposal-1", &schema_for!(StoredProposal));
}

#[test]
fn conversations_are_as_published() {
    check("conversation-1", &schema_for!(ConversationFile));
}

#[test]
fn what_a_reviewer_is_told_is_as_published() {
    check("reflect-material-1", &schema_for!(Material));
    check("reflect-outcome-1", &schema_for!(OutcomeBlock));
}

#[test]
fn evidence_is_as_published() {
    check("evidence-1", &schema_for!(Evidence));
}

#[test]
fn what_a_check_asked_is_as_published() {
    check("asked-1", &schema_for!(JudgeInput));
}

#[test]
fn repeated_grades_are_as_published() {
    check("grade-1", &written::<GradeReport>());
}

#[test]
fn forks_are_as_published() {
    check("fork-1", &written::<ForkReport>());
}

#[test]
fn the_statistics_on_trial_are_as_published() {
    check("selftest-1", &written::<Selftest>());
}

#[test]
fn reports_are_as_published() {
    check("report-1", &written::<Report>());
    check("measured-skill-1", &written::<apprentice_measure::MeasuredSkill>());
    check("skill-page-1", &written::<apprentice_measure::SkillPage>());
    check("skill-certificate-1", &written::<apprentice_measure::certificate::SignedCertificate>());
}

#[test]
fn experiments_are_as_published() {
    check("experiment-1", &schema_for!(Definition));
}

#[test]
fn selections_are_as_published() {
    check("selection-1", &schema_for!(Selection));
}

#[test]
fn bundles_are_as_published() {
    check("bundle-1", &written::<Manifest>());
}

#[test]
fn task_files_are_as_published() {
    check_file("tasks/schema.json", &task_schema());
}

#[test]
fn registrations_are_as_published() {
    check("prereg-1", &schema_for!(Prereg));
}

#[test]
fn hygiene_is_as_published() {
    check("hygiene-1", &schema_for!(Contamination));
}

#[test]
fn scenes_are_as_published() {
    check("scene-1", &schema_for!(Scene));
}

#[test]
fn what_workers_of_a_fleet_are_told_of_guidance_is_as_published_and_as_it_was() {
    check("shared-guidance-1", &schema_for!(SharedGuidance));
    // As a leader of the first version wrote it. A field that comes, goes or means something else needs a version of its own.
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("golden/shared-guidance-1.json")).expect("JSON");
    let read: SharedGuidance = serde_json::from_value(golden.clone()).expect("is read");
    // Its rows have a schema of their own, which has grown: readers of before ignore what they do not know.
    let mut today = golden;
    today["learned"][0]["model_s"] = 0.0.into();
    assert_eq!(serde_json::to_value(&read).expect("is written"), today);
}
