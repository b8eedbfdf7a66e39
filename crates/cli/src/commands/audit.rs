//! `apprentice tasks audit`: tests a suite's checks with baselines that must pass or fail.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::audits::suite::{AuditFinding, contenders, findings};
use apprentice_evaluator::run::{Conversations, PlanRequest, RunSummary, start};
use apprentice_protocol::{Clock, EventKind, Finish, TaskId, counted};
use apprentice_runs::layout::EVENTS_FILE;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::suite::{Suite, faults};
use apprentice_tasks::task::Task;
use apprentice_trace::Trace;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::{Failure, Kind};
use crate::runs::run_progress::RunProgress;
use crate::settings::config::Config;
use crate::{process_env, terminal, wire};

/// Tests a suite's checks: each task's solution must pass; its near miss, doing nothing and giving up must fail.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The suite's folder, its suite file, or one task file.
    suite: PathBuf,
    /// Run only this task; may be repeated.
    #[arg(long = "task", value_name = "ID")]
    tasks: Vec<String>,
    /// Number of variations per task, for tasks whose world varies.
    #[arg(long, default_value_t = 1, value_parser = crate::options::count::at_least_one::<u32>)]
    seeds: u32,
    /// Print one JSON object (`apprentice.audit/1`).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Report<'a> {
    schema: &'static str,
    suite: &'a str,
    suite_hash: &'a str,
    folder: &'a PathBuf,
    tasks: usize,
    trials: usize,
    findings: &'a [AuditFinding],
}

/// Runs the command.
pub(crate) fn run(arguments: &Audit, config: &Config) -> Result<(), Failure> {
    let suite = crate::suite::load(&arguments.suite)?;
    let wanted =
        |task: &&Task| arguments.tasks.is_empty() || arguments.tasks.iter().any(|id| id == task.id.as_str());
    let tasks: Vec<&Task> = suite.tasks.iter().filter(wanted).collect();
    if tasks.is_empty() {
        return Err(Failure::say(Kind::NothingMatched, "the suite contains none of these tasks"));
    }
    sound(&tasks, &suite.root)?;
    let summary = carry_out(arguments, config, &suite, &tasks)?;
    completed(&summary)?;
    let mut findings = findings(&tasks, arguments.seeds.max(1), &summary.results);
    for finding in &mut findings {
        finding.why = finding.trace.as_deref().and_then(|trace| reason(&summary.folder.join(trace)));
    }
    show(arguments, &suite, &summary, tasks.len(), &findings)?;
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::say(
            Kind::TasksFailed,
            format!("{}: checks that accept a wrong result or reject a right one", counted(count, "finding")),
        )),
    }
}

/// Refuses tasks that a run could not start, before any trial.
fn sound(tasks: &[&Task], root: &Path) -> Result<(), Failure> {
    let told: Vec<String> = tasks
        .iter()
        .filter_map(|task| {
            let faults = faults(task, root);
            (!faults.is_empty()).then(|| format!("{}: {}", task.id, faults.join("; ")))
        })
        .collect();
    match told.as_slice() {
        [] => Ok(()),
        _ => Err(Failure::say(
            Kind::Config,
            format!("a run could not start these tasks:\n{}", told.join("\n")),
        )
        .hint("`apprentice tasks check` looks at the whole suite")),
    }
}

/// Returns a failure if the audit was interrupted.
fn completed(summary: &RunSummary) -> Result<(), Failure> {
    match summary.interrupted {
        true => Err(Failure::say(
            Kind::Interrupted,
            "interrupted: an audit reports findings only after all its trials have run",
        )),
        false => Ok(()),
    }
}

fn carry_out(
    arguments: &Audit,
    config: &Config,
    suite: &Suite,
    tasks: &[&Task],
) -> Result<RunSummary, Failure> {
    let ids: BTreeSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    let request = PlanRequest {
        suite,
        split: None,
        tasks: Some(ids),
        contenders: contenders(suite),
        seeds: arguments.seeds.max(1),
        limits: None,
        attempts: config.attempts.max(1),
        order_seed: 0,
        conversations: Conversations::Dropped,
        command: process_env::command_line(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        books: Vec::new(),
    };
    wire::runtime()?.block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let models = wire::models(config, clock)?;
        let deps = wire::deps(config, Arc::new(|_: &_| Ok(ArmGuidance::unaided())), &models)?;
        let mut display = RunProgress::show(arguments.json);
        let (control, _socket) = display.offer(config, "tasks audit");
        let ended = start(&request, &config.runs, wire::jobs(config), deps, control).await;
        display.finish().await;
        ended.map_err(wire::run_failure)
    })
}

fn show(
    arguments: &Audit,
    suite: &Suite,
    summary: &RunSummary,
    tasks: usize,
    findings: &[AuditFinding],
) -> Result<(), Failure> {
    if arguments.json {
        return terminal::json(&Report {
            schema: "apprentice.audit/1",
            suite: &suite.name,
            suite_hash: &suite.hash,
            folder: &summary.folder,
            tasks,
            trials: summary.results.len(),
            findings,
        });
    }
    for finding in findings {
        let outcome = match (finding.verdict, finding.void_cause) {
            (_, Some(cause)) => format!("void ({})", terminal::words(&cause)),
            (Some(verdict), None) => {
                let ended = finding.stop_reason.map_or_else(|| "unknown".into(), |why| terminal::words(&why));
                format!("{}, end: {ended}", terminal::words(&verdict))
            }
            (None, None) => "not run".to_owned(),
        };
        let trace = finding.trace.as_deref().unwrap_or_default();
        let (task, seed, model) = (&finding.task, finding.seed, finding.baseline.model());
        terminal::line(format_args!("{task} (variation {seed}), {model}: {outcome} {trace}"));
        if let Some(why) = &finding.why {
            terminal::line(format_args!("  {why}"));
        }
    }
    let trials = summary.results.len();
    let place = summary.folder.display();
    terminal::line(format_args!(
        "{}, {}, {}; {place}",
        counted(tasks, "task"),
        counted(trials, "trial"),
        counted(findings.len(), "finding")
    ));
    Ok(())
}

/// Why an attempt ended as it did: the element that a script did not find, the cause of a void attempt, or the differences
/// that the check found.
fn reason(attempt: &Path) -> Option<String> {
    let trace = Trace::read(&attempt.join(EVENTS_FILE)).ok()?;
    let mut judged = None;
    for event in &trace.events {
        match &event.kind {
            EventKind::Finished(Finish::GiveUp { reason }) if reason.starts_with("step ") => {
                return Some(reason.clone());
            }
            EventKind::Stopped { void: Some(_), detail, .. } => return Some(detail.clone()),
            EventKind::Judged(found) => judged = Some(found.explanation.clone()),
            _ => {}
        }
    }
    judged.filter(|explanation| !explanation.is_empty())
}

#[cfg(test)]
mod tests {
    use apprentice_evaluator::run::RunSummary;
    use apprentice_protocol::RunId;

    use super::completed;

    #[test]
    fn an_interrupted_audit_says_why_it_has_no_findings() {
        let summary = |interrupted| RunSummary {
            run: RunId::new("r"),
            folder: "runs/r".into(),
            planned: 4,
            results: Vec::new(),
            not_run: 4,
            interrupted,
        };
        assert!(completed(&summary(false)).is_ok());
        let failure = completed(&summary(true)).expect_err("is interrupted").to_string();
        assert_eq!(
            failure,
            "error: interrupted: an audit reports findings only after all its trials have run"
        );
    }
}
