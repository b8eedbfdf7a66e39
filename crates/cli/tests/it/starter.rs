//! The starter suite in fresh cells: every solution passes; near misses, doing nothing and giving up fail.
//!
//! Each family of tasks is a test of its own, so that families run side by side, and one that fails is run again without the rest.
//!
//! `APPRENTICE_TASKS` narrows it to tasks whose ids contain one of its words, `APPRENTICE_SEEDS` sets how many
//! variations run.
#![expect(clippy::disallowed_methods, reason = "what to run is asked of the environment")]
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::audits::suite::{AuditFinding, contenders, findings};
use apprentice_evaluator::run::{
    Conversations, ModelSource, PlanRequest, Progress, RunControl, RunDeps, TrialSpec, start,
};
use apprentice_harness::env::desktop::{DesktopConfig, DesktopSource};
use apprentice_protocol::{ChatModel, Clock};
use apprentice_sandbox::SystemClock;
use apprentice_sandbox::{CellIsolation, CellLimits};
use apprentice_tasks::suite::load;
use apprentice_tasks::task::Task;
use apprentice_trace::Redactor;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Programs without which cells or the suite's tasks do not start.
pub(crate) const NEEDED: &[&str] = &["bwrap", "Xvfb", "openbox", "dbus-daemon", "wmctrl"];

struct NoModels;

impl ModelSource for NoModels {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        Err(format!("an audit runs baselines alone, not {}", trial.model))
    }
}

pub(crate) fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|folders| std::env::split_paths(&folders).any(|folder| folder.join(program).is_file()))
}

fn can_run(task: &Task) -> bool {
    let programs = task.apprentice.iter().flat_map(|ours| &ours.programs);
    let missing: Vec<&String> = programs.filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() {
        println!("skipped: {}: not installed: {missing:?}", task.id);
    }
    missing.is_empty()
}

fn wanted(task: &Task) -> bool {
    std::env::var("APPRENTICE_TASKS")
        .map_or(true, |words| words.split(',').any(|word| task.id.as_str().contains(word)))
}

fn deps(state: PathBuf) -> RunDeps {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let config = DesktopConfig {
        network: apprentice_sandbox::NetworkPolicy::None,
        isolation: CellIsolation::Bubblewrap,
        program: PathBuf::from(env!("CARGO_BIN_EXE_apprentice")),
        argument: "cell-supervisor".into(),
        state,
        golden: None,
        limits: CellLimits::default(),
        sight: apprentice_harness::env::desktop::Sight::default(),
    };
    RunDeps {
        models: Arc::new(NoModels),
        worlds: Arc::new(DesktopSource::new(config, clock.clone())),
        clock,
        guidance: Arc::new(|_: &TrialSpec| Ok(ArmGuidance::unaided())),
        redactor: Arc::new(Redactor::new([]).expect("builds")),
        reading: apprentice_tasks::suite::SuiteOptions::default(),
        cpu: 2,
    }
}

/// The families of the suite's tasks: how their ids begin, each with its test below.
const FAMILIES: [&str; 6] = ["mousepad-", "thunar-", "terminal-", "calculator-", "chromium-", "page-"];
/// Cells of one family at a time; several families run at once.
const CELLS: usize = 1;

#[tokio::test]
async fn every_task_is_of_a_family_that_is_tested() {
    let suite = load(&suite_folder()).expect("loads");
    for task in &suite.tasks {
        let families = FAMILIES.iter().filter(|family| task.id.as_str().starts_with(**family)).count();
        assert_eq!(families, 1, "{}: give its family a test", task.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn solutions_of_mousepad_pass_and_everything_else_fails() {
    audit(FAMILIES[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn solutions_of_thunar_pass_and_everything_else_fails() {
    audit(FAMILIES[1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn solutions_of_terminals_pass_and_everything_else_fails() {
    audit(FAMILIES[2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn solutions_of_calculators_pass_and_everything_else_fails() {
    audit(FAMILIES[3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn solutions_of_chromium_s_settings_pass_and_everything_else_fails() {
    audit(FAMILIES[4]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn solutions_of_pages_pass_and_everything_else_fails() {
    audit(FAMILIES[5]).await;
}

fn suite_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tasks/starter")
}

/// Runs the baselines on one family of tasks, and asserts that the audit finds nothing.
async fn audit(family: &str) {
    let missing: Vec<&&str> = NEEDED.iter().filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() {
        println!("skipped: not installed: {missing:?}");
        return;
    }
    let suite = load(&suite_folder()).expect("loads");
    let of_family = suite.tasks.iter().filter(|task| task.id.as_str().starts_with(family));
    let tasks: Vec<&Task> = of_family.filter(|task| wanted(task) && can_run(task)).collect();
    if tasks.is_empty() {
        println!("skipped: no task of {family} is wanted and can run here");
        return;
    }
    let seeds = std::env::var("APPRENTICE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let folder = tempfile::tempdir().expect("a folder");
    let (progress, mut events) = mpsc::unbounded_channel();
    let printing = tokio::spawn(async move {
        while let Some(progress) = events.recv().await {
            if let Progress::Finished { row, .. } = progress {
                let trial = (row.task.as_str(), row.seed, row.model.as_str());
                println!(
                    "{:?} {trial:?} {:.1} s {:?} {:?}",
                    row.verdict, row.wall_s, row.stop_reason, row.void_cause
                );
            }
        }
    });
    let ids: BTreeSet<_> = tasks.iter().map(|task| task.id.clone()).collect();
    let request = PlanRequest {
        suite: &suite,
        split: None,
        tasks: Some(ids),
        contenders: contenders(&suite),
        seeds,
        limits: None,
        attempts: 1,
        order_seed: 1,
        conversations: Conversations::Dropped,
        command: vec!["audit".into()],
        program: "test".into(),
        books: Vec::new(),
    };
    let runs = folder.path().join("runs");
    let state = folder.path().join("state");
    let summary =
        start(&request, &runs, CELLS, deps(state), RunControl::new(progress, CancellationToken::new())).await;
    let summary = summary.expect("the audit runs");
    printing.await.expect("all was printed");
    let findings = findings(&tasks, seeds, &summary.results);
    if !findings.is_empty() {
        let kept = folder.keep();
        print_findings(&findings, &summary.folder);
        panic!("{} findings; the run is kept in {}", findings.len(), kept.display());
    }
}

/// Prints each finding with how its attempt ended.
fn print_findings(findings: &[AuditFinding], run: &Path) {
    for finding in findings {
        let trace = finding.trace.as_ref().map(|trace| run.join(trace).join("events.jsonl"));
        let text = trace.and_then(|trace| std::fs::read_to_string(trace).ok()).unwrap_or_default();
        let tail: Vec<&str> =
            text.lines().filter(|line| line.contains("\"stopped\"") || line.contains("\"judged\"")).collect();
        println!("{finding:?}\n  {}", tail.join("\n  "));
    }
}
