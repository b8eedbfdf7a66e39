//! Transcripts of the command line: what a person or a program reads.

use std::process::{Command, Output};

/// Runs the program with no environment but a search path and a home of its own.
fn apprentice(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a home");
    Command::new(env!("CARGO_BIN_EXE_apprentice"))
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path())
        .current_dir(home.path())
        .output()
        .expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn help_reads_well() {
    let output = apprentice(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!("help", text(&output.stdout));
}

#[test]
fn a_wrong_command_is_a_usage_error_with_the_nearest_name() {
    let output = apprentice(&["doctr"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'doctor'"), "{}", text(&output.stderr));
}

#[test]
fn doctor_answers_programs_in_its_own_schema() {
    let output = apprentice(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("json");
    assert_eq!(report["schema"], "apprentice.doctor/1");
    let missing =
        report["findings"].as_array().expect("findings").iter().filter(|one| one["ok"] == false).count();
    assert_eq!(output.status.code(), Some(if missing == 0 { 0 } else { 21 }));
    assert_eq!(report["ok"], missing == 0);
}

#[test]
fn settings_name_their_origin() {
    let output = apprentice(&["config", "show", "--origin"]);
    assert!(text(&output.stdout).contains("isolation = \"cell\"  # default"), "{}", text(&output.stdout));
}
