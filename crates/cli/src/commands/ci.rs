//! `run --ci`: the results of a run for a build server: JUnit XML, annotations of GitHub, thresholds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use apprentice_evaluator::run::RunSummary;
use apprentice_protocol::{Verdict, counted};
use apprentice_runs::row::TrialRow;
use clap::Args;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::suite::task_words::TaskWords;
use crate::{runs::run_progress, terminal};

/// The file of results in a run's folder.
const JUNIT_FILE: &str = "junit.xml";
/// GitHub shows this many annotations of a kind per step.
const SHOWN: usize = 10;

/// Options for build servers.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Build servers")]
pub(crate) struct CiArgs {
    /// Write `junit.xml` to the run's folder, and print an annotation for GitHub for each failed and void trial.
    #[arg(long)]
    ci: bool,
    /// Where to write the JUnit XML.
    #[arg(long, value_name = "FILE", requires = "ci")]
    junit: Option<PathBuf>,
    /// Succeed unless fewer than this share of the judged trials pass, from 0 to 1 [default: every trial must pass].
    #[arg(long, value_name = "RATE", value_parser = rate)]
    fail_under: Option<f64>,
    /// Succeed with up to this many trials without a result.
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_void: usize,
}

impl CiArgs {
    /// Refuses a place for the results that cannot be written, before the run and not after it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(place) = &self.junit else { return Ok(()) };
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        let problem = match folder {
            Some(folder) if !folder.is_dir() => format!("there is no folder {}", folder.display()),
            _ if place.is_dir() => format!("{} is a folder", place.display()),
            _ => return Ok(()),
        };
        Err(Failure::say(Kind::Usage, format!("--junit: {problem}"))
            .hint("name a file in a folder that is there"))
    }

    /// Names an option that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.ci, "--ci"),
            (self.fail_under.is_some(), "--fail-under"),
            (self.max_void > 0, "--max-void"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// The numbers that decide the exit code.
#[derive(Clone, Copy, Debug)]
struct Counts {
    passed: usize,
    failed: usize,
    missing: usize,
}

/// Prints the summary, writes what the options ask for, and turns the run into an exit code.
pub(crate) fn conclude(arguments: &CiArgs, summary: &RunSummary, json: bool) -> Result<(), Failure> {
    run_progress::print(summary, json)?;
    if arguments.ci {
        let place = arguments.junit.clone().unwrap_or_else(|| summary.folder.join(JUNIT_FILE));
        let tasks = TaskWords::of_run(&summary.folder);
        let text = junit(&summary.results, &summary.folder, &tasks).to_string().kind(Kind::Bug)?;
        std::fs::write(&place, text)
            .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", place.display())))?;
        annotations(&summary.results, &tasks, &place)
            .iter()
            .for_each(|line| terminal::note(format_args!("{line}")));
    }
    run_progress::bug_or_interrupt(summary)?;
    let counts = Counts {
        passed: summary.count(Verdict::Pass),
        failed: summary.count(Verdict::Fail),
        missing: summary.count(Verdict::Void) + summary.not_run,
    };
    decide(arguments, counts).map_err(|error| *error)
}

/// Decides whether the run succeeded.
fn decide(arguments: &CiArgs, counts: Counts) -> Result<(), Box<Failure>> {
    let Counts { passed, failed, missing } = counts;
    let judged = passed + failed;
    let fail = |kind, text: String| Err(Box::new(Failure::say(kind, text)));
    if missing > arguments.max_void || (judged == 0 && missing > 0) {
        let text = match arguments.max_void {
            0 => format!("{} without a result", counted(missing, "trial")),
            most => format!("{} without a result, at most {most} allowed", counted(missing, "trial")),
        };
        return fail(Kind::TrialsVoid, text);
    }
    let Some(least) = arguments.fail_under else {
        return match failed {
            0 => Ok(()),
            failed => fail(Kind::TasksFailed, format!("{} failed", counted(failed, "trial"))),
        };
    };
    #[expect(clippy::cast_precision_loss, reason = "numbers of trials")]
    let rate = if judged == 0 { 1.0 } else { passed as f64 / judged as f64 };
    if rate < least {
        fail(Kind::TasksFailed, format!("{passed} of {judged} passed: {rate:.3}, less than {least}"))
    } else {
        Ok(())
    }
}

/// The results as JUnit XML: a suite per model and arm, a case per trial. A void trial is an error, a failed one a failure.
fn junit(rows: &[TrialRow], folder: &Path, tasks: &TaskWords) -> Report {
    let mut suites: BTreeMap<String, TestSuite> = BTreeMap::new();
    for row in rows {
        let name = format!("{} {} {}", row.suite, row.model, row.arm);
        let suite = suites.entry(name.clone()).or_insert_with(|| TestSuite::new(name));
        suite.add_test_case(case(row, folder, tasks));
    }
    let mut report = Report::new("apprentice");
    report.add_test_suites(suites.into_values());
    report
}

fn case(row: &TrialRow, folder: &Path, tasks: &TaskWords) -> TestCase {
    let mut status = match row.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Void => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    if row.verdict != Verdict::Pass {
        status.set_message(why(row));
        status.set_type(if row.verdict == Verdict::Void { "void" } else { "failed" });
    }
    let mut case = TestCase::new(format!("{} seed {}", row.task, row.seed), status);
    // Build servers group cases by this name: by the domains of a suite.
    case.set_classname(format!("{}.{}", row.suite, tasks.domain(&row.task).unwrap_or(&row.template)));
    case.set_time(Duration::try_from_secs_f64(row.wall_s).unwrap_or_default());
    let instruction = tasks.instruction(&row.task).map(|text| format!("{text}\n")).unwrap_or_default();
    let attempt = format!("{instruction}attempt {}: {}", row.attempt, folder.join(&row.trace).display());
    case.set_system_out(attempt);
    case
}

fn why(row: &TrialRow) -> String {
    match (row.void_cause, row.stop_reason) {
        (Some(cause), _) => format!("void: {}", terminal::words(&cause)),
        (None, Some(reason)) => format!("score {}, ended by {}", row.score, terminal::words(&reason)),
        (None, None) => format!("score {}", row.score),
    }
}

/// The lines that GitHub turns into annotations: errors for failed trials, warnings for void ones.
fn annotations(rows: &[TrialRow], tasks: &TaskWords, file: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for (verdict, level) in [(Verdict::Fail, "error"), (Verdict::Void, "warning")] {
        let found: Vec<&TrialRow> = rows.iter().filter(|row| row.verdict == verdict).collect();
        for row in found.iter().take(SHOWN) {
            let title = format!("{} ({}, {}, seed {})", tasks.named(&row.task), row.model, row.arm, row.seed);
            lines.push(format!("::{level} title={}::{}", property(&title), data(&why(row))));
        }
        let more = found.len().saturating_sub(SHOWN);
        if more > 0 {
            lines.push(format!("::{level} title=apprentice::{more} more; {} lists all", file.display()));
        }
    }
    lines
}

/// Escapes a message: a line break would end the annotation and begin another command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use crate::suite::task_words::TaskWords;

    use super::{CiArgs, Counts, annotations, data, decide, junit, property};
    use crate::failure::Kind;
    use apprentice_runs::row::TrialRow;

    fn kind(fail_under: Option<f64>, max_void: usize, counts: [usize; 3]) -> Option<Kind> {
        let arguments = CiArgs { fail_under, max_void, ..CiArgs::default() };
        let [passed, failed, missing] = counts;
        decide(&arguments, Counts { passed, failed, missing }).err().map(|failure| failure.kind)
    }

    #[test]
    fn thresholds_decide_and_void_is_no_failure() {
        assert_eq!(kind(None, 0, [3, 0, 0]), None);
        assert_eq!(kind(None, 0, [3, 1, 0]), Some(Kind::TasksFailed));
        assert_eq!(kind(Some(0.75), 0, [3, 1, 0]), None, "the threshold itself is enough");
        assert_eq!(kind(Some(0.76), 0, [3, 1, 0]), Some(Kind::TasksFailed));
        assert_eq!(kind(Some(0.5), 0, [3, 1, 1]), Some(Kind::TrialsVoid), "void counts against no rate");
        assert_eq!(kind(Some(0.5), 1, [3, 1, 1]), None);
        assert_eq!(
            kind(Some(0.0), 9, [0, 0, 4]),
            Some(Kind::TrialsVoid),
            "a run without a result is no success"
        );
    }

    #[test]
    fn an_annotation_is_one_command() {
        assert_eq!(data("100 %\n::error::x"), "100 %25%0A::error::x");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }

    #[test]
    fn hostile_names_stay_text_in_every_form() {
        let hostile = "</testcase>\u{0}\n::error::owned & \"x\"";
        let row: TrialRow = serde_json::from_value(serde_json::json!({
            "schema": "apprentice.trial/1", "run": "r", "trial": "t", "suite": "s", "role": "solo", "task": hostile,
            "template": "x", "suite_hash": "h", "arm": "none", "seed": 0, "attempt": 1, "model": "m",
            "verdict": "fail", "score": 0.0, "world_steps": 1, "turns": 1,
            "tokens": { "input": 0, "output": 0, "cached": 0 }, "delivered_tokens": 0, "cost_usd": null,
            "wall_s": 1.5, "working_s": 1.0, "stop_reason": "done", "void_cause": null, "skills_viewed": [],
            "order": 0, "started_at": "2026-11-20T10:15:00Z", "prompt_hash": "p", "isolation": "memory",
            "trace": "trials/t/attempt-01",
        })).expect("a row");
        let lines =
            annotations(std::slice::from_ref(&row), &TaskWords::default(), std::path::Path::new("junit.xml"));
        assert!(lines.len() == 1 && !lines[0].contains('\n'), "{lines:?}");
        let text =
            junit(&[row], std::path::Path::new("runs/r"), &TaskWords::default()).to_string().expect("writes");
        assert!(text.contains("&lt;/testcase&gt;") && !text.contains('\u{0}'), "{text}");
        assert_eq!(text.matches("<testcase").count(), 1);
    }
}
